// SPDX-License-Identifier: Apache-2.0
// Governance files and decisions as text, for tests.
#pragma once
#include "base/buf.h"
#include "govern/govern.h"

static inline struct json *governance_parse(struct arena *a, const char *text) {
  struct fault f;
  struct json *v = json_parse(a, str_of(text), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s: %s", f.path, f.message, text);
  return v;
}

static inline void governance_note(void *ctx, str pointer, const char *message) {
  struct buf *b = ctx;
  buf_printf(b, "%s%.*s %s", b->n ? "\n" : "", STR_ARG(pointer), message);
}

// Single quotes stand for double ones, in all texts of these tests.
static inline char *governance_quoted(struct arena *a, const char *text) {
  char *p = arena_cstr(a, str_of(text));
  for (char *c = p; *c; c++)
    if (*c == '\'') *c = '"';
  return p;
}

// Reads a file; the problems, one per line, are in `problems`. The file's text is overwritten afterwards.
static inline struct governance *governance_try(const char *text, struct buf *problems) {
  struct arena a;
  arena_init(&a);
  char *copy = governance_quoted(&a, text);
  struct governance *g = governance_read(governance_parse(&a, copy), governance_note, problems);
  memset(copy, '#', strlen(copy));
  arena_done(&a);
  return g;
}

static inline struct governance *governance_of(const char *text) {
  struct buf b;
  buf_init(&b, 1 << 16);
  struct governance *g = governance_try(text, &b);
  if (!g) fail_msg("%.*s", STR_ARG(buf_view(&b)));
  buf_done(&b);
  return g;
}

// "ALLOWED effective=delegated highest=destructive gates=G rules=p1,r1 violations=amount:max at=/permissions/0"
static inline void governance_put(struct buf *out, const struct governance_decision *d) {
  buf_printf(out, "%s", governance_code_name(d->code));
  if (d->effective != APPROVAL_NONE) buf_printf(out, " effective=%s", approval_mode_name(d->effective));
  for (size_t i = 0; i < d->gate_count; i++)
    buf_printf(out, "%s%.*s", i ? "," : " gates=", STR_ARG(d->gates[i]->gate_id));
  for (size_t i = 0; i < d->match_count; i++) buf_printf(out, "%s%.*s", i ? "," : " rules=", STR_ARG(d->matches[i]->id));
  for (const struct violation *v = d->violations.first; v; v = v->next)
    buf_printf(out, "%s%.*s:%s", v == d->violations.first ? " violations=" : ",", STR_ARG(v->path), v->constraint);
  buf_printf(out, " at=%.*s", STR_ARG(d->pointer));
}

static inline void assert_decides(const struct governance *g, const char *question, const char *expected) {
  struct arena a;
  struct buf b;
  struct fault f;
  struct governance_question q;
  struct governance_decision d;
  arena_init(&a);
  buf_init(&b, 1 << 16);
  bool ok = governance_read_question(governance_parse(&a, governance_quoted(&a, question)), &a, &q, &f);
  if (!ok) fail_msg("%s: %s", question, f.message);
  governance_decide(g, &q, &a, &d);
  governance_put(&b, &d);
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
  arena_done(&a);
}

// SPDX-License-Identifier: Apache-2.0
// Reads objects, lists and values of a governance file. A table of fields describes the members of each kind of object.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/text/nearest.h"
#include "govern/govern_impl.h"
#include "govern/template.h"
#include "schema/exact.h"
#include "json/pointer.h"

enum { LIST_MAX = 1000, TEXT_MAX = 4096, COUNT_MAX = 1000000000, SECONDS_MAX = 1000000 };

void governance_report(struct governance_reader *r, str pointer, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  r->failed = true;
  r->problem(r->ctx, pointer, message);
}

str governance_below(struct governance_reader *r, str pointer, const struct json *member) {
  return json_pointer_below(r->arena, pointer, json_key(member, r->arena));
}

str governance_below_index(struct governance_reader *r, str pointer, size_t index) {
  return arena_printf(r->arena, "%.*s/%zu", STR_ARG(pointer), index);
}

// ---- objects and lists

static const struct governance_field *find_field(const struct governance_field *fields, size_t count,
                                                 const struct json *member) {
  for (size_t i = 0; i < count; i++)
    if (json_key_is(member, str_of(fields[i].key))) return &fields[i];
  return NULL;
}

static void report_unknown(struct governance_reader *r, str pointer, const struct json *member,
                           const struct governance_field *fields, size_t count) {
  struct nearest near = {.word = json_key(member, r->arena)};
  for (size_t i = 0; i < count; i++) nearest_try(&near, str_of(fields[i].key));
  bool hint = near.best.p;
  governance_report(r, governance_below(r, pointer, member), "is an unknown member%s%.*s%s",
                    hint ? "; did you mean \"" : "", hint ? (int)near.best.n : 0, hint ? near.best.p : "",
                    hint ? "\"?" : "");
}

void governance_read_members(struct governance_reader *r, str pointer, const struct json *v,
                             const struct governance_field *fields, size_t count, void *into) {
  if (!json_is(v, JSON_OBJECT)) {
    governance_report(r, pointer, "must be an object");
    return;
  }
  JSON_EACH(it, v) {
    const struct governance_field *f = find_field(fields, count, it);
    if (f) f->read(r, governance_below(r, pointer, it), it, f, (char *)into + f->at);
    else report_unknown(r, pointer, it, fields, count);
  }
  for (size_t i = 0; i < count; i++)
    if (fields[i].required && !json_get(v, str_of(fields[i].key)))
      governance_report(r, pointer, "needs the member \"%s\"", fields[i].key);
}

void *governance_read_list(struct governance_reader *r, str pointer, const struct json *v, size_t size,
                           void (*read)(struct governance_reader *r, str pointer, const struct json *v, void *into),
                           size_t *out_count) {
  *out_count = 0;
  if (!json_is(v, JSON_ARRAY)) {
    governance_report(r, pointer, "must be a list");
    return NULL;
  }
  char *list = arena_zero(r->arena, size * v->count);
  JSON_EACH(it, v) {
    read(r, governance_below_index(r, pointer, *out_count), it, list + *out_count * size);
    ++*out_count;
  }
  return list;
}

// ---- values

static bool has_control(str s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return true;
  return false;
}

bool governance_is_id(str s) {
  return s.n && s.n <= GOVERNANCE_ID_MAX && !has_control(s);
}

static bool read_id(struct governance_reader *r, const struct json *v, str *out) {
  return json_string(v, r->arena, out) && governance_is_id(*out);
}

void governance_id(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                   void *to) {
  str id;
  if (read_id(r, v, &id)) *(str *)to = id;
  else governance_report(r, pointer, "must be a string of 1 to %d bytes without control characters", GOVERNANCE_ID_MAX);
}

void governance_text(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                     void *to) {
  str text;
  if (json_string(v, r->arena, &text) && text.n <= TEXT_MAX) *(str *)to = text;
  else governance_report(r, pointer, "must be a string of at most %d bytes", TEXT_MAX);
}

void governance_texts(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  if (!json_is(v, JSON_ARRAY) || v->count > LIST_MAX) {
    governance_report(r, pointer, "must be a list of at most %d names", LIST_MAX);
    return;
  }
  str *list = ARENA_ARRAY(r->arena, str, v->count);
  size_t count = 0;
  JSON_EACH(it, v) {
    if (!read_id(r, it, &list[count]))
      governance_report(r, governance_below_index(r, pointer, count), "must be a name");
    count++;
  }
  *(struct governance_names *)to = (struct governance_names){list, count};
}

void governance_flag(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                     void *to) {
  if (!json_bool(v, to)) governance_report(r, pointer, "must be true or false");
}

void governance_count(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  uint64_t n;
  if (exact_count(v, &n) && n >= 1 && n <= COUNT_MAX) *(uint64_t *)to = n;
  else governance_report(r, pointer, "must be a whole number from 1 to %d", COUNT_MAX);
}

void governance_integer(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  if (!json_int(v, to)) governance_report(r, pointer, "must be a whole number");
}

void governance_seconds(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  double d;
  if (json_double(v, &d) && d >= 0 && d <= SECONDS_MAX) *(double *)to = d;
  else governance_report(r, pointer, "must be a number of seconds from 0 to %d", SECONDS_MAX);
}

void governance_cost(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                     void *to) {
  double d;
  if (json_double(v, &d) && d >= 0 && d <= COUNT_MAX) *(double *)to = d;
  else governance_report(r, pointer, "must be a number from 0 to %d", COUNT_MAX);
}

void governance_mode(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                     void *to) {
  str name = STR("");
  json_string(v, r->arena, &name);
  enum approval_mode mode = approval_mode_find(name);
  if (mode != APPROVAL_NONE) *(uint8_t *)to = (uint8_t)mode;
  else governance_report(r, pointer, "must be read_only, local_write, network, delegated or destructive");
}

void governance_choice(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  struct buf b;
  ASSERT(f->words);
  buf_init(&b, 256);
  for (size_t i = 0; f->words[i]; i++) {
    if (json_equals_str(v, str_of(f->words[i]))) {
      *(uint8_t *)to = (uint8_t)i;
      buf_done(&b);
      return;
    }
    buf_printf(&b, "%s%s", !i ? "" : f->words[i + 1] ? ", " : " or ", f->words[i]);
  }
  governance_report(r, pointer, "must be %.*s", STR_ARG(buf_view(&b)));
  buf_done(&b);
}

void governance_logic(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  struct fault fault = {0};
  const struct logic *compiled = logic_compile(r->arena, v, &fault);
  if (compiled) *(const struct logic **)to = compiled;
  else governance_report(r, arena_printf(r->arena, "%.*s%s", STR_ARG(pointer), fault.path), "%s", fault.message);
}

void governance_template(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  struct fault fault = {0};
  if (template_check(v, r->arena, &fault)) *(const struct json **)to = v;
  else governance_report(r, arena_printf(r->arena, "%.*s%s", STR_ARG(pointer), fault.path), "%s", fault.message);
}

void governance_object_template(struct governance_reader *r, str pointer, const struct json *v,
                                const struct governance_field *f, void *to) {
  if (json_is(v, JSON_OBJECT)) governance_template(r, pointer, v, f, to);
  else governance_report(r, pointer, "must be an object");
}

void governance_constraints(struct governance_reader *r, str pointer, const struct json *v,
                            const struct governance_field *f, void *to) {
  if (!constraints_read(r->arena, v, pointer, r->problem, r->ctx, to)) r->failed = true;
}

// ---- ids

static int compare_named(const void *a, const void *b) {
  const struct governance_named *x = a, *y = b;
  int c = str_cmp(x->id, y->id);
  return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

void governance_sort_unique(struct governance_reader *r, struct governance_named *list, size_t count,
                            const char *what) {
  for (size_t i = 0; i < count; i++) list[i].order = i;
  if (count) qsort(list, count, sizeof *list, compare_named);
  for (size_t i = 1; i < count; i++)
    if (list[i].id.n && str_eq(list[i].id, list[i - 1].id))
      governance_report(r, list[i].pointer, "the %s \"%.*s\" is used twice", what, STR_ARG(list[i].id));
}

// SPDX-License-Identifier: Apache-2.0
// A store in memory and an envelope made of a result, for tests.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "result/envelope/envelope.h"
#include "result/envelope/lookalike.h"
#include "result/view/view.h"
#include "text/tokens.h"
#include "json/pointer.h"
#include "json/write.h"

#define TOOL STR("github:create_issue#34afee88")
#define OWNER STR("alice")

struct desk {
  struct arena arena;
  struct store *store;  // in memory
  struct buf source, out;
  size_t budget;
  bool text_only;
  enum client_reads reads;
  str provenance;
  enum envelope_kind kind;
  bool scrub;
  str mark;
  bool passed;                  // as it was, but for its _meta
  struct json *result;          // what came out, without
  const struct json *envelope;  // the one in _meta; NULL: none
};

static inline struct store *open_store(struct store_limits limits) {
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = limits};
  return store_new(&opt);
}

static inline int open_desk(void **state) {
  static struct desk d;
  d = (struct desk){.budget = 500};
  arena_init(&d.arena);
  buf_init(&d.source, 128 << 20);
  buf_init(&d.out, 128 << 20);
  d.store = open_store(store_default_limits);
  *state = &d;
  return 0;
}

static inline int close_desk(void **state) {
  struct desk *d = *state;
  store_close(&d->store, NULL, NULL);
  buf_done(&d->source);
  buf_done(&d->out);
  arena_done(&d->arena);
  return 0;
}

static inline struct json *parse(struct desk *d, str text) {
  struct fault f = {0};
  struct json *v = json_parse(&d->arena, text, &json_default_limits, &f);
  if (!v) fail_msg("%s, %s: %.*s", f.message, f.path, (int)(text.n < 2000 ? text.n : 2000), text.p);
  return v;
}

// The envelope in _meta is looked at by itself; what is left is the result as its server meant it.
static inline void take_envelope(struct desk *d, str result) {
  const struct json *whole = parse(d, result), *meta = json_get(whole, STR("_meta"));
  d->envelope = json_get(meta, STR("io.toolgate/envelope"));
  if (!d->envelope) return;
  struct json_edit gone = {STR("io.toolgate/envelope"), STR_NONE}, edit = {STR("_meta"), STR_NONE};
  if (meta->count > 1) edit.raw = json_edited(&d->arena, meta, &gone, 1);
  buf_reset(&d->out);
  json_copy_edited(&d->out, whole, &edit, 1);
}

static inline void make(struct desk *d, str result) {
  struct piece_batch *batch = NULL;
  struct envelope_order order = {
      .result = parse(d, result),
      .tool_id = TOOL,
      .owner = OWNER,
      .store = d->store,
      .batch = &batch,
      .budget = d->budget,
      .text_only = d->text_only,
      .reads = d->reads,
      .provenance = d->provenance,
      .kind = d->kind,
      .scrub = d->scrub,
      .mark = d->mark,
      .apart = true,
  };
  buf_reset(&d->out);
  d->passed = envelope_make(&order, &d->arena, &d->out);
  if (batch) pieces_put(d->store, &batch, NULL);
  assert_false(d->out.over);
  str told = arena_str(&d->arena, buf_view(&d->out));
  struct json_edit meta = {STR("_meta"), told};
  if (d->passed) told = told.n ? json_edited(&d->arena, order.result, &meta, 1) : result;
  buf_reset(&d->out);
  buf_str(&d->out, told);
  take_envelope(d, told);
  // Later buffers reuse the memory, nodes must not.
  d->result = parse(d, arena_str(&d->arena, buf_view(&d->out)));
}

static inline str string_at(struct desk *d, const char *pointer) {
  str s = STR_NONE;
  if (!json_string(json_pointer_find(d->result, str_of(pointer)), &d->arena, &s)) fail_msg("no string at %s", pointer);
  return s;
}

static inline size_t count_at(struct desk *d, const char *pointer) {
  struct json *v = json_pointer_find(d->result, str_of(pointer));
  assert_true(json_is(v, JSON_ARRAY));
  return v->count;
}

static inline void string_is(struct desk *d, const char *pointer, str want) {
  str s = string_at(d, pointer);
  if (!str_eq(s, want)) fail_msg("%s is \"%.*s\", not \"%.*s\"", pointer, STR_ARG(s), STR_ARG(want));
}

static inline str kept_bytes(struct desk *d, str handle) {
  struct found_artifact found = {.done = NULL};
  artifact_find(d->store, OWNER, handle, &found);
  if (!found.find.read.ok) fail_msg("nothing is kept as %.*s", STR_ARG(handle));
  str bytes = arena_str(&d->arena, found.artifact.bytes);
  artifact_release(&found);
  return bytes;
}

// What the n-th handle of the envelope leads to.
static inline str kept_piece(struct desk *d, size_t n) {
  return kept_bytes(d, string_at(d, arena_printf(&d->arena, "/structuredContent/artifacts/%zu/handle", n).p));
}

static inline void piece_is(struct desk *d, size_t n, str want) {
  str kept = kept_piece(d, n);
  if (!str_eq(kept, want)) fail_msg("piece %zu has %zu bytes, not those %zu", n, kept.n, want.n);
}

static inline void make_twice(struct desk *d, str result) {
  make(d, result);
  str first = arena_str(&d->arena, buf_view(&d->out));
  make(d, result);
  assert_true(str_eq(first, buf_view(&d->out)));
}

static inline uint64_t count_kept(struct desk *d, str owner) {
  struct piece_count c = {.owner = owner};
  pieces_count(d->store, owner, &c);
  assert_true(c.read.ok);
  return c.usage.count;
}

static inline void expect_passed(struct desk *d, const char *result) {
  make(d, str_of(result));
  assert_true(d->passed);
  assert_true(str_eq(buf_view(&d->out), str_of(result)));
  assert_int_equal(count_kept(d, STR_NONE), 0);
}

// Every handle of the envelope leads to its bytes, and nothing else is kept.
static inline void expect_all_listed(struct desk *d) {
  size_t count = 0;
  JSON_EACH(v, json_pointer_find(d->result, STR("/structuredContent/artifacts"))) {
    str handle = STR_NONE, hash = STR_NONE, label = STR_NONE, media_type = STR_NONE;
    int64_t size = -1;
    assert_true(json_string(json_get(v, STR("handle")), &d->arena, &handle));
    assert_true(json_string(json_get(v, STR("content_hash")), &d->arena, &hash));
    assert_true(json_string(json_get(v, STR("label")), &d->arena, &label));
    assert_true(json_string(json_get(v, STR("media_type")), &d->arena, &media_type));
    assert_true(json_int(json_get(v, STR("size_bytes")), &size));
    assert_int_equal(kept_bytes(d, handle).n, size);
    assert_int_equal(hash.n, 64);
    assert_true(str_ends(handle, (str){hash.p, 16}));
    count++;
  }
  assert_int_equal(count_kept(d, OWNER), count);
}

static inline str text_result(struct desk *d, str text, const char *more) {
  buf_reset(&d->source);
  buf_str(&d->source, STR("{\"content\":[{\"type\":\"text\",\"text\":"));
  json_escape(&d->source, text);
  buf_printf(&d->source, "}]%s}", more);
  return buf_view(&d->source);
}

static inline str repeated(struct desk *d, str first, str again, int times) {
  struct buf b;
  buf_init(&b, 64 << 20);
  buf_str(&b, first);
  for (int i = 0; i < times; i++) buf_str(&b, again);
  str s = arena_str(&d->arena, buf_view(&b));
  buf_done(&b);
  return s;
}

static inline str issue_text(struct desk *d) {
  return repeated(d, STR("ISSUE-42 opened. "), STR("detail line for the created issue. "), 120);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)

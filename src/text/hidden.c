// SPDX-License-Identifier: Apache-2.0
#include "text/hidden.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/block.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "json/scan.h"
#include "json/text.h"
#include "json/write.h"

// ---- detection

struct text {
  const char *begin, *end;
};

// Returns whether the backslash at `at` begins an escape, and is not itself escaped by a backslash before it.
static bool begins_escape(const struct text *t, const char *at) {
  const char *first = at;
  while (first > t->begin && first[-1] == '\\') first--;
  return (at - first) % 2 == 0;
}

// Returns whether an escape is the second half of a surrogate pair. Such an escape needs no check of its own, because
// json_text_next reads both halves when it starts at the first half.
static bool is_second_half(const char *at) {
  return at[0] == '\\' && at[1] == 'u' && ascii_lower(at[2]) == 'd' && ascii_hex(at[3]) >= 12;
}

static bool is_suspect(const struct text *t, const char *at) {
  str rest = {at, (size_t)(t->end - at)};
  if (*at == '\\' && (!begins_escape(t, at) || is_second_half(at))) return false;
  if (str_starts(rest, STR("\\r\\n"))) return false;
  return plain_may_change(json_text_next(&rest));
}

// Returns a bit mask of the positions in block `b` at which an escape begins that may stand for a hidden character.
// `next` is the block that starts one byte later.
static uint64_t escapes(struct block b, struct block next) {
  struct block letter = block_either(block_same(next, 'u'), block_same(next, 'r'));
  letter = block_either(letter, block_either(block_same(next, 'b'), block_same(next, 'f')));
  return block_is(b, '\\') & block_high(letter);
}

// Returns a bit mask of the bytes in a block that may begin a hidden character in UTF-8.
static uint64_t leads(struct block b) {
  static const unsigned char bytes[] = {0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3};
  struct block found = block_same(b, 0x7f);
  for (size_t i = 0; i < sizeof bytes; i++) found = block_either(found, block_same(b, (char)bytes[i]));
  return block_high(found);
}

// Returns whether a hidden character may begin in the block of 64 bytes at p. Reads one byte beyond the block.
static bool has_suspect(const struct text *t, const char *p) {
  struct block b = block_load(p);
  struct block odd = block_either(b, block_either(block_same(b, '\\'), block_same(b, 0x7f)));
  if (!block_high(odd)) return false;
  for (uint64_t at = escapes(b, block_load(p + 1)) | leads(b); at; at &= at - 1)
    if (is_suspect(t, p + block_first(at))) return true;
  return false;
}

static bool is_odd(char c) {
  return c == '\\' || (unsigned char)c >= 0x7f;
}

bool hidden_in_json(str json) {
  struct text t = {json.p, json.p + json.n};
  const char *p = t.begin;
  // The last byte of the JSON value is a bracket, a quote, or part of a number or word, so it cannot begin a hidden
  // character.
  if (json.n <= BLOCK_BYTES) {
    for (; p < t.end; p++)
      if (is_odd(*p) && !utf8_follows(*p) && is_suspect(&t, p)) return true;
    return false;
  }
  for (; t.end - p > BLOCK_BYTES; p += BLOCK_BYTES)
    if (has_suspect(&t, p)) return true;
  return has_suspect(&t, t.end - BLOCK_BYTES - 1);
}

// ---- removal

struct remover {
  struct buf *out;
  const char *from;  // start of the text that is not copied yet
  struct arena scratch;
};

static bool is_called(const struct json_walk *w, const str *names, size_t count) {
  struct json member = {.key = w->key.p, .key_n = (uint32_t)w->key.n, .flags = w->escaped ? JSON_KEY_ESCAPED : 0};
  return w->close == '}' && json_key_in(&member, names, count);
}

static bool is_read(const struct json_walk *w) {
  static const str names[] = {STR("text"),          STR("title"),        STR("description"), STR("message"),
                              STR("statusMessage"), STR("systemPrompt"), STR("name")};
  return is_called(w, names, sizeof names / sizeof *names);
}

static bool is_data(const struct json_walk *w) {
  static const str names[] = {STR("structuredContent"), STR("_meta"), STR("data"), STR("input"), STR("arguments")};
  return is_called(w, names, sizeof names / sizeof *names);
}

static void clean_string(struct remover *r, str quoted) {
  if (!hidden_in_json(quoted)) return;
  str raw = {quoted.p + 1, quoted.n - 2};
  char *text = arena_alloc(&r->scratch, raw.n + 1), *plain = arena_alloc(&r->scratch, raw.n + 1);
  str said = {text, json_text_unescape(raw, text)};
  str clean = {plain, plain_text(said, false, plain)};
  if (!str_eq(said, clean)) {
    buf_add(r->out, r->from, (size_t)(quoted.p - r->from));
    json_escape(r->out, clean);
    r->from = quoted.p + quoted.n;
  }
  arena_reset(&r->scratch);
}

// Removes hidden characters from the strings of an object or array. The depth of the recursion is limited, because
// json_parse limits the depth of values.
static void clean_members(struct remover *r, struct json_walk *w) {
  while (json_walk_next(w)) {
    enum json_type type = json_scan_type(w->scan, w->value);
    struct json_walk inner;
    if (type == JSON_STRING && is_read(w)) clean_string(r, json_walk_value(w));
    if ((type != JSON_OBJECT && type != JSON_ARRAY) || is_data(w) || !json_walk_enter(w, &inner)) continue;
    clean_members(r, &inner);
    json_walk_leave(w, &inner);
  }
}

bool hidden_put_json(struct buf *out, str json) {
  ASSERT(json.n);
  struct json_scan scan = json_scan(json);
  struct remover r = {.out = out, .from = json.p};
  struct json_walk walk;
  arena_init(&r.scratch);
  if (json_walk_open(&walk, &scan, json_scan_first(&scan))) clean_members(&r, &walk);
  arena_done(&r.scratch);
  if (r.from == json.p) return false;
  buf_add(out, r.from, (size_t)(json.p + json.n - r.from));
  return true;
}

// The output never exceeds `json`: json_escape could lengthen only hidden characters, and these are removed.
size_t hidden_json_max(str json) {
  return json.n + 1;
}

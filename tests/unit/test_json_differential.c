// SPDX-License-Identifier: Apache-2.0
// json/ against jansson on many thousand small documents, made and then damaged by a fixed pseudo-random sequence:
// both accept or both refuse, and what they read is the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/write.h"

// The names that both libraries use are given to ours.
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#define json_string jansson_string
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL
#undef json_string

enum { DOCUMENTS = 200000, MAX_TEXT = 4096 };

static uint64_t random_state;

static unsigned pick(unsigned below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state >> 33) % below;
}

static const char *const scalars[] = {"null",
                                      "true",
                                      "false",
                                      "0",
                                      "-0",
                                      "1",
                                      "-12",
                                      "0.5",
                                      "1e5",
                                      "1E-3",
                                      "-1.25e+2",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "1e308",
                                      "1e309",
                                      "123456789.123456789",
                                      "01",
                                      "1.",
                                      "-",
                                      "+1",
                                      ".5",
                                      "nul",
                                      "NaN",
                                      "tru"};
static const char *const pieces[] = {"a",
                                     "b",
                                     "key",
                                     "plain text",
                                     " ",
                                     "\\n",
                                     "\\\"",
                                     "\\\\",
                                     "\\/",
                                     "\\u0041",
                                     "\\u00e9",
                                     "\\ud83d\\ude00",
                                     "\xc3\xa9",
                                     "\xe2\x82\xac",
                                     "\xf0\x9f\x98\x80",
                                     "\\u0000",
                                     "\\ud800",
                                     "\\udc00",
                                     "\\u12",
                                     "\\x",
                                     "\xff",
                                     "\xc0\xaf",
                                     "\xed\xa0\x80",
                                     "\t",
                                     "\x7f",
                                     "\\uFFFF",
                                     "\\u0061"};
static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t", "\r\n  ", "\f"};

// The later entries of each table are wrong, and taken seldom.
static str pick_of(const char *const *table, unsigned count, unsigned good) {
  return str_of(table[pick(40) ? pick(good) : pick(count)]);
}

static void make_space(struct buf *b) {
  buf_str(b, pick_of(spaces, 9, 8));
}

static void make_string(struct buf *b) {
  buf_char(b, '"');
  for (unsigned n = pick(4); n; n--) buf_str(b, pick_of(pieces, 27, 15));
  buf_char(b, '"');
}

static void make_value(struct buf *b, unsigned depth) {
  make_space(b);
  unsigned kind = pick(depth > 4 ? 2 : 4);
  if (kind == 0) buf_str(b, pick_of(scalars, 24, 12));
  if (kind == 1) make_string(b);
  if (kind < 2) return make_space(b);
  buf_char(b, kind == 2 ? '[' : '{');
  for (unsigned n = pick(4), i = 0; i < n; i++) {
    if (i) buf_char(b, ',');
    if (kind == 3) make_space(b), make_string(b), make_space(b), buf_char(b, ':');
    make_value(b, depth + 1);
  }
  buf_char(b, kind == 2 ? ']' : '}');
  make_space(b);
}

// Changes, removes, doubles or adds a byte, or cuts the end off.
static void damage(struct buf *b) {
  static const char bytes[] = "{}[]:,\"\\ \n0129-+.eEutfn/\x01\x80\xff";
  unsigned at = pick((unsigned)b->n + 1);
  char c = pick(8) ? bytes[pick(sizeof bytes)] : (char)pick(256);
  unsigned how = pick(5);
  if (at == b->n || how == 0) {
    buf_char(b, c);
    return;
  }
  if (how == 1) b->p[at] = c;
  if (how == 2) memmove(b->p + at, b->p + at + 1, --b->n - at);
  if (how == 3) {
    buf_char(b, 0);
    memmove(b->p + at + 1, b->p + at, b->n - 1 - at);
  }
  if (how == 4 && pick(4) == 0) b->n = at;
}

static bool same(const struct json *ours, json_t *theirs, struct arena *a);

static bool same_number(const struct json *ours, json_t *theirs) {
  int64_t i;
  double d;
  if (json_typeof(theirs) == JSON_INTEGER) return json_int(ours, &i) && i == json_integer_value(theirs);
  return json_typeof(theirs) == JSON_REAL && json_double(ours, &d) && d == json_real_value(theirs);
}

static bool same_text(const struct json *ours, json_t *theirs, struct arena *a) {
  str s;
  return json_typeof(theirs) == JANSSON_STRING && json_string(ours, a, &s) &&
         str_eq(s, (str){json_string_value(theirs), json_string_length(theirs)});
}

static bool same_array(const struct json *ours, json_t *theirs, struct arena *a) {
  if (json_typeof(theirs) != JANSSON_ARRAY || json_array_size(theirs) != ours->count) return false;
  for (size_t i = 0; i < ours->count; i++)
    if (!same(json_at(ours, i), json_array_get(theirs, i), a)) return false;
  return true;
}

static bool same_object(const struct json *ours, json_t *theirs, struct arena *a) {
  if (json_typeof(theirs) != JANSSON_OBJECT || json_object_size(theirs) != ours->count) return false;
  JSON_EACH(m, ours) {
    json_t *other = json_object_get(theirs, arena_cstr(a, json_key(m, a)));
    if (!other || !same(m, other, a)) return false;
  }
  return true;
}

static bool same(const struct json *ours, json_t *theirs, struct arena *a) {
  switch ((enum json_type)ours->type) {
  case JSON_NULL: return json_typeof(theirs) == JANSSON_NULL;
  case JSON_FALSE: return json_typeof(theirs) == JANSSON_FALSE;
  case JSON_TRUE: return json_typeof(theirs) == JANSSON_TRUE;
  case JSON_NUMBER: return same_number(ours, theirs);
  case JSON_STRING: return same_text(ours, theirs, a);
  case JSON_ARRAY: return same_array(ours, theirs, a);
  case JSON_OBJECT: return same_object(ours, theirs, a);
  }
  return false;
}

// jansson holds numbers as int64 or double, and keys as C strings; to us both are spans of text.
static bool beyond_jansson(const json_error_t *e) {
  enum json_error_code code = json_error_code(e);
  return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

static void compare(str text, struct arena *a, unsigned *accepted) {
  struct fault f;
  json_error_t e;
  struct json *ours = json_parse(a, text, &json_default_limits, &f);
  json_t *theirs = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
  if (ours && !theirs && !beyond_jansson(&e)) fail_msg("only jansson refuses %.*s: %s", STR_ARG(text), e.text);
  // jansson takes a NUL behind the value for the end of the text.
  if (!ours && theirs && !memchr(text.p, 0, text.n))
    fail_msg("only jansson accepts %.*s: %s", STR_ARG(text), f.message);
  if (ours && theirs && !same(ours, theirs, a)) fail_msg("read differently: %.*s", STR_ARG(text));
  *accepted += ours != NULL;
  if (theirs) json_decref(theirs);
}

static void jansson_agrees_about_every_document(void **state) {
  struct arena arena;
  struct buf text;
  unsigned accepted = 0;
  random_state = 88172645463325252u;
  arena_init(&arena);
  buf_init(&text, MAX_TEXT);
  for (int i = 0; i < DOCUMENTS; i++) {
    buf_reset(&text);
    make_value(&text, 0);
    for (unsigned n = pick(3); n; n--) damage(&text);
    char *exact = memcpy(mem_alloc(text.n), text.p, text.n);
    compare((str){exact, text.n}, &arena, &accepted);
    mem_free(exact);
    arena_reset(&arena);
  }
  // Neither side of the comparison may run dry.
  print_message("# %u of %d documents accepted\n", accepted, DOCUMENTS);
  assert_in_range(accepted, DOCUMENTS / 5, DOCUMENTS * 4 / 5);
  arena_done(&arena);
  buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(jansson_agrees_about_every_document)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

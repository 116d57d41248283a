// SPDX-License-Identifier: Apache-2.0
#include "call/controls/literals.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "json/write.h"

const char *literal_rule_name(enum literal_rule rule) {
  static const char *const names[] = {"parse_stringified_object", "str_to_integer", "str_to_number", "str_to_boolean",
                                      "str_to_null"};
  ASSERT(rule < sizeof names / sizeof *names);
  return names[rule];
}

static bool is_white(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static str strip(str s) {
  while (s.n && is_white(s.p[0])) s = str_from(s, 1);
  while (s.n && is_white(s.p[s.n - 1])) s.n--;
  return s;
}

// ---- the arguments as a whole

bool literal_object(const struct json *v, const struct json_limits *limits, struct arena *a, str *out) {
  static const str mark = STR("\xef\xbb\xbf");
  struct fault ignored;
  str text;
  if (!json_string(v, a, &text)) return false;
  text = strip(text);
  if (str_starts(text, mark)) text = strip(str_from(text, mark.n));
  if (!text.n || text.p[0] != '{') return false;
  // Copies the text to the arena, because it may still be a slice of the source of `v`.
  text = arena_str(a, text);
  if (!json_is(json_parse(a, text, limits, &ignored), JSON_OBJECT)) return false;
  *out = text;
  return true;
}

// ---- literals

static size_t digits(str s) {
  size_t n = 0;
  while (n < s.n && ascii_is_digit(s.p[n])) n++;
  return n;
}

// Returns the length of the integer at the start of `s`, which must match -?(0|[1-9][0-9]*), or 0 if there is no
// integer.
static size_t integer_part(str s) {
  size_t sign = s.n && s.p[0] == '-';
  size_t n = digits(str_from(s, sign));
  if (!n || (n > 1 && s.p[sign] == '0')) return 0;
  return sign + n;
}

static bool is_integer(str s) {
  return s.n && integer_part(s) == s.n;
}

// Returns whether the text is a finite JSON number.
static bool is_number(str s) {
  size_t n = integer_part(s);
  double value;
  if (!n) return false;
  if (n < s.n && s.p[n] == '.') {
    size_t more = digits(str_from(s, n + 1));
    if (!more) return false;
    n += 1 + more;
  }
  if (n < s.n && (s.p[n] == 'e' || s.p[n] == 'E')) {
    size_t sign = n + 1 < s.n && (s.p[n + 1] == '+' || s.p[n + 1] == '-');
    size_t more = digits(str_from(s, n + 1 + sign));
    if (!more) return false;
    n += 1 + sign + more;
  }
  struct json number = {.p = s.p, .n = (uint32_t)s.n, .type = JSON_NUMBER};
  return n == s.n && json_double(&number, &value);
}

static bool is_boolean(str s) {
  return str_eq(s, STR("true")) || str_eq(s, STR("false"));
}

static bool is_null(str s) {
  return str_eq(s, STR("null"));
}

// The rules for single arguments, in the order in which they are tried.
static const struct {
  str type;
  enum literal_rule rule;
  bool (*matches)(str s);
} rules[] = {
    {STR("integer"), LITERAL_INTEGER, is_integer},
    {STR("number"), LITERAL_NUMBER, is_number},
    {STR("boolean"), LITERAL_BOOLEAN, is_boolean},
    {STR("null"), LITERAL_NULL, is_null},
};
enum { RULES = sizeof rules / sizeof *rules };

// ---- arguments by their schema

// Returns whether `types` contains `type`. `types` is the value of "type" in a schema: a string, or an array of
// strings.
static bool names_type(const struct json *types, str type) {
  if (!json_is(types, JSON_ARRAY)) return json_equals_str(types, type);
  JSON_EACH(it, types)
    if (json_equals_str(it, type)) return true;
  return false;
}

static bool match(str text, const struct json *types, enum literal_rule *out) {
  if (!types || names_type(types, STR("string"))) return false;
  for (size_t i = 0; i < RULES; i++) {
    if (!names_type(types, rules[i].type) || !rules[i].matches(text)) continue;
    *out = rules[i].rule;
    return true;
  }
  return false;
}

// Returns whether a rule might apply to the value: it must be a string whose first character can begin a number, a
// boolean or null. For a string with escapes, returns true without looking at its characters.
static bool may_be_literal(const struct json *v) {
  if (!json_is(v, JSON_STRING) || (v->flags & JSON_ESCAPED)) return json_is(v, JSON_STRING);
  str text = strip((str){v->p + 1, v->n - 2});
  return text.n && (ascii_is_digit(text.p[0]) || strchr("-tfn", text.p[0]));
}

bool literal_suspects(const struct json *args) {
  if (!json_is(args, JSON_OBJECT)) return false;
  JSON_EACH(it, args)
    if (may_be_literal(it)) return true;
  return false;
}

struct repairing {
  const struct json *properties;
  struct arena *a;
  struct json_edit *edits;
  struct literal_repair *list;
  size_t count;
};

static void repair_one(struct repairing *r, const struct json *arg) {
  str text, key;
  enum literal_rule rule;
  if (!may_be_literal(arg) || !json_string(arg, r->a, &text)) return;
  key = json_key(arg, r->a);
  text = strip(text);
  if (!match(text, json_get(json_get(r->properties, key), STR("type")), &rule)) return;
  r->edits[r->count] = (struct json_edit){key, text};
  r->list[r->count++] = (struct literal_repair){rule, key};
}

bool literal_repair(const struct json *args, const struct json *schema, struct arena *a, str *out,
                    struct literal_repairs *repairs) {
  const struct json *properties = json_get(schema, STR("properties"));
  if (!json_is(args, JSON_OBJECT) || args->count > LITERAL_MOST_ARGS || !properties) return false;
  struct repairing r = {.properties = properties, .a = a};
  r.edits = ARENA_ARRAY(a, struct json_edit, args->count + 1);
  r.list = ARENA_ARRAY(a, struct literal_repair, args->count + 1);
  JSON_EACH(it, args) repair_one(&r, it);
  if (!r.count) return false;
  ASSERT(r.count <= args->count);
  *out = json_edited(a, args, r.edits, r.count);
  struct literal_repair *all = ARENA_ARRAY(a, struct literal_repair, repairs->count + r.count);
  if (repairs->count) memcpy(all, repairs->list, repairs->count * sizeof *all);
  memcpy(all + repairs->count, r.list, r.count * sizeof *all);
  repairs->list = all;
  repairs->count += r.count;
  return true;
}

// ---- the list of repairs

str literal_list(const struct literal_repairs *repairs, struct arena *a) {
  enum { KEY_SHOWN = 128 };
  size_t listed = repairs->count < LITERAL_LISTED ? repairs->count : LITERAL_LISTED;
  struct buf b, path;
  buf_init(&b, LITERAL_LISTED * (6 * KEY_SHOWN + 128));
  buf_init(&path, KEY_SHOWN + 4);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (size_t i = 0; i < listed; i++) {
    const struct literal_repair *r = &repairs->list[i];
    buf_reset(&path);
    buf_char(&path, '$');
    if (r->key.p) buf_char(&path, '.');
    if (r->key.p) buf_add(&path, r->key.p, r->key.n < KEY_SHOWN ? r->key.n : KEY_SHOWN);
    json_begin_object(&w);
    json_member_str(&w, STR("path"), buf_view(&path));
    json_member_str(&w, STR("rule"), str_of(literal_rule_name(r->rule)));
    json_end_object(&w);
  }
  json_end_array(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  buf_done(&path);
  return text;
}

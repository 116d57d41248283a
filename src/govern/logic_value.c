// SPDX-License-Identifier: Apache-2.0
// Values of JsonLogic: the budget of an evaluation, and conversions as in JavaScript.
#include <math.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "govern/logic_impl.h"
#include "json/decimal.h"

enum { JOIN_DEPTH_MAX = 128, BYTES_PER_STEP = 64, NUMBER_BYTES_MAX = 1000, NUMBER_STEPS = 32 };

// ---- budget

bool logic_fail(struct logic_run *r, const char *why) {
  if (!r->why) r->why = why;
  return false;
}

bool logic_spend(struct logic_run *r, size_t steps) {
  if (r->why) return false;
  if (r->budget->steps < steps) return logic_fail(r, "the expressions need too many steps: simplify the rules");
  r->budget->steps -= steps;
  return true;
}

// Charges the budget for reading n bytes.
static bool spend_bytes(struct logic_run *r, size_t n) {
  return logic_spend(r, n / BYTES_PER_STEP);
}

void *logic_take(struct logic_run *r, size_t n) {
  if (r->why) return NULL;
  if (r->budget->bytes < n) {
    logic_fail(r, "the expressions need too much memory: simplify the rules");
    return NULL;
  }
  r->budget->bytes -= n;
  return arena_alloc(r->arena, n);
}

struct logic_list *logic_list_new(struct logic_run *r, size_t room) {
  struct logic_list *list = logic_take(r, sizeof *list + room * sizeof *list->items);
  if (list) *list = (struct logic_list){.items = (struct logic_value *)(list + 1)};
  return list;
}

// ---- values of the data

static double number_of(const struct json *v) {
  double d;
  if (json_double(v, &d)) return d;
  return v->p[0] == '-' ? -HUGE_VAL : HUGE_VAL;
}

static struct logic_value string_of(struct logic_run *r, const struct json *v) {
  struct logic_value out = {.type = LOGIC_STRING, .text = STR("")};
  bool copied = v->flags & JSON_ESCAPED;
  if (copied && r->budget->bytes < v->n) logic_fail(r, "the expressions need too much memory: simplify the rules");
  if (r->why || !spend_bytes(r, v->n)) return logic_null();
  if (copied) r->budget->bytes -= v->n;
  json_string(v, r->arena, &out.text);
  return out;
}

struct logic_value logic_value_of(struct logic_run *r, const struct json *v) {
  switch ((enum json_type)v->type) {
  case JSON_FALSE:
  case JSON_TRUE: return logic_bool(v->type == JSON_TRUE);
  case JSON_NUMBER:
    if (v->n > NUMBER_BYTES_MAX) logic_fail(r, "cannot read a number with more than 1000 characters");
    return logic_spend(r, v->n / 8) ? logic_number(number_of(v)) : logic_null();
  case JSON_STRING: return string_of(r, v);
  case JSON_ARRAY: return (struct logic_value){.type = LOGIC_ARRAY, .json = v};
  case JSON_OBJECT: return (struct logic_value){.type = LOGIC_OBJECT, .json = v};
  case JSON_NULL: break;
  }
  return logic_null();
}

size_t logic_array_count(const struct logic_value *array) {
  ASSERT(logic_is_array(array));
  return array->type == LOGIC_ARRAY ? array->json->count : array->list->count;
}

bool logic_walk_next(struct logic_run *r, struct logic_walk *w, struct logic_value *out) {
  if (w->at == logic_array_count(w->array) || !logic_spend(r, 1)) return false;
  if (w->array->type == LOGIC_LIST) {
    *out = w->array->list->items[w->at++];
    return true;
  }
  w->json = w->at++ ? w->json->next : json_first(w->array->json);
  *out = logic_value_of(r, w->json);
  return !r->why;
}

bool logic_truthy(const struct logic_value *v) {
  switch (v->type) {
  case LOGIC_NULL: return false;
  case LOGIC_BOOL: return v->truth;
  case LOGIC_NUMBER: return v->number < 0 || v->number > 0;  // not 0, not NaN
  case LOGIC_STRING: return v->text.n > 0;
  case LOGIC_ARRAY:
  case LOGIC_LIST: return logic_array_count(v) > 0;
  case LOGIC_OBJECT:
  case LOGIC_SCOPE: break;
  }
  return true;
}

// ---- to text

static void put_number(struct buf *out, double d) {
  if (isnan(d)) buf_str(out, STR("NaN"));
  else if (isinf(d)) buf_str(out, d < 0 ? STR("-Infinity") : STR("Infinity"));
  else json_decimal_ecmascript(out, d);
}

static void put_text(struct logic_run *r, struct buf *out, const struct logic_value *v, unsigned depth);

static void put_elements(struct logic_run *r, struct buf *out, const struct logic_value *array, unsigned depth) {
  struct logic_walk w = {.array = array};
  struct logic_value it;
  if (depth == JOIN_DEPTH_MAX) logic_fail(r, "an array is nested too deeply to be converted to a string");
  while (!r->why && logic_walk_next(r, &w, &it)) {
    if (w.at > 1) buf_char(out, ',');
    if (it.type != LOGIC_NULL) put_text(r, out, &it, depth + 1);
  }
}

static void put_text(struct logic_run *r, struct buf *out, const struct logic_value *v, unsigned depth) {
  switch (v->type) {
  case LOGIC_NULL: buf_str(out, STR("null")); break;
  case LOGIC_BOOL: buf_str(out, v->truth ? STR("true") : STR("false")); break;
  case LOGIC_NUMBER:
    if (logic_spend(r, NUMBER_STEPS)) put_number(out, v->number);
    break;
  case LOGIC_STRING:
    if (spend_bytes(r, v->text.n)) buf_str(out, v->text);
    break;
  case LOGIC_ARRAY:
  case LOGIC_LIST: put_elements(r, out, v, depth); break;
  case LOGIC_OBJECT:
  case LOGIC_SCOPE: buf_str(out, STR("[object Object]")); break;
  }
}

// Moves the text from the buffer to the arena, and charges the budget for its memory.
static str keep_text(struct logic_run *r, struct buf *b) {
  str kept = STR("");
  if (b->over) logic_fail(r, "the expressions need too much memory: simplify the rules");
  char *p = logic_take(r, b->n);
  if (p && b->n) {
    memcpy(p, b->p, b->n);
    kept = (str){p, b->n};
  }
  buf_done(b);
  return kept;
}

str logic_string(struct logic_run *r, const struct logic_value *v) {
  if (v->type == LOGIC_STRING) return v->text;
  struct buf b;
  buf_init(&b, r->budget->bytes);
  put_text(r, &b, v, 0);
  return keep_text(r, &b);
}

str logic_join(struct logic_run *r, const struct logic_value *parts, size_t count) {
  struct buf b;
  buf_init(&b, r->budget->bytes);
  for (size_t i = 0; i < count && !r->why && !b.over; i++)
    if (parts[i].type != LOGIC_NULL) put_text(r, &b, &parts[i], 0);
  return keep_text(r, &b);
}

// ---- to numbers

static bool is_space(uint32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

static str skip_spaces(str s) {
  while (s.n) {
    str rest = s;
    if (!is_space(utf8_next(&rest))) break;
    s = rest;
  }
  return s;
}

static str trim_end(str s) {
  while (s.n) {
    size_t from = s.n - 1;
    while (from && utf8_follows(s.p[from])) from--;
    str last = str_from(s, from);
    if (!is_space(utf8_next(&last))) break;
    s.n = from;
  }
  return s;
}

static size_t digits_at(str s, size_t at) {
  size_t n = 0;
  while (at + n < s.n && ascii_is_digit(s.p[at + n])) n++;
  return n;
}

// Returns the length of the decimal number at the start of s, such as "+1", ".5", "1." or "1e3"; 0 if `s` does not
// start with a number.
static size_t decimal_length(str s) {
  size_t at = s.n && (s.p[0] == '-' || s.p[0] == '+'), whole = digits_at(s, at), fraction = 0;
  at += whole;
  if (at < s.n && s.p[at] == '.') {
    fraction = digits_at(s, at + 1);
    if (whole || fraction) at += 1 + fraction;
  }
  if (!whole && !fraction) return 0;
  if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
    size_t from = at + 1;
    if (from < s.n && (s.p[from] == '-' || s.p[from] == '+')) from++;
    size_t exponent = digits_at(s, from);
    if (exponent) at = from + exponent;
  }
  return at;
}

// Converts a text whose form decimal_length has checked to a number.
static double read_decimal(struct logic_run *r, str text) {
  char few[64], *copy = text.n < sizeof few ? few : logic_take(r, text.n + 1);
  if (!copy) return NAN;
  memcpy(copy, text.p, text.n);
  copy[text.n] = 0;
  return strtod(copy, NULL);
}

// Returns the length of "Infinity" with an optional sign at the start of s, or 0.
static size_t infinity_length(str s, double *out) {
  size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+');
  if (!str_starts(str_from(s, sign), STR("Infinity"))) return 0;
  *out = s.p[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  return sign + sizeof "Infinity" - 1;
}

// Converts the digits after the prefix of a number such as 0x1f.
static double read_prefixed(str digits, int base) {
  double d = 0;
  if (!digits.n) return NAN;
  for (size_t i = 0; i < digits.n; i++) {
    int value = ascii_is_digit(digits.p[i]) ? digits.p[i] - '0' : (digits.p[i] | 0x20) - 'a' + 10;
    if (value < 0 || value >= base || (value >= 10 && !ascii_is_letter(digits.p[i]))) return NAN;
    d = d * base + value;
  }
  return d;
}

static double string_to_number(struct logic_run *r, str s) {
  double d;
  if (!spend_bytes(r, s.n)) return NAN;
  s = trim_end(skip_spaces(s));
  if (!s.n) return 0;
  char kind = s.n > 2 && s.p[0] == '0' ? (char)(s.p[1] | 0x20) : 0;
  if (kind == 'x' || kind == 'o' || kind == 'b')
    return read_prefixed(str_from(s, 2), kind == 'x' ? 16 : kind == 'o' ? 8 : 2);
  if (infinity_length(s, &d) == s.n) return d;
  return decimal_length(s) == s.n ? read_decimal(r, s) : NAN;
}

double logic_to_number(struct logic_run *r, const struct logic_value *v) {
  switch (v->type) {
  case LOGIC_NULL: return 0;
  case LOGIC_BOOL: return v->truth;
  case LOGIC_NUMBER: return v->number;
  case LOGIC_STRING: return string_to_number(r, v->text);
  case LOGIC_ARRAY:
  case LOGIC_LIST: return string_to_number(r, logic_string(r, v));
  case LOGIC_OBJECT:
  case LOGIC_SCOPE: break;
  }
  return NAN;
}

double logic_parse_float(struct logic_run *r, const struct logic_value *v) {
  if (v->type == LOGIC_NUMBER) return v->number + 0.0;  // adding 0.0 turns -0 into 0, as parseFloat does
  double d;
  str s = skip_spaces(logic_string(r, v));
  if (!spend_bytes(r, s.n)) return NAN;
  if (infinity_length(s, &d)) return d;
  size_t n = decimal_length(s);
  return n ? read_decimal(r, (str){s.p, n}) : NAN;
}

// ---- comparison

bool logic_same(const struct logic_value *a, const struct logic_value *b) {
  if (a->type != b->type) return false;
  switch (a->type) {
  case LOGIC_NULL: return true;
  case LOGIC_BOOL: return a->truth == b->truth;
  case LOGIC_NUMBER: return a->number <= b->number && a->number >= b->number;
  case LOGIC_STRING: return str_eq(a->text, b->text);
  case LOGIC_ARRAY:
  case LOGIC_OBJECT: return a->json == b->json;
  case LOGIC_LIST: return a->list == b->list;
  case LOGIC_SCOPE: return a->scope == b->scope;
  }
  return false;
}

// Converts arrays and objects to strings, as most JavaScript operators do.
static struct logic_value primitive(struct logic_run *r, const struct logic_value *v) {
  return v->type > LOGIC_STRING ? logic_text(logic_string(r, v)) : *v;
}

bool logic_equal(struct logic_run *r, const struct logic_value *a, const struct logic_value *b) {
  bool structured = a->type > LOGIC_STRING && b->type > LOGIC_STRING;
  if (a->type == b->type || structured) return logic_same(a, b);
  if (a->type == LOGIC_NULL || b->type == LOGIC_NULL) return false;
  struct logic_value x = primitive(r, a), y = primitive(r, b);
  if (x.type == LOGIC_STRING && y.type == LOGIC_STRING) return str_eq(x.text, y.text);
  double p = logic_to_number(r, &x), q = logic_to_number(r, &y);
  return p <= q && p >= q;
}

// Returns the first UTF-16 code unit of a character.
static uint32_t first_unit(uint32_t c) {
  return c < 0x10000 ? c : 0xd800 + ((c - 0x10000) >> 10);
}

static enum logic_order compare_texts(str a, str b) {
  while (a.n && b.n) {
    uint32_t x = utf8_next(&a), y = utf8_next(&b);
    if (x == y) continue;
    if (first_unit(x) != first_unit(y)) return first_unit(x) < first_unit(y) ? LOGIC_LESS : LOGIC_GREATER;
    return x < y ? LOGIC_LESS : LOGIC_GREATER;
  }
  return a.n ? LOGIC_GREATER : b.n ? LOGIC_LESS : LOGIC_SAME;
}

enum logic_order logic_compare(struct logic_run *r, const struct logic_value *a, const struct logic_value *b) {
  struct logic_value x = primitive(r, a), y = primitive(r, b);
  if (x.type == LOGIC_STRING && y.type == LOGIC_STRING) {
    bool ok = logic_spend(r, (x.text.n < y.text.n ? x.text.n : y.text.n) / 8);
    return ok ? compare_texts(x.text, y.text) : LOGIC_UNORDERED;
  }
  double p = logic_to_number(r, &x), q = logic_to_number(r, &y);
  return p < q ? LOGIC_LESS : p > q ? LOGIC_GREATER : p <= q ? LOGIC_SAME : LOGIC_UNORDERED;
}

// ---- units of UTF-16

size_t logic_units(str s) {
  size_t units = 0;
  while (s.n) units += utf8_next(&s) >= 0x10000 ? 2 : 1;
  return units;
}

str logic_slice(struct logic_run *r, str s, size_t from, size_t count) {
  struct buf b;
  size_t at = 0, end = from + count;
  if (!count || !logic_spend(r, s.n / 8)) return STR("");
  buf_init(&b, 3 * s.n + 3);
  while (s.n && at < end) {
    str rest = s;
    size_t units = utf8_next(&rest) >= 0x10000 ? 2 : 1;
    bool whole = at >= from && at + units <= end, part = at + units > from;
    if (whole) buf_add(&b, s.p, s.n - rest.n);
    else if (part) buf_str(&b, STR("\xef\xbf\xbd"));
    at += units;
    s = rest;
  }
  return keep_text(r, &b);
}

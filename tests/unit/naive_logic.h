// SPDX-License-Identifier: Apache-2.0
// A second evaluator of JsonLogic, for tests: straightforward, over the JSON of the expression.
#pragma once
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"

struct value {
  enum json_type type;  // JSON_FALSE for both truth values
  bool truth;
  double number;
  char text[512];
  const struct value *items;
  size_t count;
  const void *same;  // identity of an array or object
};

static struct arena *scratch;

static struct value nothing(void) {
  return (struct value){.type = JSON_NULL};
}
static struct value truth(bool t) {
  return (struct value){.type = JSON_FALSE, .truth = t};
}
static struct value number(double d) {
  return (struct value){.type = JSON_NUMBER, .number = d};
}

static struct value list_of(const struct value *items, size_t count) {
  return (struct value){.type = JSON_ARRAY, .items = items, .count = count, .same = items};
}

static struct value from_json(const struct json *v) {
  struct value out = {.type = (enum json_type)v->type, .same = v};
  str text;
  if (v->type == JSON_TRUE) return truth(true);
  if (v->type == JSON_NUMBER) json_double(v, &out.number);
  if (json_string(v, scratch, &text)) snprintf(out.text, sizeof out.text, "%.*s", STR_ARG(text));
  if (v->type == JSON_ARRAY) {
    struct value *items = ARENA_ARRAY(scratch, struct value, v->count + 1);
    JSON_EACH(it, v) items[out.count++] = from_json(it);
    out.items = items;
  }
  return out;
}

static bool is_true(struct value v) {
  if (v.type == JSON_NUMBER) return !isnan(v.number) && fabs(v.number) > 0;
  if (v.type == JSON_STRING) return v.text[0] != 0;
  if (v.type == JSON_ARRAY) return v.count > 0;
  return v.type == JSON_OBJECT || v.truth;
}

static void append(char out[512], const char *text) {
  size_t n = strlen(out);
  snprintf(out + n, 512 - n, "%s", text);
}

// `inside`: of an array or of `cat`, where null is empty.
static void put_value(char out[512], struct value v, bool inside) {
  char digits[64];
  switch (v.type) {
  case JSON_NULL: append(out, inside ? "" : "null"); break;
  case JSON_FALSE:
  case JSON_TRUE: append(out, v.truth ? "true" : "false"); break;
  case JSON_NUMBER:
    if (isnan(v.number)) append(out, "NaN");
    else if (isinf(v.number)) append(out, v.number < 0 ? "-Infinity" : "Infinity");
    else {
      snprintf(digits, sizeof digits, "%.15g", fabs(v.number) > 0 ? v.number : 0);
      append(out, digits);
    }
    break;
  case JSON_STRING: append(out, v.text); break;
  case JSON_ARRAY:
    for (size_t i = 0; i < v.count; i++) {
      if (i) append(out, ",");
      put_value(out, v.items[i], true);
    }
    break;
  case JSON_OBJECT: append(out, "[object Object]"); break;
  }
}

static struct value as_text(struct value v) {
  struct value out = {.type = JSON_STRING};
  put_value(out.text, v, false);
  return out;
}

static struct value as_primitive(struct value v) {
  return v.type == JSON_ARRAY || v.type == JSON_OBJECT ? as_text(v) : v;
}

// The texts of this test are plain: digits, a sign, a point, "NaN", "Infinity", letters, commas.
static double as_number(struct value v) {
  char *end;
  v = as_primitive(v);
  if (v.type == JSON_NULL) return 0;
  if (v.type == JSON_FALSE) return v.truth;
  if (v.type == JSON_NUMBER) return v.number;
  if (!v.text[0]) return 0;
  double d = strtod(v.text, &end);
  return *end || strstr(v.text, "nan") ? NAN : d;
}

static double as_float(struct value v) {
  char *end;
  v = as_text(v);
  double d = strtod(v.text, &end);
  return end == v.text ? NAN : d;
}

static bool is_same(struct value a, struct value b) {
  if (a.type != b.type) return false;
  if (a.type == JSON_NULL) return true;
  if (a.type == JSON_FALSE) return a.truth == b.truth;
  if (a.type == JSON_NUMBER) return !(a.number < b.number || a.number > b.number || isnan(a.number) || isnan(b.number));
  if (a.type == JSON_STRING) return !strcmp(a.text, b.text);
  return a.same == b.same;
}

static bool is_equal(struct value a, struct value b) {
  bool deep_a = a.type >= JSON_ARRAY, deep_b = b.type >= JSON_ARRAY;
  if (a.type == b.type || (deep_a && deep_b)) return is_same(a, b);
  if (a.type == JSON_NULL || b.type == JSON_NULL) return false;
  a = as_primitive(a);
  b = as_primitive(b);
  if (a.type == JSON_STRING && b.type == JSON_STRING) return is_same(a, b);
  return is_same(number(as_number(a)), number(as_number(b)));
}

// -1, 0, 1, or 2 if they are not comparable.
static int order(struct value a, struct value b) {
  a = as_primitive(a);
  b = as_primitive(b);
  if (a.type == JSON_STRING && b.type == JSON_STRING) {
    int c = strcmp(a.text, b.text);
    return c < 0 ? -1 : c > 0;
  }
  double x = as_number(a), y = as_number(b);
  return isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y;
}

struct question {
  const struct json *args, *context;
  char capability[64];
};

static struct value evaluate(const struct json *e, const struct question *q, const struct value *element);

static struct value lookup(const char *path, const struct question *q, const struct value *element) {
  if (!*path && element) return *element;
  if (element) return nothing();  // elements are scalars
  if (!strcmp(path, "capability")) {
    struct value out = {.type = JSON_STRING};
    append(out.text, q->capability);
    return out;
  }
  const struct json *at = q->context;
  if (!strncmp(path, "args.", 5)) at = q->args, path += 5;
  while (at && *path) {
    size_t n = strcspn(path, ".");
    str token = {path, n};
    at = at->type == JSON_ARRAY ? json_at(at, (size_t)atoi(path)) : json_get(at, token);
    path += n + (path[n] == '.');
  }
  return at ? from_json(at) : nothing();
}

static struct value loop(const char *op, const struct json *operands, const struct question *q,
                         const struct value *element) {
  struct value list = evaluate(json_at(operands, 0), q, element);
  size_t yes = 0, count = list.type == JSON_ARRAY ? list.count : 0;
  for (size_t i = 0; i < count; i++) yes += is_true(evaluate(json_at(operands, 1), q, &list.items[i]));
  return truth(!strcmp(op, "some") ? yes > 0 : !strcmp(op, "none") ? !yes : count && yes == count);
}

static struct value two(const char *op, struct value a, struct value b) {
  int c = order(a, b);
  if (!strcmp(op, "==")) return truth(is_equal(a, b));
  if (!strcmp(op, "!=")) return truth(!is_equal(a, b));
  if (!strcmp(op, "===")) return truth(is_same(a, b));
  if (!strcmp(op, "!==")) return truth(!is_same(a, b));
  if (!strcmp(op, "<")) return truth(c == -1);
  if (!strcmp(op, "<=")) return truth(c == -1 || c == 0);
  if (!strcmp(op, ">")) return truth(c == 1);
  if (!strcmp(op, ">=")) return truth(c == 1 || c == 0);
  if (!strcmp(op, "-")) return number(as_number(a) - as_number(b));
  if (!strcmp(op, "+")) return number(as_float(a) + as_float(b));
  if (!strcmp(op, "*")) return number(as_float(a) * as_float(b));
  assert_string_equal(op, "in");
  if (b.type == JSON_STRING) return truth(b.text[0] && strstr(b.text, as_text(a).text));
  for (size_t i = 0; b.type == JSON_ARRAY && i < b.count; i++)
    if (is_same(a, b.items[i])) return truth(true);
  return truth(false);
}

static struct value many(const char *op, const struct value *v, size_t n) {
  if (!strcmp(op, "cat")) {
    struct value out = {.type = JSON_STRING};
    for (size_t i = 0; i < n; i++) put_value(out.text, v[i], true);
    return out;
  }
  if (!strcmp(op, "max")) {
    double best = as_number(v[0]);
    for (size_t i = 1; i < n; i++) {
      double d = as_number(v[i]);
      if (isnan(d) || d > best) best = isnan(best) ? best : d;
    }
    return number(best);
  }
  assert_string_equal(op, "merge");
  struct value *all = ARENA_ARRAY(scratch, struct value, 512);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (v[i].type != JSON_ARRAY) all[count++] = v[i];
    for (size_t k = 0; v[i].type == JSON_ARRAY && k < v[i].count; k++) all[count++] = v[i].items[k];
    assert_true(count < 400);
  }
  return list_of(all, count);
}

static struct value evaluate(const struct json *e, const struct question *q, const struct value *element) {
  if (e->type != JSON_OBJECT) return from_json(e);
  const struct json *operands = e->child;
  char op[16];
  snprintf(op, sizeof op, "%.*s", (int)operands->key_n, operands->key);
  if (!strcmp(op, "var")) return lookup(from_json(operands).text, q, element);
  if (!strcmp(op, "some") || !strcmp(op, "all") || !strcmp(op, "none")) return loop(op, operands, q, element);
  struct value *v = ARENA_ARRAY(scratch, struct value, operands->count + 1);
  size_t n = operands->count;
  for (size_t i = 0; i < n; i++) v[i] = evaluate(json_at(operands, i), q, element);
  if (!strcmp(op, "!")) return truth(!is_true(v[0]));
  if (!strcmp(op, "!!")) return truth(is_true(v[0]));
  if (!strcmp(op, "and") || !strcmp(op, "or")) {
    size_t i = 0;
    while (i + 1 < n && is_true(v[i]) == !strcmp(op, "and")) i++;
    return v[i];
  }
  if (!strcmp(op, "if")) return n == 1 ? v[0] : is_true(v[0]) ? v[1] : n == 3 ? v[2] : nothing();
  if (n == 2 && strcmp(op, "cat") && strcmp(op, "max") && strcmp(op, "merge")) return two(op, v[0], v[1]);
  return many(op, v, n);
}

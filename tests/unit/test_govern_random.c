// SPDX-License-Identifier: Apache-2.0
// Random governance files and questions, decided by the engine and by a second evaluator: written straight from the
// text of the specification, over the JSON of the file, with loops, without an index, and with its own JsonLogic.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "governance_world.h"

enum { FILES = 4000, QUESTIONS = 25 };

static uint64_t state = 0x9e3779b97f4a7c15;

static unsigned roll(unsigned sides) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)((state >> 33) % sides);
}

#define PICK(words) words[roll(sizeof words / sizeof *words)]

// ---- random texts

static const char *const modes[] = {"read_only", "local_write", "network", "delegated", "destructive"};
static const char *const paths[] = {"args.n", "args.s", "args.o.k",   "args.l",
                                    "role",   "intent", "capability", "args.l.1"};
static const char *const scalars[] = {"0",     "1",    "2",       "3",    "-1",    "2.5",  "\"1\"",
                                      "\"x\"", "\"\"", "\"ops\"", "true", "false", "null", "\"a.c0\""};

static void put_expression(struct buf *b, unsigned depth) {
  static const char *const two[] = {"==", "===", "!=", "!==", "<", "<=", ">", ">=", "-", "in", "+", "*"};
  static const char *const many[] = {"and", "or", "if", "cat", "max", "merge"};
  static const char *const loops[] = {"some", "all", "none"};
  unsigned kind = depth ? roll(10) : roll(3);
  if (kind < 2) {
    buf_printf(b, "{\"var\":\"%s\"}", PICK(paths));
  } else if (kind == 2) {
    buf_printf(b, "%s", PICK(scalars));
  } else if (kind < 6) {
    buf_printf(b, "{\"%s\":[", PICK(two));
    put_expression(b, depth - 1);
    buf_char(b, ',');
    put_expression(b, depth - 1);
    buf_str(b, STR("]}"));
  } else if (kind < 8) {
    buf_printf(b, "{\"%s\":[", PICK(many));
    for (unsigned i = 0, n = 1 + roll(3); i < n; i++) {
      if (i) buf_char(b, ',');
      put_expression(b, depth - 1);
    }
    buf_str(b, STR("]}"));
  } else if (kind == 8) {
    buf_printf(b, "{\"%s\":[{\"var\":\"args.l\"},{\"%s\":[{\"var\":\"\"},%s]}]}", PICK(loops), PICK(two),
               PICK(scalars));
  } else {
    buf_str(b, roll(2) ? STR("{\"!\":[") : STR("{\"!!\":["));
    put_expression(b, depth - 1);
    buf_str(b, STR("]}"));
  }
}

static void put_constraints(struct buf *b) {
  static const char *const keywords[] = {"\"min\":1",          "\"max\":2",           "\"enum\":[1,\"x\",null]",
                                         "\"const\":\"1\"",    "\"pattern\":\"x|1\"", "\"minLength\":1",
                                         "\"maxLength\":0",    "\"maxItems\":2",      "\"required\":true",
                                         "\"required\":false", "\"format\":\"date\""};
  static const char *const keys[] = {"n", "s", "o.k", "l", "l[1]", "o"};
  buf_char(b, '{');
  unsigned from = roll(6);
  for (unsigned i = from; i < 6 && i < from + 2; i++) {
    unsigned at = roll(10);
    buf_printf(b, "%s\"%s\":{%s", i > from ? "," : "", keys[i], keywords[at]);
    if (roll(2)) buf_printf(b, ",%s", keywords[at == 8 ? 10 : at + 1 == 9 ? 0 : at + 1]);
    if (!roll(4)) buf_str(b, STR(",\"unless_approved\":true"));
    buf_char(b, '}');
  }
  buf_char(b, '}');
}

static void put_words(struct buf *b, const char *key, const char *const *words, unsigned count) {
  if (roll(3)) return;
  buf_printf(b, ",\"%s\":[\"%s\"", key, words[roll(count)]);
  if (roll(2)) buf_printf(b, ",\"%s\"", words[roll(count)]);
  buf_char(b, ']');
}

static const char *const roles[] = {"ops", "dev"};
static const char *const intents[] = {"i", "j", "read_only"};
static const char *const classes[] = {"observe", "act", "verify", "recall"};
static const unsigned highest[] = {4, 3, 0, 2};  // modes of c0 to c3

static void put_permission(struct buf *b, unsigned i) {
  unsigned c = roll(4);
  buf_printf(b, "%s{\"permission_id\":\"p%u\",\"adapter_id\":\"a\",\"capability\":\"c%u\",\"allow\":%s", i ? "," : "",
             i, c, roll(12) ? "true" : "false");
  if (roll(2)) buf_printf(b, ",\"approval_mode\":\"%s\"", modes[highest[c] - (highest[c] && !roll(3) ? 1 : 0)]);
  put_words(b, "roles", roles, 2);
  put_words(b, "intents", intents, 3);
  put_words(b, "environments", intents, 2);
  put_words(b, "tenants", roles, 2);
  if (!roll(3)) {
    buf_str(b, STR(",\"arg_constraints\":"));
    put_constraints(b);
  }
  buf_char(b, '}');
}

static void put_rule(struct buf *b, unsigned bundle, unsigned i) {
  buf_printf(b, "%s{\"rule_id\":\"r%u_%u\"", i ? "," : "", bundle, i);
  if (!roll(3)) buf_printf(b, ",\"applies_to\":{\"intent\":\"%s\"}", PICK(intents));
  if (roll(4)) {
    buf_str(b, STR(",\"if\":"));
    put_expression(b, 3);
  }
  buf_printf(b, ",\"then\":{\"allow\":%s", roll(10) ? "true" : "false");
  if (!roll(3)) buf_printf(b, ",\"approval_mode\":\"%s\"", modes[roll(5)]);
  if (!roll(5)) buf_printf(b, ",\"requires_approval_gate\":\"G%u\"", roll(2));
  if (!roll(5)) {
    buf_str(b, STR(",\"arg_constraints\":"));
    put_constraints(b);
  }
  buf_str(b, STR("}}"));
}

static void put_bundles(struct buf *b) {
  for (unsigned i = 0; i < 2; i++) {
    buf_printf(b, "%s{\"bundle_id\":\"b%u\",\"priority\":%u,\"policy_dsl\":{\"language\":\"jsonlogic\",\"rules\":[",
               i ? "," : "", i, roll(3));
    for (unsigned k = 0, n = roll(4); k < n; k++) put_rule(b, i, k);
    buf_printf(b, "]},\"approval_gates\":[{\"gate_id\":\"G%u\",\"required_approver_role\":\"boss\"", i);
    if (roll(2)) {
      buf_str(b, STR(",\"when\":"));
      put_expression(b, 2);
    }
    buf_str(b, STR("}]}"));
  }
}

static void put_file(struct buf *b) {
  buf_str(b, STR("{\"adapters\":[{\"adapter_id\":\"a\",\"type\":\"MCP\",\"capabilities\":["
                 "{\"name\":\"c0\",\"class\":\"act\",\"approval_mode\":\"destructive\",\"scopes\":["));
  if (!roll(3)) buf_printf(b, "\"w\"%s", roll(2) ? ",\"x\"" : "");
  buf_str(b, STR("]},{\"name\":\"c1\",\"class\":\"act\",\"approval_mode\":\"delegated\",\"claims\":["));
  if (!roll(3)) buf_str(b, STR("\"level\""));
  buf_str(b, STR("]},"
                 "{\"name\":\"c2\",\"class\":\"observe\",\"approval_mode\":\"read_only\"},"
                 "{\"name\":\"c3\",\"class\":\"verify\",\"approval_mode\":\"network\"}]}],\"permissions\":["));
  for (unsigned i = 0, n = 2 + roll(6); i < n; i++) put_permission(b, i);
  buf_str(b, STR("],\"bundles\":["));
  if (roll(4)) put_bundles(b);
  buf_str(b, STR("],\"intents\":{"));
  if (!roll(3)) buf_printf(b, "\"i\":{\"classes\":[\"%s\",\"%s\"]}", PICK(classes), PICK(classes));
  buf_str(b, STR("}}"));
}

static void put_member(struct buf *b, const char *key, const char *const *words, unsigned count) {
  if (roll(4)) buf_printf(b, "%s\"%s\":\"%s\"", b->p[b->n - 1] == '{' ? "" : ",", key, words[roll(count)]);
}

static void put_question(struct buf *b) {
  buf_printf(b, "{\"capability\":\"a.c%u\",\"context\":{", roll(25) ? roll(4) : 9);
  put_member(b, "role", roles, 2);
  put_member(b, "intent", intents, roll(3) ? 2 : 3);
  put_member(b, "environment", intents, 2);
  put_member(b, "tenant", roles, 2);
  if (!roll(4)) put_member(b, "safety_mode", modes, 5);
  if (roll(2)) buf_printf(b, "%s\"scopes\":[\"w\"%s]", b->p[b->n - 1] == '{' ? "" : ",", roll(2) ? ",\"x\"" : "");
  if (roll(2)) buf_printf(b, "%s\"level\":%s", b->p[b->n - 1] == '{' ? "" : ",", roll(3) ? "2" : "null");
  if (roll(2))
    buf_printf(b, "%s\"principals\":[{\"kind\":\"%s\",\"id\":\"u\"}]", b->p[b->n - 1] == '{' ? "" : ",",
               roll(3) ? "user" : "service");
  if (roll(2)) buf_printf(b, "%s\"delegation_expires\":%u", b->p[b->n - 1] == '{' ? "" : ",", 100 + roll(20));
  buf_str(b, STR("},\"args\":{"));
  if (roll(3)) buf_printf(b, "\"n\":%s,", PICK(scalars));
  if (roll(3)) buf_printf(b, "\"s\":%s,", PICK(scalars));
  if (roll(3)) buf_printf(b, "\"o\":{\"k\":%s},", PICK(scalars));
  if (roll(2)) buf_printf(b, "\"l\":[%s,%s],", PICK(scalars), PICK(scalars));
  buf_str(b, STR("\"end\":0}"));
  if (roll(2)) buf_printf(b, ",\"now\":%u", 100 + roll(20));
  if (!roll(3)) buf_printf(b, ",\"mode\":\"%s\"", roll(9) ? modes[roll(5)] : "admin");
  buf_char(b, '}');
}

// ---- the second evaluator: JsonLogic

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

// ---- the second evaluator: decisions

static int mode_index(const struct json *v) {
  for (int i = 0; i < 5; i++)
    if (json_equals_str(v, str_of(modes[i]))) return i;
  return -1;
}

static bool listed(const struct json *permission, const char *key, const struct json *context, const char *member) {
  const struct json *list = json_get(permission, str_of(key)), *own = json_get(context, str_of(member));
  if (!list) return true;
  JSON_EACH(it, list)
    if (own && json_same(it, own)) return true;
  return false;
}

struct verdict {
  struct buf rules, gates, hard, soft;  // ids; "path:constraint"
};

static void add(struct buf *b, const char *label, const char *text) {
  buf_printf(b, "%s%s", b->n ? "," : label, text);
}

static const struct json *argument(const struct json *args, const char *key) {
  const struct json *at = args;
  if (!strcmp(key, "l[1]")) at = json_at(json_get(args, STR("l")), 1);
  else if (!strcmp(key, "o.k")) at = json_get(json_get(args, STR("o")), STR("k"));
  else at = json_get(args, str_of(key));
  return json_is(at, JSON_NULL) ? NULL : at;
}

static bool violates(const char *keyword, const struct json *limit, const struct json *v) {
  double d = 0, l = 0;
  char text[64] = "";
  json_double(v, &d);
  json_double(limit, &l);
  if (v->type == JSON_STRING) snprintf(text, sizeof text, "%.*s", (int)v->n - 2, v->p + 1);
  if (!strcmp(keyword, "min")) return v->type == JSON_NUMBER && d < l;
  if (!strcmp(keyword, "max")) return v->type == JSON_NUMBER && d > l;
  if (!strcmp(keyword, "const")) return !json_same(limit, v);
  if (!strcmp(keyword, "pattern")) return v->type == JSON_STRING && strcmp(text, "x") && strcmp(text, "1");
  if (!strcmp(keyword, "minLength")) return v->type == JSON_STRING && (double)strlen(text) < l;
  if (!strcmp(keyword, "maxLength")) return v->type == JSON_STRING && (double)strlen(text) > l;
  if (!strcmp(keyword, "maxItems")) return v->type == JSON_ARRAY && v->count > l;
  if (!strcmp(keyword, "format")) return v->type == JSON_STRING;  // no text of this test is a date
  if (strcmp(keyword, "enum") != 0) return false;
  JSON_EACH(it, limit)
    if (json_same(it, v)) return false;
  return true;
}

static bool wants_type(const char *keyword, const struct json *v) {
  if (!strcmp(keyword, "min") || !strcmp(keyword, "max")) return v->type == JSON_NUMBER;
  if (!strcmp(keyword, "maxItems")) return v->type == JSON_ARRAY;
  bool text = !strcmp(keyword, "pattern") || strstr(keyword, "Length") || !strcmp(keyword, "format");
  return !text || v->type == JSON_STRING;
}

static void check_constraints(const struct json *constraints, const struct json *args, struct verdict *out) {
  if (!constraints) return;
  JSON_EACH(it, constraints) {
    char key[32], line[64];
    bool required = json_is(json_get(it, STR("required")), JSON_TRUE), typed = true;
    struct buf *to = json_get(it, STR("unless_approved")) ? &out->soft : &out->hard;
    snprintf(key, sizeof key, "%.*s", (int)it->key_n, it->key);
    const struct json *v = argument(args, key);
    if (!v && required) {
      snprintf(line, sizeof line, "%s:required", key);
      add(to, "", line);
    }
    if (!v) continue;
    for (int types = 1; types >= 0; types--)
      JSON_EACH(k, it) {
        char keyword[32];
        snprintf(keyword, sizeof keyword, "%.*s", (int)k->key_n, k->key);
        bool wrong = types ? typed && !wants_type(keyword, v) : violates(keyword, k, v);
        if (!wrong) continue;
        typed = typed && !types;
        snprintf(line, sizeof line, "%s:%s", key, types ? "type" : keyword);
        add(to, "", line);
      }
  }
}

static void judge(struct buf *out, const char *code, int effective, struct verdict *v, bool violations) {
  buf_printf(out, "%s", code);
  if (effective >= 0) buf_printf(out, " effective=%s", modes[effective]);
  buf_printf(out, "%.*s%.*s", STR_ARG(buf_view(&v->gates)), STR_ARG(buf_view(&v->rules)));
  if (violations) buf_printf(out, " hard=%.*s", STR_ARG(buf_view(&v->hard)));
  if (violations && !v->gates.n) buf_printf(out, " soft=%.*s", STR_ARG(buf_view(&v->soft)));
}

static void text_of(const struct json *v, const char *key, char out[64]) {
  const struct json *m = json_get(v, str_of(key));
  snprintf(out, 64, "%.*s", (int)m->n - 2, m->p + 1);
}

static const struct json *bundle_by_priority(const struct json *bundles, int64_t priority, size_t *skip) {
  size_t seen = 0;
  JSON_EACH(it, bundles) {
    int64_t own = 0;
    json_int(json_get(it, STR("priority")), &own);
    if (own == priority && seen++ == *skip) {
      ++*skip;
      return it;
    }
  }
  return NULL;
}

struct naive {
  struct question q;
  struct verdict *v;
  const struct json *constraints[64];
  size_t constraint_count;
  int ceiling, floor;
  bool any, denied;
  char gates[2];
};

static void naive_permission(struct naive *n, const struct json *p) {
  const struct json *context = n->q.context;
  char name[64];
  if (!listed(p, "roles", context, "role") || !listed(p, "intents", context, "intent") ||
      !listed(p, "environments", context, "environment") || !listed(p, "tenants", context, "tenant"))
    return;
  text_of(p, "permission_id", name);
  add(&n->v->rules, " rules=", name);
  n->any = true;
  n->denied |= json_is(json_get(p, STR("allow")), JSON_FALSE);
  int mode = mode_index(json_get(p, STR("approval_mode")));
  if (mode >= 0 && mode < n->ceiling) n->ceiling = mode;
  n->constraints[n->constraint_count++] = json_get(p, STR("arg_constraints"));
}

static void naive_gate(struct naive *n, const struct json *owner, const char *key) {
  char gate[64];
  if (!json_get(owner, str_of(key))) return;
  text_of(owner, key, gate);
  if (!n->gates[gate[1] - '0']++) add(&n->v->gates, " gates=", gate);
}

static void naive_rule(struct naive *n, const struct json *r) {
  const struct json *intent = json_get(json_get(r, STR("applies_to")), STR("intent"));
  const struct json *condition = json_get(r, STR("if")), *then = json_get(r, STR("then"));
  const struct json *own = json_get(n->q.context, STR("intent"));
  char name[64];
  if (intent && !(own && json_same(intent, own))) return;
  if (condition && !is_true(evaluate(condition, &n->q, NULL))) return;
  text_of(r, "rule_id", name);
  add(&n->v->rules, " rules=", name);
  n->any = true;
  n->denied |= json_is(json_get(then, STR("allow")), JSON_FALSE);
  int mode = mode_index(json_get(then, STR("approval_mode")));
  if (mode > n->floor) n->floor = mode;
  n->constraints[n->constraint_count++] = json_get(then, STR("arg_constraints"));
  naive_gate(n, then, "requires_approval_gate");
}

static void naive_bundles(struct naive *n, const struct json *bundles) {
  for (int64_t priority = 0; priority < 3; priority++) {
    size_t skip = 0;
    for (const struct json *b; (b = bundle_by_priority(bundles, priority, &skip));) {
      JSON_EACH(r, json_get(json_get(b, STR("policy_dsl")), STR("rules"))) naive_rule(n, r);
      JSON_EACH(g, json_get(b, STR("approval_gates"))) {
        const struct json *when = json_get(g, STR("when"));
        if (when && is_true(evaluate(when, &n->q, NULL))) naive_gate(n, g, "gate_id");
      }
    }
  }
}

// Returns the code of the denial, or NULL.
static const char *naive_delegation(const struct naive *n, const struct json *question, const struct json *capability,
                                    int effective) {
  const struct json *scopes = json_get(n->q.context, STR("scopes")), *level = json_get(n->q.context, STR("level"));
  const struct json *wanted = json_get(capability, STR("claims")), *needed = json_get(capability, STR("scopes"));
  if (wanted && wanted->count && (!level || level->type == JSON_NULL)) return "PERMISSION_DENIED";
  for (const struct json *s = needed ? needed->child : NULL; s; s = s->next) {
    bool found = false;
    for (const struct json *own = scopes ? scopes->child : NULL; own; own = own->next) found |= json_same(s, own);
    if (!found) return "DELEGATION_REQUIRED";
  }
  if (effective != 3) return NULL;
  const struct json *chain = json_get(n->q.context, STR("principals"));
  if (chain && !json_equals_str(json_get(chain->child, STR("kind")), STR("user"))) return "DELEGATION_REQUIRED";
  int64_t now, expires;
  if (!json_int(json_get(question, STR("now")), &now)) return NULL;
  if (!json_int(json_get(n->q.context, STR("delegation_expires")), &expires)) return NULL;
  return now >= expires ? "DELEGATION_EXPIRED" : NULL;
}

static void naive_mode(struct naive *n, const struct json *question, const struct json *capability, struct buf *out) {
  const struct json *wanted = json_get(question, STR("mode")), *safety = json_get(n->q.context, STR("safety_mode"));
  int high = mode_index(json_get(capability, STR("approval_mode"))), requested = mode_index(wanted), effective = high;
  if (wanted && requested < 0) return judge(out, "MODE_INVALID", -1, n->v, false);
  if (requested > high) return judge(out, "MODE_EXCEEDS_MAXIMUM", -1, n->v, false);
  if (n->floor > high) return judge(out, "MODE_RAISE_FORBIDDEN", -1, n->v, false);
  if (n->floor >= 0) effective = n->floor > requested ? n->floor : requested;
  if (effective > n->ceiling) return judge(out, "MODE_EXCEEDS_MAXIMUM", effective, n->v, false);
  if (safety && effective > mode_index(safety)) return judge(out, "MODE_ABOVE_RUN_CEILING", effective, n->v, false);
  if (json_equals_str(json_get(capability, STR("class")), STR("act")) && effective == 0)
    return judge(out, "CLASS_MODE_CONFLICT", effective, n->v, false);
  const char *denial = naive_delegation(n, question, capability, effective);
  if (denial) return judge(out, denial, effective, n->v, false);
  for (size_t i = 0; i < n->constraint_count; i++) check_constraints(n->constraints[i], n->q.args, n->v);
  bool violated = n->v->hard.n || (n->v->soft.n && !n->v->gates.n);
  judge(out, violated ? "ARG_CONSTRAINT_VIOLATION" : "ALLOWED", effective, n->v, true);
}

static bool naive_intent(const struct json *file, const struct json *context, const struct json *class) {
  const struct json *own = json_get(context, STR("intent"));
  if (json_equals_str(own, STR("read_only"))) return !json_equals_str(class, STR("act"));
  const struct json *listed = json_get(json_get(file, STR("intents")), STR("i"));
  if (!listed || !json_equals_str(own, STR("i"))) return true;
  JSON_EACH(it, json_get(listed, STR("classes")))
    if (json_same(it, class)) return true;
  return false;
}

static void naive_decide(const struct json *file, const struct json *question, struct verdict *v, struct buf *out) {
  struct naive n = {.v = v, .ceiling = 9, .floor = -1};
  const struct json *adapter = json_at(json_get(file, STR("adapters")), 0), *capability = NULL;
  const struct json *bundles = json_get(file, STR("bundles"));
  char name[64];
  n.q.args = json_get(question, STR("args"));
  n.q.context = json_get(question, STR("context"));
  text_of(question, "capability", n.q.capability);
  JSON_EACH(it, json_get(adapter, STR("capabilities"))) {
    text_of(it, "name", name);
    if (!strcmp(name, n.q.capability + 2)) capability = it;
  }
  if (!capability) return judge(out, "CAPABILITY_UNKNOWN", -1, v, false);
  JSON_EACH(p, json_get(file, STR("permissions")))
    if (json_same(json_get(p, STR("capability")), json_get(capability, STR("name")))) naive_permission(&n, p);
  if (!n.any || n.denied) return judge(out, "PERMISSION_DENIED", -1, v, false);
  if (!naive_intent(file, n.q.context, json_get(capability, STR("class"))))
    return judge(out, "CLASS_INTENT_CONFLICT", -1, v, false);
  n.any = false;
  naive_bundles(&n, bundles);
  if (n.denied || (bundles->count && !n.any && mode_index(json_get(capability, STR("approval_mode"))) > 0))
    return judge(out, "POLICY_DENIED", -1, v, false);
  naive_mode(&n, question, capability, out);
}

// ---- the comparison

static void engine_decide(const struct governance *g, const struct json *question, struct arena *a, struct buf *out) {
  struct governance_question q;
  struct governance_decision d;
  struct fault f;
  assert_true(governance_read_question(question, a, &q, &f));
  governance_decide(g, &q, a, &d);
  buf_printf(out, "%s", governance_code_name(d.code));
  if (d.effective != APPROVAL_NONE) buf_printf(out, " effective=%s", approval_mode_name(d.effective));
  for (size_t i = 0; i < d.gate_count; i++)
    buf_printf(out, "%s%.*s", i ? "," : " gates=", STR_ARG(d.gates[i]->gate_id));
  for (size_t i = 0; i < d.match_count; i++) buf_printf(out, "%s%.*s", i ? "," : " rules=", STR_ARG(d.matches[i]->id));
  if (d.code != GOVERNANCE_ALLOWED && d.code != GOVERNANCE_ARG_CONSTRAINT_VIOLATION) return;
  for (int soft = 0; soft < (d.gate_count ? 1 : 2); soft++) {
    buf_printf(out, soft ? " soft=" : " hard=");
    const char *comma = "";
    for (const struct violation *v = d.violations.first; v; v = v->next) {
      assert_false(v->waivable && d.gate_count);
      if (v->waivable != soft) continue;
      buf_printf(out, "%s%.*s:%s", comma, STR_ARG(v->path), v->constraint);
      comma = ",";
    }
  }
}

static void compare(const struct governance *g, const struct json *file, struct arena *a, size_t seen[16]) {
  struct buf text, expected, found;
  struct verdict v;
  struct fault f;
  buf_init(&text, 1 << 16);
  buf_init(&expected, 1 << 16);
  buf_init(&found, 1 << 16);
  buf_init(&v.rules, 1 << 16);
  buf_init(&v.gates, 1 << 16);
  buf_init(&v.hard, 1 << 16);
  buf_init(&v.soft, 1 << 16);
  put_question(&text);
  const struct json *question = json_parse(a, buf_view(&text), &json_default_limits, &f);
  assert_non_null(question);
  naive_decide(file, question, &v, &expected);
  engine_decide(g, question, a, &found);
  if (!str_eq(buf_view(&expected), buf_view(&found)))
    fail_msg("%.*s\n%.*s\nexpected %.*s\nfound    %.*s", STR_ARG(json_span(file)), STR_ARG(buf_view(&text)),
             STR_ARG(buf_view(&expected)), STR_ARG(buf_view(&found)));
  for (int i = 0; i < 16; i++)
    if (i <= GOVERNANCE_CLASS_INTENT_CONFLICT &&
        str_starts(buf_view(&found), str_of(governance_code_name((enum governance_code)i))))
      seen[i]++;
  buf_done(&text);
  buf_done(&expected);
  buf_done(&found);
  buf_done(&v.rules);
  buf_done(&v.gates);
  buf_done(&v.hard);
  buf_done(&v.soft);
}

static void the_engine_decides_as_a_naive_evaluator_does(void **unused) {
  struct arena a, answers;
  struct buf b, problems;
  struct fault f;
  size_t seen[16] = {0};
  arena_init(&a);
  arena_init(&answers);
  buf_init(&b, 1 << 20);
  buf_init(&problems, 1 << 16);
  scratch = &answers;
  for (int i = 0; i < FILES; i++) {
    buf_reset(&b);
    put_file(&b);
    const struct json *file = json_parse(&a, buf_view(&b), &json_default_limits, &f);
    if (!file) fail_msg("%s: %.*s", f.message, STR_ARG(buf_view(&b)));
    struct governance *g = governance_read(file, governance_note, &problems);
    if (!g) fail_msg("%.*s\n%.*s", STR_ARG(buf_view(&problems)), STR_ARG(buf_view(&b)));
    for (int k = 0; k < QUESTIONS; k++) {
      compare(g, file, &answers, seen);
      arena_reset(&answers);
    }
    governance_unref(&g);
    arena_reset(&a);
  }
  // Every code occurs often enough to mean something.
  for (int i = 0; i <= GOVERNANCE_CLASS_INTENT_CONFLICT; i++) {
    const char *name = governance_code_name((enum governance_code)i);
    if (i != GOVERNANCE_POLICY_EVAL_ERROR && seen[i] < 100) fail_msg("%s: %zu cases only", name, seen[i]);
  }
  arena_done(&a);
  arena_done(&answers);
  buf_done(&b);
  buf_done(&problems);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_engine_decides_as_a_naive_evaluator_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// The operators of JsonLogic.
#include <math.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "govern/logic_impl.h"

// Declares an eager operator, which receives the values of its operands: args[0] to args[count - 1].
#define EAGER(name) \
  static struct logic_value name(struct logic_run *r, const struct logic_value *data, const struct logic_value *args, \
                                 size_t count)
// Declares a lazy operator, which evaluates its operands (node->args) itself.
#define LAZY(name) \
  static struct logic_value name(struct logic_run *r, const struct logic_value *data, const struct logic_node *node)

static bool eval_truthy(struct logic_run *r, const struct logic_node *node, const struct logic_value *data) {
  struct logic_value v = logic_eval(r, node, data);
  return logic_truthy(&v);
}

// ---- comparison

EAGER(op_equal) {
  return logic_bool(logic_equal(r, &args[0], &args[1]));
}
EAGER(op_not_equal) {
  return logic_bool(!logic_equal(r, &args[0], &args[1]));
}
EAGER(op_same) {
  return logic_bool(logic_same(&args[0], &args[1]));
}
EAGER(op_not_same) {
  return logic_bool(!logic_same(&args[0], &args[1]));
}
EAGER(op_greater) {
  return logic_bool(logic_compare(r, &args[0], &args[1]) == LOGIC_GREATER);
}
EAGER(op_at_least) {
  enum logic_order order = logic_compare(r, &args[0], &args[1]);
  return logic_bool(order == LOGIC_GREATER || order == LOGIC_SAME);
}

// Returns whether the operands are in ascending order. With `strict`, adjacent operands must not be equal.
static struct logic_value ascending(struct logic_run *r, const struct logic_value *args, size_t count, bool strict) {
  for (size_t i = 0; i + 1 < count; i++) {
    enum logic_order order = logic_compare(r, &args[i], &args[i + 1]);
    if (order != LOGIC_LESS && (strict || order != LOGIC_SAME)) return logic_bool(false);
  }
  return logic_bool(true);
}
EAGER(op_less) {
  return ascending(r, args, count, true);
}
EAGER(op_at_most) {
  return ascending(r, args, count, false);
}

EAGER(op_not) {
  return logic_bool(!logic_truthy(&args[0]));
}
EAGER(op_truthy) {
  return logic_bool(logic_truthy(&args[0]));
}

// ---- arithmetic

EAGER(op_add) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += logic_parse_float(r, &args[i]);
  return logic_number(sum);
}

// Multiplies the operands. A single operand is returned unchanged, not converted to a number.
EAGER(op_multiply) {
  if (count == 1) return args[0];
  double product = logic_parse_float(r, &args[0]);
  for (size_t i = 1; i < count; i++) product = (product + 0.0) * logic_parse_float(r, &args[i]);
  return logic_number(product);
}

EAGER(op_subtract) {
  double first = logic_to_number(r, &args[0]);
  return logic_number(count == 1 ? -first : first - logic_to_number(r, &args[1]));
}
EAGER(op_divide) {
  return logic_number(logic_to_number(r, &args[0]) / logic_to_number(r, &args[1]));
}
EAGER(op_remainder) {
  return logic_number(fmod(logic_to_number(r, &args[0]), logic_to_number(r, &args[1])));
}

// Returns the maximum if `sign` is 1, the minimum if it is -1; NaN if any operand is NaN.
static struct logic_value extreme(struct logic_run *r, const struct logic_value *args, size_t count, double sign) {
  double best = -HUGE_VAL;
  for (size_t i = 0; i < count; i++) {
    double d = sign * logic_to_number(r, &args[i]);
    if (isnan(d)) best = d;
    else if (d > best || (d >= best && signbit(best))) best = d;
  }
  return logic_number(sign * best);
}
EAGER(op_max) {
  return extreme(r, args, count, 1);
}
EAGER(op_min) {
  return extreme(r, args, count, -1);
}

// ---- choice

LAZY(op_if) {
  size_t i = 0;
  for (; i + 1 < node->count; i += 2)
    if (eval_truthy(r, &node->args[i], data)) return logic_eval(r, &node->args[i + 1], data);
  return i < node->count ? logic_eval(r, &node->args[i], data) : logic_null();
}

// Returns the value of the first operand whose truth value is `wanted`. If no operand has this truth value, returns the
// last value.
static struct logic_value first_with(struct logic_run *r, const struct logic_value *data, const struct logic_node *node,
                                     bool wanted) {
  struct logic_value v = logic_null();
  for (size_t i = 0; i < node->count; i++) {
    v = logic_eval(r, &node->args[i], data);
    if (logic_truthy(&v) == wanted) break;
  }
  return v;
}
LAZY(op_and) {
  return first_with(r, data, node, false);
}
LAZY(op_or) {
  return first_with(r, data, node, true);
}

// ---- data

// Reads an array index in JavaScript's form: no sign, no leading zeros.
static bool read_index(str token, size_t *out) {
  uint64_t index;
  if (!token.n || token.n > 9 || (token.n > 1 && token.p[0] == '0') || !str_to_u64(token, &index)) return false;
  *out = index;
  return true;
}

static bool element_at(struct logic_run *r, const struct logic_value *array, size_t index, struct logic_value *out) {
  if (index >= logic_array_count(array)) return false;
  if (array->type == LOGIC_LIST) *out = array->list->items[index];
  else if (logic_spend(r, index / 8)) *out = logic_value_of(r, json_at(array->json, index));
  return !r->why;
}

static bool member_of(struct logic_run *r, const struct logic_value *object, str name, struct logic_value *out) {
  if (object->type == LOGIC_SCOPE) {
    bool current = str_eq(name, STR("current"));
    *out = current ? object->scope->current : object->scope->accumulator;
    return current || str_eq(name, STR("accumulator"));
  }
  const struct json *found = logic_spend(r, object->json->count / 8) ? json_get(object->json, name) : NULL;
  if (found) *out = logic_value_of(r, found);
  return found && !r->why;
}

static bool text_part(struct logic_run *r, str text, str token, struct logic_value *out) {
  size_t index;
  if (!logic_spend(r, text.n / 8)) return false;
  size_t units = logic_units(text);
  if (str_eq(token, STR("length"))) *out = logic_number((double)units);
  else if (read_index(token, &index) && index < units) *out = logic_text(logic_slice(r, text, index, 1));
  else return false;
  return !r->why;
}

// Finds the part of a value that `token` names: a member, an element, a character or the length.
static bool find_part(struct logic_run *r, const struct logic_value *in, str token, struct logic_value *out) {
  size_t index;
  switch (in->type) {
  case LOGIC_OBJECT:
  case LOGIC_SCOPE: return member_of(r, in, token, out);
  case LOGIC_ARRAY:
  case LOGIC_LIST:
    if (read_index(token, &index)) return element_at(r, in, index, out);
    if (!str_eq(token, STR("length"))) return false;
    *out = logic_number((double)logic_array_count(in));
    return true;
  case LOGIC_STRING: return text_part(r, in->text, token, out);
  case LOGIC_NULL:
  case LOGIC_BOOL:
  case LOGIC_NUMBER: break;
  }
  return false;
}

// Finds the value at a dotted path. If the path is empty or null, the value is the data itself.
static bool find_path(struct logic_run *r, const struct logic_value *data, const struct logic_value *path,
                      struct logic_value *out) {
  struct logic_value at = *data;
  str rest = path->type == LOGIC_NULL ? STR("") : logic_string(r, path);
  for (bool more = rest.n; more && !r->why;) {
    str token, tail;
    more = str_cut(rest, '.', &token, &tail);
    if (!logic_spend(r, 1) || !find_part(r, &at, token, &at)) return false;
    rest = tail;
  }
  *out = at;
  return !r->why;
}

EAGER(op_var) {
  struct logic_value found = count > 1 ? args[1] : logic_null(), path = count ? args[0] : logic_null();
  find_path(r, data, &path, &found);
  return found;
}

static bool is_missing(struct logic_run *r, const struct logic_value *data, const struct logic_value *key) {
  struct logic_value found = logic_null();
  if (key->type > LOGIC_STRING) return logic_fail(r, "a key of `missing` must not be an array or an object");
  find_path(r, data, key, &found);
  return found.type == LOGIC_NULL || (found.type == LOGIC_STRING && !found.text.n);
}

static struct logic_list *find_missing(struct logic_run *r, const struct logic_value *data,
                                       const struct logic_value *keys) {
  struct logic_list *list = logic_list_new(r, logic_array_count(keys));
  struct logic_walk w = {.array = keys};
  struct logic_value key;
  while (list && logic_walk_next(r, &w, &key))
    if (is_missing(r, data, &key)) list->items[list->count++] = key;
  return r->why ? NULL : list;
}

static struct logic_value list_or_null(const struct logic_list *list) {
  return list ? (struct logic_value){.type = LOGIC_LIST, .list = list} : logic_null();
}

// Returns the keys that are missing from the data. The keys are the operands or, if the first operand is an array, the
// elements of this array.
EAGER(op_missing) {
  struct logic_list all = {count, (struct logic_value *)args};
  struct logic_value operands = {.type = LOGIC_LIST, .list = &all};
  return list_or_null(find_missing(r, data, count && logic_is_array(args) ? args : &operands));
}

EAGER(op_missing_some) {
  if (!logic_is_array(&args[1])) logic_fail(r, "the second operand of `missing_some` must be an array of keys");
  struct logic_list *missing = r->why ? NULL : find_missing(r, data, &args[1]);
  if (!missing) return logic_null();
  struct logic_value present = logic_number((double)(logic_array_count(&args[1]) - missing->count));
  enum logic_order order = logic_compare(r, &present, &args[0]);
  if (order == LOGIC_GREATER || order == LOGIC_SAME) missing->count = 0;
  return list_or_null(missing);
}

// ---- arrays

// Evaluates the first operand, stores its value in *room, and returns an iteration over its elements. If the value is
// not an array, the `array` of the iteration is NULL.
static struct logic_walk walk_first(struct logic_run *r, const struct logic_value *data, const struct logic_node *node,
                                    struct logic_value *room) {
  *room = logic_eval(r, &node->args[0], data);
  return (struct logic_walk){.array = logic_is_array(room) ? room : NULL};
}

LAZY(op_map) {
  struct logic_value array, it;
  struct logic_walk w = walk_first(r, data, node, &array);
  struct logic_list *list = logic_list_new(r, w.array ? logic_array_count(w.array) : 0);
  while (list && w.array && logic_walk_next(r, &w, &it))
    list->items[list->count++] = logic_eval(r, &node->args[1], &it);
  return list_or_null(list);
}

LAZY(op_filter) {
  struct logic_value array, it;
  struct logic_walk w = walk_first(r, data, node, &array);
  struct logic_list *list = logic_list_new(r, w.array ? logic_array_count(w.array) : 0);
  while (list && w.array && logic_walk_next(r, &w, &it))
    if (eval_truthy(r, &node->args[1], &it)) list->items[list->count++] = it;
  return list_or_null(list);
}

LAZY(op_reduce) {
  struct logic_value array;
  struct logic_walk w = walk_first(r, data, node, &array);
  struct logic_value result = node->count > 2 ? logic_eval(r, &node->args[2], data) : logic_null();
  struct logic_value it;
  while (w.array && logic_walk_next(r, &w, &it)) {
    struct logic_scope *scope = logic_take(r, sizeof *scope);
    if (!scope) break;
    *scope = (struct logic_scope){.current = it, .accumulator = result};
    struct logic_value inner = {.type = LOGIC_SCOPE, .scope = scope};
    result = logic_eval(r, &node->args[1], &inner);
  }
  return result;
}

// Evaluates the second operand for each element of the array that is the first operand. Returns whether any of these
// values has the truth value `wanted`. Sets *out_empty to whether there are no elements.
static bool any_is(struct logic_run *r, const struct logic_value *data, const struct logic_node *node, bool wanted,
                   bool *out_empty) {
  struct logic_value array, it;
  struct logic_walk w = walk_first(r, data, node, &array);
  *out_empty = !w.array || !logic_array_count(w.array);
  while (!*out_empty && logic_walk_next(r, &w, &it))
    if (eval_truthy(r, &node->args[1], &it) == wanted) return true;
  return false;
}

LAZY(op_all) {
  bool empty, fails = any_is(r, data, node, false, &empty);
  return logic_bool(!fails && !empty);
}
LAZY(op_none) {
  bool empty;
  return logic_bool(!any_is(r, data, node, true, &empty));
}
LAZY(op_some) {
  bool empty;
  return logic_bool(any_is(r, data, node, true, &empty));
}

EAGER(op_merge) {
  size_t room = 0;
  for (size_t i = 0; i < count; i++) room += logic_is_array(&args[i]) ? logic_array_count(&args[i]) : 1;
  struct logic_list *list = logic_list_new(r, room);
  for (size_t i = 0; i < count && list; i++) {
    struct logic_walk w = {.array = &args[i]};
    if (!logic_is_array(&args[i])) list->items[list->count++] = args[i];
    else
      while (logic_walk_next(r, &w, &list->items[list->count])) list->count++;
  }
  return list_or_null(list);
}

// ---- text

// Returns whether args[1], a string or an array, contains args[0].
EAGER(op_in) {
  if (logic_is_array(&args[1])) {
    struct logic_walk w = {.array = &args[1]};
    struct logic_value it;
    while (logic_walk_next(r, &w, &it))
      if (logic_same(&it, &args[0])) return logic_bool(true);
    return logic_bool(false);
  }
  if (args[1].type != LOGIC_STRING || !args[1].text.n) return logic_bool(false);
  str part = logic_string(r, &args[0]), text = args[1].text;
  if (!logic_spend(r, text.n / 8)) return logic_null();
  return logic_bool(!part.n || memmem(text.p, text.n, part.p, part.n));
}

EAGER(op_cat) {
  return logic_text(logic_join(r, args, count));
}

// Rounds a number down to a whole number from 0 to `most`. NaN becomes 0.
static size_t clamp(double d, size_t most) {
  if (isnan(d) || d <= 0) return 0;
  return d >= (double)most ? most : (size_t)d;
}

// Returns a part of the string args[0]. A negative start counts from the end of the string. A negative length omits
// that number of characters at the end.
EAGER(op_substr) {
  str text = logic_string(r, &args[0]);
  size_t units = logic_units(text);
  double from = logic_to_number(r, &args[1]);
  size_t start = clamp(from < 0 ? (double)units + trunc(from) : from, units), length = units - start;
  double wanted = count > 2 ? logic_to_number(r, &args[2]) : (double)length;
  if (wanted < 0) wanted = args[2].type == LOGIC_NUMBER ? (double)length + wanted : 0;
  return logic_text(logic_slice(r, text, start, clamp(wanted, length)));
}

// ---- the table

static const struct logic_operator operators[] = {
    {"var", 0, 2, op_var, NULL},
    {"missing", 0, LOGIC_NODES_MAX, op_missing, NULL},
    {"missing_some", 2, 2, op_missing_some, NULL},
    {"if", 0, LOGIC_NODES_MAX, NULL, op_if},
    {"?:", 0, LOGIC_NODES_MAX, NULL, op_if},
    {"==", 2, 2, op_equal, NULL},
    {"===", 2, 2, op_same, NULL},
    {"!=", 2, 2, op_not_equal, NULL},
    {"!==", 2, 2, op_not_same, NULL},
    {"!", 1, 1, op_not, NULL},
    {"!!", 1, 1, op_truthy, NULL},
    {"or", 1, LOGIC_NODES_MAX, NULL, op_or},
    {"and", 1, LOGIC_NODES_MAX, NULL, op_and},
    {">", 2, 2, op_greater, NULL},
    {">=", 2, 2, op_at_least, NULL},
    {"<", 2, 3, op_less, NULL},
    {"<=", 2, 3, op_at_most, NULL},
    {"max", 1, LOGIC_NODES_MAX, op_max, NULL},
    {"min", 1, LOGIC_NODES_MAX, op_min, NULL},
    {"+", 1, LOGIC_NODES_MAX, op_add, NULL},
    {"-", 1, 2, op_subtract, NULL},
    {"*", 1, LOGIC_NODES_MAX, op_multiply, NULL},
    {"/", 2, 2, op_divide, NULL},
    {"%", 2, 2, op_remainder, NULL},
    {"map", 2, 2, NULL, op_map},
    {"filter", 2, 2, NULL, op_filter},
    {"reduce", 2, 3, NULL, op_reduce},
    {"all", 2, 2, NULL, op_all},
    {"none", 2, 2, NULL, op_none},
    {"some", 2, 2, NULL, op_some},
    {"merge", 0, LOGIC_NODES_MAX, op_merge, NULL},
    {"in", 2, 2, op_in, NULL},
    {"cat", 0, LOGIC_NODES_MAX, op_cat, NULL},
    {"substr", 2, 3, op_substr, NULL},
};

const struct logic_operator *logic_operator_find(str name) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (str_eq(str_of(operators[i].name), name)) return &operators[i];
  return NULL;
}

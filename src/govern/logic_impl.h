// SPDX-License-Identifier: Apache-2.0
// Internals of JsonLogic, shared by logic*.c only.
#pragma once
#include "govern/logic.h"

enum logic_type {
  LOGIC_NULL,
  LOGIC_BOOL,
  LOGIC_NUMBER,
  LOGIC_STRING,
  LOGIC_ARRAY,   // an array in the data
  LOGIC_LIST,    // an array that an operator returned
  LOGIC_OBJECT,  // an object in the data
  LOGIC_SCOPE,   // the data that an expression in `reduce` reads
};

// A value. Arrays and objects are equal only if they are the same array or object, as in JavaScript.
struct logic_value {
  enum logic_type type;
  union {
    bool truth;
    double number;
    str text;
    const struct json *json;
    const struct logic_list *list;
    const struct logic_scope *scope;
  };
};

struct logic_list {
  size_t count;
  struct logic_value *items;
};

struct logic_scope {
  struct logic_value current, accumulator;
};

// An operator with its operands, a constant, or a literal array.
struct logic_node {
  const struct logic_operator *op;  // NULL for a literal array (`list` is set) and for a constant
  const struct logic_node *args;    // operands of the operator, or elements of the array
  uint32_t count;
  bool list;
  struct logic_value constant;
};

struct logic {
  struct logic_node root;
};

struct logic_run {
  struct arena *arena;
  struct logic_budget *budget;
  const char *why;  // the first error, or NULL; after an error, every operator returns null
};

// An operator has one of two functions. `eager` receives the values of the operands; `lazy` evaluates operands itself.
struct logic_operator {
  const char *name;
  uint32_t min, max;  // number of operands
  struct logic_value (*eager)(struct logic_run *r, const struct logic_value *data, const struct logic_value *args,
                              size_t count);
  struct logic_value (*lazy)(struct logic_run *r, const struct logic_value *data, const struct logic_node *node);
};

const struct logic_operator *logic_operator_find(str name);  // NULL if the operator is unknown

struct logic_value logic_eval(struct logic_run *r, const struct logic_node *node, const struct logic_value *data);

// ---- logic_value.c: budget and conversions

static inline struct logic_value logic_null(void) {
  return (struct logic_value){.type = LOGIC_NULL};
}
static inline struct logic_value logic_bool(bool truth) {
  return (struct logic_value){.type = LOGIC_BOOL, .truth = truth};
}
static inline struct logic_value logic_number(double number) {
  return (struct logic_value){.type = LOGIC_NUMBER, .number = number};
}
static inline struct logic_value logic_text(str text) {
  return (struct logic_value){.type = LOGIC_STRING, .text = text};
}

bool logic_fail(struct logic_run *r, const char *why);  // sets `why` unless it is set; returns false
bool logic_spend(struct logic_run *r, size_t steps);    // false if too few steps are left, or after an error
void *logic_take(struct logic_run *r, size_t n);        // memory of n bytes; NULL after an error
// Returns an empty list with this capacity; NULL after an error.
struct logic_list *logic_list_new(struct logic_run *r, size_t room);

struct logic_value logic_value_of(struct logic_run *r, const struct json *v);

static inline bool logic_is_array(const struct logic_value *v) {
  return v->type == LOGIC_ARRAY || v->type == LOGIC_LIST;
}
size_t logic_array_count(const struct logic_value *array);

// Iterates over the elements of an array. Must be initialised as {.array = ...}.
struct logic_walk {
  const struct logic_value *array;
  const struct json *json;
  size_t at;
};
bool logic_walk_next(struct logic_run *r, struct logic_walk *w, struct logic_value *out);

bool logic_truthy(const struct logic_value *v);
str logic_string(struct logic_run *r, const struct logic_value *v);                               // String(v)
str logic_join(struct logic_run *r, const struct logic_value *parts, size_t count);               // parts.join("")
double logic_to_number(struct logic_run *r, const struct logic_value *v);                         // Number(v)
double logic_parse_float(struct logic_run *r, const struct logic_value *v);                       // parseFloat(v)
bool logic_same(const struct logic_value *a, const struct logic_value *b);                        // a === b
bool logic_equal(struct logic_run *r, const struct logic_value *a, const struct logic_value *b);  // a == b

// LOGIC_UNORDERED means that at least one of the two values converts to NaN.
enum logic_order { LOGIC_LESS, LOGIC_SAME, LOGIC_GREATER, LOGIC_UNORDERED };
enum logic_order logic_compare(struct logic_run *r, const struct logic_value *a, const struct logic_value *b);

// logic_units returns the length of a string, logic_slice a part of it. Both count UTF-16 code units, as JavaScript
// does.
size_t logic_units(str s);
str logic_slice(struct logic_run *r, str s, size_t from, size_t count);

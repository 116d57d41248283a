// SPDX-License-Identifier: Apache-2.0
// Internals of JsonLogic, shared by logic*.c only.
#pragma once
#include "govern/logic.h"

enum logic_type {
  LOGIC_NULL,
  LOGIC_BOOL,
  LOGIC_NUMBER,
  LOGIC_STRING,
  LOGIC_ARRAY,   // in the data
  LOGIC_LIST,    // an array that an operator made
  LOGIC_OBJECT,  // in the data
  LOGIC_SCOPE,   // the data of an expression in `reduce`
};

// Two arrays or objects are equal if they are the same one, as in JavaScript.
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
  const struct logic_operator *op;  // NULL for a constant and a literal array
  const struct logic_node *args;    // operands, or elements
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
  const char *why;  // the error; NULL without one. After an error all results are null.
};

// An operator either gets the values of its operands (eager) or evaluates them itself (lazy).
struct logic_operator {
  const char *name;
  uint32_t min, max;  // number of operands
  struct logic_value (*eager)(struct logic_run *r, const struct logic_value *data, const struct logic_value *args,
                              size_t count);
  struct logic_value (*lazy)(struct logic_run *r, const struct logic_value *data, const struct logic_node *node);
};

const struct logic_operator *logic_operator_find(str name);  // NULL for an unknown one

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

bool logic_fail(struct logic_run *r, const char *why);                // keeps the first reason; returns false
bool logic_spend(struct logic_run *r, size_t steps);                  // false after an error
void *logic_take(struct logic_run *r, size_t n);                      // memory; NULL after an error
struct logic_list *logic_list_new(struct logic_run *r, size_t room);  // with count 0; NULL after an error

struct logic_value logic_value_of(struct logic_run *r, const struct json *v);

static inline bool logic_is_array(const struct logic_value *v) {
  return v->type == LOGIC_ARRAY || v->type == LOGIC_LIST;
}
size_t logic_array_count(const struct logic_value *array);

// Walks the elements of an array; starts as {.array = ...}.
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

enum logic_order { LOGIC_LESS, LOGIC_SAME, LOGIC_GREATER, LOGIC_UNORDERED };  // LOGIC_UNORDERED: one is not a number
enum logic_order logic_compare(struct logic_run *r, const struct logic_value *a, const struct logic_value *b);

// Strings as JavaScript counts them, in units of UTF-16.
size_t logic_units(str s);
str logic_slice(struct logic_run *r, str s, size_t from, size_t count);

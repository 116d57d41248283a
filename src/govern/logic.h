// SPDX-License-Identifier: Apache-2.0
// Compiles and evaluates JsonLogic (jsonlogic.com): expressions in JSON such as {">": [{"var": "args.amount"}, 3000]}.
//
// A compiled expression is immutable. Its results are those of json-logic-js: values convert as in JavaScript, and
// numbers are doubles. Differences:
//   - Compilation fails for an unknown operator, a wrong number of operands, `log`, and an object that does not have
//     exactly one operator. In these cases, json-logic-js fails during evaluation, ignores operands, or returns the
//     object (which counts as true).
//   - The keys of `missing` and `missing_some` must not be arrays or objects. json-logic-js evaluates such keys as
//     expressions.
//   - `var` reads members, elements and `length`, but no properties of JavaScript prototypes.
//   - If `substr` cuts a surrogate pair, the half that is left becomes U+FFFD.
#pragma once
#include "json/json.h"
#include "json/write.h"

struct logic;

enum { LOGIC_DEPTH_MAX = 64, LOGIC_NODES_MAX = 10000 };  // limits on one expression

// Compiles an expression into the arena, without references to `source`. On failure, returns NULL and sets `f` to
// FAULT_INVALID or FAULT_LIMIT. The path of the fault is a JSON Pointer, relative to `source`, to the part with the
// error.
const struct logic *logic_compile(struct arena *a, const struct json *source, struct fault *f);

// The work that evaluations may still do. Several evaluations may share a budget.
struct logic_budget {
  size_t steps;  // number of operators and values to evaluate
  size_t bytes;  // bytes of memory for values
};

enum logic_verdict { LOGIC_FALSE, LOGIC_TRUE, LOGIC_ERROR };

// Evaluates the expression on `data`. Returns LOGIC_TRUE or LOGIC_FALSE, depending on the truth value of the result in
// JsonLogic. Returns LOGIC_ERROR, with the reason in *out_why, if the budget is exhausted or an operand has a wrong
// type. Allocates memory only from `scratch`.
enum logic_verdict logic_test(const struct logic *l, const struct json *data, struct arena *scratch,
                              struct logic_budget *budget, const char **out_why);

// Evaluates the expression and writes its result as JSON. Arrays and objects of the data are copied; a number that JSON
// cannot express becomes null. Returns false, with the reason in *out_why, if the evaluation fails; `w` may then have a
// part of the result.
bool logic_put(const struct logic *l, const struct json *data, struct arena *scratch, struct logic_budget *budget,
               struct json_writer *w, const char **out_why);

// Called for each path that an expression may read from the data, such as "args.amount". `path` is STR_NONE if the
// expression computes the path, and "" for the whole data. Returns true to stop.
typedef bool logic_on_path(void *ctx, str path);
// Calls `on_path` for each path. Returns whether it was stopped.
bool logic_each_path(const struct logic *l, logic_on_path *on_path, void *ctx);

// Returns whether the result of the expression may depend on this member of the data.
bool logic_may_read(const struct logic *l, str member);

bool logic_is_operator(str name);  // returns whether there is an operator with this name

// SPDX-License-Identifier: Apache-2.0
// JsonLogic (jsonlogic.com): expressions as JSON, such as {">": [{"var": "args.amount"}, 3000]}.
//
// An expression is compiled once and then only read. Operators, truth and conversions are those of json-logic-js:
// values convert as in JavaScript, and numbers are doubles. Differences:
//   - An unknown operator, a wrong number of operands, `log`, and an object without exactly one operator are errors of
//     compilation. json-logic-js fails late, ignores operands, or takes the object as a (true) value.
//   - `missing` and `missing_some` accept keys that are scalars only; json-logic-js runs other keys as expressions.
//   - `var` reads members, elements and `length`, not the prototypes of JavaScript.
//   - Half of a surrogate pair that `substr` cuts becomes U+FFFD.
#pragma once
#include "json/json.h"

struct logic;

enum { LOGIC_DEPTH_MAX = 64, LOGIC_NODES_MAX = 10000 };  // of one expression

// Compiles an expression into the arena, without references to the JSON. NULL on failure: f has FAULT_INVALID or
// FAULT_LIMIT, a message, and as its path the JSON Pointer from the expression to the error.
const struct logic *logic_compile(struct arena *a, const struct json *source, struct fault *f);

// The work that remains, for one or for several evaluations.
struct logic_budget {
  size_t steps;  // operators and values
  size_t bytes;  // memory for values
};

enum logic_verdict { LOGIC_FALSE, LOGIC_TRUE, LOGIC_ERROR };

// Evaluates the expression on `data` and returns whether the result is true in JsonLogic. LOGIC_ERROR if the budget is
// exhausted or an operand has no meaning; *out_why is then the reason. Takes memory from `scratch` only.
enum logic_verdict logic_test(const struct logic *l, const struct json *data, struct arena *scratch,
                              struct logic_budget *budget, const char **out_why);

// SPDX-License-Identifier: Apache-2.0
// Writes the result of an expression as JSON.
#include <math.h>

#include "govern/logic_impl.h"
#include "json/decimal.h"
#include "json/write.h"

enum { RESULT_DEPTH_MAX = 64 };

static void put_number(struct json_writer *w, double d) {
  if (!isfinite(d)) {
    json_put_null(w);  // as JSON.stringify does
    return;
  }
  char room[64];
  struct buf text = {.p = room, .cap = sizeof room, .max = sizeof room};
  json_decimal_ecmascript(&text, d);
  json_put_raw(w, buf_view(&text));
}

static void put(struct logic_run *r, struct json_writer *w, const struct logic_value *v, unsigned depth) {
  if (depth > RESULT_DEPTH_MAX) logic_fail(r, "the result of an expression is too deep");
  if (!logic_spend(r, 1)) return;
  switch (v->type) {
  case LOGIC_NULL:
  case LOGIC_SCOPE: json_put_null(w); break;
  case LOGIC_BOOL: json_put_bool(w, v->truth); break;
  case LOGIC_NUMBER: put_number(w, v->number); break;
  case LOGIC_STRING: json_put_str(w, v->text); break;
  case LOGIC_ARRAY:
  case LOGIC_OBJECT: json_put_raw(w, json_span(v->json)); break;
  case LOGIC_LIST:
    json_begin_array(w);
    for (size_t i = 0; i < v->list->count; i++) put(r, w, &v->list->items[i], depth + 1);
    json_end_array(w);
    break;
  }
}

bool logic_put(const struct logic *l, const struct json *data, struct arena *scratch, struct logic_budget *budget,
               struct json_writer *w, const char **out_why) {
  struct logic_run r = {.arena = scratch, .budget = budget};
  struct logic_value root = logic_value_of(&r, data), result = logic_eval(&r, &l->root, &root);
  if (!r.why) put(&r, w, &result, 0);
  if (r.why) *out_why = r.why;
  return !r.why;
}

bool logic_is_operator(str name) {
  return logic_operator_find(name) != NULL;
}

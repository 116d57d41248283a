// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "result/view/view_table.h"
#include "text/oneline.h"
#include "json/decimal.h"

enum { CELL_SHOWN = 200 };

static const struct {
  str name;
  enum view_operator op;
} operators[] = {
    {STR("="), VIEW_EQ},  {STR("=="), VIEW_EQ},         {STR("!="), VIEW_NE},        {STR("<"), VIEW_LT},
    {STR("<="), VIEW_LE}, {STR(">"), VIEW_GT},          {STR(">="), VIEW_GE},        {STR("contains"), VIEW_CONTAINS},
    {STR("in"), VIEW_IN}, {STR("starts"), VIEW_STARTS}, {STR("is_null"), VIEW_NULL},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

bool view_add_column(struct view_columns *c, str name, size_t *out_place, struct fault *f) {
  for (size_t i = 0; i < c->count; i++) {
    if (!str_eq(c->names[i], name)) continue;
    *out_place = i;
    return true;
  }
  if (c->count == SHEET_COLUMNS) {
    fault_set(f, FAULT_INVALID, "the selector has more than %d columns; select fewer columns", SHEET_COLUMNS);
    return false;
  }
  *out_place = c->count;
  c->names[c->count++] = name;
  return true;
}

// ---- reading conditions

static bool wrong_where(const struct view_order *o, struct fault *f) {
  fault_set(f, FAULT_INVALID,
            "where must be a list of at most %d conditions such as {\"column\":\"price\",\"op\":\"<\",\"value\":10}; "
            "op is one of = != < <= > >= contains starts in is_null; example: {\"type\":\"%.*s\",\"where\":[…]}",
            VIEW_CONDITIONS, STR_ARG(o->type));
  fault_set_path(f, STR("where"));
  return false;
}

static bool read_operand(const struct json *v, struct arena *a, struct view_operand *out) {
  if (!v || json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY)) return false;
  if (!json_string(v, a, &out->text)) out->text = json_span(v);
  out->is_number = text_number(out->text, &out->number);
  return true;
}

static bool read_operands(const struct json *v, struct arena *a, struct view_condition *c) {
  if (c->op == VIEW_NULL || json_is(v, JSON_NULL)) {
    bool equal = c->op != VIEW_NE;
    if (c->op != VIEW_NULL && c->op != VIEW_EQ && c->op != VIEW_NE) return false;
    c->wanted = json_is(v, JSON_FALSE) ? false : equal;
    c->op = VIEW_NULL;
    return true;
  }
  bool list = c->op == VIEW_IN;
  if (list && (!json_is(v, JSON_ARRAY) || v->count > VIEW_OPERANDS)) return false;
  c->operands = ARENA_ARRAY(a, struct view_operand, list ? v->count + 1 : 1);
  for (const struct json *e = list ? v->child : v; e; e = list ? e->next : NULL)
    if (!read_operand(e, a, &c->operands[c->count++])) return false;
  return c->count > 0 || list;
}

static bool read_operator(const struct json *v, enum view_operator *out) {
  for (size_t i = 0; i < OPERATORS; i++) {
    if (!json_equals_str(v, operators[i].name)) continue;
    *out = operators[i].op;
    return true;
  }
  return false;
}

static bool known_members(const struct json *v) {
  JSON_EACH(m, v)
    if (!json_key_is(m, STR("column")) && !json_key_is(m, STR("op")) && !json_key_is(m, STR("value"))) return false;
  return true;
}

bool view_read_where(const struct view_order *o, struct arena *a, struct view_columns *columns, struct view_where *out,
                     struct fault *f) {
  const struct json *list = view_member(o, STR("where"));
  *out = (struct view_where){.count = 0};
  if (!list) return true;
  if (!json_is(list, JSON_ARRAY) || list->count > VIEW_CONDITIONS) return wrong_where(o, f);
  JSON_EACH(v, list) {
    struct view_condition *c = &out->list[out->count++];
    str column;
    if (!json_is(v, JSON_OBJECT) || !known_members(v) || !json_string(json_get(v, STR("column")), a, &column) ||
        !read_operator(json_get(v, STR("op")), &c->op) || !read_operands(json_get(v, STR("value")), a, c))
      return wrong_where(o, f);
    if (!view_add_column(columns, column, &c->column, f)) return false;
  }
  return true;
}

// ---- rows

static int compare_doubles(double a, double b) {
  return (a > b) - (a < b);
}

// Compares a cell with an operand: by value if both are numbers, otherwise as text, byte by byte.
static int compare(const struct cell *cell, const struct view_operand *x, struct arena *a) {
  double number;
  if (x->is_number && cell_number(cell, &number)) return compare_doubles(number, x->number);
  return str_cmp(cell_text(cell, a), x->text);
}

static bool holds(str text, str part) {
  return !part.n || (text.n && memmem(text.p, text.n, part.p, part.n));
}

static bool meets_value(const struct view_condition *c, const struct cell *cell, struct arena *a) {
  const struct view_operand *x = c->operands;
  switch (c->op) {
  case VIEW_EQ: return compare(cell, x, a) == 0;
  case VIEW_NE: return compare(cell, x, a) != 0;
  case VIEW_LT: return compare(cell, x, a) < 0;
  case VIEW_LE: return compare(cell, x, a) <= 0;
  case VIEW_GT: return compare(cell, x, a) > 0;
  case VIEW_GE: return compare(cell, x, a) >= 0;
  case VIEW_CONTAINS: return holds(cell_text(cell, a), x->text);
  case VIEW_STARTS: return str_starts(cell_text(cell, a), x->text);
  case VIEW_IN:
    for (size_t i = 0; i < c->count; i++)
      if (compare(cell, &x[i], a) == 0) return true;
    return false;
  case VIEW_NULL: break;
  }
  return false;
}

// Returns whether the row meets all conditions. An empty cell meets only is_null and !=.
bool view_row_meets(const struct view_where *w, const struct sheet *t, struct arena *scratch) {
  for (size_t i = 0; i < w->count; i++) {
    const struct view_condition *c = &w->list[i];
    const struct cell *cell = &t->cells[c->column];
    bool none = cell->kind == CELL_NONE;
    bool met = c->op == VIEW_NULL ? none == c->wanted : none ? c->op == VIEW_NE : meets_value(c, cell, scratch);
    if (!met) return false;
  }
  return true;
}

// ---- answers

bool view_no_table(const struct view_order *o, struct fault *f) {
  struct fault why = *f;
  if (strstr(why.message, "{\"type\":")) return false;
  bool placed = str_starts(str_of(why.message), str_of(why.path));  // also true if the path is empty
  fault_set(f, why.code, "%s%s%s; example: %s", placed ? "" : why.path, placed ? "" : ", ", why.message, o->form);
  fault_set_path(f, o->type);
  return false;
}

void view_put_number(struct buf *out, double value) {
  if (value - value == 0) json_decimal_ecmascript(out, value);
  else buf_str(out, STR("too large"));
}

void view_put_cell(struct buf *out, const struct cell *c, struct arena *scratch) {
  struct buf text;
  str value = cell_text(c, scratch), shown = utf8_cut(value, CELL_SHOWN);
  buf_init(&text, 4 * CELL_SHOWN);
  measure_repair(&text, shown);
  if (shown.n < value.n) buf_str(&text, STR("…"));
  csv_put(out, oneline(scratch, buf_view(&text)));
  buf_done(&text);
}

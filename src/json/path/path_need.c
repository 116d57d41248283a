// SPDX-License-Identifier: Apache-2.0
// Finds members that a value must have to pass a filter: @.price < 0 && … needs a member "price". A search through all
// values of a text then reads only values with such a member.
#include "json/path/path_impl.h"

struct needs {
  struct path_parser *q;
  struct path_selector *selector;
  const struct path_wanted *top;
};

// Adds the first member of `query` to the members that a value needs, because `test` is false if `query` selects
// nothing. `alone` means that `test` reads nothing but this query, so `test` can run on the member alone.
static bool add_need(struct needs *n, const struct path_expr *query, const struct path_expr *test, bool alone) {
  struct path_selector *s = n->selector;
  const struct path_wanted *w = query->kind == PATH_QUERY ? query->query.picked : NULL;
  if (!w || s->needs_count == PATH_NEEDS) return false;
  alone = alone && !query->query.rest;
  while (w->parent != n->top) w = w->parent;
  str quoted = arena_printf(n->q->a, "\"%.*s\"", STR_ARG(w->name));
  s->needs[s->needs_count++] = (struct path_need){w, quoted, alone ? test : NULL};
  return true;
}

// If a query selects nothing, a comparison with < or > is false, and so is == with a literal. But == is true for two
// queries that select nothing.
static bool add_comparison(struct needs *n, const struct path_expr *e) {
  const struct path_expr *left = e->child, *right = left->next;
  if (e->op == PATH_NE) return false;
  bool is_order = e->op == PATH_LT || e->op == PATH_GT;
  if (right->kind == PATH_LITERAL || is_order)
    if (add_need(n, left, e, right->kind == PATH_LITERAL)) return true;
  return (left->kind == PATH_LITERAL || is_order) && add_need(n, right, e, left->kind == PATH_LITERAL);
}

static bool add_needs(struct needs *n, const struct path_expr *e) {
  size_t before = n->selector->needs_count;
  const struct path_expr *child = e->child;
  switch (e->kind) {
  case PATH_QUERY: return add_need(n, e, e, true);
  case PATH_COMPARE: return add_comparison(n, e);
  case PATH_CALL: return add_need(n, child, e, child->next->kind == PATH_LITERAL);
  case PATH_OR:
    while (child && add_needs(n, child)) child = child->next;
    if (child) n->selector->needs_count = before;
    return !child;
  case PATH_AND:
    while (child && !add_needs(n, child)) child = child->next;
    return child;
  case PATH_NOT:
  case PATH_LITERAL: break;
  }
  return false;
}

void path_note_needs(struct path_parser *q, struct path_selector *s) {
  struct needs n = {.q = q, .selector = s, .top = s->wanted};
  s->needs = ARENA_ARRAY(q->a, struct path_need, PATH_NEEDS);
  if (s->wanted) add_needs(&n, s->filter);
}

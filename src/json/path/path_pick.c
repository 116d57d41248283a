// SPDX-License-Identifier: Apache-2.0
// Finds the members that a filter reads, such as @.price and @.owner.team, in a value. The leading names of all queries
// in a filter form one tree, so that one walk through the value finds all of these members.
#include "base/assert.h"
#include "json/path/path_impl.h"
#include "json/scan_impl.h"

// ---- the tree, built with the query

static struct path_wanted *find_child(const struct path_wanted *parent, str name) {
  for (struct path_wanted *w = parent->child; w; w = w->next)
    if (str_eq(w->name, name)) return w;
  return NULL;
}

static struct path_wanted *add_child(struct path_parser *q, struct path_wanted *parent, str name) {
  struct path_wanted *w = find_child(parent, name), **tail = &parent->child;
  if (w) return w;
  while (*tail) tail = &(*tail)->next;
  w = *tail = ARENA_NEW(q->a, struct path_wanted);
  w->name = name;
  w->parent = parent;
  w->place = q->places++;
  parent->count++;
  return w;
}

static bool is_name(const struct path_segment *s) {
  return !s->descend && !s->selectors->next && s->selectors->kind == PATH_NAME;
}

// Adds the leading names of a query to the tree. At run time, the query's other segments start at the picked member.
static void add_query(struct path_parser *q, struct path_wanted *top, struct path_query *query) {
  query->rest = query->segments;
  if (query->from_root) return;
  struct path_wanted *w = top;
  for (; query->rest && is_name(query->rest); query->rest = query->rest->next)
    w = add_child(q, w, query->rest->selectors->name);
  if (w != top) query->picked = w;
}

static void add_queries(struct path_parser *q, struct path_wanted *top, struct path_expr *e) {
  if (e->kind == PATH_QUERY) add_query(q, top, &e->query);
  for (struct path_expr *child = e->child; child; child = child->next) add_queries(q, top, child);
}

// Stores the children of `parent` and their names as arrays, because path_names needs arrays.
static void list_children(struct path_parser *q, struct path_wanted *parent) {
  str *names = ARENA_ARRAY(q->a, str, parent->count);
  parent->children = ARENA_ARRAY(q->a, struct path_wanted *, parent->count);
  parent->names = names;
  parent->set = q->sets++;
  size_t n = 0;
  for (struct path_wanted *w = parent->child; w; w = w->next) {
    names[n] = w->name;
    parent->children[n++] = w;
    if (w->child) list_children(q, w);
  }
  ASSERT(n == parent->count);
}

struct path_wanted *path_collect(struct path_parser *q, struct path_expr *filter) {
  struct path_wanted *top = ARENA_NEW(q->a, struct path_wanted);
  add_queries(q, top, filter);
  if (!top->count) return NULL;
  list_children(q, top);
  return top;
}

// ---- a run

struct json_names *path_names(struct path_run *r, size_t set, const str *list, size_t count) {
  ASSERT(list && count);
  struct json_names *names = r->sets[set];
  if (names) return names;
  names = r->sets[set] = ARENA_NEW(r->scratch, struct json_names);
  names->list = list;
  names->count = count;
  return names;
}

static void forget(struct path_run *r, const struct path_wanted *parent) {
  for (const struct path_wanted *w = parent->child; w; w = w->next) {
    r->picked[w->place] = NULL;
    if (w->child) forget(r, w);
  }
}

// Records in `end` how far the walk has read into its container. `inner` says how far it has read into the current
// value.
static void learn(struct path_end *end, const struct json_walk *w, const struct path_end *inner) {
  const char *at = w->after ? w->after : inner->after;
  if (!w->close) end->after = w->after;
  else if (at) *end = (struct path_end){.inside = at, .levels = 1};
  else if (inner->inside) *end = (struct path_end){.inside = inner->inside, .levels = inner->levels + 1};
  else *end = (struct path_end){.inside = w->value, .levels = 1};
}

static void pick_members(struct path_run *r, const struct path_wanted *parent, const char *object,
                         struct path_end *end) {
  struct json_names *names = path_names(r, parent->set, parent->names, parent->count);
  struct path_end inner = {0};
  struct json_walk w = json_walk_object(&r->doc, object);
  size_t left = parent->count;
  int i;
  while (left && (i = json_walk_find(&w, names)) >= 0) {
    const struct path_wanted *wanted = parent->children[i];
    if (r->picked[wanted->place]) continue;  // a duplicate key: only the first of equal keys counts
    r->picked[wanted->place] = w.value;
    left--;
    inner = (struct path_end){0};
    if (!wanted->child || *w.value != '{') continue;
    pick_members(r, wanted, w.value, &inner);
    if (left) path_settle(r, &w, &inner);
  }
  if (path_charge_walk(r, object, &w, parent->count)) learn(end, &w, &inner);
}

void path_pick(struct path_run *r, const struct path_wanted *top, const char *value, struct path_end *end) {
  forget(r, top);
  if (*value == '{') pick_members(r, top, value, end);
}

void path_pick_member(struct path_run *r, const struct path_wanted *member, const char *value) {
  struct path_end ignored = {0};
  r->picked[member->place] = value;
  if (member->child) path_pick(r, member, value, &ignored);
}

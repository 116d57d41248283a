// SPDX-License-Identifier: Apache-2.0
#include "govern/argument_names.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/text/fold.h"
#include "govern/govern_impl.h"

enum { NAMES_COMPARED = 200000 };  // maximum number of comparisons of names for one call

// ---- the paths that the rules read

static int compare_paths(const void *a, const void *b) {
  return str_cmp(*(const str *)a, *(const str *)b);
}

struct gathering {
  str *list;  // NULL while the paths are counted
  size_t count;
};

static void gather(struct gathering *all, str path) {
  if (all->list) all->list[all->count] = path;
  all->count++;
}

static bool gather_path(void *ctx, str path) {
  str prefix = STR("args.");
  if (path.n > prefix.n && str_starts(path, prefix)) gather(ctx, str_from(path, prefix.n));
  return false;
}

static void gather_bundle(struct gathering *all, const struct governance_bundle *b) {
  for (size_t i = 0; i < b->rule_count; i++) {
    const struct governance_rule *rule = &b->rules[i];
    if (rule->condition) logic_each_path(rule->condition, gather_path, all);
    for (size_t k = 0; k < rule->constraints.count; k++) gather(all, constraints_path(&rule->constraints, k));
  }
  for (size_t i = 0; i < b->gate_count; i++)
    if (b->gates[i].when) logic_each_path(b->gates[i].when, gather_path, all);
}

void governance_gather_arguments(struct governance *g) {
  struct gathering all = {0};
  for (size_t i = 0; i < g->bundle_count; i++) gather_bundle(&all, &g->bundles[i]);
  all.list = ARENA_ARRAY(&g->arena, str, all.count);
  all.count = 0;
  for (size_t i = 0; i < g->bundle_count; i++) gather_bundle(&all, &g->bundles[i]);
  if (all.count) qsort(all.list, all.count, sizeof *all.list, compare_paths);
  size_t kept = 0;
  for (size_t i = 0; i < all.count; i++)
    if (!kept || !str_eq(all.list[kept - 1], all.list[i])) all.list[kept++] = all.list[i];
  g->argument_paths = (struct governance_names){all.list, kept};
}

// ---- one path

struct search {
  struct arena *arena;
  size_t left;  // number of names that may still be compared
  bool spent;   // there are more names
};

// Takes the first name or index of a path such as a.b[1].c or a.b.1.c.
static str take_token(str *path) {
  size_t n = 0;
  while (n < path->n && !memchr(".[]", path->p[n], 3)) n++;
  str token = {path->p, n};
  while (n < path->n && memchr(".[]", path->p[n], 3)) n++;
  *path = str_from(*path, n);
  return token;
}

static str find_disguised(struct search *s, const struct json *object, const struct json *schema, str name) {
  const struct json *known = json_get(schema, STR("properties"));
  s->spent = object->count > s->left;
  if (s->spent) return name;
  s->left -= object->count;
  JSON_EACH(it, object) {
    str own = json_key(it, s->arena);
    if (!str_eq(own, name) && fold_same(own, name) && !json_get(known, own)) return own;
  }
  return STR_NONE;
}

static str search_path(struct search *s, const struct json *at, const struct json *schema, str path) {
  while (path.n && at) {
    str token = take_token(&path);
    uint64_t index;
    if (json_is(at, JSON_OBJECT)) {
      str found = find_disguised(s, at, schema, token);
      if (found.p) return found;
      at = json_get(at, token);
      schema = json_get(json_get(schema, STR("properties")), token);
    } else {
      at = json_is(at, JSON_ARRAY) && str_to_u64(token, &index) ? json_at(at, (size_t)index) : NULL;
      schema = json_get(schema, STR("items"));
    }
  }
  return STR_NONE;
}

str argument_names_find(const struct governance *g, const struct governance_capability *c, const struct json *args,
                        const struct json *schema, struct arena *a, str *out_path) {
  struct search s = {a, NAMES_COMPARED, false};
  str found = STR_NONE;
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  for (size_t i = 0; i < c->permission_count && !found.p; i++)
    for (size_t k = 0; k < c->permissions[i]->constraints.count && !found.p; k++) {
      *out_path = constraints_path(&c->permissions[i]->constraints, k);
      found = search_path(&s, args, schema, *out_path);
    }
  for (size_t i = 0; i < g->argument_paths.count && !found.p; i++) {
    *out_path = g->argument_paths.list[i];
    found = search_path(&s, args, schema, *out_path);
  }
  return s.spent ? *out_path : found;
}

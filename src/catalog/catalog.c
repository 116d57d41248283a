// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.h"

#include "base/mem.h"
#include "catalog/names.h"
#include "catalog/show.h"

// ---- collecting

static bool is_uri(enum item_kind kind) {
  return kind == ITEM_RESOURCE || kind == ITEM_TEMPLATE;
}

static size_t total(const struct catalog_source *sources, size_t count, enum item_kind kind) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < sources[i].roster_count; k++)
      if (sources[i].rosters[k]) n += sources[i].rosters[k]->count[kind];
  return n;
}

static void note_twice(struct catalog *c, unsigned index, str name) {
  struct catalog_part *part = &c->parts[index];
  if (part->twice_count == CATALOG_TWICE) return;
  if (!part->twice) part->twice = ARENA_ARRAY(&c->arena, str, CATALOG_TWICE);
  part->twice[part->twice_count++] = name;
}

static void collect_source(struct catalog *c, const struct catalog_source *s, unsigned index, enum item_kind kind,
                           const struct hash_key *seed) {
  struct map own;
  map_init(&own, seed);
  for (size_t k = 0; k < s->roster_count; k++) {
    const struct roster *r = s->rosters[k];
    for (size_t i = 0; r && i < r->count[kind]; i++) {
      const struct definition *d = &r->defs[kind][i];
      struct item *item = &c->items[kind][c->count[kind]];
      if (!map_add(&own, d->name, item)) {
        struct item *known = map_find(&own, d->name);
        // Later rosters repeat the first; only a repetition inside one is the server's mistake.
        if (known->seen & 1u << k) note_twice(c, index, known->name);
        known->seen |= 1u << k;
        continue;
      }
      *item = (struct item){
          .kind = kind,
          .source = index,
          .name = arena_str(&c->arena, d->name),
          .text = d->text,
          .stateless = r->origin.stateless,
          .plain = d->plain,
          .hints = d->hints,
          .seen = 1u << k,
      };
      c->count[kind]++;
    }
  }
  map_done(&own);
}

static void collect(struct catalog *c, const struct catalog_source *sources, enum item_kind kind,
                    const struct hash_key *seed) {
  c->items[kind] = ARENA_ARRAY(&c->arena, struct item, total(sources, c->part_count, kind) + 1);
  for (size_t i = 0; i < c->part_count; i++) {
    struct catalog_part *part = &c->parts[i];
    part->first[kind] = c->count[kind];
    collect_source(c, &sources[i], (unsigned)i, kind, seed);
    part->count[kind] = c->count[kind] - part->first[kind];
  }
}

static void describe_parts(struct catalog *c, const struct catalog_source *sources, size_t count) {
  c->part_count = count;
  c->parts = ARENA_ARRAY(&c->arena, struct catalog_part, count + 1);
  for (size_t i = 0; i < count; i++) {
    c->parts[i].server = arena_str(&c->arena, sources[i].server);
    c->parts[i].instructions = arena_str(&c->arena, sources[i].instructions);
    c->parts[i].version = sources[i].version;
    c->parts[i].anonymous = sources[i].anonymous;
    c->parts[i].gone = sources[i].gone;
  }
}

// ---- naming

// Names that more than one upstream has.
static void find_clashes(const struct catalog *c, enum item_kind kind, const struct hash_key *seed, bool *out_clash) {
  struct map first;
  map_init(&first, seed);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    if (map_add(&first, item->name, item)) continue;
    struct item *other = map_find(&first, item->name);
    out_clash[i] = true;
    out_clash[other - c->items[kind]] = true;
  }
  map_done(&first);
}

static void name_items(struct catalog *c, enum item_kind kind, const struct catalog_source *sources,
                       const struct catalog_options *opt) {
  bool *clash = mem_zero(c->count[kind] + 1);
  find_clashes(c, kind, opt->seed, clash);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    str server = sources[item->source].server;
    bool prefix = clash[i] || (opt->prefix_always && !is_uri(kind));
    c->clashes += clash[i];
    item->shown = is_uri(kind) ? names_uri(&c->arena, server, item->name, prefix)
                               : names_safe(&c->arena, server, item->name, prefix, 0);
    // A name that is taken (by a server called "a" with a tool "b" and a tool called "a__b") gets the hashed form.
    for (unsigned salt = 1; !map_add(&c->by_shown[kind], item->shown, item); salt++)
      item->shown = names_safe(&c->arena, server, item->name, true, salt);
  }
  mem_free(clash);
}

static void show_items(struct catalog *c, enum item_kind kind, const struct catalog_source *sources) {
  struct arena scratch;
  arena_init(&scratch);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    const struct roster *first = sources[item->source].rosters[__builtin_ctz(item->seen)];
    show_item(item, &first->origin, &c->arena, &scratch);
  }
  arena_done(&scratch);
}

// ---- keeping

// What one source says nothing about is 0 and false there, and so it is then for all.
static void read_keeping(struct catalog *c, enum item_kind kind, const struct catalog_source *sources, size_t count) {
  uint64_t ttl = count ? UINT64_MAX : 0;
  bool is_public = count > 0;
  for (size_t i = 0; i < count; i++) {
    const struct catalog_source *s = &sources[i];
    if (s->gone) continue;
    if (!s->roster_count) ttl = 0, is_public = false;
    for (size_t k = 0; k < s->roster_count; k++) {
      if (!s->rosters[k]) continue;
      if (s->rosters[k]->ttl_ms[kind] < ttl) ttl = s->rosters[k]->ttl_ms[kind];
      is_public = is_public && s->rosters[k]->is_public[kind];
    }
  }
  c->ttl_ms[kind] = ttl;
  c->is_public[kind] = is_public;
}

struct catalog *catalog_build(const struct catalog_source *sources, size_t count, const struct catalog_options *opt) {
  struct catalog *c = MEM_NEW(struct catalog);
  c->refs = 1;
  c->generation = opt->generation;
  arena_init(&c->arena);
  describe_parts(c, sources, count);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    map_init(&c->by_shown[kind], opt->seed);
    collect(c, sources, kind, opt->seed);
    name_items(c, kind, sources, opt);
    show_items(c, kind, sources);
    read_keeping(c, kind, sources, count);
  }
  return c;
}

struct catalog *catalog_ref(struct catalog *c) {
  c->refs++;
  return c;
}

void catalog_unref(struct catalog **catalog) {
  struct catalog *c = *catalog;
  *catalog = NULL;
  if (!c || --c->refs) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++) map_done(&c->by_shown[kind]);
  arena_done(&c->arena);
  mem_free(c);
}

// ---- asking

const struct item *catalog_find(const struct catalog *c, enum item_kind kind, str shown) {
  return map_find(&c->by_shown[kind], shown);
}

void catalog_suggest(const struct catalog *c, enum item_kind kind, str name, struct buf *out) {
  for (size_t i = 0; i < c->count[kind]; i++) {
    const struct item *item = &c->items[kind][i];
    if (!str_eq(item->name, name)) continue;
    if (out->n) buf_str(out, STR(", "));
    buf_str(out, item->shown);
  }
}

bool catalog_same_item(const struct item *a, const struct item *b) {
  return str_eq(a->text, b->text) && str_eq(a->old_text, b->old_text);
}

bool catalog_same(const struct catalog *a, const struct catalog *b, enum item_kind kind) {
  if (a->count[kind] != b->count[kind]) return false;
  for (size_t i = 0; i < a->count[kind]; i++)
    if (a->items[kind][i].seen != b->items[kind][i].seen || !catalog_same_item(&a->items[kind][i], &b->items[kind][i]))
      return false;
  return true;
}

// ---- routes of URIs

enum { MATCH_STEPS = 4 << 20, MATCH_DEPTH = 64 };

// Matches t against u; an expression is tried from the longest run down. A hostile template could make that take
// exponential time, so every try, and every character compared, costs one of *steps, and there are at most `depth`
// expressions.
static bool match_here(str t, str u, unsigned depth, unsigned *steps) {
  while (t.n && t.p[0] != '{') {
    if (!u.n || t.p[0] != u.p[0] || *steps == 0) return false;
    --*steps;
    t = str_from(t, 1);
    u = str_from(u, 1);
  }
  if (!t.n) return !u.n;
  const char *end = memchr(t.p, '}', t.n);
  if (!end || depth == 0) return false;
  bool simple = end > t.p + 1 && !memchr("+#./;?&", t.p[1], 7);
  str rest = str_from(t, (size_t)(end - t.p) + 1);
  const char *slash = simple && u.n ? memchr(u.p, '/', u.n) : NULL;
  size_t longest = slash ? (size_t)(slash - u.p) : u.n;
  for (size_t n = longest + 1; n-- > 0;) {
    if (*steps == 0) return false;
    --*steps;
    if (match_here(rest, str_from(u, n), depth - 1, steps)) return true;
  }
  return false;
}

bool catalog_template_match(str template_, str uri) {
  unsigned steps = MATCH_STEPS;
  return match_here(template_, uri, MATCH_DEPTH, &steps);
}

static str scheme_of(str uri) {
  str scheme, rest;
  return str_cut(uri, ':', &scheme, &rest) ? scheme : STR_NONE;
}

static size_t add_route(struct catalog_route *out, size_t n, size_t max, struct catalog_route r) {
  for (size_t i = 0; i < n; i++)
    if (out[i].source == r.source) return n;
  if (n < max) out[n++] = r;
  return n;
}

size_t catalog_route(const struct catalog *c, str uri, struct catalog_route *out, size_t max) {
  size_t n = 0;
  const struct item *exact = catalog_find(c, ITEM_RESOURCE, uri);
  if (!exact) exact = catalog_find(c, ITEM_TEMPLATE, uri);  // a completion names the template itself
  if (exact) return add_route(out, n, max, (struct catalog_route){exact->source, exact->name, true});
  unsigned steps = MATCH_STEPS;  // for all of them together
  for (size_t i = 0; i < c->count[ITEM_TEMPLATE]; i++) {
    const struct item *t = &c->items[ITEM_TEMPLATE][i];
    if (!match_here(t->shown, uri, MATCH_DEPTH, &steps)) continue;
    size_t prefix = t->shown.n - t->name.n;
    n = add_route(out, n, max, (struct catalog_route){t->source, str_from(uri, prefix), true});
  }
  if (n) return n;
  str scheme = scheme_of(uri);
  for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
    for (size_t i = 0; i < c->count[kind]; i++) {
      const struct item *r = &c->items[kind][i];
      if (str_eq(scheme_of(r->name), scheme)) n = add_route(out, n, max, (struct catalog_route){r->source, uri, false});
    }
  return n;
}

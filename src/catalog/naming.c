// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming.h"

#include <stdlib.h>

#include "base/mem.h"
#include "catalog/names.h"
#include "json/scan.h"
#include "json/write.h"

// An item that is not called what it is called by those who see everything.
struct other_name {
  size_t place;  // in the catalog
  str shown;
};

// Only what differs, which is little: there is one of these for each agent.
struct naming_own {
  struct arena arena;
  struct other_name *others[ITEM_KINDS];  // by ascending place
  size_t count[ITEM_KINDS];
  struct map by_shown[ITEM_KINDS];
};

// ---- making names

static bool is_uri(enum item_kind kind) {
  return kind == ITEM_RESOURCE || kind == ITEM_TEMPLATE;
}

static bool has_bit(const uint64_t *bits, size_t i) {
  return !bits || bits[i / 64] >> (i % 64) & 1;
}

// Names that more than one upstream has.
static void find_clashes(const struct catalog *c, enum item_kind kind, const uint64_t *seen, bool *out_clash) {
  struct map first;
  map_init(&first, &c->by_shown[kind].seed);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    if (!has_bit(seen, i) || map_add(&first, item->name, item)) continue;
    struct item *other = map_find(&first, item->name);
    out_clash[i] = true;
    out_clash[other - c->items[kind]] = true;
  }
  map_done(&first);
}

static str name_item(const struct catalog *c, const struct item *item, bool clash, struct arena *a) {
  str server = c->parts[item->source].server;
  if (is_uri(item->kind)) return names_uri(a, server, item->name, clash);
  return names_safe(a, server, item->name, clash || c->prefix_always, 0);
}

size_t naming_make(const struct catalog *c, enum item_kind kind, const uint64_t *seen, struct arena *a, str *shown,
                   struct map *by) {
  bool *clash = mem_zero(c->count[kind] + 1);
  size_t contested = 0;
  find_clashes(c, kind, seen, clash);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    if (!has_bit(seen, i)) continue;
    shown[i] = name_item(c, item, clash[i], a);
    // A name that is taken (by a server called "a" with a tool "b" and a tool called "a__b") gets the hashed form.
    unsigned salt = 0;
    while (!map_add(by, shown[i], item))
      shown[i] = names_safe(a, c->parts[item->source].server, item->name, true, ++salt);
    contested += clash[i] || salt;
  }
  mem_free(clash);
  return contested;
}

// ---- those of who sees less

static bool sees_all(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]) {
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    for (size_t i = 0; i < c->count[kind]; i++)
      if (!has_bit(seen[kind], i)) return false;
  return true;
}

static bool is_other(const struct item *item, str shown) {
  return shown.p && !str_eq(shown, item->shown);
}

static void keep_others(struct naming_own *own, const struct catalog *c, enum item_kind kind, const str *shown) {
  size_t count = 0;
  for (size_t i = 0; i < c->count[kind]; i++) count += is_other(&c->items[kind][i], shown[i]);
  own->others[kind] = ARENA_ARRAY(&own->arena, struct other_name, count);
  map_init(&own->by_shown[kind], &c->by_shown[kind].seed);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    if (!is_other(item, shown[i])) continue;
    str kept = arena_str(&own->arena, shown[i]);
    own->others[kind][own->count[kind]++] = (struct other_name){i, kept};
    map_add(&own->by_shown[kind], kept, item);
  }
}

// Where no name is contested, none is among fewer.
struct naming_own *naming_own_new(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]) {
  if (!c->contested || sees_all(c, seen)) return NULL;
  struct naming_own *own = MEM_NEW(struct naming_own);
  struct arena scratch;
  arena_init(&own->arena);
  arena_init(&scratch);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    struct map by;
    str *shown = ARENA_ARRAY(&scratch, str, c->count[kind] + 1);
    map_init(&by, &c->by_shown[kind].seed);
    naming_make(c, (enum item_kind)kind, seen[kind], &scratch, shown, &by);
    keep_others(own, c, (enum item_kind)kind, shown);
    map_done(&by);
  }
  arena_done(&scratch);
  return own;
}

void naming_own_free(struct naming_own **place) {
  struct naming_own *own = *place;
  *place = NULL;
  if (!own) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++) map_done(&own->by_shown[kind]);
  arena_done(&own->arena);
  mem_free(own);
}

size_t naming_own_bytes(const struct naming_own *own) {
  size_t bytes = own ? sizeof *own + own->arena.total : 0;
  for (int kind = 0; own && kind < ITEM_KINDS; kind++)
    bytes += own->count[kind] * 2 * (sizeof(struct map_entry) + sizeof(uint32_t));
  return bytes;
}

// ---- asking

struct naming naming_of_all(const struct catalog *c) {
  return (struct naming){.catalog = c};
}

static size_t place_of(const struct naming *n, const struct item *item) {
  return (size_t)(item - n->catalog->items[item->kind]);
}

bool naming_sees(const struct naming *n, const struct item *item) {
  if (n->lets) return n->lets(n->who, item, n->catalog->parts[item->source].server);
  return has_bit(n->seen[item->kind], place_of(n, item));
}

static int by_place(const void *key, const void *element) {
  size_t place = *(const size_t *)key, other = ((const struct other_name *)element)->place;
  return (place > other) - (place < other);
}

// NULL: it is called what everybody calls it.
static const struct other_name *other_of(const struct naming *n, const struct item *item) {
  if (!n->own || !n->own->count[item->kind]) return NULL;
  size_t place = place_of(n, item);
  return bsearch(&place, n->own->others[item->kind], n->own->count[item->kind], sizeof(struct other_name), by_place);
}

str naming_shown(const struct naming *n, const struct item *item) {
  const struct other_name *other = other_of(n, item);
  return other ? other->shown : item->shown;
}

const struct item *naming_find(const struct naming *n, enum item_kind kind, str shown) {
  const struct item *item = n->own ? map_find(&n->own->by_shown[kind], shown) : NULL;
  if (item) return item;
  item = catalog_find(n->catalog, kind, shown);
  return item && naming_sees(n, item) && !other_of(n, item) ? item : NULL;
}

void naming_suggest(const struct naming *n, enum item_kind kind, str name, struct buf *out) {
  for (size_t i = 0; i < n->catalog->count[kind]; i++) {
    const struct item *item = &n->catalog->items[kind][i];
    if (!str_eq(item->name, name) || !naming_sees(n, item)) continue;
    if (out->n) buf_str(out, STR(", "));
    buf_str(out, naming_shown(n, item));
  }
}

// ---- definitions

// The value of the member that names it: of this object, not of one in it.
static str name_in(str text, enum item_kind kind) {
  struct json_scan scan = json_scan(text);
  struct json_walk walk;
  json_walk_open(&walk, &scan, json_scan_first(&scan));
  str key = str_of(item_kind_rules[kind].name_key);
  while (json_walk_next(&walk))
    if (json_walk_key_is(&walk, key)) return json_walk_value(&walk);
  return (str){text.p, 0};
}

static void put_named(str text, enum item_kind kind, str shown, struct buf *out) {
  str name = name_in(text, kind);
  size_t at = (size_t)(name.p - text.p);
  buf_str(out, (str){text.p, at});
  json_escape(out, shown);
  buf_str(out, str_from(text, at + name.n));
}

void naming_put(const struct naming *n, const struct item *item, bool old, struct buf *out) {
  str text = old ? item->old_text : item->text, shown = naming_shown(n, item);
  if (str_eq(shown, item->shown)) buf_str(out, text);
  else put_named(text, item->kind, shown, out);
}

static bool same_text(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y,
                      bool old) {
  struct buf p, q;
  buf_init(&p, x->old_text.n + x->text.n + 6 * naming_shown(a, x).n + 2);
  buf_init(&q, y->old_text.n + y->text.n + 6 * naming_shown(b, y).n + 2);
  naming_put(a, x, old, &p);
  naming_put(b, y, old, &q);
  bool same = str_eq(buf_view(&p), buf_view(&q));
  buf_done(&p);
  buf_done(&q);
  return same;
}

bool naming_same_item(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y) {
  if (!str_eq(naming_shown(a, x), naming_shown(b, y))) return false;
  if (x == y || catalog_same_item(x, y)) return true;
  // The texts may differ in names that neither of them has here.
  return !str_eq(x->shown, y->shown) && same_text(a, x, b, y, false) && same_text(a, x, b, y, true);
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

bool naming_template_match(str template_, str uri) {
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

// Of the scheme of this URI.
static size_t guess(const struct naming *n, str uri, struct catalog_route *out, size_t max) {
  str scheme = scheme_of(uri);
  size_t count = 0;
  for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
    for (size_t i = 0; i < n->catalog->count[kind]; i++) {
      const struct item *r = &n->catalog->items[kind][i];
      if (naming_sees(n, r) && str_eq(scheme_of(r->name), scheme))
        count = add_route(out, count, max, (struct catalog_route){r->source, uri, false});
    }
  return count;
}

size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max) {
  size_t count = 0;
  const struct item *exact = naming_find(n, ITEM_RESOURCE, uri);
  if (!exact) exact = naming_find(n, ITEM_TEMPLATE, uri);  // a completion names the template itself
  if (exact) return add_route(out, count, max, (struct catalog_route){exact->source, exact->name, true});
  unsigned steps = MATCH_STEPS;  // for all of them together
  for (size_t i = 0; i < n->catalog->count[ITEM_TEMPLATE]; i++) {
    const struct item *t = &n->catalog->items[ITEM_TEMPLATE][i];
    if (!naming_sees(n, t)) continue;
    str shown = naming_shown(n, t);
    if (!match_here(shown, uri, MATCH_DEPTH, &steps)) continue;
    count = add_route(out, count, max, (struct catalog_route){t->source, str_from(uri, shown.n - t->name.n), true});
  }
  return count ? count : guess(n, uri, out, max);
}

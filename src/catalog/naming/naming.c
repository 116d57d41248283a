// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/naming.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "catalog/naming/names.h"
#include "catalog/naming/uri_key.h"
#include "schema/uri.h"
#include "json/scan.h"
#include "json/write.h"

// The name of one item for clients that see only some items, if it differs from the name for clients that see all
// items.
struct other_name {
  size_t place;  // index of the item in the catalog, among items of its kind
  str shown;
};

// The names for clients that see only some items. Only names that differ from the names in the catalog are stored,
// because there is one such struct for each agent.
struct naming_own {
  struct arena arena;
  struct other_name *others[ITEM_KINDS];  // sorted by `place`
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

static const uint64_t *bits_of(uint64_t *const *seen, enum item_kind kind) {
  return seen ? seen[kind] : NULL;
}

// For each item i whose name several upstreams use, sets out_owner[i] to 1 + the index of another one of these
// upstreams.
static void find_clashes(const struct catalog *c, enum item_kind kind, const uint64_t *seen, unsigned *out_owner) {
  struct map first;
  map_init(&first, &c->by_shown[kind].seed);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    if (!has_bit(seen, i) || map_add(&first, item->name, item)) continue;
    struct item *other = map_find(&first, item->name);
    out_owner[i] = other->source + 1;
    out_owner[other - c->items[kind]] = item->source + 1;
  }
  map_done(&first);
}

// ---- owners of URIs

enum { NAMING_STEPS = 64 << 20 };  // maximum steps to compare the URIs and templates of a whole catalog

struct uri_owners {
  const struct catalog *catalog;
  uint64_t *const *seen;
  struct map by_key;  // maps the key of a URI to the first item with this key
  bool *offers;       // for each source: whether it has a visible URI
  size_t steps;
};

static void owners_init(struct uri_owners *o, const struct catalog *c, uint64_t *const *seen) {
  *o = (struct uri_owners){.catalog = c, .seen = seen, .steps = NAMING_STEPS};
  o->offers = mem_zero(c->part_count + 1);
  map_init(&o->by_key, &c->by_shown[ITEM_RESOURCE].seed);
  for (size_t p = 0; p < c->part_count; p++) {
    const struct catalog_part *part = &c->parts[c->order[p]];
    for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
      for (size_t i = part->first[kind]; i < part->first[kind] + part->count[kind]; i++) {
        if (!has_bit(bits_of(seen, (enum item_kind)kind), i)) continue;
        o->offers[c->order[p]] = true;
        map_add(&o->by_key, c->items[kind][i].key, &c->items[kind][i]);
      }
  }
}

static void owners_done(struct uri_owners *o) {
  map_done(&o->by_key);
  mem_free(o->offers);
}

static bool covers(struct uri_owners *o, const struct catalog_part *part, str key) {
  const uint64_t *seen = bits_of(o->seen, ITEM_TEMPLATE);
  for (size_t i = part->first[ITEM_TEMPLATE]; i < part->first[ITEM_TEMPLATE] + part->count[ITEM_TEMPLATE]; i++)
    if (has_bit(seen, i) && uri_meets(o->catalog->items[ITEM_TEMPLATE][i].key, key, &o->steps)) return true;
  return false;
}

// Returns the index of the server whose prefix is at the start of the URI; part_count if there is no such server.
static unsigned prefixed_source(const struct catalog *c, str key) {
  size_t scheme = uri_scheme(key);
  const char *plus = scheme ? memchr(key.p, '+', scheme) : NULL;
  unsigned i = 0;
  if (!plus) return (unsigned)c->part_count;
  while (i < c->part_count && !str_eq(c->parts[i].prefix, (str){key.p, (size_t)(plus + 1 - key.p)})) i++;
  return i;
}

// Returns 1 + the index of the server that owns the item's URI, or 0 if the item's own server owns the URI.
static unsigned owner_of(struct uri_owners *o, const struct item *item) {
  const struct catalog *c = o->catalog;
  const struct item *first = map_find(&o->by_key, item->key);
  if (first->source != item->source) return first->source + 1;
  unsigned named = prefixed_source(c, item->key);
  if (named < c->part_count && named != item->source && o->offers[named]) return named + 1;
  for (size_t p = 0; c->order[p] != item->source; p++)
    if (covers(o, &c->parts[c->order[p]], item->key)) return c->order[p] + 1;
  return 0;
}

static void find_owners(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, unsigned *out_owner) {
  struct uri_owners o;
  owners_init(&o, c, seen);
  for (size_t i = 0; i < c->count[kind]; i++)
    if (has_bit(bits_of(seen, kind), i)) out_owner[i] = owner_of(&o, &c->items[kind][i]);
  owners_done(&o);
}

// ---- names

// Adds the name of an item. Returns true if another item already has this name, such as a tool "a__b" and the tool "b"
// of server "a". In this case, the item gets a name with a hash or, if the name is a URI, a second prefix.
static bool add_name(const struct catalog *c, struct item *item, bool clash, struct arena *a, str *out,
                     struct map *by) {
  const struct catalog_part *part = &c->parts[item->source];
  bool uri = is_uri(item->kind);
  unsigned salt = 0;
  *out = uri ? names_uri(a, clash ? part->prefix : STR(""), item->name)
             : names_safe(a, part->server, item->name, clash || c->prefix_always, 0);
  while (!map_add(by, *out, item)) {
    salt++;
    *out = uri ? names_uri(a, part->prefix, *out) : names_safe(a, part->server, item->name, true, salt);
  }
  return salt > 0;
}

size_t naming_make(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, struct arena *a, str *shown,
                   unsigned *owner, struct map *by) {
  ASSERT((int)kind < ITEM_KINDS && shown && owner);
  size_t contested = 0;
  if (is_uri(kind)) find_owners(c, kind, seen, owner);
  else find_clashes(c, kind, bits_of(seen, kind), owner);
  for (size_t i = 0; i < c->count[kind]; i++) {
    if (!has_bit(bits_of(seen, kind), i)) continue;
    bool taken = add_name(c, &c->items[kind][i], owner[i], a, &shown[i], by);
    contested += owner[i] || taken;
  }
  return contested;
}

// ---- names for clients with partial visibility

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

// If no name in the whole catalog is contested, all clients see the names in the catalog, and this function returns
// NULL.
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
    unsigned *owner = ARENA_ARRAY(&scratch, unsigned, c->count[kind] + 1);
    naming_make(c, (enum item_kind)kind, seen, &scratch, shown, owner, &by);
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

// ---- lookups

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

// Returns the name that replaces item->shown for this caller, or NULL if the caller sees item->shown.
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
  ASSERT((int)kind < ITEM_KINDS);
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

// Returns the raw value of the member that names the item, such as "name", at the top level of the definition.
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
  ASSERT((int)x->kind < ITEM_KINDS && (int)y->kind < ITEM_KINDS);
  if (!str_eq(naming_shown(a, x), naming_shown(b, y))) return false;
  if (x == y || catalog_same_item(x, y)) return true;
  // If item->shown differs, the stored definitions differ at least in this name, which the callers may not see. So this
  // compares the definitions as the callers see them, with their own names.
  return !str_eq(x->shown, y->shown) && same_text(a, x, b, y, false) && same_text(a, x, b, y, true);
}

// ---- routes of URIs

enum { MATCH_STEPS = 4 << 20 };  // maximum steps of the search for the owner of one URI

bool naming_template_match(str template_, str uri) {
  size_t steps = MATCH_STEPS;
  struct arena a;
  arena_init(&a);
  bool match = uri_meets(uri_template_key(&a, template_), uri_key(&a, uri), &steps) && steps;
  arena_done(&a);
  return match;
}

// The URI that a client requested, its key, and the server whose prefix is at the start of the URI (part_count if no
// prefix is).
struct wanted {
  const struct naming *n;
  str uri, key;
  unsigned named;
  size_t steps;
};

static bool is_candidate(const struct wanted *w, const struct item *item) {
  bool other = w->named < w->n->catalog->part_count && item->source != w->named;
  return !other && naming_sees(w->n, item);
}

// Finds the visible item that lists or matches the URI. If there are several such items, the server that is first in
// the configuration counts; within a server, resources come before templates.
static const struct item *find_owner(struct wanted *w) {
  const struct catalog *c = w->n->catalog;
  for (size_t p = 0; p < c->part_count; p++) {
    const struct catalog_part *part = &c->parts[c->order[p]];
    for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
      for (size_t i = part->first[kind]; i < part->first[kind] + part->count[kind]; i++) {
        const struct item *item = &c->items[kind][i];
        bool same = kind == ITEM_RESOURCE ? str_eq(item->key, w->key) : uri_meets(item->key, w->key, &w->steps);
        if (same && is_candidate(w, item)) return item;
      }
  }
  return NULL;
}

// Writes to `out` the servers that have visible URIs with the scheme of the requested URI, in the order of the
// configuration.
static size_t guess(const struct wanted *w, struct catalog_route *out, size_t max) {
  const struct catalog *c = w->n->catalog;
  str scheme = {w->key.p, uri_scheme(w->key)};
  size_t count = 0;
  for (size_t p = 0; p < c->part_count && count < max; p++) {
    const struct catalog_part *part = &c->parts[c->order[p]];
    bool has = false;
    for (int kind = ITEM_RESOURCE; kind <= ITEM_TEMPLATE; kind++)
      for (size_t i = part->first[kind]; !has && i < part->first[kind] + part->count[kind]; i++) {
        const struct item *item = &c->items[kind][i];
        has = str_eq((str){item->key.p, uri_scheme(item->key)}, scheme) && is_candidate(w, item);
      }
    if (has) out[count++] = (struct catalog_route){c->order[p], w->uri, false};
  }
  return count;
}

static size_t route(struct wanted *w, struct catalog_route *out, size_t max) {
  const struct item *owner = find_owner(w);
  if (!w->steps) return 0;
  if (!owner) return guess(w, out, max);
  out[0] = (struct catalog_route){owner->source, owner->kind == ITEM_RESOURCE ? owner->name : w->uri, true};
  return 1;
}

size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max) {
  ASSERT(out && max > 0);
  const struct item *exact = naming_find(n, ITEM_RESOURCE, uri);
  if (!exact) exact = naming_find(n, ITEM_TEMPLATE, uri);  // a completion request names the template itself, not a URI
  if (exact) {
    out[0] = (struct catalog_route){exact->source, exact->name, true};
    return 1;
  }
  if (uri.n > URI_BYTES_MAX) return 0;
  struct arena a;
  arena_init(&a);
  struct wanted w = {n, uri, uri_key(&a, uri), .steps = MATCH_STEPS};
  size_t count = 0;
  w.named = prefixed_source(n->catalog, w.key);
  if (w.named < n->catalog->part_count) {
    struct wanted rest = w;
    rest.uri = uri_after(uri, n->catalog->parts[w.named].prefix.n);
    rest.key = uri_key(&a, rest.uri);
    count = route(&rest, out, max);
    w.named = (unsigned)n->catalog->part_count;
  }
  if (!count) count = route(&w, out, max);
  arena_done(&a);
  return count;
}

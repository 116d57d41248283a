// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/directory.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "catalog/directory/directory_part.h"
#include "catalog/directory/visible_index.h"
#include "catalog/naming/identify.h"
#include "catalog/naming/names.h"
#include "catalog/naming/tool_id.h"
#include "text/oneline.h"

enum { MOST_NOTES = 10000 };

const char *directory_kind_name(enum directory_kind kind) {
  ASSERT(kind <= DIRECTORY_PROMPTS);
  static const char *const names[DIRECTORY_KINDS] = {"tool", "resource", "prompt"};
  return names[kind];
}

// Returns the provisional class of an entry, which depends only on what the server declares about the item.
const char *entry_class(const struct entry *e, enum directory_kind kind) {
  if (kind == DIRECTORY_PROMPTS) return "think_support";
  return e->card.safety == CARD_READ_ONLY ? "observe" : "act";
}

// ---- parts

static struct directory_part *find_part(const struct directory *old, const struct catalog_part *source, str namespace) {
  for (size_t i = 0; old && i < old->part_count; i++) {
    struct directory_part *p = old->parts[i];
    if (p->version == source->version && str_eq(p->server, source->server) && str_eq(p->namespace, namespace))
      return directory_part_ref(p);
  }
  return NULL;
}

// Returns the namespace of each server; empty for removed and anonymous servers. A removed server does not reserve its
// namespace.
static str *find_namespaces(struct directory *d) {
  const struct catalog *c = d->catalog;
  str *servers = ARENA_ARRAY(&d->arena, str, c->part_count + 1),
      *found = ARENA_ARRAY(&d->arena, str, c->part_count + 1);
  str *namespaces = ARENA_ARRAY(&d->arena, str, c->part_count + 1);
  size_t n = 0;
  for (size_t i = 0; i < c->part_count; i++)
    if (!c->parts[i].gone) servers[n++] = c->parts[i].server;
  identify_namespaces(servers, n, card_id_fits, &d->arena, found);
  n = 0;
  for (size_t i = 0; i < c->part_count; i++) {
    bool none = c->parts[i].gone || c->parts[i].anonymous;
    namespaces[i] = none ? STR("") : found[n];
    n += !c->parts[i].gone;
  }
  return namespaces;
}

static void take_parts(struct directory *d, const struct directory *old, const struct directory_options *opt) {
  const struct catalog *c = d->catalog;
  str *namespaces = find_namespaces(d);
  d->part_count = c->part_count;
  d->parts = ARENA_ARRAY(&d->arena, struct directory_part *, c->part_count + 1);
  for (size_t i = 0; i < c->part_count; i++) {
    str namespace = namespaces[i];
    d->parts[i] = find_part(old, &c->parts[i], namespace);
    if (!d->parts[i]) d->parts[i] = directory_part_new(c, i, namespace, opt);
  }
}

// ---- notes

// Shortens a name for a note: one line of at most DIRECTORY_NAME_SHOWN bytes.
static str note_name(struct directory *d, str name) {
  return oneline(&d->arena, utf8_cut(name, DIRECTORY_NAME_SHOWN));
}

static void note(struct directory *d, const struct directory_note *n) {
  d->skipped |= n->skipped;
  if (d->note_count == MOST_NOTES) return;
  if (!d->notes) d->notes = ARENA_ARRAY(&d->arena, struct directory_note, MOST_NOTES);
  d->notes[d->note_count++] = *n;
}

static void gather_notes(struct directory *d) {
  for (size_t i = 0; i < d->part_count; i++) {
    const struct directory_part *p = d->parts[i];
    d->skipped |= p->skipped;
    d->unsound |= p->unsound;
    for (size_t k = 0; k < p->note_count; k++) {
      struct directory_note n = p->notes[k];
      n.fresh = p->refs == 1;  // a part with more references comes from the old directory, which had the same note
      note(d, &n);
    }
  }
}

// Adds notes about URIs that another server owns. The notes are not marked as fresh, because other code logs such URIs.
static void note_shadowed(struct directory *d) {
  const struct catalog *c = d->catalog;
  for (int kind = ITEM_RESOURCE; c->shadowed && kind <= ITEM_TEMPLATE; kind++)
    for (size_t i = 0; i < c->count[kind]; i++) {
      const struct item *item = &c->items[kind][i];
      if (!item->owner || d->note_count == MOST_NOTES) continue;
      str shown = note_name(d, item->shown), owner = c->parts[item->owner - 1].server;
      str reason = arena_printf(&d->arena, "server %.*s owns this URI; here it is listed as %.*s", STR_ARG(owner),
                                STR_ARG(shown));
      note(d,
           &(struct directory_note){c->parts[item->source].server, note_name(d, item->name), reason, .fresh = false});
    }
}

// ---- kind indexes

// Handles two entries with the same id. The second of two tools is hidden, because it could be called only by mistake.
// A second resource or prompt gets a number after its id.
static void settle_clash(struct directory *d, enum directory_kind kind, struct kind_index *kind_index,
                         struct entry *e) {
  const struct entry *first = map_find(&kind_index->by_id, e->card.id);
  ASSERT(first && first != e);
  str server = d->parts[e->source]->server, name = note_name(d, e->card.name);
  if (kind == DIRECTORY_TOOLS) {
    str reason = arena_printf(&d->arena, "its id %.*s already belongs to \"%.*s\" of server %.*s", STR_ARG(e->card.id),
                              STR_ARG(note_name(d, first->card.name)), STR_ARG(d->parts[first->source]->server));
    e->hidden = true;
    note(d, &(struct directory_note){server, name, reason, .skipped = true, .fresh = true});
    return;
  }
  str id = e->card.id;
  for (unsigned n = 2; !map_add(&kind_index->by_id, e->card.id, e); n++)
    e->card.id = arena_printf(&d->arena, "%.*s~%u", STR_ARG(id), n);
  note(d, &(struct directory_note){server, name, STR("another item has the same id: a number was added to this one"),
                                   .fresh = true});
}

static int by_id(const void *a, const void *b) {
  return str_cmp((*(const struct entry *const *)a)->card.id, (*(const struct entry *const *)b)->card.id);
}

static void sort(struct directory *d, struct kind_index *kind_index) {
  kind_index->sorted = ARENA_ARRAY(&d->arena, const struct entry *, kind_index->count + 1);
  for (size_t i = 0; i < kind_index->count; i++) kind_index->sorted[i] = &kind_index->entries[i];
  qsort(kind_index->sorted, kind_index->count, sizeof(struct entry *), by_id);
}

static void fill(struct directory *d, enum directory_kind kind, const struct hash_key *seed) {
  struct kind_index *kind_index = &d->kind_indexes[kind];
  size_t total = 0;
  for (size_t i = 0; i < d->part_count; i++) total += d->parts[i]->kind_indexes[kind].count;
  kind_index->entries = ARENA_ARRAY(&d->arena, struct entry, total + 1);
  struct search_part **parts = ARENA_ARRAY(&d->arena, struct search_part *, d->part_count + 1);
  struct tree_item *leaves = ARENA_ARRAY(&d->arena, struct tree_item, total + 1);
  map_init(&kind_index->by_id, seed);
  map_init(&kind_index->by_safe, seed);
  for (size_t i = 0; i < d->part_count; i++) {
    const struct part_kind_index *from = &d->parts[i]->kind_indexes[kind];
    const struct catalog_part *source = &d->catalog->parts[i];
    parts[i] = from->search;
    for (size_t k = 0; k < from->count; k++) {
      struct entry *e = &kind_index->entries[kind_index->count];
      *e = from->entries[k];
      e->source = (unsigned)i;
      e->item = &d->catalog->items[from->origins[k].kind][source->first[from->origins[k].kind] + from->origins[k].at];
      if (!map_add(&kind_index->by_id, e->card.id, e)) settle_clash(d, kind, kind_index, e);
      bool callable = kind == DIRECTORY_TOOLS && !e->hidden;
      for (unsigned salt = 1; callable && !map_add(&kind_index->by_safe, e->safe, e); salt++)
        e->safe = names_of_id(&d->arena, e->card.namespace, e->leaf, e->card.id, false, salt);
      leaves[kind_index->count++] = (struct tree_item){e->card.id, e->card.namespace, e->leaf};
    }
  }
  ASSERT(kind_index->count == total);
  sort(d, kind_index);
  kind_index->tree = tree_build(leaves, kind_index->count, seed, &d->arena);
  kind_index->index = search_index_new(parts, d->part_count, seed);
}

// ---- creation and destruction

struct directory *directory_new(struct catalog *c, const struct directory *old, const struct directory_options *opt) {
  struct directory *d = MEM_NEW(struct directory);
  d->refs = 1;
  d->catalog = catalog_ref(c);
  arena_init(&d->arena);
  take_parts(d, old, opt);
  gather_notes(d);
  note_shadowed(d);
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) fill(d, (enum directory_kind)kind, opt->seed);
  d->partials = partials_new();
  return d;
}

struct directory *directory_ref(struct directory *d) {
  ASSERT(d->refs > 0);
  d->refs++;
  return d;
}

void directory_unref(struct directory **directory) {
  struct directory *d = *directory;
  *directory = NULL;
  if (!d) return;
  ASSERT(d->refs > 0);
  if (--d->refs) return;
  partials_free(&d->partials);
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    search_index_free(&d->kind_indexes[kind].index);
    map_done(&d->kind_indexes[kind].by_id);
    map_done(&d->kind_indexes[kind].by_safe);
  }
  for (size_t i = 0; i < d->part_count; i++) directory_part_unref(&d->parts[i]);
  catalog_unref(&d->catalog);
  arena_done(&d->arena);
  mem_free(d);
}

// ---- lookups

bool directory_source(const struct directory *d, str namespace, unsigned *out) {
  for (size_t i = 0; i < d->part_count; i++)
    if (namespace.n && str_eq(d->parts[i]->namespace, namespace)) {
      *out = (unsigned)i;
      return true;
    }
  return false;
}

const struct entry *directory_find(const struct directory *d, enum directory_kind kind, str id) {
  ASSERT(kind <= DIRECTORY_PROMPTS && d->refs > 0);
  const struct entry *e = map_find(&d->kind_indexes[kind].by_id, id);
  if (!e) e = map_find(&d->kind_indexes[kind].by_safe, id);
  return e && !e->hidden ? e : NULL;
}

// Returns the index of the first id in `sorted` that is not less than `id`.
static size_t lower_bound(const struct kind_index *kind_index, str id) {
  size_t low = 0, high = kind_index->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (str_cmp(kind_index->sorted[middle]->card.id, id) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

size_t directory_find_short(const struct directory *d, enum directory_kind kind, str id, directory_sees *sees,
                            void *context, const struct entry **out) {
  ASSERT(sees && out);
  static const char *const prefixes[] = {"", "resource::", "prompt::"};
  static const char marks[] = "#@";  // in a full id, '#' and a hash or '@' and a version follow the short id; sorted
  const struct kind_index *kind_index = &d->kind_indexes[kind];
  struct buf key;
  size_t found = 0;
  if (id.n > TOOL_ID_MAX) return 0;
  buf_init(&key, TOOL_ID_MAX + 16);
  if (!str_starts(id, str_of(prefixes[kind]))) buf_str(&key, str_of(prefixes[kind]));
  buf_str(&key, id);
  for (const char *mark = marks; *mark; mark++) {
    buf_char(&key, *mark);
    str prefix = buf_view(&key);
    ASSERT(prefix.p);
    for (size_t i = lower_bound(kind_index, prefix); i < kind_index->count; i++) {
      const struct entry *e = kind_index->sorted[i];
      if (!str_starts(e->card.id, prefix)) break;
      if (e->hidden || !sees(context, e)) continue;
      if (found < DIRECTORY_SUGGESTIONS) out[found] = e;
      found++;
    }
    key.n--;
  }
  buf_done(&key);
  return found;
}

const struct card *directory_card(struct directory *d, const struct entry *e) {
  if (e->made) return e->made;
  struct card *card = ARENA_NEW(&d->arena, struct card);
  struct fault f;
  ASSERT(card_make(&e->card, &d->arena, card, NULL, &f));  // cannot fail: ids are short enough for a card
  return ((struct entry *)e)->made = card;
}

// ---- suggestions for an unknown id

// Returns how much the id of an entry differs from the requested id. The name counts most, then the namespace, then the
// hash. Returns SIZE_MAX if the ids are too different for a suggestion.
static size_t far_from(const struct entry *e, str namespace, str name, str hash) {
  size_t longer = e->leaf.n > name.n ? e->leaf.n - name.n : name.n - e->leaf.n, allowed = 1 + name.n / 4;
  size_t distance = longer <= allowed ? nearest_distance(e->leaf, name) : SIZE_MAX;
  if (distance > allowed) return SIZE_MAX;
  bool other_hash = !hash.n || !str_ends(e->card.id, hash);
  return 4 * distance + 2 * !str_eq(e->card.namespace, namespace) + other_hash;
}

struct near_entries {
  const struct entry **list;
  size_t far[DIRECTORY_SUGGESTIONS];
  size_t count;
};

static void keep_near(struct near_entries *n, const struct entry *e, size_t far) {
  size_t at = n->count;
  while (at && n->far[at - 1] > far) at--;
  if (at == DIRECTORY_SUGGESTIONS) return;
  if (n->count < DIRECTORY_SUGGESTIONS) n->count++;
  for (size_t i = n->count - 1; i > at; i--) n->list[i] = n->list[i - 1], n->far[i] = n->far[i - 1];
  n->list[at] = e;
  n->far[at] = far;
}

static str without_kind(str id) {
  static const str kinds[] = {STR("resource::"), STR("prompt::")};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (str_starts(id, kinds[i])) return str_from(id, kinds[i].n);
  return id;
}

// Finds the visible entries with ids similar to `id`. Any part of `id` may be wrong; its name is the text between the
// namespace and the version or hash.
static size_t find_near(const struct kind_index *kind_index, str id, const uint64_t *visible,
                        const struct entry **out) {
  struct near_entries near = {.list = out};
  str namespace, name, version, hash = STR_NONE;
  if (!str_cut(without_kind(id), ':', &namespace, &name)) name = namespace;
  str_cut(name, '#', &name, &hash);
  str_cut(name, '@', &name, &version);
  for (size_t i = 0; i < kind_index->count; i++) {
    const struct entry *e = &kind_index->entries[i];
    if (e->hidden || (visible && !(visible[i / 64] >> (i % 64) & 1))) continue;
    size_t far = far_from(e, namespace, name, hash);
    if (far != SIZE_MAX) keep_near(&near, e, far);
  }
  return near.count;
}

static bool is_among(const struct entry *const *list, size_t count, const struct entry *e) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == e) return true;
  return false;
}

size_t directory_suggest(const struct directory *d, enum directory_kind kind, str id, const uint64_t *visible,
                         struct arena *scratch, const struct entry **out) {
  ASSERT(kind <= DIRECTORY_PROMPTS && out);
  const struct kind_index *kind_index = &d->kind_indexes[kind];
  struct search_hit hits[DIRECTORY_SUGGESTIONS];
  struct search_query q = {.text = id, .top_k = DIRECTORY_SUGGESTIONS};
  struct outlook o = directory_search(d, kind, visible);
  size_t n = find_near(kind_index, id, visible, out), found = search_run(o.index, &q, scratch, hits);
  for (size_t i = 0; i < found && n < DIRECTORY_SUGGESTIONS; i++) {
    const struct entry *e = outlook_entry(&o, hits[i].doc);
    if (!is_among(out, n, e)) out[n++] = e;
  }
  return n;
}

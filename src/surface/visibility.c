// SPDX-License-Identifier: Apache-2.0
// What a client may see of the catalog: the directory of it, and which entries are this client's.
#include "surface/visibility.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "result/envelope/fault_forms.h"
#include "surface/meta/meta_tools.h"
#include "surface/refused.h"

enum { MOST_TOLD = 20 };

// ---- the directory

// Of definitions that did not change it was told before.
static void report(struct surface *d, const struct directory *dir) {
  size_t told = 0;
  for (size_t i = 0; i < dir->note_count; i++) {
    const struct directory_note *n = &dir->notes[i];
    if (!n->fresh || told++ >= MOST_TOLD) continue;
    if (n->skipped)
      log_warn(d->opt.loop->log, "%.*s: \"%.*s\" is left out: %.*s", STR_ARG(n->server), STR_ARG(n->name),
               STR_ARG(n->reason));
    else if (n->unsound)
      log_warn(d->opt.loop->log, "%.*s: \"%.*s\": %.*s", STR_ARG(n->server), STR_ARG(n->name), STR_ARG(n->reason));
    else log_info(d->opt.loop->log, "%.*s: \"%.*s\": %.*s", STR_ARG(n->server), STR_ARG(n->name), STR_ARG(n->reason));
  }
  if (told > MOST_TOLD)
    log_warn(d->opt.loop->log, "%zu more such notes: toolgate catalog tells them", told - MOST_TOLD);
}

static struct directory_options options_of(const struct surface *d) {
  return (struct directory_options){&d->opt.loop->seed, &d->opt.calls.schemas};
}

static struct directory *empty(struct surface *d) {
  struct directory_options options = options_of(d);
  struct catalog *none = catalog_build(NULL, 0, &(struct catalog_options){.seed = &d->opt.loop->seed});
  struct directory *made = directory_new(none, NULL, &options);
  catalog_unref(&none);
  return made;
}

static bool refused(struct surface *d, const struct directory *new) {
  if (!d->opt.strict || !(new->skipped || new->unsound)) return false;
  log_error(d->opt.loop->log, "the catalog is not taken: %s (on_invalid: raise)",
            new->skipped ? "something of it would be left out" : "a schema in it cannot be used");
  d->refused = new->catalog->generation;
  return true;
}

const struct directory *surface_directory(struct surface *d) {
  struct catalog *c = upstreams_catalog(d->upstreams);
  if (d->directory && (d->directory->catalog == c || d->refused == c->generation)) return d->directory;
  struct directory_options options = options_of(d);
  loop_name(d->opt.loop, LOOP_INDEX);
  struct directory *old = d->directory, *new = directory_new(c, old, &options);
  report(d, new);
  if (refused(d, new)) {
    directory_unref(&new);
    new = old ? directory_ref(old) : empty(d);
  }
  d->directory = new;
  directory_unref(&old);
  return new;
}

// ---- what an agent may see

bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f) {
  return caller_find(d->calls.rules, s, STR_NONE, out, f);
}

void surface_refuse(struct request *r, const struct fault *f) {
  surface_refuse_with(r, f, STR_NONE);
}

void surface_refuse_with(struct request *r, const struct fault *f, str details) {
  struct buf data;
  audit_recorder_fault(r, fault_told_as(f->code));
  surface_refused(surface_client(r->session)->d, r, f->code, NULL);
  buf_init(&data, 4096);
  fault_put_data(&data, f, details);
  request_fail(r, fault_rpc_code(f->code), f->message, buf_view(&data));
  buf_done(&data);
}

static str key_of(const struct visibility_key *key) {
  return (str){(const char *)key, sizeof *key};
}

static void forget(struct surface *d, struct visibility *s) {
  list_remove(&s->node);
  map_remove(&d->visibility_of, key_of(&s->key));
  d->visibility_bytes -= s->bytes;
  for (int kind = 0; kind < ITEM_KINDS; kind++) mem_free(s->bits[kind]);
  naming_own_free(&s->own);
  policy_unref(&s->key.policy);
  mem_free(s);
}

void surface_forget_visibilities(struct surface *d) {
  LIST_EACH(it, &d->visibilities) forget(d, CONTAINER_OF(it, struct visibility, node));
}

void surface_forget_old_visibilities(struct surface *d) {
  uint64_t now = upstreams_catalog(d->upstreams)->generation;
  LIST_EACH(it, &d->visibilities) {
    struct visibility *s = CONTAINER_OF(it, struct visibility, node);
    if (s->key.generation != now) forget(d, s);
  }
}

static void look(struct surface *d, struct visibility *s, const struct caller *c, const struct catalog *catalog) {
  s->bytes = sizeof *s;
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    size_t bytes = (catalog->count[kind] / 64 + 1) * sizeof *s->bits[kind];
    s->bits[kind] = mem_zero(bytes);
    s->bytes += bytes;
    for (size_t i = 0; i < catalog->count[kind]; i++) {
      const struct item *item = &catalog->items[kind][i];
      str server = upstreams_name(d->upstreams, item->source);
      if (caller_may(c, server, item->kind, item->name)) s->bits[kind][i / 64] |= UINT64_C(1) << (i % 64);
    }
  }
  s->own = naming_own_new(catalog, s->bits);
  s->bytes += naming_own_bytes(s->own);
}

// The last two stay: a comparison needs both.
static void make_room(struct surface *d) {
  while (d->visibility_bytes > VISIBILITIES_BYTES && map_count(&d->visibility_of) > 2)
    forget(d, CONTAINER_OF(d->visibilities.next, struct visibility, node));
}

static struct visibility *new_visibility(struct surface *d, const struct caller *c, const struct catalog *catalog) {
  struct visibility *s = MEM_NEW(struct visibility);
  s->key = (struct visibility_key){policy_ref((struct policy *)c->policy), c->agent, catalog->generation};
  look(d, s, c, catalog);
  map_add(&d->visibility_of, key_of(&s->key), s);
  list_push(&d->visibilities, &s->node);
  d->visibility_bytes += s->bytes;
  make_room(d);
  return s;
}

static struct visibility *find_visibility(struct surface *d, const struct caller *c, const struct catalog *catalog) {
  struct visibility_key key = {(struct policy *)c->policy, c->agent, catalog->generation};
  struct visibility *last = CONTAINER_OF(d->visibilities.prev, struct visibility, node);
  // Who goes through a catalog asks for the same one again and again.
  if (!list_empty(&d->visibilities) && memcmp(&last->key, &key, sizeof key) == 0) return last;
  struct visibility *found = map_find(&d->visibility_of, key_of(&key));
  if (!found) return new_visibility(d, c, catalog);
  list_remove(&found->node);
  list_push(&d->visibilities, &found->node);
  return found;
}

bool surface_sees(struct surface *d, const struct caller *c, const struct catalog *catalog, const struct item *item) {
  struct naming n = surface_naming(d, c, catalog);
  return naming_sees(&n, item);
}

struct naming surface_naming(struct surface *d, const struct caller *c, const struct catalog *catalog) {
  struct naming n = naming_of_all(catalog);
  if (!c->policy) return n;
  const struct visibility *s = find_visibility(d, c, catalog);
  for (int kind = 0; kind < ITEM_KINDS; kind++) n.seen[kind] = s->bits[kind];
  n.own = s->own;
  return n;
}

bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source) {
  return !upstreams_gone(d->upstreams, source) &&
         caller_may(c, upstreams_name(d->upstreams, source), ITEM_RESOURCE, STR_NONE);
}

// ---- who sees what

bool meta_sees(struct surface *d, const struct session *s, const struct entry *e) {
  struct caller c;
  struct fault f;
  bool offered = !e->hidden && e->item->seen & upstreams_view(d->upstreams, e->source, s);
  return offered && surface_caller(d, s, &c, &f) && surface_sees(d, &c, surface_directory(d)->catalog, e->item);
}

struct looker {
  struct surface *d;
  const struct session *s;
};

static bool looker_sees(void *context, const struct entry *e) {
  struct looker *l = context;
  return meta_sees(l->d, l->s, e);
}

static bool anybody_sees(void *context, const struct entry *e) {
  return true;
}

size_t meta_find_short(struct surface *d, const struct session *s, enum directory_kind kind, str id,
                       const struct entry **out) {
  struct looker l = {d, s};
  return directory_find_short(surface_directory(d), kind, id, looker_sees, &l, out);
}

// A short id that names only hidden entries returns one of them: the request is refused as if there were none, but the
// audit log gets the rule that hides it.
const struct entry *meta_find(struct surface *d, const struct session *s, enum directory_kind kind, str id) {
  const struct directory *dir = surface_directory(d);
  const struct entry *found[DIRECTORY_SUGGESTIONS], *exact = directory_find(dir, kind, id);
  if (exact) return exact;
  size_t n = meta_find_short(d, s, kind, id, found);
  if (!n && directory_find_short(dir, kind, id, anybody_sees, NULL, found)) return found[0];
  return n == 1 ? found[0] : NULL;
}

// Entries stand in the order of the items they are made from, but for those that got no id: none is far from its place.
static const struct entry *entry_of(struct surface *d, const struct item *tool) {
  const struct directory *dir = surface_directory(d);
  const struct kind_index *kind_index = &dir->kind_indexes[DIRECTORY_TOOLS];
  const struct item *first = dir->catalog->items[ITEM_TOOL];
  size_t place = tool >= first && tool < first + dir->catalog->count[ITEM_TOOL] ? (size_t)(tool - first) + 1 : SIZE_MAX;
  for (size_t i = place < kind_index->count ? place : kind_index->count; i-- > 0;) {
    const struct entry *e = &kind_index->entries[i];
    if (e->source == tool->source && str_eq(e->item->name, tool->name)) return e->hidden ? NULL : e;
  }
  return NULL;
}

str surface_tool_id(void *surface, const struct item *tool) {
  const struct entry *e = entry_of(surface, tool);
  return e ? e->card.id : STR_NONE;
}

str surface_tool_safe(void *surface, const struct item *tool) {
  const struct entry *e = entry_of(surface, tool);
  return e ? e->safe : STR_NONE;
}

const uint64_t *meta_visible(struct surface *d, const struct session *s, enum directory_kind kind) {
  const struct directory *dir = surface_directory(d);
  const struct kind_index *kind_index = &dir->kind_indexes[kind];
  uint64_t *bits = ARENA_ARRAY(&d->scratch, uint64_t, kind_index->count / 64 + 1);
  struct caller c;
  struct fault f;
  bool all = true, known = surface_caller(d, s, &c, &f);
  struct naming naming = known ? surface_naming(d, &c, dir->catalog) : naming_of_all(dir->catalog);
  unsigned source = UINT32_MAX;
  uint32_t view = 0;
  for (size_t i = 0; i < kind_index->count; i++) {
    const struct entry *e = &kind_index->entries[i];
    if (e->source != source) view = upstreams_view(d->upstreams, source = e->source, s);
    bool sees = known && !e->hidden && e->item->seen & view && naming_sees(&naming, e->item);
    if (sees) bits[i / 64] |= UINT64_C(1) << (i % 64);
    all &= sees;
  }
  return all ? NULL : bits;
}

void meta_used(void *surface, const struct session *s, str id) {
  struct surface *d = surface;
  if (d->opt.cache_stable) seen_note(&surface_client(s)->seen, id);
}

// SPDX-License-Identifier: Apache-2.0
#include "surface/visibility.h"
#include "base/assert.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "result/envelope/fault_forms.h"
#include "surface/refused.h"
#include "surface/surface_state.h"

enum { MOST_NOTES = 20, VISIBILITIES_BYTES = 32 << 20 };

// The items of a catalog that one agent may see. Computed on first use and cached; the cache takes at most
// VISIBILITIES_BYTES.
struct visibility {
  struct visibility_key {
    struct policy *policy;
    const struct policy_agent *agent;
    struct run_context *run;
    uint64_t generation;  // generation of the catalog to which the items belong
  } key;
  struct list node;  // member of surface.visibilities
  size_t bytes;
  uint64_t *bits[ITEM_KINDS];
  struct naming_own *own;  // names for this agent that differ from the names in the catalog; may be NULL
};

// ---- the directory

// Logs the problems with definitions that are new in this directory.
static void report(struct surface *d, const struct directory *dir) {
  size_t fresh = 0;
  for (size_t i = 0; i < dir->note_count; i++) {
    const struct directory_note *n = &dir->notes[i];
    if (!n->fresh || fresh++ >= MOST_NOTES) continue;
    if (n->skipped)
      log_warn(d->opt.loop->log, "%.*s: search and browsing leave out \"%.*s\": %.*s", STR_ARG(n->server),
               STR_ARG(n->name), STR_ARG(n->reason));
    else if (n->unsound)
      log_warn(d->opt.loop->log, "%.*s: \"%.*s\": %.*s", STR_ARG(n->server), STR_ARG(n->name), STR_ARG(n->reason));
    else log_info(d->opt.loop->log, "%.*s: \"%.*s\": %.*s", STR_ARG(n->server), STR_ARG(n->name), STR_ARG(n->reason));
  }
  if (fresh > MOST_NOTES)
    log_warn(d->opt.loop->log, "%zu more definitions have problems; run toolgate catalog to see all",
             fresh - MOST_NOTES);
}

static bool refused(struct surface *d, const struct directory *new) {
  if (!d->opt.strict || !(new->skipped || new->unsound)) return false;
  log_error(d->opt.loop->log, "rejected the new catalog (on_invalid: raise): %s; see the log lines above",
            new->skipped ? "a definition would be left out" : "a schema is invalid");
  d->refused = new->catalog->generation;
  return true;
}

const struct directory *surface_directory(struct surface *d) {
  struct catalog *c = upstreams_catalog(d->upstreams);
  if (d->directory && (d->directory->catalog == c || d->refused == c->generation)) return d->directory;
  struct directory_options options = {&d->opt.loop->seed, &d->opt.calls.schemas};
  loop_name(d->opt.loop, LOOP_INDEX);
  struct directory *old = d->directory, *new = directory_new(c, old, &options);
  report(d, new);
  if (refused(d, new)) {
    directory_unref(&new);
    struct catalog *none = old ? NULL : catalog_build(NULL, 0, &(struct catalog_options){.seed = &d->opt.loop->seed});
    new = old ? directory_ref(old) : directory_new(none, NULL, &options);
    catalog_unref(&none);
  }
  ASSERT(new &&new->catalog);
  d->directory = new;
  directory_unref(&old);
  return new;
}

// ---- visible items of an agent

bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f) {
  return caller_find(d->calls.rules, s, STR_NONE, out, f);
}

void surface_refuse(struct request *r, const struct fault *f, str details) {
  struct buf data;
  audit_recorder_fault(r, fault_public_code(f->code));
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
  ASSERT(d->visibility_bytes >= s->bytes && map_find(&d->visibility_of, key_of(&s->key)) == s);
  list_remove(&s->node);
  map_remove(&d->visibility_of, key_of(&s->key));
  d->visibility_bytes -= s->bytes;
  for (int kind = 0; kind < ITEM_KINDS; kind++) mem_free(s->bits[kind]);
  naming_own_free(&s->own);
  policy_unref(&s->key.policy);
  run_context_unref(&s->key.run);
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

static struct visibility_key key_for(const struct caller *c, const struct catalog *catalog) {
  return (struct visibility_key){(struct policy *)c->policy, c->agent, c->run, catalog->generation};
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
      caller_note_item(c, server, item);
      if (caller_lists(c, server, item->kind, item->name)) s->bits[kind][i / 64] |= UINT64_C(1) << (i % 64);
    }
  }
  s->own = naming_own_new(catalog, s->bits);
  s->bytes += naming_own_bytes(s->own);
}

static struct visibility *new_visibility(struct surface *d, const struct caller *c, const struct catalog *catalog) {
  struct visibility *s = MEM_NEW(struct visibility);
  s->key = key_for(c, catalog);
  if (s->key.policy) policy_ref(s->key.policy);
  if (s->key.run) run_context_ref(s->key.run);
  look(d, s, c, catalog);
  ASSERT(map_add(&d->visibility_of, key_of(&s->key), s));
  list_push(&d->visibilities, &s->node);
  d->visibility_bytes += s->bytes;
  // surface_naming promises that the last two results stay valid.
  while (d->visibility_bytes > VISIBILITIES_BYTES && map_count(&d->visibility_of) > 2)
    forget(d, CONTAINER_OF(d->visibilities.next, struct visibility, node));
  return s;
}

static struct visibility *find_visibility(struct surface *d, const struct caller *c, const struct catalog *catalog) {
  struct visibility_key key = key_for(c, catalog);
  struct visibility *last = CONTAINER_OF(d->visibilities.prev, struct visibility, node);
  // Fast path for loops over the items of a catalog, which need the same visibility for each item.
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
  if (!caller_is_limited(c)) return n;
  const struct visibility *s = find_visibility(d, c, catalog);
  for (int kind = 0; kind < ITEM_KINDS; kind++) n.seen[kind] = s->bits[kind];
  n.own = s->own;
  return n;
}

bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source) {
  return !upstreams_gone(d->upstreams, source) &&
         caller_may(c, upstreams_name(d->upstreams, source), ITEM_RESOURCE, STR_NONE);
}

bool surface_lists_server(struct surface *d, const struct caller *c, unsigned source) {
  return !upstreams_gone(d->upstreams, source) &&
         caller_lists(c, upstreams_name(d->upstreams, source), ITEM_RESOURCE, STR_NONE);
}

// ---- entries of a session

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

// For a short id that names only hidden entries, returns one of these entries. The request is refused as if the id were
// unknown, but the audit log has the rule that hides the entry.
const struct entry *meta_find(struct surface *d, const struct session *s, enum directory_kind kind, str id) {
  const struct directory *dir = surface_directory(d);
  const struct entry *found[DIRECTORY_SUGGESTIONS], *exact = directory_find(dir, kind, id);
  if (exact) return exact;
  size_t n = meta_find_short(d, s, kind, id, found);
  if (!n && directory_find_short(dir, kind, id, anybody_sees, NULL, found)) return found[0];
  return n == 1 ? found[0] : NULL;
}

// Entries have the same order as their items, but items without an id have no entry. The search begins at the index of
// the item and goes backwards, so it ends after few steps.
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
  ASSERT((unsigned)kind < DIRECTORY_KINDS);
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

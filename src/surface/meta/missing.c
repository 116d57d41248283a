// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/missing.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "catalog/naming/identify.h"
#include "surface/meta/meta_tools.h"
#include "surface/surface_state.h"
#include "surface/unavailable.h"
#include "surface/visibility.h"
#include "json/write.h"

enum { MOVED_BYTES = 1 << 20 };  // maximum bytes of definitions that are compared to find an entry with a new name
enum { GIVEN_SHOWN = 80, MEANT_SHOWN = 130, CANDIDATE_SHOWN = 60 };  // maximum bytes of ids in a message

struct missing {
  struct surface *d;
  struct request *r;
  enum directory_kind kind;
  str id;
  const uint64_t *visible;  // bits of the visible entries, in the scratch arena; NULL if all entries are visible
};

static bool sees(const struct missing *m, const struct entry *e) {
  return meta_sees(m->d, m->r->session, e);
}

// ---- the reason

// Finds a visible entry with the namespace and the name of the requested id, but with another version or hash.
static const struct entry *find_renamed(const struct missing *m, const struct tool_id_parts *parts) {
  const struct kind_index *kind_index = &surface_directory(m->d)->kind_indexes[m->kind];
  for (size_t i = 0; i < kind_index->count; i++) {
    const struct entry *e = kind_index->sorted[i];
    if (str_eq(e->leaf, parts->name) && str_eq(e->card.namespace, parts->namespace) && sees(m, e)) return e;
  }
  return NULL;
}

// Returns whether the entry `e` has the same arguments as the requested entry: true if the hash of the requested name
// and of `e`'s arguments equals the hash in the requested id. Returns false if `e` has no arguments.
static bool takes_the_same(const struct entry *e, enum directory_kind kind, const struct tool_id_parts *parts,
                           struct arena *a) {
  struct fault ignored;
  const struct json *definition = json_parse(a, e->item->text, &json_default_limits, &ignored);
  bool tool = kind == DIRECTORY_TOOLS;
  const struct json *shape = json_get(definition, tool ? STR("inputSchema") : STR("arguments"));
  const struct json *named = tool ? json_get(shape, STR("properties")) : shape;
  if (!named || !named->count) return false;
  str hash = tool ? identify_hash_tool(a, parts->name, shape) : identify_hash_prompt(a, parts->name, shape);
  return str_eq(hash, parts->hash8);
}

// Finds an entry of the same server that has another name, but the same arguments as the requested entry had. The hash
// in the requested id makes this possible: it covers the name of the tool and the names of its arguments. Returns NULL
// if several entries match, or if there are too many definitions to compare.
static const struct entry *find_moved(const struct missing *m, const struct tool_id_parts *parts) {
  const struct kind_index *kind_index = &surface_directory(m->d)->kind_indexes[m->kind];
  const struct entry *found = NULL;
  size_t bytes = 0;
  bool one = parts->hash8.p && m->kind != DIRECTORY_RESOURCES;
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < kind_index->count && one; i++) {
    const struct entry *e = kind_index->sorted[i];
    if (!str_eq(e->card.namespace, parts->namespace) || !sees(m, e)) continue;
    bytes += e->item->text.n;
    bool same = bytes <= MOVED_BYTES && takes_the_same(e, m->kind, parts, &a);
    one = bytes <= MOVED_BYTES && !(same && found);
    if (same) found = e;
    arena_reset(&a);
  }
  arena_done(&a);
  return one ? found : NULL;
}

struct missing_server {
  unsigned source;
  bool starting;
  str reason;      // reason why the server is unavailable, in the scratch arena
  uint64_t after;  // seconds until the caller should try again
};

// Returns whether the requested id belongs to a server that this caller may use, but whose definitions are unknown.
static bool is_unavailable(const struct missing *m, const struct tool_id_parts *parts, struct missing_server *out) {
  struct surface *d = m->d;
  const struct lane *lane;
  if (!directory_source(surface_directory(d), parts->namespace, &out->source)) return false;
  if (!meta_is_unavailable(d, m->r->session, out->source, &lane)) return false;
  uint64_t now = loop_now(d->opt.loop);
  bool down = lane && lane->state == LANE_DOWN && lane->retry_at > now;
  out->starting = lane_starting(lane);
  out->reason = meta_unavailable_reason(lane, upstreams_spec(d->upstreams, out->source), &d->scratch);
  out->after = down ? (lane->retry_at - now + 999) / 1000 : out->starting ? META_STARTING_RETRY_S : 1;
  return true;
}

// ---- the answer

static void put_ids(struct json_writer *w, str key, const struct entry *const *list, size_t count) {
  json_put_key(w, key);
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) json_put_str(w, list[i]->card.id);
  json_end_array(w);
}

static void report_renamed(const struct missing *m, const struct entry *now, struct json_writer *w, struct fault *f) {
  fault_set(f, f->code, "%s \"%.*s\" was renamed %.*s", directory_kind_name(m->kind),
            STR_ARG(utf8_cut(m->id, GIVEN_SHOWN)), STR_ARG(utf8_cut(now->card.id, MEANT_SHOWN)));
  json_member_str(w, STR("reason"), STR("renamed"));
  json_member_str(w, STR("renamed_to"), now->card.id);
}

static void report_unavailable(const struct missing *m, const struct missing_server *away, struct json_writer *w,
                               struct fault *f) {
  str server = upstreams_name(m->d->upstreams, away->source), told = utf8_cut(m->id, META_NAME_SHOWN);
  if (away->starting)
    fault_set(f, f->code, "server \"%.*s\" of %s \"%.*s\" is still starting; try again in a few seconds",
              STR_ARG(server), directory_kind_name(m->kind), STR_ARG(told));
  else
    fault_set(f, f->code, "server \"%.*s\" of %s \"%.*s\" is not available now (%.*s); try again in %llu s",
              STR_ARG(server), directory_kind_name(m->kind), STR_ARG(told), STR_ARG(away->reason),
              (unsigned long long)away->after);
  f->passes = true;
  json_member_str(w, STR("reason"), away->starting ? STR("starting") : STR("unavailable"));
  json_member_str(w, STR("server"), server);
  json_member_u64(w, STR("retry_after"), away->after);
}

static void report_ambiguous(const struct missing *m, const struct entry *const *list, size_t count,
                             struct json_writer *w, struct fault *f) {
  size_t shown = count < DIRECTORY_SUGGESTIONS ? count : DIRECTORY_SUGGESTIONS;
  struct buf ids;
  buf_init(&ids, 1024);
  for (size_t i = 0; i < shown; i++)
    buf_printf(&ids, "%s%.*s", i ? ", " : "", STR_ARG(utf8_cut(list[i]->card.id, CANDIDATE_SHOWN)));
  fault_set(f, f->code, "\"%.*s\" matches %zu %ss; pass one of: %.*s", STR_ARG(utf8_cut(m->id, CANDIDATE_SHOWN)), count,
            directory_kind_name(m->kind), STR_ARG(buf_view(&ids)));
  buf_done(&ids);
  json_member_str(w, STR("reason"), STR("ambiguous"));
  put_ids(w, STR("candidates"), list, shown);
}

// Reports an unknown id. `meant` is the entry with the most similar id, or NULL.
static void report_unknown(const struct missing *m, const struct entry *meant, struct json_writer *w, struct fault *f) {
  const char *what = directory_kind_name(m->kind);
  str told = utf8_cut(m->id, GIVEN_SHOWN);
  if (meant && meant->card.id.n <= MEANT_SHOWN)
    fault_set(f, f->code, "unknown %s \"%.*s\"; did you mean \"%.*s\"?", what, STR_ARG(told), STR_ARG(meant->card.id));
  else if (m->r->session->mode == MODE_TRANSPARENT)
    fault_set(f, f->code, "unknown %s \"%.*s\"; see tools/list", what, STR_ARG(told));
  else fault_set(f, f->code, "unknown %s \"%.*s\"; call %s_browse to find %ss", what, STR_ARG(told), what, what);
  json_member_str(w, STR("reason"), STR("not_found"));
}

static void report(const struct missing *m, struct json_writer *w, struct fault *f) {
  const struct entry *like[DIRECTORY_SUGGESTIONS], *same[DIRECTORY_SUGGESTIONS];
  struct tool_id_parts parts = {.kind = TOOL_ID_TOOL};
  struct fault ignored;
  struct missing_server away;
  static const enum tool_id_kind kinds[] = {TOOL_ID_TOOL, TOOL_ID_RESOURCE, TOOL_ID_PROMPT};
  size_t near = directory_suggest(surface_directory(m->d), m->kind, m->id, m->visible, &m->d->scratch, like);
  size_t candidates = meta_find_short(m->d, m->r->session, m->kind, m->id, same);
  bool complete = primitive_id_parse(m->id, &parts, &ignored), whole = complete && parts.kind == kinds[m->kind];
  const struct entry *now = whole ? find_renamed(m, &parts) : NULL;
  if (whole && !now) now = find_moved(m, &parts);
  if (!complete) str_cut(m->id, ':', &parts.namespace, &parts.name);
  if (!complete && m->kind == DIRECTORY_TOOLS) f->code = FAULT_TOOL_NOT_FOUND;
  if (now) report_renamed(m, now, w, f);
  else if (candidates > 1) report_ambiguous(m, same, candidates, w, f);
  else if ((whole || !complete) && is_unavailable(m, &parts, &away)) {
    report_unavailable(m, &away, w, f);
    near = 0;  // the id's server is unavailable, so similar ids of other servers would be wrong suggestions
  } else report_unknown(m, near ? like[0] : NULL, w, f);
  ASSERT(near <= DIRECTORY_SUGGESTIONS);
  if (near) put_ids(w, STR("suggestions"), like, near);
}

void meta_missing(struct surface *d, struct request *r, enum directory_kind kind, str id, const struct entry *hidden) {
  static const enum fault_code codes[] = {FAULT_HYDRATE_FAILED, FAULT_RESOURCE_NOT_FOUND, FAULT_PROMPT_NOT_FOUND};
  ASSERT((unsigned)kind < DIRECTORY_KINDS);
  struct missing m = {d, r, kind, id, meta_visible(d, r->session, kind)};
  struct fault f = {.code = codes[kind]};
  struct buf details;
  buf_init(&details, 8192);
  struct json_writer w = json_writer(&details);
  json_begin_object(&w);
  report(&m, &w, &f);
  json_end_object(&w);
  fault_set_path(&f, id);
  meta_fail_hidden(d, r, &f, hidden, details.over ? STR_NONE : buf_view(&details));
  buf_done(&details);
  arena_reset(&d->scratch);
}

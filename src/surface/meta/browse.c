// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/browse.h"
#include "base/assert.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "surface/changes.h"
#include "surface/index_jobs.h"
#include "surface/instructions.h"
#include "surface/meta/definition.h"
#include "surface/meta/filter.h"
#include "surface/meta/skill_cards.h"
#include "surface/surface_state.h"
#include "surface/unavailable.h"
#include "surface/visibility.h"

enum { TOP_K = 10, TOP_K_MOST = 50, NODES_MOST = 400 };
enum { LATER_HITS = 10 };  // number of hits after the last card among which tools of class verify are looked for
static const float SIMILAR = 0.8F;
enum { ANSWER_TOKENS = 32 };  // maximum tokens of an answer without its cards

// ---- the answer

struct browse {
  struct surface *d;
  struct request *r;
  enum directory_kind kind;
  struct card cards[NODES_MOST + 1];  // one more element, for the marker that seen_arrange adds
  size_t count;
  size_t more;                          // number of cards that are left out because there are more than NODES_MOST
  bool all;                             // the client browses the root path
  str server;                           // the server whose path the client browses, or STR_NONE
  const struct governance *governance;  // NULL if the caller's calls are not governed
  const struct run_context *run;        // NULL without governance
  struct browse_filter filter;
};

static const struct governance_capability *capability_of(const struct browse *b, const struct entry *e) {
  if (!b->governance || b->kind != DIRECTORY_TOOLS) return NULL;
  return governance_find_tool(b->governance, upstreams_name(b->d->upstreams, e->source), e->item->name);
}

static const uint64_t *visible_to(struct browse *b) {
  const uint64_t *visible = meta_visible(b->d, b->r->session, b->kind);
  return b->filter.set ? browse_filter_apply(b->d, &b->filter, b->governance, visible) : visible;
}

static void add_entry(struct browse *b, const struct entry *e, const float *score) {
  struct surface *d = b->d;
  ASSERT(b->count < NODES_MOST);
  struct card *c = &b->cards[b->count];
  struct fault f;
  struct card_source source = e->card;
  // A server that is starting counts as available: a call waits for it.
  bool starting = lane_starting(upstreams_lane_seen(d->upstreams, e->source, b->r->session));
  source.unavailable = !starting && !upstreams_available(d->upstreams, e->source, b->r->session);
  if (!source.unavailable) *c = *directory_card(d->directory, e);
  else if (!card_make(&source, &d->scratch, c, NULL, &f)) return;
  c->has_score = score;
  c->score = score ? *score : 0;
  const struct governance_capability *capability = capability_of(b, e);
  if (capability) {
    c->capability = capability->id;
    c->class = str_of(capability_class_name((enum capability_class)capability->class));
    c->mode = str_of(approval_mode_name((enum approval_mode)capability->mode));
    c->provisional = capability->provisional;
    c->domain = capability->domain.p ? capability->domain : capability->adapter->domain;
  }
  b->count++;
}

// If the setting cache_stable is on, moves the cards that the client has seen before to the front.
static void arrange(struct browse *b) {
  struct surface_client *client = surface_client(b->r->session);
  struct card *shown = ARENA_ARRAY(&b->d->scratch, struct card, b->count + 1);
  surface_check_shown(client);
  b->count = seen_arrange(&client->seen, b->cards, b->count, shown);
  ASSERT(b->count <= NODES_MOST + 1);
  memcpy(b->cards, shown, b->count * sizeof *shown);
}

static void answer(struct browse *b) {
  static const enum card_kind kinds[] = {CARD_TOOL, CARD_RESOURCE, CARD_PROMPT};
  struct buf text, json;
  if (b->d->opt.cache_stable) arrange(b);
  buf_init(&text, 1 << 20);
  buf_init(&json, 4 << 20);
  card_render_answer(kinds[b->kind], b->cards, b->count, !b->d->opt.cache_stable, &text);
  if (b->more) buf_printf(&text, "\n… %zu more: use query to find them", b->more);
  if (b->all && !b->count) {
    buf_reset(&text);
    buf_printf(&text, "There are no %ss.", directory_kind_name(b->kind));
  }
  struct json_writer w = json_writer(&json);
  json_begin_object(&w);
  json_put_key(&w, STR("cards"));
  json_begin_array(&w);
  for (size_t i = 0; i < b->count; i++) card_write(&w, &b->cards[i]);
  json_end_array(&w);
  if (b->more) json_member_u64(&w, STR("more"), b->more);
  // Maximum tokens of the answer, including the lines below the cards.
  size_t most = CARD_HARD * b->count + ANSWER_TOKENS;
  meta_put_unavailable(b->d, b->r, true, most, &text, &w);
  if (b->all || !b->count) meta_put_unavailable(b->d, b->r, false, most, &text, &w);
  if (b->server.p) meta_put_server_instructions(b->d, b->r, b->server, most, &text, &w);
  json_end_object(&w);
  meta_reply(b->d, b->r, buf_view(&text), buf_view(&json));
  buf_done(&text);
  buf_done(&json);
}

// ---- by query, by path

static bool is_class(const struct browse *b, const struct outlook *o, const struct search_hit *hit,
                     enum capability_class class) {
  const struct governance_capability *c = capability_of(b, outlook_entry(o, hit->doc));
  return c && c->class == class;
}

// Moves tools of class verify before tools of class observe with a similar score. Scores of equally good hits differ,
// because the search lowers the scores of further hits of one server.
static void put_verify_first(const struct browse *b, const struct outlook *o, struct search_hit *hits, size_t count) {
  for (size_t i = 1; i < count; i++) {
    struct search_hit hit = hits[i];
    size_t at = i;
    if (!is_class(b, o, &hit, CLASS_VERIFY)) continue;
    for (; at && hit.score >= SIMILAR * hits[at - 1].score && is_class(b, o, &hits[at - 1], CLASS_OBSERVE); at--)
      hits[at] = hits[at - 1];
    hits[at] = hit;
  }
}

// Adds the skills that match a query; all skills of the caller if the query is empty.
static void add_skills(struct browse *b, str query) {
  if (!b->governance || b->filter.set) return;
  b->count += skill_cards_find(b->d, b->r->session, query, b->cards + b->count, NODES_MOST - b->count);
}

static void by_query(struct browse *b, str query, size_t top_k) {
  static void (*const tools[])(struct surface *, struct request *) = {
      [DIRECTORY_TOOLS] = meta_tool_browse,
      [DIRECTORY_RESOURCES] = meta_resource_browse,
      [DIRECTORY_PROMPTS] = meta_prompt_browse,
  };
  struct search_hit hits[TOP_K_MOST + LATER_HITS];
  bool verify_first = b->run && b->run->wants_evidence;
  struct search_query q = {query, verify_first ? top_k + LATER_HITS : top_k};
  const struct directory *dir = surface_directory(b->d);
  const uint64_t *visible = visible_to(b);
  if (!index_jobs_ready(b->d, b->r, b->kind, visible, tools[b->kind])) return;
  struct outlook o = directory_search(dir, b->kind, visible);
  size_t n = search_run(o.index, &q, &b->d->scratch, hits);
  ASSERT(n <= q.top_k && top_k <= TOP_K_MOST);
  if (verify_first) put_verify_first(b, &o, hits, n);
  n = n < top_k ? n : top_k;
  for (size_t i = 0; i < n; i++) add_entry(b, outlook_entry(&o, hits[i].doc), &hits[i].score);
  add_skills(b, query);
  answer(b);
}

static void add_node(struct browse *b, const struct outlook *o, const struct tree_node *node) {
  if (node->child_count == 0) {
    add_entry(b, outlook_entry(o, tree_item_of(o->tree, node)), NULL);
    return;
  }
  struct card_source source = {
      .id = node->path,
      .name = node->segment,
      .description = tree_describe(o->tree, node, str_of(directory_kind_name(b->kind)), &b->d->scratch),
      .kind = CARD_INTERNAL,
  };
  struct fault f;
  ASSERT(b->count < NODES_MOST);
  if (card_make(&source, &b->d->scratch, &b->cards[b->count], NULL, &f)) b->count++;
}

// Finds the wrong segment of a path that does not exist. Returns the last node before this segment, and sets *out_wrong
// to the segment.
static const struct tree_node *follow(const struct tree *t, str path, str *out_wrong) {
  const struct tree_node *node = &t->root;
  struct fault f;
  for (str tail = str_from(path, 1);;) {
    str_cut(tail, '/', out_wrong, &tail);
    str far = {path.p, (size_t)(out_wrong->p + out_wrong->n - path.p)};
    const struct tree_node *next = tree_find(t, far, &f);
    if (!next) return node;
    node = next;
  }
}

// Sets a fault that suggests a similar path or, if no path is similar, the parent path.
static void not_found(const struct tree *t, str path, struct fault *f) {
  struct nearest near = {0};
  size_t n;
  const struct tree_node *node = follow(t, path, &near.word);
  const struct tree_node *below = tree_list(t, node, &n);
  for (size_t i = 0; i < n && i < NODES_MOST; i++) nearest_try(&near, below[i].segment);
  str given = utf8_cut(path, META_NAME_SHOWN), parent = node == &t->root ? STR("") : node->path;
  if (near.best.p)
    fault_set(f, FAULT_PATH_NOT_FOUND, "path %.*s does not resolve in the catalog: did you mean %.*s/%.*s?",
              STR_ARG(given), STR_ARG(parent), STR_ARG(near.best));
  else
    fault_set(f, FAULT_PATH_NOT_FOUND, "path %.*s does not resolve in the catalog: browse %.*s instead", STR_ARG(given),
              STR_ARG(node->path));
}

// Returns true and sets the fault if the path begins with the name of a server that is starting.
static bool is_starting(struct browse *b, str path, struct fault *f) {
  str server, rest;
  unsigned source;
  str_cut(str_from(path, 1), '/', &server, &rest);
  if (!meta_is_starting(b->d, b->r->session, server, &source)) return false;
  fault_set(f, FAULT_PATH_NOT_FOUND, "server \"%.*s\" is still starting; try again in a few seconds", STR_ARG(server));
  f->passes = true;
  return true;
}

// Returns the server to which a first-level node of the tree of tools belongs; STR_NONE for other nodes.
static str server_of(const struct browse *b, const struct tree_node *node) {
  unsigned source;
  bool first = node->path.n == node->segment.n + 1;
  if (b->kind != DIRECTORY_TOOLS || !first || !directory_source(b->d->directory, node->segment, &source))
    return STR_NONE;
  return upstreams_name(b->d->upstreams, source);
}

// Returns whether the path exists, but nothing below it matches the filter.
static bool is_filtered_out(struct browse *b, str path) {
  struct fault f;
  if (!b->filter.set) return false;
  const uint64_t *visible = meta_visible(b->d, b->r->session, b->kind);
  return tree_find(directory_paths(surface_directory(b->d), b->kind, visible).tree, path, &f) != NULL;
}

static void by_path(struct browse *b, str path) {
  struct outlook o = directory_paths(surface_directory(b->d), b->kind, visible_to(b));
  const struct tree *t = o.tree;
  struct fault f;
  size_t n;
  const struct tree_node *node = tree_find(t, path, &f);
  if (!node && str_eq(path, STR(SKILLS_PATH))) add_skills(b, STR(""));
  if (!node && (b->count || is_filtered_out(b, path))) {
    answer(b);
    return;
  }
  if (!node) {
    bool valid = f.code == FAULT_NOT_FOUND, starting = valid && is_starting(b, path, &f);
    if (valid && !starting) not_found(t, path, &f);
    else if (!valid) f.code = FAULT_PATH_INVALID;
    fault_set_path(&f, path);
    meta_fail(b->d, b->r, &f, starting ? META_STARTING_DETAILS : STR_NONE);
    return;
  }
  const struct tree_node *below = tree_list(t, node, &n);
  for (size_t i = 0; i < n && i < NODES_MOST; i++) add_node(b, &o, &below[i]);
  b->more = n > NODES_MOST ? n - NODES_MOST : 0;
  b->all = node == &t->root;
  if (b->all) add_skills(b, STR(""));
  b->server = server_of(b, node);
  answer(b);
}

// ---- arguments

static bool given(const struct json *v) {
  return v && v->type != JSON_NULL;
}

static bool read_top_k(const struct json *v, int64_t *out) {
  *out = TOP_K;
  return !given(v) || (json_int(v, out) && *out >= 1 && *out <= TOP_K_MOST);
}

static void browse(struct surface *d, struct request *r, enum directory_kind kind) {
  static const char *const ids[] = {"tool_id", "resource_id", "prompt_id"};
  const str names[] = {STR("query"), STR("path"), str_of(ids[kind]), STR("top_k"), STR("filter")};
  const struct json *args = meta_args(r), *by = NULL;
  size_t ways = 0, way = 0;
  int64_t top_k;
  str text;
  struct caller caller;
  struct fault f;
  struct browse_filter filter;
  const char *wrong = NULL;
  bool governed = kind == DIRECTORY_TOOLS && surface_caller(d, r->session, &caller, &f) && caller.governance;
  if (!meta_known_args(d, r, names, governed ? 5 : 4)) return;
  if (governed) wrong = browse_filter_read(json_get(args, STR("filter")), &r->arena, &filter);
  for (size_t i = 0; i < 3; i++) {
    const struct json *v = json_get(args, names[i]);
    if (given(v)) by = v, way = i, ways++;
  }
  if (ways != 1) {
    fault_set(&f, FAULT_ARGS_INVALID, "%s_browse needs %s of query, path and %s", directory_kind_name(kind),
              ways ? "only one" : "one", ids[kind]);
    meta_fail(d, r, &f, STR_NONE);
  } else if (!json_string(by, &r->arena, &text)) {
    meta_refuse(d, r, "query, path and id must be strings");
  } else if (!read_top_k(json_get(args, STR("top_k")), &top_k)) {
    meta_refuse(d, r, "top_k must be a whole number from 1 to 50");
  } else if (wrong) {
    meta_refuse(d, r, wrong);
  } else if (way == 2 && skill_cards_define(d, r, text)) {
    return;
  } else if (way == 2) {
    meta_define(d, r, kind, text);
  } else {
    struct browse *b = ARENA_NEW(&r->arena, struct browse);
    *b = (struct browse){.d = d, .r = r, .kind = kind, .server = STR_NONE};
    if (governed) b->governance = caller.governance, b->run = caller.run, b->filter = filter;
    if (way == 0) by_query(b, text, (size_t)top_k);
    else by_path(b, text);
    arena_reset(&d->scratch);
  }
}

void meta_tool_browse(struct surface *d, struct request *r) {
  browse(d, r, DIRECTORY_TOOLS);
}
void meta_resource_browse(struct surface *d, struct request *r) {
  browse(d, r, DIRECTORY_RESOURCES);
}
void meta_prompt_browse(struct surface *d, struct request *r) {
  browse(d, r, DIRECTORY_PROMPTS);
}

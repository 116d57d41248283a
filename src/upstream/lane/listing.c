// SPDX-License-Identifier: Apache-2.0
// Requests all definitions of an upstream. Requests the four lists (tools, resources, templates, prompts) at the same
// time, and the pages of a list one after the other.
#include "base/assert.h"
#include "base/mem.h"
#include "mcp/meta.h"
#include "upstream/upstream_impl.h"

enum { MAX_PAGES = 200, MAX_CURSOR = 4096 };

struct list_task {
  struct listing *listing;
  enum item_kind kind;
  struct link_call call;
  unsigned pages;
  char cursor[MAX_CURSOR];  // cursor of the page to request, as raw JSON; empty for the first page
};

struct listing {
  struct lane *lane;
  struct definitions *definitions;
  struct list_task tasks[ITEM_KINDS];
  struct arena words;  // memory for error messages
  unsigned open;
};

// Copies the previous definitions of a kind. Called if this kind was not requested, or if its request has failed.
static void keep_old(struct listing *g, enum item_kind kind) {
  struct profile *p = profile_of(g->lane);
  if (!p) p = profile_kept(g->lane->upstream);
  if (p) definitions_copy(g->definitions, p->definitions, kind);
}

// Logs a failed list request. If it was tools/list, stores the error as the reason why the lane cannot be used.
static void note_refusal(struct list_task *t, const char *how, str words) {
  struct lane *lane = t->listing->lane;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "%s %s: %.*s", how, item_kind_rules[t->kind].list_method, STR_ARG(words));
  str_mask_controls(f.message, strlen(f.message));
  log_warn(lane->upstream->all->opt.loop->log, "%.*s: %s", STR_ARG(lane_name(lane)), f.message);
  if (t->kind == ITEM_TOOL) lane->refusal = f;
}

static void task_done(struct list_task *t, bool ok) {
  struct listing *g = t->listing;
  struct lane *lane = g->lane;
  if (!ok) keep_old(g, t->kind);
  if (--g->open) return;
  struct definitions *definitions = g->definitions;
  g->definitions = NULL;
  listing_free(lane);
  profile_set(lane, definitions, link_instructions(lane->link));
  lane_listed(lane);
}

// Writes the params of a list request. `meta` and `cursor` are raw JSON; they may be empty.
static void put_params(struct buf *out, str meta, str cursor) {
  buf_init(out, meta.n + cursor.n + 64);
  if (!meta.n && !cursor.n) return;
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  if (cursor.n) {
    json_put_key(&w, STR("cursor"));
    json_put_raw(&w, cursor);
  }
  if (meta.n) {
    json_put_key(&w, STR("_meta"));
    json_put_raw(&w, meta);
  }
  json_end_object(&w);
}

static void ask_page(struct list_task *t) {
  struct lane *lane = t->listing->lane;
  struct upstreams *all = lane->upstream->all;
  struct buf params;
  put_params(&params, link_meta(lane->link), str_of(t->cursor));
  link_call_begin(lane->link, &t->call, upstreams_timeout(all, lane_index(lane)), all->opt.request_max_ms);
  link_call_send(&t->call, str_of(item_kind_rules[t->kind].list_method), buf_view(&params));
  buf_done(&params);
}

static bool next_page(struct list_task *t, const struct json *result) {
  const struct json *next = json_get(result, STR("nextCursor"));
  if (!json_is(next, JSON_STRING)) return false;
  str raw = json_span(next);
  const struct log *log = t->listing->lane->upstream->all->opt.loop->log;
  if (raw.n >= MAX_CURSOR || str_eq(raw, str_of(t->cursor)) || ++t->pages >= MAX_PAGES) {
    log_warn(log, "%.*s: %s: stopped after %u pages, because the list is too long or repeats a cursor",
             STR_ARG(lane_name(t->listing->lane)), item_kind_rules[t->kind].list_method, t->pages);
    return false;
  }
  memcpy(t->cursor, raw.p, raw.n);
  t->cursor[raw.n] = 0;
  return true;
}

// Returns the message of the server's error, with secrets masked. The caller must not shorten the message before,
// because a shortened secret would not be recognized.
static str said(struct listing *g, const struct json *error) {
  str message = STR("without a message");
  json_string(json_get(error, STR("message")), &g->words, &message);
  return secrets_mask(&g->words, message, &g->lane->upstream->spec->secrets);
}

static void on_page(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  struct list_task *t = CONTAINER_OF(c, struct list_task, call);
  if (f) {
    note_refusal(t, "failed at", str_of(f->message));
    task_done(t, false);
  } else if (reply->kind == RPC_ERROR) {
    // METHOD_NOT_FOUND means an empty list: many servers that declare resources do not implement
    // resources/templates/list.
    int64_t code = 0;
    json_int(json_get(reply->error, STR("code")), &code);
    bool none = code == RPC_METHOD_NOT_FOUND && t->kind != ITEM_TOOL;
    if (!none) note_refusal(t, "refused", said(t->listing, reply->error));
    task_done(t, none);
  } else if (!definitions_add_page(t->listing->definitions, t->kind, reply->result)) {
    note_refusal(t, "failed at", STR("the result has no list"));
    task_done(t, false);
  } else if (next_page(t, reply->result)) {
    ask_page(t);
  } else {
    if (t->kind == ITEM_TOOL) t->listing->lane->refusal.message[0] = 0;
    task_done(t, true);
  }
}

static struct definitions_origin origin_of(const struct lane *lane) {
  const struct json *extensions = json_get(link_server_capabilities(lane->link), STR("extensions"));
  return (struct definitions_origin){
      .stateless = lane_stateless(lane),
      .tasks = lane_stateless(lane) && json_is(json_get(extensions, TASKS_EXTENSION), JSON_OBJECT),
      .http = lane->kind->remote,
  };
}

void listing_start(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct listing *g = MEM_NEW(struct listing);
  g->lane = lane;
  g->definitions = definitions_new(origin_of(lane));
  g->definitions->description_max = lane->upstream->all->opt.description_max;
  arena_init(&g->words);
  g->open = 1;  // number of open requests, plus one until all requests have been sent
  lane->listing = g;
  const struct json *capabilities = link_server_capabilities(lane->link);
  bool first = !lane->view;
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    struct list_task *t = &g->tasks[kind];
    t->listing = g;
    t->kind = (enum item_kind)kind;
    t->call.done = on_page;
    bool ask = first || lane->stale[kind];
    lane->stale[kind] = false;
    if (!json_get(capabilities, str_of(item_kind_rules[kind].capability))) continue;
    if (!ask) {
      keep_old(g, t->kind);
      continue;
    }
    g->open++;
    ask_page(t);
    if (lane->listing != g) return;  // sending a request has failed, which has ended this listing
  }
  task_done(&g->tasks[0], true);
}

void listing_free(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct listing *g = lane->listing;
  if (!g) return;
  lane->listing = NULL;
  for (int kind = 0; kind < ITEM_KINDS; kind++) link_call_cancel(&g->tasks[kind].call, STR("no longer needed"));
  definitions_free(&g->definitions);
  arena_done(&g->words);
  mem_free(g);
}

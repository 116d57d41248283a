// SPDX-License-Identifier: Apache-2.0
#include "surface/direct/direct.h"
#include "base/assert.h"
#include "mcp/meta.h"
#include "mcp/methods.h"
#include "surface/direct/direct_event.h"
#include "surface/direct/direct_list.h"
#include "surface/direct/direct_listen.h"
#include "surface/direct/direct_watch.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

// ---- methods

// clang-format off
static const struct call_method forwarded[] = {
    {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT},
    {"prompts/get", CALL_BY_NAME, ITEM_PROMPT, CALL_ANY_ERA, false, CALL_DIRECT},
    {"resources/read", CALL_BY_URI, ITEM_RESOURCE, CALL_ANY_ERA, false, CALL_DIRECT},
    {"resources/subscribe", CALL_BY_URI, ITEM_RESOURCE, CALL_WITH_SESSION, true, CALL_DIRECT},
    {"completion/complete", CALL_BY_REF, ITEM_PROMPT, CALL_ANY_ERA, false, CALL_DIRECT},
    {"tasks/get", CALL_BY_TASK, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT},
    {"tasks/result", CALL_BY_TASK, ITEM_TOOL, CALL_WITH_SESSION, false, CALL_DIRECT},
    {"tasks/cancel", CALL_BY_TASK, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT},
    {"tasks/update", CALL_BY_TASK, ITEM_TOOL, CALL_STATELESS, false, CALL_DIRECT},
};
// clang-format on

// A request with a method that the protocol does not define is forwarded if the client sees exactly one upstream and
// the rules allow the request. Otherwise the method is unknown.
static const struct call_method unknown = {"", CALL_BY_ONLY, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT};

static const struct call_method *find_method(str name, bool stateless) {
  for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
    const struct call_method *m = &forwarded[i];
    bool has_it = m->era == CALL_ANY_ERA || (m->era == CALL_STATELESS) == stateless;
    if (has_it && str_eq(name, str_of(m->name))) return m;
  }
  return NULL;
}

void direct_request(struct surface *d, struct request *r) {
  bool stateless = r->session->revision->stateless;
  str name = r->msg.method;
  const struct call_method *method = find_method(name, stateless);
  enum item_kind kind;
  ASSERT(r->session->mode == MODE_DIRECT && d->upstreams);
  if (method) call_start(&d->calls, r, method, STR_NONE);
  else if (direct_is_list(name, &kind)) direct_list(d, r);
  else if (stateless && str_eq(name, STR("subscriptions/listen"))) direct_listen(d, r);
  else if (!stateless && str_eq(name, STR("resources/unsubscribe"))) direct_unsubscribe(d, r);
  else if (!stateless && str_eq(name, STR("logging/setLevel"))) direct_set_level(d, r);
  else if (method_is_foreign(name)) call_start(&d->calls, r, &unknown, STR_NONE);
  else request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}

// ---- the handshake

// Capabilities of the servers that a client may use.
struct abilities {
  struct surface *d;
  bool *sources;  // for each server: whether the client may use it
  // Declare all capabilities, because some server has not declared its own yet. A declared list may be empty.
  bool all;
};

static struct abilities abilities_of(struct surface *d, struct session *s, struct arena *a) {
  size_t count = upstreams_count(d->upstreams);
  struct abilities found = {d, ARENA_ARRAY(a, bool, count + 1), false};
  struct caller caller;
  struct fault f;
  bool known = surface_caller(d, s, &caller, &f);
  for (unsigned i = 0; i < count; i++) {
    found.sources[i] = known && surface_sees_server(d, &caller, i);
    const struct lane *lane = found.sources[i] ? upstreams_lane_seen(d->upstreams, i, s) : NULL;
    if (found.sources[i] && (!lane || lane->state != LANE_READY)) found.all = true;
  }
  return found;
}

static bool is_able(const struct abilities *a, str capability) {
  for (unsigned i = 0; i < upstreams_count(a->d->upstreams); i++)
    if (a->sources[i] && upstreams_capability(a->d->upstreams, i, capability)) return true;
  return a->all;
}

static void put_capability(const struct abilities *a, struct json_writer *w, const char *name, const char *value) {
  if (!is_able(a, str_of(name))) return;
  json_put_key(w, str_of(name));
  json_put_raw(w, str_of(value));
}

struct instructions_text {
  struct buf *text;
  struct caller caller;
};

static void add_instructions(void *ctx, str server, str text) {
  struct instructions_text *t = ctx;
  struct buf *b = t->text;
  if (!caller_may(&t->caller, server, ITEM_RESOURCE, STR_NONE)) return;
  if (b->n) buf_str(b, STR("\n\n"));
  buf_printf(b, "# %.*s\n\n", STR_ARG(server));
  buf_str(b, text);
}

// Declares support for tasks: to clients with sessions as a capability, to stateless clients as an extension. The files
// in call/bridge/ translate between the two forms of tasks.
static void put_tasks(const struct abilities *a, const struct session *s, struct json_writer *w) {
  bool able = is_able(a, STR("tasks"));
  for (unsigned i = 0; i < upstreams_count(a->d->upstreams) && !able; i++)
    able = a->sources[i] && upstreams_extension(a->d->upstreams, i, TASKS_EXTENSION);
  if (!able) return;
  if (s->revision->stateless) {
    json_put_key(w, STR("extensions"));
    json_put_raw(w, STR("{\"io.modelcontextprotocol/tasks\":{}}"));
  } else if (s->revision->tasks) {
    json_put_key(w, STR("tasks"));
    json_put_raw(w, STR("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
  }
}

static void put_capabilities(struct surface *d, struct session *s, struct json_writer *w) {
  struct arena arena;
  arena_init(&arena);
  struct abilities a = abilities_of(d, s, &arena);
  json_put_key(w, STR("capabilities"));
  json_begin_object(w);
  json_member_raw(w, STR("tools"), STR("{\"listChanged\":true}"));
  put_capability(&a, w, "resources", "{\"subscribe\":true,\"listChanged\":true}");
  put_capability(&a, w, "prompts", "{\"listChanged\":true}");
  put_capability(&a, w, "completions", "{}");
  put_capability(&a, w, "logging", "{}");
  put_tasks(&a, s, w);
  json_end_object(w);
  arena_done(&arena);
}

void direct_describe(struct surface *d, struct session *s, struct json_writer *w) {
  put_capabilities(d, s, w);
  struct buf text;
  buf_init(&text, 65536);
  struct instructions_text all = {.text = &text};
  struct fault f;
  if (surface_caller(d, s, &all.caller, &f)) upstreams_each_instructions(d->upstreams, s, add_instructions, &all);
  if (text.n) {
    json_put_key(w, STR("instructions"));
    json_put_str(w, buf_view(&text));
  }
  buf_done(&text);
}

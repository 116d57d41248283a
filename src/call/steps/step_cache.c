// SPDX-License-Identifier: Apache-2.0
// Caches results of read-only tools, if configured. The cache contains the answers of servers before step_firewall. A
// cached answer runs through the same steps as a new one, so its artifacts are stored again.
#include "base/assert.h"
#include "base/text/glob.h"
#include "call/bridge/parked_calls.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/steps/steps.h"

struct cache_state {
  bool keyed;     // the result may be stored in the cache under `key`
  bool answered;  // the reply is from the cache
  bool degraded;  // and had expired, but the server is not called now
  struct result_cache_key key;
};

bool cache_answered(const struct call *c) {
  const struct cache_state *s = call_state(c, STEP_CACHE_LOOKUP);
  return s->answered;
}

// Returns whether a request's _meta has only members that do not change the result.
static bool plain_meta(const struct json *meta) {
  static const str harmless[] = {STR("traceparent"), STR("tracestate"), STR("baggage"), CLIENT_STRUCTURED};
  if (!meta) return true;
  if (!json_is(meta, JSON_OBJECT) || json_is_folded(meta)) return false;
  JSON_EACH(it, meta) {
    str key = {it->key, it->key_n};
    bool known = str_starts(key, STR("io.modelcontextprotocol/")) || str_starts(key, STR("toolgate/"));
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) known |= str_eq(key, harmless[i]);
    if (!known) return false;
  }
  return true;
}

static bool is_allowed(struct call *c) {
  const struct controls *controls = &c->context->controls;
  if (!controls->cache_allow_count) return true;
  str id = call_tool_id(c), safe = call_tool_safe(c);
  for (size_t i = 0; id.n && i < controls->cache_allow_count; i++)
    if (glob_match(controls->cache_allow[i], id) || (safe.n && glob_match(controls->cache_allow[i], safe))) return true;
  return false;
}

// The scope of the key is the principal and the agent. If the session has its own connection, the session is part of
// the scope too, because the user may be logged in on this connection.
static bool make_key(struct call *c, struct result_cache_key *out) {
  str principal = session_principal(c->session), agent = c->caller.id;
  bool own = upstreams_has_own(c->context->upstreams, c->routes[c->route].source, c->owner);
  str scope = arena_printf(&c->request->arena, "%zu:%.*s %zu:%.*s %s", principal.n, STR_ARG(principal), agent.n,
                           STR_ARG(agent), own ? c->owner->id : "");
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  if (args && (!json_is(args, JSON_OBJECT) || json_is_folded(args))) return false;
  return result_cache_key(scope, call_server(c), c->item->name, args, out);
}

const struct rpc_message *call_stored_reply(struct call *c, str bytes) {
  struct request *r = c->request;
  struct rpc_message *reply = ARENA_NEW(&r->arena, struct rpc_message);
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth + 1};
  struct rpc_error err;
  struct fault f;
  str text = arena_printf(&r->arena, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":%.*s}", STR_ARG(bytes));
  const struct json *root = json_parse(&r->arena, text, &limits, &f);
  return root && rpc_read(root, &r->arena, reply, &err) ? reply : NULL;
}

bool cache_is_degraded(const struct call *c) {
  const struct cache_state *s = call_state(c, STEP_CACHE_LOOKUP);
  return s->degraded;
}

// Continues the call with a cached result. Returns false if the result cannot be read.
static bool answer(struct call *c, struct cache_state *s, const struct cached_result *found) {
  const struct rpc_message *reply = call_stored_reply(c, found->bytes);
  if (!reply) return false;
  c->reply = reply;
  s->answered = true;
  c->to_stateless = found->stateless;
  call_deadline_end(c);
  call_restart(c, STEP_OUTPUT);
  return true;
}

bool cache_answer_degraded(struct call *c, uint64_t most_ms) {
  struct cache_state *s = call_state(c, STEP_CACHE_LOOKUP);
  struct call_context *x = c->context;
  struct cached_result found;
  uint64_t generation = upstreams_catalog(x->upstreams)->generation;
  if (!x->cache || !s->keyed || !result_cache_find_expired(x->cache, &s->key, generation, most_ms, &found))
    return false;
  s->degraded = true;
  return answer(c, s, &found);
}

static enum call_result lookup(struct call *c, void *state) {
  struct call_context *x = c->context;
  struct cached_result found;
  struct cache_state *s = state;
  if (!x->cache) return CALL_NEXT;
  const struct json *params = c->request->msg.params;
  bool reads = c->item && call_is_tool(c) && c->item->hints.read_only && !c->item->hints.destructive;
  if (!reads || call_ticket(c) || json_get(params, STR("task")) || !plain_meta(json_get(params, STR("_meta"))) ||
      !is_allowed(c) || !make_key(c, &s->key))
    return CALL_NEXT;
  ASSERT(!s->answered);
  s->keyed = true;
  uint64_t generation = upstreams_catalog(x->upstreams)->generation;
  if (!result_cache_find(x->cache, &s->key, generation, &found)) return CALL_NEXT;
  return answer(c, s, &found) ? CALL_DONE : CALL_NEXT;
}

// Stores the result in the cache. Does not store a failure, because a repeated call may succeed. Does not store a
// result that depends on answers of the client.
static enum call_result store(struct call *c, void *state) {
  bool failed = false;
  if (!c->context->cache) return CALL_NEXT;
  const struct cache_state *s = call_state(c, STEP_CACHE_LOOKUP);
  bool whole = s->keyed && !s->answered && !c->failure && c->reply && c->reply->kind == RPC_RESULT;
  if (!whole || call_is_bound(c) || park_was(c) || task_kind(c) != TASK_NONE) return CALL_NEXT;
  const struct json *result = c->reply->result;
  if (!json_is(result, JSON_OBJECT) || json_is_folded(result)) return CALL_NEXT;
  if (result_type(c, c->reply) != RESULT_COMPLETE) return CALL_NEXT;
  json_bool(json_get(result, STR("isError")), &failed);
  if (failed) return CALL_NEXT;
  struct cached_result kept = {json_span(result), c->to_stateless};
  result_cache_put(c->context->cache, &s->key, c->catalog->generation, &kept);
  return CALL_NEXT;
}

const struct call_step step_cache_lookup = {
    .name = "cache_lookup",
    .does = "Answers from the cache, if `cache` is set and the cache has the result.",
    .state = sizeof(struct cache_state),
    .run = lookup,
};

const struct call_step step_cache_store = {
    .name = "cache_store",
    .does = "Stores the result in the cache.",
    .run = store,
};

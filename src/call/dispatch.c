// SPDX-License-Identifier: Apache-2.0
// The request goes out under an id of ours, with its name, URI and progress token as the upstream knows them; every
// other byte of its params is forwarded as it came.
#include <stdio.h>

#include "call/call.h"
#include "json/write.h"

static str escaped(struct arena *a, str s) {
  struct buf b;
  buf_init(&b, s.n * 6 + 2);
  json_escape(&b, s);
  str copy = arena_str(a, buf_view(&b));
  buf_done(&b);
  return copy;
}

static str edited(struct arena *a, const struct json *object, str key, str raw) {
  struct buf b;
  buf_init(&b, (size_t)object->n + raw.n + key.n + 16);
  json_copy_edited(&b, object, &(struct json_edit){key, raw}, 1);
  str copy = arena_str(a, buf_view(&b));
  buf_done(&b);
  return copy;
}

// The member that names the target, when the upstream calls it something else.
static bool rename_target(struct call *c, struct json_edit *out) {
  const struct json *params = c->request->msg.params;
  struct arena *a = &c->request->arena;
  str name = c->routes[c->route].uri;
  if (c->method->target == CALL_BY_REF) {
    const struct json *ref = json_get(params, STR("ref"));
    const char *key = json_get(ref, STR("uri")) ? "uri" : "name";
    if (json_equals_str(json_get(ref, str_of(key)), name)) return false;
    *out = (struct json_edit){STR("ref"), edited(a, ref, str_of(key), escaped(a, name))};
    return true;
  }
  str key = c->method->target == CALL_BY_NAME ? STR("name") : STR("uri");
  const struct json *named = json_get(params, key);
  if (!named || json_equals_str(named, name)) return false;
  *out = (struct json_edit){key, escaped(a, name)};
  return true;
}

static str compose_params(struct call *c) {
  const struct json *params = c->request->msg.params;
  if (!json_is(params, JSON_OBJECT)) return params ? json_span(params) : STR_NONE;
  struct json_edit edits[2];
  size_t n = 0;
  bool named = c->method->target <= CALL_BY_REF;
  if (named && rename_target(c, &edits[n])) n++;
  const struct json *meta = json_get(params, STR("_meta"));
  if (json_get(meta, STR("progressToken"))) {
    char token[24];
    int k = snprintf(token, sizeof token, "%llu", (unsigned long long)c->link.wait.id);
    edits[n++] = (struct json_edit){STR("_meta"),
                                    edited(&c->request->arena, meta, STR("progressToken"), (str){token, (size_t)k})};
  }
  if (n == 0) return json_span(params);
  struct buf *b = &c->context->params;
  buf_reset(b);
  buf_trim(b, 1 << 20);
  json_copy_edited(b, params, edits, n);
  return buf_view(b);
}

static void on_progress(struct link_call *lc, const struct rpc_message *m) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  const struct json *token = request_progress_token(c->request);
  if (!token) return;
  struct buf b;
  buf_init(&b, (size_t)m->params->n + token->n + 64);
  json_copy_edited(&b, m->params, &(struct json_edit){STR("progressToken"), json_span(token)}, 1);
  session_notify(c->request->session, c->request, m->method, buf_view(&b));
  buf_done(&b);
}

// What the upstream does to us we may do to the client: let go of its connection until there is an answer.
static void on_polled(struct link_call *lc) {
  request_suspend(CONTAINER_OF(lc, struct call, link)->request);
}

// Only for a URI that was routed by guessing: did this upstream just not have it?
static bool try_next(struct call *c, const struct rpc_message *reply) {
  if (reply->kind != RPC_ERROR || c->route + 1 >= c->route_count) return false;
  c->route++;
  return true;
}

static void on_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = CONTAINER_OF(lc, struct call, link);
  list_remove(&c->node);
  if (f && f->code == FAULT_UPSTREAM_SESSION_LOST && !c->replayed) {
    c->replayed = true;
    call_restart(c, step_connect);
  } else if (f) {
    call_fault(c, f);
  } else if (try_next(c, reply)) {
    call_restart(c, step_connect);
  } else {
    call_answer(c, reply);
  }
}

static void note_user(struct lane *lane, const struct session *s) {
  if (!lane->user[0]) memcpy(lane->user, s->id, sizeof lane->user);
  else if (!lane->mixed) lane->mixed = memcmp(lane->user, s->id, sizeof lane->user) != 0;
}

enum call_result step_dispatch(struct call *c) {
  struct upstreams *u = c->context->upstreams;
  note_user(c->lane, c->request->session);
  c->link.done = on_done;
  c->link.progress = on_progress;
  c->link.polled = on_polled;
  list_push(&c->lane->calls, &c->node);
  link_call_begin(c->lane->link, &c->link, upstreams_timeout(u, lane_index(c->lane)), upstreams_timeout_max(u));
  link_call_send(&c->link, c->request->msg.method, compose_params(c));
  return CALL_WAIT;
}

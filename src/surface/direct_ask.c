// SPDX-License-Identifier: Apache-2.0
// Questions of upstreams to clients: sampling, elicitation, roots. Each goes to the client whose call it belongs to,
// under an id of ours, and the answer goes back under the upstream's.
#include <stdio.h>

#include "base/mem.h"
#include "surface/direct_impl.h"

enum { MAX_ASKS = 256 };  // of one connection, unanswered

struct ask {
  struct list node;
  struct direct *d;
  struct lane *lane;
  uint64_t lane_opened;  // tells a lane that was restarted meanwhile
  struct session *session;
  struct rpc_wait wait;
  char *id;     // raw, the upstream's
  char *token;  // raw, the upstream's progress token, or NULL
};

static char *copy_raw(const struct json *v) {
  if (!v) return NULL;
  char *p = mem_alloc((size_t)v->n + 1);
  memcpy(p, v->p, v->n);
  p[v->n] = 0;
  return p;
}

// ---- whom to ask

static struct call *call_of(struct link_call *via) {
  return CONTAINER_OF(via, struct call, link);
}

static bool is_call(const struct lane *lane, struct link_call *via) {
  if (!via) return false;
  LIST_EACH(it, &lane->calls)
    if (&CONTAINER_OF(it, struct call, node)->link == via) return true;
  return false;
}

struct session *direct_addressee(struct lane *lane, struct link_call *via, struct request **out_related) {
  *out_related = NULL;
  if (is_call(lane, via)) {
    *out_related = call_of(via)->request;
    return (*out_related)->session;
  }
  // On a pipe it cannot be seen which call it belongs to: it is clear only when one client has calls under way.
  struct session *only = lane->session;
  LIST_EACH(it, &lane->calls) {
    struct call *c = CONTAINER_OF(it, struct call, node);
    if (only && c->request->session != only) return NULL;
    only = c->request->session;
    *out_related = c->request;  // the latest, if it has several
  }
  return only;
}

static bool may_ask(const struct session *s, const struct lane *lane, str method) {
  if (str_eq(method, STR("sampling/createMessage"))) return s->can_sample;
  if (str_eq(method, STR("elicitation/create"))) return s->can_elicit;
  if (str_eq(method, STR("roots/list"))) return s->can_list_roots;
  if (str_starts(method, STR("tasks/"))) return s->has_tasks;
  return lane->session == s;  // extensions, to the one client that may know them
}

// ---- asking

static void hold_calls(struct lane *lane, const struct session *s, void (*fn)(struct call *)) {
  LIST_EACH(it, &lane->calls) {
    struct call *c = CONTAINER_OF(it, struct call, node);
    if (c->request->session == s) fn(c);
  }
}

static bool lane_alive(const struct ask *a) {
  return a->lane && a->lane->state == LANE_READY && a->lane->ready_at == a->lane_opened;
}

static void ask_free(struct ask *a) {
  a->lane->asks--;
  list_remove(&a->node);
  rpc_wait_stop(&a->wait);
  mem_free(a->id);
  mem_free(a->token);
  mem_free(a);
}

static void on_answer(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct ask *a = CONTAINER_OF(w, struct ask, wait);
  if (lane_alive(a)) {
    hold_calls(a->lane, a->session, call_release);
    if (reply) {
      struct buf *b = &a->d->text;
      buf_reset(b);
      rpc_put_reply_as(b, reply, str_of(a->id));
      link_send_raw(a->lane->link, buf_view(b));
    } else {
      link_refuse(a->lane->link, str_of(a->id), RPC_INTERNAL_ERROR, str_of(f->message));
    }
  }
  ask_free(a);
}

static void on_progress(struct rpc_wait *w, const struct rpc_message *m) {
  struct ask *a = CONTAINER_OF(w, struct ask, wait);
  if (!a->token || !lane_alive(a)) return;
  struct buf *b = &a->d->text;
  buf_reset(b);
  json_copy_edited(b, m->params, &(struct json_edit){STR("progressToken"), str_of(a->token)}, 1);
  link_notify(a->lane->link, m->method, buf_view(b));
}

static str edit_token(struct buf *out, const struct json *params, const struct ask *a) {
  const struct json *meta = json_get(params, STR("_meta"));
  char token[24];
  int n = snprintf(token, sizeof token, "%llu", (unsigned long long)a->wait.id);
  struct buf edited;
  buf_init(&edited, (size_t)meta->n + 64);
  json_copy_edited(&edited, meta, &(struct json_edit){STR("progressToken"), {token, (size_t)n}}, 1);
  json_copy_edited(out, params, &(struct json_edit){STR("_meta"), buf_view(&edited)}, 1);
  buf_done(&edited);
  return buf_view(out);
}

static void send_ask(struct ask *a, struct request *related, const struct rpc_message *m) {
  struct buf *b = &a->d->text, params;
  char id[24];
  int n = snprintf(id, sizeof id, "%llu", (unsigned long long)a->wait.id);
  str raw = m->params ? json_span(m->params) : STR_NONE;
  buf_init(&params, raw.n + 4096);
  if (a->token) raw = edit_token(&params, m->params, a);
  buf_reset(b);
  rpc_put_request(b, (str){id, (size_t)n}, m->method, raw);
  session_send(a->session, related, buf_view(b));
  buf_done(&params);
}

void direct_ask(struct direct *d, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct request *related;
  struct session *s = direct_addressee(lane, via, &related);
  if (!s || !may_ask(s, lane, m->method)) {
    link_refuse(lane->link, json_span(m->id), RPC_METHOD_NOT_FOUND,
                s ? STR("the client has not declared the capability for this")
                  : STR("no client can be asked this now"));
    return;
  }
  if (lane->asks >= MAX_ASKS) {
    link_refuse(lane->link, json_span(m->id), RPC_INTERNAL_ERROR, STR("too many questions are unanswered"));
    return;
  }
  struct ask *a = MEM_NEW(struct ask);
  a->d = d;
  a->lane = lane;
  lane->asks++;
  a->lane_opened = lane->ready_at;
  a->session = s;
  a->id = copy_raw(m->id);
  a->token = copy_raw(json_get(json_get(m->params, STR("_meta")), STR("progressToken")));
  a->wait.done = on_answer;
  a->wait.progress = on_progress;
  list_push(&d->asks, &a->node);
  rpc_wait_start(&s->asks, &a->wait, upstreams_timeout_max(d->upstreams), 0);
  hold_calls(lane, s, call_hold);
  send_ask(a, related, m);
}

// The upstream no longer wants to know.
void direct_ask_cancelled(struct direct *d, struct lane *lane, const struct rpc_message *m) {
  const struct json *id = json_get(m->params, STR("requestId"));
  if (!id) return;
  LIST_EACH(it, &d->asks) {
    struct ask *a = CONTAINER_OF(it, struct ask, node);
    if (a->lane != lane || !str_eq(str_of(a->id), json_span(id))) continue;
    char number[24];
    int n = snprintf(number, sizeof number, "%llu", (unsigned long long)a->wait.id);
    struct buf *b = &d->text;
    buf_reset(b);
    json_copy_edited(b, m->params, &(struct json_edit){STR("requestId"), {number, (size_t)n}}, 1);
    struct session *s = a->session;
    hold_calls(lane, s, call_release);
    ask_free(a);
    session_notify(s, NULL, m->method, buf_view(b));
    return;
  }
}

// SPDX-License-Identifier: Apache-2.0
// A stateless server may answer a call with questions (input_required). A client with a session then gets a request for
// each question. When the client has answered all of them, the gateway sends the call to the server again, with the
// answers and the server's requestState. One such exchange is a round.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "call/bridge/stateless_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { MAX_ROUNDS = 16, MAX_QUESTIONS = 32, MAX_STATE = 1 << 20, RETRY_MS = 250 };

struct rounds_state {
  struct call *call;      // NULL: the server never asked
  struct list questions;  // questions of the current round
  struct timer timer;     // until the request is sent to the server again
  unsigned count;         // rounds so far
  str state, responses;   // raw JSON: the server's requestState, and the client's answers; or STR_NONE
  str answered;           // list of the keys of a task's answered questions: ,"a","b",
};

static struct rounds_state *state_of(const struct call *c) {
  return call_state(c, STEP_ROUNDS);
}

unsigned rounds_count(const struct call *c) {
  return state_of(c)->count;
}

str rounds_request_state(const struct call *c) {
  return state_of(c)->state;
}

str rounds_responses(const struct call *c) {
  return state_of(c)->responses;
}

struct round_question {
  struct list node;  // in the call's questions
  struct call *call;
  struct rpc_wait wait;
  str key;     // raw JSON: the server's key for the question
  str answer;  // the client's answer, as raw JSON in the request's arena; empty until the client answers
  bool elicits;
  const struct json *asked;  // the server's question; valid only until it is sent
};

static struct round_question *question_at(struct list *node) {
  return CONTAINER_OF(node, struct round_question, node);
}

static void free_all(struct rounds_state *s) {
  LIST_EACH(it, &s->questions) {
    struct round_question *q = question_at(it);
    rpc_wait_stop(&q->wait);
    list_remove(&q->node);
    mem_free(q);
  }
}

// Notifies the client that it need not answer the open questions any more.
static void cancel(struct call *c, void *state, str reason) {
  struct rounds_state *s = state;
  if (!s->call) return;
  timer_stop(&s->timer);
  LIST_EACH(it, &s->questions) {
    struct round_question *q = question_at(it);
    if (!q->wait.pending) continue;
    char params[96];
    int n = snprintf(params, sizeof params, "{\"requestId\":%llu,\"reason\":\"the call has ended\"}",
                     (unsigned long long)q->wait.id);
    session_notify(c->session, NULL, STR("notifications/cancelled"), (str){params, (size_t)n});
  }
  free_all(s);
}

// ---- the next round

static void note_answered(struct call *c) {
  struct rounds_state *s = state_of(c);
  struct buf b;
  buf_init(&b, c->context->params.max);
  buf_str(&b, s->answered.n ? s->answered : STR(","));
  LIST_EACH(it, &s->questions) {
    buf_str(&b, question_at(it)->key);
    buf_char(&b, ',');
  }
  s->answered = arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
}

static void go_on(struct rounds_state *s) {
  struct call *c = s->call;
  ASSERT(c && c->request);
  struct buf b;
  call_deadline_release(c);
  buf_init(&b, c->context->params.max);
  buf_char(&b, '{');
  LIST_EACH(it, &s->questions) {
    struct round_question *q = question_at(it);
    if (b.n > 1) buf_char(&b, ',');
    buf_str(&b, q->key);
    buf_char(&b, ':');
    buf_str(&b, q->answer);
  }
  buf_char(&b, '}');
  if (task_id(c).n) note_answered(c);
  free_all(s);
  bool over = b.over;
  s->responses = b.n > 2 ? arena_str(&c->request->arena, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  if (over)
    call_refuse(c, RPC_INVALID_PARAMS,
                "the answers to the server's questions are larger than limits.message; send shorter answers", STR_NONE);
  else if (task_id(c).n) task_answer(c, s->responses);
  else call_restart(c, STEP_CONNECT);
}

static void on_waited(struct timer *t) {
  go_on(CONTAINER_OF(t, struct rounds_state, timer));
}

// Fails the call, because the client refused a question that is not an elicitation. The protocol can report a cancelled
// elicitation to the server, but no other refusal.
static void refused(struct round_question *q, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = q->call;
  str why = f ? str_of(f->message) : STR("no reason given");
  if (reply) json_string(json_get(reply->error, STR("message")), &c->request->arena, &why);
  char message[256];
  snprintf(message, sizeof message, "the server needs an answer that the client refused to give: %.*s",
           (int)(why.n < 160 ? why.n : 160), why.p);
  cancel(c, state_of(c), STR_NONE);
  call_refuse(c, RPC_INTERNAL_ERROR, message, STR_NONE);
}

static void on_answer(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct round_question *q = CONTAINER_OF(w, struct round_question, wait);
  struct call *c = q->call;
  struct rounds_state *s = state_of(c);
  bool answered = reply && reply->kind == RPC_RESULT;
  if (!answered && !q->elicits) {
    refused(q, reply, f);
    return;
  }
  q->answer = answered ? arena_str(&c->request->arena, json_span(reply->result)) : STR("{\"action\":\"cancel\"}");
  LIST_EACH(it, &s->questions)
    if (!question_at(it)->answer.n) return;
  go_on(s);
}

// ---- asking

// Revisions with sessions require an elicitationId if an elicitation opens a URL. The gateway adds a random id, because
// no other message refers to this id.
static str with_elicitation_id(struct call *c, const struct json *params) {
  bool needed = json_equals_str(json_get(params, STR("mode")), STR("url")) && !json_get(params, STR("elicitationId"));
  if (!needed) return json_span(params);
  char id[RAND_ID_SIZE], quoted[RAND_ID_SIZE + 2];
  rand_id(c->context->loop->rand, id);
  int n = snprintf(quoted, sizeof quoted, "\"%s\"", id);
  struct buf b;
  buf_init(&b, (size_t)params->n + sizeof quoted + 32);
  json_copy_edited(&b, params, &(struct json_edit){STR("elicitationId"), {quoted, (size_t)n}}, 1);
  str copy = arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return copy;
}

static void send_question(struct round_question *q, const struct json *asked) {
  struct call *c = q->call;
  struct call_context *x = c->context;
  const struct json *params = json_get(asked, STR("params"));
  str raw = json_is(params, JSON_OBJECT) ? with_elicitation_id(c, params) : STR_NONE, method;
  json_string(json_get(asked, STR("method")), &c->request->arena, &method);
  q->wait.done = on_answer;
  rpc_wait_start(&c->session->asks, &q->wait, upstreams_timeout_max(x->upstreams), 0);
  struct str_digits id;
  buf_reset(&x->text);
  rpc_put_request(&x->text, str_from_u64(q->wait.id, &id), method, raw);
  session_send(c->session, c->request, buf_view(&x->text));
}

static str raw_key(const struct json *member) {
  return (str){member->key - 1, member->key_n + 2u};
}

static bool add_questions(struct call *c, const struct json *asked) {
  const struct session *s = c->session;
  JSON_EACH(it, asked) {
    str answered = state_of(c)->answered;
    // A stateless server repeats a task's question until it has the answer. The client must receive the question only
    // once.
    str pattern = answered.n ? arena_printf(&c->request->arena, ",%.*s,", STR_ARG(raw_key(it))) : STR_NONE;
    if (answered.n && memmem(answered.p, answered.n, pattern.p, pattern.n)) continue;
    const struct json *method = json_get(it, STR("method"));
    bool elicits = json_equals_str(method, STR("elicitation/create"));
    bool samples = json_equals_str(method, STR("sampling/createMessage"));
    bool lists = json_equals_str(method, STR("roots/list"));
    if (!(elicits && s->can_elicit) && !(samples && s->can_sample) && !(lists && s->can_list_roots)) return false;
    struct round_question *q = MEM_NEW(struct round_question);
    q->call = c;
    q->key = arena_str(&c->request->arena, raw_key(it));
    q->asked = it;
    q->elicits = elicits;
    list_push(&state_of(c)->questions, &q->node);
  }
  return true;
}

static void fail(struct call *c, const char *why) {
  struct fault f;
  fault_set(&f, FAULT_PROTOCOL, "%s", why);
  free_all(state_of(c));
  call_fault(c, &f);
}

void rounds_begin(struct call *c, const struct rpc_message *reply) {
  struct rounds_state *s = state_of(c);
  ASSERT(c->request && !call_is_stateless(c));
  const struct json *asked = json_get(reply->result, STR("inputRequests"));
  const struct json *state = json_get(reply->result, STR("requestState"));
  if (!policy_lets_hear(c->context, c->session, c->named, c->routes[c->route].source, STR_NONE)) {
    struct fault f;
    fault_set(&f, FAULT_DENIED_BY_POLICY, "the rules no longer allow the server to ask this client questions");
    call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
    return;
  }
  if (!s->call) {
    list_init(&s->questions);
    timer_init(&s->timer, on_waited);
  }
  ASSERT(list_empty(&s->questions));
  s->call = c;
  // The number of questions is limited, because all answers are stored in the request's memory.
  if (++s->count > MAX_ROUNDS || (asked && asked->count > MAX_QUESTIONS)) {
    fail(c, s->count > MAX_ROUNDS ? "asked for input more than 16 times in one call"
                                  : "asked more than 32 questions at once");
    return;
  }
  if (asked && asked->type == JSON_OBJECT && !add_questions(c, asked)) {
    fail(c, "asked a question of a kind that the client does not support");
    return;
  }
  if (state && state->n > MAX_STATE) {
    fail(c, "sent a requestState larger than 1 MiB");
    return;
  }
  s->state = json_is(state, JSON_STRING) && !task_id(c).n ? arena_str(&c->request->arena, json_span(state)) : STR_NONE;
  // A reply without questions asks the gateway to send the same request again later.
  if (list_empty(&s->questions) && task_id(c).n) {
    s->count--;
    task_wait(c);
    return;
  }
  if (list_empty(&s->questions)) {
    timer_start(c->context->loop, &s->timer, RETRY_MS * s->count);
    return;
  }
  call_deadline_hold(c);
  LIST_EACH(node, &s->questions) send_question(question_at(node), question_at(node)->asked);
}

const struct call_step step_rounds = {
    .name = "rounds",
    .does = "A stateless server answers with questions, and its client has a session.",
    .state = sizeof(struct rounds_state),
    .cancel = cancel,
};

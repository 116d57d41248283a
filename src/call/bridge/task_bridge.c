// SPDX-License-Identifier: Apache-2.0
// Translates tasks between protocol revisions. In 2025-11-25 the client asks for a task, polls the task (tasks/get),
// and waits for its result (tasks/result). In 2026-07-28 the server decides whether to create a task, and tasks/get
// returns the result too. A client gets every task in the form of its own revision. If a client does not support tasks
// and the server creates one, the gateway waits for the task and answers with its result.
#include <stdio.h>

#include "base/assert.h"
#include "call/bridge/parked_calls.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/stateless_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/tasks.h"
#include "call/bridge/translate.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "mcp/meta.h"
#include "text/secrets.h"
#include "upstream/lane/quiet.h"
#include "json/write.h"

enum { POLL_MS = 1000, POLL_MIN_MS = 50, POLL_MAX_MS = 30000 };

struct task_state {
  struct call *call;   // NULL: the call never waited
  struct timer timer;  // until the next poll
  enum call_task kind;
  str id;          // the server's id of the task that the call is about or waits for
  str declared;    // the client's capabilities, for requests about the task
  str answers;     // raw JSON of the client's answers to the task's questions
  str shown;       // members of the task so far, for a stateless client
  uint64_t until;  // loop time at which the gateway stops waiting for the task
  bool abandoned;  // the gateway has cancelled the task, because nobody waits for its result
};

static struct task_state *state_of(const struct call *c) {
  return call_state(c, STEP_TASK);
}

enum call_task task_kind(const struct call *c) {
  return state_of(c)->kind;
}

str task_id(const struct call *c) {
  return state_of(c)->id;
}

static void cancel(struct call *c, void *state, str reason) {
  struct task_state *s = state;
  if (s->call) timer_stop(&s->timer);
  if (reason.p) task_abandon(c);
}

static void detach(struct call *c, void *state, struct arena *a) {
  struct task_state *s = state;
  if (!a) return;
  s->id = call_kept(a, s->id);
  s->declared = call_kept(a, s->declared);
}

// ---- the two forms of a task

static const struct {
  const char *core, *extension;
} members[] = {
    {"taskId", "taskId"},
    {"status", "status"},
    {"statusMessage", "statusMessage"},
    {"createdAt", "createdAt"},
    {"lastUpdatedAt", "lastUpdatedAt"},
    {"ttl", "ttlMs"},
    {"pollInterval", "pollIntervalMs"},
};

// Writes the members of a task. `shown` is the client's id of the task. If `to_core` is set, writes the form of
// 2025-11-25, otherwise the form of 2026-07-28.
static void put_task(struct json_writer *w, const struct json *task, str shown, bool to_core) {
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const struct json *v = json_get(task, str_of(to_core ? members[i].extension : members[i].core));
    bool required = str_eq(str_of(members[i].core), STR("ttl"));
    if (!v && !required) continue;
    json_put_key(w, str_of(to_core ? members[i].core : members[i].extension));
    if (i == 0) json_put_str(w, shown);
    else if (v) json_put_raw(w, json_span(v));
    else json_put_null(w);
  }
}

// Returns the client's id of the task.
static str shown_id(struct call *c) {
  str id = STR_NONE;
  json_string(json_get(c->request->msg.params, STR("taskId")), &c->request->arena, &id);
  return id;
}

static bool status_is(const struct json *task, const char *status) {
  return json_equals_str(json_get(task, STR("status")), str_of(status));
}

// ---- tasks in a request

void task_prepare(struct call *c) {
  struct task_state *s = state_of(c);
  if (s->kind != TASK_NONE || !str_eq(str_of(c->method->name), STR("tools/call"))) return;
  bool wanted = json_get(c->request->msg.params, STR("task")), required = c->item && c->item->task_required;
  if (c->to_stateless) {
    const struct json *extensions = json_get(link_server_capabilities(c->lane->link), STR("extensions"));
    bool offered = json_is(json_get(extensions, TASKS_EXTENSION), JSON_OBJECT);
    if (!call_is_stateless(c) && wanted && offered) s->kind = TASK_CORE;
  } else if (required && c->method->form != CALL_DIRECT) {
    s->kind = TASK_AWAITED;  // wait for the result, because a meta-tool cannot return a task
  } else if (required && call_is_stateless(c)) {
    s->kind = request_knows(c->request, TASKS_EXTENSION) ? TASK_SHOWN : TASK_AWAITED;
  } else if (required && !c->session->revision->tasks) {
    s->kind = TASK_AWAITED;
  }
}

bool task_edit(const struct call *c, struct json_edit *out) {
  bool asked = json_get(c->request->msg.params, STR("task"));
  bool wanted = !c->to_stateless && task_kind(c) != TASK_NONE;
  *out = (struct json_edit){STR("task"), wanted ? STR("{}") : STR_NONE};
  return wanted || (asked && (c->to_stateless || call_is_stateless(c)));
}

// Returns the client's capabilities with the tasks extension added.
static str with_extension(struct arena *a, str capabilities) {
  struct arena scratch;
  struct fault f;
  struct buf b, inner;
  arena_init(&scratch);
  buf_init(&b, capabilities.n + 256);
  buf_init(&inner, capabilities.n + 256);
  const struct json *all = json_parse(&scratch, capabilities, &json_default_limits, &f);
  const struct json *extensions = json_get(all, STR("extensions"));
  if (json_is(extensions, JSON_OBJECT))
    json_copy_edited(&inner, extensions, &(struct json_edit){TASKS_EXTENSION, STR("{}")}, 1);
  else buf_str(&inner, STR("{\"io.modelcontextprotocol/tasks\":{}}"));
  json_copy_edited(&b, all, &(struct json_edit){STR("extensions"), buf_view(&inner)}, 1);
  str copy = arena_str(a, buf_view(&b));
  buf_done(&b);
  buf_done(&inner);
  arena_done(&scratch);
  return copy;
}

str task_capabilities(struct call *c) {
  if (task_kind(c) == TASK_NONE && c->method->target != CALL_BY_TASK) return c->session->forwarded;
  struct task_state *s = state_of(c);
  if (!s->declared.n) s->declared = with_extension(call_arena(c), c->session->forwarded);
  return s->declared;
}

// ---- requests of the gateway about a task

// Sends a request about the call's task to the server. Like call_begin, may be used only while step_dispatch runs.
static void send_about(struct call *c, const char *method, str responses, call_done *done) {
  ASSERT(c->lane && done);
  struct meta_caller caller = {task_capabilities(c), c->session->client, STR_NONE};
  call_begin(c, done, upstreams_timeout_max(c->context->upstreams));
  call_link(c)->name = c->to_stateless ? task_id(c) : STR_NONE;
  call_link(c)->headers = STR_NONE;
  struct buf *b = &c->context->params;
  buf_reset(b);
  buf_str(b, STR("{\"taskId\":"));
  json_escape(b, task_id(c));
  if (responses.n) {
    buf_str(b, STR(",\"inputResponses\":"));
    buf_str(b, responses);
  }
  if (c->to_stateless) {
    buf_str(b, STR(",\"_meta\":"));
    meta_write(b, NULL, &caller, STR_NONE);
  }
  buf_char(b, '}');
  if (!b->over) {
    link_call_send(call_link(c), str_of(method), buf_view(b));
    return;
  }
  link_call_forget(call_link(c));
  call_refuse(c, RPC_INVALID_PARAMS,
              "the answers to the task's questions are larger than limits.message; send shorter answers", STR_NONE);
}

// Returns whether the request about a task succeeded. A failure becomes the outcome of the call.
static bool succeeded(struct call *c, const struct rpc_message *reply, const struct fault *f) {
  if (f) call_fault(c, f);
  else if (reply->kind == RPC_ERROR || !json_is(reply->result, JSON_OBJECT)) call_answer(c, reply);
  else return true;
  return false;
}

// ---- waiting for a stateless server's task

static void poll_task(struct call *c);

static void on_poll_time(struct timer *t) {
  call_continue(CONTAINER_OF(t, struct task_state, timer)->call, poll_task);
}

static void poll_later(struct call *c, uint64_t ms) {
  struct task_state *s = state_of(c);
  ASSERT(!s->call || !timer_running(&s->timer));
  s->call = c;
  timer_init(&s->timer, on_poll_time);
  timer_start(c->context->loop, &s->timer, ms < POLL_MIN_MS ? POLL_MIN_MS : ms > POLL_MAX_MS ? POLL_MAX_MS : ms);
}

static void on_updated(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (succeeded(c, reply, f)) poll_later(c, POLL_MIN_MS);
}

static void send_answers(struct call *c) {
  send_about(c, "tasks/update", state_of(c)->answers.n ? state_of(c)->answers : STR("{}"), on_updated);
}

void task_answer(struct call *c, str answers) {
  ASSERT(task_id(c).n);
  state_of(c)->answers = answers;
  call_continue(c, send_answers);
}

void task_wait(struct call *c) {
  poll_later(c, POLL_MS);
}

static void on_polled(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (!succeeded(c, reply, f)) return;
  const struct json *task = reply->result;
  struct rpc_message end = {.root = reply->root, .id = reply->id};
  end.result = json_get(task, STR("result"));
  end.error = json_get(task, STR("error"));
  int64_t interval = POLL_MS;
  json_int(json_get(task, STR("pollIntervalMs")), &interval);
  if (status_is(task, "completed") && json_is(end.result, JSON_OBJECT)) {
    end.kind = RPC_RESULT;
    call_answer(c, &end);
  } else if (status_is(task, "failed") && json_is(end.error, JSON_OBJECT)) {
    end.kind = RPC_ERROR;
    call_answer(c, &end);
  } else if (status_is(task, "input_required") && call_is_stateless(c)) {
    struct fault asks;
    fault_set(&asks, FAULT_UPSTREAM_ERROR, "asked a question, but this client cannot answer questions during a task");
    call_fault(c, &asks);
  } else if (status_is(task, "input_required")) {
    rounds_begin(c, reply);
  } else if (status_is(task, "working")) {
    poll_later(c, interval > 0 ? (uint64_t)interval : POLL_MS);
  } else {
    call_refuse(c, RPC_INTERNAL_ERROR, status_is(task, "cancelled") ? "the task was cancelled" : "the task has failed",
                STR_NONE);
  }
}

static void poll_task(struct call *c) {
  struct fault f;
  struct task_state *s = state_of(c);
  if (!s->until) s->until = loop_now(c->context->loop) + upstreams_timeout_max(c->context->upstreams);
  if (loop_now(c->context->loop) < s->until) {
    send_about(c, "tasks/get", STR_NONE, on_polled);
    return;
  }
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not complete the task within timeouts.request_max");
  call_fault(c, &f);
}

void task_abandon(struct call *c) {
  struct task_state *s = state_of(c);
  if (s->kind != TASK_AWAITED || !s->id.n || s->abandoned) return;
  s->abandoned = true;
  // Between two requests the call holds no lane (connection to the server), and the old lane may have been freed: look
  // up the current lane.
  struct lane_user who = call_user(c);
  struct lane *lane = upstreams_lane_find_for(c->context->upstreams, c->routes[c->route].source, &who);
  if (!lane || lane->state != LANE_READY) return;
  struct buf b;
  struct meta_caller caller = {task_capabilities(c), c->session->client, STR_NONE};
  buf_init(&b, task_id(c).n * 6 + caller.capabilities.n + caller.client.n + 1024);
  buf_str(&b, STR("{\"taskId\":"));
  json_escape(&b, task_id(c));
  if (lane_stateless(lane)) {
    buf_str(&b, STR(",\"_meta\":"));
    meta_write(&b, NULL, &caller, STR_NONE);
  }
  buf_char(&b, '}');
  lane_send_quietly(lane, STR("tasks/cancel"), task_id(c), buf_view(&b));
  buf_done(&b);
}

// ---- answering a call with a task

static void answer_task(struct call *c, const struct json *task, str shown) {
  struct buf b;
  buf_init(&b, (size_t)task->n + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  if (task_kind(c) == TASK_CORE) {
    json_put_key(&w, STR("task"));
    json_begin_object(&w);
  } else {
    json_put_key(&w, STR("resultType"));
    json_put_str(&w, STR("task"));
  }
  put_task(&w, task, shown, task_kind(c) == TASK_CORE);
  if (task_kind(c) == TASK_CORE) {
    json_end_object(&w);
  } else {
    json_put_key(&w, STR("_meta"));
    json_put_raw(&w, META_OF_TOOLGATE);
  }
  json_end_object(&w);
  str masked = call_scrubbed(c, buf_view(&b));
  if (masked.p && call_claim_task(c, NULL, masked)) {
    buf_done(&b);
    return;
  }
  if (masked.p) request_reply_whole(call_release_request(c), masked);
  else
    call_refuse(c, RPC_INTERNAL_ERROR, "cannot return the task: it is too large to be searched for secrets", STR_NONE);
  buf_done(&b);
}

// The client asked for a task, but the server has answered with a result. Answers the client with a completed task that
// has this result.
static void answer_finished(struct call *c, const struct rpc_message *reply) {
  char id[RAND_ID_SIZE];
  rand_id(c->context->loop->rand, id);
  struct buf b, result;
  if (output_refuses(c, reply->result)) return;
  buf_init(&b, 1024);
  buf_init(&result, c->context->text.max);
  translate_result(c, reply->result, &result);
  bool kept = !result.over && tasks_add_finished(c->context->tasks, c, str_of(id), buf_view(&result));
  if (!kept) {
    call_refuse(c, RPC_INTERNAL_ERROR,
                result.over ? "the task's result is larger than limits.message"
                            : "the result does not fit into the memory for task results (64 MiB)",
                STR_NONE);
    buf_done(&result);
    return;
  }
  const struct task *task = tasks_find(c->context->tasks, c->session, str_of(id));
  buf_str(&b, STR("{\"task\":"));
  tasks_put_finished(task, &b);
  buf_char(&b, '}');
  if (!call_claim_task(c, reply, buf_view(&b))) request_reply_whole(call_release_request(c), buf_view(&b));
  buf_done(&b);
  buf_done(&result);
}

bool task_finish_replayed(struct call *c, const struct rpc_message *reply) {
  if (call_is_stateless(c) || !json_get(c->request->msg.params, STR("task"))) return false;
  state_of(c)->kind = TASK_CORE;
  answer_finished(c, reply);
  return true;
}

// Returns whether the server refused the request because the request does not declare support for tasks. The gateway
// then sends the request again with this capability.
static bool wants_task(const struct call *c, const struct rpc_message *reply) {
  int64_t code = 0;
  bool passes =
      call_is_stateless(c) &&
      c->method->form == CALL_DIRECT;  // in direct mode, a stateless client itself declares whether it supports tasks
  if (reply->kind != RPC_ERROR || passes || !c->to_stateless || task_kind(c) != TASK_NONE) return false;
  const struct json *data = json_get(reply->error, STR("data"));
  const struct json *needed = json_get(json_get(data, STR("requiredCapabilities")), STR("extensions"));
  return json_int(json_get(reply->error, STR("code")), &code) && code == RPC_MISSING_CAPABILITY &&
         json_get(needed, TASKS_EXTENSION) && c->method->target == CALL_BY_NAME;
}

static const struct json *task_of(const struct call *c, const struct rpc_message *reply, enum call_task kind) {
  if (c->to_stateless) return result_type(c, reply) == RESULT_TASK ? reply->result : NULL;
  bool asked = kind != TASK_NONE || json_get(c->request->msg.params, STR("task"));
  const struct json *task = asked ? json_get(reply->result, STR("task")) : NULL;
  return json_is(task, JSON_OBJECT) ? task : NULL;
}

static void wait_for_result(struct call *c) {
  send_about(c, "tasks/result", STR_NONE, call_on_done);
}

static void unusable(struct call *c, const char *what) {
  struct fault f;
  fault_set(&f, FAULT_PROTOCOL, "%s", what);
  call_fault(c, &f);
}

bool task_reply(struct call *c, const struct rpc_message *reply) {
  struct task_state *s = state_of(c);
  if (wants_task(c, reply)) {
    s->kind = TASK_AWAITED;
    call_restart(c, STEP_CONNECT);
    return true;
  }
  if (reply->kind != RPC_RESULT || s->id.n) return false;
  const struct json *task = task_of(c, reply, s->kind);
  str id;
  if (!json_string(json_get(task, STR("taskId")), &c->request->arena, &id)) {
    if (s->kind != TASK_CORE || task || !json_is(reply->result, JSON_OBJECT)) return false;
    answer_finished(c, reply);
    return true;
  }
  if (id.n == 0 || id.n > TASK_ID_MOST) {
    unusable(c, "created a task with an id that is empty or longer than 1 KiB");
    return true;
  }
  if (!call_held_lane(c)) {
    unusable(c, "closed the connection of its task while the answer was read");
    return true;
  }
  // If the client does not support tasks, the gateway waits for the task's result.
  bool knows = call_is_stateless(c) && c->method->form == CALL_DIRECT;
  if (s->kind == TASK_NONE && c->to_stateless && !knows) s->kind = TASK_AWAITED;
  if (s->kind == TASK_AWAITED) {
    tasks_given(c->context->tasks, c, id);
    s->id = arena_str(call_arena(c), id);
    if (c->to_stateless) poll_later(c, POLL_MIN_MS);
    else call_continue(c, wait_for_result);
    return true;
  }
  str shown = tasks_add(c->context->tasks, c, id);
  if (!shown.p) {
    unusable(c, "created a task with an id that another server has used");
    return true;
  }
  if (s->kind == TASK_NONE) return false;
  answer_task(c, task, shown);
  return true;
}

// ---- tasks/get, tasks/result, tasks/cancel of a client with a session, to a stateless server

static void on_shown_core(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (!succeeded(c, reply, f)) return;
  str shown = shown_id(c);
  struct buf b;
  buf_init(&b, (size_t)reply->result->n + shown.n * 6 + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  put_task(&w, reply->result, shown, true);
  json_end_object(&w);
  call_reply(c, buf_view(&b));
  buf_done(&b);
}

static void show_core(struct call *c) {
  send_about(c, "tasks/get", STR_NONE, on_shown_core);
}

static void on_cancelled_core(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (succeeded(c, reply, f)) call_continue(c, show_core);
}

// ---- tasks/get, tasks/update, tasks/cancel of a stateless client, to a server with a session

// Answers tasks/get with the members of the task in s->shown and, if `name` is not NULL, one more member with the value
// `raw`.
static void reply_shown(struct call *c, const char *name, str raw) {
  struct buf b;
  buf_init(&b, c->context->text.max);
  buf_char(&b, '{');
  buf_str(&b, state_of(c)->shown);
  if (name) {
    buf_printf(&b, ",\"%s\":", name);
    buf_str(&b, raw);
  }
  buf_char(&b, '}');
  if (b.over) call_refuse(c, RPC_INTERNAL_ERROR, "the task is larger than limits.message", STR_NONE);
  else call_reply(c, buf_view(&b));
  buf_done(&b);
}

static void on_result_of_shown(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (f || (reply->kind == RPC_RESULT && !json_is(reply->result, JSON_OBJECT))) {
    struct fault none;
    fault_set(&none, FAULT_PROTOCOL, "returned a task result that is not an object");
    call_fault(c, f ? f : &none);
    return;
  }
  if (reply->kind == RPC_ERROR) {
    reply_shown(c, "error", secrets_mask_json(&c->request->arena, reply->error, &call_spec(c)->hidden));
    return;
  }
  struct buf b;
  if (output_refuses(c, reply->result)) return;
  buf_init(&b, c->context->text.max);
  translate_renewed(c, reply->result, &b);
  if (b.over) call_refuse(c, RPC_INTERNAL_ERROR, "the task's result is larger than limits.message", STR_NONE);
  else reply_shown(c, "result", buf_view(&b));
  buf_done(&b);
}

static void show_result(struct call *c) {
  send_about(c, "tasks/result", STR_NONE, on_result_of_shown);
}

static void on_shown(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (!succeeded(c, reply, f)) return;
  const struct json *task = reply->result;
  struct buf b;
  buf_init(&b, (size_t)task->n + c->context->text.max);
  struct json_writer w = json_writer(&b);
  put_task(&w, task, shown_id(c), false);
  state_of(c)->shown = arena_str(&c->request->arena, buf_view(&b));
  bool over = status_is(task, "completed") || status_is(task, "failed");
  bool asks = status_is(task, "input_required");
  if (asks) {
    // Sends tasks/result, because the server asks questions only during that request. If the connection has been lost,
    // tasks/result is sent when the client sends its next tasks/get.
    const struct lane *lane = call_held_lane(c);
    if (lane && lane->state == LANE_READY) tasks_wait(c->context->tasks, c, shown_id(c));
    buf_reset(&b);
    buf_char(&b, '{');
    asks_put(c->context, c->owner, c->lane, NULL, task_id(c), &b);
    buf_char(&b, '}');
    reply_shown(c, "inputRequests", b.over ? STR("{}") : buf_view(&b));
  } else if (over) {
    call_continue(c, show_result);
  } else {
    reply_shown(c, NULL, STR_NONE);
  }
  buf_done(&b);
}

// Answers tasks/cancel. Ignores an error of the server: in the client's revision, cancelling a task that has ended is
// no error.
static void on_cancelled(struct link_call *lc, const struct rpc_message *reply, const struct fault *f) {
  struct call *c = call_of_link(lc);
  if (f) call_fault(c, f);
  else call_reply(c, STR("{}"));
}

static void extension_method(struct call *c, str method) {
  if (str_eq(method, STR("tasks/get"))) {
    send_about(c, "tasks/get", STR_NONE, on_shown);
  } else if (str_eq(method, STR("tasks/cancel"))) {
    send_about(c, "tasks/cancel", STR_NONE, on_cancelled);
  } else {
    asks_answer(c->context, c->owner, c->lane, NULL, task_id(c),
                json_get(c->request->msg.params, STR("inputResponses")));
    call_reply(c, STR("{}"));
  }
}

bool task_method(struct call *c) {
  if (c->method->target != CALL_BY_TASK || call_is_stateless(c) == c->to_stateless) return false;
  str method = str_of(c->method->name);
  state_of(c)->id = c->routes[c->route].uri;
  if (!c->to_stateless) extension_method(c, method);
  else if (str_eq(method, STR("tasks/get"))) show_core(c);
  else if (str_eq(method, STR("tasks/result"))) poll_task(c);
  else send_about(c, "tasks/cancel", STR_NONE, on_cancelled_core);
  return true;
}

// ---- tasks of the gateway, which are completed from the start

enum call_result task_finished(struct call *c, const struct task *task) {
  ASSERT(task->result);
  str method = str_of(c->method->name);
  struct buf b;
  buf_init(&b, c->context->text.max);
  if (str_eq(method, STR("tasks/cancel")))
    return call_refuse(c, RPC_INVALID_PARAMS, "cannot cancel the task, because it has ended", STR_NONE);
  if (str_eq(method, STR("tasks/result"))) buf_str(&b, str_of(task->result));
  else tasks_put_finished(task, &b);
  call_reply(c, buf_view(&b));
  buf_done(&b);
  return CALL_DONE;
}

const struct call_step step_task = {
    .name = "task",
    .does = "Waits for the task that the server creates for the call, or shows the task to a client of the other era.",
    .state = sizeof(struct task_state),
    .cancel = cancel,
    .detach = detach,
};

// SPDX-License-Identifier: Apache-2.0
#include "call/bridge/tasks.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { MAX_TASKS = 10000, MAX_HELD = 64 << 20, MAX_SCOPE = 48 };

void tasks_init(struct tasks *t, struct loop *l) {
  map_init(&t->by_key, &l->seed);
  list_init(&t->all);
  shares_init(&t->shares, &l->seed, MAX_TASKS);
}

static void drop(struct tasks *t, struct task *task) {
  map_remove(&t->by_key, task->key);
  list_remove(&task->node);
  list_remove(&task->by_share);
  ASSERT(t->held >= task->result_n && task->share->bytes >= task->result_n);
  link_call_cancel(&task->wait, STR("no longer needed"));
  t->held -= task->result_n;
  task->share->bytes -= task->result_n;
  shares_drop(&t->shares, &task->share);
  mem_free(task->result);
  mem_free(task);
}

void tasks_done(struct tasks *t) {
  while (!list_empty(&t->all)) drop(t, CONTAINER_OF(t->all.next, struct task, node));
  ASSERT(!t->held && !map_count(&t->by_key));
  shares_done(&t->shares);
  map_done(&t->by_key);
}

// Returns the principal with the most tasks or, if `by_bytes` is set, with the most bytes of results. If `own` has as
// many as another principal, returns `own`.
static struct share *largest(const struct tasks *t, struct share *own, bool by_bytes) {
  struct share *most = own;
  size_t at = 0;
  for (struct share *s; (s = map_next(&t->shares.by_name, &at));)
    if (by_bytes ? s->bytes > most->bytes : s->count > most->count) most = s;
  return most;
}

// Returns the principal's oldest task or, if `with_result` is set, its oldest task with a result. Returns NULL if the
// principal has no such task.
static struct task *oldest(const struct share *s, bool with_result) {
  LIST_EACH(it, &s->members) {
    struct task *task = CONTAINER_OF(it, struct task, by_share);
    if (!with_result || task->result) return task;
  }
  return NULL;
}

// Writes the scope in which a client's task ids are unique: the session of a client with a session, or the principal of
// a stateless client.
static size_t put_scope(const struct session *s, char out[MAX_SCOPE]) {
  if (s->revision->stateless) return (size_t)snprintf(out, MAX_SCOPE, "principal %d:", s->principal);
  return (size_t)snprintf(out, MAX_SCOPE, "%s:", s->id);
}

struct task *tasks_find(const struct tasks *t, const struct session *s, str id) {
  struct buf key;
  char scope[MAX_SCOPE];
  size_t n = put_scope(s, scope);
  buf_init(&key, n + id.n);
  buf_add(&key, scope, n);
  buf_str(&key, id);
  struct task *found = map_find(&t->by_key, buf_view(&key));
  buf_done(&key);
  return found;
}

void tasks_given(struct tasks *t, const struct call *c, str id) {
  if (!c->lane) return;
  LIST_EACH(it, &t->all) {
    struct task *task = CONTAINER_OF(it, struct task, node);
    bool same = task->lane == c->lane->number && str_eq(task->id, id);
    if (same && !task->result) drop(t, task);
  }
}

// Copies s to *at, and moves *at past the copy.
static str put_text(char **at, str s) {
  str copy = {*at, s.n};
  if (s.n) memcpy(*at, s.p, s.n);
  *at += s.n;
  return copy;
}

// Adds a task. The client normally gets the server's id of the task. But the ids of a server with a session are unique
// on one connection only, and the stateless clients of a principal may share several connections. So a stateless client
// gets a random id for a task of a server with a session. Returns NULL if another server has given this client a task
// with the same id, because requests with this id go to the other server.
static struct task *add(struct tasks *t, const struct call *c, str id) {
  ASSERT(id.n <= TASK_ID_MOST);
  const struct session *s = c->session;
  char minted[RAND_ID_SIZE];
  bool mint = s->revision->stateless && !c->to_stateless;
  if (mint) rand_id(c->context->loop->rand, minted);
  str shown = mint ? str_of(minted) : id;
  tasks_given(t, c, id);
  struct task *known = tasks_find(t, s, shown);
  if (known && known->source != c->routes[c->route].source) return NULL;
  if (known) drop(t, known);
  char scope[MAX_SCOPE];
  size_t n = put_scope(s, scope);
  str agent = c->caller.id, tool = call_tool_name(c);
  struct task *task = mem_zero(sizeof *task + n + shown.n + id.n + agent.n + tool.n);
  char *at = task->text;
  put_text(&at, (str){scope, n});
  task->shown = put_text(&at, shown);
  task->key = (str){task->text, n + shown.n};
  task->id = put_text(&at, id);
  task->agent = put_text(&at, agent);
  task->tool = put_text(&at, tool);
  task->source = c->routes[c->route].source;
  if (c->lane) {  // a replayed call has no lane
    task->lane = c->lane->number;
    c->lane->kept_until = loop_now(c->context->loop) + upstreams_timeout_max(c->context->upstreams);
    task->owner = c->lane->session;
  }
  task->client = s->revision->stateless ? NULL : c->session;
  map_add(&t->by_key, task->key, task);
  list_push(&t->all, &task->node);
  task->share = shares_take(&t->shares, session_principal(s));
  list_push(&task->share->members, &task->by_share);
  if (t->shares.total > MAX_TASKS) {
    struct task *old = oldest(largest(t, task->share, false), false);
    ASSERT(old);
    // If every principal has only one task, `old` may be the new task. Then drop the oldest of all tasks instead.
    drop(t, old == task ? CONTAINER_OF(t->all.next, struct task, node) : old);
  }
  return task;
}

str tasks_add(struct tasks *t, const struct call *c, str id) {
  const struct task *task = add(t, c, id);
  return task ? task->shown : STR_NONE;
}

// ---- completed tasks of the gateway

bool tasks_add_finished(struct tasks *t, const struct call *c, str id, str result) {
  struct task *task = add(t, c, id);
  ASSERT(task);  // the id is random
  task->result = mem_alloc(result.n + 1);
  memcpy(task->result, result.p, result.n);
  task->result[result.n] = 0;
  task->result_n = result.n;
  t->held += result.n;
  task->share->bytes += result.n;
  clock_print(clock_wall_ms(c->context->loop->clock), task->made);
  // A single result larger than MAX_HELD is stored if it is the only one, because its client is about to request it.
  while (t->held > MAX_HELD && t->held > result.n) {
    struct task *old = oldest(largest(t, task->share, true), true);
    ASSERT(old);
    drop(t, old);
    if (old == task) return false;
  }
  return true;
}

void tasks_put_finished(const struct task *task, struct buf *out) {
  buf_str(out, STR("{\"taskId\":"));
  json_escape(out, task->shown);
  buf_printf(out, ",\"status\":\"completed\",\"createdAt\":\"%s\",\"lastUpdatedAt\":\"%s\",\"ttl\":null}", task->made,
             task->made);
}

// ---- waiting for a result

static void on_waited(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
}

void tasks_wait(struct tasks *t, const struct call *c, str shown) {
  struct task *task = tasks_find(t, c->session, shown);
  ASSERT(c->lane && link_ready(c->lane->link));
  if (!task || task->wait.link) return;
  struct buf b;
  buf_init(&b, task->id.n * 6 + 64);
  buf_str(&b, STR("{\"taskId\":"));
  json_escape(&b, task->id);
  buf_char(&b, '}');
  task->wait.done = on_waited;
  link_call_begin(c->lane->link, &task->wait, 0, upstreams_timeout_max(c->context->upstreams));
  link_call_send(&task->wait, STR("tasks/result"), buf_view(&b));
  buf_done(&b);
}

void tasks_forget(struct tasks *t, const struct session *s) {
  LIST_EACH(it, &t->all) {
    struct task *task = CONTAINER_OF(it, struct task, node);
    if (task->client == s || task->owner == s) drop(t, task);
  }
}

void tasks_status(struct call_context *x, struct lane *lane, const struct rpc_message *m) {
  LIST_EACH(it, &x->tasks->all) {
    struct task *task = CONTAINER_OF(it, struct task, node);
    bool same = task->lane == lane->number && json_equals_str(json_get(m->params, STR("taskId")), task->id);
    bool visible = same && task->client && policy_lets_hear(x, task->client, STR_NONE, task->source, task->tool);
    if (visible) session_notify(task->client, NULL, m->method, json_span(m->params));
  }
}

// SPDX-License-Identifier: Apache-2.0
// Stores the upstream and the client of each task. If there are too many tasks, the oldest task of the principal with
// the most tasks is dropped. So a principal that creates many tasks loses its own tasks, not those of other principals.
#pragma once
#include "base/shares.h"
#include "call/call.h"

enum { TASK_ID_MOST = 1024 };  // maximum bytes of a server's task id; a call that gets a longer id fails

struct task {
  struct list node;      // in order of creation
  struct share *share;   // of the principal
  struct list by_share;  // in order of creation
  unsigned source;
  uint64_t lane;           // number of the lane on which the upstream made the task
  struct session *owner;   // session that owns the lane; NULL: the lane is shared
  struct session *client;  // session that owns the task; NULL: all stateless clients of the principal own it
  str key;                 // scope and id
  str agent;               // only this agent may use the task
  str tool;                // the tool that runs as this task; empty: unknown
  str id;                  // the server's id
  str shown;               // the client's id; differs if the server's ids are unique only on one connection
  char *result;            // raw JSON, for a task of the gateway, completed when created; NULL: a task of the upstream
  size_t result_n;
  char made[32];  // time of creation
  // the tasks/result request in flight; the server sends the task's questions while this request is open
  struct link_call wait;
  char text[];
};

struct tasks {
  struct map by_key;
  struct list all;
  struct shares shares;  // by principal
  size_t held;           // bytes of results
};

void tasks_init(struct tasks *t, struct loop *l);
void tasks_done(struct tasks *t);

// Must be called when the upstream of `c` has created a task with this id. Drops an older task with the same id on this
// connection, because the client of the older task must not reach the new one.
void tasks_given(struct tasks *t, const struct call *c, str id);
// Adds a task of the call's client. The id has TASK_ID_MOST bytes at most. Returns the client's id of the task, or
// STR_NONE if another server has given the client a task with this id.
str tasks_add(struct tasks *t, const struct call *c, str id);
// Adds a completed task with its result, for a client that requested a task but whose upstream answered with a result
// instead. Returns false if the memory limit is reached and no other principal's results use more memory.
bool tasks_add_finished(struct tasks *t, const struct call *c, str id, str result);
// Writes a completed task in the form of revision 2025-11-25.
void tasks_put_finished(const struct task *task, struct buf *out);
// Sends tasks/result for the task, because the server sends the task's questions only during such a request. The
// connection of `c` must be ready. `shown` is the client's id of the task.
void tasks_wait(struct tasks *t, const struct call *c, str shown);
// Returns the task that this session's client knows by `id`, or NULL.
struct task *tasks_find(const struct tasks *t, const struct session *s, str id);
// Drops the tasks of a session that ends, and the tasks that servers created on the session's connections.
void tasks_forget(struct tasks *t, const struct session *s);

// Forwards notifications/tasks/status of a server with a session to the client that owns the task.
void tasks_status(struct call_context *x, struct lane *lane, const struct rpc_message *m);

// SPDX-License-Identifier: Apache-2.0
// Tasks: the upstream that made each, and the client it belongs to. If there are too many, the principal with most
// tasks loses its oldest, so that no principal loses tasks to one that makes more.
#pragma once
#include "base/shares.h"
#include "call/call.h"

enum { TASK_ID_MOST = 1024 };  // bytes of a server's task id; a longer id fails the call

struct task {
  struct list node;      // in order of creation
  struct share *share;   // of the principal
  struct list by_share;  // in order of creation
  unsigned source;
  uint64_t lane;           // the connection that the upstream made it on
  struct session *owner;   // the session that owns that connection; NULL: it is shared
  struct session *client;  // the session that owns the task; NULL: the stateless clients of the principal do
  str key;                 // scope and id
  str agent;               // only this agent may use the task
  str tool;                // the tool that runs as this task; empty: unknown
  str id;                  // the server's id
  str shown;               // the client's id; differs if the server's ids are unique on its connection only
  char *result;            // raw: of a task that the gateway completed when it was made; NULL: a task of the upstream
  size_t result_n;
  char made[32];          // time of creation
  struct link_call wait;  // tasks/result: servers send a task's questions to the client that waits for its result
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

// The upstream of this call has given a task this id, perhaps again: drops an older task with the same id, so that its
// client does not reach the new one.
void tasks_given(struct tasks *t, const struct call *c, str id);
// Adds a task of the call's client. The id has TASK_ID_MOST bytes at most. Returns the client's id of the task, or
// STR_NONE if another server has given the client a task with this id.
str tasks_add(struct tasks *t, const struct call *c, str id);
// Adds a completed task of the gateway that keeps the result: the client asked for a task, and the upstream answered at
// once. Returns false if the result is too large next to the results of principals that have fewer bytes.
bool tasks_add_finished(struct tasks *t, const struct call *c, str id, str result);
void tasks_put_finished(const struct task *task, struct buf *out);  // in the form of 2025-11-25
// Requests the task's result, so that the server sends the task's questions.
void tasks_wait(struct tasks *t, const struct call *c, str shown);
// Returns the task that this session's client knows by this id, or NULL.
struct task *tasks_find(const struct tasks *t, const struct session *s, str id);
// The session ends: drops its tasks, and those made on its connections.
void tasks_forget(struct tasks *t, const struct session *s);
void tasks_forget(struct tasks *t, const struct session *s);

// notifications/tasks/status of a server with a session: sends it to the client that made the task.
void tasks_status(struct call_context *x, struct lane *lane, const struct rpc_message *m);

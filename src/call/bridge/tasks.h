// SPDX-License-Identifier: Apache-2.0
// Tasks: which upstream made each, for whom. When there are too many, the principal that has most loses its oldest, so
// that nobody loses tasks to a principal that makes more.
#pragma once
#include "base/shares.h"
#include "call/call.h"

enum { TASK_ID_MOST = 1024 };  // bytes of an id that a server gives; the call fails otherwise

struct task {
  struct list node;     // in order of creation
  struct share *share;  // its principal's, and the place there, in order of creation too
  struct list by_share;
  unsigned source;
  uint64_t lane;           // the connection that the upstream made it on ...
  struct session *owner;   // ... and who has that alone; NULL: nobody
  struct session *client;  // whose it is; NULL: the principal's, whose clients are stateless
  str key;                 // scope and id
  str agent;               // as which the client made it: it is no other's
  str tool;                // that runs as this task; empty: unknown
  str id;                  // the server's
  str shown;               // the client's: the same, unless the server's are unique on its connection only
  char *result;            // raw: of one that was finished when it was made, by us; NULL: it is the upstream's
  size_t result_n;
  char made[32];          // when
  struct link_call wait;  // tasks/result, for what the server asks whoever waits
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

// The upstream of this call has given a task this id, perhaps again: it has forgotten the one that had it, and whoever
// knew that one is not to reach another's.
void tasks_given(struct tasks *t, const struct call *c, str id);
// The same, and the task is for the call's client. The id has TASK_ID_MOST bytes at most. Gives the id that the client
// is to know it by; STR_NONE: another server has given it that id already, and gets what the client says about it.
str tasks_add(struct tasks *t, const struct call *c, str id);
// The client wanted a task, and the upstream has answered at once: a task of ours keeps the result. False: it is too
// large beside the results of principals that have less.
bool tasks_add_finished(struct tasks *t, const struct call *c, str id, str result);
void tasks_put_finished(const struct task *task, struct buf *out);  // as 2025-11-25 shows it
// Waits for its result, so that the server asks what it has to ask.
void tasks_wait(struct tasks *t, const struct call *c, str shown);
// The task that this session's client knows by this id; NULL: none.
struct task *tasks_find(const struct tasks *t, const struct session *s, str id);
// The session ends: its tasks, and those made on its connections, can no longer be reached.
void tasks_forget(struct tasks *t, const struct session *s);

// notifications/tasks/status of a server with a session: the client that made the task hears of it.
void tasks_status(struct call_context *x, struct lane *lane, const struct rpc_message *m);

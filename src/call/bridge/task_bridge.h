// SPDX-License-Identifier: Apache-2.0
// Tasks across the eras: a client of one era gets the tasks of a server of the other in its own form, or only the
// result.
#pragma once
#include "call/pipeline.h"
#include "json/write.h"

enum call_task {
  TASK_NONE,     // no task, or one that both sides understand
  TASK_CORE,     // a client of 2025-11-25 wants a task of a stateless server
  TASK_SHOWN,    // a stateless client gets a task of a server of 2025-11-25
  TASK_AWAITED,  // the gateway waits for the result, for a client without tasks
};
struct task;
enum call_task task_kind(const struct call *c);
str task_id(const struct call *c);  // of the task that the call asks for, or waits for; empty: no task
void task_prepare(struct call *c);  // sets the kind before the request is sent

// The edit of params for tasks of this upstream. Returns false if params do not change.
bool task_edit(const struct call *c, struct json_edit *out);
str task_capabilities(struct call *c);                             // of the client, for a stateless server
bool task_reply(struct call *c, const struct rpc_message *reply);  // true: handles a reply about a task
bool task_method(struct call *c);                                  // true: sends a tasks/ method to the other era
void task_answer(struct call *c, str answers);                     // sends the client's answers to a task's questions
void task_wait(struct call *c);                                    // polls again later: the task asks nothing new
void task_abandon(struct call *c);                                 // cancels a task whose result nobody waits for
enum call_result task_finished(struct call *c, const struct task *task);  // a tasks/ method for a task of the gateway

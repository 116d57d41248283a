// SPDX-License-Identifier: Apache-2.0
// Tasks across the eras. In 2025-11-25 the client asks for a task, polls it (tasks/get), and waits for its result
// (tasks/result); in 2026-07-28 the server decides, and tasks/get brings everything. A client of either is shown the
// tasks of a server of the other in its own terms. One that knows no tasks gets the result of those a tool insists on.
#pragma once
#include "call/pipeline.h"
#include "json/write.h"

enum call_task {
  TASK_NONE,     // it is no task, or both sides mean the same by it
  TASK_CORE,     // a client of 2025-11-25 wants one of a stateless server
  TASK_SHOWN,    // a stateless client gets that of a server of 2025-11-25
  TASK_AWAITED,  // its result is waited for, for a client that does not know of it
};
struct task;
enum call_task task_kind(const struct call *c);
str task_id(const struct call *c);  // the one that it is about, or that is awaited; empty: none
void task_prepare(struct call *c);  // before it is sent: shall it be a task?

// What the params say of tasks to this upstream. False: no change.
bool task_edit(const struct call *c, struct json_edit *out);
str task_capabilities(struct call *c);                             // of the client, for a stateless server
bool task_reply(struct call *c, const struct rpc_message *reply);  // true: it is about a task, and was dealt with
bool task_method(struct call *c);                                  // a tasks/ method for the other era: true: sent
void task_answer(struct call *c, str answers);                     // the client has answered a task's questions
void task_wait(struct call *c);                                    // it asks nothing new: polled on
void task_abandon(struct call *c);                                 // nobody waits for it any more
enum call_result task_finished(struct call *c, const struct task *task);  // a tasks/ method for one of ours

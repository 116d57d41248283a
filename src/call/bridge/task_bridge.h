// SPDX-License-Identifier: Apache-2.0
// Tasks between a client and a server with different protocol revisions. The client gets the server's tasks in the form
// of its own revision, or only the results.
#pragma once
#include "call/pipeline.h"
#include "json/write.h"

enum call_task {
  TASK_NONE,     // no task, or a task that needs no translation
  TASK_CORE,     // a client of 2025-11-25 wants a task of a stateless server
  TASK_SHOWN,    // a stateless client receives a task of a server of 2025-11-25
  TASK_AWAITED,  // the client does not support tasks, so the gateway waits for the result
};
struct task;
// Answers with a completed task that has the result of an earlier call. Returns false, and does nothing, if the client
// asks for no task.
bool task_finish_replayed(struct call *c, const struct rpc_message *reply);
enum call_task task_kind(const struct call *c);
// Returns the server's id of the task that the call asks about or waits for. Returns an empty string if there is no
// task.
str task_id(const struct call *c);
void task_prepare(struct call *c);  // sets task_kind(c); must be called before the request is sent

// Sets *out to an edit that adds the member `task` to the params or removes it. The member asks the upstream to create
// a task. Returns false if the params need no edit.
bool task_edit(const struct call *c, struct json_edit *out);
str task_capabilities(struct call *c);  // the client's capabilities to declare in a request to a stateless server
// Handles a reply about a task. Returns false for other replies.
bool task_reply(struct call *c, const struct rpc_message *reply);
bool task_method(struct call *c);               // translates and sends a tasks/ method; returns false for other calls
void task_answer(struct call *c, str answers);  // sends the client's answers to a task's questions
void task_wait(struct call *c);                 // polls again later: the task asks nothing new
void task_abandon(struct call *c);              // cancels a task whose result nobody waits for
// Answers a tasks/ method about a completed task that the gateway has created.
enum call_result task_finished(struct call *c, const struct task *task);

// SPDX-License-Identifier: Apache-2.0
// One governed execution: from a client's request to the upstream's answer.
//
// A call walks through the steps of the table in pipeline.c, once, in order. A step lets it go on (CALL_NEXT),
// parks it until a callback resumes it (CALL_WAIT), or has ended it (CALL_DONE). Every call ends in exactly one answer
// to its request, or in call_cancel.
#pragma once
#include "upstream/upstream.h"

struct call;

enum call_result { CALL_NEXT, CALL_WAIT, CALL_DONE };

typedef enum call_result call_step(struct call *c);

// How a method names what it is for.
enum call_target {
  CALL_BY_NAME,  // params.name: a tool or a prompt
  CALL_BY_URI,   // params.uri: a resource
  CALL_BY_REF,   // params.ref: a prompt or a resource (completion)
  CALL_BY_TASK,  // params.taskId: where the task was made
  CALL_BY_ONLY,  // nothing: to the one upstream there is
};

struct call_method {
  const char *name;
  enum call_target target;
  enum item_kind kind;  // CALL_BY_NAME
};

// What calls share; owned by the surface.
struct call_context {
  struct upstreams *upstreams;
  struct list free_calls;  // kept for reuse
  size_t free_count;
  struct buf params;      // being composed
  struct list unsettled;  // calls for what nobody has, while upstreams are still starting
  // Until when (loop time) may a request of this session wait for upstreams that are starting?
  uint64_t (*wait_until)(void *ctx, const struct session *s);
  // Which upstream made this task for this session? False: none.
  bool (*find_task)(void *ctx, struct session *s, str id, unsigned *out_source);
  // The call is about to be answered with this reply.
  void (*answered)(void *ctx, struct call *c, const struct rpc_message *reply);
  void *ctx;
};

enum { CALL_MAX_ROUTES = 8 };

struct call {
  uint32_t magic;
  struct list node;  // in its lane's calls, once it was sent
  struct call_context *context;
  const struct call_method *method;
  struct request *request;
  size_t step;
  struct catalog *catalog;  // as it was when the call began
  // where it may go; more than one only when a URI is not listed
  struct catalog_route routes[CALL_MAX_ROUTES];
  size_t route_count, route;
  struct timer settle;  // runs while it is in `unsettled`
  struct lane *lane;
  struct lane_waiter waiter;
  struct link_call link;
  bool replayed;
  unsigned holds;  // questions its client is being asked
};

void call_context_init(struct call_context *x, struct upstreams *u, size_t max_message);
void call_context_done(struct call_context *x);

// Takes the request over.
void call_start(struct call_context *x, struct request *r, const struct call_method *method);

// An upstream has told what it has, or failed: calls that wait for that may look again.
void calls_settled(struct call_context *x);

// The client gave up: tells the upstream, and forgets.
void call_cancel(struct call *c, str reason);

// For steps.
void call_resume(struct call *c);                    // goes on behind the step that waits
void call_restart(struct call *c, call_step *from);  // goes back to a step
enum call_result call_answer(struct call *c, const struct rpc_message *reply);
enum call_result call_fault(struct call *c, const struct fault *f);  // an upstream's fault, with its name
enum call_result call_refuse(struct call *c, int code, const char *message, str data);

call_step step_find;
call_step step_connect;
call_step step_dispatch;

// While the client is being asked something, the clock of its calls stands still.
void call_hold(struct call *c);
void call_release(struct call *c);

// SPDX-License-Identifier: Apache-2.0
// Between the files of this surface; not for others.
#pragma once
#include "surface/direct.h"

struct direct {
  struct direct_options opt;
  struct mcp_server *server;
  struct upstreams *upstreams;
  struct call_context calls;
  struct list parked;  // list requests that wait for upstreams to start
  struct list asks;    // questions of upstreams that clients are thinking about
  uint64_t began;
  struct buf text;  // scratch for lists and notifications
};

// What this surface keeps for a session.
struct client {
  struct session *session;
  uint64_t opened_at;
  struct list subscriptions;
  size_t subscription_count;
  struct map tasks;  // struct task, by id
};

struct subscription {
  struct list node;
  unsigned source;
  str uri;    // as the upstream calls it
  str shown;  // as the client does
  char text[];
};

struct task {
  unsigned source;
  str id;
  char text[];
};

struct client *direct_client(const struct session *s);

// Until when a request of this session may wait for upstreams that are starting.
uint64_t direct_wait_until(void *direct, const struct session *s);

// ---- lists
void direct_list(struct direct *d, struct request *r, enum item_kind kind);
void direct_lists_check(struct direct *d);                     // upstreams have settled: answer what waits
void direct_list_cancel(struct direct *d, struct request *r);  // r waits for a list

// ---- questions of upstreams to clients
void direct_ask(struct direct *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void direct_ask_cancelled(struct direct *d, struct lane *lane, const struct rpc_message *m);

// The session that something from a lane is for, and the request during which it came (may be NULL).
// NULL: it cannot be told.
struct session *direct_addressee(struct lane *lane, struct link_call *via, struct request **out_related);

// ---- what upstreams tell by themselves
void direct_notification(struct direct *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void direct_lane_ready(struct direct *d, struct lane *lane);

// ---- subscriptions and log levels
void direct_subscribe(struct direct *d, struct request *r, bool on);
void direct_subscribed(struct direct *d, struct call *c);
void direct_unsubscribe_all(struct direct *d, struct client *client);
void direct_set_level(struct direct *d, struct request *r);
bool direct_level_passes(const struct session *s, const struct json *params);

// A request of our own to a lane, whose answer nobody waits for.
void direct_send_quietly(struct lane *lane, str method, str params);

// SPDX-License-Identifier: Apache-2.0
// Between the files of this surface; not for others.
#pragma once
#include "surface/direct.h"
#include "upstream/watch.h"

struct direct {
  struct direct_options opt;
  struct mcp_server *server;
  struct upstreams *upstreams;
  struct call_context calls;
  struct list parked;  // list requests that wait for upstreams to start
  uint64_t began;
  struct buf text;  // scratch for lists and notifications
};

// What a stateless client listens to; its session has nothing else to do.
struct listening {
  struct request *request;
  bool changes[ITEM_KINDS];  // of these lists
  bool waiting;              // for servers that are starting, and may have what it names
  bool acknowledged;
  size_t pending;  // subscriptions that are not settled yet
  struct timer patience;
};

// What this surface keeps for a session.
struct client {
  struct direct *d;
  struct session *session;
  uint64_t opened_at;
  struct list subscriptions;
  size_t subscription_count;
  struct listening listening;
};

struct client *direct_client(const struct session *s);

// Until when a request of this session may wait for upstreams that are starting.
uint64_t direct_wait_until(void *direct, const struct session *s);

// ---- lists
void direct_list(struct direct *d, struct request *r, enum item_kind kind);
void direct_lists_check(struct direct *d);                     // upstreams have settled: answer what waits
void direct_list_cancel(struct direct *d, struct request *r);  // r waits for a list

// ---- what upstreams tell by themselves
void direct_notification(struct direct *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void direct_lane_ready(struct direct *d, struct lane *lane);

// ---- log levels
void direct_set_level(struct direct *d, struct request *r);

// ---- subscriptions: resources/subscribe, and what subscriptions/listen names
void direct_unsubscribe(struct direct *d, struct request *r);
void direct_unsubscribe_all(struct client *client);
// A call for resources/subscribe has found its lane.
enum call_result direct_subscribe(void *direct, struct call *c);
void direct_subscribe_cancelled(struct call *c);
void direct_watch_again(struct client *client, struct lane *lane);  // its lane is ready, perhaps a new one
void direct_task_changed(struct direct *d, struct lane *lane, const struct rpc_message *m);
void direct_resource_updated(struct direct *d, struct lane *lane, const struct rpc_message *m);

// ---- subscriptions/listen
void direct_listen_init(struct client *client);
void direct_listen(struct direct *d, struct request *r);
void direct_listens_check(struct direct *d);  // upstreams have settled: go on with those that wait for it
void direct_listen_to(struct client *client, enum watch_kind kind, str shown);  // one more thing
void direct_listen_settled(struct client *client);                              // one is settled
// Does it want to hear of changes of this list?
bool direct_listens(const struct client *client, enum item_kind kind);
void direct_put_agreed(const struct client *client, enum watch_kind kind, struct json_writer *w);
// Tells a listening client; params: raw, may be empty.
void direct_tell(struct client *client, str method, str params);
void direct_stop_listening(void *direct, struct request *r);

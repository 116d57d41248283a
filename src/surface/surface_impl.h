// SPDX-License-Identifier: Apache-2.0
// Between the files of this surface; not for others.
#pragma once
#include "call/caller.h"
#include "catalog/directory/directory.h"
#include "catalog/naming/naming.h"
#include "catalog/seen.h"
#include "result/artifacts.h"
#include "surface/surface.h"
#include "upstream/lane/watch.h"

// What an agent may see of a catalog: worked out when it is first needed, and kept while there is room.
struct sight {
  struct sight_key {
    struct policy *policy;
    const struct policy_agent *agent;
    uint64_t generation;  // of the catalog
  } key;
  struct list node;  // in `sights`
  size_t bytes;
  uint64_t *bits[ITEM_KINDS];
  struct naming_own *own;  // what the names of what it sees are, where they are not the catalog's
};
enum { SIGHTS_BYTES = 32 << 20 };

struct surface {
  struct surface_options opt;
  struct mcp_server *server;
  struct upstreams *upstreams;
  struct call_context calls;
  struct list waiting;   // requests that wait for upstreams to start
  struct list viewings;  // views that another thread is at work on
  uint64_t began;
  struct buf text;              // scratch for lists and notifications
  struct buf answer;            // of a meta-tool
  struct arena scratch;         // reset after each use
  struct directory *directory;  // of the catalog when it was last needed; NULL: not yet
  struct timer warm;            // makes it before it is asked for
  uint64_t refused;             // the generation of a catalog that was not taken; 0: none
  struct catalog *shown;        // the one that clients were last told of
  struct list sights;           // the one that was not used for the longest time first
  struct map sight_of;          // by sight.key
  size_t sight_bytes;
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
  struct surface *d;
  struct session *session;
  uint64_t opened_at;
  bool called;  // a meta-tool
  struct list subscriptions;
  size_t subscription_count;
  struct listening listening;
  struct seen seen;  // cache_stable: what it was shown since something was another that it sees
  uint32_t *views;   // what its connections show it (bits of item.seen), by source, when that was last looked at
  size_t view_count;
};

struct client *surface_client(const struct session *s);
void surface_note_views(struct client *client);  // as they are now

// Until when a request of this session may wait for upstreams that are starting.
uint64_t surface_wait_until(void *surface, const struct session *s);

// Where the page of a list ends that begins at `at`: the operator's lists have one page.
size_t surface_page_end(const struct surface *d, const struct session *s, size_t at, size_t count);

// ---- who sees what (sight.c)
// Who asks, when the request itself names nobody. False: f says why.
bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f);
// May it see this item of the catalog?
bool surface_sees(struct surface *d, const struct caller *c, const struct catalog *catalog, const struct item *item);
// The same of all of it, and what it is called. The two that were last asked for are good: what was, and what is now.
struct naming surface_naming(struct surface *d, const struct caller *c, const struct catalog *catalog);
bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source);
void surface_forget_sights(struct surface *d);
void surface_forget_old_sights(struct surface *d);  // those of catalogs that were before
// Tells, as the protocol does, why a request of somebody is not served.
void surface_refuse(struct request *r, const struct fault *f);
void surface_refuse_with(struct request *r, const struct fault *f, str details);  // raw

// ---- what is refused (refused.c)
struct entry;
// It is about to be told so. hidden: what it names and its caller may not see; else NULL.
void surface_refused(struct surface *d, struct request *r, enum fault_code code, const struct entry *hidden);
str surface_operation(const struct surface *d, const struct request *r);  // the meta-tool that it calls; STR_NONE: none

// ---- telling what is another now (changes.c)
void surface_catalog_changed(struct surface *d);
void surface_check_shown(struct client *client);  // is what it was shown another by now, though it was not told yet?

// ---- waiting for upstreams that are starting
typedef void surface_then(struct surface *d, struct request *r);
typedef bool surface_ready(struct surface *d, const struct request *r);
// Calls `then`, at once when there is no need to wait. ready: need it not wait for all of them? NULL: it must. In mode
// servers nobody waits for all, and `ready` alone decides.
void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then);
// The same until another time than that of surface_wait_until.
void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then);
void surface_waits_check(struct surface *d);  // upstreams have settled

// ---- the modes with meta-tools
void meta_describe(struct surface *d, struct session *s, struct json_writer *w);
void meta_request(struct surface *d, struct request *r);
str meta_operation(const struct request *r);                    // the meta-tool that it calls; STR_NONE: none
bool meta_is_call(str operation);                               // does that meta-tool ask for what goes to a server?
void meta_views_forget(struct surface *d);                      // nobody waits for them, but they are not over
const struct directory *surface_directory(struct surface *d);   // of the catalog as it is now
str surface_tool_id(void *surface, const struct item *tool);    // by which agents call it; STR_NONE: none
str surface_tool_safe(void *surface, const struct item *tool);  // its client-safe name; STR_NONE: none

// ---- mode servers
void servers_describe(const struct session *s, struct json_writer *w);
void servers_request(struct surface *d, struct request *r);
str servers_operation(const struct surface *d, const struct request *r);  // the tool that it calls; STR_NONE: none
bool servers_is_call(str operation);                                      // the same as meta_is_call

// ---- direct mode
void direct_describe(struct surface *d, struct session *s, struct json_writer *w);
void direct_request(struct surface *d, struct request *r);

// ---- lists
bool direct_is_list(str method, enum item_kind *out);
void direct_list(struct surface *d, struct request *r);
// Where a list goes on that was cut into pages. version: by what a cursor knows whether the list that it goes on in is
// still the same; made of the names in it, so that it tells nothing of what is not. False: the request was refused.
bool direct_read_cursor(struct request *r, uint64_t version, size_t count, size_t *out_at);
uint64_t direct_list_version(const struct surface *d, uint64_t before, str name);  // with one more name

// ---- what upstreams tell by themselves
void direct_notification(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void direct_lane_ready(struct surface *d, struct lane *lane);

// ---- log levels
void direct_set_level(struct surface *d, struct request *r);

// ---- subscriptions: resources/subscribe, and what subscriptions/listen names
void direct_unsubscribe(struct surface *d, struct request *r);
void direct_unsubscribe_all(struct client *client);
void direct_unsubscribe_denied(struct surface *d);  // the rules are others
// A call for resources/subscribe has found its lane.
enum call_result direct_subscribe(void *surface, struct call *c);
void direct_subscribe_over(void *surface, struct call *c);
void direct_watch_anew(struct surface *d);                          // what is watched on connections that were given up
void direct_watch_again(struct client *client, struct lane *lane);  // its lane is ready, perhaps a new one
void direct_task_changed(struct surface *d, struct lane *lane, const struct rpc_message *m);
void direct_resource_updated(struct surface *d, struct lane *lane, const struct rpc_message *m);

// ---- subscriptions/listen
void direct_listen_init(struct client *client);
void direct_listen(struct surface *d, struct request *r);
void direct_listens_check(struct surface *d);  // upstreams have settled: go on with those that wait for it
void direct_listen_to(struct client *client, enum watch_kind kind, str shown);  // one more thing
void direct_listen_settled(struct client *client);                              // one is settled
// Does it want to hear of changes of this list?
bool direct_listens(const struct client *client, enum item_kind kind);
void direct_put_agreed(const struct client *client, enum watch_kind kind, struct json_writer *w);
// Tells a listening client; params: raw, may be empty.
void direct_tell(struct client *client, str method, str params);
void direct_stop_listening(void *surface, struct request *r);

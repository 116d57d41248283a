// SPDX-License-Identifier: Apache-2.0
// The client role: one connection to an MCP server, whatever the transport.
//
// Opening finds out the server's era: server/discover is answered by stateless servers, and there is no more to it;
// the others get the handshake. Requests get ids minted here; their calls are embedded in whatever waits for them.
// What the server sends by itself goes to the owner's events, with the call on whose HTTP stream it came (via), if
// that is known. The link may be freed inside any of its callbacks.
#pragma once
#include "io/http/http_client.h"
#include "io/process/child.h"
#include "io/stream/tail.h"
#include "mcp/revision.h"
#include "rpc/large_message.h"
#include "rpc/pending.h"

struct chain;
struct chain_marks;
struct link;

struct link_call {
  struct rpc_wait wait;  // the link's; its id is the request's id, and its progress token
  struct link *link;     // NULL: not under way
  void *exchange;        // the transport's
  // For stateless servers on HTTP, read while it is sent: the value of Mcp-Name, and further header lines with CRLF.
  str name, headers;
  // Once; exactly one of reply and f is not NULL. The reply is valid until this returns.
  void (*done)(struct link_call *c, const struct rpc_message *reply, const struct fault *f);
  // Instead, when the reply is large and this is not NULL: it is not read yet, and the callee's to unref.
  void (*take)(struct link_call *c, struct large_message *reply);
  void (*progress)(struct link_call *c, const struct rpc_message *notification);  // may be NULL
  void (*polled)(struct link_call *c);  // the server let go of the stream; we poll for the answer. May be NULL
};

struct link_events {
  void (*ready)(void *ctx, struct link *l);
  // It could not be opened, or was lost. Forget it: it frees itself. Its calls are failed right after this, and may
  // at once be started again on another link. FAULT_UPSTREAM_SESSION_LOST: the server forgot us, and is well.
  void (*closed)(void *ctx, struct link *l, const struct fault *f);
  // A server that is spoken to by one connection after the other can no longer be reached, or (f NULL) can again.
  void (*reachable)(void *ctx, struct link *l, const struct fault *f);
  // The server asks: to be answered by link_reply or link_refuse, now or later. ping is answered here.
  void (*request)(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m);
  void (*notification)(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m);
  // A launcher has installed its program and started it. May be NULL.
  void (*installed)(void *ctx, struct link *l);
};

// What is known of a server before it is opened.
enum link_era {
  LINK_ERA_UNKNOWN,    // to be found out by server/discover
  LINK_ERA_HANDSHAKE,  // initialize
  LINK_ERA_STATELESS,  // server/discover, and no way back
};

struct secrets_known;

struct link_options {
  struct loop *loop;
  struct buf *scratch;    // for composing messages; shared
  str name;               // of the server, for messages
  str capabilities;       // what we say the client can do: raw JSON object; copied
  uint64_t start_ms;      // for connecting and the handshake
  const char *start_key;  // of the configuration, that says so; NULL: timeouts.start
  uint64_t install_ms;    // before that, for a launcher to install its program; 0: it is no launcher
  size_t max_message;
  size_t max_values;        // of JSON in a message that is parsed as a whole; 0: no limit
  size_t max_instructions;  // bytes that are kept of the server's instructions; 0: all
  enum link_era era;
  // What requests of our own to a stateless server say instead; STR_NONE: the same.
  str stateless_capabilities;
  struct tail *tail;  // gets the lines that its program writes to stderr; outlives the link. NULL: nobody keeps them
  const struct secrets_known *secrets;  // of the server; not logged. Outlives the link; NULL: there are none
  const struct chain *chain;            // sent to HTTP servers in a header; NULL: no header
  const struct chain_marks *marks;      // sent in the same header; outlive the link. NULL: none
};

// The process is started by link_open. spec is copied as far as the guard needs it: at open.
struct link *link_new_stdio(const struct link_options *opt, struct child_host *host, const struct child_spec *spec,
                            const struct link_events *ev, void *ctx);
// headers: further header lines, each with CRLF. url and headers must outlive the link.
struct link *link_new_http(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                           str headers, const struct link_events *ev, void *ctx);
struct link *link_new_sse(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                          str headers, const struct link_events *ev, void *ctx);

void link_open(struct link *l);

// Ends the connection: a process gets time to leave (stdin closed, then SIGTERM, then SIGKILL), a session is
// deleted. Calls under way are failed.
void link_free(struct link **l);

bool link_ready(const struct link *l);
// Opening failed in a way that suggests that the server speaks the other HTTP transport.
bool link_wrong_transport(const struct link *l);

// Opening failed while the era was being found out, perhaps by that: some servers end at the first message that is not
// initialize.
bool link_probe_failed(const struct link *l);

const struct mcp_revision *link_revision(const struct link *l);
// Does each request go out with HTTP headers that repeat what it says? (stateless servers; link_call.name and headers)
bool link_has_headers(const struct link *l);
// From the handshake, valid while the link is: raw objects, or STR_NONE.
const struct json *link_server_capabilities(const struct link *l);
// Without hidden characters.
str link_instructions(const struct link *l);
// What its program said last for people, on stderr: the beginning of the line. Not for clients: it may be anything.
str link_last_words(const struct link *l);

// The process id of a server on stdio; 0: there is no process.
int link_pid(const struct link *l);

// The _meta of requests of our own to a stateless server, with the capabilities of the options: a raw object; STR_NONE
// for the others. Whoever sends a client's request writes one for that client (mcp/meta.h).
str link_meta(const struct link *l);

// A request in two steps, since its params may want its id: begin gives c->wait.id, send sends it. params: raw or
// empty.
void link_call_begin(struct link *l, struct link_call *c, uint64_t timeout_ms, uint64_t max_ms);
void link_call_send(struct link_call *c, str method, str params);
// Tells the server (by closing the stream, where it is stateless and on HTTP), and forgets: no callback. Fine when it
// is not under way.
void link_call_cancel(struct link_call *c, str reason);

void link_call_forget(struct link_call *c);  // one that was begun and not sent

void link_notify(struct link *l, str method, str params);
void link_reply(struct link *l, str id, str result);
void link_refuse(struct link *l, str id, int code, str message);
void link_send_raw(struct link *l, str message);  // a whole message, composed elsewhere

// Back-pressure: stop and go on reading what the server sends.
void link_flow(struct link *l, bool go);

// What kind of failure an HTTP status from 400 on is.
enum fault_code link_status_code(int status);

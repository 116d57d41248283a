// SPDX-License-Identifier: Apache-2.0
// The client role of MCP: one connection to a server, over any transport.
//
// Opening detects the server's era: a stateless server answers server/discover; with any other server, the link does
// the handshake. The link chooses the ids of requests. A struct link_call is embedded in the struct that waits for the
// reply. The link passes requests and notifications of the server to the owner's callbacks (link_events). If a message
// arrived on the HTTP stream of a call, `via` is that call. The link may be freed in any of its callbacks.
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
  struct rpc_wait wait;  // used by the link only; wait.id is the request's id and progress token
  struct link *link;     // NULL if the call is not in flight
  void *exchange;        // owned by the transport
  // Only for Streamable HTTP: the value of the header Mcp-Name (stateless servers), and additional header lines, each
  // with CRLF. Must be valid during link_call_send.
  str name, headers;
  // Called once, with a reply or a fault. The reply is valid until the callback returns.
  void (*done)(struct link_call *c, const struct rpc_message *reply, const struct fault *f);
  // Called instead of `done` for a large reply, which is not parsed. The callee owns the reference. May be NULL.
  void (*take)(struct link_call *c, struct large_message *reply);
  void (*progress)(struct link_call *c, const struct rpc_message *notification);  // may be NULL
  // Called when the server has closed the call's stream without an answer, and the link begins to poll for the answer.
  // May be NULL.
  void (*polled)(struct link_call *c);
};

struct link_events {
  void (*ready)(void *ctx, struct link *l);
  // Called when opening has failed or the connection was lost. After this callback, the link fails all its calls and
  // frees itself. The owner may immediately start these calls again on another link. The code
  // FAULT_UPSTREAM_SESSION_LOST means that the server works but has lost the session.
  void (*closed)(void *ctx, struct link *l, const struct fault *f);
  // Called only for HTTP servers without a permanent connection: f is NULL if the server can be reached again;
  // otherwise, f says why it cannot be reached.
  void (*reachable)(void *ctx, struct link *l, const struct fault *f);
  // Called when the server has sent a request other than ping. The callee must answer with link_reply or link_refuse,
  // immediately or later.
  void (*request)(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m);
  void (*notification)(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m);
  // Called when a launcher has installed and started its program. May be NULL.
  void (*installed)(void *ctx, struct link *l);
};

// What is known about the era of a server (with sessions or stateless) before the link opens.
enum link_era {
  LINK_ERA_UNKNOWN,    // detected by server/discover
  LINK_ERA_HANDSHAKE,  // uses initialize
  LINK_ERA_STATELESS,  // uses server/discover only
};

struct secrets_known;

struct link_options {
  struct loop *loop;
  struct buf *scratch;  // for composing messages; shared
  str name;
  str capabilities;       // declared client capabilities: raw JSON object; copied
  uint64_t start_ms;      // time limit for connecting and the handshake
  const char *start_key;  // configuration key of start_ms, for messages; NULL for timeouts.start
  uint64_t install_ms;    // additional time for a launcher to install its program; 0 without a launcher
  size_t max_message;
  size_t max_values;        // limit on the JSON values of a message that is parsed as a whole; 0 if unlimited
  size_t max_instructions;  // limit on the stored bytes of the server's instructions; 0 if unlimited
  enum link_era era;
  // Client capabilities that the gateway's own requests to a stateless server declare; STR_NONE if they equal
  // `capabilities`.
  str stateless_capabilities;
  struct tail *tail;                    // stores the program's stderr; must outlive the link; may be NULL
  const struct secrets_known *secrets;  // secrets of the server, masked in logs; must outlive the link; may be NULL
  const struct chain *chain;            // sent to HTTP servers in a header; NULL if no header is sent
  const struct chain_marks *marks;      // sent in the same header; must outlive the link; may be NULL
};

// Creates a link to a child process, which link_open starts. Copies *spec; the strings and arrays that *spec refers to
// must outlive the link.
struct link *link_new_stdio(const struct link_options *opt, struct child_host *host, const struct child_spec *spec,
                            const struct link_events *ev, void *ctx);
// link_new_http creates a link over Streamable HTTP, link_new_sse one over HTTP+SSE. `headers`: additional header
// lines, each with CRLF. `url` and `headers` must outlive the link.
struct link *link_new_http(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                           str headers, const struct link_events *ev, void *ctx);
struct link *link_new_sse(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                          str headers, const struct link_events *ev, void *ctx);

void link_open(struct link *l);

// Ends the connection; calls in flight fail. Closes stdin of a child process, then sends SIGTERM, then SIGKILL; deletes
// an HTTP session.
void link_free(struct link **l);

bool link_ready(const struct link *l);
// Returns whether opening Streamable HTTP failed in a way that suggests that the server supports only HTTP+SSE.
bool link_wrong_transport(const struct link *l);

// Returns whether opening failed and server/discover, which the link sent to detect the era, may be the cause: some
// servers exit if the first message is not initialize.
bool link_probe_failed(const struct link *l);

const struct mcp_revision *link_revision(const struct link *l);
// Returns whether the headers of requests must repeat values of the body (for stateless servers on HTTP; see
// link_call.name and headers).
bool link_has_headers(const struct link *l);
// Returns the capabilities of the server, valid until the link is freed.
const struct json *link_server_capabilities(const struct link *l);
// Returns the version that the server names (serverInfo.version), or STR_NONE.
str link_server_version(const struct link *l);
str link_server_name(const struct link *l);  // serverInfo.name, or STR_NONE
// Returns the server's instructions without hidden characters.
str link_instructions(const struct link *l);
// Returns the beginning of the stderr line that best describes why the server's program ended. Do not show this text to
// clients.
str link_last_words(const struct link *l);

// Returns the process id of a server on stdio, or 0.
int link_pid(const struct link *l);

// Returns the _meta (raw JSON) for the gateway's own requests to a stateless server, or STR_NONE for other servers. A
// request for a client needs a _meta with the data of this client instead (mcp/meta.h).
str link_meta(const struct link *l);

// A request is sent in two steps, because its params may contain its id: link_call_begin sets c->wait.id, and
// link_call_send sends the request. `params` is raw JSON, or empty.
void link_call_begin(struct link *l, struct link_call *c, uint64_t timeout_ms, uint64_t max_ms);
void link_call_send(struct link_call *c, str method, str params);
// Cancels the call: sends a notification or, for a stateless server on HTTP, closes the stream. Calls no callback. Does
// nothing if the call is not in flight.
void link_call_cancel(struct link_call *c, str reason);

void link_call_forget(struct link_call *c);  // ends a call that was begun but not sent

void link_notify(struct link *l, str method, str params);
void link_reply(struct link *l, str id, str result);
void link_refuse(struct link *l, str id, int code, str message);
void link_send_raw(struct link *l, str message);  // a complete message

// Resumes (go = true) or stops (go = false) reading from the server, for back-pressure.
void link_flow(struct link *l, bool go);

// Returns the fault code for an HTTP status of 400 or more.
enum fault_code link_status_code(int status);
// Returns whether an HTTP status says that the server did not run the request.
bool link_status_refuses(int status);

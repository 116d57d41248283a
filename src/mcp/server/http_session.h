// SPDX-License-Identifier: Apache-2.0
// A client's session over HTTP: the event streams to the client, and the timer that ends an idle session. endpoint.c
// routes requests to it.
#pragma once
#include "mcp/server/event_stream.h"
#include "mcp/server/session.h"

struct http_sessions_options {
  uint64_t keepalive_ms, resume_ms;  // times of event streams
  uint64_t idle_ms, away_ms;         // idle times of a session, normally and if its client has closed its event stream
};

struct http_sessions {
  struct mcp_server *server;
  struct http_sessions_options opt;
  struct map by_id;   // struct http_session
  struct buf events;  // scratch for event streams
  bool draining;
};

struct http_session {
  uint32_t magic;
  struct http_sessions *of;
  struct session *s;
  struct map streams;             // live and recently ended, by number
  struct event_stream *standing;  // stream number 0: for the client's GET, or the only stream of an HTTP+SSE session
  uint32_t next_number;
  struct timer idle;
  bool sse;  // HTTP+SSE: the session ends with its stream
  // Only for HTTP+SSE: the session ends with its last request in flight, unless the client sends a valid credential
  // before that.
  bool ending;
};

void http_sessions_init(struct http_sessions *all, struct mcp_server *m, const struct http_sessions_options *opt);
void http_sessions_close(struct http_sessions *all);
void http_sessions_done(struct http_sessions *all);  // must be called after all sessions were closed

// Ends standing streams. Requests in flight continue; an HTTP+SSE session ends with its last request.
void http_sessions_drain(struct http_sessions *all);

// Ends standing streams, so that their clients must authenticate again. If `everyone`, ends all; otherwise only those
// whose credential has expired at the time `now` (seconds since 1970). An HTTP+SSE session ends with its last request
// in flight.
void http_sessions_end_listening(struct http_sessions *all, bool everyone, int64_t now);

struct http_session *http_session_open(struct http_sessions *all, struct client_identity who, bool sse);
void http_session_close(struct http_session *hs);
void http_session_touch(struct http_session *hs);  // restarts the idle time
void http_session_set_away(struct http_session *hs, bool away);

struct event_stream *http_session_new_stream(struct http_session *hs);
void http_session_free_stream(struct event_stream *es);

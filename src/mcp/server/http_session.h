// SPDX-License-Identifier: Apache-2.0
// A client's session over HTTP: the streams by which messages reach it, and the clock that ends it when nobody uses it.
// What it is asked, and what may be asked, is for endpoint.c.
#pragma once
#include "mcp/server/event_stream.h"
#include "mcp/server/session.h"

struct http_sessions_options {
  uint64_t keepalive_ms, resume_ms;  // of streams
  uint64_t idle_ms, away_ms;         // one that nobody uses ends; the same when its client has closed its event stream
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
  struct event_stream *standing;  // number 0: the client's GET, or the one stream of HTTP+SSE
  uint32_t next_number;
  struct timer idle;
  bool sse;     // HTTP+SSE: the stream is the session
  bool ending;  // HTTP+SSE: it ends with its requests, unless its client shows a good credential before
};

void http_sessions_init(struct http_sessions *all, struct mcp_server *m, const struct http_sessions_options *opt);
void http_sessions_close(struct http_sessions *all);
void http_sessions_done(struct http_sessions *all);  // all are closed

// Standing streams end; requests under way go on, and with the last of them a session of HTTP+SSE.
void http_sessions_drain(struct http_sessions *all);

// Whoever only listens shows no credential any more: it has to come again with one that is good. Everyone, or those
// whose credential has expired (now: seconds since 1970). A session of HTTP+SSE with requests under way ends with the
// last of them.
void http_sessions_end_listening(struct http_sessions *all, bool everyone, int64_t now);

struct http_session *http_session_open(struct http_sessions *all, struct client_identity who, bool sse);
void http_session_close(struct http_session *hs);
void http_session_touch(struct http_session *hs);  // it is in use: its clock starts anew
void http_session_set_away(struct http_session *hs, bool away);

struct event_stream *http_session_new_stream(struct http_session *hs);
void http_session_free_stream(struct event_stream *es);

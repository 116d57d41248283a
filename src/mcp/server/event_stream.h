// SPDX-License-Identifier: Apache-2.0
// A numbered stream of messages to one HTTP client, which may outlive its connection.
//
// Every POST with requests has one, and every session has a standing one (for the client's GET). A single answer is
// sent as JSON; any other message turns the response into server-sent events. Events have ids ("stream-event") and the
// latest are stored, so that a client that lost its connection can resume the stream.
#pragma once
#include "base/buf.h"
#include "io/http/http_server.h"

struct event_stream;

struct event_stream_options {
  struct loop *loop;
  struct buf *scratch;    // shared
  uint64_t keepalive_ms;  // between comments; also how long a POST may stay without a byte of its answer
  uint64_t resume_ms;     // how long a broken stream waits for its client
  bool ids;               // events have ids and are stored; false for HTTP+SSE
  size_t backlog;         // unsent bytes before the client is disconnected; 0: the maximum
  bool priming;           // the stream starts with an event without data
};

struct event_stream_events {
  // The client has left and did not return. The owner cancels its requests and frees the stream. Called from the loop,
  // never inside a function of this file.
  void (*lost)(struct event_stream *es);
  // Everything was sent, and the time to resume is over. The owner frees the stream.
  void (*over)(struct event_stream *es);
  // Messages to the client pile up (go = false), or the client has caught up.
  void (*flow)(struct event_stream *es, bool go);
};

struct event_stream *event_stream_new(const struct event_stream_options *opt, const struct event_stream_events *ev,
                                      uint32_t number, void *owner);
void event_stream_free(struct event_stream **stream);  // drops the connection, if any

void *event_stream_owner(const struct event_stream *es);
str event_stream_key(const struct event_stream *es);  // its number (uint32_t) as the key of a map; borrowed

// Gives the stream its connection. headers: header lines with CRLF; copied.
void event_stream_attach(struct event_stream *es, struct http_exchange *x, str headers);
bool event_stream_attached(const struct event_stream *es);

// Returns the connection, on which nothing was sent yet.
struct http_exchange *event_stream_surrender(struct event_stream *es);

// Replaces the connection of a standing stream, and sends the messages that wait. The old connection ends.
void event_stream_take(struct event_stream *es, struct http_exchange *x, bool priming);

// Ends the connection, not the stream.
void event_stream_release(struct event_stream *es);

// Ends the connection; the client reconnects as the first event says.
void event_stream_suspend(struct event_stream *es);

// Starts the response as server-sent events.
void event_stream_begin(struct event_stream *es);

// Sends an event that is not a message (the "endpoint" of HTTP+SSE).
void event_stream_send_typed(struct event_stream *es, str type, str data);

// Sends a message that does not answer a request of the stream.
void event_stream_send(struct event_stream *es, struct payload message);

// Counts a request on this stream, to be answered once. message.text.p == NULL: it ends without an answer.
void event_stream_expect(struct event_stream *es);
// status: of the response, if the answer is its only message.
void event_stream_answer(struct event_stream *es, int status, struct payload message);
// Sets the owner to NULL, after flow(true) if the stream was stalled. Later callbacks find no owner.
void event_stream_disown(struct event_stream *es);

// Resumes the stream on a new connection after event `after`. Returns false if later events are no longer stored.
bool event_stream_resume(struct event_stream *es, struct http_exchange *x, str headers, uint64_t after);

// SPDX-License-Identifier: Apache-2.0
// A stream of messages to one HTTP client. The stream has a number and may outlive its connection.
//
// Every POST with requests has a stream. Every session also has a standing stream, for the client's GET. If the only
// message of a response is one answer, it is sent as JSON; any other message turns the response into server-sent
// events. Events have ids ("stream-event"), and the latest events are stored, so that a client that lost its connection
// can resume the stream.
#pragma once
#include "base/buf.h"
#include "io/http/http_server.h"

struct event_stream;

struct event_stream_options {
  struct loop *loop;
  struct buf *scratch;  // shared
  // Time between SSE comments; also the longest time from a POST to the first byte of its response.
  uint64_t keepalive_ms;
  uint64_t resume_ms;  // time in which a client may resume a stream that has lost its connection
  bool ids;            // events have ids and are stored; false for HTTP+SSE
  size_t backlog;      // the client is disconnected if more bytes are unsent; 0 for the default maximum
  bool priming;        // the stream starts with an event without data
};

struct event_stream_events {
  // Called when the connection was lost and the client has not resumed the stream in time. The owner must cancel the
  // requests of the stream and free the stream. Called from the loop, never inside a function of this file.
  void (*lost)(struct event_stream *es);
  // Called when all messages were sent and the time to resume the stream is over. The owner must free the stream.
  void (*over)(struct event_stream *es);
  // Called with go = false when too many messages wait to be sent, and with go = true when the client has read them.
  void (*flow)(struct event_stream *es, bool go);
};

struct event_stream *event_stream_new(const struct event_stream_options *opt, const struct event_stream_events *ev,
                                      uint32_t number, void *owner);
void event_stream_free(struct event_stream **stream);  // frees the stream, and drops its connection if it has one

void *event_stream_owner(const struct event_stream *es);
// Returns the number of the stream (uint32_t) as the key of a map; borrowed.
str event_stream_key(const struct event_stream *es);

// Gives the stream a connection. `headers` are additional header lines of the response, each with CRLF; they are
// copied.
void event_stream_attach(struct event_stream *es, struct http_exchange *x, str headers);
bool event_stream_attached(const struct event_stream *es);

// Detaches the connection, on which nothing may have been sent yet, and returns it.
struct http_exchange *event_stream_surrender(struct event_stream *es);

// Replaces the connection of a standing stream, and sends the messages that are waiting. Ends the old connection.
void event_stream_take(struct event_stream *es, struct http_exchange *x, bool priming);

// Ends the connection, but not the stream.
void event_stream_release(struct event_stream *es);

// Ends the connection; the client reconnects after the delay given in the first event.
void event_stream_suspend(struct event_stream *es);

// Starts the response as server-sent events.
void event_stream_begin(struct event_stream *es);

// Sends an event that is not a message (the "endpoint" of HTTP+SSE).
void event_stream_send_typed(struct event_stream *es, str type, str data);

// Sends a message that does not answer a request of this stream.
void event_stream_send(struct event_stream *es, struct payload message);

// Announces one more request on this stream. event_stream_answer must then be called once for it, with message.text.p =
// NULL if the request ends without an answer.
void event_stream_expect(struct event_stream *es);
// Sends the answer to an announced request. `status` is the HTTP status, used if the answer is the only message of the
// response.
void event_stream_answer(struct event_stream *es, int status, struct payload message);
// Detaches the stream from its owner; later callbacks get NULL as owner. If the last call of `flow` had go = false,
// first calls it with go = true.
void event_stream_disown(struct event_stream *es);

// Resumes the stream on a new connection with the events after number `after`. Returns false if some of these events
// are no longer stored.
bool event_stream_resume(struct event_stream *es, struct http_exchange *x, str headers, uint64_t after);

// SPDX-License-Identifier: Apache-2.0
// A numbered stream of messages to one HTTP client, that may outlive its connection.
//
// Every POST with requests has one, and every session has a standing one (for the client's GET). While one plain
// answer is all there is to say, it goes out as JSON; the first other message turns the response into server-sent
// events. Events carry ids ("stream-event") and the latest are kept, so that a client that lost its connection can
// take the stream up again where it was.
#pragma once
#include "base/buf.h"
#include "io/http/http_server.h"

struct event_stream;

struct event_stream_options {
  struct loop *loop;
  struct buf *scratch;    // for composing; shared
  uint64_t keepalive_ms;  // between comments; also how long a POST may stay without any byte of answer
  uint64_t resume_ms;     // how long a broken stream waits for its client
  bool ids;               // events carry ids and are kept; false for HTTP+SSE
  size_t backlog;         // how far a client may be behind before it is let go; 0: the most
  bool priming;           // it opens with an event of an id and no data
};

struct event_stream_events {
  // The client is gone and did not come back: its requests are moot. The owner frees the stream. Comes from the loop,
  // never out of a function of this file.
  void (*lost)(struct event_stream *es);
  // Everything was said, and the time to say it again is over. The owner frees the stream.
  void (*over)(struct event_stream *es);
  // The client reads slower than we write (go = false), or has caught up.
  void (*flow)(struct event_stream *es, bool go);
};

struct event_stream *event_stream_new(const struct event_stream_options *opt, const struct event_stream_events *ev,
                                      uint32_t number, void *owner);
void event_stream_free(struct event_stream **stream);  // drops the connection, if any

void *event_stream_owner(const struct event_stream *es);
str event_stream_key(const struct event_stream *es);  // its number (uint32_t) as the key of a map; lives as long as it

// headers: what every response of this session carries, lines with CRLF; copied.
void event_stream_attach(struct event_stream *es, struct http_exchange *x, str headers);
bool event_stream_attached(const struct event_stream *es);

// Gives a connection back on which nothing was said yet.
struct http_exchange *event_stream_surrender(struct event_stream *es);

// A connection for a standing stream: from now on it goes there, what was not sent yet first. An older connection
// ends. Opens with a priming event where the revision has it.
void event_stream_take(struct event_stream *es, struct http_exchange *x, bool priming);

// Ends the connection, not the stream.
void event_stream_release(struct event_stream *es);

// Sends the client away for now: it knows from the first event when and how to come back.
void event_stream_suspend(struct event_stream *es);

// Opens the response as server-sent events now, whatever follows.
void event_stream_begin(struct event_stream *es);

// An event that is no message (the "endpoint" of HTTP+SSE).
void event_stream_send_typed(struct event_stream *es, str type, str data);

// One message that is no answer to the stream's own requests.
void event_stream_send(struct event_stream *es, struct payload message);

// A request came in on this stream; its answer (message.text.p == NULL: there will be none) is still to come.
void event_stream_expect(struct event_stream *es);
// status: that the response has if the answer is all there is to say.
void event_stream_answer(struct event_stream *es, int status, struct payload message);
// What owns it goes before it does: no events are told any more, and its owner is NULL.
void event_stream_disown(struct event_stream *es);

// Takes the stream up on a new connection behind event `after`. False when later events are no longer there.
bool event_stream_resume(struct event_stream *es, struct http_exchange *x, str headers, uint64_t after);

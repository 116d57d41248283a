// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/event_stream.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/http/sse.h"

enum {
  STREAM_MAGIC = 0x65767374,
  KEEP_EVENTS = 256,
  KEEP_BYTES = 1 << 20,
  ENDED_BYTES = 1 << 18,
  ENDED_MS = 1000,
  RETRY_MS = 1000,
  HIGH_WATER = 1 << 18,
  BACKLOG_MAX = 32 << 20,
};

struct stream_event {
  struct list node;
  uint64_t number;
  size_t n;
  char text[];
};

struct event_stream {
  uint32_t magic;
  struct event_stream_options opt;
  const struct event_stream_events *ev;
  void *owner;
  uint32_t number;
  struct http_exchange *x;  // NULL if there is no connection
  char headers[192];
  bool begun;    // this response or an earlier one has begun as an event stream
  bool ended;    // all messages were sent
  bool stalled;  // flow(false) was called
  unsigned expected;
  uint64_t next_event;
  uint64_t unsent;     // number of the first event that was not yet sent on any connection
  struct list events;  // struct stream_event, oldest first
  size_t kept, kept_bytes;
  struct timer timer;
  struct deferred gone;
};

static void on_timer(struct timer *t);
static void on_gone(struct deferred *d);

struct event_stream *event_stream_new(const struct event_stream_options *opt, const struct event_stream_events *ev,
                                      uint32_t number, void *owner) {
  struct event_stream *es = MEM_NEW(struct event_stream);
  es->magic = STREAM_MAGIC;
  es->opt = *opt;
  es->ev = ev;
  es->number = number;
  es->owner = owner;
  es->next_event = es->unsent = 1;
  list_init(&es->events);
  timer_init(&es->timer, on_timer);
  deferred_init(&es->gone, on_gone);
  return es;
}

static void drop_oldest(struct event_stream *es) {
  ASSERT(es->kept > 0 && !list_empty(&es->events));
  struct stream_event *e = CONTAINER_OF(list_pop(&es->events), struct stream_event, node);
  es->kept--;
  ASSERT(es->kept_bytes >= e->n);
  es->kept_bytes -= e->n;
  mem_free(e);
}

void event_stream_free(struct event_stream **stream) {
  struct event_stream *es = *stream;
  if (!es) return;
  *stream = NULL;
  ASSERT_MAGIC(es, STREAM_MAGIC);
  timer_stop(&es->timer);
  deferred_cancel(&es->gone);
  while (es->kept) drop_oldest(es);
  struct http_exchange *x = es->x;
  bool begun = es->begun;
  es->magic = 0;
  mem_free(es);
  // Must come last, because ending the response may start the client's next request, which may free objects.
  if (x && begun) http_stream_end(x);
  else if (x) http_exchange_drop(x);
}

void *event_stream_owner(const struct event_stream *es) {
  return es->owner;
}
str event_stream_key(const struct event_stream *es) {
  return (str){(const char *)&es->number, sizeof es->number};
}
bool event_stream_attached(const struct event_stream *es) {
  return es->x != NULL;
}

static void report_flow(struct event_stream *es, bool go) {
  if (es->stalled == !go) return;
  es->stalled = !go;
  es->ev->flow(es, go);
}

// Handles the loss of the connection. The client can resume a stream whose events have ids, but not a POST that is
// answered as JSON.
static void detached(struct event_stream *es) {
  es->x = NULL;
  timer_stop(&es->timer);
  report_flow(es, true);
  // If the stream cannot be resumed, `lost` is called later from the loop, because it frees objects that our callers
  // use.
  bool resumable = es->begun && es->opt.ids;
  if (resumable) timer_start(es->opt.loop, &es->timer, es->opt.resume_ms);
  else loop_defer(es->opt.loop, &es->gone);
}

static void on_gone(struct deferred *d) {
  struct event_stream *es = CONTAINER_OF(d, struct event_stream, gone);
  es->ev->lost(es);
}

static void on_abort(struct http_exchange *x) {
  detached(x->owner);
}

static void on_drain(struct http_exchange *x) {
  report_flow(x->owner, true);
}

static void write_out(struct event_stream *es, str text, struct buf *memory) {
  if (!es->x) return;
  // Disconnects a client that reads too slowly; it can resume the stream with the stored events.
  bool slow = http_stream_queued(es->x) > (es->opt.backlog ? es->opt.backlog : BACKLOG_MAX);
  if (slow) http_exchange_drop(es->x);
  if (slow || !http_stream_write(es->x, (struct payload){text, memory})) {
    detached(es);
    return;
  }
  if (http_stream_queued(es->x) > HIGH_WATER) report_flow(es, false);
}

static void on_timer(struct timer *t) {
  struct event_stream *es = CONTAINER_OF(t, struct event_stream, timer);
  if (es->ended) {
    es->ev->over(es);
  } else if (!es->x) {
    es->ev->lost(es);
  } else {
    timer_start(es->opt.loop, &es->timer, es->opt.keepalive_ms);
    if (es->begun) write_out(es, STR(":\n\n"), NULL);
    else event_stream_begin(es);
  }
}

void event_stream_attach(struct event_stream *es, struct http_exchange *x, str headers) {
  ASSERT(!es->x && headers.n < sizeof es->headers);
  if (headers.n) memcpy(es->headers, headers.p, headers.n);
  es->headers[headers.n] = 0;
  es->x = x;
  x->owner = es;
  x->on_abort = on_abort;
  x->on_drain = on_drain;
  timer_start(es->opt.loop, &es->timer, es->opt.keepalive_ms);
}

struct http_exchange *event_stream_surrender(struct event_stream *es) {
  ASSERT(es->x && !es->begun);
  struct http_exchange *x = es->x;
  es->x = NULL;
  x->on_abort = x->on_drain = NULL;
  timer_stop(&es->timer);
  return x;
}

static void open_response(struct event_stream *es) {
  char headers[384];
  int n = snprintf(headers, sizeof headers, "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n%s",
                   es->headers);
  http_stream_begin(es->x, 200, (str){headers, (size_t)n}, STR("text/event-stream"));
}

static int event_id(const struct event_stream *es, uint64_t number, char out[48]) {
  return snprintf(out, 48, "%u-%llu", es->number, (unsigned long long)number);
}

// Sends an event without data, only for its id: a client that loses the connection before the next event can then
// resume the stream without losing events.
static void prime(struct event_stream *es) {
  char id[48], text[96];
  event_id(es, es->unsent - 1, id);
  int n = snprintf(text, sizeof text, "id: %s\nretry: %d\ndata: \n\n", id, RETRY_MS);
  write_out(es, (str){text, (size_t)n}, NULL);
}

void event_stream_begin(struct event_stream *es) {
  if (es->begun) return;
  es->begun = true;
  if (!es->x) return;
  open_response(es);
  if (es->opt.ids && es->opt.priming) prime(es);
}

static void keep(struct event_stream *es, uint64_t number, str text) {
  struct stream_event *e = mem_alloc(sizeof *e + text.n);
  e->number = number;
  e->n = text.n;
  memcpy(e->text, text.p, text.n);
  list_push(&es->events, &e->node);
  es->kept++;
  es->kept_bytes += e->n;
  while (es->kept > 1 && (es->kept > KEEP_EVENTS || es->kept_bytes > KEEP_BYTES)) drop_oldest(es);
}

static void send_typed(struct event_stream *es, str type, struct payload data) {
  event_stream_begin(es);
  struct buf *b = es->opt.scratch;
  buf_reset(b);
  char id[48];
  uint64_t number = es->next_event++;
  int n = event_id(es, number, id);
  sse_write(b, type, es->opt.ids ? (str){id, (size_t)n} : STR_NONE, data.text);
  // If a client is connected, a large event is not stored, because the queue of the connection has a copy.
  bool large = b->n > KEEP_BYTES;
  if (es->opt.ids && !(large && es->x)) keep(es, number, buf_view(b));
  if (es->x) es->unsent = number + 1;
  if (large && data.memory) buf_done(data.memory);
  write_out(es, buf_view(b), b);
  buf_reset(b);
  buf_trim(b, KEEP_BYTES);
}

void event_stream_send_typed(struct event_stream *es, str type, str data) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  send_typed(es, type, (struct payload){data, NULL});
}

void event_stream_send(struct event_stream *es, struct payload message) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  send_typed(es, STR("message"), message);
}

void event_stream_expect(struct event_stream *es) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  ASSERT(!es->ended);
  es->expected++;
}

// Detaches the connection from the stream and returns it. Ending the response may start the client's next request,
// which may end this session. So callers must end the response last, when they no longer need the stream.
static struct http_exchange *let_go(struct event_stream *es) {
  struct http_exchange *x = es->x;
  es->x = NULL;
  timer_stop(&es->timer);
  report_flow(es, true);
  return x;
}

static void end_response(struct http_exchange *x) {
  if (x) http_stream_end(x);
}

// Ends the stream. Its events stay stored for a while, because the client may not have received all of them.
static void end(struct event_stream *es) {
  es->ended = true;
  struct http_exchange *x = let_go(es);
  // A connected client has probably received the events, so only a few stay stored, and only for a short time.
  while (x && es->kept_bytes > ENDED_BYTES) drop_oldest(es);
  timer_start(es->opt.loop, &es->timer, !es->kept ? 0 : x ? ENDED_MS : es->opt.resume_ms);
  end_response(x);
}

static void answer_plainly(struct event_stream *es, int status, struct payload message) {
  struct http_exchange *x = es->x;
  es->x = NULL;
  es->ended = true;
  timer_stop(&es->timer);
  char headers[192];
  memcpy(headers, es->headers, sizeof headers);
  es->ev->over(es);  // frees es; called first, because sending the response may start the client's next request
  http_reply_from(x, status, str_of(headers), STR("application/json"), message);
}

void event_stream_disown(struct event_stream *es) {
  report_flow(es, true);
  es->owner = NULL;
}

void event_stream_answer(struct event_stream *es, int status, struct payload message) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  ASSERT(es->expected > 0);
  es->expected--;
  bool last = es->expected == 0;
  if (last && !es->begun && es->x && message.text.p) {
    answer_plainly(es, status, message);
    return;
  }
  if (message.text.p) event_stream_send(es, message);
  else event_stream_begin(es);
  if (last) end(es);
}

void event_stream_release(struct event_stream *es) {
  end_response(let_go(es));
}

void event_stream_suspend(struct event_stream *es) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  event_stream_begin(es);
  if (!es->x) return;
  struct http_exchange *x = let_go(es);
  timer_start(es->opt.loop, &es->timer, es->opt.resume_ms + RETRY_MS);
  end_response(x);
}

static void replay_from(struct event_stream *es, uint64_t number) {
  LIST_EACH(it, &es->events) {
    struct stream_event *e = CONTAINER_OF(it, struct stream_event, node);
    if (e->number < number || !es->x) continue;
    es->unsent = e->number + 1;
    write_out(es, (str){e->text, e->n}, NULL);
  }
}

void event_stream_take(struct event_stream *es, struct http_exchange *x, bool priming) {
  ASSERT_MAGIC(es, STREAM_MAGIC);
  struct http_exchange *older = let_go(es);
  event_stream_attach(es, x, STR_NONE);
  es->begun = true;
  open_response(es);
  uint64_t from = es->unsent;
  if (priming) prime(es);
  replay_from(es, from);
  end_response(older);
}

bool event_stream_resume(struct event_stream *es, struct http_exchange *x, str headers, uint64_t after) {
  if (!es->begun || after >= es->next_event) return false;
  struct stream_event *first = es->kept ? CONTAINER_OF(es->events.next, struct stream_event, node) : NULL;
  // The client can resume only if all events after the last one that it received are still stored.
  uint64_t oldest = first ? first->number : es->next_event;
  if (after + 1 < oldest) return false;
  struct http_exchange *older = let_go(es);
  event_stream_attach(es, x, headers);
  es->begun = true;
  open_response(es);
  replay_from(es, after + 1);
  if (es->ended) end(es);
  end_response(older);
  return true;
}

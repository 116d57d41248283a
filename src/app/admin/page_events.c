// SPDX-License-Identifier: Apache-2.0
// GET /events: sends the current state of the gateway as a server-sent event, and then each changed state, at most once
// per second.
#include "app/admin/admin.h"
#include "base/mem.h"
#include "io/http/sse.h"
#include "json/write.h"

enum { INTERVAL_MS = 1000, MOST_STREAMS = 16, STATE_BYTES = 4 << 20, QUIET_TICKS = 15 };

struct events {
  struct admin *admin;
  struct http_exchange *x;
  struct timer timer;
  uint64_t digest;  // hash of the last state that was sent
  unsigned quiet;   // number of intervals since bytes were last sent
};

static void events_free(struct events *s) {
  ASSERT(s->admin->stream_count > 0);
  timer_stop(&s->timer);
  s->admin->stream_count--;
  mem_free(s);
}

static void on_abort(struct http_exchange *x) {
  struct events *s = x->owner;
  ASSERT(s && s->x == x);
  events_free(s);
}

static bool send_state(struct events *s) {
  ASSERT(s->quiet < QUIET_TICKS);
  struct gateway *g = s->admin->model->gateway;
  struct buf state, event;
  buf_init(&state, STATE_BYTES);
  buf_init(&event, 2 * STATE_BYTES);
  struct json_writer w = json_writer(&state);
  model_put_status(s->admin->model, false, &w);
  uint64_t digest = hash_sip(&g->loop.seed, buf_view(&state));
  if (state.over) sse_write(&event, STR("error"), STR_NONE, STR("the state is too large for an event"));
  else if (digest != s->digest) sse_write(&event, STR("status"), STR_NONE, buf_view(&state));
  else if (++s->quiet >= QUIET_TICKS) buf_str(&event, STR(":\n\n"));
  // the event fits: the buffer is twice as large as the state, and the other parts of an event are short
  ASSERT(!event.over);
  if (event.n) s->quiet = 0;
  s->digest = digest;
  bool open = !event.n || http_stream_write(s->x, (struct payload){buf_view(&event), NULL});
  buf_done(&state);
  buf_done(&event);
  return open;
}

static void on_timer(struct timer *t) {
  struct events *s = CONTAINER_OF(t, struct events, timer);
  if (send_state(s)) timer_start(&s->admin->model->gateway->loop, t, INTERVAL_MS);
  else events_free(s);
}

void admin_page_events(struct admin_request *r) {
  struct admin *a = r->admin;
  ASSERT(r->role >= ADMIN_READER && !r->x->on_abort);
  if (a->stream_count >= MOST_STREAMS) {
    admin_send(r, 503, STR("text/plain; charset=utf-8"), STR("too many event streams are open\n"));
    return;
  }
  struct events *s = MEM_NEW(struct events);
  *s = (struct events){.admin = a, .x = r->x};
  a->stream_count++;
  timer_init(&s->timer, on_timer);
  r->x->owner = s;
  r->x->on_abort = on_abort;
  http_stream_begin(r->x, 200, STR("Cache-Control: no-store\r\n"), STR("text/event-stream"));
  on_timer(&s->timer);
}

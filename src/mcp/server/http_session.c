// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/http_session.h"

#include "base/assert.h"
#include "base/mem.h"

enum { HTTP_SESSION_MAGIC = 0x68736573 };

// ---- streams of a session

void http_session_free_stream(struct event_stream *es) {
  struct http_session *hs = event_stream_owner(es);
  ASSERT_MAGIC(hs, HTTP_SESSION_MAGIC);
  map_remove(&hs->streams, event_stream_key(es));
  event_stream_free(&es);
}

void http_session_touch(struct http_session *hs) {
  ASSERT_MAGIC(hs, HTTP_SESSION_MAGIC);
  const struct http_sessions_options *opt = &hs->of->opt;
  bool sooner = hs->s->stream_closed && opt->away_ms < opt->idle_ms;
  session_used(hs->s);
  timer_start(hs->of->server->loop, &hs->idle, sooner ? opt->away_ms : opt->idle_ms);
}

void http_session_set_away(struct http_session *hs, bool away) {
  hs->s->stream_closed = away;
  http_session_touch(hs);
}

static void on_lost(struct event_stream *es) {
  struct http_session *hs = event_stream_owner(es);
  if (hs->sse) {
    http_session_close(hs);
    return;
  }
  if (es == hs->standing) {
    // The standing stream stays for the client's next GET, until the session has been idle for too long.
    http_session_set_away(hs, true);
    return;
  }
  for (struct list *it = hs->s->requests.next; it != &hs->s->requests;) {
    struct request *r = CONTAINER_OF(it, struct request, node);
    it = it->next;
    if (r->channel != es) continue;
    r->channel = NULL;
    request_cancel(r, STR("the client closed the connection"));
  }
  http_session_free_stream(es);
}

static void on_over(struct event_stream *es) {
  struct http_session *hs = event_stream_owner(es);
  if (es != hs->standing) http_session_free_stream(es);
}

static void on_flow(struct event_stream *es, bool go) {
  struct http_session *hs = event_stream_owner(es);
  struct mcp_server *m = hs->of->server;
  m->surface->flow(m->surface_ctx, hs->s, go);
}

static const struct event_stream_events stream_events = {on_lost, on_over, on_flow};

struct event_stream *http_session_new_stream(struct http_session *hs) {
  struct http_sessions *all = hs->of;
  struct event_stream_options opt = {
      .loop = all->server->loop,
      .scratch = &all->events,
      .keepalive_ms = all->opt.keepalive_ms,
      .resume_ms = all->opt.resume_ms,
      .ids = !hs->sse,
      .priming = hs->s->revision->sse_priming,
  };
  struct event_stream *es = event_stream_new(&opt, &stream_events, hs->next_number++, hs);
  bool added = map_add(&hs->streams, event_stream_key(es), es);
  ASSERT(added);
  return es;
}

// ---- the outlet of a session

// Ends an HTTP+SSE session if it has no request in flight. A timer does this a moment later, because the caller still
// uses the request.
static void end_when_idle(struct http_session *hs) {
  if (list_empty(&hs->s->requests)) timer_start(hs->of->server->loop, &hs->idle, 0);
}

static void outlet_send(struct session *s, struct request *related, str message) {
  struct http_session *hs = s->channel;
  struct event_stream *es = related && related->channel ? related->channel : hs->standing;
  event_stream_send(es, (struct payload){message, NULL});
}

static void outlet_answer(struct request *r, struct payload message) {
  struct http_session *hs = r->session->channel;
  if (hs->sse) {
    if (message.text.p) event_stream_send(hs->standing, message);
    if (hs->of->draining || hs->ending) end_when_idle(hs);
  } else if (r->channel) {
    event_stream_answer(r->channel, 200, message);
  }
}

// Called when the answer to a request will take a while. Closes the connection if the client will reconnect to get the
// answer, as clients of revision 2025-11-25 and later do.
static void outlet_suspend(struct request *r) {
  struct http_session *hs = r->session->channel;
  bool polls = !hs->sse && r->channel && r->session->revision->sse_priming;
  if (polls) event_stream_suspend(r->channel);
}

static bool outlet_let_go(struct session *s) {
  struct http_session *hs = s->channel;
  size_t at = 0;
  bool in_use = !list_empty(&s->requests);
  for (struct event_stream *es; (es = map_next(&hs->streams, &at));) in_use |= event_stream_attached(es);
  if (!in_use) http_session_close(hs);
  return !in_use;
}

static const struct outlet_ops outlet = {outlet_send, outlet_answer, outlet_suspend, outlet_let_go};

// ---- sessions

static void on_idle(struct timer *t) {
  struct http_session *hs = CONTAINER_OF(t, struct http_session, idle);
  bool listens = event_stream_attached(hs->standing) && !hs->of->draining && !hs->ending;
  bool in_use = listens || !list_empty(&hs->s->requests);
  if (in_use) http_session_touch(hs);
  else http_session_close(hs);
}

struct http_session *http_session_open(struct http_sessions *all, struct client_identity who, bool sse) {
  struct http_session *hs = MEM_NEW(struct http_session);
  hs->magic = HTTP_SESSION_MAGIC;
  hs->of = all;
  hs->sse = sse;
  hs->s = session_new(all->server, &outlet, hs, who);
  map_init(&hs->streams, &all->server->loop->seed);
  hs->standing = http_session_new_stream(hs);
  timer_init(&hs->idle, on_idle);
  http_session_touch(hs);
  map_add(&all->by_id, str_of(hs->s->id), hs);
  return hs;
}

void http_session_close(struct http_session *hs) {
  ASSERT_MAGIC(hs, HTTP_SESSION_MAGIC);
  map_remove(&hs->of->by_id, str_of(hs->s->id));
  session_close(&hs->s);
  timer_stop(&hs->idle);  // must follow session_close, which cancels requests and may thereby start this timer
  size_t at = 0;
  for (struct event_stream *es; (es = map_next(&hs->streams, &at));) http_session_free_stream(es);
  map_done(&hs->streams);
  hs->magic = 0;
  mem_free(hs);
}

// ---- all sessions

void http_sessions_init(struct http_sessions *all, struct mcp_server *m, const struct http_sessions_options *opt) {
  *all = (struct http_sessions){.server = m, .opt = *opt};
  map_init(&all->by_id, &m->loop->seed);
  // An event needs at most 7 bytes for each byte of a message: a line break becomes a line break and "data: ".
  buf_init(&all->events, m->scratch.max * 7);
}

void http_sessions_end_listening(struct http_sessions *all, bool everyone, int64_t now) {
  size_t at = 0;
  for (struct http_session *hs; (hs = map_next(&all->by_id, &at));) {
    if (!everyone && !(hs->s->until && now >= hs->s->until)) continue;
    if (!hs->sse) event_stream_release(hs->standing);
    else if (list_empty(&hs->s->requests)) http_session_close(hs);
    else hs->ending = true;
  }
}

void http_sessions_drain(struct http_sessions *all) {
  all->draining = true;
  size_t at = 0;
  for (struct http_session *hs; (hs = map_next(&all->by_id, &at));) {
    if (hs->sse) end_when_idle(hs);
    else event_stream_release(hs->standing);
  }
}

void http_sessions_close(struct http_sessions *all) {
  size_t at = 0;
  for (struct http_session *hs; (hs = map_next(&all->by_id, &at));) http_session_close(hs);
}

void http_sessions_done(struct http_sessions *all) {
  ASSERT(!map_count(&all->by_id));
  map_done(&all->by_id);
  buf_done(&all->events);
}

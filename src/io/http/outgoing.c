// SPDX-License-Identifier: Apache-2.0
#include "io/http/outgoing.h"

#include "base/assert.h"
#include "io/http/proxy.h"
#include "io/stream/tls.h"

enum { HEAD_MAX = 16 << 10 };

static void back(struct outgoing *e, const struct fault *f) {
  timer_stop(&e->deadline);
  e->opt.on_back(e, f);
}

static void give_up(struct outgoing *e, const struct fault *f) {
  http_fetch_cancel(&e->fetch);
  back(e, f);
}

static void on_head(struct http_fetch *f, const struct http_head *h) {
  struct outgoing *e = CONTAINER_OF(f, struct outgoing, fetch);
  e->status = h->status;
  if (e->opt.on_head) e->opt.on_head(e, h);
}

static void on_body(struct http_fetch *f, str bytes) {
  struct outgoing *e = CONTAINER_OF(f, struct outgoing, fetch);
  if (!e->opt.max_answer) return;
  buf_str(&e->answer, bytes);
  if (!e->answer.over) return;
  struct fault why;
  fault_set(&why, FAULT_UPSTREAM_ERROR, "the response is larger than %zu KiB", e->opt.max_answer >> 10);
  give_up(e, &why);
}

static void on_done(struct http_fetch *f, const struct fault *fault) {
  back(CONTAINER_OF(f, struct outgoing, fetch), fault);
}

static void on_late(struct timer *t) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "the server did not answer in time");
  give_up(CONTAINER_OF(t, struct outgoing, deadline), &f);
}

bool outgoing_init(struct outgoing *e, const struct outgoing_options *opt, struct fault *f) {
  *e = (struct outgoing){.opt = *opt, .fetch = {.on_head = on_head, .on_body = on_body, .on_done = on_done}};
  struct http_origin_options origin = {.max_connections = 1, .connect_ms = opt->ms};
  ASSERT(opt->loop && opt->on_back);
  arena_init(&e->arena);
  buf_init(&e->answer, opt->max_answer);
  timer_init(&e->deadline, on_late);
  e->opt.url = arena_str(&e->arena, opt->url);
  if (!http_url_parse(e->opt.url, &e->url)) {
    fault_set(f, FAULT_INVALID, "\"%.*s\" is not an http or https URL", STR_ARG(e->opt.url));
    return false;
  }
  if (!proxies_choose(opt->loop->proxies, &e->url, &origin.proxy, f)) return false;
  if (e->url.tls && !opt->tls && !(e->tls = tls_client_new(f))) return false;
  e->origin = http_origin_new(opt->loop, &e->url, opt->tls ? opt->tls : e->tls, &origin);
  return true;
}

void outgoing_done(struct outgoing *e) {
  if (!e->opt.loop) return;
  timer_stop(&e->deadline);
  http_origin_free(&e->origin);
  tls_client_free(&e->tls);
  buf_done(&e->answer);
  arena_done(&e->arena);
  *e = (struct outgoing){0};
}

void outgoing_send(struct outgoing *e, const char *method, str headers, str body) {
  struct buf head;
  ASSERT(e->origin && !outgoing_under_way(e));
  buf_init(&head, HEAD_MAX);
  buf_printf(&head, "%s %.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: toolgate/" TOOLGATE_VERSION "\r\n", method,
             STR_ARG(e->url.target), STR_ARG(e->url.authority));
  buf_str(&head, headers);
  buf_reset(&e->answer);
  e->status = 0;
  e->fetch.replayable = true;
  timer_start(e->opt.loop, &e->deadline, e->opt.ms);
  http_fetch_start(e->origin, &e->fetch, buf_view(&head), body);
  buf_done(&head);
}

bool outgoing_under_way(const struct outgoing *e) {
  return timer_running(&e->deadline);
}

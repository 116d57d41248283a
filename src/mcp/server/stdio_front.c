// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/stdio_front.h"

#include <poll.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/stream/lines.h"
#include "io/stream/stream.h"
#include "mcp/server/callers.h"

enum { HIGH_WATER = 1 << 18, FLUSH_MS = 2000, MAX_BATCH = 100 };

struct stdio_front {
  struct mcp_server *server;
  struct client_identity who;
  struct session *session;  // session that a handshake has opened; NULL before a handshake
  struct callers callers;   // lends sessions to stateless requests
  struct stream *in, *out;
  int out_fd;
  uint64_t drain_ms;
  struct timer drain;
  struct lines lines;
  struct buf flat;  // a copy of a message without its line breaks
  bool in_ended, stalled, has_ended;
  void (*ended)(void *ctx);
  void *ctx;
};

static void end(struct stdio_front *f) {
  if (f->has_ended) return;
  f->has_ended = true;
  f->ended(f->ctx);
}

static void end_if_done(struct stdio_front *f) {
  if (f->in_ended && list_empty(&f->session->requests) && !callers_busy(&f->callers)) end(f);
}

static void set_flow(struct stdio_front *f, bool go) {
  // A stop is reported again even if reading is already stopped, because calls and connections may have started since
  // the last report.
  if (go && !f->stalled) return;
  f->stalled = !go;
  LIST_EACH(it, &f->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    if (s->channel == f) f->server->surface->flow(f->server->surface_ctx, s, go);
  }
}

static void write_line(struct stdio_front *f, struct payload message) {
  if (!f->out) return;
  str line = lines_flatten(message.text, &f->flat);
  if (!stream_write_from(f->out, (str[]){line, STR("\n")}, 2, message.memory)) {
    stream_close(&f->out);
    end(f);
    return;
  }
  if (stream_queued(f->out) > HIGH_WATER) set_flow(f, false);
}

static void outlet_send(struct session *s, struct request *related, str message) {
  write_line(s->channel, (struct payload){message, NULL});
}

static void outlet_answer(struct request *r, struct payload message) {
  struct stdio_front *f = r->session->channel;
  if (message.text.p) write_line(f, message);
  end_if_done(f);
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

static void refuse(struct stdio_front *f, const struct rpc_error *err) {
  struct buf *b = &f->server->scratch;
  buf_reset(b);
  rpc_put_refusal(b, err);
  write_line(f, (struct payload){buf_view(b), NULL});
}

static void serve_stateless(struct stdio_front *f, struct request *r) {
  struct refusal why;
  struct session *s = NULL;
  if (callers_check(r, &why) && callers_speaks(r, &why)) s = callers_lend(&f->callers, r, f->who, &why);
  if (s) {
    session_serve(s, r, NULL);
    return;
  }
  callers_refuse(&f->callers, r, f->who, &why, &f->server->scratch);
  write_line(f, (struct payload){buf_view(&f->server->scratch), NULL});
}

// If r is notifications/cancelled (of either era) with the id of a stateless request, cancels that request and discards
// r. Returns whether it did so.
static bool cancels_stateless(struct stdio_front *f, struct request *r) {
  struct rpc_error err;
  bool cancels = json_equals_str(json_get(r->value, STR("method")), STR("notifications/cancelled")) &&
                 !json_get(r->value, STR("id")) && rpc_read(r->value, &r->arena, &r->msg, &err);
  if (!cancels) return false;
  if (!callers_cancel(&f->callers, r)) {
    if (!callers_claims(r)) return false;
    // The cancelled request was already answered, so the notification is only reported.
    session_message_received(f->session, &r->msg, r->value, true);
  }
  request_discard(f->server, r);
  return true;
}

static void receive_batch(struct stdio_front *f, const struct json *batch) {
  bool fits = f->session->revision->batches && batch->count > 0 && batch->count <= MAX_BATCH;
  if (!fits) {
    session_message_received(f->session, NULL, batch, false);
    refuse(f, &(struct rpc_error){.code = RPC_INVALID_REQUEST,
                                  .message = "this revision has no batches, or the batch is empty or too long"});
    return;
  }
  JSON_EACH(it, batch) {
    struct fault fault;
    struct rpc_error err;
    struct request *r = request_parse(f->server, json_span(it), &fault);
    if (r && !session_receive(f->session, r, NULL, &err)) refuse(f, &err);
  }
}

static void on_line(void *ctx, str line) {
  struct stdio_front *f = ctx;
  loop_name(f->server->loop, LOOP_LINE);
  if (str_trim(line).n == 0) return;
  struct fault fault;
  struct request *r = request_parse(f->server, line, &fault);
  struct rpc_error err;
  if (!r) {
    struct rpc_unread unread;
    rpc_refuse_unread(line, &fault, &unread);
    log_debug(f->server->loop->log, "refused a message from the client on stdin: %s", unread.text);
    session_text_received(f->session, line);
    refuse(f, &unread.error);
  } else if (r->value->type == JSON_ARRAY) {
    receive_batch(f, r->value);
    request_discard(f->server, r);
  } else if (cancels_stateless(f, r)) {
    return;
  } else if (!callers_claims(r)) {
    if (!session_receive(f->session, r, NULL, &err)) refuse(f, &err);
  } else if (json_get(r->value, STR("id"))) {
    serve_stateless(f, r);
  } else {
    // notifications/cancelled is the only notification that clients of the stateless revision may send.
    callers_refuse(&f->callers, r, f->who, &(struct refusal){.code = RPC_METHOD_NOT_FOUND}, &f->server->scratch);
  }
}

static void on_data(void *ctx, str bytes) {
  struct stdio_front *f = ctx;
  if (lines_feed(&f->lines, bytes)) return;
  session_text_received(f->session, STR_NONE);
  refuse(f, &(struct rpc_error){.code = RPC_INVALID_REQUEST, .message = "the message is larger than limits.request"});
}

static void on_drained(struct timer *t) {
  end(CONTAINER_OF(t, struct stdio_front, drain));
}

// After the end of input, as in `printf … | toolgate serve`, requests in flight are still answered, unless the client
// has also closed the pipe from our stdout.
void stdio_front_drain(struct stdio_front *f) {
  if (f->in_ended) return;
  stream_close(&f->in);
  f->in_ended = true;
  callers_drain(&f->callers);
  struct pollfd out = {.fd = f->out_fd, .events = POLLOUT};
  if (poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP))) end(f);
  else end_if_done(f);
  if (!f->has_ended) timer_start(f->server->loop, &f->drain, f->drain_ms);
}

static void on_in_end(void *ctx, const struct fault *fault) {
  struct stdio_front *f = ctx;
  f->session->left = true;
  stdio_front_drain(f);
}

static void on_out_end(void *ctx, const struct fault *fault) {
  struct stdio_front *f = ctx;
  stream_close(&f->out);
  end(f);
}

static void on_drain(void *ctx) {
  set_flow(ctx, true);
}

static void on_out_data(void *ctx, str bytes) {
}

struct stdio_front *stdio_front_new(struct mcp_server *m, const struct stdio_front_options *opt, struct fault *fault) {
  static const struct stream_events in_events = {on_data, on_in_end, NULL};
  static const struct stream_events out_events = {on_out_data, on_out_end, on_drain};
  ASSERT(opt->ended);
  struct stdio_front *f = MEM_NEW(struct stdio_front);
  f->server = m;
  m->one_client = true;
  f->who = (struct client_identity){.principal = -1, .mode = opt->mode};
  f->ended = opt->ended;
  f->ctx = opt->ctx;
  f->out_fd = opt->out_fd;
  f->drain_ms = opt->drain_ms;
  timer_init(&f->drain, on_drained);
  buf_init(&f->flat, m->scratch.max);
  lines_init(&f->lines, opt->max_line, on_line, f);
  f->in = stream_open_fd(m->loop, opt->in_fd, 0, fault);
  f->out = f->in ? stream_open_fd(m->loop, opt->out_fd, m->scratch.max * 2, fault) : NULL;
  if (!f->out) {
    stream_close(&f->in);
    lines_done(&f->lines);
    mem_free(f);
    return NULL;
  }
  f->session = session_new(m, &outlet, f, f->who);
  struct callers_options callers = {.outlet = &outlet, .channel = f, .one_client = true, .idle_ms = opt->idle_ms};
  callers_init(&f->callers, m, &callers);
  stream_start(f->in, &in_events, f);
  stream_start(f->out, &out_events, f);
  return f;
}

void stdio_front_free(struct stdio_front **front) {
  struct stdio_front *f = *front;
  if (!f) return;
  *front = NULL;
  f->has_ended = true;
  timer_stop(&f->drain);
  session_close(&f->session);
  callers_done(&f->callers);
  stream_close(&f->in);
  stream_close_flushed(&f->out, FLUSH_MS);
  lines_done(&f->lines);
  buf_done(&f->flat);
  mem_free(f);
}

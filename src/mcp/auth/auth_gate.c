// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/auth_gate.h"

#include "base/assert.h"
#include "base/mem.h"

enum { MOST_WAITING = 256, MOST_BYTES = 32 << 20, HEADER_BYTES = 16 << 10 };

// A request that waits until the signing keys are fetched, with a copy of its head and body.
struct gate_waiter {
  struct list node;
  struct auth_gate *auth_gate;
  struct keyring_waiter waiter;
  struct http_exchange *x;
  struct http_head head;
  str body;
  size_t bytes;
  unsigned waits;  // number of times that the request has waited for keys, including this time
  struct arena arena;
};

static void pass(struct auth_gate *d, struct http_exchange *x, unsigned waits);

static void guest_free(struct gate_waiter *g) {
  ASSERT(g->auth_gate->count > 0 && g->auth_gate->bytes >= g->bytes);
  keyring_leave(&g->waiter);
  list_remove(&g->node);
  g->auth_gate->count--;
  g->auth_gate->bytes -= g->bytes;
  arena_done(&g->arena);
  mem_free(g);
}

static void on_abort(struct http_exchange *x) {
  guest_free(x->owner);
}

static void on_keys(struct keyring_waiter *w) {
  struct gate_waiter *g = CONTAINER_OF(w, struct gate_waiter, waiter);
  struct http_exchange *x = g->x;
  ASSERT(x->owner == g);
  x->owner = NULL;
  x->on_abort = NULL;
  x->head = &g->head;
  x->body = g->body;
  pass(g->auth_gate, x, g->waits);
  guest_free(g);
}

static void copy_head(struct gate_waiter *g, const struct http_head *from) {
  struct arena *a = &g->arena;
  struct http_head *h = &g->head;
  *h = *from;
  h->method = arena_str(a, from->method);
  h->target = arena_str(a, from->target);
  h->path = arena_str(a, from->path);
  if (from->query.p) h->query = arena_str(a, from->query);
  h->host = arena_str(a, from->host);
  for (size_t i = 0; i < from->header_count; i++) {
    h->headers[i].name = arena_str(a, from->headers[i].name);
    h->headers[i].value = arena_str(a, from->headers[i].value);
    g->bytes += h->headers[i].name.n + h->headers[i].value.n;
  }
}

static void let_wait(struct auth_gate *d, struct http_exchange *x, unsigned waits) {
  if (d->count >= MOST_WAITING || d->bytes + x->body.n > MOST_BYTES) {
    http_reply(x, 503, STR("Retry-After: 5\r\n"), STR("text/plain; charset=utf-8"),
               STR("too many requests wait for signing keys\n"));
    return;
  }
  struct gate_waiter *g = MEM_NEW(struct gate_waiter);
  arena_init(&g->arena);
  g->auth_gate = d;
  g->x = x;
  g->waits = waits;
  g->bytes = x->body.n + sizeof *g;
  copy_head(g, x->head);
  if (x->body.p) g->body = arena_str(&g->arena, x->body);
  g->waiter.ready = on_keys;
  x->owner = g;
  x->on_abort = on_abort;
  d->count++;
  d->bytes += g->bytes;
  list_push(&d->waiting, &g->node);
  keyring_wait(credentials_keys(d->credentials), &g->waiter);
}

static void refuse(struct auth_gate *d, struct http_exchange *x, enum credentials_verdict verdict,
                   const struct fault *why) {
  struct buf headers, body;
  d->refused(d->ctx, x, credentials_rejection(d->credentials));
  buf_init(&headers, HEADER_BYTES);
  buf_init(&body, 2 * FAULT_TEXT);
  challenge_put_header(&d->challenge, x->head->path, verdict, why, &headers);
  buf_printf(&body, "%s\n", why->message);
  http_reply(x, challenge_status(verdict), buf_view(&headers), STR("text/plain; charset=utf-8"), buf_view(&body));
  buf_done(&headers);
  buf_done(&body);
}

// `waits` is the number of times that the request has waited for signing keys.
static void pass(struct auth_gate *d, struct http_exchange *x, unsigned waits) {
  struct client_identity who = {.principal = -1};
  struct fault why;
  bool patient = d->credentials && waits < credentials_waits(d->credentials);
  enum credentials_verdict verdict =
      d->credentials ? credentials_check(d->credentials, x->head, patient, &who, &why) : CREDENTIALS_GOOD;
  if (verdict == CREDENTIALS_GOOD) {
    http_exchange_trust(x);
    d->enter(d->ctx, x, who);
  } else if (verdict == CREDENTIALS_WAIT) let_wait(d, x, waits + 1);
  else refuse(d, x, verdict, &why);
}

void auth_gate_pass(struct auth_gate *d, struct http_exchange *x) {
  if (!d->credentials && http_count(x->head, STR("authorization")) > 1) {
    http_reply(x, 400, STR_NONE, STR("text/plain; charset=utf-8"),
               STR("the request has more than one Authorization header\n"));
    return;
  }
  pass(d, x, 0);
}

bool auth_gate_admits(struct auth_gate *d, const struct http_head *head, str *out_principal) {
  struct client_identity who;
  struct fault why;
  if (!d->credentials) return true;
  enum credentials_verdict verdict = credentials_check(d->credentials, head, true, &who, &why);
  if (verdict == CREDENTIALS_GOOD) *out_principal = who.name;
  return verdict == CREDENTIALS_GOOD || verdict == CREDENTIALS_WAIT;
}

void auth_gate_init(struct auth_gate *d, void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who),
                    void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why), void *ctx) {
  *d = (struct auth_gate){.enter = enter, .refused = refused, .ctx = ctx};
  list_init(&d->waiting);
}

void auth_gate_guard(struct auth_gate *d, struct credentials *credentials, const struct challenge *challenge) {
  d->credentials = credentials;
  d->challenge = *challenge;
  LIST_EACH(it, &d->waiting) on_keys(&CONTAINER_OF(it, struct gate_waiter, node)->waiter);
}

void auth_gate_done(struct auth_gate *d) {
  LIST_EACH(it, &d->waiting) {
    struct gate_waiter *g = CONTAINER_OF(it, struct gate_waiter, node);
    struct http_exchange *x = g->x;
    guest_free(g);
    http_exchange_drop(x);
  }
  ASSERT(!d->count && !d->bytes);
}

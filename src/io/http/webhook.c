// SPDX-License-Identifier: Apache-2.0
#include "io/http/webhook.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/hmac.h"
#include "base/crypto/locked.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "io/http/outgoing.h"

enum { FIRST_DELAY_MS = 1000, DELAY_FACTOR = 4, ID_TEXT = 4 + RAND_ID_SIZE, SIGNATURE_TEXT = 64, SECRET_MAX = 4096 };

struct message {
  struct list node;  // in waiting or ready; in no list while it is sent
  struct webhook *webhook;
  struct timer due;  // starts the next attempt
  unsigned attempts;
  char id[ID_TEXT];
  str headers, body;  // after the struct
  webhook_ended *ended;
  void *ctx;
  char text[];
};

struct webhook {
  struct loop *loop;
  struct tls_client *tls;
  struct hmac *hmac;
  struct outgoing outgoing;
  bool open;                   // `outgoing` is initialized; it is when the first message is sent
  struct list waiting, ready;  // messages whose timer runs, and messages that are sent next
  struct message *current;     // is being sent, or NULL
  size_t count;
  size_t url_n;
  char url[];
};

static void pump(struct webhook *w);

// ---- the end of an attempt

static void end(struct message *m, const char *why) {
  webhook_ended *ended = m->ended;
  void *ctx = m->ctx;
  m->webhook->count--;
  mem_free(m);
  ended(ctx, why);
}

// Returns the delay before the next attempt: 1 s, 4 s, 16 s and so on, each a quarter shorter or longer at random.
static uint64_t delay_of(const struct message *m) {
  uint64_t ms = FIRST_DELAY_MS;
  uint32_t random;
  for (unsigned i = 1; i < m->attempts; i++) ms *= DELAY_FACTOR;
  rand_fill(m->webhook->loop->rand, &random, sizeof random);
  return ms * 3 / 4 + random % (ms / 2 + 1);
}

static void try_again(struct message *m) {
  list_push(&m->webhook->waiting, &m->node);
  timer_start(m->webhook->loop, &m->due, delay_of(m));
}

static bool is_passing(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

static void on_back(struct outgoing *o, const struct fault *f) {
  struct webhook *w = CONTAINER_OF(o, struct webhook, outgoing);
  struct message *m = w->current;
  char why[FAULT_TEXT];
  bool delivered = !f && o->status >= 200 && o->status < 300;
  w->current = NULL;
  if (f) snprintf(why, sizeof why, "%s", f->message);
  else snprintf(why, sizeof why, "the receiver answered with HTTP %d", o->status);
  if (delivered) end(m, NULL);
  else if ((f || is_passing(o->status)) && m->attempts < WEBHOOK_ATTEMPTS) try_again(m);
  else end(m, why);
  pump(w);
}

// ---- an attempt

static void put_headers(struct webhook *w, const struct message *m, struct buf *out) {
  int64_t seconds = clock_wall_ms(w->loop->clock) / 1000;
  unsigned char mac[SHA256_SIZE];
  struct buf b;
  buf_init(&b, m->body.n + SIGNATURE_TEXT + ID_TEXT);
  buf_printf(&b, "%s.%" PRId64 ".", m->id, seconds);
  buf_str(&b, m->body);
  ASSERT(!b.over);
  hmac_sign(w->hmac, buf_view(&b), mac);
  buf_reset(&b);
  base64_encode((str){(const char *)mac, sizeof mac}, BASE64_STANDARD, &b);
  buf_printf(out,
             "Content-Type: application/json\r\nwebhook-id: %s\r\nwebhook-timestamp: %" PRId64
             "\r\nwebhook-signature: v1,%.*s\r\n",
             m->id, seconds, STR_ARG(buf_view(&b)));
  buf_str(out, m->headers);
  buf_done(&b);
}

static bool open_connection(struct webhook *w, struct fault *f) {
  struct outgoing_options opt = {
      .loop = w->loop, .url = (str){w->url, w->url_n}, .ms = WEBHOOK_MS, .on_back = on_back, .tls = w->tls};
  if (w->open) return true;
  w->open = outgoing_init(&w->outgoing, &opt, f);
  if (!w->open) outgoing_done(&w->outgoing);
  return w->open;
}

static void send_now(struct webhook *w, struct message *m) {
  struct buf headers;
  buf_init(&headers, WEBHOOK_HEADERS + 1024);
  put_headers(w, m, &headers);
  ASSERT(!headers.over);
  m->attempts++;
  w->current = m;
  outgoing_send(&w->outgoing, "POST", buf_view(&headers), m->body);
  buf_done(&headers);
}

// Sends the next message that is ready, unless a request is in flight.
static void pump(struct webhook *w) {
  struct fault f;
  while (!w->current && !list_empty(&w->ready)) {
    struct message *m = CONTAINER_OF(list_pop(&w->ready), struct message, node);
    if (open_connection(w, &f)) send_now(w, m);
    else end(m, f.message);
  }
}

static void on_due(struct timer *t) {
  struct message *m = CONTAINER_OF(t, struct message, due);
  struct webhook *w = m->webhook;
  list_remove(&m->node);
  list_push(&w->ready, &m->node);
  pump(w);
}

// ---- interface

static struct hmac *read_secret(str secret) {
  const str prefix = STR("whsec_");
  struct buf key;
  struct hmac *hmac;
  buf_init(&key, SECRET_MAX);
  bool encoded = str_starts(secret, prefix) && base64_decode(str_from(secret, prefix.n), BASE64_STANDARD, &key);
  hmac = hmac_new(encoded ? buf_view(&key) : secret);
  buf_wipe(&key);
  return hmac;
}

struct webhook *webhook_new(const struct webhook_options *opt) {
  struct webhook *w = mem_zero(sizeof *w + opt->url.n);
  ASSERT(opt->secret.n);
  w->loop = opt->loop;
  w->tls = opt->tls;
  w->hmac = read_secret(opt->secret);
  w->url_n = opt->url.n;
  memcpy(w->url, opt->url.p, opt->url.n);
  list_init(&w->waiting);
  list_init(&w->ready);
  return w;
}

static void drop(struct message *m) {
  timer_stop(&m->due);
  end(m, "the webhook was removed before the message was delivered");
}

void webhook_free(struct webhook **webhook) {
  struct webhook *w = *webhook;
  *webhook = NULL;
  if (!w) return;
  if (w->open) outgoing_done(&w->outgoing);
  for (struct list *n; (n = list_pop(&w->waiting));) drop(CONTAINER_OF(n, struct message, node));
  for (struct list *n; (n = list_pop(&w->ready));) drop(CONTAINER_OF(n, struct message, node));
  if (w->current) drop(w->current);
  hmac_free(&w->hmac);
  mem_free(w);
}

size_t webhook_waiting(const struct webhook *w) {
  return w->count;
}

bool webhook_send(struct webhook *w, str headers, str body, webhook_ended *ended, void *ctx) {
  ASSERT(ended);
  if (w->count == WEBHOOK_QUEUE || headers.n > WEBHOOK_HEADERS || body.n > WEBHOOK_BYTES) return false;
  struct message *m = mem_zero(sizeof *m + headers.n + body.n);
  m->webhook = w;
  m->ended = ended;
  m->ctx = ctx;
  memcpy(m->id, "msg_", 4);
  rand_id(w->loop->rand, m->id + 4);
  if (headers.n) memcpy(m->text, headers.p, headers.n);
  memcpy(m->text + headers.n, body.p, body.n);
  m->headers = (str){m->text, headers.n};
  m->body = (str){m->text + headers.n, body.n};
  timer_init(&m->due, on_due);
  list_push(&w->waiting, &m->node);
  timer_start(w->loop, &m->due, 0);
  w->count++;
  return true;
}

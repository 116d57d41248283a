// SPDX-License-Identifier: Apache-2.0
#include "observe/webhooks.h"

#include "base/assert.h"
#include "base/crypto/locked.h"
#include "base/mem.h"
#include "govern/webhooks.h"
#include "io/http/http.h"
#include "io/stream/tls.h"
#include "json/write.h"

struct hook {
  struct list node;
  struct webhooks *all;
  unsigned char key[SHA256_SIZE];  // identifies role, URL and secret
  struct webhook *sender;
  size_t role_n;
  char role[];
};

struct webhooks {
  struct loop *loop;
  struct tls_client *tls;  // NULL until a webhook has an https URL
  struct list hooks;
  struct webhooks_counts counts;
};

struct webhooks *webhooks_new(struct loop *l) {
  struct webhooks *w = MEM_NEW(struct webhooks);
  w->loop = l;
  list_init(&w->hooks);
  return w;
}

static str role_of(const struct hook *h) {
  return (str){h->role, h->role_n};
}

static void hook_free(struct hook *h) {
  list_remove(&h->node);
  webhook_free(&h->sender);
  mem_free(h);
}

void webhooks_free(struct webhooks **webhooks) {
  struct webhooks *w = *webhooks;
  *webhooks = NULL;
  if (!w) return;
  LIST_EACH(it, &w->hooks) hook_free(CONTAINER_OF(it, struct hook, node));
  tls_client_free(&w->tls);
  mem_free(w);
}

// ---- the webhooks of a file

static void make_key(const struct governance_webhook *from, unsigned char out[SHA256_SIZE]) {
  struct buf b;
  buf_init(&b, from->role.n + from->url.n + from->secret.n + 2);
  buf_str(&b, from->role);
  buf_char(&b, 0);
  buf_str(&b, from->url);
  buf_char(&b, 0);
  buf_str(&b, from->secret);
  hash_sha256(buf_view(&b), out);
  buf_wipe(&b);
}

// Returns the TLS settings that all webhooks share, or NULL for an http URL. They are made when a governance file takes
// effect and not for the first message, because this takes about 30 ms.
static struct tls_client *tls_for(struct webhooks *w, str url) {
  struct http_url parts;
  struct fault f;
  if (!http_url_parse(url, &parts) || !parts.tls) return NULL;
  if (!w->tls && !(w->tls = tls_client_new(&f))) log_error(w->loop->log, "webhooks: %s", f.message);
  return w->tls;
}

// Returns the webhook with this key. Creates it if it does not exist.
static struct hook *get_hook(struct webhooks *w, const struct governance_webhook *from) {
  unsigned char key[SHA256_SIZE];
  make_key(from, key);
  LIST_EACH(it, &w->hooks) {
    struct hook *h = CONTAINER_OF(it, struct hook, node);
    if (!memcmp(h->key, key, sizeof key)) return h;
  }
  struct hook *h = mem_zero(sizeof *h + from->role.n);
  h->all = w;
  memcpy(h->key, key, sizeof key);
  memcpy(h->role, from->role.p, from->role.n);
  h->role_n = from->role.n;
  struct webhook_options opt = {w->loop, from->url, from->secret, tls_for(w, from->url)};
  h->sender = webhook_new(&opt);
  list_push(&w->hooks, &h->node);
  return h;
}

void webhooks_take(struct webhooks *w, const struct governance *g) {
  struct list kept;
  list_init(&kept);
  for (size_t i = 0; g && i < governance_webhook_count(g); i++) {
    const struct governance_webhook *from = governance_webhook_at(g, i);
    if (!from->secret.n) continue;
    struct hook *h = get_hook(w, from);
    list_remove(&h->node);
    list_push(&kept, &h->node);
  }
  LIST_EACH(it, &w->hooks) hook_free(CONTAINER_OF(it, struct hook, node));
  for (struct list *n; (n = list_pop(&kept));) list_push(&w->hooks, n);
}

// ---- messages

static struct hook *find(const struct webhooks *w, str role) {
  LIST_EACH(it, &w->hooks) {
    struct hook *h = CONTAINER_OF(it, struct hook, node);
    if (str_eq(role_of(h), role)) return h;
  }
  return NULL;
}

bool webhooks_serve(const struct webhooks *w, str role) {
  return find(w, role) != NULL;
}

struct message {
  struct hook *hook;
  webhook_ended *ended;  // may be NULL
  void *ctx;
};

static void on_ended(void *ctx, const char *why) {
  struct message m = *(struct message *)ctx;
  struct webhooks *w = m.hook->all;
  mem_free(ctx);
  if (why) {
    w->counts.failed++;
    log_error(w->loop->log, "webhook of the role \"%.*s\": a message was not delivered: %s", STR_ARG(role_of(m.hook)),
              why);
  } else {
    w->counts.delivered++;
  }
  if (m.ended) m.ended(m.ctx, why);
}

static void put_body(const struct webhooks *w, const char *type, str data, struct buf *out) {
  struct json_writer j = json_writer(out);
  char at[CLOCK_TEXT];
  clock_print_second(clock_wall_ms(w->loop->clock), at);
  json_begin_object(&j);
  json_member_str(&j, STR("type"), str_of(type));
  json_member_str(&j, STR("timestamp"), str_of(at));
  json_member_raw(&j, STR("data"), data);
  json_end_object(&j);
}

bool webhooks_send(struct webhooks *w, str role, const char *type, str data, webhook_ended *ended, void *ctx) {
  struct hook *h = find(w, role);
  struct buf body;
  if (!h) return false;
  struct message *m = MEM_NEW(struct message);
  *m = (struct message){h, ended, ctx};
  buf_init(&body, WEBHOOK_BYTES);
  put_body(w, type, data, &body);
  if (body.over || !webhook_send(h->sender, STR(""), buf_view(&body), on_ended, m))
    on_ended(m, body.over ? "it is too large" : "too many messages wait for the receiver");
  buf_done(&body);
  return true;
}

struct webhooks_counts webhooks_count(const struct webhooks *w) {
  return w->counts;
}

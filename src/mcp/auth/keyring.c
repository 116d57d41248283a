// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/keyring.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/http/outgoing.h"

enum {
  FETCH_MS = 10000,
  AGAIN_MS = 5000,   // time between a failed fetch and the next one
  RENEW_MS = 60000,  // minimum time between two fetches that are caused by tokens with unknown keys
  SHORTEST_MS = 60000,
  SET_BYTES = 256 << 10,
  SET_DEPTH = 16,
};

struct keyring {
  struct keyring_options opt;
  struct jwt_keys *keys;
  uint64_t version;
  uint64_t good_until;  // loop time at which the keys expire
  uint64_t not_before;  // earliest time of the next fetch after a failed one
  uint64_t renew_at;    // earliest time of the next fetch because of an unknown key
  bool fetched;         // the keys come from the URL
  struct outgoing outgoing;
  uint64_t lifetime_ms;  // lifetime of the keys that are being fetched
  struct list waiters;
};

// ---- the response with keys

// Returns the lifetime of the keys according to Cache-Control: at least SHORTEST_MS, at most the configured maximum.
static uint64_t lifetime_of(const struct keyring *k, const struct http_head *h) {
  str value = http_value(h, STR("cache-control")), part;
  uint64_t ms = k->opt.longest_ms, seconds;
  for (bool more = value.n > 0; more;) {
    more = str_cut(value, ',', &part, &value);
    part = str_trim(part);
    str name, number;
    if (str_eq_nocase(part, STR("no-store")) || str_eq_nocase(part, STR("no-cache"))) ms = 0;
    else if (str_cut(part, '=', &name, &number) && str_eq_nocase(name, STR("max-age")) && str_to_u64(number, &seconds))
      ms = seconds < ms / 1000 ? seconds * 1000 : ms;
  }
  return ms < SHORTEST_MS ? SHORTEST_MS : ms;
}

static struct jwt_keys *read_set(str text, struct fault *f) {
  static const struct json_limits limits = {.max_bytes = SET_BYTES, .max_depth = SET_DEPTH};
  struct arena a;
  arena_init(&a);
  const struct json *set = json_parse(&a, text, &limits, f);
  struct jwt_keys *keys = set ? jwt_keys_from_set(set, false, f) : NULL;
  arena_done(&a);
  return keys;
}

// ---- fetching

static void call_waiters(struct keyring *k) {
  struct list now;
  list_init(&now);
  // Moves all waiters to a local list: a waiter that a callback adds to k->waiters must wait for the next fetch.
  for (struct list *n; (n = list_pop(&k->waiters));) list_push(&now, n);
  for (struct list *n; (n = list_pop(&now));) {
    struct keyring_waiter *w = CONTAINER_OF(n, struct keyring_waiter, node);
    w->ready(w);
  }
}

static void on_back(struct outgoing *e, const struct fault *fault) {
  struct keyring *k = CONTAINER_OF(e, struct keyring, outgoing);
  struct fault f;
  struct jwt_keys *keys = NULL;
  if (fault) f = *fault;
  else if (e->status != 200) fault_set(&f, FAULT_UPSTREAM_ERROR, "the server answered with HTTP %d", e->status);
  else keys = read_set(buf_view(&e->answer), &f);
  if (keys) {
    jwt_keys_unref(&k->keys);
    k->keys = keys;
    k->version++;
    k->good_until = loop_now(k->opt.loop) + k->lifetime_ms;
    log_info(k->opt.loop->log, "%.*s: fetched %zu signing keys", STR_ARG(k->opt.url), jwt_keys_count(keys));
  } else {
    k->not_before = loop_now(k->opt.loop) + AGAIN_MS;
    log_warn(k->opt.loop->log, "%.*s: cannot fetch signing keys: %s%s", STR_ARG(k->opt.url), f.message,
             k->keys ? "; the previous keys stay in use" : "");
  }
  call_waiters(k);
}

static void on_head(struct outgoing *e, const struct http_head *h) {
  struct keyring *k = CONTAINER_OF(e, struct keyring, outgoing);
  k->lifetime_ms = lifetime_of(k, h);
}

static void start(struct keyring *k) {
  ASSERT(k->fetched && !outgoing_under_way(&k->outgoing));
  outgoing_send(&k->outgoing, "GET", STR("Accept: application/jwk-set+json, application/json\r\n"), STR_NONE);
}

// ---- interface

struct keyring *keyring_new(const struct keyring_options *opt, struct fault *f) {
  struct keyring *k = MEM_NEW(struct keyring);
  k->opt = *opt;
  list_init(&k->waiters);
  if (opt->keys) {
    k->keys = jwt_keys_ref(opt->keys);
    return k;
  }
  struct outgoing_options fetch = {.loop = opt->loop,
                                   .url = opt->url,
                                   .ms = FETCH_MS,
                                   .max_answer = SET_BYTES,
                                   .on_head = on_head,
                                   .on_back = on_back};
  k->fetched = outgoing_init(&k->outgoing, &fetch, f);
  k->opt.url = k->outgoing.opt.url;
  if (!k->fetched) keyring_free(&k);
  return k;
}

void keyring_free(struct keyring **keyring) {
  struct keyring *k = *keyring;
  if (!k) return;
  *keyring = NULL;
  while (list_pop(&k->waiters)) continue;
  outgoing_done(&k->outgoing);
  jwt_keys_unref(&k->keys);
  mem_free(k);
}

static bool fetching(const struct keyring *k) {
  return outgoing_under_way(&k->outgoing);
}

enum keyring_state keyring_look(struct keyring *k) {
  if (!k->fetched) return KEYRING_READY;
  uint64_t now = loop_now(k->opt.loop);
  bool due = !k->keys || now >= k->good_until;
  if (due && !fetching(k) && now >= k->not_before) start(k);
  if (due && fetching(k)) return KEYRING_COMING;
  return k->keys ? KEYRING_READY : KEYRING_NONE;
}

bool keyring_renew(struct keyring *k) {
  if (!k->fetched) return false;
  uint64_t now = loop_now(k->opt.loop);
  if (!fetching(k) && now >= k->renew_at) {
    k->renew_at = now + RENEW_MS;
    start(k);
  }
  return fetching(k);
}

const struct jwt_keys *keyring_keys(const struct keyring *k) {
  return k->keys;
}

uint64_t keyring_version(const struct keyring *k) {
  return k->version;
}

void keyring_wait(struct keyring *k, struct keyring_waiter *w) {
  ASSERT(w->ready);
  list_push(&k->waiters, &w->node);
}

void keyring_leave(struct keyring_waiter *w) {
  list_remove(&w->node);
}

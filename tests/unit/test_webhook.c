// SPDX-License-Identifier: Apache-2.0
// io/http/webhook: signed messages to a receiver on loopback, with a clock that the test moves.
#include "http_world.h"

#include "base/arena.h"
#include "base/crypto/hmac.h"
#include "base/text/base64.h"
#include "io/http/webhook.h"

enum { MOST_REQUESTS = 128, LONGEST_DELAY_MS = 400000 };

#define SECRET "a secret of the receiver"
#define BODY "{\"type\":\"test\"}"

struct seen {
  str id, timestamp, signature, type, more, body, target;
};

struct fixture {
  struct world w;
  struct webhook *hook;
  struct arena arena;
  struct seen requests[MOST_REQUESTS];
  int asked;
  int statuses[MOST_REQUESTS];  // of the responses; 0 is 200, and -1 is no response
  const char *headers;          // of the responses
  int delivered, failed, ended;
  char why[256];
};

static void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  assert_in_range(f->asked, 0, MOST_REQUESTS - 1);
  assert_true(str_eq(x->head->method, STR("POST")));
  struct seen *r = &f->requests[f->asked];
  r->id = arena_str(&f->arena, http_value(x->head, STR("webhook-id")));
  r->timestamp = arena_str(&f->arena, http_value(x->head, STR("webhook-timestamp")));
  r->signature = arena_str(&f->arena, http_value(x->head, STR("webhook-signature")));
  r->type = arena_str(&f->arena, http_value(x->head, STR("content-type")));
  r->more = arena_str(&f->arena, http_value(x->head, STR("x-more")));
  r->target = arena_str(&f->arena, x->head->target);
  r->body = arena_str(&f->arena, x->body);
  int status = f->statuses[f->asked++];
  if (status >= 0) http_reply(x, status ? status : 200, str_of(f->headers), STR("text/plain"), STR("ok"));
}

static void on_ended(void *ctx, const char *why) {
  struct fixture *f = ctx;
  if (why) snprintf(f->why, sizeof f->why, "%s", why);
  if (why) f->failed++;
  else f->delivered++;
  f->ended++;
}

static int64_t wall(void *ctx) {
  return (int64_t)((struct world *)ctx)->now;
}

static int setup(void **state) {
  static const struct http_server_options opt = {
      .limits = {16384, 1 << 20},
      .max_connections = 8,
      .max_queued = 2 << 20,
      .head_ms = 3600000,
      .body_ms = 3600000,
      .idle_ms = 36000000,
      .write_ms = 3600000,
  };
  struct fixture *f = MEM_NEW(struct fixture);
  world_open(&f->w, &opt, on_request, f);
  f->w.clock.wall_ms = wall;
  arena_init(&f->arena);
  f->headers = "";
  struct webhook_options hook = {.loop = &f->w.loop, .secret = STR(SECRET)};
  hook.url = arena_printf(&f->arena, "http://127.0.0.1:%u/hook?a=b", f->w.port);
  f->hook = webhook_new(&hook);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  webhook_free(&f->hook);
  world_close(&f->w);
  arena_done(&f->arena);
  mem_free(f);
  return 0;
}

static void sends(struct fixture *f) {
  assert_true(webhook_send(f->hook, STR(""), STR(BODY), on_ended, f));
  advance(&f->w, TIMER_TICK_MS);
}

// Lets time pass until the receiver has had this number of requests.
static void wait_asked(struct fixture *f, int count) {
  for (uint64_t until = real_ms() + DEADLINE_MS; f->asked < count; turn(&f->w, -1, until)) advance(&f->w, 500);
}

static str signature(struct fixture *f, str key, const struct seen *r) {
  unsigned char mac[SHA256_SIZE];
  struct buf b;
  struct hmac *h = hmac_new(key);
  buf_init(&b, 4096);
  buf_printf(&b, "%.*s.%.*s.%.*s", STR_ARG(r->id), STR_ARG(r->timestamp), STR_ARG(r->body));
  hmac_sign(h, buf_view(&b), mac);
  hmac_free(&h);
  buf_reset(&b);
  buf_str(&b, STR("v1,"));
  base64_encode((str){(const char *)mac, sizeof mac}, BASE64_STANDARD, &b);
  str text = arena_str(&f->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void a_message_is_a_signed_post_request(void **state) {
  struct fixture *f = *state;
  struct seen *r = &f->requests[0];
  f->w.now = UINT64_C(1785196800000);
  assert_true(webhook_send(f->hook, STR("X-More: 1\r\n"), STR(BODY), on_ended, f));
  assert_int_equal(f->ended, 0);  // never before webhook_send has returned
  advance(&f->w, TIMER_TICK_MS);
  wait_for(&f->w, &f->delivered, 1);
  assert_true(str_eq(r->target, STR("/hook?a=b")));
  assert_true(str_eq(r->body, STR(BODY)));
  assert_true(str_eq(r->type, STR("application/json")));
  assert_true(str_eq(r->more, STR("1")));
  assert_true(str_starts(r->id, STR("msg_")));
  assert_true(str_eq(r->timestamp, STR("1785196800")));
  assert_true(str_eq(r->signature, signature(f, STR(SECRET), r)));
  assert_int_equal(webhook_waiting(f->hook), 0);
}

static void a_secret_with_the_prefix_whsec_is_base64(void **state) {
  struct fixture *f = *state;
  webhook_free(&f->hook);
  struct webhook_options hook = {.loop = &f->w.loop, .secret = STR("whsec_AAECAwQFBgcICQoLDA0ODw==")};
  hook.url = arena_printf(&f->arena, "http://127.0.0.1:%u/", f->w.port);
  f->hook = webhook_new(&hook);
  sends(f);
  wait_for(&f->w, &f->delivered, 1);
  str key = {"\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16};
  assert_true(str_eq(f->requests[0].signature, signature(f, key, &f->requests[0])));
}

static void a_message_that_fails_is_sent_again_with_the_same_id(void **state) {
  struct fixture *f = *state;
  f->statuses[0] = 503;
  f->statuses[1] = 429;
  sends(f);
  wait_for(&f->w, &f->asked, 1);
  advance(&f->w, 500);  // the shortest delay is 750 ms
  assert_int_equal(f->asked, 1);
  wait_asked(f, 3);
  wait_for(&f->w, &f->delivered, 1);
  for (int i = 1; i < 3; i++) {
    struct seen *r = &f->requests[i];
    assert_true(str_eq(r->id, f->requests[0].id));
    assert_false(str_eq(r->timestamp, f->requests[i - 1].timestamp));
    assert_true(str_eq(r->signature, signature(f, STR(SECRET), r)));
  }
}

static void a_message_fails_finally_after_the_last_attempt(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < MOST_REQUESTS; i++) f->statuses[i] = 500;
  sends(f);
  wait_asked(f, WEBHOOK_ATTEMPTS);
  wait_for(&f->w, &f->failed, 1);
  assert_string_equal(f->why, "the receiver answered with HTTP 500");
  for (int i = 0; i < 10; i++) advance(&f->w, LONGEST_DELAY_MS);
  assert_int_equal(f->asked, WEBHOOK_ATTEMPTS);
  assert_int_equal(f->ended, 1);
}

static void a_redirect_is_not_followed_and_a_rejected_message_is_not_sent_again(void **state) {
  static const int statuses[] = {301, 302, 307, 308, 400, 401, 404, 410};
  struct fixture *f = *state;
  f->headers = "Location: /elsewhere\r\n";
  for (int i = 0; i < (int)(sizeof statuses / sizeof *statuses); i++) {
    f->statuses[i] = statuses[i];
    sends(f);
    wait_for(&f->w, &f->failed, i + 1);
    for (int k = 0; k < 5; k++) advance(&f->w, LONGEST_DELAY_MS);
    assert_int_equal(f->asked, i + 1);
    assert_true(str_eq(f->requests[i].target, STR("/hook?a=b")));
  }
}

static void a_message_without_a_response_is_sent_again(void **state) {
  struct fixture *f = *state;
  f->statuses[0] = -1;
  sends(f);
  wait_for(&f->w, &f->asked, 1);
  advance(&f->w, WEBHOOK_MS - 1000);
  assert_int_equal(f->asked, 1);
  wait_asked(f, 2);
  wait_for(&f->w, &f->delivered, 1);
}

static void a_message_that_waits_does_not_delay_others(void **state) {
  struct fixture *f = *state;
  f->statuses[0] = 503;
  sends(f);
  wait_for(&f->w, &f->asked, 1);
  sends(f);
  wait_for(&f->w, &f->delivered, 1);
  assert_false(str_eq(f->requests[0].id, f->requests[1].id));
  wait_asked(f, 3);
  wait_for(&f->w, &f->delivered, 2);
  assert_true(str_eq(f->requests[0].id, f->requests[2].id));
}

static void messages_and_their_size_are_limited(void **state) {
  struct fixture *f = *state;
  str large = arena_printf(&f->arena, "%*s", WEBHOOK_BYTES + 1, "");
  assert_false(webhook_send(f->hook, STR(""), large, on_ended, f));
  assert_false(webhook_send(f->hook, (str){large.p, WEBHOOK_HEADERS + 1}, STR(BODY), on_ended, f));
  for (int i = 0; i < WEBHOOK_QUEUE; i++) assert_true(webhook_send(f->hook, STR(""), STR(BODY), on_ended, f));
  assert_false(webhook_send(f->hook, STR(""), STR(BODY), on_ended, f));
  assert_int_equal(f->ended, 0);
  advance(&f->w, TIMER_TICK_MS);
  wait_for(&f->w, &f->delivered, WEBHOOK_QUEUE);
  assert_true(webhook_send(f->hook, STR(""), large.p ? (str){large.p, WEBHOOK_BYTES} : large, on_ended, f));
  advance(&f->w, TIMER_TICK_MS);
  wait_for(&f->w, &f->delivered, WEBHOOK_QUEUE + 1);
}

static void the_end_of_a_webhook_ends_its_messages(void **state) {
  struct fixture *f = *state;
  f->statuses[0] = 503;
  f->statuses[1] = -1;
  sends(f);
  wait_for(&f->w, &f->asked, 1);
  sends(f);
  wait_for(&f->w, &f->asked, 2);
  assert_true(webhook_send(f->hook, STR(""), STR(BODY), on_ended, f));
  assert_int_equal(webhook_waiting(f->hook), 3);
  webhook_free(&f->hook);
  assert_int_equal(f->failed, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_message_is_a_signed_post_request),
      TEST(a_secret_with_the_prefix_whsec_is_base64),
      TEST(a_message_that_fails_is_sent_again_with_the_same_id),
      TEST(a_message_fails_finally_after_the_last_attempt),
      TEST(a_redirect_is_not_followed_and_a_rejected_message_is_not_sent_again),
      TEST(a_message_without_a_response_is_sent_again),
      TEST(a_message_that_waits_does_not_delay_others),
      TEST(messages_and_their_size_are_limited),
      TEST(the_end_of_a_webhook_ends_its_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

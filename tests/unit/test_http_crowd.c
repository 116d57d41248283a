// SPDX-License-Identifier: Apache-2.0
// io/http_server: more connections than there is room for, and connections that stand still.
#include "http_front.h"

// Trusts requests for /trusted, holds requests for /hold, and answers /trusted/large with more than a socket takes.
static void trust_or_hold(struct front *f, struct http_exchange *x) {
  static char large[MAX_QUEUED - 1024];
  if (str_starts(x->head->target, STR("/trusted"))) http_exchange_trust(x);
  if (str_eq(x->head->target, STR("/hold"))) hold(f, x);
  else if (str_eq(x->head->target, STR("/trusted/large"))) reply_text(x, (str){large, sizeof large});
  else echo(f, x);
}

static bool is_health(void *ctx, const struct http_head *head) {
  return str_eq(head->path, STR("/healthz"));
}

static void front_open_small(struct front *f, size_t connections, size_t per_address) {
  struct http_server_options opt = usual;
  opt.max_connections = connections;
  opt.max_per_address = per_address;
  opt.vital = is_health;
  front_open_with(f, trust_or_hold, &opt);
}

// A connection from 127.0.0.LAST, which the server has accepted.
static void open_from(struct client *c, struct front *f, int last) {
  *c = (struct client){.w = &f->w, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  buf_init(&c->in, CLIENT_MAX);
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(0x7f000000U + (unsigned)last)}};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(f->w.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  assert_int_equal(bind(c->fd, (struct sockaddr *)&from, sizeof from), 0);
  assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof to), 0);
  some_turns(&f->w);
}

static void ask(struct client *c, const char *path) {
  char text[128];
  snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
  client_says(c, text);
}

static void ask_and_get(struct client *c, const char *path) {
  char want[128];
  ask(c, path);
  snprintf(want, sizeof want, "GET %s ", path);
  expect_text(c, want);
}

static void a_silent_connection_has_the_time_of_a_head_from_its_accept_on(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client silent, slow;
  client_open(&silent, &f.w);
  client_open(&slow, &f.w);
  wait_connections(&f.w, 2);
  advance(&f.w, HEAD_MS - 100);
  client_says(&slow, "GET / HTTP/1.1\r\n");
  advance(&f.w, 200);
  expect_end(&silent);
  expect_end(&slow);
  client_close(&silent);
  client_close(&slow);
  front_close(&f);
}

static void a_new_connection_takes_the_place_of_the_oldest_stranger(void **state) {
  struct front f;
  struct client trusted, silent, dripping, next, last;
  front_open_small(&f, 3, 0);
  client_open(&trusted, &f.w);
  ask_and_get(&trusted, "/trusted");
  open_from(&silent, &f, 1);
  open_from(&dripping, &f, 1);
  client_says(&dripping, "GET / HT");
  open_from(&next, &f, 1);
  expect_end(&silent);
  expect_silence(&dripping);
  open_from(&last, &f, 1);
  expect_end(&dripping);
  ask_and_get(&next, "/next");
  ask_and_get(&last, "/last");
  ask_and_get(&trusted, "/trusted");
  assert_int_equal(http_server_connections(f.w.server), 3);
  struct client *all[] = {&trusted, &silent, &dripping, &next, &last};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) client_close(all[i]);
  front_close(&f);
}

static bool knows_trusted(void *ctx, const struct http_head *head, str *out_principal) {
  if (str_eq(head->path, STR("/trusted"))) *out_principal = STR("somebody");
  return true;
}

static void strangers_do_not_end_the_upload_of_a_client_that_is_known(void **state) {
  struct front f;
  struct client upload, strangers[4];
  struct http_server_options opt = usual;
  opt.max_connections = 2;
  opt.admit = knows_trusted;
  front_open_with(&f, echo, &opt);
  open_from(&upload, &f, 1);
  client_says(&upload, "POST /trusted HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
  some_turns(&f.w);
  for (int i = 0; i < 4; i++) open_from(&strangers[i], &f, 1);
  client_says(&upload, "cd");
  expect_text(&upload, "POST /trusted abcd");
  client_close(&upload);
  for (int i = 0; i < 4; i++) client_close(&strangers[i]);
  front_close(&f);
}

static void an_idle_connection_goes_before_one_that_sends_a_request(void **state) {
  struct front f;
  struct client sends, idle, next;
  front_open_small(&f, 2, 0);
  open_from(&sends, &f, 1);
  open_from(&idle, &f, 1);
  ask_and_get(&sends, "/trusted");
  ask_and_get(&idle, "/trusted");
  client_says(&sends, "GET /trusted HTTP/1.1\r\n");
  some_turns(&f.w);
  open_from(&next, &f, 1);
  expect_end(&idle);
  client_says(&sends, "Host: h\r\n\r\n");
  expect_text(&sends, "GET /trusted ");
  ask_and_get(&next, "/next");
  client_close(&sends);
  client_close(&idle);
  client_close(&next);
  front_close(&f);
}

static void an_idle_connection_goes_before_one_that_reads_its_answer(void **state) {
  struct front f;
  struct client reads, idle, next;
  front_open_small(&f, 2, 0);
  client_open_narrow(&reads, &f.w, 4096);
  open_from(&idle, &f, 1);
  ask(&reads, "/trusted/large");
  wait_for(&f.w, &f.requests, 1);
  ask_and_get(&idle, "/trusted");
  open_from(&next, &f, 1);
  expect_end(&idle);
  ask_and_get(&next, "/next");
  client_close(&reads);
  client_close(&idle);
  client_close(&next);
  front_close(&f);
}

static size_t most_unread;

// Notes how many bytes of former answers the client has not read.
static void measure_unread(struct front *f, struct http_exchange *x) {
  size_t unread = http_stream_queued(x);
  if (unread > most_unread) most_unread = unread;
  answer_with_text(f, x);
}

static void unread_answers_of_one_connection_are_bounded(void **state) {
  enum { BOUND = 65536 };
  static char large[32768];
  struct front f;
  struct client c;
  front_open(&f, measure_unread);
  memset(large, 'x', sizeof large);
  f.text = (str){large, sizeof large};
  most_unread = 0;
  client_open_narrow(&c, &f.w, 4096);
  for (int i = 0; i < 1000; i++) client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  for (int before = -1; before != f.requests;) {
    before = f.requests;
    some_turns(&f.w);
  }
  assert_in_range(most_unread, 1, BOUND);
  assert_in_range(f.requests, 1, 999);
  client_close(&c);
  front_close(&f);
}

static void without_strangers_the_longest_idle_connection_goes(void **state) {
  struct front f;
  struct client a, b, c;
  front_open_small(&f, 2, 0);
  open_from(&a, &f, 1);
  open_from(&b, &f, 1);
  ask_and_get(&a, "/trusted");
  ask_and_get(&b, "/trusted");
  ask_and_get(&a, "/trusted");
  open_from(&c, &f, 1);
  expect_end(&b);
  ask_and_get(&a, "/trusted");
  ask_and_get(&c, "/c");
  client_close(&a);
  client_close(&b);
  client_close(&c);
  front_close(&f);
}

static void only_health_is_served_while_every_connection_has_a_request_under_way(void **state) {
  struct front f;
  struct client busy[2], health, other, late;
  front_open_small(&f, 2, 0);
  for (int i = 0; i < 2; i++) {
    open_from(&busy[i], &f, 1);
    ask(&busy[i], "/hold");
  }
  wait_for(&f.w, &f.held_count, 2);
  open_from(&health, &f, 1);
  ask(&health, "/healthz");
  expect_last_text(&health, "GET /healthz ");
  client_close(&health);
  open_from(&other, &f, 1);
  ask(&other, "/other");
  expect_refusal(&other, 503);
  client_close(&other);
  // A connection that came too early is served when there is a place by then.
  open_from(&late, &f, 1);
  http_reply(f.held[0], 200, STR("Connection: close\r\n"), STR_NONE, STR_NONE);
  client_close(&busy[0]);
  wait_connections(&f.w, 2);
  ask_and_get(&late, "/late");
  http_exchange_drop(f.held[1]);
  client_close(&busy[1]);
  client_close(&late);
  front_close(&f);
}

static void one_address_has_a_limit_of_its_own(void **state) {
  struct front f;
  struct client first, second, third, elsewhere;
  front_open_small(&f, 64, 2);
  open_from(&elsewhere, &f, 2);
  open_from(&first, &f, 1);
  open_from(&second, &f, 1);
  open_from(&third, &f, 1);
  expect_end(&first);
  expect_silence(&elsewhere);
  ask_and_get(&second, "/second");
  ask_and_get(&third, "/third");
  ask_and_get(&elsewhere, "/elsewhere");
  struct client *all[] = {&first, &second, &third, &elsewhere};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) client_close(all[i]);
  front_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_silent_connection_has_the_time_of_a_head_from_its_accept_on),
      cmocka_unit_test(a_new_connection_takes_the_place_of_the_oldest_stranger),
      cmocka_unit_test(strangers_do_not_end_the_upload_of_a_client_that_is_known),
      cmocka_unit_test(an_idle_connection_goes_before_one_that_sends_a_request),
      cmocka_unit_test(an_idle_connection_goes_before_one_that_reads_its_answer),
      cmocka_unit_test(unread_answers_of_one_connection_are_bounded),
      cmocka_unit_test(without_strangers_the_longest_idle_connection_goes),
      cmocka_unit_test(only_health_is_served_while_every_connection_has_a_request_under_way),
      cmocka_unit_test(one_address_has_a_limit_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

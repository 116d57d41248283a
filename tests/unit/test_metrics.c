// SPDX-License-Identifier: Apache-2.0
// What was counted is on the page that Prometheus reads, in its format.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "observe/metrics.h"

static const struct hash_key seed = {1, 2};

struct world {
  struct metrics *m;
  struct buf page;
};

static int setup(void **state) {
  struct world *w = calloc(1, sizeof *w);
  w->m = metrics_new(&seed);
  buf_init(&w->page, 1 << 20);
  *state = w;
  return 0;
}

static int teardown(void **state) {
  struct world *w = *state;
  metrics_free(&w->m);
  buf_done(&w->page);
  free(w);
  return 0;
}

static void assert_line(struct world *w, const char *line) {
  buf_reset(&w->page);
  buf_char(&w->page, '\n');
  metrics_write(w->m, &w->page);
  buf_char(&w->page, '\0');
  char wanted[256];
  snprintf(wanted, sizeof wanted, "\n%s\n", line);
  if (!strstr(w->page.p, wanted)) fail_msg("no line \"%s\" in:%s", line, w->page.p);
}

static void assert_calls(struct world *w, const char *server, const char *outcome, int count) {
  char line[128];
  snprintf(line, sizeof line, "toolgate_calls_total{server=\"%s\",outcome=\"%s\"} %d", server, outcome, count);
  assert_line(w, line);
}

static void assert_no_line(struct world *w, const char *part) {
  buf_reset(&w->page);
  metrics_write(w->m, &w->page);
  buf_char(&w->page, '\0');
  if (strstr(w->page.p, part)) fail_msg("\"%s\" is in: %s", part, w->page.p);
}

static void count(struct world *w, const char *server, enum fault_code code, uint64_t us) {
  struct metrics_call c = {.server = str_of(server), .code = code, .answered = true, .us = us};
  metrics_count_call(w->m, &c);
}

static void calls_are_counted_by_how_they_ended(void **state) {
  struct world *w = *state;
  count(w, "files", FAULT_NONE, 10);
  count(w, "files", FAULT_NONE, 10);
  count(w, "files", FAULT_UPSTREAM_TIMEOUT, 10);
  count(w, "git", FAULT_UPSTREAM_TIMEOUT, 10);
  struct metrics_call failed = {.server = STR("git"), .tool_error = true},
                      known = {.server = STR("git"), .recalled = true};
  metrics_count_call(w->m, &failed);
  metrics_count_call(w->m, &known);
  assert_calls(w, "files", "ok", 2);
  assert_calls(w, "files", "UPSTREAM_TIMEOUT", 1);
  assert_calls(w, "git", "tool_error", 1);
  assert_calls(w, "git", "cached", 1);
  assert_line(w, "toolgate_faults_total{code=\"UPSTREAM_TIMEOUT\"} 2");
  assert_no_line(w, "RATE_LIMITED");
}

static void a_class_of_times_counts_all_that_took_no_longer(void **state) {
  struct world *w = *state;
  count(w, "files", FAULT_NONE, 250);
  count(w, "files", FAULT_NONE, 251);
  count(w, "files", FAULT_NONE, 2000000);
  count(w, "files", FAULT_NONE, 90000000);
  static const struct {
    const char *most;
    int count;
  } classes[] = {{"0.00025", 1}, {"0.0005", 2}, {"1", 2}, {"2.5", 3}, {"60", 3}, {"+Inf", 4}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    char line[128];
    snprintf(line, sizeof line, "toolgate_call_seconds_bucket{server=\"files\",le=\"%s\"} %d", classes[i].most,
             classes[i].count);
    assert_line(w, line);
  }
  assert_line(w, "toolgate_call_seconds_count{server=\"files\"} 4");
  assert_line(w, "toolgate_call_seconds_sum{server=\"files\"} 92.000501");
}

static void a_call_that_got_to_no_server_took_no_servers_time(void **state) {
  struct world *w = *state;
  struct metrics_call c = {.server = STR_NONE, .code = FAULT_HYDRATE_FAILED, .us = 5};
  metrics_count_call(w->m, &c);
  assert_calls(w, "", "HYDRATE_FAILED", 1);
  assert_no_line(w, "toolgate_call_seconds_bucket");
}

static void names_are_escaped(void **state) {
  struct world *w = *state;
  count(w, "a\"b\\c\nd", FAULT_NONE, 1);
  assert_calls(w, "a\\\"b\\\\c\\nd", "ok", 1);
}

static void however_many_names_there_are_the_page_is_bounded(void **state) {
  struct world *w = *state;
  for (int i = 0; i < METRICS_SERVERS + 7; i++) {
    char name[16];
    snprintf(name, sizeof name, "s%d", i);
    struct metrics_call c = {.server = str_of(name)};
    metrics_count_call(w->m, &c);
  }
  assert_calls(w, "(others)", "ok", 7);
}

static void saved_tokens_add_up(void **state) {
  struct world *w = *state;
  assert_line(w, "toolgate_result_tokens_saved_total 0");
  metrics_count_saved(w->m, 1200);
  metrics_count_saved(w->m, 34);
  assert_line(w, "toolgate_result_tokens_saved_total 1234");
}

static void a_server_is_told_by_its_calls_its_errors_and_its_times(void **state) {
  struct world *w = *state;
  for (int i = 0; i < 90; i++) count(w, "s", FAULT_NONE, 900);
  for (int i = 0; i < 10; i++) count(w, "s", FAULT_UPSTREAM_ERROR, 90000);
  struct metrics_tally t = metrics_of(w->m, STR("s")), none = metrics_of(w->m, STR("other"));
  assert_true(t.calls == 100 && t.errors == 10);
  assert_in_range(t.p50_us, 500, 1000);
  assert_in_range(t.p95_us, 50000, 100000);
  assert_true(!none.calls && !none.p50_us);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(calls_are_counted_by_how_they_ended, setup, teardown),
      cmocka_unit_test_setup_teardown(a_class_of_times_counts_all_that_took_no_longer, setup, teardown),
      cmocka_unit_test_setup_teardown(a_call_that_got_to_no_server_took_no_servers_time, setup, teardown),
      cmocka_unit_test_setup_teardown(names_are_escaped, setup, teardown),
      cmocka_unit_test_setup_teardown(however_many_names_there_are_the_page_is_bounded, setup, teardown),
      cmocka_unit_test_setup_teardown(saved_tokens_add_up, setup, teardown),
      cmocka_unit_test_setup_teardown(a_server_is_told_by_its_calls_its_errors_and_its_times, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

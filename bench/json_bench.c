// SPDX-License-Identifier: Apache-2.0
// How long json_parse takes, beside jansson on the same bytes, and how long it takes to check or to skip them without
// nodes: best of several trials.
//   cc -O2 -std=gnu17 -D_GNU_SOURCE -Isrc bench/json_bench.c src/json/*.c src/base/*.c -lcrypto -ljansson
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "json/scan.h"
#include "json/write.h"

// The names that both libraries use are given to ours.
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#define json_string jansson_string
#include <jansson.h>

enum { TRIALS = 15, TRIAL_NS = 10000000, MAX_TEXT = 8 << 20 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void refuse(const char *who, const char *why) {
  fprintf(stderr, "%s refused the text: %s\n", who, why);
  exit(1);
}

static void run_ours(str text) {
  static struct arena arena;  // reused, as a connection reuses its own
  struct fault f;
  if (!json_parse(&arena, text, &json_default_limits, &f)) refuse("toolgate", f.message);
  arena_reset(&arena);
}

static void run_check(str text) {
  struct fault f;
  if (!json_scan_check(text, &json_default_limits, &f)) refuse("the check", f.message);
}

static void run_skip(str text) {
  struct json_scan s = json_scan(text);
  if (!json_scan_skip(&s, json_scan_first(&s))) refuse("the skip", s.what);
}

static void run_jansson(str text) {
  json_error_t e;
  json_t *v = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
  if (!v) refuse("jansson", e.text);
  json_decref(v);
}

static double best_ns(void (*run)(str text), str text) {
  double start = now_ns(), best = 0;
  run(text);
  double once = now_ns() - start;
  int rounds = once >= TRIAL_NS ? 1 : (int)(TRIAL_NS / once) + 1;
  for (int trial = 0; trial < TRIALS; trial++) {
    start = now_ns();
    for (int i = 0; i < rounds; i++) run(text);
    double each = (now_ns() - start) / rounds;
    if (trial == 0 || each < best) best = each;
  }
  return best;
}

static void compare(const char *name, const struct buf *text) {
  double ours = best_ns(run_ours, buf_view(text)), theirs = best_ns(run_jansson, buf_view(text));
  double check = best_ns(run_check, buf_view(text)), skip = best_ns(run_skip, buf_view(text)), n = (double)text->n;
  printf("%-20s %8zu bytes  toolgate %10.0f ns (%5.2f GB/s)  jansson %10.0f ns  ratio %5.1f  check %5.2f GB/s  "
         "skip %5.2f GB/s\n",
         name, text->n, ours, n / ours, theirs, theirs / ours, n / check, n / skip);
}

static void write_call(struct buf *b) {
  buf_str(b, STR("{\"jsonrpc\":\"2.0\",\"id\":4711,\"method\":\"tools/call\",\"params\":{\"name\":\"search_issues\","
                 "\"arguments\":{\"repository\":\"example/toolgate\",\"query\":\"label:bug is:open\",\"limit\":25,"
                 "\"sort\":\"updated\",\"include_closed\":false,\"fields\":[\"title\",\"state\",\"author\"]},"
                 "\"_meta\":{\"progressToken\":\"c0ffee-17\"}}}"));
}

static void write_tools(struct buf *b) {
  struct json_writer w = json_writer(b);
  json_begin_array(&w);
  for (int i = 0; i < 500; i++) {
    char name[32];
    snprintf(name, sizeof name, "issue_tracker_tool_%d", i);
    json_begin_object(&w);
    json_put_key(&w, STR("name")), json_put_str(&w, str_of(name));
    json_put_key(&w, STR("description"));
    json_put_str(&w, STR("Finds the issues of a repository that match a query. Give \"is:open\" to leave out what is "
                         "closed; the answer is cut after `limit` entries, newest first."));
    json_put_key(&w, STR("inputSchema"));
    json_put_raw(&w, STR("{\"type\":\"object\",\"properties\":{\"repository\":{\"type\":\"string\",\"description\":"
                         "\"owner and name\"},\"query\":{\"type\":\"string\",\"minLength\":1},\"limit\":{\"type\":"
                         "\"integer\",\"minimum\":1,\"maximum\":100,\"default\":25}},\"required\":[\"repository\"],"
                         "\"additionalProperties\":false}"));
    json_end_object(&w);
  }
  json_end_array(&w);
}

static void write_rows(struct buf *b) {
  buf_str(b, STR("[\n"));
  for (int i = 0; i < 4000; i++)
    buf_printf(
        b, "%s  {\n    \"id\": %d,\n    \"score\": %d.%03d,\n    \"name\": \"row number %d\",\n    \"ok\": true\n  }",
        i ? ",\n" : "", i, i % 97, i % 1000, i);
  buf_str(b, STR("\n]\n"));
}

static void write_numbers(struct buf *b) {
  struct json_writer w = json_writer(b);
  json_begin_array(&w);
  for (uint64_t i = 0; i < 50000; i++) json_put_u64(&w, i * 2654435761u % 1000003);
  json_end_array(&w);
}

static void write_prose(struct buf *b) {
  struct json_writer w = json_writer(b);
  json_begin_array(&w);
  for (int i = 0; i < 2000; i++)
    json_put_str(&w, STR("A tool answers with text most of the time: some kilobytes of it, in one string,\n"
                         "with line ends and \"quotes\" that are escaped, and everything else as it is."));
  json_end_array(&w);
}

static void write_beyond_ascii(struct buf *b) {
  struct json_writer w = json_writer(b);
  json_begin_array(&w);
  for (int i = 0; i < 2000; i++)
    json_put_str(&w, STR("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440 \u2013 \u65e5\u672c\u8a9e"
                         "\u306e\u30c6\u30ad\u30b9\u30c8 caf\u00e9 \U0001f600"));
  json_end_array(&w);
}

static void write_wide_object(struct buf *b) {
  struct json_writer w = json_writer(b);
  json_begin_object(&w);
  for (int i = 0; i < 5000; i++) {
    char key[32];
    snprintf(key, sizeof key, "/repos/%d/issues", i);
    json_put_key(&w, str_of(key));
    json_put_bool(&w, true);
  }
  json_end_object(&w);
}

int main(void) {
  // Memory that was given back stays mapped: page faults would hide the difference between the parsers.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  static const struct {
    const char *name;
    void (*write)(struct buf *b);
  } texts[] = {{"tools/call request", write_call},
               {"500 tools", write_tools},
               {"indented rows", write_rows},
               {"numbers", write_numbers},
               {"prose", write_prose},
               {"beyond ASCII", write_beyond_ascii},
               {"object of 5000 keys", write_wide_object}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct buf b;
    buf_init(&b, MAX_TEXT);
    texts[i].write(&b);
    compare(texts[i].name, &b);
    buf_done(&b);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// How long views of 50 MB take, and what memory they need besides: the median of several runs of every kind of view
// over every kind of piece. Time is that of the processor, so that others at work on the machine matter less.
//   view_bench [MEGABYTES [PIECE [SELECTOR_OR_PART_OF_ONE...]]]
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "result/text_cut.h"
#include "result/view/view.h"
#include "json/json.h"

enum { RUNS = 9, SELECTORS = 32 };

struct piece {
  const char *name;
  void (*write)(struct buf *b, size_t bytes);
  const char *selectors[SELECTORS];
};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// ---- pieces

static void write_text(struct buf *b, size_t bytes) {
  static const char *const words[] = {"the",    "gateway", "answers", "within",      "a",
                                      "budget", "of",      "tokens",  "and",         "keeps",
                                      "what",   "is",      "left",    "caf\xc3\xa9", "\xd0\xbc\xd0\xb8\xd1\x80"};
  uint32_t x = 1;
  for (size_t i = 0; b->n < bytes; i++) {
    x = x * 1664525 + 1013904223;
    buf_str(b, str_of(words[(x >> 16) % 15]));
    if (i % 17 == 16) buf_str(b, STR(". "));
    else buf_char(b, ' ');
    if (i % 170 == 169) buf_str(b, STR("\n\n"));
  }
  buf_str(b, STR("\nThe needle lies here.\n"));
}

static void write_log(struct buf *b, size_t bytes) {
  for (unsigned i = 0; b->n < bytes; i++)
    buf_printf(b, "2026-05-%02uT%02u:%02u:%02u.%03uZ %s worker-%u request %u took %u ms on /api/v1/items/%u\n",
               1 + i / 50000 % 28, i / 3600 % 24, i / 60 % 60, i % 60, i % 1000, i % 97 ? "INFO" : "ERROR", i % 16, i,
               i * 7 % 1000, i % 5000);
  buf_str(b, STR("2026-05-28T23:59:59.999Z FATAL needle in the last line\n"));
}

static void write_rows(struct buf *b, size_t bytes) {
  buf_char(b, '[');
  for (unsigned i = 0; b->n < bytes; i++)
    buf_printf(b,
               "%s{\"id\":%u,\"name\":\"item number %u\",\"price\":%u.%02u,\"tags\":[\"a\",\"b%u\"],"
               "\"owner\":{\"team\":\"t%u\"}}",
               i ? "," : "", i, i, i % 1000, i % 100, i % 7, i % 12);
  buf_str(b, STR(",{\"id\":-1,\"name\":\"needle\",\"price\":-5,\"tags\":[],\"owner\":null}]"));
}

// As programs write it that want to be read.
static void write_indented(struct buf *b, size_t bytes) {
  buf_str(b, STR("{\n  \"total\": 0,\n  \"items\": [\n"));
  for (unsigned i = 0; b->n < bytes; i++)
    buf_printf(b,
               "    {\n      \"id\": %u,\n      \"created_at\": \"2026-05-%02uT10:00:00Z\",\n      \"title\": \"item "
               "\\\"%u\\\"\",\n      \"labels\": [\n        \"a\",\n        \"b%u\"\n      ],\n      \"author\": "
               "{\n        \"login\": \"user-%u\",\n        \"id\": %u\n      },\n      \"open\": %s\n    },\n",
               i, 1 + i % 28, i, i % 7, i % 1000, i % 1000, i % 3 ? "true" : "false");
  buf_str(b, STR("    {\n      \"id\": -1,\n      \"title\": \"needle\"\n    }\n  ]\n}\n"));
}

static void write_object(struct buf *b, size_t bytes) {
  enum { LEVELS = 100 };
  for (unsigned level = 0; level < LEVELS; level++) {
    buf_printf(b, "{\"level\":%u,\"items\":{", level);
    for (unsigned i = 0; b->n < (level + 1) * (bytes / LEVELS); i++)
      buf_printf(b, "%s\"key %u\":{\"text\":\"some text of \\\"item\\\" %u\",\"list\":[1,2,3,null,true]}", i ? "," : "",
                 i, i);
    buf_str(b, level + 1 < LEVELS ? STR("},\"next\":") : STR("},\"needle\":1"));
  }
  for (unsigned level = 0; level < LEVELS; level++) buf_char(b, '}');
}

static void write_csv(struct buf *b, size_t bytes) {
  buf_str(b, STR("id,city,price,amount,state,when\r\n"));
  for (unsigned i = 0; b->n < bytes; i++)
    buf_printf(b, "%u,%s,%u.%02u,%u,%s,2026-05-%02u\r\n", i, i % 31 ? "Berlin" : "\"Frankfurt, Main\"", i % 1000,
               i % 100, i * 7 % 10000, i % 5 ? "open" : "closed", 1 + i % 28);
  buf_str(b, STR("-1,needle,-5,1,open,2027-01-01\r\n"));
}

static void write_line(struct buf *b, size_t bytes) {
  for (unsigned i = 0; b->n < bytes; i++) buf_printf(b, "%u;value \xc3\xa4 %u;", i, i * 3);
  buf_str(b, STR("needle"));
}

#define HEAD "{\"type\":\"head\",\"start\":-1000}"
#define LINES "{\"type\":\"lines\",\"start\":-100}"
#define SEARCH "{\"type\":\"search\",\"query\":\"needle\"}"
#define SEARCH_MANY "{\"type\":\"search\",\"query\":\"gateway request errors of item numbers\"}"

#define PATH(query) "{\"type\":\"path\",\"path\":\"" query "\"}"

static const struct piece pieces[] = {
    {"text",
     write_text,
     {HEAD, LINES, "{\"type\":\"rows\",\"start\":1000,\"end\":2000}", SEARCH, SEARCH_MANY,
      "{\"type\":\"search\",\"query\":\"worker tokens budget keeps left answers\"}"}},
    {"log", write_log, {HEAD, LINES, "{\"type\":\"lines\",\"start\":400000}", SEARCH, SEARCH_MANY}},
    {"JSON rows",
     write_rows,
     {HEAD,
      LINES,
      "{\"type\":\"pointer\",\"pointer\":\"/400000/name\"}",
      "{\"type\":\"pointer\",\"pointer\":\"/9999999\"}",
      PATH("$[*].name"),
      PATH("$[-1]"),
      PATH("$[-5:]"),
      PATH("$[::-1]"),
      PATH("$[*].owner.nothing"),
      PATH("$[?@.price<0].name"),
      PATH("$[?@.name=='x' && @.price>1]"),
      PATH("$[?@.owner.team=='x']"),
      PATH("$[?length(@.tags)>3]"),
      PATH("$[?match(@.name,'needles.*')]"),
      PATH("$[?@.tags[?@=='x']]"),
      PATH("$..nothing"),
      PATH("$..['nothing','none']"),
      PATH("$..price"),
      PATH("$..[?@.price<0]"),
      PATH("$..[?@.owner.team=='x']"),
      SEARCH,
      SEARCH_MANY,
      "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[{\"column\":\"price\",\"op\":\"<\",\"value\":0}]}",
      "{\"type\":\"records\",\"columns\":[\"id\"],\"where\":[{\"column\":\"price\",\"op\":\">\",\"value\":0},"
      "{\"column\":\"owner.team\",\"op\":\"=\",\"value\":\"x\"}]}",
      "{\"type\":\"records\",\"sort\":\"-price\",\"limit\":10}",
      "{\"type\":\"records\",\"sort\":\"-price\",\"start\":60000}",
      "{\"type\":\"stats\",\"column\":\"price\"}",
      "{\"type\":\"stats\",\"column\":\"price\",\"by\":\"owner.team\"}",
      "{\"type\":\"stats\"}"}},
    {"JSON indented",
     write_indented,
     {LINES, PATH("$.items[-1]"), PATH("$.items[?@.author.id<0].title"), PATH("$..[?@.login=='x']"), SEARCH_MANY,
      "{\"type\":\"records\",\"columns\":[\"title\"],\"where\":[{\"column\":\"author.login\",\"op\":\"=\","
      "\"value\":\"x\"}]}",
      "{\"type\":\"stats\",\"column\":\"author.login\"}"}},
    {"JSON object",
     write_object,
     {HEAD, LINES, "{\"type\":\"json_keys\",\"keys\":[\"level\",\"needle\"]}",
      "{\"type\":\"pointer\",\"pointer\":\"/next/next/next/items/key 99/list\"}", PATH("$..needle"),
      PATH("$.items.*.text"), PATH("$..[?@.level>200]"), PATH("$..[?@.text=='x']"), SEARCH, SEARCH_MANY,
      "{\"type\":\"stats\",\"path\":\"$.items\"}"}},
    {"CSV",
     write_csv,
     {HEAD, LINES, SEARCH, SEARCH_MANY,
      "{\"type\":\"records\",\"where\":[{\"column\":\"price\",\"op\":\"<\",\"value\":0}]}",
      "{\"type\":\"records\",\"where\":[{\"column\":\"when\",\"op\":\">\",\"value\":\"2027-02\"}]}",
      "{\"type\":\"records\",\"columns\":[\"id\",\"price\"],\"sort\":\"-price\",\"limit\":10}",
      "{\"type\":\"records\",\"sort\":\"-id\",\"start\":60000}", "{\"type\":\"records\",\"start\":900000}",
      "{\"type\":\"stats\",\"column\":\"price\"}", "{\"type\":\"stats\",\"column\":\"city\",\"by\":\"state\"}",
      "{\"type\":\"stats\"}"}},
    {"one line", write_line, {HEAD, LINES, "{\"type\":\"lines\"}", SEARCH, SEARCH_MANY}},
};

// ---- runs

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static size_t peak_kb(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (size_t)u.ru_maxrss;
}

static void run(str bytes, const char *selector) {
  struct arena a;
  struct fault f = {0};
  struct buf out;
  double took[RUNS];
  bool ok = false;
  arena_init(&a);
  buf_init(&out, 1 << 20);
  const struct json *v = json_parse(&a, str_of(selector), &json_default_limits, &f);
  size_t before = peak_kb();
  for (int i = 0; i < RUNS; i++) {
    buf_reset(&out);
    double start = now_ms();
    ok = view_select(bytes, v, 0, STR("…"), &out, &f);
    took[i] = now_ms() - start;
  }
  qsort(took, RUNS, sizeof *took, compare);
  printf("  %7.2f ms  +%6zu KB  %s%s%s\n", took[RUNS / 2], peak_kb() - before, selector,
         ok ? "" : "  refused: ", ok ? "" : f.message);
  if (getenv("SHOW")) printf("%.*s\n", STR_ARG(buf_view(&out)));
  buf_done(&out);
  arena_done(&a);
}

// Those that hold this.
static void run_all(const struct piece *piece, const char *part, str bytes) {
  for (size_t i = 0; i < SELECTORS && piece->selectors[i]; i++)
    if (strstr(piece->selectors[i], part)) run(bytes, piece->selectors[i]);
}

static void measure(str bytes) {
  double start = now_ms();
  size_t lines = measure_lines(bytes);
  double between = now_ms();
  size_t chars = measure_all_chars(bytes);
  double end = now_ms(), mb = (double)bytes.n / 1e6;
  printf("  %zu lines counted at %.2f GB/s, %zu characters at %.2f GB/s\n", lines, mb / (between - start), chars,
         mb / (end - between));
}

int main(int argc, char **argv) {
  size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    if (argc > 2 && strcmp(argv[2], pieces[i].name) != 0) continue;
    struct buf b;
    buf_init(&b, (megabytes + 2) << 20);
    pieces[i].write(&b, megabytes * 1000000);
    printf("%s, %zu bytes\n", pieces[i].name, b.n);
    measure(buf_view(&b));
    if (argc < 4) run_all(&pieces[i], "", buf_view(&b));
    for (int k = 3; k < argc; k++)
      if (argv[k][0] == '{') run(buf_view(&b), argv[k]);
      else run_all(&pieces[i], argv[k], buf_view(&b));
    buf_done(&b);
  }
  return 0;
}

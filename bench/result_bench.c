// SPDX-License-Identifier: Apache-2.0
// What the firewall costs: for each kind of content and size, the processor time of envelope_make (the parse of the
// message is not in it) and the memory beside the message at its highest.
//
//   result_bench [scrub]              the table; with scrub, of results whose secrets are masked
//   result_bench show FILE [BUDGET]   what an agent gets of a tool's text that is this file
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "result/envelope/envelope.h"
#include "json/write.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static size_t peak_kb(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (size_t)u.ru_maxrss;
}

// ---- what is measured

typedef void put_row(struct buf *b, unsigned i);

static void put_issue(struct buf *b, unsigned i) {
  buf_printf(
      b,
      "%s{\"url\":\"https://api.example.com/repos/acme/tool/issues/%u\",\"id\":%u,\"number\":%u,\"title\":\"Crash "
      "number %u when opening\",\"user\":{\"login\":\"user%u\",\"id\":%u},\"labels\":[{\"name\":\"bug\"}],"
      "\"state\":\"%s\",\"created_at\":\"2024-03-%02uT10:00:00Z\",\"body\":\"It \\\"fails\\\" after step %u.\\n"
      "Then nothing happens for a long while.\"}",
      i ? "," : "[", i, 9000000 + i, i, i, i % 50, i % 50, i % 3 ? "open" : "closed", i % 28 + 1, i);
}

static void put_number(struct buf *b, unsigned i) {
  buf_printf(b, "%s%u", i ? "," : "[", i % 10);
}

static void put_csv(struct buf *b, unsigned i) {
  if (!i) buf_str(b, STR("id,name,amount,when,note\n"));
  buf_printf(b, "%u,\"Customer %u\",%u.%02u,2024-01-%02u,\"said \"\"yes\"\", twice\"\n", i, i % 977, i % 1000, i % 100,
             i % 28 + 1);
}

static void put_log(struct buf *b, unsigned i) {
  static const char *const levels[] = {"INFO", "INFO", "DEBUG", "INFO", "WARN", "ERROR"};
  buf_printf(b, "2024-05-01T%02u:%02u:%02u.%03uZ %s [worker-%u] request %u took %u ms\n", i / 3600 % 24, i / 60 % 60,
             i % 60, i % 1000, levels[i * 7 % 6], i % 8, i, i % 500);
}

static void put_prose(struct buf *b, unsigned i) {
  buf_printf(b, "%sThe %u. of many sentences says little, but it says it well. ", i % 5 ? "" : "\n\n", i);
}

static void put_diff(struct buf *b, unsigned i) {
  if (i % 10 == 0)
    buf_printf(b, "diff --git a/src/f%u.c b/src/f%u.c\n--- a/src/f%u.c\n+++ b/src/f%u.c\n@@ -1,9 +1,9 @@\n", i, i, i,
               i);
  buf_printf(b, i % 10 == 4 ? "-  old %u;\n+  fresh %u;\n" : " int line%u = %u;\n", i, i);
}

static void put_code(struct buf *b, unsigned i) {
  buf_printf(b, "def function_%u(a, b):\n    value = a + b * %u\n    return value\n\n", i, i);
}

static void put_html(struct buf *b, unsigned i) {
  if (!i) buf_str(b, STR("<!DOCTYPE html><html><head><title>A page</title></head><body>"));
  buf_printf(b, "<h2>Part %u</h2><p>Some <a href=\"/x/%u\">text</a> &amp; more of it.</p>\n", i, i);
}

static void put_base64(struct buf *b, unsigned i) {
  buf_printf(b, "%sAAAA%08xQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVph", i ? "" : "iVBORw0KGgoA", i);
}

static void end_array(struct buf *b) {
  buf_char(b, ']');
}

static const struct {
  const char *name;
  put_row *put;
  void (*end)(struct buf *b);
} kinds[] = {{"JSON rows", put_issue, end_array},
             {"JSON numbers", put_number, end_array},
             {"CSV", put_csv, NULL},
             {"log", put_log, NULL},
             {"prose", put_prose, NULL},
             {"diff", put_diff, NULL},
             {"source", put_code, NULL},
             {"HTML", put_html, NULL},
             {"base64", put_base64, NULL}};

// ---- measuring

static const str before_text = STR("{\"content\":[{\"type\":\"text\",\"text\":\""), behind_text = STR("\"}]}");

// Without the quotes around it.
static void put_inside(struct buf *b, str text) {
  size_t at = b->n;
  json_escape(b, text);
  memmove(b->p + at, b->p + at + 1, b->n - at - 2);
  b->n -= 2;
}

// Row by row, so that nothing else of this size was ever in memory.
static size_t fill(struct buf *message, size_t kind, size_t bytes) {
  struct buf row;
  size_t n = 0;
  buf_init(&row, 1 << 20);
  buf_room(message, bytes + bytes / 5 + 4096);
  buf_str(message, before_text);
  for (unsigned i = 0; n < bytes; i++) {
    buf_reset(&row);
    kinds[kind].put(&row, i);
    n += row.n;
    if (n >= bytes && kinds[kind].end) kinds[kind].end(&row);
    put_inside(message, buf_view(&row));
  }
  buf_str(message, behind_text);
  buf_done(&row);
  return n;
}

static bool envelop(str message, size_t budget, bool scrub, struct buf *out) {
  struct arena nodes, scratch;
  struct fault f;
  struct json_limits limits = {.max_bytes = 1 << 30, .max_depth = 128};
  arena_init(&nodes);
  arena_init(&scratch);
  struct json *v = json_parse(&nodes, message, &limits, &f);
  if (!v) return fprintf(stderr, "%s\n", f.message), false;
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  struct store *store = store_new(&opt);
  struct piece_batch *batch = NULL;
  struct envelope_order order = {.result = v, .tool_id = STR("up:tool#12345678"), .owner = STR("me")};
  order.store = store;
  order.batch = &batch;
  order.budget = budget;
  order.scrub = scrub;
  double begin = now_ms();
  envelope_make(&order, &scratch, out);
  double took = now_ms() - begin;
  if (!budget) printf("%.2f", took);
  piece_batch_free(&batch);
  store_close(&store, NULL, NULL);
  arena_done(&scratch);
  arena_done(&nodes);
  return true;
}

// In a process of its own, whose peak is its own.
static void measure(size_t kind, size_t bytes, bool scrub) {
  fflush(stdout);
  pid_t child = fork();
  if (child) {
    waitpid(child, NULL, 0);
    return;
  }
  struct buf message, warm, out;
  buf_init(&message, SIZE_MAX / 4);
  buf_init(&warm, SIZE_MAX / 4);
  buf_init(&out, 64 << 20);
  // The tables of the tokens come into memory with their first use.
  fill(&warm, kind, 100000);
  envelop(buf_view(&warm), 500, scrub, &out);
  buf_done(&warm);
  size_t n = fill(&message, kind, bytes);
  size_t before = peak_kb();
  printf("| %s | %zu | ", kinds[kind].name, n);
  buf_reset(&out);
  envelop(buf_view(&message), 0, scrub, &out);
  size_t grown = peak_kb() - before;
  printf(" | %.2f |\n", (double)grown * 1024 / (double)n);
  fflush(stdout);
  _exit(0);
}

static int show(const char *path, size_t budget) {
  struct buf text, out;
  buf_init(&text, SIZE_MAX / 4);
  buf_init(&out, 64 << 20);
  FILE *f = fopen(path, "rbe");
  if (!f) return perror(path), 1;
  char chunk[65536];
  for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_add(&text, chunk, k);
  fclose(f);
  struct buf message;
  buf_init(&message, SIZE_MAX / 4);
  buf_str(&message, before_text);
  put_inside(&message, buf_view(&text));
  buf_str(&message, behind_text);
  if (!envelop(buf_view(&message), budget, false, &out)) return 1;
  printf("%.*s\n", STR_ARG(buf_view(&out)));
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "show") == 0) return show(argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 500);
  bool scrub = argc > 1 && strcmp(argv[1], "scrub") == 0;
  static const size_t sizes[] = {1000, 100000, 5000000, 50000000};
  printf("| kind | bytes | ms | memory, as a multiple |\n|---|---|---|---|\n");
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) measure(kind, sizes[i], scrub);
  return 0;
}

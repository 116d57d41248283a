// SPDX-License-Identifier: Apache-2.0
// How long tokens_count and tokens_encode take for the text of a file: the best run, in nanoseconds of the processor.
// bench/tokens.mjs runs it beside tiktoken.
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "text/tokens.h"

enum { MAX_TEXT = 64 << 20, TRIAL_NS = 50000000 };

struct work {
  str text;
  uint32_t *ids;
  size_t count;
};

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t run_count(const struct work *w) {
  return tokens_count(w->text);
}

static size_t run_encode(const struct work *w) {
  return tokens_encode(w->text, w->ids, w->count);
}

// The best of all runs that fit into the trial.
static double best_ns(size_t (*run)(const struct work *w), const struct work *w) {
  double best = 1e18;
  for (double begin = now_ns(), start = begin; start - begin < TRIAL_NS;) {
    if (run(w) != w->count) return -1;
    double end = now_ns();
    if (end - start < best) best = end - start;
    start = end;
  }
  return best;
}

static bool read_file(const char *path, struct buf *out) {
  FILE *f = fopen(path, "rbe");
  if (!f) return false;
  char chunk[1 << 16];
  for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_add(out, chunk, k);
  bool ok = !ferror(f) && !out->over;
  fclose(f);
  return ok;
}

int main(int argc, char **argv) {
  struct buf text;
  buf_init(&text, MAX_TEXT);
  if (argc != 2 || !read_file(argv[1], &text)) {
    fputs("usage: tokens_bench FILE\n", stderr);
    return 2;
  }
  struct work w = {buf_view(&text), NULL, tokens_count(buf_view(&text))};
  w.ids = mem_alloc(w.count * sizeof *w.ids);
  printf("{\"tokens\":%zu,\"count_ns\":%.0f,\"encode_ns\":%.0f}\n", w.count, best_ns(run_count, &w),
         best_ns(run_encode, &w));
  mem_free(w.ids);
  buf_done(&text);
  return 0;
}

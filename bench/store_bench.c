// SPDX-License-Identifier: Apache-2.0
// How long it takes until a piece of a result is durable, and how many a second become so when several wait at once.
//
//   store_bench FOLDER      on whose disk it is measured; what is written there is removed
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/pieces.h"

enum { MOST = 256, LARGE = 1 << 20 };

struct bench {
  struct loop loop;
  struct store *store;
  char *bytes;
  size_t size;
  int ordered, total, done;
  double *took;
};

struct put {
  struct store_wait wait;
  struct bench *b;
  double began;
};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_ms(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void order(struct put *p);

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct put *p = CONTAINER_OF(w, struct put, wait);
  if (kept != STORE_KEPT) exit(1);
  p->b->took[p->b->done++] = now_ms() - p->began;
  if (p->b->ordered < p->b->total) order(p);
}

// Each has other bytes, so that nothing is there already.
static void order(struct put *p) {
  struct bench *b = p->b;
  char handle[32];
  snprintf(handle, sizeof handle, "piece %d of %zu", b->ordered, b->size);
  memcpy(b->bytes, &b->ordered, sizeof b->ordered);
  struct store_piece piece = {.handle = str_of(handle), .tool_id = STR("a:b#00000000"), .bytes = {b->bytes, b->size}};
  hash_sha256(piece.bytes, piece.hash);
  struct piece_batch *batch =
      piece_batch_new(b->store, STR("owner"), (struct piece_origin){STR("server"), STR("tool")});
  piece_batch_add(batch, &piece, NULL);
  b->ordered++;
  store_wait_init(&p->wait, on_stored);
  p->began = now_ms();
  pieces_put(b->store, &batch, &p->wait);
}

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void measure(struct bench *b, size_t size, int at_once, int total) {
  struct put puts[MOST];
  static int begun;
  b->size = size;
  b->done = 0;
  b->total = begun + total;
  b->ordered = begun;
  b->took = mem_alloc(sizeof *b->took * (size_t)total);
  double from = now_ms(), cpu = cpu_ms();
  for (int i = 0; i < at_once; i++) {
    puts[i] = (struct put){.b = b};
    order(&puts[i]);
  }
  while (b->done < total) uv_run(&b->loop.uv, UV_RUN_ONCE);
  double ms = now_ms() - from;
  begun += total;
  qsort(b->took, (size_t)total, sizeof *b->took, by_time);
  cpu = cpu_ms() - cpu;
  printf("store_bench: %7zu bytes, %3d at once: %7.0f puts/s, until durable %6.2f ms (median), %6.2f ms (p99), ", size,
         at_once, total / ms * 1e3, b->took[total / 2], b->took[total * 99 / 100]);
  printf("%.0f us of processor each\n", cpu * 1e3 / total);
  mem_free(b->took);
}

static void find_often(struct bench *b, const char *handle, const char *what) {
  enum { TURNS = 20000 };
  double from = now_ms();
  for (int i = 0; i < TURNS; i++) {
    struct piece_find f = {.read = {.done = NULL}};
    pieces_find(b->store, STR("owner"), str_of(handle), &f);
    while (!f.read.over) uv_run(&b->loop.uv, UV_RUN_ONCE);
    if (!f.read.ok) exit(1);
    found_piece_release(&f.found);
  }
  printf("store_bench: finding %s: %.1f us\n", what, (now_ms() - from) * 1e3 / TURNS);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  static struct bench b;
  struct log log = {STDERR_FILENO, LOG_WARN, &clock_system};
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/store-bench-XXXXXX", argv[1]);
  if (!mkdtemp(folder)) return 3;
  loop_init(&b.loop, &log, &clock_system, &rand_system);
  struct store_options opt = {&b.loop, &log, &clock_system, &rand_system, str_of(folder), store_default_limits, NULL};
  b.store = store_new(&opt);
  b.bytes = mem_zero(LARGE);
  measure(&b, 2000, 1, 300);
  find_often(&b, "piece 7 of 2000", "2000 bytes");
  measure(&b, 2000, 16, 3000);
  measure(&b, 2000, 64, 6000);
  measure(&b, 2000, 256, 10000);
  measure(&b, 60000, 16, 1000);
  measure(&b, LARGE, 1, 50);
  measure(&b, LARGE, 16, 200);
  store_close(&b.store, NULL, NULL);
  loop_run(&b.loop);
  loop_done(&b.loop);
  mem_free(b.bytes);
  return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) ? 1 : 0;
}

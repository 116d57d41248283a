// SPDX-License-Identifier: Apache-2.0
// What a large result takes in memory, from the message to what is kept of it: every byte that is allocated is counted,
// by hooks that the address sanitizer offers. Without it there is nothing to count with, and the tests are skipped.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "result/envelope/envelope.h"
#include "rpc/large_message.h"
#include "json/write.h"

#ifdef __SANITIZE_ADDRESS__
// Of its runtime; not every compiler comes with the header.
size_t __sanitizer_get_allocated_size(const volatile void *p);
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *p, size_t n),
                                              void (*freed)(const volatile void *p));

enum { BYTES = 12 << 20 };

static atomic_size_t used, peak;

static void on_malloc(const volatile void *p, size_t n) {
  size_t now = atomic_fetch_add(&used, n) + n, most = atomic_load(&peak);
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
}

static void on_free(const volatile void *p) {
  if (p) atomic_fetch_sub(&used, __sanitizer_get_allocated_size(p));
}

static size_t start_counting(void) {
  size_t now = atomic_load(&used);
  atomic_store(&peak, now);
  return now;
}

// ---- messages

static const struct kind {
  const char *name;
  const char *before, *each, *between, *after;  // the result: before, each, between, each, …, after
} kinds[] = {
    {"text", "\"content\":[{\"type\":\"text\",\"text\":\"", "nobody came to see what had been left", " ", "\"}]"},
    {"lines", "\"content\":[{\"type\":\"text\",\"text\":\"", "INFO the step is done", "\\n", "\"}]"},
    {"escapes", "\"content\":[{\"type\":\"text\",\"text\":\"[", "{\\\"id\\\":1,\\\"name\\\":\\\"x\\\"}", ",", "]\"}]"},
    {"rows", "\"content\":[],\"structuredContent\":{\"rows\":[", "{\"id\":1,\"name\":\"item\"}", ",", "]}"},
    {"numbers", "\"content\":[],\"structuredContent\":{\"numbers\":[", "7", ",", "]}"},
    {"nested", "\"content\":[],\"structuredContent\":{\"deep\":[", "[[[[]]]]", ",", "]}"},
    {"image", "\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"", "AAAA", "", "\"}]"},
    {"blob", "\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"blob\":\"", "AAAA", "",
     "\"}}]"},
    {"parts", "\"content\":[", "{\"type\":\"text\",\"text\":\"one of very many\"}", ",", "]"},
    {"empty parts", "\"content\":[", "{}", ",", "]"},
    {"words", "\"content\":[", "\"x\"", ",", "]"},
    {"links", "\"content\":[", "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\"}", ",", "]"},
    {"small images", "\"content\":[", "{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}", ",", "]"},
};

static void write_message(const struct kind *k, struct buf *out) {
  buf_room(out, BYTES + 4096);  // as large as it gets from the beginning: it is not what is measured
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{"));
  buf_str(out, str_of(k->before));
  for (bool first = true; out->n < BYTES; first = false) {
    if (!first) buf_str(out, str_of(k->between));
    buf_str(out, str_of(k->each));
  }
  buf_str(out, str_of(k->after));
  buf_str(out, STR("}}"));
}

// ---- the way of a result

struct desk {
  struct loop loop;
  struct store *store;
};

static void on_opened(void *ctx, struct large_message *p) {
}

// The message, as its connection hands it over, until what is kept of it has been given to the store.
static void digest(struct desk *d, const struct kind *k, size_t *out_size, size_t *out_peak) {
  size_t before = start_counting();
  struct buf memory, told;
  struct arena arena;
  struct piece_batch *batch = NULL;
  buf_init(&memory, 64 << 20);
  buf_init(&told, 64 << 20);
  arena_init(&arena);
  write_message(k, &memory);
  *out_size = memory.n;
  struct large_message *p = large_message_new(&d->loop, &memory, buf_view(&memory), 7, 64 << 20);
  large_message_open(p, on_opened, NULL);
  loop_run(&d->loop);
  if (!p->good) fail_msg("%s: %s", k->name, p->fault.message);
  struct envelope_order order = {.result = p->message.result, .tool_id = STR("a:b"), .owner = STR("alice")};
  order.store = d->store;
  order.batch = &batch;
  assert_false(envelope_make(&order, &arena, &told));
  assert_true(batch && piece_batch_count(batch) > 0);
  assert_true(told.n < 32768);
  bool many_parts = str_eq(str_of(k->before), STR("\"content\":["));
  if (many_parts && !memmem(told.p, told.n, "JSON array of ", 14)) fail_msg("%.*s", STR_ARG(buf_view(&told)));
  *out_peak = atomic_load(&peak) - before;
  piece_batch_free(&batch);
  large_message_unref(&p);
  arena_done(&arena);
  buf_done(&told);
}

static void desk_open(struct desk *d) {
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  loop_init(&d->loop, NULL, &clock_system, &rand_system);
  d->store = store_new(&opt);
}

static void desk_close(struct desk *d) {
  store_close(&d->store, NULL, NULL);
  loop_done(&d->loop);
}

static void a_large_result_takes_at_most_two_and_a_half_times_its_size(void **state) {
  struct desk d;
  desk_open(&d);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t size, most;
    digest(&d, &kinds[i], &size, &most);
    print_message("# %s: %.2f times its size\n", kinds[i].name, (double)most / (double)size);
    if (most > size / 2 * 5) fail_msg("%s takes %zu bytes for %zu", kinds[i].name, most, size);
  }
  desk_close(&d);
}

static void the_same_result_again_and_again_leaves_nothing_behind(void **state) {
  struct desk d;
  size_t size, most;
  desk_open(&d);
  digest(&d, &kinds[1], &size, &most);
  size_t before = atomic_load(&used);
  for (int i = 0; i < 5; i++) digest(&d, &kinds[1], &size, &most);
  assert_true(atomic_load(&used) <= before);
  desk_close(&d);
}

int main(void) {
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_large_result_takes_at_most_two_and_a_half_times_its_size),
      cmocka_unit_test(the_same_result_again_and_again_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
  puts("1..0 # SKIP memory is counted with the address sanitizer");
  return 0;
}
#endif

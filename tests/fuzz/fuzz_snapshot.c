// SPDX-License-Identifier: Apache-2.0
// A file in place of a server: whatever is in it, it is read or refused with a reason, and what is read are objects.
#include "base/assert.h"
#include "base/mem.h"
#include "upstream/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_MAX = 1 << 16 };

struct reports {
  size_t fatal;
};

static void on_report(void *ctx, bool fatal, str pointer, const char *message) {
  struct reports *r = ctx;
  ASSERT(message[0] && (!pointer.n || pointer.p[0] == '/'));
  r->fatal += fatal;
}

static void check_entry(const struct snapshot *s, const struct snapshot_entry *e) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  ASSERT(e->text.n <= s->file.n && json_is(json_parse(&a, e->text, &json_default_limits, &f), JSON_OBJECT));
  arena_done(&a);
}

static void check(const struct snapshot *s) {
  size_t total = 0;
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    total += s->count[kind];
    for (size_t i = 0; i < s->count[kind]; i++) {
      const struct snapshot_entry *e = &s->entries[kind][i];
      check_entry(s, e);
      ASSERT(e->name.n && map_find(&s->by_name[kind], e->name));
    }
    const struct snapshot_entry *reply;
    for (size_t at = 0; (reply = map_next(&s->replies[kind], &at));) check_entry(s, reply);
  }
  ASSERT(total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const struct hash_key seed = {1, 2};
  struct reports reports = {0};
  struct buf file;
  if (n > INPUT_MAX) return 0;
  buf_init(&file, KIND_FILE_MAX);
  buf_add(&file, data, n);
  struct snapshot *s = snapshot_new(&file, &seed, on_report, &reports);
  ASSERT(!s == (reports.fatal > 0) && !file.p);
  if (s) check(s);
  snapshot_free(&s);
  return 0;
}

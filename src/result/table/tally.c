// SPDX-License-Identifier: Apache-2.0
#include "result/table/tally.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/word.h"

// The hash table has four slots for each value, so that searches are short. A value whose first PROBES slots are taken
// is treated like a value beyond the limit.
enum { SLOTS = 4 * TALLY_VALUES, PROBES = 32 };

void tally_init(struct tally *t) {
  *t = (struct tally){.values = mem_alloc(TALLY_VALUES * sizeof *t->values),
                      .slots = mem_zero(SLOTS * sizeof *t->slots)};
}

void tally_done(struct tally *t) {
  mem_free(t->values);
  mem_free(t->slots);
}

// Hashes the value of a cell. An attacker may choose values with equal hashes; such values are treated as beyond the
// limit, so they cost little time.
static uint64_t hash_cell(str s) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t h = s.n * odd;
  for (size_t i = 0; i < s.n && i < 256; i += 8) h = ((h ^ word_of(s.p + i, s.n - i)) * odd) ^ h >> 29;
  h = (h ^ h >> 32) * odd;
  return h ^ h >> 29;
}

// Returns whether an entry has this value. If both values have the same length of at most eight bytes, equal hashes
// mean equal values, so the bytes are not compared.
static inline bool is_value(const struct tally_value *v, str raw, uint64_t hash) {
  return v->hash == hash && v->cell.raw.n == raw.n && (raw.n <= 8 || memcmp(v->cell.raw.p, raw.p, raw.n) == 0);
}

struct tally_value *tally_value(struct tally *t, const struct cell *c) {
  uint64_t hash = hash_cell(c->raw);
  for (unsigned probe = 0; probe < PROBES; probe++) {
    uint32_t *slot = &t->slots[(hash + probe) % SLOTS];
    if (!*slot && t->distinct == TALLY_VALUES) break;
    if (!*slot) {
      *slot = (uint32_t)++t->distinct;
      t->values[*slot - 1] = (struct tally_value){.cell = *c, .hash = hash};
      return &t->values[*slot - 1];
    }
    struct tally_value *v = &t->values[*slot - 1];
    if (is_value(v, c->raw, hash)) return v;
  }
  t->more = true;
  return NULL;
}

static void add_number(struct tally *t, double x) {
  if (!t->numbers || x < t->min) t->min = x;
  if (!t->numbers || x > t->max) t->max = x;
  t->sum += x;
  t->numbers++;
}

static void add_text(struct tally *t, const struct cell *c, struct arena *a) {
  if (t->least.kind == CELL_NONE) {
    t->least = t->most = *c;
    return;
  }
  str text = cell_text(c, a);
  if (str_cmp(text, cell_text(&t->least, a)) < 0) t->least = *c;
  if (str_cmp(text, cell_text(&t->most, a)) > 0) t->most = *c;
}

// Adds a cell. A value that was added before is not parsed again, and its text is not compared with the minimum and
// maximum.
void tally_add(struct tally *t, const struct cell *c, struct arena *scratch) {
  double number = 0;
  t->count++;
  ASSERT(t->nulls + t->numbers < t->count);
  if (c->kind == CELL_NONE) {
    t->nulls++;
    return;
  }
  struct tally_value *v = tally_value(t, c);
  ASSERT(t->distinct <= TALLY_VALUES);
  if (v && v->count++) {
    if (v->is_number) add_number(t, v->number);
    return;
  }
  bool is_number = cell_number(c, &number);
  if (v) v->number = number, v->is_number = is_number;
  if (is_number) add_number(t, number);
  else add_text(t, c, scratch);
}

size_t tally_top(const struct tally *t, const struct tally_value **out, size_t max) {
  size_t n = 0;
  ASSERT(t->distinct <= TALLY_VALUES);
  for (size_t i = 0; i < t->distinct; i++) {
    size_t at = n < max ? n++ : max;
    while (at && out[at - 1]->count < t->values[i].count) {
      if (at < max) out[at] = out[at - 1];
      at--;
    }
    if (at < max) out[at] = &t->values[i];
  }
  ASSERT(n <= max && n <= t->distinct);
  return n;
}

// SPDX-License-Identifier: Apache-2.0
// Records findings in pins: suspicious texts in definitions, and tools with similar names.
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/text/visible.h"
#include "catalog/pins/pins_impl.h"

enum {
  WHY_BYTES = 1024,
  COMPARISONS = 5000000,     // maximum pairs of names that one call compares
  RUN_PAIRS = 1000000,       // maximum pairs of names with the same beginning of two servers
  FIRST_USE_MS = 10 * 60000  // pins accepted within this time of each other count as equally old
};

static void set(struct pin *pin, enum pin_finding finding, str why) {
  uint8_t bit = (uint8_t)(1u << finding);
  if (!pin->why[finding].p || !str_eq(pin->why[finding], why)) {
    pin->reviewed &= (uint8_t)~bit;
    pin_set(&pin->why[finding], why);
  }
  pin->findings |= bit;
}

static void clear(struct pin *pin, enum pin_finding finding) {
  pin->findings &= (uint8_t) ~(1u << finding);
}

// ---- texts

static bool find_hidden(const struct definition *d, struct arena *a, struct buf *why) {
  struct fault f;
  if (visible_has_hidden(d->name)) {
    visible_put(d->name, why);
    return true;
  }
  const struct json *raw = d->raw.p ? json_parse(a, d->raw, &json_default_limits, &f) : NULL;
  return raw && scan_hidden(raw, why);
}

// A definition from the cache (upstream/definition_cache.h) no longer has its hidden characters. So the finding
// PIN_HIDDEN stays as long as the definition is the same.
void pins_scan(struct pin *pin, const struct definition *d, bool fresh) {
  struct arena a;
  struct buf why;
  struct fault f;
  arena_init(&a);
  buf_init(&why, WHY_BYTES);
  if (find_hidden(d, &a, &why)) set(pin, PIN_HIDDEN, buf_view(&why));
  else if (fresh) clear(pin, PIN_HIDDEN);
  buf_reset(&why);
  const struct json *v = json_parse(&a, d->text, &json_default_limits, &f);
  if (v && scan_instruction(v, &why)) set(pin, PIN_INSTRUCTION, buf_view(&why));
  else clear(pin, PIN_INSTRUCTION);
  buf_done(&why);
  arena_done(&a);
}

// ---- names

struct named {
  struct pin *pin;
  str skeleton;
  // The run of the tool: the tools of the same server whose skeletons have the same beginning and length.
  size_t run_end, run_size;
};

// The beginning of a skeleton, which similar skeletons share (scan_similar).
static str start_of(const struct named *n) {
  return (str){n->skeleton.p, n->skeleton.n < SCAN_SAME_PREFIX ? n->skeleton.n : SCAN_SAME_PREFIX};
}

static int compare_sizes(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int compare(const void *x, const void *y) {
  const struct named *a = x, *b = y;
  int order = str_cmp(start_of(a), start_of(b));
  if (!order) order = compare_sizes(a->skeleton.n, b->skeleton.n);
  if (!order) order = compare_sizes(a->pin->server->order, b->pin->server->order);
  if (!order) order = str_cmp(a->pin->server->name, b->pin->server->name);
  if (!order) order = str_cmp(a->skeleton, b->skeleton);
  return order ? order : str_cmp(a->pin->tool, b->pin->tool);
}

// Sets run_end and run_size of all elements of the sorted list.
static void find_runs(struct named *list, size_t count) {
  for (size_t i = count; i-- > 0;) {
    const struct named *next = i + 1 < count ? &list[i + 1] : NULL;
    bool same = next && next->pin->server == list[i].pin->server && next->skeleton.n == list[i].skeleton.n &&
                str_eq(start_of(next), start_of(&list[i]));
    list[i].run_end = same ? next->run_end : i + 1;
  }
  for (size_t i = 0, first = 0; i < count; i++) {
    if (i == list[first].run_end) first = i;
    list[i].run_size = list[i].run_end - first;
  }
}

// Returns the tools that servers list now, sorted by the beginnings and lengths of the skeletons of their names
// (scan_skeleton), then by server.
static struct named *list_names(const struct pins *p, struct arena *a, size_t *out_count) {
  struct pins_walk walk = {0};
  struct named *list = NULL;
  size_t count = 0, cap = 0;
  char skeleton[SCAN_SKELETON];
  for (struct pin *pin; (pin = pins_next(p, &walk));) {
    clear(pin, PIN_LOOKALIKE);
    clear(pin, PIN_SAME_NAME);
    if (!pin->listed || !pin->tool.n) continue;
    if (count == cap) list = mem_grow(list, (cap = cap ? 2 * cap : 256) * sizeof *list);
    size_t n = scan_skeleton(pin->tool, skeleton);
    list[count++] = (struct named){pin, arena_str(a, (str){skeleton, n}), 0, 0};
  }
  if (count) qsort(list, count, sizeof *list, compare);
  find_runs(list, count);
  *out_count = count;
  return list;
}

// Returns whether `a` counts as the imitation of `b`: it was pinned later or, if both were pinned at about the same
// time, its server comes later in the configuration.
static bool is_younger(const struct pin *a, const struct pin *b) {
  if (!a->accepted.p != !b->accepted.p) return !a->accepted.p;
  int64_t later = a->first_at - b->first_at;
  if (later > FIRST_USE_MS || later < -FIRST_USE_MS) return later > 0;
  return a->server->order > b->server->order;
}

// Writes the text of a finding about the name of another tool.
static void put_place(struct buf *why, const struct pin *original) {
  buf_printf(why, "\"");
  visible_put(original->tool, why);
  buf_printf(why, "\" of %.*s", STR_ARG(original->server->name));
}

static void note_pair(struct pin *a, struct pin *b) {
  struct pin *imitation = is_younger(a, b) ? a : b, *original = imitation == a ? b : a;
  enum pin_finding finding = str_eq(a->tool, b->tool) ? PIN_SAME_NAME : PIN_LOOKALIKE;
  struct buf why;
  if (imitation->findings & 1u << finding) return;
  buf_init(&why, WHY_BYTES);
  put_place(&why, original);
  set(imitation, finding, buf_view(&why));
  buf_done(&why);
}

const struct pin *pins_original(const struct pins *p, const struct pin *imitation, enum pin_finding finding) {
  struct pins_walk walk = {0};
  struct buf why;
  const struct pin *found = NULL;
  buf_init(&why, WHY_BYTES);
  for (const struct pin *pin; !found && (pin = pins_next(p, &walk));) {
    buf_reset(&why);
    put_place(&why, pin);
    if (pin->tool.n && imitation->why[finding].p && str_eq(buf_view(&why), imitation->why[finding])) found = pin;
  }
  buf_done(&why);
  return found;
}

// Notes the tools from `run` to `end` that have the same skeleton. These tools are sorted by skeleton.
static void note_equal(struct named *list, size_t i, size_t run, size_t end) {
  size_t low = run, high = end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (str_cmp(list[middle].skeleton, list[i].skeleton) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < end && list[i].skeleton.n && str_eq(list[low].skeleton, list[i].skeleton); low++)
    note_pair(list[i].pin, list[low].pin);
}

// Compares a tool with the following tools of other servers. The number of comparisons between the tools of two servers
// is limited, so that a server with many tools does not use up the comparisons of the others.
static void compare_with_others(struct named *list, size_t count, size_t i, size_t *pairs) {
  for (size_t run = list[i].run_end, end; run < count; run = end) {
    const struct named *other = &list[run];
    if (!str_eq(start_of(other), start_of(&list[i])) || other->skeleton.n > list[i].skeleton.n + 1) return;
    end = other->run_end;
    if (other->pin->server == list[i].pin->server) continue;
    if (other->skeleton.n == list[i].skeleton.n) note_equal(list, i, run, end);
    for (size_t k = run; k < end && k < run + RUN_PAIRS / list[i].run_size && *pairs < COMPARISONS; k++, ++*pairs)
      if (scan_similar(list[i].skeleton, list[k].skeleton)) note_pair(list[i].pin, list[k].pin);
  }
}

void pins_compare_names(struct pins *p) {
  struct arena a;
  size_t count, pairs = 0;
  arena_init(&a);
  struct named *list = list_names(p, &a, &count);
  for (size_t i = 0; i < count && pairs < COMPARISONS; i++) compare_with_others(list, count, i, &pairs);
  if (pairs >= COMPARISONS) log_warn(p->opt.log, "there are too many tools to compare all their names with each other");
  mem_free(list);
  arena_done(&a);
}

// SPDX-License-Identifier: Apache-2.0
// The walk over JSON text. A check takes what json_parse takes (keys that occur twice apart); walks and skips over any
// bytes stay inside them and end; on a text that the parser takes they find its values.
#include "base/assert.h"
#include "json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { DEEPEST = 100, ROWS = 100 };

static void walk(struct json_scan *s, const char *value, const struct json *node, unsigned depth) {
  struct json_walk w;
  if (depth > DEEPEST || !json_walk_open(&w, s, value)) return;
  const struct json *child = node ? node->child : NULL;
  while (json_walk_next(&w)) {
    ASSERT(w.value >= s->begin && w.value < s->end);
    ASSERT(!node || (child && child->p == w.value));
    struct json_walk inner;
    if (w.count % 3 == 0) json_walk_value(&w);
    else if (json_walk_enter(&w, &inner) && w.count % 3 == 1) walk(s, w.value, child, depth + 1);
    else if (json_walk_next(&inner)) json_walk_leave(&w, &inner);
    if (node) ASSERT(!s->wrong), child = child->next;
    json_walk_key_is(&w, STR("key"));
  }
  ASSERT(!node || (!s->wrong && !child && w.after == node->p + node->n));
}

static int name_of(const struct json_walk *w, const struct json_names *names) {
  int i = 0;
  while (i < (int)names->count && !json_walk_key_is(w, names->list[i])) i++;
  return i < (int)names->count ? i : -1;
}

// What is found by its name is what one comes to from one member to the next, whatever is guessed on the way.
static void find(str text, const char *object, struct json_names *names) {
  struct json_scan s = json_scan(text), t = json_scan(text);
  struct json_walk found, w;
  if (!json_walk_open(&found, &s, object) || !json_walk_open(&w, &t, object) || w.close != '}') return;
  for (int name = 0; name >= 0;) {
    name = json_walk_find(&found, names);
    while (json_walk_next(&w) && name_of(&w, names) < 0) {
    }
    ASSERT(name == (w.close && !t.wrong ? name_of(&w, names) : -1));
    ASSERT(s.wrong == t.wrong && found.close == w.close);
    if (!s.wrong) ASSERT(found.value == w.value && found.count == w.count && (w.close || found.after == w.after));
  }
}

static void find_in_rows(str text) {
  static const str wanted[] = {STR("a"), STR("price"), STR("b")};
  struct json_scan s = json_scan(text);
  struct json_names one = {.list = wanted + 1, .count = 1}, three = {.list = wanted, .count = 3};
  struct json_walk w;
  json_walk_open(&w, &s, json_scan_first(&s));
  while (json_walk_next(&w) && w.count < ROWS) {
    find(text, w.value, &one);
    find(text, w.value, &three);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f = {0}, g = {0};
  str text = {(const char *)data, n};
  arena_init(&a);
  struct json *root = json_parse(&a, text, &json_default_limits, &f);
  bool checked = json_scan_check(text, &json_default_limits, &g);
  ASSERT(checked || (g.code && g.message[0] && g.path[0]));
  ASSERT(!root || checked);
  ASSERT(root || !checked || strstr(f.message, "occurs twice"));
  for (int strict = 0; strict < 2; strict++) {
    struct json_scan s = strict ? json_scan_strict(text) : json_scan(text);
    walk(&s, json_scan_first(&s), root, 0);
    if (s.wrong) ASSERT(s.wrong >= s.begin && s.wrong <= s.end && s.what);
    struct json_scan t = json_scan(text);
    const char *behind = json_scan_skip(&t, json_scan_first(&t));
    ASSERT(behind ? behind > t.begin && behind <= t.end : t.wrong != NULL);
    if (t.wrong) json_scan_fault(&t, &g);
  }
  find_in_rows(text);
  arena_done(&a);
  return 0;
}

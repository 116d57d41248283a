// SPDX-License-Identifier: Apache-2.0
// Values that are known to be secret, found as they are.
#include "text/secrets.h"

#define CUT_MARK "…"

// Most bytes begin none of them.
struct finder {
  const struct secrets_known *known;
  size_t mark;  // bytes at the end of the text that say that it was cut
  bool begins[256];
};

static struct finder finder_of(const struct secrets_known *known, str text) {
  struct finder f = {.known = known, .mark = str_ends(text, STR(CUT_MARK)) ? sizeof CUT_MARK - 1 : 0};
  for (size_t i = 0; i < known->count; i++) f.begins[(unsigned char)known->values[i].p[0]] = true;
  return f;
}

// How much of the text, from its beginning, is a known value, or what was left of one when the text was cut.
static size_t length_at(const struct finder *f, str text) {
  size_t longest = 0, left = text.n > f->mark ? text.n - f->mark : 0;
  if (!f->begins[(unsigned char)text.p[0]]) return 0;
  for (size_t i = 0; i < f->known->count; i++) {
    str value = f->known->values[i];
    size_t n = str_starts(text, value) || value.n < left ? value.n : left;
    if (n >= SECRETS_LEAST && n > longest && memcmp(value.p, text.p, n) == 0) longest = n;
  }
  return longest;
}

static bool is_any(const struct secrets_known *known) {
  return known && known->count;
}

static bool has(const struct finder *f, str text) {
  for (size_t i = 0; i < text.n; i++)
    if (length_at(f, str_from(text, i))) return true;
  return false;
}

// Where a value ends that begins at `from`, or one that begins within it, and so on: none leaves its end behind.
static size_t end_of(const struct finder *f, str text, size_t from) {
  size_t end = from + length_at(f, str_from(text, from));
  for (size_t i = from + 1; i < end; i++) {
    size_t n = length_at(f, str_from(text, i));
    if (i + n > end) end = i + n;
  }
  return end;
}

str secrets_mask_known(struct arena *a, str text, const struct secrets_known *known) {
  if (!is_any(known)) return text;
  struct finder f = finder_of(known, text);
  if (!has(&f, text)) return text;
  struct buf b;
  size_t told = 0;
  buf_init(&b, text.n / SECRETS_LEAST * sizeof SECRETS_MASK + text.n);
  for (size_t i = 0; i < text.n; i++) {
    size_t end = end_of(&f, text, i);
    if (end == i) continue;
    buf_str(&b, (str){text.p + told, i - told});
    buf_str(&b, STR(SECRETS_MASK));
    told = end;
    i = end - 1;
  }
  buf_str(&b, str_from(text, told));
  str masked = arena_str(a, buf_view(&b));
  buf_done(&b);
  return masked;
}

// ---- JSON

static bool has_within(const struct finder *f, const struct json *v, struct arena *scratch) {
  str text;
  if (json_is_folded(v)) return has(f, json_span(v));
  bool found = json_string(v, scratch, &text) && has(f, text);
  if (scratch->head) arena_reset(scratch);
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return found;
  JSON_EACH(it, v)
    if ((v->type == JSON_OBJECT && has(f, json_key(it, scratch))) || has_within(f, it, scratch)) return true;
  return false;
}

bool secrets_in_json(const struct json *v, const struct secrets_known *known) {
  if (!is_any(known)) return false;
  struct finder f = finder_of(known, STR(""));
  struct arena scratch;
  arena_init(&scratch);
  bool found = has_within(&f, v, &scratch);
  arena_done(&scratch);
  return found;
}

struct secrets_known secrets_copy(const struct secrets_known *known, struct arena *a) {
  if (!is_any(known)) return (struct secrets_known){0};
  str *values = ARENA_ARRAY(a, str, known->count);
  for (size_t i = 0; i < known->count; i++) values[i] = arena_str(a, known->values[i]);
  return (struct secrets_known){values, known->count};
}

// SPDX-License-Identifier: Apache-2.0
#include "result/envelope/result_facts.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"

// Facts are searched only in the first LOOKED_BYTES bytes of a text: facts further down are rare.
enum { LOOKED_BYTES = 64 << 10 };

static bool is_short(str s) {
  size_t bytes;
  if (s.n < SUMMARY_FACT_CHARS) return true;
  return s.n < 4 * SUMMARY_FACT_CHARS && measure_chars(s, SUMMARY_FACT_CHARS, &bytes) < SUMMARY_FACT_CHARS;
}

static bool has_letter(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (ascii_is_letter(s.p[i]) || (unsigned char)s.p[i] >= 0x80) return true;
  return false;
}

// Returns whether a line looks like a fragment of JSON, source code or markup.
static bool is_debris(str line) {
  char first = line.p[0], last = line.p[line.n - 1];
  return strchr("{[\"'<|/*@", first) || strchr("{[(,;", last);
}

static bool is_fact(str line) {
  str key, value;
  if (!str_cut(line, ':', &key, &value) || !is_short(line) || is_debris(line)) return false;
  if (!has_letter(key) || !value.n || *value.p == ':' || str_starts(value, STR("//"))) return false;
  return str_trim(value).n > 0;
}

bool facts_add(struct facts *f, str fact) {
  for (size_t i = 0; i < f->count; i++)
    if (str_eq(f->list[i], fact)) return false;
  ASSERT(f->count <= SUMMARY_FACTS);
  if (f->count == SUMMARY_FACTS) return false;
  f->list[f->count++] = fact;
  return true;
}

void facts_of_lines(str text, struct facts *f) {
  str rest = utf8_cut(text, LOOKED_BYTES);
  while (rest.n && f->count < SUMMARY_FACTS) {
    str line = str_trim(measure_next_line(&rest));
    if (is_fact(line)) facts_add(f, line);
  }
}

static str joined(struct arena *a, str key, str value) {
  char *fact = arena_alloc(a, key.n + value.n + 2);
  memcpy(fact, key.p, key.n);
  memcpy(fact + key.n, ": ", 2);
  memcpy(fact + key.n + 2, value.p, value.n);
  return (str){fact, key.n + value.n + 2};
}

void facts_of_members(const struct json *object, struct arena *a, struct facts *f) {
  if (!json_is(object, JSON_OBJECT) || json_is_folded(object)) return;
  JSON_EACH(m, object) {
    str value = json_span(m);
    if (f->count == SUMMARY_FACTS || m->type == JSON_OBJECT || m->type == JSON_ARRAY || m->type == JSON_NULL) continue;
    if (value.n > 4 * SUMMARY_FACT_CHARS) continue;
    json_string(m, a, &value);
    str fact = joined(a, json_key(m, a), value);
    if (is_short(fact) && !memchr(fact.p, '\n', fact.n)) facts_add(f, fact);
  }
}

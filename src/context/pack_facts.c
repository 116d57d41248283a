// SPDX-License-Identifier: Apache-2.0
#include "context/pack_facts.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"

// Facts are searched only in the first LOOKED_AT_BYTES bytes of a text.
enum { LOOKED_AT_BYTES = 1 << 20 };

struct fact {
  size_t key_n;  // length of the key at the start of `text`; 0 if the fact has no key
  str text;
};

struct fact_list {
  struct arena *a;
  struct fact *list;
  size_t count, max;
};

static bool is_short(str s) {
  size_t bytes;
  return s.n && s.n < 4 * FACT_CHARS && measure_chars(s, FACT_CHARS, &bytes) < FACT_CHARS;
}

static bool is_key_char(char c) {
  return ascii_is_alnum(c) || c == '_' || c == ' ';
}

// Splits a line at the first : or =. Returns false if the text before this sign is not a name, or if there is no value.
static bool split(str line, str *out_key, str *out_value) {
  size_t n = 0;
  if (!line.n || ascii_is_digit(line.p[0])) return false;
  while (n < line.n && is_key_char(line.p[n])) n++;
  size_t mark = n;
  while (mark < line.n && line.p[mark] == '\t') mark++;
  *out_key = str_trim((str){line.p, n});
  if (!out_key->n || mark == line.n || (line.p[mark] != ':' && line.p[mark] != '=')) return false;
  *out_value = str_trim(str_from(line, mark + 1));
  return out_value->n > 0;
}

static struct fact *find_key(struct fact_list *f, str key) {
  for (size_t i = 0; i < f->count; i++)
    if (f->list[i].key_n == key.n && str_starts(f->list[i].text, key)) return &f->list[i];
  return NULL;
}

static str folded(struct arena *a, str key) {
  char *p = arena_alloc(a, key.n);
  for (size_t i = 0; i < key.n; i++) p[i] = key.p[i] == ' ' ? '_' : ascii_lower(key.p[i]);
  return (str){p, key.n};
}

static void add_pair(struct fact_list *f, str line) {
  str key, value;
  if (!split(line, &key, &value) || !is_short(line)) return;
  key = folded(f->a, key);
  struct fact *place = find_key(f, key);
  if (!place && f->count == f->max) return;
  if (!place) place = &f->list[f->count++];
  *place = (struct fact){key.n, arena_printf(f->a, "%.*s: %.*s", STR_ARG(key), STR_ARG(value))};
}

static bool has(const struct fact_list *f, str text) {
  for (size_t i = 0; i < f->count; i++)
    if (str_eq(f->list[i].text, text)) return true;
  return false;
}

// Adds an entry of a list, such as "- text", to the facts. The first `mark` bytes of the line are the list mark; at
// least one blank must follow them.
static void add_entry(struct fact_list *f, str line, size_t mark) {
  str rest = str_from(line, mark), text = str_trim(rest);
  if (rest.n == text.n || !is_short(text) || f->count == f->max || has(f, text)) return;
  f->list[f->count++] = (struct fact){0, text};
}

static void add_numbered(struct fact_list *f, str line) {
  size_t n = 0;
  while (n < line.n && ascii_is_digit(line.p[n])) n++;
  if (n && n < line.n && (line.p[n] == '.' || line.p[n] == ')')) add_entry(f, line, n + 1);
}

static void add_bullet(struct fact_list *f, str line) {
  if (line.n && (line.p[0] == '-' || line.p[0] == '*')) add_entry(f, line, 1);
  else if (str_starts(line, STR("•"))) add_entry(f, line, STR("•").n);
}

size_t facts_extract(str text, struct arena *a, str *out, size_t max) {
  ASSERT(out || !max);
  static void (*const rules[])(struct fact_list * f, str line) = {add_pair, add_numbered, add_bullet};
  struct fact_list f = {.a = a, .list = ARENA_ARRAY(a, struct fact, max), .max = max};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    for (str rest = utf8_cut(text, LOOKED_AT_BYTES); rest.n;) rules[i](&f, str_trim(measure_next_line(&rest)));
  for (size_t i = 0; i < f.count; i++) out[i] = f.list[i].text;
  return f.count;
}

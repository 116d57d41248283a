// SPDX-License-Identifier: Apache-2.0
#include "result/view/passages.h"

#include <math.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/block.h"
#include "base/text/utf8.h"
#include "text/search/lexicon.h"
#include "text/search/words.h"

enum { BEFORE = 240, SHORT_LINE = 60, MOST_TIMES = 3, KNOWN = 256, LETTERS = 3 };

struct term {
  str needle;  // bytes to search for: the beginning of the word, in lower case
  str stem;    // stem of the word; if empty, a word in the text must equal the needle
  size_t passages;
  bool common;  // the term occurs in too many passages, so it is not searched any more
};

// An entry of a cache: the term that a word of the text matches. Thanks to the cache, each word is stemmed once.
struct known {
  char word[WORD_MOST_BYTES];
  uint8_t n;
  int8_t term;  // index of the term; -1 if the word matches no term
};

// A passage that was found, in eight bytes: its position, the frequency of each term, its length, and two bonuses for
// the ranking.
struct passage_posting {
  uint32_t at;
  uint32_t times : 16, pairs : 2, exact : 1, length : 13;
};

struct passage_finder {
  str text, query;
  bool json;
  struct term terms[PASSAGE_WORDS];
  size_t count;
  struct stemmer *stemmer;
  struct known known[KNOWN];
  struct passage_posting *records;
  size_t found, room;
  // The current passage.
  const char *begin, *end;
  unsigned times[PASSAGE_WORDS], pairs;
  bool exact;
  int last_term;          // index of the last term found
  const char *last_word;  // end of the last word found
};

// ---- the query

static bool is_word_byte(char c) {
  return ascii_is_alnum(c) || (unsigned char)c >= 0x80;
}

static void add_term(struct passage_finder *d, str needle, str stem) {
  for (size_t i = 0; i < d->count; i++)
    if (str_eq(d->terms[i].needle, needle)) return;
  ASSERT(d->count <= PASSAGE_WORDS);
  if (d->count < PASSAGE_WORDS && needle.n) d->terms[d->count++] = (struct term){.needle = needle, .stem = stem};
}

// Adds a word of the query as a search term. If the word's stem ends with i, words of the text may have y instead of
// this i, so the needle (the bytes to search for) ends before the i.
static void add_word(struct passage_finder *d, str word, struct arena *a) {
  str stem = arena_str(a, stemmer_stem(d->stemmer, word)), needle = stem;
  while (needle.n > LETTERS && needle.p[needle.n - 1] == 'i') needle.n--;
  if (needle.n > word.n || memcmp(needle.p, word.p, needle.n) != 0) needle = stem = word;
  add_term(d, needle, stem);
}

// Splits the query at blanks, and adds each part with non-ASCII characters as a term. The text is searched for such a
// part as it is written.
static void add_written(struct passage_finder *d) {
  for (str rest = d->query, part; rest.n;) {
    str_cut(rest, ' ', &part, &rest);
    bool plain = true;
    for (size_t i = 0; i < part.n && plain; i++) plain = (unsigned char)part.p[i] < 0x80;
    if (!plain) add_term(d, part, STR(""));
  }
}

static void read_query(struct passage_finder *d, struct arena *a) {
  struct word_list words = words_split(a, d->query, 4 * PASSAGE_WORDS);
  add_written(d);
  for (int grammar = 0; grammar < 2 && !d->count; grammar++)
    for (size_t i = 0; i < words.count; i++) {
      bool ascii = utf8_count(words.words[i]) == words.words[i].n;
      if (ascii && (grammar || word_class(words.words[i]) != WORD_FUNCTION)) add_word(d, words.words[i], a);
    }
  if (!d->count) add_term(d, d->query, STR(""));
}

// ---- words in the text

static str word_at(const struct passage_finder *d, const char *p) {
  const char *end = d->text.p + d->text.n, *q = p;
  bool digits = ascii_is_digit(*p);
  while (q < end && q - p < WORD_MOST_BYTES && (digits ? ascii_is_digit(*q) : ascii_is_letter(*q))) {
    if (q > p && ascii_is_upper(*q) && ascii_is_lower(q[-1])) break;
    q++;
  }
  return (str){p, (size_t)(q - p)};
}

// Returns whether a word begins at p: after a byte that is not part of a word, at a capital letter after a small
// letter, between a letter and a digit, or at a non-ASCII character.
static bool begins_word(const struct passage_finder *d, const char *p) {
  if (p == d->text.p || !is_word_byte(p[-1])) return true;
  if ((unsigned char)*p >= 0x80) return true;
  return ascii_is_digit(*p) != ascii_is_digit(p[-1]) || (ascii_is_upper(*p) && ascii_is_lower(p[-1]));
}

static bool same_letters(const char *p, str small) {
  for (size_t i = 0; i < small.n; i++)
    if (ascii_lower(p[i]) != small.p[i]) return false;
  return true;
}

static int term_of(struct passage_finder *d, str small) {
  str stem = stemmer_stem(d->stemmer, small);
  for (size_t i = 0; i < d->count; i++)
    if (d->terms[i].stem.n && str_eq(d->terms[i].stem, stem)) return (int)i;
  return -1;
}

// Returns the index of the search term that a word of the text matches, or -1 if it matches none.
static int look_up(struct passage_finder *d, str word) {
  char small[WORD_MOST_BYTES];
  uint32_t hash = (uint32_t)word.n;
  for (size_t i = 0; i < word.n; i++) {
    small[i] = ascii_lower(word.p[i]);
    hash = hash * 31 + (unsigned char)small[i];
  }
  struct known *k = &d->known[hash % KNOWN];
  if (k->n == word.n && memcmp(k->word, small, word.n) == 0) return k->term;
  k->n = (uint8_t)word.n;
  memcpy(k->word, small, word.n);
  k->term = (int8_t)term_of(d, (str){small, word.n});
  return k->term;
}

// ---- passages

// Moves p back to the previous byte that is not a blank, and returns this byte, or 0 at the beginning of the text.
static char before(const struct passage_finder *d, const char **p) {
  while (*p > d->text.p && *--*p == ' ') continue;
  return **p == ' ' ? 0 : **p;
}

// Moves p forward to the next byte that is not a blank, and returns this byte, or 0 at the end.
static char after(const char **p, const char *last) {
  while (*p + 1 < last && *++*p == ' ') continue;
  return **p == ' ' ? 0 : **p;
}

// Returns whether a row of JSON text begins at p: the text itself, or an object that seems to be an element of an
// array.
static bool begins_row(const struct passage_finder *d, const char *p) {
  if (!d->json || *p != '{' || p == d->text.p) return d->json && p == d->text.p;
  char c = before(d, &p);
  return c == '[' || (c == ',' && p > d->text.p && before(d, &p) == '}');
}

static bool ends_row(const struct passage_finder *d, const char *p, const char *last) {
  if (!d->json || *p != '}') return false;
  char c = after(&p, last);
  return c == ']' || (c == ',' && after(&p, last) == '{');
}

static const char *find_row_begin(const struct passage_finder *d, const char *near, const char *p) {
  while (p > near && p[-1] != '\n' && p[-1] != '\r' && !begins_row(d, p)) p--;
  return p;
}

static const char *find_line_begin(const char *near, const char *p) {
  const char *feed = memrchr(near, '\n', (size_t)(p - near));
  if (feed) near = feed + 1;
  const char *old = memrchr(near, '\r', (size_t)(p - near));
  return old ? old + 1 : near;
}

// Returns the beginning of the passage around a hit: the beginning of the hit's line or row if that is near, otherwise
// the beginning of a word shortly before the hit.
static const char *find_begin(const struct passage_finder *d, const char *hit) {
  const char *near = hit - d->text.p > BEFORE ? hit - BEFORE : d->text.p;
  if (d->end > near) near = d->end;
  const char *p = d->json ? find_row_begin(d, near, hit) : find_line_begin(near, hit);
  if (p == near && p > d->text.p)
    while (p < hit && is_word_byte(p[-1]) && is_word_byte(*p)) p++;
  return p;
}

// Returns the next end of a line or, in JSON, of a line or a row. Returns `last` if none follows.
static const char *next_end(const struct passage_finder *d, const char *p, const char *last) {
  const char *line = memchr(p, '\n', (size_t)(last - p)), *stop = line ? line : last;
  if (!d->json) return stop;
  while ((p = memchr(p, '}', (size_t)(stop - p))) && !ends_row(d, p, last)) p++;
  return p ? p : stop;
}

// Returns the end of the passage that begins at `begin`: the end of its line. A short passage also includes the next
// lines, up to an empty one.
static const char *find_end(const struct passage_finder *d, const char *hit, const char *begin) {
  const char *last = d->text.p + d->text.n, *p = hit;
  if (last - begin > PASSAGE_BYTES) last = begin + PASSAGE_BYTES;
  for (; p < last && (p = next_end(d, p, last)) < last; p++) {
    if (*p == '}') return p + 1;
    bool empty_next = p + 1 < last && (p[1] == '\n' || p[1] == '\r');
    if (p - begin >= SHORT_LINE || empty_next) return p;
  }
  return p;
}

static void close_passage(struct passage_finder *d) {
  if (!d->begin) return;
  ASSERT(d->end >= d->begin && d->end - d->begin <= PASSAGE_BYTES);
  struct passage_posting r = {
      .at = (uint32_t)(d->begin - d->text.p), .exact = d->exact, .length = (unsigned)(d->end - d->begin)};
  for (size_t i = 0; i < d->count; i++) {
    d->terms[i].passages += d->times[i] > 0;
    d->terms[i].common = d->terms[i].passages >= PASSAGES_COMMON;
    r.times |= (unsigned)(d->times[i] < MOST_TIMES ? d->times[i] : MOST_TIMES) << 2 * i;
    d->times[i] = 0;
  }
  r.pairs = d->pairs < MOST_TIMES ? d->pairs : MOST_TIMES;
  d->pairs = d->exact = 0;
  d->begin = NULL;
  if (d->found++ >= PASSAGES_MOST) return;
  if (d->found > d->room) {
    d->room = d->room ? 2 * d->room : 1024;
    d->records = mem_grow(d->records, d->room * sizeof *d->records);
  }
  d->records[d->found - 1] = r;
}

static void open_passage(struct passage_finder *d, const char *hit) {
  close_passage(d);
  d->begin = find_begin(d, hit);
  d->end = find_end(d, hit, d->begin);
  d->last_word = NULL;
}

static bool is_query(const struct passage_finder *d, const char *p) {
  if (d->text.p + d->text.n - p < (ptrdiff_t)d->query.n) return false;
  return str_eq_nocase((str){p, d->query.n}, d->query);
}

static void add_hit(struct passage_finder *d, int term, str word) {
  if (!d->begin || word.p >= d->end) open_passage(d, word.p);
  d->times[term]++;
  bool beside = d->last_word && word.p - d->last_word <= 2 && term == d->last_term + 1;
  d->pairs += beside;
  d->last_term = term;
  d->last_word = word.p + word.n;
  if (!d->exact && is_query(d, word.p)) d->exact = true;
}

// Adds a hit if a word that matches a term begins at p.
static void check(struct passage_finder *d, const char *p) {
  if (!begins_word(d, p)) return;
  size_t left = (size_t)(d->text.p + d->text.n - p);
  for (size_t i = 0; i < d->count; i++) {
    const struct term *t = &d->terms[i];
    if (t->needle.n > left || t->common) continue;
    if (!t->stem.n && memcmp(p, t->needle.p, t->needle.n) == 0) {
      add_hit(d, (int)i, (str){p, t->needle.n});
      return;
    }
    if (!t->stem.n || !same_letters(p, t->needle)) continue;
    str word = word_at(d, p);
    int term = look_up(d, word);
    if (term >= 0 && !d->terms[term].common) add_hit(d, term, word);
    return;
  }
}

// Returns a mask of the 64 bytes at p: bit i is set if the first letters of a term (at most three) begin at byte i.
// Also reads the two bytes after these 64.
static uint64_t candidates(const struct passage_finder *d, const char *p) {
  struct block first = block_or(block_load(p), 0x20), second = block_or(block_load(p + 1), 0x20),
               third = block_or(block_load(p + 2), 0x20), all = {0};
  for (size_t i = 0; i < d->count; i++) {
    str needle = d->terms[i].needle;
    if (d->terms[i].common) continue;
    struct block at = block_same(first, (char)(needle.p[0] | 0x20));
    if (needle.n > 1) at = block_both(at, block_same(second, (char)(needle.p[1] | 0x20)));
    if (needle.n > 2) at = block_both(at, block_same(third, (char)(needle.p[2] | 0x20)));
    all = block_either(all, at);
  }
  return block_high(all);
}

// Returns a mask of the 64 bytes at p: bit i is set if byte i is a small letter after a small letter, because no word
// begins there.
static uint64_t inside_words(const char *p) {
  struct block b = block_load(p);
  uint64_t small = block_below(b, '{') & ~block_below(b, 'a');
  return small & small << 1;
}

static bool looks_for_something(const struct passage_finder *d) {
  for (size_t i = 0; i < d->count; i++)
    if (!d->terms[i].common) return true;
  return false;
}

static void go_over(struct passage_finder *d) {
  const char *p = d->text.p, *end = p + d->text.n;
  for (; end - p >= BLOCK_BYTES + LETTERS && looks_for_something(d); p += BLOCK_BYTES) {
    uint64_t at = candidates(d, p);
    if (at) at &= ~inside_words(p);
    for (; at; at &= at - 1) check(d, p + block_first(at));
  }
  for (; p < end && looks_for_something(d); p++) check(d, p);
  close_passage(d);
}

// ---- ranking

struct weights {
  double idf[PASSAGE_WORDS], average, best;
};

static struct weights weigh(const struct passage_finder *d, size_t kept) {
  struct weights w = {.average = 1};
  uint64_t bytes = 0;
  for (size_t i = 0; i < kept; i++) bytes += d->records[i].length;
  if (kept) w.average = (double)(bytes ? bytes : 1) / (double)kept;
  double all = (double)d->text.n / w.average;
  if (all < (double)d->found) all = (double)d->found;
  for (size_t i = 0; i < d->count; i++) {
    double n = (double)d->terms[i].passages;
    w.idf[i] = log(1 + (all - n + 0.5) / (n + 0.5));
    w.best += w.idf[i];
  }
  return w;
}

static double score(const struct passage_finder *d, const struct weights *w, const struct passage_posting *r) {
  const double k1 = 1.2, b = 0.3;
  double norm = k1 * (1 - b + b * r->length / w->average), sum = 0;
  for (size_t i = 0; i < d->count; i++) {
    double times = r->times >> 2 * i & 3;
    if (times > 0) sum += w->idf[i] * times * (k1 + 1) / (times + norm);
  }
  return sum + w->best * (0.2 * r->pairs + 0.5 * r->exact);
}

struct ranked {
  double score;
  uint32_t index;
};

static bool is_better(const struct ranked *a, const struct ranked *b) {
  return a->score > b->score || (a->score >= b->score && a->index < b->index);
}

// Selects the best passages, at most `most`, with an insertion sort, which is fast because `most` is small.
static size_t rank(const struct passage_finder *d, size_t kept, struct ranked *best, size_t most) {
  struct weights w = weigh(d, kept);
  size_t count = 0;
  for (size_t i = 0; i < kept; i++) {
    struct ranked x = {score(d, &w, &d->records[i]), (uint32_t)i};
    if (count == most && !is_better(&x, &best[count - 1])) continue;
    size_t at = count < most ? count++ : count - 1;
    for (; at && is_better(&x, &best[at - 1]); at--) best[at] = best[at - 1];
    best[at] = x;
  }
  return count;
}

static void take_best(const struct passage_finder *d, size_t start, size_t top, struct arena *a, struct passages *out) {
  size_t kept = d->found < PASSAGES_MOST ? d->found : PASSAGES_MOST;
  struct ranked *best = arena_alloc(a, (start + top + 1) * sizeof *best);
  size_t count = rank(d, kept, best, start + top);
  out->best = ARENA_ARRAY(a, struct passage, top + 1);
  for (size_t i = start; i < count; i++) {
    const struct passage_posting *r = &d->records[best[i].index];
    ASSERT(out->count < top);
    out->best[out->count++] = (struct passage){{d->text.p + r->at, r->length}, best[i].score};
  }
}

void passages_find(str text, str query, size_t start, size_t top, struct arena *a, struct passages *out) {
  struct passage_finder *d = MEM_NEW(struct passage_finder);
  ASSERT(text.n <= UINT32_MAX);
  d->text = text;
  d->query = str_trim(query);
  d->stemmer = stemmer_new();
  d->json = text.n && (text.p[0] == '[' || text.p[0] == '{');
  *out = (struct passages){.count = 0};
  if (d->query.n) read_query(d, a);
  if (d->count) go_over(d);
  for (size_t i = 0; i < d->count; i++) {
    out->words[out->words_count++] = arena_str(a, d->terms[i].needle);
    out->more = out->more || d->terms[i].common;
  }
  out->found = d->found;
  take_best(d, start, top, a, out);
  stemmer_free(&d->stemmer);
  mem_free(d->records);
  mem_free(d);
}

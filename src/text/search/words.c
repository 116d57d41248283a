// SPDX-License-Identifier: Apache-2.0
#include "text/search/words.h"

#include <dlfcn.h>
#include <libstemmer.h>
#include <utf8proc.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum kind { BREAK, LOWER, UPPER, DIGIT, IDEOGRAPH, MARK, APOSTROPHE };

struct glyph {
  uint32_t c;  // the code point before it is folded
  enum kind kind;
};

// ---- characters ----

static bool in_range(uint32_t c, uint32_t first, uint32_t last) {
  return c >= first && c <= last;
}

// Returns whether a character belongs to a script without blanks between words, or to Hangul, in which grammatical
// particles are joined to words. Such text is split into pairs of characters.
static bool is_ideograph(uint32_t c) {
  if (c < 0x0e00) return false;
  return in_range(c, 0x0e00, 0x0e7f) || in_range(c, 0x3040, 0x30ff) || in_range(c, 0x3400, 0x9fff) ||
         in_range(c, 0xac00, 0xd7a3) || in_range(c, 0xf900, 0xfaff) || in_range(c, 0x20000, 0x3ffff);
}

static enum kind kind_above_ascii(uint32_t c) {
  if (c == 0x2019) return APOSTROPHE;
  if (is_ideograph(c)) return IDEOGRAPH;
  switch (utf8proc_category((utf8proc_int32_t)c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LT: return UPPER;
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO: return LOWER;
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_NO: return DIGIT;
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME: return MARK;
  default: return BREAK;
  }
}

static enum kind kind_of(uint32_t c) {
  if (c >= 'a' && c <= 'z') return LOWER;
  if (c >= 'A' && c <= 'Z') return UPPER;
  if (c >= '0' && c <= '9') return DIGIT;
  if (c == '\'') return APOSTROPHE;
  return c < 0x80 ? BREAK : kind_above_ascii(c);
}

// Converts a character to lower case, and removes accents in Latin, Greek and Cyrillic. Accents in other scripts stay,
// because they distinguish words.
static uint32_t fold(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  utf8proc_int32_t parts[8];
  bool accented = c < 0x0530 || in_range(c, 0x1e00, 0x1fff);
  if (accented) {
    int boundclass = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, 8, UTF8PROC_DECOMPOSE, &boundclass);
    if (n > 0 && n <= 8) c = (uint32_t)parts[0];
  }
  return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

// ---- text to glyphs ----

static bool is_ascii(str s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] >= 0x80) return false;
  return true;
}

// Returns the characters of a text in NFKC form: a letter and its accent are one character, and full-width and other
// compatibility forms are replaced.
static struct glyph *glyphs_above_ascii(struct arena *a, str text, size_t *out_n) {
  struct glyph *g = arena_alloc(a, (text.n + 1) * sizeof *g);
  utf8proc_int32_t *codes = arena_alloc(a, (text.n + 1) * sizeof *codes);
  size_t n = 0, room = text.n;
  for (str rest = text; rest.n && n < room;) {
    utf8proc_int32_t c = (utf8proc_int32_t)utf8_next(&rest);
    int boundclass = 0;
    utf8proc_option_t options = UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE;
    utf8proc_ssize_t wrote = utf8proc_decompose_char(c, codes + n, (utf8proc_ssize_t)(room - n), options, &boundclass);
    if (wrote < 0 || (size_t)wrote > room - n) break;  // no room for the replacements: the text ends here
    n += (size_t)wrote;
  }
  utf8proc_ssize_t composed = utf8proc_normalize_utf32(codes, (utf8proc_ssize_t)n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  n = composed > 0 ? (size_t)composed : 0;
  for (size_t i = 0; i < n; i++) g[i] = (struct glyph){(uint32_t)codes[i], kind_of((uint32_t)codes[i])};
  *out_n = n;
  return g;
}

static struct glyph *glyphs_of(struct arena *a, str text, size_t *out_n) {
  if (!is_ascii(text)) return glyphs_above_ascii(a, text, out_n);
  struct glyph *g = arena_alloc(a, (text.n + 1) * sizeof *g);
  for (size_t i = 0; i < text.n; i++)
    g[i] = (struct glyph){(unsigned char)text.p[i], kind_of((unsigned char)text.p[i])};
  *out_n = text.n;
  return g;
}

// ---- glyphs to words ----

struct splitter {
  struct arena *arena;
  const struct glyph *g;
  size_t n, max;
  struct word_list *out;
};

static enum kind kind_at(const struct splitter *s, size_t i) {
  return i < s->n ? s->g[i].kind : BREAK;
}

static void add_word(struct splitter *s, size_t from, size_t to) {
  size_t room = (to - from) * 4, n = 0;
  if (room > WORD_MOST_BYTES) room = WORD_MOST_BYTES;
  char *p = arena_alloc(s->arena, room);
  for (size_t i = from; i < to && n + 4 <= room; i++) {
    if (s->g[i].kind == MARK && in_range(s->g[i].c, 0x0300, 0x036f)) continue;
    n += utf8_put(fold(s->g[i].c), p + n);
  }
  if (n && s->out->count < s->max) s->out->words[s->out->count++] = (str){p, n};
}

// Adds all pairs of neighbouring characters as words. A character without neighbours is a word itself. Returns the
// position after the characters.
static size_t split_ideographs(struct splitter *s, size_t from) {
  size_t to = from;
  while (kind_at(s, to) == IDEOGRAPH || kind_at(s, to) == MARK) to++;
  if (to - from == 1) add_word(s, from, to);
  for (size_t i = from; i + 1 < to && s->out->count < s->max; i++) add_word(s, i, i + 2);
  return to;
}

// Returns the end of a word that begins with capitals: "HTTPServer" is two words, but "URLs" is one.
static size_t end_of_capitals(const struct splitter *s, size_t from) {
  size_t to = from;
  while (kind_at(s, to) == UPPER || kind_at(s, to) == MARK) to++;
  if (kind_at(s, to) != LOWER) return to;
  if (to - from == 1) return from;
  bool plural = s->g[to].c == 's' && kind_at(s, to + 1) != LOWER;
  return plural ? to + 1 : to - 1;
}

static size_t split_letters(struct splitter *s, size_t from) {
  size_t to = kind_at(s, from) == UPPER ? end_of_capitals(s, from) : from;
  if (to == from) {
    to++;
    while (kind_at(s, to) == LOWER || kind_at(s, to) == MARK) to++;
  }
  add_word(s, from, to);
  // Skips the rest of a contraction after an apostrophe, such as 's, 't or 're, which is not a word.
  if (kind_at(s, to) == APOSTROPHE && kind_at(s, to + 1) == LOWER) {
    size_t tail = to + 1;
    while (kind_at(s, tail) == LOWER) tail++;
    if (tail - to <= 3) return tail;
  }
  return to;
}

static size_t split_digits(struct splitter *s, size_t from) {
  size_t to = from;
  while (kind_at(s, to) == DIGIT) to++;
  add_word(s, from, to);
  return to;
}

struct word_list words_split(struct arena *a, str text, size_t max) {
  ASSERT(a);
  struct word_list out = {0};
  struct splitter s = {.arena = a, .max = max, .out = &out};
  s.g = glyphs_of(a, text, &s.n);
  // s.n words are enough, because at most one word begins at each glyph.
  out.words = arena_alloc(a, (s.n < max ? s.n : max) * sizeof *out.words + 1);
  for (size_t i = 0; i < s.n && out.count < max;) {
    switch (s.g[i].kind) {
    case IDEOGRAPH: i = split_ideographs(&s, i); break;
    case UPPER:
    case LOWER: i = split_letters(&s, i); break;
    case DIGIT: i = split_digits(&s, i); break;
    default: i++;
    }
  }
  return out;
}

// ---- stems ----

// Functions of libstemmer. The library is loaded only when it is first needed, because its tables take half a megabyte
// in each process, and the processes that start servers never search. Once loaded, it stays loaded.
struct stemmer {
  struct sb_stemmer *english;  // NULL if the library is not installed: words then stay unchanged
  const sb_symbol *(*stem)(struct sb_stemmer *s, const sb_symbol *word, int n);
  int (*length)(struct sb_stemmer *s);
  void (*delete)(struct sb_stemmer *s);
};

struct stemmer *stemmer_new(void) {
  struct stemmer *s = MEM_NEW(struct stemmer);
  void *library = dlopen("libstemmer.so.0d", RTLD_NOW | RTLD_LOCAL);
  if (!library) return s;
  struct sb_stemmer *(*new)(const char *, const char *) = dlsym(library, "sb_stemmer_new");
  s->stem = dlsym(library, "sb_stemmer_stem");
  s->length = dlsym(library, "sb_stemmer_length");
  s->delete = dlsym(library, "sb_stemmer_delete");
  if (new && s->stem && s->length && s->delete) s->english = new ("english", "UTF_8");
  return s;
}

void stemmer_free(struct stemmer **s) {
  if (!*s) return;
  if ((*s)->english) (*s)->delete ((*s)->english);
  mem_free(*s);
  *s = NULL;
}

str stemmer_stem(struct stemmer *s, str word) {
  if (word.n < 3 || !s->english) return word;
  for (size_t i = 0; i < word.n; i++)
    if (word.p[i] < 'a' || word.p[i] > 'z') return word;
  const sb_symbol *stem = s->stem(s->english, (const sb_symbol *)word.p, (int)word.n);
  return stem ? (str){(const char *)stem, (size_t)s->length(s->english)} : word;
}

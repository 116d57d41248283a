// SPDX-License-Identifier: Apache-2.0
#include "catalog/pins/scan.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"

enum {
  SHOWN = 160,        // maximum bytes of a text in a finding
  WORDS = 12,         // maximum words of a phrase
  SIMILAR_BYTES = 6,  // minimum length of names that can be similar
};

// ---- texts of a definition

typedef bool text_test(str text, str *out_at);

// Calls `test` for each string in a value until a call returns true. Sets *out to that string.
static bool search(const struct json *v, text_test *test, bool keys, struct arena *a, str *out, str *out_at) {
  if (v->type == JSON_STRING) return json_string(v, a, out) && test(*out, out_at);
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return false;
  JSON_EACH(it, v) {
    if (keys && it->key) {
      *out = json_key(it, a);
      if (test(*out, out_at)) return true;
    }
    if (search(it, test, keys, a, out, out_at)) return true;
  }
  return false;
}

// Appends an excerpt of a text that begins shortly before `at`.
static void put_excerpt(str text, str at, struct buf *out) {
  size_t from = (size_t)(at.p - text.p);
  from = from > SHOWN / 4 ? from - SHOWN / 4 : 0;
  while (from && from < text.n && utf8_follows(text.p[from])) from--;
  str shown = utf8_cut(str_from(text, from), SHOWN);
  if (from) buf_str(out, STR("…"));
  visible_put(shown, out);
  if (from + shown.n < text.n) buf_str(out, STR("…"));
}

static bool has_hidden(str text, str *out_at) {
  *out_at = text;
  return visible_has_hidden(text);
}

bool scan_hidden(const struct json *definition, struct buf *out) {
  struct arena a;
  str text, at;
  arena_init(&a);
  bool found = search(definition, has_hidden, true, &a, &text, &at);
  if (found) put_excerpt(text, at, out);
  arena_done(&a);
  return found;
}

// ---- instructions

// Phrases of instructions to a model. Words are separated by blanks; "a|b" matches either word; "?a" is optional.
static const char *const phrases[] = {
    ("ignore|disregard|forget|override|bypass ?all|any ?of ?the|your|my|these"
     " previous|prior|earlier|above|preceding|system"
     " ?user instructions|instruction|messages|prompts|prompt|rules|guidelines|tools"),
    "ignore|disregard|forget|override ?all|any ?of your|system instructions|prompt|guidelines|rules|safety",
    "do not tell|inform|notify|alert|mention|reveal|show|disclose ?this|it|anything ?to ?the user|users|human",
    "dont|never tell|inform|notify|alert|mention|reveal|show|disclose ?this|it|anything ?to ?the user|users|human",
    "without telling|informing|notifying|alerting|mentioning ?this|it ?to ?the user|users|human",
    "system prompt",
    "you are now",
    "before|after|when using|calling this|any|other ?other tool|tools ?you must|always|first|read|send",
    "instead of ?the|any other tool|tools|server|servers",
    "always|must call|use|run|invoke this tool first|before",
};

// Texts that mark parts of a prompt, and names of files with secrets, in lower case.
static const char *const literals[] = {
    "<important",   "<system>", "</system>", "<assistant>",       "<admin>",     "<hidden>",    "[system]",
    "<|im_start|>", "id_rsa",   "/.ssh/",    "/.aws/credentials", "/etc/passwd", "/etc/shadow", ".cursor/mcp.json",
};

// Removes the first word of a text and returns it. Apostrophes are parts of words.
static str cut_word(str *rest) {
  while (rest->n && !ascii_is_alnum(rest->p[0])) *rest = str_from(*rest, 1);
  size_t n = 0;
  while (n < rest->n && (ascii_is_alnum(rest->p[n]) || rest->p[n] == '\'')) n++;
  str word = {rest->p, n};
  *rest = str_from(*rest, n);
  return word;
}

static bool same_word(str word, str expected) {
  size_t n = 0;
  for (size_t i = 0; i < word.n; i++) {
    if (word.p[i] == '\'') continue;
    if (n == expected.n || ascii_lower(word.p[i]) != expected.p[n]) return false;
    n++;
  }
  return n == expected.n;
}

static bool is_one_of(str word, str alternatives) {
  str one;
  while (alternatives.n) {
    str_cut(alternatives, '|', &one, &alternatives);
    if (same_word(word, one)) return true;
  }
  return false;
}

// Returns whether the words at the start of the text match the phrase (see `phrases`).
static bool begins_with(str text, str phrase) {
  str part;
  str rest = text, word = cut_word(&rest);
  while (phrase.n) {
    str_cut(phrase, ' ', &part, &phrase);
    bool optional = part.p[0] == '?';
    if (optional) part = str_from(part, 1);
    if (word.n && is_one_of(word, part)) word = cut_word(&rest);
    else if (!optional) return false;
  }
  return true;
}

static bool begins_with_literal(str text) {
  for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
    const char *literal = literals[i];
    size_t n = 0;
    while (literal[n] && n < text.n && ascii_lower(text.p[n]) == literal[n]) n++;
    if (!literal[n]) return true;
  }
  return false;
}

// Returns whether a literal may begin with these two characters. Called for every character of a text.
static bool may_begin_literal(char first, char second) {
  switch (first) {
  case '<':
  case '[':
  case '/':
  case '.': return true;
  case 'i':
  case 'I': return ascii_lower(second) == 'd';
  default: return false;
  }
}

static bool has_literal(str text, str *out_at) {
  for (size_t k = 0; k + 1 < text.n; k++) {
    if (!may_begin_literal(text.p[k], text.p[k + 1]) || !begins_with_literal(str_from(text, k))) continue;
    *out_at = str_from(text, k);
    return true;
  }
  return false;
}

// Returns whether a phrase may begin with this word. Most words of a text fail this test, which is faster than a
// comparison with all phrases.
static bool may_begin_phrase(str word) {
  static const char *const second['z' - 'a' + 1] = {
      ['a' - 'a'] = "fl", ['b' - 'a'] = "ey", ['d' - 'a'] = "io", ['f' - 'a'] = "o",
      ['i' - 'a'] = "gn", ['m' - 'a'] = "u",  ['n' - 'a'] = "e",  ['o' - 'a'] = "v",
      ['s' - 'a'] = "y",  ['w' - 'a'] = "hi", ['y' - 'a'] = "o",
  };
  char first = word.n > 1 ? ascii_lower(word.p[0]) : 0;
  if (first && word.p[1] == '\'') return true;
  const char *next = first >= 'a' && first <= 'z' ? second[first - 'a'] : NULL;
  return next && strchr(next, ascii_lower(word.p[1]));
}

static bool is_instruction(str text, str *out_at) {
  if (has_literal(text, out_at)) return true;
  for (str rest = text; rest.n;) {
    str from = rest, word = cut_word(&rest);
    if (!may_begin_phrase(word)) continue;
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
      str phrase = str_of(phrases[i]), first, others;
      str_cut(phrase, ' ', &first, &others);
      if (!is_one_of(word, first) || !begins_with(from, phrase)) continue;
      *out_at = (str){word.p, text.n - (size_t)(word.p - text.p)};
      return true;
    }
  }
  return false;
}

bool scan_instruction(const struct json *definition, struct buf *out) {
  struct arena a;
  str text, at;
  bool found = false;
  arena_init(&a);
  JSON_EACH(it, definition) {
    if (found || json_key_is(it, STR("name")) || json_key_is(it, STR("_meta"))) continue;
    // In names of parameters, only literals count, because names such as `system_prompt` are usual.
    found = search(it, is_instruction, false, &a, &text, &at) || search(it, has_literal, true, &a, &text, &at);
  }
  if (found) put_excerpt(text, at, out);
  arena_done(&a);
  return found;
}

// ---- names

// Returns the ASCII letter or digit that stands for all characters that look like `c`, or 0 if no such one exists.
static char fold(uint32_t c) {
  static const struct {
    uint32_t code;
    char as;
  } similar[] = {
      {'0', 'o'},   {'1', 'l'},   {'i', 'l'},   {'5', 's'},   {'|', 'l'},   {0x430, 'a'}, {0x435, 'e'}, {0x43e, 'o'},
      {0x440, 'p'}, {0x441, 'c'}, {0x443, 'y'}, {0x445, 'x'}, {0x455, 's'}, {0x456, 'l'}, {0x457, 'l'}, {0x458, 'j'},
      {0x501, 'd'}, {0x51b, 'q'}, {0x51d, 'w'}, {0x3b1, 'a'}, {0x3b5, 'e'}, {0x3b9, 'l'}, {0x3ba, 'k'}, {0x3bd, 'v'},
      {0x3bf, 'o'}, {0x3c1, 'p'}, {0x3c5, 'u'}, {0x3c7, 'x'}, {0x131, 'l'}, {0x261, 'g'}, {0x251, 'a'}, {0x410, 'a'},
      {0x412, 'b'}, {0x415, 'e'}, {0x41a, 'k'}, {0x41c, 'm'}, {0x41d, 'h'}, {0x41e, 'o'}, {0x420, 'p'}, {0x421, 'c'},
      {0x422, 't'}, {0x425, 'x'}, {0x406, 'l'}, {0x405, 's'}, {0x408, 'j'}, {0x391, 'a'}, {0x392, 'b'}, {0x395, 'e'},
      {0x397, 'h'}, {0x399, 'l'}, {0x39a, 'k'}, {0x39c, 'm'}, {0x39d, 'n'}, {0x39f, 'o'}, {0x3a1, 'p'}, {0x3a4, 't'},
      {0x3a7, 'x'}, {0x396, 'z'},
  };
  if (c >= 0xff01 && c <= 0xff5e) c -= 0xfee0;  // full-width forms of ASCII
  if (c < 0x80) c = (unsigned char)ascii_lower((char)c);
  for (size_t i = 0; i < sizeof similar / sizeof *similar; i++)
    if (similar[i].code == c) return similar[i].as;
  return c < 0x80 && ascii_is_alnum((char)c) ? (char)c : 0;
}

// Ignores ASCII characters that are neither letters nor digits. Keeps letters of other scripts that look like no ASCII
// letter.
size_t scan_skeleton(str name, char out[SCAN_SKELETON]) {
  size_t n = 0;
  while (name.n && n + 4 <= SCAN_SKELETON) {
    uint32_t c = utf8_next(&name);
    char as = fold(c);
    if (as) out[n++] = as;
    else if (c >= 0xc0 && !(c >= 0x2000 && c <= 0x206f) && !(c >= 0xe0000)) n += utf8_put(c, out + n);
  }
  return n;
}

bool scan_similar(str a, str b) {
  if (a.n > b.n) return scan_similar(b, a);
  if (a.n < SIMILAR_BYTES || b.n > a.n + 1 || memcmp(a.p, b.p, SCAN_SAME_PREFIX) != 0) return false;
  size_t begin = 0, end = 0;
  while (begin < a.n && a.p[begin] == b.p[begin]) begin++;
  while (end < a.n - begin && a.p[a.n - 1 - end] == b.p[b.n - 1 - end]) end++;
  return begin + end + 1 >= b.n;
}

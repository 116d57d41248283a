// SPDX-License-Identifier: Apache-2.0
// Matches I-Regexp patterns (RFC 9485) with PCRE2. This file checks that a pattern follows the grammar of I-Regexp,
// translates the pattern for PCRE2, and counts its states.
//
// Patterns run in PCRE2's engine that follows all states at the same time (pcre2_dfa_match), so each byte is read once,
// whatever the pattern. The backtracking engine cannot be bounded: its limit starts again at every position of a
// search, and does not count the bytes that a repeated class skips. To search, this file puts .* before the pattern and
// matches from the start of the text.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "json/path/path_impl.h"

enum {
  PATTERN_MAX = 4096,  // maximum bytes of a pattern before translation
  TRANSLATED_MAX = 8 * PATTERN_MAX,
  GROUPS_MAX = 32,     // maximum nesting of groups
  STATES_MAX = 2000,   // maximum number of states; a repeated part counts once for each repetition
  ROOM_MIN = 128,      // initial number of states
  ROOM_PER_STATE = 6,  // number of ints needed for one state: three in each of the engine's two lists
  MATCH_LIMIT = 1000,
  DEPTH_LIMIT = 100,
  HEAP_LIMIT = 1024,  // KiB
  PART_MAX = 64,      // maximum bytes of path_regex.part
};

// A run of adjacent characters that every match contains.
struct run {
  char text[PART_MAX];
  size_t n;
};

struct translation {
  str rest;
  struct buf out;
  unsigned groups;
  bool too_large;
  bool is_char;  // the last atom is the single character in `character`
  uint32_t character;
  struct run run, longest;
  bool branches;  // there is a "|" outside of groups, so there may be no text that every match contains
};

static int peek(const struct translation *t) {
  return t->rest.n ? (unsigned char)t->rest.p[0] : -1;
}

static bool take(struct translation *t, char c) {
  if (peek(t) != (unsigned char)c) return false;
  t->rest = str_from(t->rest, 1);
  return true;
}

static bool too_large(struct translation *t) {
  t->too_large = true;
  return false;
}

// ---- single characters and classes ----

// Writes a character. All characters except letters and digits are written as a number, because they could have a
// special meaning.
static void put_char(struct translation *t, uint32_t c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) buf_char(&t->out, (char)c);
  else buf_printf(&t->out, "\\x{%x}", c);
}

// Translates a category such as \p{Lu} or \P{Lu}, starting after the backslash.
static bool translate_category(struct translation *t) {
  static const char *const categories[] = {"Llmotu", "Mcen", "Ndlo", "Pcdefios", "Zlps", "Sckmo", "Ccfno"};
  char letter = t->rest.p[0], kind[2] = {0};
  t->rest = str_from(t->rest, 1);
  if (!take(t, '{') || !t->rest.n) return false;
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
    if (peek(t) != categories[i][0]) continue;
    kind[0] = categories[i][0];
    t->rest = str_from(t->rest, 1);
    if (peek(t) > 0 && strchr(categories[i] + 1, peek(t))) {
      kind[1] = (char)peek(t);
      t->rest = str_from(t->rest, 1);
    }
    break;
  }
  if (!kind[0] || !take(t, '}')) return false;
  buf_printf(&t->out, "\\%c{%.2s}", letter, kind);
  return true;
}

// Reads an escape, starting after its backslash.
static bool read_escape(struct translation *t, uint32_t *out) {
  int c = peek(t);
  if (c <= 0 || !strchr("()*+-.?[\\]^nrt{|}", c)) return false;
  t->rest = str_from(t->rest, 1);
  *out = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : (uint32_t)c;
  return true;
}

static bool at_category(const struct translation *t) {
  return peek(t) == 'p' || peek(t) == 'P';
}

// Reads one character in a class. Returns false if it must be escaped but is not.
static bool read_class_char(struct translation *t, uint32_t *out) {
  if (take(t, '\\')) return read_escape(t, out);
  if (!t->rest.n || strchr("-[]", t->rest.p[0] ? t->rest.p[0] : 'x')) return false;
  *out = utf8_next(&t->rest);
  return true;
}

static bool translate_class_part(struct translation *t) {
  uint32_t low, high;
  if (t->rest.n > 1 && t->rest.p[0] == '\\' && (t->rest.p[1] == 'p' || t->rest.p[1] == 'P')) {
    t->rest = str_from(t->rest, 1);
    return translate_category(t);
  }
  if (!read_class_char(t, &low)) return false;
  put_char(t, low);
  bool range = t->rest.n > 1 && t->rest.p[0] == '-' && t->rest.p[1] != ']';
  if (!range) return true;
  t->rest = str_from(t->rest, 1);
  buf_char(&t->out, '-');
  if (!read_class_char(t, &high) || high < low) return false;
  put_char(t, high);
  return true;
}

// Translates a character class, starting after its opening bracket. A dash at the beginning or end of the class is an
// ordinary character.
static bool translate_class(struct translation *t) {
  buf_char(&t->out, '[');
  if (take(t, '^')) buf_char(&t->out, '^');
  bool any = take(t, '-');
  if (any) put_char(t, '-');
  for (; peek(t) != ']'; any = true) {
    if (any && take(t, '-')) {
      put_char(t, '-');
      if (peek(t) != ']') return false;
      break;
    }
    if (!translate_class_part(t)) return false;
  }
  buf_char(&t->out, ']');
  return any && take(t, ']');
}

// ---- pieces ----

static bool translate_branches(struct translation *t, size_t *out_states);

static bool translate_group(struct translation *t, size_t *out_states) {
  if (++t->groups > GROUPS_MAX) return too_large(t);
  buf_str(&t->out, STR("(?:"));
  if (!translate_branches(t, out_states) || !take(t, ')')) return false;
  buf_char(&t->out, ')');
  *out_states += 2;
  t->groups--;
  t->is_char = false;
  return true;
}

static bool put_atom_char(struct translation *t, uint32_t c) {
  t->is_char = true;
  t->character = c;
  put_char(t, c);
  return true;
}

static bool translate_atom(struct translation *t, size_t *out_states) {
  uint32_t c;
  *out_states = 1;
  t->is_char = false;
  if (take(t, '(')) return translate_group(t, out_states);
  if (take(t, '[')) return translate_class(t);
  if (take(t, '.')) buf_str(&t->out, STR("[^\\n\\r]"));
  else if (take(t, '^')) buf_str(&t->out, STR("(?:\\A)"));  // outside of classes, ^ and $ are anchors
  else if (take(t, '$')) buf_str(&t->out, STR("(?:\\z)"));
  else if (take(t, '\\')) {
    if (at_category(t)) return translate_category(t);
    return read_escape(t, &c) && put_atom_char(t, c);
  } else {
    if (peek(t) > 0 && strchr("*+?{}]", peek(t))) return false;
    return put_atom_char(t, utf8_next(&t->rest));
  }
  return true;
}

static bool read_count(struct translation *t, size_t *out) {
  size_t value = 0;
  str before = t->rest;
  for (; peek(t) >= '0' && peek(t) <= '9'; t->rest = str_from(t->rest, 1))
    if (value <= STATES_MAX) value = value * 10 + (size_t)(peek(t) - '0');
  if (t->rest.n == before.n) return false;
  *out = value;
  return true;
}

// How often a part of a pattern is repeated.
struct times {
  size_t low, high;
  bool open;  // no upper limit
};

// Reads a range of repetitions, such as {2,5}, starting after the opening brace.
static bool read_range(struct translation *t, struct times *out) {
  if (!read_count(t, &out->low)) return false;
  out->high = out->low;
  out->open = take(t, ',') && !read_count(t, &out->high);
  if (!take(t, '}') || out->high < out->low) return false;
  return out->high <= STATES_MAX || too_large(t);
}

static bool read_quantifier(struct translation *t, struct times *out) {
  *out = (struct times){1, 1, false};
  if (take(t, '*')) *out = (struct times){0, 0, true};
  else if (take(t, '+')) *out = (struct times){1, 1, true};
  else if (take(t, '?')) *out = (struct times){0, 1, false};
  else if (take(t, '{')) return read_range(t, out);
  return true;
}

// The engine counts the repetitions of a single character or class, and each count is a state, even without an upper
// limit. To bound the number of these states, writes x{2}x* instead of x{2,}.
static void put_quantifier(struct translation *t, const struct times *times, size_t begin) {
  if (t->out.over) return;
  bool group = t->out.p[begin] == '(';
  size_t n = t->out.n - begin;
  if (!times->open) {
    if (times->low != 1 || times->high != 1) buf_printf(&t->out, "{%zu,%zu}", times->low, times->high);
  } else if (times->low && group) {
    buf_printf(&t->out, "{%zu,}", times->low);
  } else if (times->low) {
    buf_printf(&t->out, "{%zu}", times->low);
    char *again = buf_room(&t->out, n);
    if (!again) return;
    memcpy(again, t->out.p + begin, n);
    t->out.n += n;
    buf_char(&t->out, '*');
  } else {
    buf_char(&t->out, '*');
  }
}

static void end_run(struct translation *t) {
  if (t->run.n > t->longest.n) t->longest = t->run;
  t->run.n = 0;
}

// Updates the run of characters that every match contains after a part of the pattern was read. Only parts outside of
// groups can extend the run.
static void note_piece(struct translation *t, const struct times *times) {
  if (!t->is_char || !times->low || t->run.n > PART_MAX - 4) end_run(t);
  if (!t->is_char || !times->low) return;
  t->run.n += utf8_put(t->character, t->run.text + t->run.n);
  if (times->open || times->high > 1) end_run(t);
}

static bool translate_piece(struct translation *t, size_t *out_states) {
  struct times times;
  size_t begin = t->out.n;
  if (!translate_atom(t, out_states) || !read_quantifier(t, &times)) return false;
  put_quantifier(t, &times, begin);
  if (!t->groups) note_piece(t, &times);
  size_t most = times.high + times.open;
  *out_states *= most ? most : 1;
  return *out_states <= STATES_MAX || too_large(t);
}

// Translates alternatives up to the end of the pattern, or to the parenthesis that closes the group.
static bool translate_branches(struct translation *t, size_t *out_states) {
  size_t states = 1, more;
  while (t->rest.n && peek(t) != ')') {
    if (take(t, '|')) {
      buf_char(&t->out, '|');
      t->branches = t->branches || !t->groups;
      states++;
      continue;
    }
    if (!translate_piece(t, &more)) return false;
    states += more;
    if (states > STATES_MAX) return too_large(t);
  }
  *out_states = states;
  return true;
}

// ---- compiling and matching ----

static void *take_memory(PCRE2_SIZE n, void *arena) {
  return arena_alloc(arena, n);
}

// The free function for PCRE2. It does nothing, because the arena is freed as a whole.
static void leave_memory(void *p, void *arena) {
}

static pcre2_code *compile(struct arena *a, str pattern) {
  pcre2_general_context *memory = pcre2_general_context_create(take_memory, leave_memory, a);
  pcre2_compile_context *context = pcre2_compile_context_create(memory);
  uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOTALL | PCRE2_ANCHORED | PCRE2_NO_AUTO_POSSESS;
  int error;
  PCRE2_SIZE at;
  return pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &error, &at, context);
}

static bool translate(struct translation *t, bool whole, size_t *out_states) {
  buf_str(&t->out, whole ? STR("(?:") : STR(".*(?:"));
  if (!translate_branches(t, out_states) || t->rest.n) return false;
  buf_str(&t->out, whole ? STR(")\\z") : STR(")"));
  return !t->out.over || too_large(t);
}

// Returns whether the pattern is plain text, which needs no engine. Most searches are for plain text.
static bool is_plain(str pattern) {
  for (size_t i = 0; i < pattern.n; i++)
    if (pattern.p[i] && strchr("()*+.?[]\\{|}^$", pattern.p[i])) return false;
  return true;
}

struct path_regex *path_regex_new(struct arena *a, str pattern, bool whole) {
  ASSERT(a);
  struct path_regex *regex = ARENA_NEW(a, struct path_regex);
  struct translation t = {.rest = pattern};
  buf_init(&t.out, TRANSLATED_MAX);
  if (pattern.n > PATTERN_MAX) regex->too_large = true;
  else if (!whole && is_plain(pattern)) regex->plain = arena_str(a, pattern);
  else if (translate(&t, whole, &regex->states)) {
    regex->code = compile(a, buf_view(&t.out));
    regex->too_large = !regex->code;  // PCRE2 rejects a valid pattern only if the pattern is too large
    end_run(&t);
    if (!t.branches) regex->part = arena_str(a, (str){t.longest.text, t.longest.n});
  } else regex->too_large = t.too_large;
  buf_done(&t.out);
  return regex;
}

// The cost of a byte grows faster than the number of states, because the engine searches a list of states for each
// state. One step takes about as long as a step of a walk.
uint64_t path_regex_cost(const struct path_regex *regex, size_t n) {
  uint64_t states = regex->states;
  return regex->plain.p ? 1 + n / 16 : 20 + (uint64_t)n * (64 * states + states * states) / 128;
}

static void make_room(struct path_matcher *m, size_t states) {
  ASSERT(m->a);
  size_t need = ROOM_PER_STATE * (ROOM_MIN + 4 * states);
  if (!m->data) {
    pcre2_general_context *memory = pcre2_general_context_create(take_memory, leave_memory, m->a);
    m->data = pcre2_match_data_create(1, memory);
    m->context = pcre2_match_context_create(memory);
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(m->context, HEAP_LIMIT);
  }
  if (m->room_n >= need) return;
  m->room = arena_alloc(m->a, need * sizeof *m->room);
  m->room_n = need;
}

bool path_regex_may_match(const struct path_regex *regex, str text) {
  return !regex->part.n || (text.n && memmem(text.p, text.n, regex->part.p, regex->part.n));
}

bool path_regex_test(const struct path_regex *regex, struct path_matcher *m, str text, bool *out) {
  ASSERT(path_regex_usable(regex) && out);
  if (regex->plain.p) {
    *out = memmem(text.p, text.n, regex->plain.p, regex->plain.n);
    return true;
  }
  make_room(m, regex->states);
  int rc = pcre2_dfa_match(regex->code, (PCRE2_SPTR)text.p, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST, m->data,
                           m->context, m->room, m->room_n);
  if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) return false;
  *out = rc >= 0;
  return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "schema/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/buf.h"
#include "json/text.h"

enum {
  MOST_PATTERN_BYTES = 8192,
  MOST_MATCH_STEPS = 100000,
  MOST_MATCH_WORK = 32 << 20,  // maximum product of steps and bytes of text, because one step may read the whole text
  HEAP_KIB = 4096,
  NESTED_PARENTHESES = 100,
};

// White space as defined by ECMA-262, to be put between the brackets of a character class.
#define SPACES "\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"

// Long names of Unicode general categories, and the short names that PCRE2 requires.
static const struct {
  const char *name, *category;
} categories[] = {
    {"Letter", "L"},
    {"Lowercase_Letter", "Ll"},
    {"Uppercase_Letter", "Lu"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Alphabetic", "L"},
};

static void *arena_malloc(size_t n, void *arena) {
  return arena_alloc(arena, n);
}

static void leave_to_arena(void *p, void *arena) {
}

// Translates the property name in "\p{Letter}", starting at the brace. Returns the number of bytes read.
static size_t put_property(struct buf *out, str rest) {
  const char *close = rest.n && rest.p[0] == '{' ? memchr(rest.p, '}', rest.n) : NULL;
  if (!close) return 0;
  str name = {rest.p + 1, (size_t)(close - rest.p - 1)};
  if (str_starts(name, STR("General_Category="))) name = str_from(name, sizeof "General_Category=" - 1);
  else if (str_starts(name, STR("Script="))) name = str_from(name, sizeof "Script=" - 1);
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
    if (str_eq(name, str_of(categories[i].name))) name = str_of(categories[i].category);
  buf_char(out, '{');
  buf_str(out, name);
  buf_char(out, '}');
  return (size_t)(close - rest.p) + 1;
}

// Translates a surrogate pair such as "\uD83D\uDC32", starting at the first "u". Returns the number of bytes read, or 0
// if the text is not a surrogate pair.
static size_t put_surrogates(struct buf *out, str rest) {
  if (rest.n < 11 || rest.p[5] != '\\' || rest.p[6] != 'u') return 0;
  int high = json_text_hex4(rest.p + 1), low = json_text_hex4(rest.p + 7);
  if (high < 0xd800 || high > 0xdbff || low < 0xdc00 || low > 0xdfff) return 0;
  buf_printf(out, "\\u{%x}", 0x10000 + ((unsigned)(high - 0xd800) << 10) + (unsigned)(low - 0xdc00));
  return 11;
}

// Translates an escape, starting after its backslash. Returns the number of bytes read, or 0 if ECMA-262 does not have
// this escape.
static size_t put_escape(struct buf *out, str rest, bool in_class) {
  char c = rest.n ? rest.p[0] : 0;
  if (c == 's') buf_str(out, in_class ? STR(SPACES) : STR("[" SPACES "]"));
  else if (c == 'S' && !in_class) buf_str(out, STR("[^" SPACES "]"));
  else if (c == 'p' || c == 'P') {
    buf_char(out, '\\');
    buf_char(out, c);
    return 1 + put_property(out, str_from(rest, 1));
  } else if (c == 'u') {
    size_t taken = put_surrogates(out, rest);
    if (taken) return taken;
    buf_str(out, STR("\\u"));
  } else if (isalpha((unsigned char)c) && !strchr("bBcdDfknrStvwWx", c)) {
    return 0;
  } else {
    if (!c) return 0;
    buf_char(out, '\\');
    buf_char(out, c);
  }
  return 1;
}

// Translates the parts of a pattern in which ECMA-262 and PCRE2 differ.
static bool translate(str pattern, struct buf *out) {
  bool in_class = false;
  int depth = 0;
  if (str_starts(pattern, STR("(*"))) return false;
  // Begins the translated pattern with a part that matches the text before a match. So PCRE2 tries only one start
  // position. At each further start position, PCRE2 would reset its limits.
  buf_str(out, STR("(?s:.)*?(?:"));
  for (size_t i = 0; i < pattern.n; i++) {
    char c = pattern.p[i];
    if (c == '\\') {
      size_t taken = put_escape(out, str_from(pattern, i + 1), in_class);
      if (!taken) return false;
      i += taken;
      continue;
    }
    if (c == '[' && in_class) buf_char(out, '\\');  // otherwise "[[:alpha:]]" would become a POSIX class
    if (c == '(' && !in_class) depth++;
    // This ")" would close the group that encloses the whole pattern.
    if (c == ')' && !in_class && --depth < 0) return false;
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    buf_char(out, c);
  }
  buf_char(out, ')');
  return !out->over;
}

static pcre2_code *compile(struct arena *a, str text, int *error) {
  pcre2_general_context *general = pcre2_general_context_create(arena_malloc, leave_to_arena, a);
  pcre2_compile_context *context = pcre2_compile_context_create(general);
  pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
  pcre2_set_parens_nest_limit(context, NESTED_PARENTHESES);
  pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
  uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                     PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
  PCRE2_SIZE at;
  return pcre2_compile((PCRE2_SPTR)text.p, text.n, options, error, &at, context);
}

struct regex *regex_new(struct arena *a, str pattern, char why[REGEX_WHY]) {
  if (pattern.n > MOST_PATTERN_BYTES) {
    snprintf(why, REGEX_WHY, "the pattern is longer than %d bytes", MOST_PATTERN_BYTES);
    return NULL;
  }
  struct buf text;
  buf_init(&text, (size_t)MOST_PATTERN_BYTES * 128);
  int error = 0;
  pcre2_code *code = translate(pattern, &text) ? compile(a, buf_view(&text), &error) : NULL;
  if (!code && error) {
    PCRE2_UCHAR text_of_error[REGEX_WHY - 32];
    pcre2_get_error_message(error, text_of_error, sizeof text_of_error);
    snprintf(why, REGEX_WHY, "not a regular expression: %s", (const char *)text_of_error);
  } else if (!code) {
    snprintf(why, REGEX_WHY, "not a regular expression of ECMA-262");
  }
  buf_done(&text);
  return (struct regex *)code;
}

static void room_init(struct regex_room *room) {
  ASSERT(room->arena);
  pcre2_general_context *general = pcre2_general_context_create(arena_malloc, leave_to_arena, room->arena);
  pcre2_match_context *context = pcre2_match_context_create(general);
  pcre2_set_heap_limit(context, HEAP_KIB);
  room->context = context;
  room->data = pcre2_match_data_create(1, general);
}

// PCRE2 does not report how much work a match took. So this function subtracts the cost of a small limit from *steps
// and tries the match with that limit. If the match needs more work, the function does the same with a larger limit.
enum regex_verdict regex_match(const struct regex *x, str text, struct regex_room *room, size_t *steps) {
  if (!room->data) room_init(room);
  size_t most = MOST_MATCH_WORK / (text.n + 1);
  if (most > MOST_MATCH_STEPS) most = MOST_MATCH_STEPS;
  const size_t tiers[] = {32, 64 + 8 * text.n, most};
  for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
    size_t limit = tiers[i] < most ? tiers[i] : most, cost = limit * (1 + text.n / 64) / 4;
    if (*steps < cost) break;
    *steps -= cost;
    pcre2_set_match_limit(room->context, (uint32_t)limit);
    pcre2_set_depth_limit(room->context, (uint32_t)limit);
    int rc = pcre2_match((const pcre2_code *)x, (PCRE2_SPTR)(text.n ? text.p : ""), text.n, 0, PCRE2_NO_UTF_CHECK,
                         room->data, room->context);
    if (rc >= 0) return REGEX_YES;
    if (rc == PCRE2_ERROR_NOMATCH) return REGEX_NO;
    if (limit == most || (rc != PCRE2_ERROR_MATCHLIMIT && rc != PCRE2_ERROR_DEPTHLIMIT)) break;
  }
  return REGEX_LIMIT;
}

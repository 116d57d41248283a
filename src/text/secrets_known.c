// SPDX-License-Identifier: Apache-2.0
// Finds known secrets and addresses (struct secrets_known) in texts.
#include "base/ascii.h"
#include "base/assert.h"
#include "base/mem.h"
#include "text/secrets.h"
#include "json/text.h"

#define CUT_MARK "…"

// The state of a search for known values in one text.
struct known_finder {
  const struct secrets_known *known;
  size_t mark;  // length of CUT_MARK at the end of the text, or 0 if the text does not end with it
  // Indexed by byte in lower case: whether a known value begins with it. Quickly excludes most positions.
  bool begins[256];
};

static struct known_finder finder_of(const struct secrets_known *known) {
  struct known_finder f = {.known = known};
  for (size_t i = 0; i < known->count; i++) f.begins[(unsigned char)ascii_lower(known->values[i].p[0])] = true;
  return f;
}

// Returns how many bytes of `value` fit between text[at] and the end of the text: all of them or, if the text is cut,
// the bytes before the cut. Returns 0 if fewer than `least` bytes fit. The caller compares the bytes.
static size_t part_at(const struct known_finder *f, str text, size_t at, str value, size_t least) {
  str rest = str_from(text, at);
  size_t left = rest.n > f->mark ? rest.n - f->mark : 0;
  size_t n = value.n <= rest.n && (value.n <= left || str_starts(rest, value)) ? value.n : left;
  return n >= least && n <= value.n ? n : 0;
}

// Returns whether a word may begin at text[at]: if no letter or digit precedes it, or if a percent-encoded character
// such as %2F precedes it.
static bool begins_word(str text, size_t at) {
  return at == 0 || !ascii_is_alnum(text.p[at - 1]) || (at >= 3 && text.p[at - 3] == '%');
}

static bool ends_word(str text, size_t at) {
  return at >= text.n || !ascii_is_alnum(text.p[at]);
}

static size_t secret_at(const struct known_finder *f, str text, size_t at, str value) {
  size_t n = part_at(f, text, at, value, SECRETS_LEAST);
  return n && memcmp(value.p, text.p + at, n) == 0 ? n : 0;
}

static size_t address_at(const struct known_finder *f, str text, size_t at, str value) {
  // If a known value is cut by the end of the text, at least CUT_LEAST bytes of it must match. Fewer bytes may be a
  // common beginning, such as "https://".
  enum { CUT_LEAST = 10 };
  size_t n = part_at(f, text, at, value, value.n < CUT_LEAST ? value.n : CUT_LEAST);
  return n && ends_word(text, at + n) && str_eq_nocase((str){text.p + at, n}, (str){value.p, n}) ? n : 0;
}

// Fast check that excludes most positions where only the first byte of a value matches. Compares bytes 1 and 3, which
// exist because a value has at least ADDRESS_LEAST bytes.
static bool may_match(str text, size_t at, str value) {
  const char *p = text.p + at;
  return text.n - at >= ADDRESS_LEAST && ascii_lower(p[1]) == ascii_lower(value.p[1]) &&
         ascii_lower(p[3]) == ascii_lower(value.p[3]);
}

struct match {
  size_t n;
  bool address;
};

// Returns the longest known value at text[at], or the beginning of a value if the text is cut there.
static struct match match_at(const struct known_finder *f, str text, size_t at) {
  struct match longest = {0};
  if (!f->begins[(unsigned char)ascii_lower(text.p[at])]) return longest;
  size_t secrets = f->known->count - f->known->addresses, count = begins_word(text, at) ? f->known->count : secrets;
  for (size_t i = 0; i < count; i++) {
    bool address = i >= secrets;
    str value = f->known->values[i];
    if (!may_match(text, at, value)) continue;
    size_t n = address ? address_at(f, text, at, value) : secret_at(f, text, at, value);
    if (n > longest.n) longest = (struct match){n, address};
  }
  return longest;
}

static bool is_any(const struct secrets_known *known) {
  return known && known->count;
}

// Prepares the finder for a text, and returns whether the text has a known value.
static bool has(struct known_finder *f, str text) {
  f->mark = str_ends(text, STR(CUT_MARK)) ? sizeof CUT_MARK - 1 : 0;
  for (size_t i = 0; i < text.n; i++)
    if (match_at(f, text, i).n) return true;
  return false;
}

// Returns the end of the match of n bytes at `from`, extended by matches that begin inside it.
static size_t end_of(const struct known_finder *f, str text, size_t from, size_t n) {
  size_t end = from + n;
  for (size_t i = from + 1; i < end; i++) {
    size_t inner = match_at(f, text, i).n;
    if (i + inner > end) end = i + inner;
  }
  return end;
}

str secrets_mask_known(struct arena *a, str text, const struct secrets_known *known) {
  if (!is_any(known)) return text;
  struct known_finder f = finder_of(known);
  if (!has(&f, text)) return text;
  struct buf b;
  size_t told = 0;
  buf_init(&b, (text.n / ADDRESS_LEAST + 1) * sizeof SECRETS_MASK + text.n);
  for (size_t i = 0; i < text.n; i++) {
    struct match found = match_at(&f, text, i);
    if (!found.n) continue;
    buf_str(&b, (str){text.p + told, i - told});
    buf_str(&b, found.address ? STR(SECRETS_ADDRESS) : STR(SECRETS_MASK));
    told = end_of(&f, text, i, found.n);
    i = told - 1;
  }
  buf_str(&b, str_from(text, told));
  str masked = arena_str(a, buf_view(&b));
  buf_done(&b);
  return masked;
}

// ---- JSON

// Searches the text of a folded JSON value (json_parse_folding) twice: unchanged, then with its escapes decoded.
static bool has_folded(struct known_finder *f, str raw) {
  if (has(f, raw)) return true;
  if (!memchr(raw.p, '\\', raw.n)) return false;
  char *plain = mem_alloc(raw.n);
  bool found = has(f, (str){plain, json_text_unescape(raw, plain)});
  mem_free(plain);
  return found;
}

static bool has_within(struct known_finder *f, const struct json *v, struct arena *scratch) {
  str text;
  if (json_is_folded(v)) return has_folded(f, json_span(v));
  bool found = json_string(v, scratch, &text) && has(f, text);
  if (scratch->head) arena_reset(scratch);
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return found;
  JSON_EACH(it, v)
    if ((v->type == JSON_OBJECT && has(f, json_key(it, scratch))) || has_within(f, it, scratch)) return true;
  return false;
}

bool secrets_in_json(const struct json *v, const struct secrets_known *known) {
  ASSERT(!known || known->addresses <= known->count);
  if (!is_any(known)) return false;
  struct known_finder f = finder_of(known);
  struct arena scratch;
  arena_init(&scratch);
  bool found = has_within(&f, v, &scratch);
  arena_done(&scratch);
  return found;
}

struct secrets_known secrets_copy(const struct secrets_known *known, struct arena *a) {
  ASSERT(known->addresses <= known->count);
  if (!is_any(known)) return (struct secrets_known){0};
  str *values = ARENA_ARRAY(a, str, known->count);
  for (size_t i = 0; i < known->count; i++) values[i] = arena_str(a, known->values[i]);
  return (struct secrets_known){values, known->count, known->addresses};
}

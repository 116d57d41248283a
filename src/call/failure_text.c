// SPDX-License-Identifier: Apache-2.0
#include "call/failure_text.h"

#include "base/ascii.h"
#include "mcp/client/link.h"

// ---- words

static bool is_word(char c) {
  return ascii_is_alnum(c) || c == '_';
}

// Returns the character at index `i`, or a blank if `i` is outside the text. Index −1 wraps to SIZE_MAX, so it is also
// outside.
static char at(str text, size_t i) {
  return i < text.n ? text.p[i] : ' ';
}

// Returns whether the phrase is at position `from`, as whole words in any case. A blank in the phrase also matches a
// hyphen or an underscore, because error codes such as RATE_LIMIT_EXCEEDED contain them.
static bool matches(str text, size_t from, str phrase) {
  if (from + phrase.n > text.n) return false;
  for (size_t i = 0; i < phrase.n; i++) {
    char c = ascii_lower(text.p[from + i]);
    bool gap = phrase.p[i] == ' ' && (c == '_' || c == '-');
    if (c != phrase.p[i] && !gap) return false;
  }
  return !is_word(at(text, from - 1)) && !is_word(at(text, from + phrase.n));
}

// Returns whether the text contains the phrase outside quotes. In quotes, the phrase is only a name.
static bool contains(str text, str phrase) {
  for (size_t i = 0; i < text.n; i++) {
    if (!matches(text, i, phrase)) continue;
    char quote = at(text, i - 1);
    bool quoted = quote == '"' || quote == '\'' || quote == '`';
    if (!quoted || quote != at(text, i + phrase.n)) return true;
  }
  return false;
}

// Returns whether the phrase of `n` bytes at `from` is the main part of the message: only a word such as "Error:" may
// precede it, and only an explanation may follow. If `colon` is false, the explanation must not begin with a colon,
// because the phrase may then be the name of a parameter ("timeout: must be a number").
static bool heads(str text, size_t from, size_t n, bool colon) {
  static const str leads[] = {STR("error"), STR("exception"), STR("failed"), STR("failure"), STR("http")};
  str before = str_trim((str){text.p, from}), after = str_trim(str_from(text, from + n));
  bool led = before.n == 0;
  for (size_t i = 0; i < sizeof leads / sizeof *leads && !led; i++)
    led = str_ends(before, STR(":")) && contains(before, leads[i]);
  return led && (after.n == 0 || strchr(colon ? ".!,;(:" : ".!,;(", after.p[0]));
}

static bool is_alone(str text, str phrase, bool colon) {
  for (size_t i = 0; i < text.n; i++)
    if (matches(text, i, phrase) && heads(text, i, phrase.n, colon)) return true;
  return false;
}

// ---- numbers

// Returns whether `before`, the text before a number, ends with a word that shows that the number is an HTTP status:
// "HTTP 401", "HTTP/1.1 401", "status code: 429", "statusCode=429".
static bool follows_status(str before) {
  static const str words[] = {STR("http"), STR("status"), STR("status code"), STR("statuscode"), STR("error code")};
  while (before.n && strchr(" :=(#", before.p[before.n - 1])) before.n--;
  if (str_ends(before, STR("/1.1")) || str_ends(before, STR("/1.0"))) before.n -= 4;
  else if (str_ends(before, STR("/2"))) before.n -= 2;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (before.n >= words[i].n && matches(before, before.n - words[i].n, words[i])) return true;
  return false;
}

// Returns whether `after`, the text after a number, begins with an HTTP reason phrase, which shows that the number is
// an HTTP status: "401 Unauthorized".
static bool precedes_reason(str after) {
  static const str reasons[] = {STR("unauthorized"),        STR("forbidden"),         STR("proxy authentication"),
                                STR("request timeout"),     STR("too many requests"), STR("bad gateway"),
                                STR("service unavailable"), STR("gateway timeout"),   STR("client error")};
  while (after.n && strchr(" :-)", after.p[0])) after = str_from(after, 1);
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (matches(after, 0, reasons[i])) return true;
  return false;
}

static enum fault_code status_in(str text) {
  enum { DIGITS = 3 };
  for (size_t i = 0; i + DIGITS <= text.n; i++) {
    uint64_t status;
    bool whole = !is_word(at(text, i - 1)) && !is_word(at(text, i + DIGITS));
    if (!whole || !str_to_u64((str){text.p + i, DIGITS}, &status)) continue;
    enum fault_code code = link_status_code((int)status);
    bool said = follows_status((str){text.p, i}) || precedes_reason(str_from(text, i + DIGITS));
    if (code != FAULT_UPSTREAM_ERROR && said) return code;
  }
  return FAULT_UPSTREAM_ERROR;
}

// ---- the table

struct phrase {
  str words;
  enum fault_code code;
  enum { ANYWHERE, ALONE, ALONE_OR_EXPLAINED } where;
};

static const struct phrase phrases[] = {
    {STR("unauthorized"), FAULT_AUTH_FAILED, ALONE_OR_EXPLAINED},
    {STR("unauthenticated"), FAULT_AUTH_FAILED, ALONE_OR_EXPLAINED},
    {STR("not authenticated"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("authentication failed"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("authentication required"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("authentication error"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("invalid api key"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("invalid credentials"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("bad credentials"), FAULT_AUTH_FAILED, ANYWHERE},
    {STR("forbidden"), FAULT_PERMISSION_DENIED, ALONE_OR_EXPLAINED},
    {STR("is forbidden"), FAULT_PERMISSION_DENIED, ANYWHERE},
    {STR("permission denied"), FAULT_PERMISSION_DENIED, ANYWHERE},
    {STR("access denied"), FAULT_PERMISSION_DENIED, ANYWHERE},
    {STR("rate limit"), FAULT_RATE_LIMITED, ALONE},
    {STR("rate limit exceeded"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("rate limit reached"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("exceeded rate limit"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("exceeded the rate limit"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("exceeded your rate limit"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("rate limited"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("too many requests"), FAULT_RATE_LIMITED, ANYWHERE},
    {STR("timeout"), FAULT_UPSTREAM_TIMEOUT, ALONE},
    {STR("request timeout"), FAULT_UPSTREAM_TIMEOUT, ALONE},
    {STR("connection timeout"), FAULT_UPSTREAM_TIMEOUT, ALONE},
    {STR("read timeout"), FAULT_UPSTREAM_TIMEOUT, ALONE},
    {STR("gateway timeout"), FAULT_UPSTREAM_TIMEOUT, ALONE},
    {STR("timed out"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
    {STR("timeout exceeded"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
    {STR("timeout expired"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
    {STR("timeout waiting"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
    {STR("deadline exceeded"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
    {STR("etimedout"), FAULT_UPSTREAM_TIMEOUT, ANYWHERE},
};

static bool says(str text, const struct phrase *p) {
  return p->where == ANYWHERE ? contains(text, p->words) : is_alone(text, p->words, p->where == ALONE_OR_EXPLAINED);
}

enum fault_code failure_text_code(str text) {
  enum fault_code code = status_in(text);
  for (size_t i = 0; code == FAULT_UPSTREAM_ERROR && i < sizeof phrases / sizeof *phrases; i++)
    if (says(text, &phrases[i])) code = phrases[i].code;
  return code;
}

// SPDX-License-Identifier: Apache-2.0
#include "text/secrets.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "json/write.h"

enum { NAME_MOST = 64, NAMED_LEAST = 6, BEARER_LEAST = 10, BEARER_SURE = 20, JWT_MOST = 8192 };

// The range of a text to mask: the bytes from `from` up to, but not including, `to`.
struct secret_span {
  size_t from, to;
};

static bool is_capital(char c) {
  return ascii_is_upper(c) || ascii_is_digit(c);
}
static bool is_word(char c) {
  static const bool words[256] = {['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['_'] = true};
  return words[(unsigned char)c];
}
static bool is_wide(char c) {
  return is_word(c) || c == '-';
}
static bool is_dotted(char c) {
  return is_wide(c) || c == '.';
}
static bool is_bearer(char c) {
  return is_dotted(c) || c == '~' || c == '+' || c == '/' || c == '=';
}
// Returns whether a character may be part of a secret value after a name, or of a password in a URL. Such values end at
// blanks, quotes, brackets and list separators.
static bool is_value(char c) {
  return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"'`,;&<>(){}|\\", c);
}
static bool is_userinfo(char c) {
  return is_value(c) && c != '/' && c != '@';
}

static size_t run(str text, size_t at, bool (*is)(char)) {
  size_t end = at;
  while (end < text.n && is(text.p[end])) end++;
  return end - at;
}

// ---- secrets of a known form

struct secret_form {
  str prefix;
  size_t least;  // minimum number of characters after the prefix
  bool (*is)(char);
};

static bool find_form(str text, size_t at, struct secret_span *out) {
  static const struct secret_form forms[] = {
      {STR("AKIA"), 16, is_capital},  {STR("ASIA"), 16, is_capital},     {STR("AGPA"), 16, is_capital},
      {STR("AIDA"), 16, is_capital},  {STR("AROA"), 16, is_capital},     {STR("AIPA"), 16, is_capital},
      {STR("ANPA"), 16, is_capital},  {STR("ANVA"), 16, is_capital},     {STR("A3T"), 17, is_capital},
      {STR("AIza"), 35, is_wide},     {STR("ghp_"), 36, is_word},        {STR("gho_"), 36, is_word},
      {STR("ghu_"), 36, is_word},     {STR("ghs_"), 36, is_word},        {STR("ghr_"), 36, is_word},
      {STR("xoxb-"), 10, is_wide},    {STR("xoxa-"), 10, is_wide},       {STR("xoxp-"), 10, is_wide},
      {STR("xoxr-"), 10, is_wide},    {STR("xoxs-"), 10, is_wide},       {STR("xapp-"), 12, is_wide},
      {STR("glpat-"), 20, is_wide},   {STR("sk-"), 20, is_wide},         {STR("sk_live_"), 16, is_word},
      {STR("rk_live_"), 16, is_word}, {STR("github_pat_"), 22, is_word}, {STR("SG."), 33, is_dotted},
      {STR("npm_"), 36, is_word},     {STR("hf_"), 30, is_word},         {STR("pypi-"), 40, is_wide},
  };
  if (at && is_word(text.p[at - 1])) return false;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const struct secret_form *f = &forms[i];
    if (text.p[at] != f->prefix.p[0] || !str_starts(str_from(text, at), f->prefix)) continue;
    size_t n = run(text, at + f->prefix.n, f->is);
    if (n >= f->least) {
      *out = (struct secret_span){at, at + f->prefix.n + n};
      return true;
    }
  }
  return false;
}

// Finds a JWT: header.payload.signature, where header and payload are JSON objects in base64.
static bool find_jwt(str text, size_t at, struct secret_span *out) {
  str rest = str_from(text, at);
  if (rest.n > JWT_MOST) rest.n = JWT_MOST;
  if (!str_starts(rest, STR("eyJ")) || (at && is_wide(text.p[at - 1])))
    // A JWT begins only at the start of a run of base64 characters, so that each run is read only once.
    return false;
  size_t head = run(rest, 0, is_wide);
  if (!str_starts(str_from(rest, head), STR(".eyJ"))) return false;
  *out = (struct secret_span){at, at + head + 1 + run(text, at + head + 1, is_dotted)};
  return true;
}

static size_t find_after(str text, size_t at, str what) {
  for (; text.n - at >= what.n; at++)
    if (memcmp(text.p + at, what.p, what.n) == 0) return at + what.n;
  return text.n;
}

// Finds a private key. The key ends with its END line, or at the end of the text if this line is missing.
static bool find_private_key(str text, size_t at, struct secret_span *out) {
  str rest = str_from(text, at);
  if (!str_starts(rest, STR("-----BEGIN "))) return false;
  size_t head = find_after(rest, STR("-----BEGIN ").n, STR("-----"));
  if (!str_ends((str){rest.p, head}, STR("PRIVATE KEY-----"))) return false;
  size_t end = find_after(rest, head, STR("-----END "));
  *out = (struct secret_span){at, at + find_after(rest, end, STR("-----"))};
  return true;
}

// ---- secrets that follow a name

// Finds the password in ://user:password@.
static bool find_in_url(str text, size_t at, struct secret_span *out) {
  if (!str_starts(str_from(text, at), STR("://"))) return false;
  size_t user = at + 3, n = run(text, user, is_userinfo), end = user + n;
  const char *colon = n ? memchr(text.p + user, ':', n) : NULL;
  if (end == text.n || text.p[end] != '@' || !colon) return false;
  *out = (struct secret_span){(size_t)(colon - text.p) + 1, end};
  return out->from < out->to;
}

// Returns whether the word after "bearer" is a secret. A short word of lower-case letters is ordinary text.
static bool is_secret_word(str word) {
  if (word.n >= BEARER_SURE) return true;
  for (size_t i = 0; i < word.n; i++)
    if (ascii_is_digit(word.p[i]) || ascii_is_upper(word.p[i])) return word.n >= BEARER_LEAST;
  return false;
}

static bool has_digit(str word) {
  for (size_t i = 0; i < word.n; i++)
    if (ascii_is_digit(word.p[i])) return true;
  return false;
}

// Skips white space, including line breaks and escapes such as \n in JSON text. Sets *broken if it skips a line break.
static size_t skip_space(str text, size_t at, bool *broken) {
  for (; at < text.n; at++) {
    char c = text.p[at];
    bool escaped = c == '\\' && at + 1 < text.n && strchr("nrt", text.p[at + 1]) && text.p[at + 1];
    if (!escaped && c != ' ' && c != '\t' && c != '\n' && c != '\r') break;
    if (escaped) at++;
    if (c != ' ' && c != '\t') *broken = true;
  }
  return at;
}

// Finds the token after "bearer". A token on the next line must contain a digit, because the next line is usually other
// text. If no blank follows "bearer", does not read the following text: reading the same text repeatedly would take
// quadratic time.
static bool find_bearer(str text, size_t at, struct secret_span *out) {
  if (!str_starts_nocase(str_from(text, at), STR("bearer")) || (at && is_word(text.p[at - 1]))) return false;
  bool broken = false;
  size_t from = skip_space(text, at + 6, &broken);
  if (from == at + 6) return false;
  size_t n = run(text, from, is_bearer);
  str word = {text.p + from, n};
  if (!is_secret_word(word) || (broken && !has_digit(word))) return false;
  *out = (struct secret_span){from, from + n};
  return true;
}

static bool has_word(str name, str word) {
  for (size_t i = 0; i + word.n <= name.n; i++) {
    size_t k = 0;
    while (k < word.n && (ascii_lower(name.p[i + k]) == word.p[k] || (word.p[k] == '_' && name.p[i + k] == '-'))) k++;
    if (k == word.n) return true;
  }
  return false;
}

// Returns whether a name contains a word for a secret. If `sure` is true, ignores words such as "key" and "header",
// which are common in plain text. Callers pass false only where unnecessary masking does no harm.
static bool has_secret_word(str name, bool sure) {
  static const struct {
    str word;
    bool sure;
  } words[] = {
      {STR("api_key"), true},   {STR("apikey"), true},        {STR("secret"), true},      {STR("token"), true},
      {STR("password"), true},  {STR("passwd"), true},        {STR("pwd"), true},         {STR("access_key"), true},
      {STR("accesskey"), true}, {STR("private_key"), true},   {STR("account_key"), true}, {STR("accountkey"), true},
      {STR("cookie"), true},    {STR("authorization"), true}, {STR("key"), false},        {STR("pass"), false},
      {STR("auth"), false},     {STR("header"), false},       {STR("credential"), false},
  };
  uint32_t letters = 0;  // the letters of the name, in either case, which exclude most words
  for (size_t i = 0; i < name.n; i++) letters |= 1u << (name.p[i] & 31);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!(letters >> (words[i].word.p[0] & 31) & 1) || (sure && !words[i].sure)) continue;
    if (has_word(name, words[i].word)) return true;
  }
  return false;
}

bool secrets_is_name(str name) {
  return has_secret_word(name, true);
}

bool secrets_may_name(str name) {
  return has_secret_word(name, false);
}

static bool is_between(char c) {
  // The backslash is for JSON inside a JSON string, whose quotes are escaped.
  return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '\\';
}

// Returns the name that ends before text[at]; quotes or blanks may follow the name.
static str name_before(str text, size_t at) {
  size_t end = at, least = at > NAME_MOST ? at - NAME_MOST : 0;
  while (end > least && is_between(text.p[end - 1])) end--;
  size_t from = end;
  while (from > least && is_wide(text.p[from - 1])) from--;
  return (str){text.p + from, end - from};
}

static bool is_header_value(char c) {
  return c != '\n' && c != '\r' && c != '"' && c != '\\';
}

static bool is_cookie_name(char c) {
  return is_header_value(c) && c != '=' && c != ' ';
}

// Finds the value in "Cookie: a=b; c=d", up to the end of the line. Reads the rest of the line only if this rest starts
// with the name of a cookie: reading other text to its end repeatedly would take quadratic time.
static bool find_cookie(str text, size_t from, struct secret_span *out) {
  str head = str_from(text, from);
  if (head.n > NAME_MOST) head.n = NAME_MOST;
  size_t name = run(head, 0, is_cookie_name);
  if (name == head.n || head.p[name] != '=') return false;
  size_t n = run(text, from, is_header_value);
  *out = (struct secret_span){from, from + n};
  return n >= NAMED_LEAST;
}

// Finds the value in "Authorization: Basic xxx". If the scheme is unknown, finds only text that looks like a secret.
static bool find_authorization(str text, size_t from, struct secret_span *out) {
  static const str schemes[] = {STR("basic "), STR("digest "), STR("negotiate "), STR("token "), STR("apikey ")};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    if (!str_starts_nocase(str_from(text, from), schemes[i])) continue;
    from += schemes[i].n;
    *out = (struct secret_span){from, from + run(text, from, is_header_value)};
    return out->to > from;
  }
  *out = (struct secret_span){from, from + run(text, from, is_value)};
  return is_secret_word((str){text.p + from, out->to - from});
}

static bool find_named(str text, size_t at, struct secret_span *out) {
  str name = name_before(text, at);
  if ((text.p[at] != ':' && text.p[at] != '=') || !secrets_is_name(name)) return false;
  size_t from = at + 1;
  while (from < text.n && is_between(text.p[from])) from++;
  if (has_word(name, STR("cookie"))) return find_cookie(text, from, out);
  if (has_word(name, STR("authorization"))) return find_authorization(text, from, out);
  size_t n = run(text, from, is_value);
  str value = {text.p + from, n};
  if (n < NAMED_LEAST || str_eq_nocase(value, STR("bearer"))) return false;
  *out = (struct secret_span){from, from + n};
  return true;
}

// Finds the value in "--password value". Returns at once if no option can begin at text[at]: reading on at each
// position would take quadratic time.
static bool find_flag(str text, size_t at, struct secret_span *out) {
  if (!str_starts(str_from(text, at), STR("--")) || (at && is_wide(text.p[at - 1]))) return false;
  size_t name = run(text, at + 2, is_wide), from = at + 2 + name;
  if (name > NAME_MOST || !secrets_is_name((str){text.p + at + 2, name})) return false;
  while (from < text.n && text.p[from] == ' ') from++;
  if (from == at + 2 + name || from == text.n || text.p[from] == '-') return false;
  *out = (struct secret_span){from, from + run(text, from, is_value)};
  return out->to - from >= NAMED_LEAST;
}

// ---- all forms

static bool find(str text, size_t at, struct secret_span *out) {
  switch (text.p[at]) {
  case ':': return find_in_url(text, at, out) || find_named(text, at, out);
  case '=': return find_named(text, at, out);
  case '-': return find_private_key(text, at, out) || find_flag(text, at, out);
  case 'b':
  case 'B': return find_bearer(text, at, out);
  case 'e': return find_jwt(text, at, out);
  case 'A':  // the first characters of all forms
  case 'S':
  case 'g':
  case 'h':
  case 'n':
  case 'p':
  case 'r':
  case 's':
  case 'x': return find_form(text, at, out);
  default: return false;
  }
}

static size_t masked_max(size_t n) {
  return n + n / NAMED_LEAST * sizeof SECRETS_MASK + sizeof SECRETS_MASK;
}

// Writes the text with its secrets masked. Returns false, with nothing written, if the text has no secret.
static bool mask(struct buf *out, str text) {
  struct secret_span found;
  size_t told = 0;
  bool word = false;
  for (size_t i = 0; i < text.n; i++) {
    bool was_word = word;
    word = is_word(text.p[i]);
    if (word && was_word) continue;  // no secret begins within a word
    if (!find(text, i, &found)) continue;
    buf_str(out, (str){text.p + told, found.from - told});
    buf_str(out, STR(SECRETS_MASK));
    told = found.to;
    i = found.to - 1;
    word = is_word(text.p[i]);
  }
  if (told) buf_str(out, str_from(text, told));
  return told > 0;
}

str secrets_mask(struct arena *a, str text, const struct secrets_known *known) {
  struct buf b;
  text = secrets_mask_known(a, text, known);
  buf_init(&b, masked_max(text.n));
  str masked = mask(&b, text) ? arena_str(a, buf_view(&b)) : text;
  buf_done(&b);
  return masked;
}

// Returns whether a private key begins on this line and ends on a later one.
static bool opens_key(str line) {
  struct secret_span found;
  const char *begin = memmem(line.p, line.n, "-----BEGIN ", 11);
  size_t at = begin ? (size_t)(begin - line.p) : 0;
  return begin && find_private_key(line, at, &found) && !memmem(begin, line.n - at, "-----END ", 9);
}

// Masks a line of a private key that began on an earlier line. If the key ends on this line, keeps the text after its
// end.
static str after_key(struct secrets_stream *s, struct arena *a, str line) {
  size_t end = find_after(line, 0, STR("-----END "));
  bool ended = end < line.n;
  s->key_lines = ended ? 0 : s->key_lines - 1;
  str rest = ended ? str_from(line, find_after(line, end, STR("-----"))) : STR_NONE;
  return rest.n ? arena_printf(a, SECRETS_MASK "%.*s", STR_ARG(rest)) : STR(SECRETS_MASK);
}

str secrets_mask_line(struct secrets_stream *s, struct arena *a, str line, const struct secrets_known *known) {
  enum { KEY_LINES = 200 };  // maximum lines to mask if a key has no end; real keys have fewer lines
  if (s->key_lines) line = after_key(s, a, line);
  if (opens_key(line)) s->key_lines = KEY_LINES;
  return secrets_mask(a, line, known);
}

// ---- JSON

struct masking {
  struct json_writer w;
  const struct secrets_known *known;
  struct arena scratch;
  bool found;
};

static void forget(struct masking *m) {
  if (m->scratch.head) arena_reset(&m->scratch);
}

static bool has_mask(str text) {
  return memmem(text.p, text.n, SECRETS_MASK, sizeof SECRETS_MASK - 1) ||
         memmem(text.p, text.n, SECRETS_ADDRESS, sizeof SECRETS_ADDRESS - 1);
}

// Returns the key of a member with its secrets masked. Adds a number to each key that contains a mask, so that the keys
// of an object stay different.
static str masked_key(struct masking *m, str key, size_t at) {
  str masked = secrets_mask(&m->scratch, key, m->known);
  if (str_eq(masked, key) && !has_mask(key)) return key;
  m->found = true;
  return arena_printf(&m->scratch, "%.*s %zu", STR_ARG(masked), at);
}

// Writes a string with its secrets masked. Frees the unescaped text before it writes the masked text, so that memory
// holds fewer copies of a large text.
static void put_string(struct masking *m, str text, bool named) {
  struct buf b;
  if (named && text.n >= NAMED_LEAST) {
    json_put_str(&m->w, STR(SECRETS_MASK));
    m->found = true;
    return;
  }
  str rest = secrets_mask_known(&m->scratch, text, m->known);
  buf_init(&b, masked_max(rest.n));
  bool found = mask(&b, rest);
  m->found = m->found || found || rest.p != text.p;
  if (found) forget(m);
  json_put_str(&m->w, found ? buf_view(&b) : rest);
  buf_done(&b);
}

static void put_masked(struct masking *m, const struct json *v, bool named);

static void put_members(struct masking *m, const struct json *v) {
  size_t at = 0;
  json_begin_object(&m->w);
  JSON_EACH(it, v) {
    str key = json_key(it, &m->scratch);
    json_put_key(&m->w, masked_key(m, key, ++at));
    bool secret = secrets_is_name(key);
    forget(m);
    put_masked(m, it, secret);
  }
  json_end_object(&m->w);
}

static void put_masked(struct masking *m, const struct json *v, bool named) {
  str text;
  if (json_is_folded(v)) {
    json_put_raw(&m->w, STR("null"));
  } else if (v->type == JSON_OBJECT) {
    put_members(m, v);
  } else if (v->type == JSON_ARRAY) {
    json_begin_array(&m->w);
    JSON_EACH(it, v) put_masked(m, it, named);
    json_end_array(&m->w);
  } else if (json_string(v, &m->scratch, &text)) {
    put_string(m, text, named);
    forget(m);
  } else {
    json_put_raw(&m->w, json_span(v));
  }
}

bool secrets_put_json(struct buf *out, const struct json *v, const struct secrets_known *known) {
  ASSERT(out && v);
  struct masking m = {.w = json_writer(out), .known = known};
  arena_init(&m.scratch);
  put_masked(&m, v, false);
  arena_done(&m.scratch);
  return m.found;
}

size_t secrets_json_max(const struct json *v) {
  return (size_t)v->n * (32 + sizeof SECRETS_MASK) + 64;
}

str secrets_mask_json(struct arena *a, const struct json *v, const struct secrets_known *known) {
  ASSERT(v);
  struct buf b;
  buf_init(&b, secrets_json_max(v));
  secrets_put_json(&b, v, known);
  str masked = arena_str(a, buf_view(&b));
  buf_done(&b);
  return masked;
}

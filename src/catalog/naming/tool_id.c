// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/tool_id.h"

#include "base/ascii.h"
#include "base/crypto/hash.h"
#include "base/text/utf8.h"

static bool is_namespace_char(char c) {
  return ascii_is_lower(c) || ascii_is_digit(c) || c == '_' || c == '-';
}
static bool is_name_char(char c) {
  return ascii_is_alnum(c) || c == '_' || c == '.' || c == '-';
}
static bool is_hash_char(char c) {
  return ascii_is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool all(str s, bool (*is)(char c)) {
  for (size_t i = 0; i < s.n; i++)
    if (!is(s.p[i])) return false;
  return true;
}

bool tool_id_is_namespace(str s) {
  return s.n > 0 && s.n <= TOOL_ID_NAMESPACE_MAX && ascii_is_lower(s.p[0]) && all(s, is_namespace_char);
}

bool tool_id_is_name(str s) {
  return s.n > 0 && s.n <= TOOL_ID_NAME_MAX && (ascii_is_letter(s.p[0]) || s.p[0] == '_') && all(s, is_name_char);
}

bool tool_id_is_version(str s) {
  return s.n > 0 && s.n <= TOOL_ID_VERSION_MAX && all(s, is_name_char);
}

static bool is_hash8(str s) {
  return s.n == TOOL_ID_HASH && all(s, is_hash_char);
}

static bool refuse(struct fault *f, const char *what, str part, const char *rule) {
  fault_set(f, FAULT_INVALID, "%s '%.*s' of a tool_id must match %s", what, STR_ARG(part), rule);
  return false;
}

static bool too_long(struct fault *f, size_t n) {
  fault_set(f, FAULT_INVALID, "tool_id exceeds 240-char limit: %zu chars", n);
  return false;
}

// Returns the length of the id without the prefix "resource::" or "prompt::".
static size_t body_length(const struct tool_id_parts *p) {
  return p->namespace.n + 1 + p->name.n + (p->version.p ? 1 + p->version.n : 0) + (p->hash8.p ? 1 + p->hash8.n : 0);
}

static bool check(const struct tool_id_parts *p, struct fault *f) {
  if (!tool_id_is_namespace(p->namespace)) return refuse(f, "namespace", p->namespace, "[a-z][a-z0-9_-]{0,63}");
  if (!tool_id_is_name(p->name)) return refuse(f, "name", p->name, "[A-Za-z_][A-Za-z0-9_.-]{0,127}");
  if (p->version.p && !tool_id_is_version(p->version)) return refuse(f, "version", p->version, "[A-Za-z0-9._-]{1,32}");
  if (p->hash8.p && !is_hash8(p->hash8)) return refuse(f, "hash8", p->hash8, "[0-9a-f]{8}");
  if (!p->version.p && !p->hash8.p) {
    fault_set(f, FAULT_INVALID, "tool_id requires hash8 when version is absent");
    return false;
  }
  return body_length(p) <= TOOL_ID_MAX || too_long(f, body_length(p));
}

// Cuts `s` at its last `mark` and returns the text after it, which may be empty. Returns STR_NONE if there is no mark.
static str cut_tail(str *s, char mark) {
  const char *at = memrchr(s->p, mark, s->n);
  if (!at) return STR_NONE;
  str tail = {at + 1, (size_t)(s->p + s->n - at - 1)};
  s->n = (size_t)(at - s->p);
  return tail;
}

bool tool_id_parse(str id, struct tool_id_parts *out, struct fault *f) {
  struct tool_id_parts p = {.kind = TOOL_ID_TOOL};
  str rest;
  if (id.n > TOOL_ID_MAX) return too_long(f, id.n);
  if (id.n == 0 || !str_cut(id, ':', &p.namespace, &rest)) {
    fault_set(f, FAULT_INVALID, "tool_id '%.*s' has no namespace separator ':'", STR_ARG(id));
    return false;
  }
  p.hash8 = cut_tail(&rest, '#');
  p.version = cut_tail(&rest, '@');
  p.name = rest;
  if (!check(&p, f)) return false;
  *out = p;
  return true;
}

static const str kind_prefix[] = {
    [TOOL_ID_TOOL] = {"", 0}, [TOOL_ID_RESOURCE] = {"resource::", 10}, [TOOL_ID_PROMPT] = {"prompt::", 8}};

// Removes the prefix "resource::" or "prompt::" from *rest.
static bool cut_kind(str *rest, enum tool_id_kind *out, struct fault *f) {
  const char *at = rest->n ? memmem(rest->p, rest->n, "::", 2) : NULL;
  *out = TOOL_ID_TOOL;
  if (!at) return true;
  for (enum tool_id_kind k = TOOL_ID_RESOURCE; k <= TOOL_ID_PROMPT; k++) {
    if (!str_starts(*rest, kind_prefix[k])) continue;
    *rest = str_from(*rest, kind_prefix[k].n);
    *out = k;
    return true;
  }
  fault_set(f, FAULT_INVALID, "id has an unknown kind prefix '%.*s' (expected resource or prompt)", (int)(at - rest->p),
            rest->p);
  return false;
}

bool primitive_id_parse(str id, struct tool_id_parts *out, struct fault *f) {
  enum tool_id_kind kind;
  if (id.n > TOOL_ID_MAX + kind_prefix[TOOL_ID_RESOURCE].n) return too_long(f, id.n);
  if (!cut_kind(&id, &kind, f) || !tool_id_parse(id, out, f)) return false;
  out->kind = kind;
  return true;
}

static char *put(char *p, const char *mark, str part) {
  if (!part.p) return p;
  p = mempcpy(p, mark, strlen(mark));
  return mempcpy(p, part.p, part.n);
}

bool tool_id_format(const struct tool_id_parts *parts, struct arena *a, str *out_id, struct fault *f) {
  if (!check(parts, f)) return false;
  str kind = kind_prefix[parts->kind];
  size_t n = kind.n + body_length(parts);
  char *id = arena_alloc(a, n + 1), *p = id;
  p = put(p, "", kind);
  p = put(p, "", parts->namespace);
  p = put(p, ":", parts->name);
  p = put(p, "@", parts->version);
  p = put(p, "#", parts->hash8);
  *p = 0;
  *out_id = (str){id, n};
  return true;
}

// Returns the text before the first `mark`; an empty text if there is no mark.
static str before(str name, char mark) {
  str head, tail;
  return name.n && str_cut(name, mark, &head, &tail) ? head : STR_NONE;
}

str tool_id_infer_namespace(str name) {
  str head = before(name, '.');
  if (!head.n) head = before(name, '/');
  if (head.n) return head;
  head = before(name, '_');
  bool two = head.n && memchr(name.p + head.n + 1, '_', name.n - head.n - 1);
  return two ? head : STR("mcp");
}

str tool_id_infer_name(str name) {
  for (const char *mark = "./"; *mark; mark++) {
    str head, tail;
    if (name.n && str_cut(name, *mark, &head, &tail) && head.n && tail.n) return tail;
  }
  return name;
}

// Copies at most `max` characters of a text. `instead` replaces every character that is not allowed.
static str replaced(struct arena *a, str text, bool (*allowed)(char c), char instead, size_t max) {
  char *p = arena_alloc(a, (text.n < max ? text.n : max) + 1);
  size_t n = 0;
  for (size_t at = 0; at < text.n && n < max; n++) {
    size_t step = utf8_char(text.p + at, text.n - at);
    p[n] = allowed(text.p[at]) ? text.p[at] : instead;
    at += step ? step : 1;
  }
  return (str){p, n};
}

static str strip(str s, char x, char y) {
  while (s.n && (s.p[0] == x || s.p[0] == y)) s = str_from(s, 1);
  while (s.n && (s.p[s.n - 1] == x || s.p[s.n - 1] == y)) s.n--;
  return s;
}

// Maximum number of characters of a text that are read: more than an id holds, because strip() may remove characters.
enum { FIT_LOOK = 1024 };

static str fit(struct arena *a, str prefix, str s, size_t max) {
  char *p = arena_alloc(a, prefix.n + s.n + 1);
  if (prefix.n) memcpy(p, prefix.p, prefix.n);
  memcpy(p + prefix.n, s.p, s.n);
  size_t n = prefix.n + s.n < max ? prefix.n + s.n : max;
  p[n] = 0;
  return (str){p, n};
}

static str lower(struct arena *a, str s) {
  char *p = arena_cstr(a, s);
  for (size_t i = 0; i < s.n; i++) p[i] = ascii_lower(p[i]);
  return (str){p, s.n};
}

str tool_id_fit_namespace(struct arena *a, str text) {
  str s = lower(a, (str){text.p, text.n < FIT_LOOK * 4 ? text.n : FIT_LOOK * 4});
  s = strip(replaced(a, s, is_namespace_char, '-', FIT_LOOK), '-', '_');
  if (!s.n) return STR("mcp");
  return fit(a, ascii_is_lower(s.p[0]) ? STR("") : STR("mcp-"), s, TOOL_ID_NAMESPACE_MAX);
}

str tool_id_fit_name(struct arena *a, str text) {
  str s = strip(replaced(a, text, is_name_char, '_', FIT_LOOK), '.', '-');
  if (!s.n) return STR("item");
  return fit(a, ascii_is_letter(s.p[0]) || s.p[0] == '_' ? STR("") : STR("r_"), s, TOOL_ID_NAME_MAX);
}

str tool_id_hash8(struct arena *a, str text) {
  unsigned char digest[SHA256_SIZE];
  char hex[TOOL_ID_HASH + 1];
  hash_sha256(text, digest);
  hash_hex(digest, TOOL_ID_HASH / 2, hex);
  return arena_str(a, (str){hex, TOOL_ID_HASH});
}

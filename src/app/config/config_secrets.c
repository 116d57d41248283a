// SPDX-License-Identifier: Apache-2.0
// Collects the secrets in the entry of a server: values whose name marks them as secret, values of variables, passwords
// and keys in URLs, and secrets of the server's kind. Secrets are masked in everything that the server sends
// (text/secrets.h). Also collects the spellings of the server's address, which are masked only in errors that agents
// read (docs/reference/results.md#addresses).
#include <netdb.h>

#include "app/config/config_load.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "io/http/http.h"
#include "upstream/kind.h"

enum { MOST_VALUES = 1024, MOST_ADDRESSES = 40 };

struct secret_collector {
  struct config_loader *l;
  str *values;  // the collected secrets, in the work arena
  size_t count, most;
};

static void keep(struct secret_collector *c, str value, size_t least) {
  ASSERT(c->count <= c->most);
  if (value.n < least || c->count == c->most) return;
  for (size_t i = 0; i < c->count; i++)
    if (str_eq(c->values[i], value)) return;
  c->values[c->count++] = value;
}

static void add(struct secret_collector *c, str value) {
  keep(c, value, SECRETS_LEAST);
}

// Adds each line of a value, because programs may log the lines one by one.
static void add_lines(struct secret_collector *c, str value) {
  str line;
  if (!value.n || !memchr(value.p, '\n', value.n)) return;
  for (bool more = true; more;) {
    more = str_cut(value, '\n', &line, &value);
    add(c, str_trim(line));
  }
}

// ---- names

// Returns whether the name contains the whole word: GIT_AUTHOR_NAME does not contain the word auth.
static bool has_word(str name, str word) {
  for (size_t i = 0; i + word.n <= name.n; i++) {
    bool begins = i == 0 || !ascii_is_alnum(name.p[i - 1]);
    bool ends = i + word.n == name.n || !ascii_is_alnum(name.p[i + word.n]);
    if (begins && ends && str_eq_nocase((str){name.p + i, word.n}, word)) return true;
  }
  return false;
}

static bool is_one_of(str name, const str *words, size_t count, bool (*is)(str, str)) {
  for (size_t i = 0; i < count; i++)
    if (is(name, words[i])) return true;
  return false;
}

static bool names_secret(str name) {
  static const str words[] = {STR("auth"),        STR("pass"), STR("passphrase"), STR("credential"),
                              STR("credentials"), STR("pat"),  STR("jwt")};
  static const str folders[] = {STR("PWD"), STR("OLDPWD")};
  if (is_one_of(name, folders, 2, str_eq)) return false;
  bool key = name.n >= 3 && str_eq_nocase(str_from(name, name.n - 3), STR("key"));
  return key || secrets_is_name(name) || is_one_of(name, words, sizeof words / sizeof *words, has_word);
}

// ---- values

// Adds a value whose name marks it as secret. Of a value such as "Bearer abc", adds only "abc".
static void add_named(struct secret_collector *c, str value) {
  str scheme, rest;
  value = str_trim(value);
  bool one = str_cut(value, ' ', &scheme, &rest) && !memchr(rest.p, ' ', rest.n);
  add(c, one ? rest : value);
  add_lines(c, value);
}

static bool read_hex(char c, unsigned *out) {
  static const char digits[] = "0123456789abcdef";
  const char *at = c ? strchr(digits, ascii_lower(c)) : NULL;
  if (at) *out = (unsigned)(at - digits);
  return at != NULL;
}

// Adds a part of a URL in two forms, as written and percent-decoded: programs print either form.
static void add_encoded(struct secret_collector *c, str value) {
  char *plain = arena_cstr(&c->l->work, value);
  size_t n = 0;
  for (size_t i = 0; i < value.n; i++, n++) {
    unsigned high = 0, low = 0;
    bool escape =
        value.p[i] == '%' && i + 2 < value.n && read_hex(value.p[i + 1], &high) && read_hex(value.p[i + 2], &low);
    plain[n] = escape ? (char)(high << 4 | low) : value.p[i];
    if (escape) i += 2;
  }
  ASSERT(n <= value.n);
  add(c, value);
  add(c, (str){plain, n});
}

// Adds the password in user:password@host. The last @ ends the password, because a password may contain an @, but a
// host may not.
static void add_authority(struct secret_collector *c, str authority) {
  str user, password;
  const char *at = memrchr(authority.p, '@', authority.n);
  if (at && str_cut((str){authority.p, (size_t)(at - authority.p)}, ':', &user, &password)) add_encoded(c, password);
}

// Adds the secrets of a URL: scheme://user:password@host/path?key=value
static void add_of_url(struct secret_collector *c, str url) {
  str rest, query, path, pair, name, value;
  const char *at = memmem(url.p, url.n, "://", 3);
  if (!at) return;
  rest = str_from(url, (size_t)(at - url.p) + 3);
  for (bool more = str_cut(rest, '?', &rest, &query); more;) {
    more = str_cut(query, '&', &pair, &query);
    if (str_cut(pair, '=', &name, &value) && names_secret(name)) add_encoded(c, value);
  }
  str_cut(rest, '/', &rest, &path);
  add_authority(c, rest);
}

// Adds the values of the variables that the text refers to. Omits paths and the values of the variables in `names`:
// these values are public and occur in many answers. Never omits a variable whose own name marks it as secret.
static void add_variables(struct secret_collector *c, str text) {
  static const str names[] = {STR("USER"), STR("LOGNAME"), STR("HOSTNAME"), STR("LANG"), STR("TERM")};
  str name, preset, value, why;
  for (size_t at = 0, n; at < text.n; at += n ? n : 1) {
    n = config_reference(str_from(text, at), &name, &preset);
    if (!n || !config_expand(c->l, (str){text.p + at, n}, &c->l->work, &value, &why)) continue;
    bool public = str_starts(value, STR("/")) || is_one_of(name, names, sizeof names / sizeof *names, str_eq);
    if (names_secret(name) || !public) {
      add(c, value);
      add_lines(c, value);
    }
  }
}

// Adds the secrets in a string. `secret` is true if the key or option with this value has a name that marks it as
// secret.
static void add_text(struct secret_collector *c, const struct json *v, bool secret) {
  str text, expanded, why;
  if (!json_string(v, &c->l->work, &text) || !config_expand(c->l, text, &c->l->work, &expanded, &why)) return;
  if (secret) add_named(c, expanded);
  add_variables(c, text);
  add_of_url(c, expanded);
}

// ---- places of an entry

static void add_pairs(struct secret_collector *c, const struct json *pairs) {
  if (!json_is(pairs, JSON_OBJECT)) return;
  JSON_EACH(it, pairs) add_text(c, it, names_secret(json_key(it, &c->l->work)));
}

// Adds the secrets in arguments such as --name value, --name=value and "Name: value".
static void add_arguments(struct secret_collector *c, const struct json *args) {
  bool secret = false;  // the preceding argument is an option whose value is secret
  if (!json_is(args, JSON_ARRAY)) return;
  JSON_EACH(it, args) {
    str s, why;
    add_text(c, it, secret);
    if (!json_string(it, &c->l->work, &s) || !config_expand(c->l, s, &c->l->work, &s, &why)) continue;
    size_t n = 0;
    while (n < s.n && s.p[n] != '=' && s.p[n] != ':') n++;
    if (!secret && n < s.n && names_secret((str){s.p, n})) add_named(c, str_from(s, n + 1));
    secret = !secret && str_starts(s, STR("-")) && !memchr(s.p, '=', s.n) && names_secret(s);
  }
}

// Adds the secrets in the proxy variables: servers inherit these variables, and may print them when a proxy fails.
static void add_proxies(struct secret_collector *c) {
  static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy",
                                      "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    str url = config_env(c->l, str_of(names[i]));
    if (!url.n) continue;
    if (memmem(url.p, url.n, "://", 3)) add_of_url(c, url);
    else add_authority(c, url);
  }
}

// ---- addresses

struct address_spellings {
  struct arena *arena;
  struct http_url url;
  str *out;
  size_t count;
};

static void add_spelling(struct address_spellings *s, str text) {
  ASSERT(s->count < MOST_ADDRESSES);
  s->out[s->count++] = text;
}

// Adds the forms in which programs print a host with its port: HOST:PORT, "HOST port PORT", the origin, and
// HOST%3APORT, which occurs if a URL is a parameter of another URL. For an IPv6 address, also adds a form without
// brackets, which many programs print.
static void add_host(struct address_spellings *s, str host) {
  unsigned port = s->url.port;
  const char *scheme = s->url.tls ? "https" : "http";
  str written = config_in_url(host, s->arena);
  add_spelling(s, arena_printf(s->arena, "%.*s:%u", STR_ARG(written), port));
  if (!str_eq(written, host)) add_spelling(s, arena_printf(s->arena, "%.*s:%u", STR_ARG(host), port));
  add_spelling(s, arena_printf(s->arena, "%.*s port %u", STR_ARG(written), port));
  add_spelling(s, arena_printf(s->arena, "%.*s%%3A%u", STR_ARG(host), port));
  add_spelling(s, arena_printf(s->arena, "%s://%.*s:%u", scheme, STR_ARG(written), port));
  if (port == (s->url.tls ? 443 : 80)) add_spelling(s, arena_printf(s->arena, "%s://%.*s", scheme, STR_ARG(written)));
}

// If the host is an IP address, returns its usual form: fd00::5 for FD00:0:0::5, 10.0.0.5 for 10.5. Returns STR_NONE if
// the host is a name.
static str ip_of(str host, struct arena *a) {
  char text[NI_MAXHOST];
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(arena_cstr(a, host), NULL, &hints, &found) != 0) return STR_NONE;
  int failed = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return failed ? STR_NONE : arena_str(a, str_of(text));
}

// Returns whether a host name is internal. A name without dots is internal only if it has a digit or a hyphen;
// otherwise it may be an ordinary word, such as "search".
static bool is_internal_name(str host) {
  static const str labels[] = {STR("internal"), STR("intranet"),    STR("private"), STR("corp"), STR("lan"),
                               STR("local"),    STR("localdomain"), STR("home"),    STR("svc")};
  str label, rest = host;
  bool plain = true;
  for (size_t i = 0; i < host.n; i++) plain = plain && host.p[i] != '-' && !(host.p[i] >= '0' && host.p[i] <= '9');
  if (!memchr(host.p, '.', host.n)) return !plain;
  for (bool more = true; more;) {
    more = str_cut(rest, '.', &label, &rest);
    if (is_one_of(label, labels, sizeof labels / sizeof *labels, str_eq_nocase)) return true;
  }
  return false;
}

// Adds the spellings of the address of a server with a URL. A host name without a port is not added if it is public or
// loopback, or if it equals the name of the server in the configuration.
static void add_addresses(struct secret_collector *c, const struct upstream_spec *spec) {
  static const str loopback[] = {STR("localhost"), STR("127.0.0.1"), STR("::1")};
  str found[MOST_ADDRESSES];
  struct address_spellings s = {.arena = &c->l->work, .out = found};
  if (!spec->kind->remote || !http_url_parse(spec->url, &s.url)) return;
  add_spelling(&s, spec->url);
  str host = s.url.host, ip = ip_of(host, s.arena);
  bool local = config_is_loopback(host) || config_is_loopback(ip);
  add_host(&s, host);
  if (ip.n) add_host(&s, ip);
  for (size_t i = 0; i < 3 && local; i++) add_host(&s, loopback[i]);
  if (!local && !str_eq_nocase(host, spec->name) && (ip.n || is_internal_name(host))) {
    add_spelling(&s, host);
    if (ip.n) add_spelling(&s, ip);
  }
  c->most += MOST_ADDRESSES;
  for (size_t i = 0; i < s.count; i++) keep(c, found[i], ADDRESS_LEAST);
}

static void add_own(void *ctx, str value) {
  add(ctx, value);
  add_lines(ctx, value);
}

void config_secrets(struct config_loader *l, const struct json *entry, struct arena *a, struct upstream_spec *spec) {
  struct secret_collector c = {l, ARENA_ARRAY(&l->work, str, MOST_VALUES + MOST_ADDRESSES), 0, MOST_VALUES};
  add_pairs(&c, json_get(entry, STR("env")));
  add_pairs(&c, json_get(entry, STR("headers")));
  add_arguments(&c, json_get(entry, STR("args")));
  add_text(&c, json_get(entry, STR("url")), false);
  if (spec->own && spec->kind->secrets) spec->kind->secrets(spec->own, add_own, &c);
  add_proxies(&c);
  size_t secrets = c.count;
  ASSERT(secrets <= MOST_VALUES);
  add_addresses(&c, spec);
  struct secrets_known found = {c.values, c.count, c.count - secrets};
  spec->hidden = secrets_copy(&found, a);
  ASSERT(spec->hidden.count >= secrets);
  spec->secrets = (struct secrets_known){spec->hidden.values, secrets, 0};
}

// SPDX-License-Identifier: Apache-2.0
// What a server is configured with that nobody else is to read: values whose name says so, values of variables, and
// passwords and keys in URLs. Wherever the server says them again, they are masked (text/secrets.h). The addresses of
// the server follow them: they are masked in errors.
#include "app/config/config_load.h"
#include "base/ascii.h"

enum { MOST_VALUES = 1024 };

struct collector {
  struct config_loader *l;
  str *values;  // in the work arena
  size_t count, most;
};

static void keep(struct collector *c, str value, size_t least) {
  if (value.n < least || c->count == c->most) return;
  for (size_t i = 0; i < c->count; i++)
    if (str_eq(c->values[i], value)) return;
  c->values[c->count++] = value;
}

static void add(struct collector *c, str value) {
  keep(c, value, SECRETS_LEAST);
}

// Programs write a value with line breaks as lines, and each is logged by itself.
static void add_lines(struct collector *c, str value) {
  str line;
  if (!value.n || !memchr(value.p, '\n', value.n)) return;
  for (bool more = true; more;) {
    more = str_cut(value, '\n', &line, &value);
    add(c, str_trim(line));
  }
}

// ---- names

// GIT_AUTHOR_NAME has no word auth in it.
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

// Variables that say who and where one is: they are in every second answer, and everybody may know them.
static bool is_known_to_all(str name, str value) {
  static const str names[] = {STR("USER"), STR("LOGNAME"), STR("HOSTNAME"), STR("LANG"), STR("TERM")};
  return str_starts(value, STR("/")) || is_one_of(name, names, sizeof names / sizeof *names, str_eq);
}

// ---- values

// Bearer abc: the scheme is no secret.
static void add_named(struct collector *c, str value) {
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

// As it is written, and as it is meant: who is told of a password reads it without %40.
static void add_encoded(struct collector *c, str value) {
  char *plain = arena_cstr(&c->l->work, value);
  size_t n = 0;
  for (size_t i = 0; i < value.n; i++, n++) {
    unsigned high = 0, low = 0;
    bool escape =
        value.p[i] == '%' && i + 2 < value.n && read_hex(value.p[i + 1], &high) && read_hex(value.p[i + 2], &low);
    plain[n] = escape ? (char)(high << 4 | low) : value.p[i];
    if (escape) i += 2;
  }
  add(c, value);
  add(c, (str){plain, n});
}

static void add_parameters(struct collector *c, str query) {
  str pair, name, value;
  for (bool more = true; more;) {
    more = str_cut(query, '&', &pair, &query);
    if (str_cut(pair, '=', &name, &value) && names_secret(name)) add_encoded(c, value);
  }
}

// user:password@host. A password may have an @ in it, a host has none.
static void add_authority(struct collector *c, str authority) {
  str user, password;
  const char *at = memrchr(authority.p, '@', authority.n);
  if (at && str_cut((str){authority.p, (size_t)(at - authority.p)}, ':', &user, &password)) add_encoded(c, password);
}

// scheme://user:password@host/path?key=value
static void add_of_url(struct collector *c, str url) {
  str rest, query, path;
  const char *at = memmem(url.p, url.n, "://", 3);
  if (!at) return;
  rest = str_from(url, (size_t)(at - url.p) + 3);
  if (str_cut(rest, '?', &rest, &query)) add_parameters(c, query);
  str_cut(rest, '/', &rest, &path);
  add_authority(c, rest);
}

static void add_variables(struct collector *c, str text) {
  str name, preset, value, why;
  for (size_t at = 0, n; at < text.n; at += n ? n : 1) {
    n = config_reference(str_from(text, at), &name, &preset);
    if (!n || !config_expand(c->l, (str){text.p + at, n}, &c->l->work, &value, &why)) continue;
    if (names_secret(name) || !is_known_to_all(name, value)) {
      add(c, value);
      add_lines(c, value);
    }
  }
}

// secret: its name says so.
static void add_text(struct collector *c, const struct json *v, bool secret) {
  str text, expanded, why;
  if (!json_string(v, &c->l->work, &text) || !config_expand(c->l, text, &c->l->work, &expanded, &why)) return;
  if (secret) add_named(c, expanded);
  add_variables(c, text);
  add_of_url(c, expanded);
}

// ---- where they stand

static void add_pairs(struct collector *c, const struct json *pairs) {
  if (!json_is(pairs, JSON_OBJECT)) return;
  JSON_EACH(it, pairs) add_text(c, it, names_secret(json_key(it, &c->l->work)));
}

// --name=value, Name: value
static void add_argument(struct collector *c, str s) {
  size_t n = 0;
  while (n < s.n && s.p[n] != '=' && s.p[n] != ':') n++;
  if (n < s.n && names_secret((str){s.p, n})) add_named(c, str_from(s, n + 1));
}

static void add_arguments(struct collector *c, const struct json *args) {
  bool secret = false;  // the argument before was an option that announces one
  if (!json_is(args, JSON_ARRAY)) return;
  JSON_EACH(it, args) {
    str s, why;
    add_text(c, it, secret);
    if (!json_string(it, &c->l->work, &s) || !config_expand(c->l, s, &c->l->work, &s, &why)) continue;
    if (!secret) add_argument(c, s);
    secret = !secret && str_starts(s, STR("-")) && !memchr(s.p, '=', s.n) && names_secret(s);
  }
}

// Programs inherit them, and print them when a proxy fails.
static void add_proxies(struct collector *c) {
  static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy",
                                      "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    str url = config_env(c->l, str_of(names[i]));
    if (!url.n) continue;
    if (memmem(url.p, url.n, "://", 3)) add_of_url(c, url);
    else add_authority(c, url);
  }
}

static void add_addresses(struct collector *c, const struct upstream_spec *spec) {
  str found[CONFIG_ADDRESSES];
  size_t count = config_addresses(spec, &c->l->work, found);
  c->most += CONFIG_ADDRESSES;
  for (size_t i = 0; i < count; i++) keep(c, found[i], ADDRESS_LEAST);
}

void config_secrets(struct config_loader *l, const struct json *entry, struct arena *a, struct upstream_spec *spec) {
  struct collector c = {l, ARENA_ARRAY(&l->work, str, MOST_VALUES + CONFIG_ADDRESSES), 0, MOST_VALUES};
  add_pairs(&c, json_get(entry, STR("env")));
  add_pairs(&c, json_get(entry, STR("headers")));
  add_arguments(&c, json_get(entry, STR("args")));
  add_text(&c, json_get(entry, STR("url")), false);
  add_proxies(&c);
  size_t secrets = c.count;
  add_addresses(&c, spec);
  struct secrets_known found = {c.values, c.count, c.count - secrets};
  spec->hidden = secrets_copy(&found, a);
  spec->secrets = (struct secrets_known){spec->hidden.values, secrets, 0};
}

// SPDX-License-Identifier: Apache-2.0
// Formats command lines and URLs of servers for people, who may copy the output into mails and tickets. Therefore
// variables are shown by name, not by value, and texts that look like secrets are masked.
#include "app/config/config_load.h"
#include "base/ascii.h"
#include "text/secrets.h"

enum { RANDOM_LENGTH = 20 };  // a string with a digit and at least this length looks like a secret

#define MASK STR("***")

static bool looks_random(str s) {
  bool digit = false;
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool letter = ascii_is_letter(c) || strchr("_-+=", c);
    if (!c || (!letter && !ascii_is_digit(c))) return false;
    digit = digit || ascii_is_digit(c);
  }
  return digit && s.n >= RANDOM_LENGTH;
}

// Appends a URL, such as scheme://host/path?***. Masks the user, the password, the query, and those parts of the path
// that look like secrets.
void config_put_url(struct buf *out, str url) {
  const char *at = memmem(url.p, url.n, "://", 3);
  str scheme = {url.p, at ? (size_t)(at - url.p) + 3 : 0}, rest = str_from(url, scheme.n), part;
  bool query = str_cut(rest, '?', &rest, &part);
  buf_str(out, scheme);
  for (bool more = true, host = true; more; host = false) {
    more = str_cut(rest, '/', &part, &rest);
    const char *user = host ? memrchr(part.p, '@', part.n) : NULL;
    if (user) buf_str(out, MASK);
    if (user) part = str_from(part, (size_t)(user - part.p));
    buf_str(out, !host && looks_random(part) ? MASK : part);
    if (more) buf_char(out, '/');
  }
  if (query) buf_str(out, STR("?***"));
}

static void put_text(struct buf *out, str s) {
  if (memmem(s.p, s.n, "://", 3)) config_put_url(out, s);
  else buf_str(out, looks_random(s) ? MASK : s);
}

// Appends an argument. In an argument such as --name=value or "Name: value", masks the value if the name marks it as
// secret.
static void put_argument(struct buf *out, str s) {
  size_t n = 0;
  while (n < s.n && s.p[n] != '=' && s.p[n] != ':') n++;
  if (n < s.n && secrets_may_name((str){s.p, n})) {
    buf_add(out, s.p, n + 1);
    buf_str(out, MASK);
  } else put_text(out, s);
}

// Appends a word, quoted for a shell if necessary.
static void put_word(struct buf *out, str s) {
  bool plain = s.n > 0;
  for (size_t i = 0; i < s.n; i++) plain = plain && !memchr(" \t'\"", s.p[i], 4);
  if (plain) {
    buf_str(out, s);
    return;
  }
  buf_char(out, '\'');
  for (size_t i = 0; i < s.n; i++) buf_str(out, s.p[i] == '\'' ? STR("'\\''") : (str){s.p + i, 1});
  buf_char(out, '\'');
}

static void put_arguments(struct buf *out, struct config_loader *l, const struct json *args) {
  struct buf word;
  bool secret = false;  // the previous argument is an option whose value is secret
  buf_init(&word, CONFIG_MAX_FILE);
  JSON_EACH(it, args) {
    str s;
    if (!json_string(it, &l->work, &s)) continue;
    buf_reset(&word);
    if (secret) buf_str(&word, MASK);
    else put_argument(&word, s);
    buf_char(out, ' ');
    put_word(out, buf_view(&word));
    secret = !secret && str_starts(s, STR("-")) && !memchr(s.p, '=', s.n) && secrets_may_name(s);
  }
  buf_done(&word);
}

str config_shown(struct config_loader *l, const struct json *entry, struct arena *a) {
  const struct json *args = json_get(entry, STR("args"));
  struct buf b;
  str text = STR_NONE;
  buf_init(&b, CONFIG_MAX_FILE);
  if (json_string(json_get(entry, STR("url")), &l->work, &text)) config_put_url(&b, text);
  else if (json_string(json_get(entry, STR("catalog")), &l->work, &text)) put_word(&b, text);
  else if (json_string(json_get(entry, STR("command")), &l->work, &text)) {
    put_word(&b, text);
    if (json_is(args, JSON_ARRAY)) put_arguments(&b, l, args);
  }
  if (b.n) str_mask_controls(b.p, b.n);
  str shown = arena_str(a, buf_view(&b));
  buf_done(&b);
  return shown;
}

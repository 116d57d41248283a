// SPDX-License-Identifier: Apache-2.0
// The webhooks of a governance file: checks their URLs and reads their secrets.
#include "app/config/config_load.h"
#include "auth/strength.h"
#include "govern/webhooks.h"

enum { SECRET_LEAST = 16, SECRET_FILE_MAX = 4096 };

struct webhook_reading {
  struct config_loader *loader;
  struct governance *governance;
  const struct config_document *document;
  size_t index;
  const struct governance_webhook *webhook;
};

static struct config_place place_of(const struct webhook_reading *r, const char *member) {
  return (struct config_place){r->document->file,
                               arena_printf(&r->loader->work, "%.*s/%s", STR_ARG(r->webhook->pointer), member)};
}

// Messages name people and their work, so they are sent without encryption only inside this machine, unless the
// operator allows it.
static bool check_url(const struct webhook_reading *r) {
  struct config_place at = place_of(r, "url");
  struct http_url url;
  const struct proxy *proxy;
  struct fault f;
  if (!http_url_parse(r->webhook->url, &url))
    config_error(r->loader, &at, "must be an https URL without user name and password");
  else if (!url.tls && !r->webhook->allow_http && !config_is_loopback(url.host))
    config_error(r->loader, &at, "must be an https URL; to send to another machine without encryption, set allow_http");
  else if (!proxies_choose(&r->loader->proxies, &url, &proxy, &f)) config_error(r->loader, &at, "%s", f.message);
  else return true;
  return false;
}

static void set_secret(const struct webhook_reading *r, const struct config_place *at, str secret) {
  if (secret.n < SECRET_LEAST || secret.n > GOVERNANCE_SECRET_MAX || strength_is_weak(secret))
    config_unworkable(r->loader, at,
                      "is a weak secret: %d to %d characters that cannot be guessed are needed; create one with "
                      "`openssl rand -hex 32`; no messages are sent to the role \"%.*s\"",
                      SECRET_LEAST, GOVERNANCE_SECRET_MAX, STR_ARG(r->webhook->role));
  else governance_webhook_set_secret(r->governance, r->index, secret);
}

static void read_variable(const struct webhook_reading *r) {
  struct config_place at = place_of(r, "secret_env");
  str secret = config_env(r->loader, r->webhook->secret_env);
  if (secret.n) set_secret(r, &at, secret);
  else
    config_unworkable(r->loader, &at,
                      "the environment variable %.*s is not set: no messages are sent to the role \"%.*s\"",
                      STR_ARG(r->webhook->secret_env), STR_ARG(r->webhook->role));
}

static void read_secret_file(const struct webhook_reading *r) {
  struct config_loader *l = r->loader;
  struct config_document d;
  struct config_place at = place_of(r, "secret_file");
  str by = arena_printf(&l->work, "%.*s:%.*s", STR_ARG(at.file), STR_ARG(at.pointer));
  str path = config_path(l, r->webhook->secret_file, r->document->folder, &l->work);
  if (!config_open_softly(l, path, by, SECRET_FILE_MAX, false, &d)) return;
  at = (struct config_place){d.file, STR_NONE};
  str secret = {d.text, d.text_n};
  while (secret.n && (secret.p[secret.n - 1] == '\n' || secret.p[secret.n - 1] == '\r')) secret.n--;
  set_secret(r, &at, secret);
  if (d.world_readable) config_warn(l, &at, "holds a secret, and every user of this machine can read it: chmod o-r");
  config_document_done(&d);
}

bool config_webhooks_read(struct config_loader *l, struct governance *g, const struct config_document *d,
                          bool with_secrets) {
  bool ok = true;
  for (size_t i = 0; i < governance_webhook_count(g); i++) {
    struct webhook_reading r = {l, g, d, i, governance_webhook_at(g, i)};
    bool usable = check_url(&r);
    ok = ok && usable;
    if (!usable || !with_secrets) continue;
    if (r.webhook->secret_env.p) read_variable(&r);
    else read_secret_file(&r);
  }
  return ok;
}

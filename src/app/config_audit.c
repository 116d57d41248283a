// SPDX-License-Identifier: Apache-2.0
// What is told of calls to those who run the gateway: the audit log and its key, and where traces go.
#include <sys/stat.h>

#include "app/config_load.h"
#include "io/http.h"
#include "observe/audit.h"

// The key itself is taken over by whoever signs: what was checked is what is used.
static void read_key(struct config_loader *l, const struct config_place *at) {
  struct config *c = l->config;
  struct stat st;
  struct fault f;
  if (!audit_read_key(c->audit_key, &c->arena, &c->audit_secret, &f)) config_error(l, at, "%s", f.message);
  else if (stat(arena_cstr(&l->work, c->audit_key), &st) == 0 && (st.st_mode & S_IROTH))
    config_warn(l, at, "every user of this machine can read %.*s, and sign with it: chmod o-r", STR_ARG(c->audit_key));
}

// Who says what is to happen when there is no log means that there is one.
static void check_audit(struct config_loader *l, const struct config_document *d) {
  const struct config *c = l->config;
  struct config_place group = {d->file, STR("/audit")}, key = {d->file, STR("/audit/key_file")};
  const struct json *said = json_get(d->root, STR("audit"));
  if (json_is(said, JSON_OBJECT) && said->count && !c->audit_file.n)
    config_error(l, &group, "needs a file: without one nothing is logged");
  if (c->audit_key.n) read_key(l, &key);
}

static void check_traces(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR("/traces/endpoint")};
  struct http_url url;
  const struct proxy *proxy;
  struct fault f;
  if (!l->config->traces.n) return;
  if (http_url_parse(l->config->traces, &url)) {
    if (!proxies_choose(&l->proxies, &url, &proxy, &f)) config_error(l, &at, "%s", f.message);
  } else config_error(l, &at, "must be the http or https URL of a collector, such as http://127.0.0.1:4318/v1/traces");
}

void config_audit_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  str variable = config_env(l, STR("GATEWAY_AUDIT_LOG"));
  if (variable.n) c->audit_file = config_path(l, variable, STR_NONE, &c->arena);
  else if (c->audit_file.n) c->audit_file = config_path(l, c->audit_file, d->folder, &c->arena);
  if (c->audit_key.n) c->audit_key = config_path(l, c->audit_key, d->folder, &c->arena);
  check_audit(l, d);
  check_traces(l, d);
}

void config_audit_try(struct config_loader *l) {
  const struct config *c = l->config;
  bool variable = config_env(l, STR("GATEWAY_AUDIT_LOG")).n > 0;
  struct config_place at = {c->config_file, STR("/audit/file")};
  struct config_place named = {STR("environment"), STR("GATEWAY_AUDIT_LOG")};
  struct fault f;
  if (!c->audit_file.n || audit_can_open(c->audit_file, &f)) return;
  if (c->audit_required) config_error(l, variable ? &named : &at, "%s; audit.on_failure is deny", f.message);
  else config_warn(l, variable ? &named : &at, "%s; nothing is logged until it can be", f.message);
}

// SPDX-License-Identifier: Apache-2.0
// Checks the keys for records of calls: the audit log and its key, and the collectors of traces and log records.
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/config_load.h"
#include "base/crypto/rand.h"
#include "io/file.h"
#include "io/http/http.h"
#include "observe/audit.h"

// Creates the folder of a file if the folder is missing. Ignores a failure: creating the file then fails, and that
// failure is reported.
static void make_folder(struct config_loader *l, str file) {
  struct fault ignored;
  const char *folder = dirname(arena_cstr(&l->work, file));
  int fd = access(folder, F_OK) == 0 ? -1 : file_open_folder(str_of(folder), &ignored);
  if (fd >= 0) close(fd);
}

// Creates the key file. The file gets its final name when it is complete: another gateway that starts at the same time
// never reads half a key, and both gateways use the same key. On failure returns false with the reason in `f`.
static bool create_key(struct config_loader *l, struct fault *f) {
  enum { KEY_BYTES = 32 };
  unsigned char bytes[KEY_BYTES];
  char text[2 * KEY_BYTES + 2];
  const char *key = arena_cstr(&l->work, l->config->audit_key);
  str aside = arena_printf(&l->work, "%s.%d.unfinished", key, (int)getpid());
  rand_fill(&rand_system, bytes, sizeof bytes);
  ASSERT(l->config->audit_key.n && l->opt->audits && !l->opt->strict);
  hash_hex(bytes, sizeof bytes, text);
  text[2 * KEY_BYTES] = '\n';
  make_folder(l, str_of(key));
  unlink(aside.p);  // removes a file left by a process that was killed
  int fd = open(aside.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool ok = fd >= 0 && write(fd, text, 2 * KEY_BYTES + 1) == 2 * KEY_BYTES + 1 && fsync(fd) == 0 &&
            (link(aside.p, key) == 0 || errno == EEXIST);
  if (!ok)
    fault_set(f, FAULT_IO, "the key file %.*s does not exist and cannot be created: %s", STR_ARG(l->config->audit_key),
              strerror(errno));
  if (fd >= 0) close(fd);
  if (fd >= 0) unlink(aside.p);
  explicit_bzero(bytes, sizeof bytes);
  explicit_bzero(text, sizeof text);
  return ok;
}

// Returns whether the key can be read now. The first command that writes the log creates both log and key. If there is
// a log but no key, the key was lost: this is an error, and no new key is created.
static bool ensure_key(struct config_loader *l, const struct config_place *at) {
  str path = l->config->audit_key;
  struct fault f;
  if (!l->config->audit_file.n) return true;
  // Looks for the log before it looks for the key: another gateway that starts now creates the key before the log, so a
  // log without a key always means that the key was lost.
  bool logged = access(arena_cstr(&l->work, l->config->audit_file), F_OK) == 0;
  if (access(arena_cstr(&l->work, path), F_OK) == 0 || errno != ENOENT) return true;
  if (logged) {
    config_error(
        l, at,
        "the key %.*s does not exist, but the log %.*s does: restore the key, or create a new one with (umask 077; "
        "openssl rand -hex 32 > %.*s)",
        STR_ARG(path), STR_ARG(l->config->audit_file), STR_ARG(path));
    return false;
  }
  if (l->opt->strict) config_warn(l, at, "%.*s does not exist yet: toolgate serve creates it", STR_ARG(path));
  if (l->opt->strict || !l->opt->audits) return false;
  if (!create_key(l, &f)) {
    config_error(l, at, "%s", f.message);
    return false;
  }
  config_warn(l, at, "created %.*s with a new random key: keep a copy where the log cannot be changed", STR_ARG(path));
  return true;
}

// Reads the key. The file is read only once, so that the log is signed with the same bytes that were checked.
static void read_key(struct config_loader *l, const struct config_place *at) {
  struct config *c = l->config;
  struct stat st;
  struct fault f;
  if (!audit_read_key(c->audit_key, &c->arena, &c->audit_secret, &f)) config_error(l, at, "%s", f.message);
  else if (stat(arena_cstr(&l->work, c->audit_key), &st) != 0) return;
  else if (st.st_mode & S_IROTH)
    config_warn(l, at, "every user of this machine can read %.*s, and sign with it: chmod o-r", STR_ARG(c->audit_key));
  else if (st.st_mode & (S_IWGRP | S_IWOTH))
    config_warn(l, at, "other users of this machine can replace the key in %.*s: chmod go-w", STR_ARG(c->audit_key));
}

// Checks the group "audit". If the group is present but there is no log, this is an error: the operator expects a log.
static void check_audit(struct config_loader *l, const struct config_document *d) {
  const struct config *c = l->config;
  struct config_place group = {d->file, STR("/audit")}, key = {d->file, STR("/audit/key_file")};
  const struct json *said = json_get(d->root, STR("audit"));
  if (json_is(said, JSON_OBJECT) && said->count && !c->audit_file.n && c->audit_enabled != CONFIG_AUDIT_OFF)
    config_error(l, &group, "needs the key audit.file: without a file, nothing is logged");
  if (c->audit_file.n && c->audit_key.n && ensure_key(l, &key)) read_key(l, &key);
}

static void check_collector(struct config_loader *l, const struct config_place *at, str endpoint, const char *path) {
  struct http_url url;
  const struct proxy *proxy;
  struct fault f;
  if (!endpoint.n) return;
  if (http_url_parse(endpoint, &url)) {
    if (!proxies_choose(&l->proxies, &url, &proxy, &f)) config_error(l, at, "%s", f.message);
  } else config_error(l, at, "must be the http or https URL of a collector, such as http://127.0.0.1:4318%s", path);
}

// Sets the path of the audit log. If there are rules, the log is on by default: it shows which agent used what.
static void place_log(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  str variable = config_env(l, STR("GATEWAY_AUDIT_LOG"));
  bool wanted = c->audit_enabled == CONFIG_AUDIT_ON || c->policy;
  if (variable.n) c->audit_file = config_path(l, variable, STR_NONE, &c->arena);
  else if (c->audit_file.n) c->audit_file = config_path(l, c->audit_file, d->folder, &c->arena);
  else if (wanted && c->state_dir.n) c->audit_file = arena_printf(&c->arena, "%.*s/audit.jsonl", STR_ARG(c->state_dir));
  if (c->audit_enabled == CONFIG_AUDIT_OFF) c->audit_file = STR_NONE;
  ASSERT(c->audit_enabled >= CONFIG_AUDIT_AUTO && c->audit_enabled <= CONFIG_AUDIT_OFF);
}

void config_audit_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct config_place traces = {d->file, STR("/traces/endpoint")}, logs = {d->file, STR("/logs/endpoint")};
  place_log(l, d);
  if (c->audit_key.n) c->audit_key = config_path(l, c->audit_key, d->folder, &c->arena);
  check_audit(l, d);
  check_collector(l, &traces, c->traces, "/v1/traces");
  check_collector(l, &logs, c->logs, "/v1/logs");
}

void config_audit_try(struct config_loader *l) {
  const struct config *c = l->config;
  bool variable = config_env(l, STR("GATEWAY_AUDIT_LOG")).n > 0;
  struct config_place at = {c->config_file, STR("/audit/file")};
  struct config_place named = {STR("environment"), STR("GATEWAY_AUDIT_LOG")};
  struct fault f;
  ASSERT(l->opt->strict);  // only `check` tries to open the log here; `serve` opens it itself
  if (!c->audit_file.n || audit_can_open(c->audit_file, &f)) return;
  if (c->audit_required)
    config_error(l, variable ? &named : &at, "%s; audit.on_failure is deny, so every request would be refused",
                 f.message);
  else config_warn(l, variable ? &named : &at, "%s; nothing is logged until the file can be written", f.message);
}

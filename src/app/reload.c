// SPDX-License-Identifier: Apache-2.0
#include "app/reload.h"

#include <stdio.h>

#include "base/mem.h"
#include "call/audit_recorder.h"
#include "io/filewatch.h"
#include "text/secrets.h"

enum {
  SETTLE_MS = 300,  // time from a change of a file to the reload: a program may write several files at once
  MOST_LOGGED = 50,
};

// A configuration that was read from files, and its problems.
struct edition {
  struct config config;
  struct config_problems problems;
};

enum { RELOAD_MAGIC = 0x72656c64 };

struct reload {
  uint32_t magic;
  struct reload_options opt;
  struct filewatch *watch;  // NULL if no files are watched
  struct edition *taken;    // configuration in force; NULL before the first successful reload
  struct edition *audited;  // configuration with which the audit log was opened; NULL: the first configuration
  // configuration of the last attempt if that attempt failed; a change of its files causes a new attempt
  struct edition *refused;
  struct deferred due;  // delays the reload, so that files that change together are read together
  // whether the rules file (of_rules) has changed; whether another file (of_servers) has changed
  bool of_servers, of_rules;
};

static struct gateway *gateway_of(const struct reload *r) {
  return r->opt.gateway;
}

static struct log *log_of(const struct reload *r) {
  return &r->opt.gateway->log;
}

static const struct config *current(const struct reload *r) {
  return r->taken ? &r->taken->config : r->opt.gateway->config;
}

static const struct config_problems *current_problems(const struct reload *r) {
  return r->taken ? &r->taken->problems : r->opt.started;
}

static void edition_free(struct edition **edition) {
  struct edition *e = *edition;
  if (!e) return;
  *edition = NULL;
  config_done(&e->config);
  config_problems_done(&e->problems);
  mem_free(e);
}

// ---- problems

static void put_problem(const struct config_problem *p, char *out, size_t size) {
  snprintf(out, size, "%.*s%s%.*s: %.*s", STR_ARG(p->file), p->pointer.n ? ":" : "", STR_ARG(p->pointer),
           STR_ARG(p->message));
}

static bool was_left_out(const struct config_problems *before, const struct config_problem *p) {
  for (size_t i = 0; i < before->count; i++) {
    const struct config_problem *b = &before->list[i];
    if (b->left_out && str_eq(b->file, p->file) && str_eq(b->pointer, p->pointer)) return true;
  }
  return false;
}

// Returns whether this problem prevents the reload.
static bool is_obstacle(const struct reload *r, const struct config_problem *p) {
  return p->left_out ? !was_left_out(current_problems(r), p) : !p->warning;
}

static void add_problem(struct edition *e, str file, const char *message) {
  struct config_problems *p = &e->problems;
  p->list = mem_grow(p->list, (p->count + 1) * sizeof *p->list);
  p->cap = p->count + 1;
  p->list[p->count++] =
      (struct config_problem){.file = arena_str(&p->arena, file), .message = arena_str(&p->arena, str_of(message))};
}

// Reports an error if the configuration file or the key `auth` in it has disappeared. Many programs remove a file while
// they save it, and without the tokens in the file the gateway would accept every client. (Missing servers and rules
// are reported where they are read.)
static void check_gone(const struct reload *r, struct edition *e) {
  const struct config *before = current(r), *next = &e->config;
  if (before->config_file.n && !next->config_file.n)
    add_problem(e, before->config_file,
                "the file does not exist any more: its content stays in force; restart to run without this file");
  else if (config_has_auth(before) && !config_has_auth(next) && !config_problems_fatal(&e->problems))
    add_problem(e, before->config_file,
                "the key auth was removed: the previous authentication stays in force; restart to accept every client");
}

// Returns the problem to show for `p`, a problem that prevents the reload. If `p` says that a server is left out,
// returns the cause instead, because a rejected reload leaves no server out.
static const struct config_problem *cause_of(const struct edition *e, const struct config_problem *p) {
  ASSERT(p->cause <= e->problems.count);
  return p->cause ? &e->problems.list[p->cause - 1] : p;
}

static const struct config_problem *first_obstacle(const struct reload *r, const struct edition *e, str file) {
  for (size_t i = 0; i < e->problems.count; i++) {
    const struct config_problem *p = &e->problems.list[i];
    if (is_obstacle(r, p) && (!file.n || str_eq(p->file, file))) return cause_of(e, p);
  }
  return NULL;
}

static bool is_cause(const struct reload *r, const struct edition *e, const struct config_problem *p) {
  for (size_t i = 0; i < e->problems.count; i++)
    if (is_obstacle(r, &e->problems.list[i]) && cause_of(e, &e->problems.list[i]) == p) return true;
  return false;
}

static void log_problem(const struct reload *r, enum log_level level, const struct config_problem *p) {
  char text[RELOAD_TEXT];
  put_problem(p, text, sizeof text);
  log_line(log_of(r), level, "reload: %s", text);
}

static void log_problems(const struct reload *r, const struct edition *e) {
  for (size_t i = 0; i < e->problems.count && i < MOST_LOGGED; i++) {
    const struct config_problem *p = &e->problems.list[i];
    if (is_obstacle(r, p) && p->cause) continue;
    log_problem(r, is_cause(r, e, p) ? LOG_ERROR : LOG_WARN, p);
  }
  if (e->problems.count > MOST_LOGGED)
    log_warn(log_of(r), "reload: %zu more problems; run \"toolgate check\" to see them",
             e->problems.count - MOST_LOGGED);
}

// ---- results

static int64_t now_of(const struct reload *r) {
  return clock_wall_ms(r->opt.gateway->loop.clock);
}

// Records the warnings about the rules file, such as names of unknown servers.
static void note_warnings(struct reload *r) {
  const struct config_problems *all = current_problems(r);
  str file = current(r)->rules_file;
  char *out = gateway_of(r)->reload.warnings;
  size_t n = 0;
  out[0] = 0;
  for (size_t i = 0; i < all->count && n < RELOAD_WARNINGS - 1; i++) {
    const struct config_problem *p = &all->list[i];
    if (!p->warning || !str_eq(p->file, file)) continue;
    char text[RELOAD_TEXT];
    put_problem(p, text, sizeof text);
    int k = snprintf(out + n, RELOAD_WARNINGS - n, "%s%s", n ? "\n" : "", text);
    n += k > 0 ? (size_t)k : 0;
  }
}

static void note_attempt(struct reload_record *record, int64_t at, const struct config_problem *why) {
  record->attempts++;
  record->last_attempt = at;
  record->error[0] = 0;
  if (why) {
    put_problem(why, record->error, sizeof record->error);
  } else {
    record->successes++;
    record->last_success = at;
  }
}

// Records the result of the reload for the file of servers and for the rules file. An error in one of the files is
// recorded for both, because it prevented the whole reload.
static void note(struct reload *r, const struct edition *e) {
  struct reload_status *status = &gateway_of(r)->reload;
  const struct config_problem *why = first_obstacle(r, e, STR_NONE);
  const struct config_problem *rules = first_obstacle(r, e, status->rules.file);
  const struct config_problem *servers = first_obstacle(r, e, status->servers.file);
  status->at = now_of(r);
  status->ok = !why;
  if (why) status->refused++;
  else status->taken++;
  if (r->of_servers) note_attempt(&status->servers, status->at, servers ? servers : why);
  if (r->of_rules) note_attempt(&status->rules, status->at, rules ? rules : why);
  if (why) put_problem(why, status->message, sizeof status->message);
}

static void name_files(struct reload *r) {
  struct reload_status *status = &gateway_of(r)->reload;
  const struct config *c = current(r);
  status->servers.file = c->mcp_config.n ? c->mcp_config : c->config_file;
  status->rules.file = c->rules_file;
}

// ---- applying a configuration

static void say_restart(struct reload *r, const struct config *next) {
  struct reload_status *status = &gateway_of(r)->reload;
  struct buf keys;
  buf_init(&keys, RELOAD_TEXT);
  const struct config *started = gateway_of(r)->config;
  config_put_restart_keys(started, r->audited ? &r->audited->config : started, next, &keys);
  snprintf(status->restart, sizeof status->restart, "%.*s", STR_ARG(buf_view(&keys)));
  if (keys.n) log_warn(log_of(r), "reload: these keys need a restart: %s", status->restart);
  buf_done(&keys);
}

static bool prepare(struct reload *r, const struct config *next, struct fault *f) {
  return !r->opt.prepare || r->opt.prepare(r->opt.ctx, current(r), next, f);
}

static void settle(struct reload *r, bool taken) {
  if (r->opt.settle) r->opt.settle(r->opt.ctx, taken);
}

// Applies a configuration, or adds a problem. Steps that can fail come first and change nothing. After that, the
// prepared parts and the gateway change together, or neither changes.
static void take(struct reload *r, struct edition *e) {
  struct reload_status *status = &gateway_of(r)->reload;
  struct fault f;
  if (first_obstacle(r, e, STR_NONE)) return;
  if (!prepare(r, &e->config, &f)) {
    add_problem(e, e->config.config_file, f.message);
    return;
  }
  bool audited = gateway_of(r)->audit_recorder != NULL;
  bool taken = gateway_take(gateway_of(r), &e->config, status->message, sizeof status->message, &f);
  if (taken && !audited && gateway_of(r)->audit_recorder) {
    ASSERT(!r->audited);  // an audit log is opened at most once
    r->audited = e;
    log_info(log_of(r), "reload: calls are now logged in the audit log %.*s", STR_ARG(e->config.audit_file));
  }
  settle(r, taken);
  if (!taken) add_problem(e, status->servers.file, f.message);
}

static void keep(struct reload *r, struct edition *e) {
  struct edition *before = r->taken;
  ASSERT(e != before && e != r->refused);
  r->taken = e;
  name_files(r);
  note_warnings(r);
  say_restart(r, &e->config);
  log_info(log_of(r), "reload: %s", gateway_of(r)->reload.message);
  if (before != r->audited) edition_free(&before);
}

// ---- revoked tokens

// Returns the configuration whose auth.tokens are valid: the new configuration or, if the configuration file has an
// error, the configuration in force. With an error, tokens may be missing from the new configuration.
static const struct config *configured_tokens(const struct reload *r, const struct edition *e) {
  bool read = e->config.config_file.n && !first_obstacle(r, e, e->config.config_file);
  return read ? &e->config : current(r);
}

// Revokes the tokens that were removed from the files, even if the reload fails for another reason. Returns their
// number.
static size_t revoke_gone(struct reload *r, const struct edition *e) {
  struct config_problems problems;
  struct config left;
  if (!r->opt.revoke) return 0;
  config_problems_init(&problems);
  config_tokens_left(&left, current(r), configured_tokens(r, e), r->opt.env, &problems);
  if (config_problems_fatal(&problems) && !first_obstacle(r, e, current(r)->token_file))
    for (size_t i = 0; i < problems.count && i < MOST_LOGGED; i++) log_problem(r, LOG_ERROR, &problems.list[i]);
  size_t count = r->opt.revoke(r->opt.ctx, &left);
  config_done(&left);
  config_problems_done(&problems);
  return count;
}

static void refuse(struct reload *r, struct edition *e) {
  ASSERT(!r->refused && e != r->taken);
  size_t revoked = revoke_gone(r, e);
  if (revoked)
    log_error(log_of(r), "reload: revoked %zu token%s; nothing else was changed", revoked, revoked == 1 ? "" : "s");
  else log_error(log_of(r), "reload: nothing was changed");
  r->refused = e;
}

// ---- watching

// Watches the files of a configuration. The number of watched files is limited, so the most important files come first.
static void watch_files(struct reload *r, const struct config *c) {
  for (int others = 0; others < 2; others++)
    for (size_t i = 0; r->watch && i < c->file_count; i++) {
      const struct config_file *f = &c->files[i];
      bool first = str_eq(f->path, c->rules_file) || str_eq(f->path, c->governance_file) ||
                   str_eq(f->path, c->config_file) || str_eq(f->path, c->mcp_config);
      if (first != (others > 0)) filewatch_add_since(r->watch, f->path, &f->state);
    }
}

static bool has_file(const struct config *c, str path) {
  for (size_t i = 0; i < c->file_count; i++)
    if (str_eq(c->files[i].path, path)) return true;
  return false;
}

static bool is_read(void *ctx, str path) {
  const struct reload *r = ctx;
  return has_file(current(r), path) || (r->refused && has_file(&r->refused->config, path));
}

// Watches the files of the configuration in force. If the last attempt to reload failed, watches the files of that
// attempt instead, because the operator may correct them.
static void watch_again(struct reload *r) {
  if (!r->watch) return;
  filewatch_keep(r->watch, is_read, r);
  if (r->refused) watch_files(r, &r->refused->config);
  else watch_files(r, current(r));
}

static bool is_rules_file(const struct reload *r, str path) {
  return str_eq(path, current(r)->rules_file) || (r->refused && str_eq(path, r->refused->config.rules_file)) ||
         str_ends(path, STR(".mcp-gateway-rules.json"));
}

static void on_changed(void *ctx, str path) {
  struct reload *r = ctx;
  ASSERT_MAGIC(r, RELOAD_MAGIC);
  log_info(log_of(r), "reload: %.*s changed", STR_ARG(path));
  if (is_rules_file(r, path)) r->of_rules = true;
  else r->of_servers = true;
  loop_defer(&gateway_of(r)->loop, &r->due);
}

// ---- reading

static struct edition *read_again(const struct reload *r) {
  struct edition *e = MEM_NEW(struct edition);
  struct config_options said = *r->opt.said;
  config_problems_init(&e->problems);
  said.before = current(r);
  config_load(&e->config, &said, r->opt.env, &e->problems);
  check_gone(r, e);
  return e;
}

// Writes the reload to the audit log, so that the log shows which rules were in force at any time.
static void audit_rules_change(struct reload *r, const char *rules_before) {
  const struct reload_status *status = &gateway_of(r)->reload;
  struct arena a;
  arena_init(&a);
  struct audit_event e = {
      .operation = STR("reload"),
      .decision = status->ok ? AUDIT_ALLOW : AUDIT_ERROR,
      .code = status->ok ? STR_NONE : STR("RELOAD_REFUSED"),
      .target = secrets_mask(&a, str_of(status->message), NULL),
      .rules_before = str_of(rules_before),
      .rules_after = str_of(current(r)->rules_hash),
  };
  audit_recorder_add(gateway_of(r)->audit_recorder, &e);
  arena_done(&a);
}

static void reload(struct reload *r) {
  ASSERT_MAGIC(r, RELOAD_MAGIC);
  ASSERT(r->of_servers || r->of_rules);
  char rules_before[sizeof current(r)->rules_hash];
  memcpy(rules_before, current(r)->rules_hash, sizeof rules_before);
  struct edition *e = read_again(r);
  take(r, e);
  log_problems(r, e);
  note(r, e);
  edition_free(&r->refused);
  if (gateway_of(r)->reload.ok) {
    keep(r, e);
  } else {
    refuse(r, e);
  }
  audit_rules_change(r, rules_before);
  watch_again(r);
  r->of_rules = r->of_servers = false;
}

static void on_due(struct deferred *d) {
  reload(CONTAINER_OF(d, struct reload, due));
}

void reload_now(struct reload *r) {
  ASSERT_MAGIC(r, RELOAD_MAGIC);
  r->of_rules = r->of_servers = true;
  loop_defer(&gateway_of(r)->loop, &r->due);
}

// ---- life

struct reload *reload_new(const struct reload_options *opt) {
  struct reload *r = MEM_NEW(struct reload);
  struct fault f;
  ASSERT(opt->gateway && opt->said && opt->started);
  ASSERT(!opt->prepare == !opt->settle);
  r->magic = RELOAD_MAGIC;
  r->opt = *opt;
  deferred_init(&r->due, on_due);
  name_files(r);
  note_warnings(r);
  if (opt->gateway->config->reload != CONFIG_RELOAD_WATCH) return r;
  r->watch = filewatch_new(&opt->gateway->loop, SETTLE_MS, on_changed, r, &f);
  if (!r->watch) log_warn(log_of(r), "%s; send SIGHUP to reload changed files", f.message);
  watch_files(r, opt->gateway->config);
  return r;
}

void reload_free(struct reload **reload) {
  struct reload *r = *reload;
  if (!r) return;
  ASSERT_MAGIC(r, RELOAD_MAGIC);
  *reload = NULL;
  deferred_cancel(&r->due);
  filewatch_free(&r->watch);
  if (r->taken != r->audited) edition_free(&r->taken);
  edition_free(&r->audited);
  edition_free(&r->refused);
  r->magic = 0;
  mem_free(r);
}

// SPDX-License-Identifier: Apache-2.0
#include "app/gateway.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call/audit_recorder.h"
#include "govern/records.h"
#include "io/file.h"
#include "io/mapped.h"
#include "observe/gateway_key.h"
#include "observe/journal.h"
#include "observe/metrics.h"
#include "surface/changes.h"

enum {
  GATEWAY_MAGIC = 0x67617465,
  HELD_REQUESTS = 4,  // the limits on memory are at least this many times the size of the largest request
  SPANS_MS = 2000,    // longest time for sending the last spans to the collector
};

// Raises the limit on open file descriptors to the allowed maximum, because the gateway may have thousands of
// connections.
static void raise_descriptor_limit(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
  r.rlim_cur = r.rlim_max;
  setrlimit(RLIMIT_NOFILE, &r);
}

// Disables core files of this process, which could contain secrets. Servers keep the limit that this process had
// before.
static void write_no_core_files(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_CORE, &r) != 0) return;
  r.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &r);
}

static void make_store(struct gateway *g) {
  const struct config *c = g->config;
  struct store_options opt = {
      .loop = &g->loop,
      .log = &g->log,
      .clock = g->loop.clock,
      .rand = g->loop.rand,
      .folder = c->state_dir,
      .limits = c->kept,
  };
  g->store = store_new(&opt);
  if (c->record) g->recorder = recorder_new(g->store, &g->log, g->loop.clock, c->session_bytes);
}

// Opens the key that signs heads of the audit log, if receipts are wanted. With audit.receipts: auto, the gateway also
// works without the key.
static bool make_key(struct gateway *g, const struct config *c, struct fault *f) {
  bool wanted = c->audit_receipts == CONFIG_AUDIT_ON || (c->audit_receipts == CONFIG_AUDIT_AUTO && c->governance);
  if (!wanted || g->key || (g->key = gateway_key_open(c->state_dir, g->loop.rand, f))) return true;
  if (c->audit_receipts == CONFIG_AUDIT_ON) return false;
  log_error(&g->log, "no receipts can be made for governed calls: %s", f->message);
  return true;
}

static bool make_audit(struct gateway *g, const struct config *c, struct fault *f) {
  if (!c->audit_file.n) return true;
  if (!make_key(g, c, f)) return false;
  struct audit_options opt = {
      .file = c->audit_file,
      .max_bytes = c->audit_bytes,
      .keep = c->audit_keep,
      .keep_ms = c->audit_keep_days * UINT64_C(86400000),
      .max_total = c->audit_total,
      .required = c->audit_required,
      .key = c->audit_key.n ? c->audit_secret : STR_NONE,
      .signer = g->key,
      .head_ms = c->audit_head_ms,
      .clock = g->loop.clock,
      .log = &g->log,
  };
  ASSERT(!g->audit_recorder);
  struct audit *audit = audit_open(&opt, f);
  if (audit)
    g->audit_recorder =
        audit_recorder_new(&(struct audit_recorder_options){&g->loop, audit, c->audit_arguments, c->audit_refusals});
  return audit != NULL;
}

static bool make_tracer(struct gateway *g, struct fault *f) {
  const struct config *c = g->config;
  struct tracer_options opt = {&g->loop, g->loop.rand, c->traces, c->trace_permille, false};
  struct tracer_options records = {.loop = &g->loop, .rand = g->loop.rand, .url = c->logs, .records = true};
  if (c->traces.n) g->tracer = tracer_new(&opt, f);
  if (c->logs.n && (g->tracer || !c->traces.n)) g->records = tracer_new(&records, f);
  return (g->tracer || !c->traces.n) && (g->records || !c->logs.n);
}

str gateway_local(const struct config *c, struct arena *a) {
  return c->agent.n ? arena_printf(a, "local/%.*s", STR_ARG(c->agent)) : STR("local");
}

// Appends the real path of a file that identifies the configuration, for loop detection.
static void put_real_path(struct buf *out, str file) {
  struct file_path room;
  if (file.n) buf_printf(out, "%.*s\n", STR_ARG(file_real_path(file, &room)));
}

static bool make_chain(struct gateway *g, char *const *env, struct fault *f) {
  const struct config *c = g->config;
  struct buf files;
  buf_init(&files, 2 * PATH_MAX + 2);
  put_real_path(&files, c->config_file);
  put_real_path(&files, c->mcp_config);
  ASSERT(!files.over);
  bool ok = chain_init(&g->chain, g->loop.rand, str_env(env, STR(CHAIN_VARIABLE)), buf_view(&files), f);
  buf_done(&files);
  return ok;
}

// Records in the audit log that a tool differs from its pin (its accepted definition), or that it no longer differs.
static void on_pin(void *ctx, const struct pin_place *place, enum pin_state state, bool quarantined) {
  struct gateway *g = ctx;
  struct audit_event e = {
      .operation = STR("pins"),
      .server = place->server,
      .tool = place->tool.n ? place->tool : STR_NONE,
      .decision = quarantined ? AUDIT_DENY : AUDIT_ALLOW,
      .code = state == PIN_ACCEPTED  ? STR_NONE
              : state == PIN_CHANGED ? STR("SCHEMA_DRIFT")
                                     : STR("TOOL_QUARANTINED"),
      .reason = str_of(pin_state_name(state)),
  };
  audit_recorder_add(g->audit_recorder, &e);
}

// Sets the mode of the pins. Creates the pins when a governance file switches them on for the first time.
static void make_pins(struct gateway *g) {
  enum governance_pins mode = g->rules.governance ? governance_pins(g->rules.governance) : GOVERNANCE_PINS_OFF;
  if (!g->pins && mode != GOVERNANCE_PINS_OFF) {
    struct pins_options opt = {&g->log, g->loop.clock, g->store, &g->loop.seed, on_pin, g};
    if (!g->config->state_dir.n)
      log_warn(&g->log, "state_dir is not set: the accepted definitions of tools will be lost when the gateway ends");
    g->pins = pins_new(&opt);
  }
  if (g->pins) pins_set_mode(g->pins, mode);
  g->rules.pins = mode == GOVERNANCE_PINS_OFF ? NULL : g->pins;
}

// Returns the code of a change for the audit log: the state of a request that did not, or not yet, lead to an effect.
static str code_of(const struct approval *x) {
  switch (x->state) {
  case APPROVAL_STATE_PENDING: return STR("APPROVAL_REQUIRED");
  case APPROVAL_STATE_DENIED: return STR("APPROVAL_REJECTED");
  case APPROVAL_STATE_EXPIRED: return STR("APPROVAL_EXPIRED");
  case APPROVAL_STATE_WITHDRAWN:
  case APPROVAL_STATE_INVALIDATED: return STR("APPROVAL_INVALID");
  default: return x->code.p ? x->code : STR_NONE;
  }
}

// Records in the audit log that a request for approval was made, decided, executed, or has ended. The principal of such
// a line is the approver, if a person has decided.
static void on_approval(struct approvals_listener *l, const struct approvals_change *change) {
  struct gateway *g = CONTAINER_OF(l, struct gateway, approval_listener);
  const struct approval *x = change->request;
  bool failed = x->state >= APPROVAL_STATE_DENIED, votes = change->vote && x->state == APPROVAL_STATE_PENDING;
  struct audit_event e = {
      .agent = x->agent,
      .operation = STR("approval"),
      .server = x->server,
      .tool = x->tool,
      .target = x->request_id,
      .decision = failed ? AUDIT_DENY : AUDIT_ALLOW,
      .code = votes ? STR_NONE : code_of(x),
      .reason = votes ? STR("vote") : str_of(approval_state_name(x->state)),
      .principal = change->vote ? change->vote->approver : x->principal,
      .decision_id = x->decision_id,
  };
  audit_recorder_add(g->audit_recorder, &e);
}

// Opens the requests for approval when there is a governance file for the first time.
static void make_approvals(struct gateway *g) {
  struct approvals_options opt = {&g->loop, g->store, g->config->state_dir};
  if (!g->approvals && g->rules.governance) {
    g->approvals = approvals_new(&opt);
    g->approval_listener.changed = on_approval;
    approvals_listen(g->approvals, &g->approval_listener);
  }
  g->rules.approvals = g->rules.governance ? g->approvals : NULL;
}

size_t gateway_accept_pins(struct gateway *g, const struct pins_choice *which, struct json_writer *w) {
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(g->rules.pins);
  size_t count = pins_accept(g->pins, which, w);
  pins_look_again(g->pins);
  upstreams_rebuild(g->upstreams);
  return count;
}

static size_t at_least(size_t limit, size_t least) {
  return limit > least ? limit : least;
}

// Sets the rules in force, and takes references to them.
static void set_rules(struct gateway *g, const struct config *c) {
  g->rules.policy = c->policy ? policy_ref(c->policy) : NULL;
  g->rules.governance = c->governance ? governance_ref(c->governance) : NULL;
  memcpy(g->rules.digest, c->rules_hash, sizeof g->rules.digest);
}

// Returns the limits on the journal of governed calls, the folder `records` of state_dir.
static struct journal_limits record_limits(const struct config *c) {
  const struct governance_records *settings = c->governance ? governance_records(c->governance) : NULL;
  if (!settings) return (struct journal_limits){0};
  return (struct journal_limits){(uint64_t)settings->max_bytes, settings->keep_days * UINT64_C(86400000)};
}

static void make_journal(struct gateway *g) {
  const struct config *c = g->config;
  struct journal_limits limits = record_limits(c);
  if (!c->state_dir.n) return;
  str folder = arena_printf(&g->names, "%.*s/records", STR_ARG(c->state_dir));
  g->journal = journal_new(&g->loop, folder, &limits);
}

static void make_server(struct gateway *g) {
  const struct config *c = g->config;
  ASSERT((int)c->mode < MODE_COUNT && g->store && g->metrics);
  size_t max_message = c->max_message > c->max_request ? c->max_message : c->max_request;
  g->rules = (struct rulebook){.fallback = c->default_agent, .trust_stated = c->trust_stated};
  set_rules(g, c);
  make_pins(g);
  make_approvals(g);
  struct surface_options surface = {
      .loop = &g->loop,
      .start_wait_ms = c->start_wait_ms,
      .list_wait_ms = c->list_wait_ms,
      .page_size = c->page_size,
      .definition_tokens = c->definition_tokens,
      .instructions = {c->instructions_budget, c->instructions_each, c->instructions_browse},
      .mode = c->mode,
      .cache_stable = c->cache_stable,
      .list_ids = c->list_ids,
      .strict = c->strict_catalog,
      .debug = c->debug,
      .lazy = c->lazy,
      .store = g->store,
      .reload = &g->reload,
      .calls = {&g->loop,
                max_message,
                c->input_ms,
                &g->rules,
                {c->result_tokens, c->max_result_tokens, c->structured, c->bounded, c->scrub, c->keep_hidden},
                c->schemas,
                &c->controls,
                g->recorder,
                g->audit_recorder,
                g->metrics,
                g->tracer,
                g->records,
                &g->chain,
                g->journal},
  };
  g->surface = surface_new(&surface);
  struct mcp_server_limits limits = {
      .max_sessions = c->max_sessions,
      .principal_sessions = c->principal_sessions,
      .max_in_flight = c->max_in_flight,
      .max_held = at_least(c->session_held, c->max_request),
      .max_message = max_message,
      .max_values = c->max_values,
      .held_bytes = at_least(c->max_held, HELD_REQUESTS * c->max_request),
      .principal_held_bytes = at_least(c->principal_held, HELD_REQUESTS * c->max_request),
  };
  mcp_server_init(&g->server, &g->loop, &surface_for_sessions, g->surface, &limits);
  g->server.agent = c->agent;
  g->server.local = gateway_local(c, &g->names);
}

static bool make_upstreams(struct gateway *g, char *const *env, struct fault *f) {
  ASSERT(g->surface && g->children && !g->upstreams);
  const struct config *c = g->config;
  struct upstreams_options opt = {
      .loop = &g->loop,
      .children = g->children,
      .request_ms = c->request_timeout_ms,
      .request_max_ms = c->request_max_ms,
      .start_ms = c->start_timeout_ms,
      .install_ms = c->install_ms,
      .cold_starts = c->cold_starts ? c->cold_starts : uv_available_parallelism(),
      .max_message = c->max_message,
      .max_values = c->message_values,
      .description_max = c->description_max,
      .max_own_lanes = c->max_own_lanes,
      .max_in_flight = c->max_server_in_flight,
      .max_waiting = c->max_server_queue,
      .idle_ms = c->server_idle_ms,
      .prefix_always = c->prefix == CONFIG_PREFIX_ALWAYS,
      .lazy = c->lazy,
      .once = c->once,
      .state_dir = c->state_dir,
      .env = env,
      .chain = &g->chain,
  };
  g->upstreams = upstreams_new(&opt, c->upstreams, c->upstream_count, &surface_for_upstreams, g->surface, f);
  return g->upstreams != NULL;
}

bool gateway_init_with(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                       const struct clock *clock, const struct rand_source *rand, struct fault *f) {
  *g = (struct gateway){.magic = GATEWAY_MAGIC, .config = c, .log = {STDERR_FILENO, c->log_level, clock}};
  arena_init(&g->names);
  signal(SIGPIPE, SIG_IGN);
  mapped_survive();
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails instead of ending the process
  raise_descriptor_limit();
  write_no_core_files();
  loop_init(&g->loop, &g->log, clock, rand);
  g->loop.bulk.limit = c->max_bulk;
  proxies_read(&g->proxies, env, &g->names);
  g->loop.proxies = &g->proxies;
  g->children = child_host_new(&g->loop, guard);
  make_store(g);
  make_journal(g);
  g->metrics = metrics_new(&g->loop.seed);
  bool ok = make_chain(g, env, f) && make_audit(g, c, f) && make_tracer(g, f);
  make_server(g);
  if (!ok || !make_upstreams(g, env, f)) return false;
  surface_join(g->surface, &g->server, g->upstreams);
  return true;
}

bool gateway_init(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                  struct fault *f) {
  return gateway_init_with(g, c, guard, env, &clock_system, &rand_system, f);
}

static void take_rules(struct gateway *g, const struct config *c) {
  struct rulebook before = g->rules;
  if (c->policy == before.policy && c->governance == before.governance) return;
  struct journal_limits limits = record_limits(c);
  set_rules(g, c);
  if (g->journal) journal_limit(g->journal, &limits);
  g->rules.epoch++;
  make_pins(g);
  make_approvals(g);
  if (g->rules.pins) {
    pins_look_again(g->pins);
    upstreams_rebuild(g->upstreams);
  }
  surface_rules_changed(g->surface, &before);
  policy_unref(&before.policy);
  governance_unref(&before.governance);
}

static void say_taken(const struct config *c, const struct upstreams_change *change, char *told, size_t size) {
  int n = snprintf(told, size, "applied: %zu server%s (%zu added, %zu changed, %zu removed)", c->upstream_count,
                   c->upstream_count == 1 ? "" : "s", change->added, change->changed, change->removed);
  if (n < 0 || (size_t)n >= size || !c->policy) return;
  size_t agents = policy_agent_count(c->policy);
  snprintf(told + n, size - (size_t)n, ", rules for %zu agent%s", agents, agents == 1 ? "" : "s");
}

// Opens the audit log of the new configuration, if it has one. Does nothing if an audit log is already open.
static bool take_audit(struct gateway *g, const struct config *c, struct fault *f) {
  if (g->audit_recorder) return true;
  bool ok = make_audit(g, c, f);
  surface_audit(g->surface, g->audit_recorder);
  return ok;
}

static void give_up_audit(struct gateway *g) {
  surface_audit(g->surface, NULL);
  audit_recorder_free(&g->audit_recorder);
}

bool gateway_take(struct gateway *g, const struct config *c, char *told, size_t size, struct fault *f) {
  struct upstreams_change change;
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(!g->stopped && told && size);
  bool audited = g->audit_recorder != NULL;
  if (!take_audit(g, c, f)) return false;
  if (!upstreams_replace(g->upstreams, c->upstreams, c->upstream_count, &change, f)) {
    if (!audited) give_up_audit(g);
    return false;
  }
  g->log.level = c->log_level;
  g->rules.trust_stated = c->trust_stated;
  take_rules(g, c);
  surface_limit_principals(g->surface, &c->controls.principal);
  bool start = g->config->transport == CONFIG_HTTP && !g->config->lazy;
  bool changed = change.added + change.changed + change.removed > 0;
  if (start && changed) upstreams_start(g->upstreams);
  if (changed) surface_servers_changed(g->surface);
  say_taken(c, &change, told, size);
  return true;
}

static void on_ended(void *ctx) {
  struct gateway *g = ctx;
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(g->ending > 0);
  if (--g->ending == 0) g->stopped(g->ctx);
}

// The store and the tracers are closed last, so that all accepted data is written and sent.
static void on_upstreams_stopped(void *ctx) {
  struct gateway *g = ctx;
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(g->ending == 0 && g->stopped && g->store);
  upstreams_free(&g->upstreams);
  surface_free(&g->surface);
  mcp_server_done(&g->server);
  approvals_free(&g->approvals);
  audit_recorder_free(&g->audit_recorder);
  journal_free(&g->journal);
  metrics_free(&g->metrics);
  pins_free(&g->pins);
  recorder_free(&g->recorder);
  g->ending = 1 + (g->tracer != NULL) + (g->records != NULL);
  if (g->tracer) tracer_close(&g->tracer, SPANS_MS, on_ended, g);
  if (g->records) tracer_close(&g->records, SPANS_MS, on_ended, g);
  store_close(&g->store, on_ended, g);
}

void gateway_stop(struct gateway *g, void (*stopped)(void *ctx), void *ctx) {
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(stopped && !g->stopped);
  ASSERT(list_empty(&g->server.sessions));
  g->stopped = stopped;
  g->ctx = ctx;
  if (g->tracer) tracer_flush(g->tracer);
  if (g->records) tracer_flush(g->records);
  if (g->upstreams) upstreams_stop(g->upstreams, on_upstreams_stopped, g);
  else on_upstreams_stopped(g);
}

void gateway_done(struct gateway *g) {
  ASSERT_MAGIC(g, GATEWAY_MAGIC);
  ASSERT(g->ending == 0 && !g->upstreams && !g->surface && !g->store);
  policy_unref(&g->rules.policy);
  governance_unref(&g->rules.governance);
  gateway_key_free(&g->key);
  child_host_free(&g->children);
  loop_done(&g->loop);
  arena_done(&g->names);
  g->magic = 0;
}

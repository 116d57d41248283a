// SPDX-License-Identifier: Apache-2.0
#include "call/audit_recorder.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "call/refusals.h"
#include "io/batches.h"
#include "result/envelope/fault_forms.h"
#include "text/tokens.h"

enum {
  GATHER_MS = 1,           // calls may wait until their line is on the disk
  COUNTED_MOST = 65536,    // longer texts are not counted; counting takes about 0.7 ms, on another thread
  ARGUMENTS_MOST = 16384,  // longer arguments are logged as null instead of being searched for secrets
  SESSION_SHOWN = 8,       // bytes of a session id in the log: the whole id would let a reader use the session
  RULE_MOST = 4096,
  PARTS_MOST = 16,  // the tokens of results with more content parts are not counted
  TARGET_MOST = 1024,
  HEAD_AGAIN_MS = 1000,
};

struct audit_recorder {
  struct audit_recorder_options opt;
  struct batches batches;
  struct refusals refusals;
  struct timer head;    // time of the next signed head
  struct timer minute;  // fires when the oldest minute with counted refusals ends
  struct list waiting;  // requests waiting for the check of the log file
  struct timer ask;     // time of the next check
};

// A request that waits until the gateway knows whether it can write the log. Allocated in the request's arena.
struct audit_waiter {
  struct work work;
  struct list node;
  struct request *request;
  audit_admitted *admitted;
  void *ctx;
};

struct audit_recorder_note {
  struct audit_event event;
  uint64_t began_us;
  str params;                    // raw, as received
  str written;                   // the part that a model wrote: the arguments, or else the params
  const struct json *arguments;  // arguments to log, or NULL to log none
  struct secrets_known secrets;
  enum fault_code fault;
  str unknown_rule;
  bool denied;
  bool sent;  // a server may have received the request
  bool counted;
};

// ---- writing lines

static enum audit_readiness admit_waiting(struct audit_recorder *l);

static bool take_lines(void *ctx) {
  return audit_take(((struct audit_recorder *)ctx)->opt.audit);
}

// Runs on another thread, because another process may hold the lock of the log, and counting tokens takes time.
static void write_lines(void *ctx) {
  audit_write(((struct audit_recorder *)ctx)->opt.audit);
}

static void settle_lines(void *ctx) {
  struct audit_recorder *l = ctx;
  audit_settle(l->opt.audit);
  uint64_t after = audit_head_after(l->opt.audit);
  if (after && !timer_running(&l->head) && !l->batches.closed) timer_start(l->opt.loop, &l->head, after);
}

// A head must be signed even if no further line is written. The timer was set by the time of the loop, which may be
// older than the clock; then the head is not due yet. So the timer runs again until no line is unsigned.
static void on_head(struct timer *t) {
  struct audit_recorder *l = CONTAINER_OF(t, struct audit_recorder, head);
  uint64_t after = audit_head_after(l->opt.audit);
  if (after) timer_start(l->opt.loop, &l->head, after + HEAD_AGAIN_MS);
  batches_due(&l->batches);
}

static bool is_failing(void *ctx, uint64_t *after_ms) {
  const struct audit *audit = ((struct audit_recorder *)ctx)->opt.audit;
  *after_ms = audit_retry_ms(audit);
  return audit_failing(audit);
}

static void on_written(void *ctx) {
  admit_waiting(ctx);
}

static void dispose(void *ctx) {
  struct audit_recorder *l = ctx;
  audit_close(&l->opt.audit);
  mem_free(l);
}

static const struct batches_ops batches_ops = {take_lines, write_lines, settle_lines, is_failing, on_written, dispose};

static void settle(struct request *r, enum audit_readiness state, audit_admitted *admitted, void *ctx) {
  struct fault f;
  ASSERT(state != AUDIT_WAIT);
  if (state == AUDIT_READY) {
    admitted(ctx, r, NULL);
    return;
  }
  fault_set(&f, FAULT_AUDIT_UNAVAILABLE,
            "the request is refused, because the audit log cannot be written; try again later");
  r->note->fault = f.code;
  r->note->arguments = NULL;  // a refused request is logged without arguments, to save space in the log
  admitted(ctx, r, &f);
}

// Admits or refuses the waiting requests. If the check of the log file has not ended (AUDIT_WAIT), tries again later.
static enum audit_readiness admit_waiting(struct audit_recorder *l) {
  enum audit_readiness state = audit_ready(l->opt.audit);
  if (state == AUDIT_WAIT) {
    batches_now(&l->batches);
    timer_start(l->opt.loop, &l->ask, AUDIT_ASK_MS);
    return state;
  }
  timer_stop(&l->ask);
  while (!list_empty(&l->waiting)) {
    struct audit_waiter *w = CONTAINER_OF(l->waiting.next, struct audit_waiter, node);
    ASSERT(w->request->work == &w->work);
    list_remove(&w->node);
    w->request->work = NULL;
    settle(w->request, state, w->admitted, w->ctx);
  }
  return state;
}

static void on_ask(struct timer *t) {
  admit_waiting(CONTAINER_OF(t, struct audit_recorder, ask));
}

static void on_summary(void *ctx, const struct audit_event *e) {
  audit_recorder_add(ctx, e);
}

static void on_minute(struct timer *t) {
  struct audit_recorder *l = CONTAINER_OF(t, struct audit_recorder, minute);
  uint64_t next = refusals_settle(&l->refusals, loop_now(l->opt.loop));
  if (next) timer_start(l->opt.loop, t, next);
}

struct audit_recorder *audit_recorder_new(const struct audit_recorder_options *opt) {
  ASSERT(opt->loop && opt->audit);
  struct audit_recorder *l = MEM_NEW(struct audit_recorder);
  struct hash_key seed = rand_hash_key(opt->loop->rand);
  l->opt = *opt;
  batches_init(&l->batches, opt->loop, GATHER_MS, &batches_ops, l);
  timer_init(&l->minute, on_minute);
  timer_init(&l->head, on_head);
  timer_init(&l->ask, on_ask);
  list_init(&l->waiting);
  refusals_init(&l->refusals, opt->refusals, &seed, on_summary, l);
  return l;
}

void audit_recorder_free(struct audit_recorder **recorder) {
  struct audit_recorder *l = *recorder;
  if (!l) return;
  *recorder = NULL;
  refusals_done(&l->refusals);
  timer_stop(&l->minute);
  timer_stop(&l->head);
  timer_stop(&l->ask);
  ASSERT(list_empty(&l->waiting));
  batches_close(&l->batches);
}

void audit_recorder_rotate(struct audit_recorder *l) {
  if (!l) return;
  audit_rotate(l->opt.audit);
  batches_due(&l->batches);
}

bool audit_recorder_ready(struct audit_recorder *l, const char **out_why) {
  enum audit_readiness state = admit_waiting(l);
  if (state == AUDIT_REFUSE) batches_due(&l->batches);
  *out_why = audit_why(l->opt.audit);
  return state != AUDIT_REFUSE;
}

bool audit_recorder_failing(const struct audit_recorder *l) {
  return audit_failing(l->opt.audit);
}

uint64_t audit_recorder_lost(const struct audit_recorder *l) {
  return audit_lost(l->opt.audit);
}

uint64_t audit_recorder_breaks(const struct audit_recorder *l) {
  return audit_breaks(l->opt.audit);
}

void audit_recorder_add(struct audit_recorder *l, const struct audit_event *e) {
  if (!l) return;
  audit_add(l->opt.audit, e);
  batches_due(&l->batches);
}

// ---- a request begins

void audit_recorder_open(struct audit_recorder *l, struct request *r, const char *mode, str operation) {
  if (!l) return;
  struct audit_recorder_note *n = ARENA_NEW(&r->arena, struct audit_recorder_note);
  const struct json *params = r->msg.params;
  n->began_us = clock_mono_us(l->opt.loop->clock);
  n->event.operation = operation;
  n->event.mode = str_of(mode);
  const struct json *arguments = json_get(params, STR("arguments"));
  if (params) n->params = n->written = json_span(params);
  if (arguments) n->written = json_span(arguments);
  if (l->opt.arguments) n->arguments = arguments;
  r->note = n;
}

static void on_cancel(struct work *work, struct request *r, str reason) {
  list_remove(&CONTAINER_OF(work, struct audit_waiter, work)->node);
}
static const struct work_ops waiter_ops = {"audit", on_cancel};

void audit_recorder_admit(struct audit_recorder *l, struct request *r, audit_admitted *admitted, void *ctx) {
  ASSERT(admitted);
  enum audit_readiness state = l ? admit_waiting(l) : AUDIT_READY;
  if (state != AUDIT_WAIT) {
    settle(r, state, admitted, ctx);
    return;
  }
  ASSERT(!r->work);
  struct audit_waiter *w = ARENA_NEW(&r->arena, struct audit_waiter);
  *w = (struct audit_waiter){.work.ops = &waiter_ops, .request = r, .admitted = admitted, .ctx = ctx};
  list_push(&l->waiting, &w->node);
  r->work = &w->work;
}

// ---- sizes

static str bounded(str text) {
  return text.n <= COUNTED_MOST ? text : STR_NONE;
}

void audit_recorder_shown_text(struct request *r, str text, str structured) {
  struct audit_recorder_note *n = r->note;
  const struct client_row *client = n ? request_client(r) : NULL;
  enum client_reads reads = client ? client->reads : CLIENT_READS_UNKNOWN;
  if (!n) return;
  n->counted = true;
  if (structured.n && reads == CLIENT_READS_STRUCTURED) text = structured;
  if (!bounded(text).p) return;
  bool both = structured.n && reads == CLIENT_READS_BOTH && bounded(structured).p;
  n->event.counted_out =
      both ? arena_printf(&r->arena, "%.*s\n%.*s", STR_ARG(text), STR_ARG(structured)) : arena_str(&r->arena, text);
}

// Does not count the tokens of a long result, because the parser may have made no nodes for the values in it.
void audit_recorder_shown(struct request *r, const struct json *result) {
  struct audit_recorder_note *n = r->note;
  const struct json *content = n ? json_get(result, STR("content")) : NULL;
  if (!json_is(content, JSON_ARRAY)) return;
  n->counted = true;
  if (result->n <= COUNTED_MOST && content->count <= PARTS_MOST)
    n->event.counted_out = client_shown(request_client(r), result, &r->arena);
}

// ---- facts

static str keep(struct request *r, str text) {
  return text.n ? arena_str(&r->arena, text) : STR_NONE;
}

// Returns a copy of `text`, which a client may have written, with secrets masked.
static str keep_masked(struct request *r, str text) {
  const struct audit_recorder_note *n = r->note;
  if (!text.n) return STR_NONE;
  return secrets_mask(&r->arena, arena_str(&r->arena, utf8_cut(text, TARGET_MOST)), &n->secrets);
}

void audit_recorder_agent(struct request *r, str agent) {
  struct audit_recorder_note *n = r->note;
  if (n && agent.n) n->event.agent = keep(r, agent);
}

void audit_recorder_caller(struct request *r, const struct caller *c) {
  struct audit_recorder_note *n = r->note;
  audit_recorder_agent(r, c->id);
  if (n && c->run && c->run->governed.subject.tenant.n) n->event.tenant = keep(r, c->run->governed.subject.tenant);
}

void audit_recorder_server(struct request *r, str server) {
  struct audit_recorder_note *n = r->note;
  if (n) n->event.server = keep_masked(r, server);
}

void audit_recorder_tool(struct request *r, str server, str tool) {
  struct audit_recorder_note *n = r->note;
  if (!n) return;
  n->event.server = keep_masked(r, server);
  n->event.tool = keep_masked(r, tool);
}

void audit_recorder_target(struct request *r, str target) {
  struct audit_recorder_note *n = r->note;
  if (n && target.n) n->event.target = keep_masked(r, target);
}

void audit_recorder_decided(struct request *r, const struct policy_decision *d) {
  struct audit_recorder_note *n = r->note;
  struct buf path;
  if (!n) return;
  buf_init(&path, RULE_MOST);
  bool unlimited = d->allowed && !d->agent && !d->governed.p;  // there are no access rules
  if (!unlimited) policy_put_path(d, &path);
  n->event.rule = unlimited ? STR_NONE : keep(r, buf_view(&path));
  n->denied = !d->allowed;
  buf_done(&path);
}

void audit_recorder_rule(struct request *r, str rule) {
  struct audit_recorder_note *n = r->note;
  if (n) n->event.rule = keep(r, rule);
}

void audit_recorder_secrets(struct request *r, const struct secrets_known *known) {
  struct audit_recorder_note *n = r->note;
  if (n && known->count) n->secrets = secrets_copy(known, &r->arena);
}

void audit_recorder_unknown(struct request *r, str rule) {
  struct audit_recorder_note *n = r->note;
  if (n) n->unknown_rule = keep(r, rule);
}

void audit_recorder_trace(struct request *r, str trace) {
  struct audit_recorder_note *n = r->note;
  if (n) n->event.trace = trace;
}

void audit_recorder_governed(struct request *r, str decision_id, str envelope_hash) {
  struct audit_recorder_note *n = r->note;
  if (!n) return;
  n->event.decision_id = keep(r, decision_id);
  n->event.envelope_hash = keep(r, envelope_hash);
}

void audit_recorder_key(struct request *r, str key) {
  struct audit_recorder_note *n = r->note;
  if (n) n->event.key = keep(r, key);
}

void audit_recorder_fault(struct request *r, enum fault_code code) {
  struct audit_recorder_note *n = r->note;
  if (n) n->fault = code;
}

void audit_recorder_mark(struct request *r, unsigned marks, unsigned retries) {
  struct audit_recorder_note *n = r->note;
  if (!n) return;
  n->event.tool_error = marks & AUDIT_NOTE_TOOL_ERROR;
  n->event.cached = marks & AUDIT_NOTE_CACHED;
  n->event.dry_run = marks & AUDIT_NOTE_DRY_RUN;
  n->event.asked = marks & AUDIT_NOTE_ASKED;
  n->event.replayed = marks & AUDIT_NOTE_REPLAYED;
  n->event.effect_unknown = marks & AUDIT_NOTE_UNKNOWN;
  n->event.attempts = retries;
  n->sent = marks & AUDIT_NOTE_SENT || retries;
}

// ---- the end of a request

// Returns the decision to log. `sent`: the server may have received the request, so that the server has refused it.
static enum audit_decision decision_of(enum fault_code code, bool sent) {
  if (caller_is_unknown(code)) return AUDIT_DENY;
  switch (code) {
  case FAULT_NONE: return AUDIT_ALLOW;
  case FAULT_PERMISSION_DENIED: return sent ? AUDIT_ERROR : AUDIT_DENY;
  case FAULT_CAPABILITY_UNKNOWN:
  case FAULT_POLICY_DENIED:
  case FAULT_POLICY_EVAL_ERROR:
  case FAULT_MODE_INVALID:
  case FAULT_MODE_EXCEEDS_MAXIMUM:
  case FAULT_MODE_RAISE_FORBIDDEN:
  case FAULT_MODE_ABOVE_RUN_CEILING:
  case FAULT_CLASS_MODE_CONFLICT:
  case FAULT_CLASS_INTENT_CONFLICT:
  case FAULT_DELEGATION_REQUIRED:
  case FAULT_DELEGATION_EXPIRED:
  case FAULT_ARG_CONSTRAINT_VIOLATION:
  case FAULT_FLOW_DENIED:
  case FAULT_IDENTITY_INVALID:
  case FAULT_TENANT_MISMATCH:
  case FAULT_DENIED_BY_POLICY:
  case FAULT_AUDIT_UNAVAILABLE: return AUDIT_DENY;
  case FAULT_UPSTREAM_TIMEOUT: return AUDIT_TIMEOUT;
  default: return AUDIT_ERROR;
  }
}

// Returns the name to log for a JSON-RPC error that is not a fault of the gateway.
static str name_of(int code) {
  switch (code) {
  case RPC_METHOD_NOT_FOUND: return STR("METHOD_NOT_FOUND");
  case RPC_INVALID_PARAMS: return STR("INVALID_PARAMS");
  case RPC_INVALID_REQUEST: return STR("INVALID_REQUEST");
  case RPC_HEADER_MISMATCH: return STR("HEADER_MISMATCH");
  case RPC_UNSUPPORTED_VERSION: return STR("UNSUPPORTED_VERSION");
  default: return STR("INTERNAL_ERROR");
  }
}

static void conclude(struct audit_recorder_note *n, const struct request *r, str answer) {
  struct audit_event *e = &n->event;
  enum fault_code code = n->fault;
  if (!code && !answer.p) code = FAULT_CANCELLED;
  if (n->denied) code = FAULT_DENIED_BY_POLICY;
  e->decision = !code && e->dry_run ? AUDIT_DRY_RUN : decision_of(code, n->sent);
  if (code) e->code = str_of(fault_name(code));
  if (caller_is_unknown(code) && !e->rule.p) e->rule = n->unknown_rule;
  if (code || !r->code) return;
  e->decision = AUDIT_ERROR;
  e->code = name_of(r->code);
}

// Returns whether `code` means that the gateway refused the request or did not find its target, and so did not run it.
static bool is_refusal(enum fault_code code) {
  switch (code) {
  case FAULT_INVALID:
  case FAULT_LIMIT:
  case FAULT_NOT_FOUND:
  case FAULT_RATE_LIMITED:
  case FAULT_ARGS_INVALID:
  case FAULT_PATH_INVALID:
  case FAULT_PATH_NOT_FOUND:
  case FAULT_HYDRATE_FAILED:
  case FAULT_TOOL_NOT_FOUND:
  case FAULT_RESOURCE_NOT_FOUND:
  case FAULT_PROMPT_NOT_FOUND:
  case FAULT_VIEW_FAILED:
  case FAULT_DENIED_BY_POLICY: return true;
  default: return caller_is_unknown(code);
  }
}

// Returns whether the request gets its own line in the log. Repeated refusals are only counted.
static bool has_line(struct audit_recorder *l, const struct audit_recorder_note *n, const struct request *r,
                     str answer) {
  bool failed = n->denied || n->fault;
  bool refused = failed ? n->denied || is_refusal(n->fault) : r->code && !n->event.server.p;
  if (!answer.p || n->sent || !refused) return true;
  bool has = refusals_log(&l->refusals, &n->event, loop_now(l->opt.loop), clock_wall_ms(l->opt.loop->clock));
  if (!has && !timer_running(&l->minute)) timer_start(l->opt.loop, &l->minute, REFUSALS_WINDOW_MS);
  return has;
}

static void identify(struct audit_recorder_note *n, struct request *r) {
  struct audit_event *e = &n->event;
  const struct session *s = r->session;
  str bound = session_agent(s);
  if (!e->agent.p && bound.n) e->agent = bound;
  e->request_id = r->id;
  json_string(r->msg.id, &r->arena, &e->request_id);
  e->principal = session_principal(s);
  e->subject = s->subject;
  e->issuer = s->issuer;
  if (!s->callers) e->session = (str){s->id, SESSION_SHOWN};  // logs no session id if several clients share the session
}

void audit_recorder_close(struct audit_recorder *l, struct request *r, str answer) {
  struct audit_recorder_note *n = r->note;
  if (!n) return;
  ASSERT(l);
  r->note = NULL;
  n->event.latency_us = clock_mono_us(l->opt.loop->clock) - n->began_us;
  conclude(n, r, answer);
  identify(n, r);
  if (!has_line(l, n, r, answer)) return;
  struct audit_event *e = &n->event;
  e->bytes_in = n->params.n;
  e->bytes_out = answer.n;
  e->counted_in = bounded(n->written.p ? n->written : STR(""));
  if (!n->counted) e->counted_out = bounded(answer.p ? answer : STR(""));
  if (n->arguments)
    e->arguments =
        n->arguments->n <= ARGUMENTS_MOST ? secrets_mask_json(&r->arena, n->arguments, &n->secrets) : STR("null");
  audit_add(l->opt.audit, &n->event);
  batches_due(&l->batches);
}

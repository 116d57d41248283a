// SPDX-License-Identifier: Apache-2.0
#include "call/ledger.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "result/fault_forms.h"
#include "text/secrets.h"
#include "text/tokens.h"

enum {
  GATHER_MS = 1,           // lines that come closer together are written together
  COUNTED_MOST = 16384,    // bytes whose tokens are counted: some 0.2 ms
  ARGUMENTS_MOST = 65536,  // bytes of arguments that are looked at for secrets
  SESSION_TOLD = 8,        // of its id, as in the log: who has all of it may speak for the session
  RULE_MOST = 4096,
  TARGET_MOST = 1024,
};

struct ledger {
  struct ledger_options opt;
  struct deferred due;
  struct timer later;
  uint64_t written_at;  // loop time
};

struct note {
  struct audit_event event;
  uint64_t began_us;
  str params;                    // raw, as they came
  str written;                   // of these, the arguments: what a model wrote
  const struct json *arguments;  // the same; NULL: they are not told
  enum fault_code fault;
  bool denied;
  bool counted;
};

// ---- when lines are written

static void write_now(struct ledger *l) {
  timer_stop(&l->later);
  l->written_at = loop_now(l->opt.loop);
  audit_flush(l->opt.audit);
}

// Before the loop waits. In a burst the lines of a moment are written at once; what is left waits for a timer.
static void on_due(struct deferred *d) {
  struct ledger *l = CONTAINER_OF(d, struct ledger, due);
  bool burst = loop_now(l->opt.loop) - l->written_at < GATHER_MS;
  if (!burst) write_now(l);
  else if (!timer_running(&l->later)) timer_start(l->opt.loop, &l->later, GATHER_MS);
}

static void on_later(struct timer *t) {
  write_now(CONTAINER_OF(t, struct ledger, later));
}

struct ledger *ledger_new(const struct ledger_options *opt) {
  struct ledger *l = MEM_NEW(struct ledger);
  l->opt = *opt;
  deferred_init(&l->due, on_due);
  timer_init(&l->later, on_later);
  return l;
}

void ledger_free(struct ledger **ledger) {
  struct ledger *l = *ledger;
  if (!l) return;
  *ledger = NULL;
  deferred_cancel(&l->due);
  timer_stop(&l->later);
  audit_flush(l->opt.audit);
  mem_free(l);
}

// ---- a request begins

bool ledger_open(struct ledger *l, struct request *r, const char *mode, str operation, struct fault *f) {
  if (!l) return true;
  struct note *n = ARENA_NEW(&r->arena, struct note);
  const struct json *params = r->msg.params;
  n->began_us = clock_mono_us(l->opt.loop->clock);
  n->event.operation = operation;
  n->event.mode = str_of(mode);
  const struct json *arguments = json_get(params, STR("arguments"));
  if (params) n->params = n->written = json_span(params);
  if (arguments) n->written = json_span(arguments);
  if (l->opt.arguments) n->arguments = arguments;
  r->note = n;
  if (audit_ready(l->opt.audit)) return true;
  fault_set(f, FAULT_AUDIT_UNAVAILABLE, "the audit log cannot be written, and nothing is done without it");
  n->fault = f->code;
  return false;
}

// ---- sizes

static int64_t count(str text) {
  return text.n <= COUNTED_MOST ? (int64_t)tokens_count(text) : AUDIT_NOT_COUNTED;
}

void ledger_shown_text(struct request *r, str text) {
  struct note *n = r->note;
  if (!n) return;
  n->event.tokens_out = count(text);
  n->counted = true;
}

// What is long is not looked into: it may not even be in memory as values.
void ledger_shown(struct request *r, const struct json *result) {
  struct note *n = r->note;
  const struct json *content = n ? json_get(result, STR("content")) : NULL;
  str text;
  if (!json_is(content, JSON_ARRAY)) return;
  n->counted = true;
  n->event.tokens_out = content->n <= COUNTED_MOST ? 0 : AUDIT_NOT_COUNTED;
  if (content->n > COUNTED_MOST) return;
  JSON_EACH(it, content)
    if (json_string(json_get(it, STR("text")), &r->arena, &text)) n->event.tokens_out += (int64_t)tokens_count(text);
}

static void measure(struct note *n, str answer) {
  struct audit_event *e = &n->event;
  e->bytes_in = n->params.n;
  e->bytes_out = answer.n;
  e->tokens_in = count(n->written);
  if (!n->counted) e->tokens_out = count(answer);
}

// ---- what is learned of it

static str keep(struct request *r, str text) {
  return text.n ? arena_str(&r->arena, text) : STR_NONE;
}

void ledger_agent(struct request *r, str agent) {
  struct note *n = r->note;
  if (n && agent.n) n->event.agent = keep(r, agent);
}

void ledger_server(struct request *r, str server) {
  struct note *n = r->note;
  if (n) n->event.server = keep(r, server);
}

void ledger_tool(struct request *r, str server, str tool) {
  struct note *n = r->note;
  if (!n) return;
  n->event.server = keep(r, server);
  n->event.tool = keep(r, tool);
}

void ledger_target(struct request *r, str target) {
  struct note *n = r->note;
  if (n && target.n) n->event.target = secrets_mask(&r->arena, keep(r, utf8_cut(target, TARGET_MOST)));
}

void ledger_decided(struct request *r, const struct policy_decision *d) {
  struct note *n = r->note;
  struct buf path;
  if (!n) return;
  buf_init(&path, RULE_MOST);
  policy_put_path(d, &path);
  n->event.rule = keep(r, buf_view(&path));
  n->denied = !d->allowed;
  buf_done(&path);
}

void ledger_fault(struct request *r, enum fault_code code) {
  struct note *n = r->note;
  if (n) n->fault = code;
}

void ledger_mark(struct request *r, unsigned marks, unsigned retries) {
  struct note *n = r->note;
  if (!n) return;
  n->event.tool_error = marks & LEDGER_TOOL_ERROR;
  n->event.cached = marks & LEDGER_CACHED;
  n->event.dry_run = marks & LEDGER_DRY_RUN;
  n->event.asked = marks & LEDGER_ASKED;
  n->event.attempts = retries;
}

// ---- it is over

static enum audit_decision decision_of(enum fault_code code) {
  switch (code) {
  case FAULT_NONE: return AUDIT_ALLOW;
  case FAULT_DENIED_BY_POLICY:
  case FAULT_INVALID_AGENT_ID:
  case FAULT_FALLBACK_AGENT_NOT_IN_RULES:
  case FAULT_NO_FALLBACK_CONFIGURED:
  case FAULT_AUDIT_UNAVAILABLE: return AUDIT_DENY;
  case FAULT_UPSTREAM_TIMEOUT: return AUDIT_TIMEOUT;
  default: return AUDIT_ERROR;
  }
}

// What an error of the protocol is called that no fault stands for.
static str name_of(int code) {
  switch (code) {
  case RPC_METHOD_NOT_FOUND: return STR("METHOD_NOT_FOUND");
  case RPC_INVALID_PARAMS: return STR("INVALID_PARAMS");
  case RPC_INVALID_REQUEST: return STR("INVALID_REQUEST");
  default: return STR("INTERNAL_ERROR");
  }
}

static void conclude(struct note *n, const struct request *r, str answer) {
  struct audit_event *e = &n->event;
  enum fault_code code = n->fault;
  if (!code && !answer.p) code = FAULT_CANCELLED;
  if (n->denied) code = FAULT_DENIED_BY_POLICY;
  e->decision = decision_of(code);
  if (code) e->code = str_of(fault_name(code));
  if (code || !r->code) return;
  e->decision = AUDIT_ERROR;
  e->code = name_of(r->code);
}

static str id_of(struct request *r) {
  str text;
  return json_string(r->msg.id, &r->arena, &text) ? text : r->id;
}

static void identify(struct note *n, struct request *r) {
  struct audit_event *e = &n->event;
  const struct session *s = r->session;
  str bound = session_agent(s);
  if (!e->agent.p && bound.n) e->agent = bound;
  e->request_id = id_of(r);
  e->principal = session_principal(s);
  if (!s->callers) e->session = (str){s->id, SESSION_TOLD};  // else it was lent, and is nobody's
}

void ledger_close(struct ledger *l, struct request *r, str answer) {
  struct note *n = r->note;
  if (!n) return;
  r->note = NULL;
  n->event.latency_us = clock_mono_us(l->opt.loop->clock) - n->began_us;
  conclude(n, r, answer);
  measure(n, answer);
  identify(n, r);
  if (n->arguments && n->arguments->n <= ARGUMENTS_MOST)
    n->event.arguments = secrets_mask_json(&r->arena, n->arguments);
  audit_add(l->opt.audit, &n->event);
  loop_defer(l->opt.loop, &l->due);
}

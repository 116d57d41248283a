// SPDX-License-Identifier: Apache-2.0
#include "call/approved_call.h"

#include "base/assert.h"
#include "call/steps/steps.h"
#include "govern/records.h"
#include "govern/signing.h"
#include "mcp/gateway_chain.h"
#include "text/secrets.h"

enum { WAIT_AGAIN_S = 20, OPTIONS_MAX = 8192 };

// ---- the caller

str approved_owner(const struct caller *caller, const struct session *s, struct arena *a) {
  char hash[APPROVAL_HASH_SIZE];
  str tenant = STR_NONE;
  const struct json *context = caller->run->governed.context;
  json_string(json_get(context, STR("tenant")), a, &tenant);
  approval_owner(tenant, caller->id, session_principal(s), json_get(context, STR("principals")), hash);
  return arena_str(a, str_of(hash));
}

str approved_session(const struct session *s, struct arena *a) {
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  if (s->revision->stateless) return STR_NONE;
  hash_sha256(arena_printf(a, "session %s", s->id), digest);
  hash_hex(digest, sizeof digest, hex);
  return arena_printf(a, "sha256:%s", hex);
}

void calls_withdraw(struct call_context *x, const struct session *s) {
  struct arena a;
  const struct rulebook *rules = x->rules;
  bool withdraws = s->left && rules->approvals && rules->governance &&
                   governance_approvals(rules->governance)->withdraw == WITHDRAW_WITH_SESSION;
  if (!withdraws) return;
  arena_init(&a);
  approvals_withdraw_session(rules->approvals, approved_session(s, &a));
  arena_done(&a);
}

// ---- the call

// Returns whether a member of _meta belongs to one request only, so that it is not a part of the approved call.
static bool is_of_request(str key) {
  static const str names[] = {STR("progressToken"), STR("traceparent"), STR("tracestate"), STR("baggage"),
                              CLIENT_STRUCTURED,    DECISION_META,      CHAIN_META};
  if (str_starts(key, STR("io.modelcontextprotocol/")) || str_starts(key, STR("toolgate/"))) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_eq(key, names[i])) return true;
  return false;
}

// Writes the members of `meta` that belong to the call or, with `of_request`, the other ones. Returns their number.
static size_t put_meta(struct json_writer *w, const struct json *meta, bool of_request, struct arena *a) {
  size_t count = 0;
  if (!json_is(meta, JSON_OBJECT) || json_is_folded(meta)) return 0;
  JSON_EACH(it, meta) {
    str key = json_key(it, a);
    if (is_of_request(key) != of_request) continue;
    json_member_raw(w, key, json_span(it));
    count++;
  }
  return count;
}

static str meta_of(struct call *c) {
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  struct buf b;
  if (!json_is(meta, JSON_OBJECT)) return STR_NONE;
  buf_init(&b, 2 * (size_t)meta->n + 16);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  size_t count = put_meta(&w, meta, false, &c->request->arena);
  json_end_object(&w);
  str text = count ? arena_str(&c->request->arena, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return text;
}

static str options_of(struct call *c) {
  const struct caller_options *o = &c->options;
  const struct run_budget *run = &o->run_budget;
  struct buf b;
  buf_init(&b, OPTIONS_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  if (o->mode.p) json_member_str(&w, STR("mode"), o->mode);
  if (o->safety_mode.p) json_member_str(&w, STR("safety_mode"), o->safety_mode);
  if (o->timeout_ms) json_member_u64(&w, STR("timeout_ms"), o->timeout_ms);
  if (o->max_tokens) json_member_u64(&w, STR("max_tokens"), o->max_tokens);
  if (o->run_id.p) {
    json_member_str(&w, STR("run_id"), o->run_id);
    json_member_u64(&w, STR("max_calls"), run->max_calls);
    json_member_u64(&w, STR("max_wall_ms"), run->max_wall_ms);
    json_member_u64(&w, STR("max_call_ms"), run->max_call_ms);
    json_put_key(&w, STR("max_cost"));
    buf_printf(&b, "%.17g", run->max_cost);
  }
  json_end_object(&w);
  str text = b.over || b.n == 2 ? STR_NONE : arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// Returns the arguments as approvers see them, or STR_NONE if they have no secrets. Sets *over if they are too large.
static str shown_of(struct call *c, const struct json *args, bool *over) {
  struct buf b;
  buf_init(&b, 2 * (size_t)APPROVAL_ARGS_MAX);
  bool masked = secrets_put_json(&b, args, c->route_count ? &call_spec(c)->secrets : NULL);
  *over = b.over;
  str text = masked && !b.over ? arena_str(&c->request->arena, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return text;
}

static void set_gates(struct call *c, struct approval *out) {
  const struct call_gates *gates = call_gates(c);
  out->gates = ARENA_ARRAY(&c->request->arena, struct approval_gate, gates->count);
  out->gate_count = gates->count;
  for (size_t i = 0; i < gates->count; i++)
    out->gates[i] = (struct approval_gate){
        .gate_id = gates->list[i]->gate_id, .role = gates->list[i]->role, .quorum = gates->list[i]->quorum};
}

bool approved_draft(struct call *c, struct approval *out, struct fault *f) {
  struct arena *a = &c->request->arena;
  const struct governance_capability *capability = call_capability(c);
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  const struct json *context = c->run->governed.context, *principals = json_get(context, STR("principals"));
  char hash[APPROVAL_HASH_SIZE];
  bool over = args && args->n > APPROVAL_ARGS_MAX;
  ASSERT(capability && c->item);
  *out = (struct approval){
      .state = APPROVAL_STATE_PENDING,
      .owner = approved_owner(&c->caller, c->session, a),
      .session = approved_session(c->session, a),
      .agent = c->caller.id,
      .principal = session_principal(c->session),
      .principals = principals ? json_span(principals) : STR_NONE,
      .server = c->named_server.p ? c->named_server : call_server(c),
      .tool = c->item->name,
      .tool_id = c->about.n ? c->about : STR_NONE,
      .capability = capability->id,
      .class = str_of(capability_class_name((enum capability_class)capability->class)),
      .mode = str_of(approval_mode_name(call_mode(c))),
      .args = args ? json_span(args) : STR("{}"),
      .meta = meta_of(c),
      .options = options_of(c),
      .decision_id = call_decision_id(c),
      .governance = governance_digest(c->governance),
  };
  if (!over && args) out->shown = shown_of(c, args, &over);
  if (over || out->meta.n > APPROVAL_ARGS_MAX) {
    fault_set(f, FAULT_LIMIT, "the arguments of a call that needs approval can have at most %d bytes",
              APPROVAL_ARGS_MAX);
    return false;
  }
  json_string(json_get(context, STR("tenant")), a, &out->tenant);
  set_gates(c, out);
  approval_hash_same(out, hash);
  out->same = arena_str(a, str_of(hash));
  return true;
}

// ---- the approved call

static void read_options(const struct approval *x, struct arena *a, struct caller_options *o) {
  struct fault f;
  int64_t number;
  const struct json *v = x->options.p ? json_parse(a, x->options, &json_default_limits, &f) : NULL;
  struct run_budget *run = &o->run_budget;
  const struct {
    const char *key;
    uint64_t *to;
  } numbers[] = {{"timeout_ms", &o->timeout_ms},
                 {"max_calls", &run->max_calls},
                 {"max_wall_ms", &run->max_wall_ms},
                 {"max_call_ms", &run->max_call_ms}};
  json_string(json_get(v, STR("mode")), a, &o->mode);
  json_string(json_get(v, STR("safety_mode")), a, &o->safety_mode);
  json_string(json_get(v, STR("run_id")), a, &o->run_id);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (json_int(json_get(v, str_of(numbers[i].key)), &number) && number > 0) *numbers[i].to = (uint64_t)number;
  if (json_int(json_get(v, STR("max_tokens")), &number) && number > 0) o->max_tokens = (size_t)number;
  json_double(json_get(v, STR("max_cost")), &run->max_cost);
}

// Returns the params of the approved call. Members of _meta that belong to the request itself are those of `old`.
static str params_of(const struct approval *x, str name, const struct json *old, struct arena *a) {
  struct fault f;
  struct buf b;
  const struct json *frozen = x->meta.p ? json_parse(a, x->meta, &json_default_limits, &f) : NULL;
  buf_init(&b, x->args.n + 2 * x->meta.n + 2 * (size_t)(old ? old->n : 0) + 6 * (x->tool.n + name.n) + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), name.p ? name : x->tool);
  json_member_raw(&w, STR("arguments"), x->args);
  struct buf meta;
  buf_init(&meta, b.max);
  struct json_writer in = json_writer(&meta);
  json_begin_object(&in);
  size_t count = put_meta(&in, frozen, false, a) + put_meta(&in, json_get(old, STR("_meta")), true, a);
  json_end_object(&in);
  if (count) json_member_raw(&w, STR("_meta"), buf_view(&meta));
  buf_done(&meta);
  static const str kept[] = {STR("inputResponses"), STR("requestState")};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const struct json *member = json_get(old, kept[i]);
    if (member) json_member_raw(&w, kept[i], json_span(member));
  }
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void start(struct call_context *x, struct request *r, const struct call_method *method, str agent, str name,
                  const struct approval *approved) {
  struct arena *a = &r->arena;
  struct caller_options options = {.agent = agent, .approval = arena_str(a, approved->request_id)};
  struct call_place place = {arena_str(a, approved->server), arena_str(a, approved->tool)};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  struct fault f;
  options.run_budget.max_cost = approved->options.p ? -1 : 0;
  read_options(approved, a, &options);
  r->msg.params = json_parse(a, params_of(approved, name, r->msg.params, a), &limits, &f);
  ASSERT(r->msg.params);  // all its parts were parsed before
  r->msg.method = str_of(method->name);
  r->by_http = false;  // HTTP headers repeat the arguments of the original request
  str about = method->form == CALL_META && approved->tool_id.p ? arena_str(a, approved->tool_id) : STR_NONE;
  call_start_for(x, r, method, about, &place, &options);
}

void calls_start_approved(struct call_context *x, struct request *r, const struct call_method *method, str agent,
                          const struct approval *approved) {
  start(x, r, method, agent, STR_NONE, approved);
}

void approved_begin_again(struct call *c, const struct approval *approved) {
  struct request *r = c->request;
  struct call_context *x = c->context;
  const struct call_method *method = c->method;
  struct json_edit used[] = {{STR("requestState"), STR_NONE}, {STR("inputResponses"), STR_NONE}};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  struct fault f;
  str agent = c->named, name = STR_NONE;
  r->msg.params = json_parse(&r->arena, json_edited(&r->arena, r->msg.params, used, 2), &limits, &f);
  ASSERT(r->msg.params);  // its parts were parsed before
  json_string(json_get(r->msg.params, STR("name")), &r->arena, &name);
  call_discard(c);
  start(x, r, method, agent, name, approved);
}

// ---- waiting

void approved_put_pending(const struct approval *x, bool by_execute, struct buf *out) {
  char time[CLOCK_TEXT];
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("status"), STR("approval_required"));
  json_member_str(&w, STR("request_id"), x->request_id);
  json_member_str(&w, STR("expires_at"), (str){time, clock_print(x->expires_at, time)});
  json_member_str(&w, STR("gate"), x->gates[0].gate_id);
  json_member_str(&w, STR("role"), x->gates[0].role);
  json_member_str(&w, STR("next"),
                  by_execute
                      ? STR("Nothing was executed: a person must approve the call first. When that has happened, "
                            "call tool_execute with this request_id and nothing else.")
                      : STR("Nothing was executed: a person must approve the call first. When that has happened, "
                            "call approval_status with this request_id."));
  json_end_object(&w);
}

uint64_t approved_wait_ms(const struct governance *g, bool again) {
  int64_t s = governance_approvals(g)->wait_s;
  return (uint64_t)(s >= 0 ? s : again ? WAIT_AGAIN_S : 0) * 1000;
}

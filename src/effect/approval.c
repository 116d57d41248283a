// SPDX-License-Identifier: Apache-2.0
#include "effect/approval.h"

#include "base/assert.h"
#include "base/clock.h"
#include "store/shared.h"

enum { HISTORY_MAX = 64 << 10, CLOCK_BACK_MS = 60000 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- states

static const struct {
  const char *name;
  bool final;
} states[APPROVAL_STATE_COUNT] = {
#define X(name, word, final) [APPROVAL_STATE_##name] = {word, final},
    APPROVAL_STATES(X)
#undef X
};

const char *approval_state_name(enum approval_state s) {
  ASSERT((unsigned)s < APPROVAL_STATE_COUNT);
  return states[s].name;
}

bool approval_state_is_final(enum approval_state s) {
  ASSERT((unsigned)s < APPROVAL_STATE_COUNT);
  return states[s].final;
}

enum approval_state approval_state_at(const struct approval *x, int64_t now) {
  bool open = x->state == APPROVAL_STATE_PENDING || x->state == APPROVAL_STATE_APPROVED;
  bool over = now >= x->expires_at || now < x->proposed_at - CLOCK_BACK_MS;
  return open && over ? APPROVAL_STATE_EXPIRED : x->state;
}

void approval_set_state(struct approval *x, enum approval_state s, int64_t now, str by, str why, struct arena *a) {
  struct buf b;
  buf_init(&b, HISTORY_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  if (x->history.n > 2) json_put_raw(&w, (str){x->history.p + 1, x->history.n - 2});
  json_begin_object(&w);
  json_member_int(&w, STR("at"), now);
  json_member_str(&w, STR("status"), str_of(approval_state_name(s)));
  if (by.p) json_member_str(&w, STR("by"), by);
  if (why.n) json_member_str(&w, STR("why"), why);
  json_end_object(&w);
  json_end_array(&w);
  x->state = s;
  if (!b.over) x->history = arena_str(a, buf_view(&b));
  buf_done(&b);
}

// ---- the record

enum member_kind { TEXT, RAW, NUMBER, FLAG };

// A member of an object, and its place in a struct.
struct member {
  const char *key;
  size_t at;
  enum member_kind kind;
  bool required;
};

#define MEMBER(type, name, kind, required) \
  { #name, offsetof(type, name), kind, required }

#define M(name, kind, required) MEMBER(struct approval, name, kind, required)
static const struct member of_request[] = {
    M(request_id, TEXT, true),   M(proposed_at, NUMBER, true),
    M(expires_at, NUMBER, true), M(owner, TEXT, true),
    M(session, TEXT, false),     M(tenant, TEXT, false),
    M(agent, TEXT, true),        M(principal, TEXT, true),
    M(principals, RAW, false),   M(server, TEXT, true),
    M(tool, TEXT, true),         M(capability, TEXT, true),
    M(class, TEXT, true),        M(mode, TEXT, true),
    M(tool_id, TEXT, false),     M(args, RAW, true),
    M(shown, RAW, false),        M(meta, RAW, false),
    M(options, RAW, false),      M(decision_id, TEXT, false),
    M(governance, TEXT, true),   M(same, TEXT, true),
    M(call_hash, TEXT, true),    M(evidence_hash, TEXT, false),
    M(gateway, TEXT, false),     M(code, TEXT, false),
    M(result, RAW, false),       M(stateless_result, FLAG, false),
    M(history, RAW, false),
};
#undef M

#define M(name, kind, required) MEMBER(struct approval_decision, name, kind, required)
static const struct member of_decision[] = {
    M(decision_id, TEXT, true), M(approver, TEXT, true), M(role, TEXT, true),    M(gate_id, TEXT, true),
    M(reason, TEXT, false),     M(via, TEXT, true),      M(approve, FLAG, true), M(at, NUMBER, true),
    M(call_hash, TEXT, true),   M(kid, TEXT, true),      M(sig, TEXT, true),
};
#undef M

#define M(name, kind, required) MEMBER(struct approval_gate, name, kind, required)
static const struct member of_gate[] = {M(gate_id, TEXT, true), M(role, TEXT, true), M(quorum, NUMBER, true)};
#undef M

#define M(name, kind, required) MEMBER(struct approval_evidence, name, kind, required)
static const struct member of_evidence[] = {M(gate_id, TEXT, true), M(capability, TEXT, true), M(sha256, TEXT, true),
                                            M(excerpt, TEXT, true)};
#undef M

static bool read_members(const struct json *v, const struct member *list, size_t count, struct arena *a, void *out) {
  for (size_t i = 0; i < count; i++) {
    const struct json *m = json_get(v, str_of(list[i].key));
    char *to = (char *)out + list[i].at;
    bool ok = false;
    if (!m && !list[i].required) continue;
    switch (list[i].kind) {
    case TEXT: ok = json_string(m, a, (str *)to); break;
    case NUMBER: ok = json_int(m, (int64_t *)to); break;
    case FLAG: ok = json_bool(m, (bool *)to); break;
    case RAW:
      ok = m != NULL;
      if (ok) *(str *)to = json_span(m);
    }
    if (!ok) return false;
  }
  return true;
}

static void put_members(struct json_writer *w, const struct member *list, size_t count, const void *from) {
  for (size_t i = 0; i < count; i++) {
    const char *at = (const char *)from + list[i].at;
    str key = str_of(list[i].key), text = STR_NONE;
    if (list[i].kind <= RAW) text = *(const str *)at;
    if (list[i].kind == NUMBER) json_member_int(w, key, *(const int64_t *)at);
    else if (list[i].kind == FLAG) json_member_bool(w, key, *(const bool *)at);
    else if (text.p && list[i].kind == TEXT) json_member_str(w, key, text);
    else if (text.p) json_member_raw(w, key, text);
  }
}

static bool read_gate(const struct json *v, struct arena *a, struct approval_gate *out) {
  const struct json *list = json_get(v, STR("decisions"));
  if (!read_members(v, of_gate, COUNT(of_gate), a, out) || !json_is(list, JSON_ARRAY)) return false;
  out->decisions = ARENA_ARRAY(a, struct approval_decision, list->count);
  JSON_EACH(it, list)
    if (!read_members(it, of_decision, COUNT(of_decision), a, &out->decisions[out->decision_count++])) return false;
  return (int64_t)out->quorum > 0;
}

static bool read_lists(const struct json *v, struct arena *a, struct approval *out) {
  const struct json *gates = json_get(v, STR("gates")), *evidence = json_get(v, STR("evidence"));
  if (!json_is(gates, JSON_ARRAY) || !gates->count || !json_is(evidence, JSON_ARRAY)) return false;
  out->gates = ARENA_ARRAY(a, struct approval_gate, gates->count);
  JSON_EACH(it, gates)
    if (!read_gate(it, a, &out->gates[out->gate_count++])) return false;
  out->evidence = ARENA_ARRAY(a, struct approval_evidence, evidence->count);
  JSON_EACH(it, evidence)
    if (!read_members(it, of_evidence, COUNT(of_evidence), a, &out->evidence[out->evidence_count++])) return false;
  return true;
}

bool approval_read(str text, struct arena *a, struct approval *out) {
  static const struct json_limits limits = {SHARED_BYTES, JSON_DEEPEST, 0};
  struct fault f;
  int64_t version = 0;
  const struct json *v = json_parse(a, arena_str(a, text), &limits, &f), *state = json_get(v, STR("status"));
  *out = (struct approval){.state = APPROVAL_STATE_COUNT};
  for (unsigned i = 0; i < APPROVAL_STATE_COUNT; i++)
    if (json_equals_str(state, str_of(states[i].name))) out->state = (enum approval_state)i;
  return json_int(json_get(v, STR("v")), &version) && version == 1 && out->state != APPROVAL_STATE_COUNT &&
         read_members(v, of_request, COUNT(of_request), a, out) && read_lists(v, a, out);
}

static void put_gate(struct json_writer *w, const struct approval_gate *g) {
  json_begin_object(w);
  put_members(w, of_gate, COUNT(of_gate), g);
  json_put_key(w, STR("decisions"));
  json_begin_array(w);
  for (size_t i = 0; i < g->decision_count; i++) {
    json_begin_object(w);
    put_members(w, of_decision, COUNT(of_decision), &g->decisions[i]);
    json_end_object(w);
  }
  json_end_array(w);
  json_end_object(w);
}

static void put_lists(struct json_writer *w, const struct approval *x) {
  json_put_key(w, STR("gates"));
  json_begin_array(w);
  for (size_t i = 0; i < x->gate_count; i++) put_gate(w, &x->gates[i]);
  json_end_array(w);
  json_put_key(w, STR("evidence"));
  json_begin_array(w);
  for (size_t i = 0; i < x->evidence_count; i++) {
    json_begin_object(w);
    put_members(w, of_evidence, COUNT(of_evidence), &x->evidence[i]);
    json_end_object(w);
  }
  json_end_array(w);
}

void approval_put(const struct approval *x, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_u64(&w, STR("v"), 1);
  json_member_str(&w, STR("status"), str_of(approval_state_name(x->state)));
  put_members(&w, of_request, COUNT(of_request), x);
  put_lists(&w, x);
  json_end_object(&w);
}

static void copy_members(const struct member *list, size_t count, struct arena *a, void *to) {
  for (size_t i = 0; i < count; i++) {
    str *text = (str *)((char *)to + list[i].at);
    if (list[i].kind <= RAW && text->p) *text = arena_str(a, *text);
  }
}

void approval_copy(const struct approval *x, struct arena *a, struct approval *out) {
  *out = *x;
  copy_members(of_request, COUNT(of_request), a, out);
  out->gates = ARENA_ARRAY(a, struct approval_gate, x->gate_count);
  for (size_t i = 0; i < x->gate_count; i++) {
    struct approval_gate *g = &out->gates[i];
    *g = x->gates[i];
    copy_members(of_gate, COUNT(of_gate), a, g);
    g->decisions = ARENA_ARRAY(a, struct approval_decision, g->decision_count);
    for (size_t k = 0; k < g->decision_count; k++) {
      g->decisions[k] = x->gates[i].decisions[k];
      copy_members(of_decision, COUNT(of_decision), a, &g->decisions[k]);
    }
  }
  out->evidence = ARENA_ARRAY(a, struct approval_evidence, x->evidence_count);
  for (size_t i = 0; i < x->evidence_count; i++) {
    out->evidence[i] = x->evidence[i];
    copy_members(of_evidence, COUNT(of_evidence), a, &out->evidence[i]);
  }
}

// ---- for people and programs

static void put_time(struct json_writer *w, str key, int64_t at) {
  char text[CLOCK_TEXT];
  json_member_str(w, key, (str){text, clock_print(at, text)});
}

static void put_history(struct json_writer *w, str history) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *list = history.n ? json_parse(&a, history, &json_default_limits, &f) : NULL;
  json_put_key(w, STR("history"));
  json_begin_array(w);
  for (const struct json *it = json_is(list, JSON_ARRAY) ? json_first(list) : NULL; it; it = it->next) {
    int64_t at = 0;
    json_int(json_get(it, STR("at")), &at);
    json_begin_object(w);
    put_time(w, STR("at"), at);
    for (const struct json *m = it->type == JSON_OBJECT ? json_first(it) : NULL; m; m = m->next)
      if (!json_key_is(m, STR("at"))) json_member_raw(w, json_key(m, &a), json_span(m));
    json_end_object(w);
  }
  json_end_array(w);
  arena_done(&a);
}

static size_t approvals_of(const struct approval_gate *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->decision_count; i++) n += g->decisions[i].approve;
  return n;
}

static void put_shown_gate(struct json_writer *w, const struct approval_gate *g, bool whole) {
  json_begin_object(w);
  json_member_str(w, STR("gate_id"), g->gate_id);
  json_member_str(w, STR("role"), g->role);
  json_member_u64(w, STR("quorum"), g->quorum);
  json_member_u64(w, STR("approvals"), approvals_of(g));
  if (whole) {
    json_put_key(w, STR("decisions"));
    json_begin_array(w);
    for (size_t i = 0; i < g->decision_count; i++) {
      const struct approval_decision *d = &g->decisions[i];
      json_begin_object(w);
      json_member_str(w, STR("decision_id"), d->decision_id);
      json_member_str(w, STR("approver"), d->approver);
      json_member_str(w, STR("role"), d->role);
      json_member_str(w, STR("decision"), d->approve ? STR("approve") : STR("deny"));
      if (d->reason.n) json_member_str(w, STR("reason"), d->reason);
      put_time(w, STR("at"), d->at);
      json_member_str(w, STR("via"), d->via);
      json_member_str(w, STR("kid"), d->kid);
      json_member_str(w, STR("sig"), d->sig);
      json_end_object(w);
    }
    json_end_array(w);
  }
  json_end_object(w);
}

static void put_evidence(struct json_writer *w, const struct approval *x) {
  json_put_key(w, STR("evidence"));
  json_begin_array(w);
  for (size_t i = 0; i < x->evidence_count; i++) {
    json_begin_object(w);
    put_members(w, of_evidence, COUNT(of_evidence), &x->evidence[i]);
    json_end_object(w);
  }
  json_end_array(w);
  json_member_str_or_null(w, STR("evidence_snapshot_hash"), x->evidence_hash);
}

void approval_put_shown(const struct approval *x, bool whole, struct json_writer *w) {
  json_begin_object(w);
  json_member_str(w, STR("request_id"), x->request_id);
  json_member_str(w, STR("status"), str_of(approval_state_name(x->state)));
  json_member_str(w, STR("capability"), x->capability);
  json_member_raw(w, STR("args"), x->shown.p ? x->shown : x->args);
  json_member_str(w, STR("gate"), x->gates[0].gate_id);
  json_member_str(w, STR("role"), x->gates[0].role);
  put_time(w, STR("proposed_at"), x->proposed_at);
  put_time(w, STR("expires_at"), x->expires_at);
  json_member_str_or_null(w, STR("tenant"), x->tenant);
  json_member_str(w, STR("agent"), x->agent);
  json_member_raw(w, STR("principals"), x->principals.p ? x->principals : STR("[]"));
  json_member_str(w, STR("server"), x->server);
  json_member_str(w, STR("tool"), x->tool);
  json_member_str(w, STR("mode"), x->mode);
  json_put_key(w, STR("gates"));
  json_begin_array(w);
  for (size_t i = 0; i < x->gate_count; i++) put_shown_gate(w, &x->gates[i], whole);
  json_end_array(w);
  if (x->code.p) json_member_str(w, STR("code"), x->code);
  if (whole) {
    json_member_bool(w, STR("masked"), x->shown.p != NULL);
    if (x->meta.p) json_member_raw(w, STR("meta"), x->meta);
    json_member_str_or_null(w, STR("decision_id"), x->decision_id);
    json_member_str(w, STR("call_hash"), x->call_hash);
    json_member_str(w, STR("governance"), x->governance);
    put_evidence(w, x);
    put_history(w, x->history);
  }
  json_end_object(w);
}

// SPDX-License-Identifier: Apache-2.0
// Decisions of approvers: who may decide, signatures, and whether the decisions suffice.
#include "base/assert.h"
#include "effect/approval.h"
#include "json/canon.h"

enum { NAME_SHOWN = 100, SIGNED_MAX = 64 << 10, ID_RANDOM = 8 };

// ---- signatures

// Returns the text that a signature covers: the canonical form of the decision, in the arena.
static str signed_text(const struct approval *x, const struct approval_decision *d, struct arena *a) {
  struct buf b, canon;
  struct fault f;
  buf_init(&b, SIGNED_MAX);
  buf_init(&canon, 2 * SIGNED_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("alg"), STR("EdDSA"));
  json_member_str(&w, STR("approver"), d->approver);
  json_member_int(&w, STR("at"), d->at);
  json_member_str(&w, STR("call_hash"), d->call_hash);
  json_member_str(&w, STR("decision"), d->approve ? STR("approve") : STR("deny"));
  json_member_str(&w, STR("decision_id"), d->decision_id);
  json_member_str(&w, STR("gate_id"), d->gate_id);
  json_member_str(&w, STR("kid"), d->kid);
  json_member_str(&w, STR("reason"), d->reason.p ? d->reason : STR(""));
  json_member_str(&w, STR("request_id"), x->request_id);
  json_member_str(&w, STR("role"), d->role);
  json_end_object(&w);
  const struct json *v = b.over ? NULL : json_parse(a, arena_str(a, buf_view(&b)), &json_default_limits, &f);
  bool ok = v && json_canon(&canon, v, JSON_CANON_JCS, &f) && !canon.over;
  ASSERT(ok);  // names and reasons have limits, and the numbers are exact
  str text = arena_str(a, buf_view(&canon));
  buf_done(&b);
  buf_done(&canon);
  return text;
}

static bool is_valid(const struct approval *x, const struct approval_decision *d, const struct gateway_key *key,
                     struct arena *a) {
  return str_eq(d->call_hash, x->call_hash) && str_eq(d->kid, gateway_key_id(key)) &&
         gateway_key_verify(key, signed_text(x, d, a), d->sig);
}

// ---- the approver

static bool refuse(struct fault *f, const char *what, str name) {
  str shown = {name.p, name.n < NAME_SHOWN ? name.n : NAME_SHOWN};
  fault_set(f, FAULT_APPROVAL_INVALID, "%s: %.*s", what, STR_ARG(shown));
  return false;
}

static bool is_principal(const struct approval *x, str name, struct arena *a) {
  struct fault f;
  const struct json *list = x->principals.n ? json_parse(a, x->principals, &json_default_limits, &f) : NULL;
  if (str_eq_nocase(name, x->agent) || str_eq_nocase(name, x->principal)) return true;
  for (const struct json *it = json_is(list, JSON_ARRAY) ? json_first(list) : NULL; it; it = it->next) {
    str id;
    if (json_string(json_get(it, STR("id")), a, &id) && str_eq_nocase(name, id)) return true;
  }
  return false;
}

static bool may_vote(const struct approval *x, const struct approval_vote *v, int64_t now, struct arena *a,
                     struct fault *f) {
  enum approval_state state = approval_state_at(x, now);
  if (state == APPROVAL_STATE_EXPIRED) {
    fault_set(f, FAULT_APPROVAL_EXPIRED, "the request %.*s has expired", STR_ARG(x->request_id));
    return false;
  }
  if (state != APPROVAL_STATE_PENDING && !(state == APPROVAL_STATE_APPROVED && !v->approve))
    return refuse(f, "the request is not pending", str_of(approval_state_name(state)));
  if (!governance_is_id(v->approver)) return refuse(f, "the name of the approver is not valid", v->approver);
  if (!governance_is_id(v->role)) return refuse(f, "the role of the approver is not valid", v->role);
  if (v->reason.n > APPROVAL_REASON_MAX) return refuse(f, "the reason is longer than 1024 bytes", v->approver);
  if (is_principal(x, v->approver, a))
    return refuse(f, "a principal of the call must not approve it; another person must decide", v->approver);
  return true;
}

// ---- votes

static bool has_approved(const struct approval_gate *g, str approver) {
  for (size_t i = 0; i < g->decision_count; i++)
    if (g->decisions[i].approve && str_eq_nocase(g->decisions[i].approver, approver)) return true;
  return false;
}

static size_t count_approvals(const struct approval_gate *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->decision_count; i++) n += g->decisions[i].approve;
  return n;
}

static void add_decision(struct approval *x, struct approval_gate *g, const struct approval_vote *v,
                         const struct gateway_key *key, const struct rand_source *rand, int64_t now, struct arena *a) {
  unsigned char random[ID_RANDOM];
  char hex[2 * ID_RANDOM + 1];
  rand_fill(rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  struct approval_decision *list = ARENA_ARRAY(a, struct approval_decision, g->decision_count + 1);
  if (g->decision_count) memcpy(list, g->decisions, g->decision_count * sizeof *list);
  struct approval_decision *d = &list[g->decision_count++];
  g->decisions = list;
  *d = (struct approval_decision){
      .decision_id = arena_printf(a, "sig_%s", hex),
      .approver = v->approver,
      .role = v->role,
      .gate_id = g->gate_id,
      .reason = v->reason.n ? v->reason : STR_NONE,
      .via = v->via,
      .approve = v->approve,
      .at = now,
      .call_hash = x->call_hash,
      .kid = gateway_key_id(key),
  };
  d->sig = gateway_key_sign(key, signed_text(x, d, a), a);
}

static bool is_satisfied(const struct approval *x) {
  for (size_t i = 0; i < x->gate_count; i++)
    if (count_approvals(&x->gates[i]) < x->gates[i].quorum) return false;
  return true;
}

bool approval_vote(struct approval *x, const struct approval_vote *v, const struct gateway_key *key,
                   const struct rand_source *rand, int64_t now, struct arena *a, struct fault *f) {
  bool fits = false;
  if (!may_vote(x, v, now, a, f)) return false;
  for (size_t i = 0; i < x->gate_count; i++) {
    struct approval_gate *g = &x->gates[i];
    if (!str_eq(g->role, v->role) || (v->gate.p && !str_eq(g->gate_id, v->gate))) continue;
    if (!v->approve && fits) continue;  // one denial is enough
    fits = true;
    if (v->approve && (has_approved(g, v->approver) || count_approvals(g) >= g->quorum)) continue;
    add_decision(x, g, v, key, rand, now, a);
  }
  if (!fits) return refuse(f, "no gate of the request needs this role", v->role);
  if (!v->approve) approval_set_state(x, APPROVAL_STATE_DENIED, now, v->approver, v->reason, a);
  else if (is_satisfied(x)) approval_set_state(x, APPROVAL_STATE_APPROVED, now, v->approver, v->reason, a);
  return true;
}

bool approval_satisfies(const struct approval *x, const struct governance_gate *gate, const struct gateway_key *key) {
  const struct approval_gate *g = NULL;
  struct arena a;
  size_t valid = 0;
  for (size_t i = 0; i < x->gate_count; i++)
    if (str_eq(x->gates[i].gate_id, gate->gate_id)) g = &x->gates[i];
  if (!g) return false;
  arena_init(&a);
  for (size_t i = 0; i < g->decision_count; i++) {
    const struct approval_decision *d = &g->decisions[i];
    bool counts = d->approve && str_eq(d->role, gate->role) && str_eq(d->gate_id, gate->gate_id) &&
                  !is_principal(x, d->approver, &a) && is_valid(x, d, key, &a);
    for (size_t k = 0; k < i && counts; k++) counts = !str_eq_nocase(g->decisions[k].approver, d->approver);
    valid += counts;
  }
  arena_done(&a);
  return valid >= gate->quorum;
}

// SPDX-License-Identifier: Apache-2.0
// Reads the member `approvals` of a governance file, and the members of gates about their requests for approval.
#include "base/assert.h"
#include "govern/govern_impl.h"
#include "schema/exact.h"

enum { TTL_S = 15 * 60, TTL_MAX = 30 * 24 * 3600, WAIT_MAX = 600 };

// ---- gates

void governance_read_ttl(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  uint64_t n;
  if (exact_count(v, &n) && n >= 1 && n <= TTL_MAX) *(uint64_t *)to = n;
  else governance_report(r, pointer, "must be a whole number of seconds from 1 to %d", TTL_MAX);
}

struct evidence_source {
  struct governance_evidence evidence;
  str capability;
};

static void read_one(struct governance_reader *r, str pointer, const struct json *v, void *into) {
#define AT(member) offsetof(struct evidence_source, member)
  static const struct governance_field fields[] = {
      {"capability", governance_id, AT(capability), true, NULL},
      {"args", governance_object_template, AT(evidence.args), false, NULL},
  };
#undef AT
  struct evidence_source s = {.evidence.pointer = pointer};
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, &s);
  const struct governance_capability *c = governance_find(r->governance, s.capability);
  bool reads = c && c->mode == APPROVAL_READ_ONLY &&
               (1u << c->class & (1u << CLASS_OBSERVE | 1u << CLASS_RECALL | 1u << CLASS_VERIFY));
  if (s.capability.n && !c)
    governance_report(r, pointer, "no adapter registers the capability \"%.*s\"", STR_ARG(s.capability));
  else if (c && (!reads || !c->adapter->server.p))
    governance_report(r, pointer,
                      "evidence needs a capability of class observe, recall or verify with the mode read_only, whose "
                      "adapter has a server");
  s.evidence.capability = c;
  *(struct governance_evidence *)into = s.evidence;
}

void governance_read_evidence(struct governance_reader *r, str pointer, const struct json *v,
                              const struct governance_field *f, void *to) {
  struct governance_gate *gate = to;
  gate->evidence =
      governance_read_list(r, pointer, v, sizeof(struct governance_evidence), read_one, &gate->evidence_count);
  if (gate->evidence_count > APPROVALS_EVIDENCE_MAX)
    governance_report(r, pointer, "must have at most %d elements", APPROVALS_EVIDENCE_MAX);
}

// ---- the file

static void read_destructive(struct governance_reader *r, str pointer, const struct json *v,
                             const struct governance_field *f, void *to) {
#define AT(member) offsetof(struct governance_gate, member)
  static const struct governance_field fields[] = {
      {"required_approver_role", governance_id, AT(role), false, NULL},
      {"quorum", governance_count, AT(quorum), false, NULL},
      {"ttl_s", governance_read_ttl, AT(ttl_s), false, NULL},
      {"evidence", governance_read_evidence, 0, false, NULL},
  };
#undef AT
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, to);
}

static void read_wait(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  int64_t n;
  if (json_int(v, &n) && n >= 0 && n <= WAIT_MAX) *(int64_t *)to = n;
  else governance_report(r, pointer, "must be a whole number of seconds from 0 to %d", WAIT_MAX);
}

static bool may_need_approval(const struct governance *g) {
  bool may = g->unlisted == UNLISTED_PROVISIONAL || g->provisional_tools;
  for (size_t i = 0; i < g->bundle_count; i++) may |= g->bundles[i].gate_count > 0;
  for (size_t i = 0; i < g->capability_count; i++) may |= g->capabilities[i].mode == APPROVAL_DESTRUCTIVE;
  return may;
}

void governance_read_approvals(struct governance_reader *r, str pointer, const struct json *v) {
#define AT(member) offsetof(struct governance_approvals, member)
  static const char *const withdraw[] = {"session", "never", NULL};
  static const struct governance_field fields[] = {
      {"ttl_s", governance_read_ttl, AT(ttl_s), false, NULL},
      {"wait_s", read_wait, AT(wait_s), false, NULL},
      {"withdraw", governance_choice, AT(withdraw), false, withdraw},
      {"destructive", read_destructive, AT(destructive), false, NULL},
  };
#undef AT
  struct governance_approvals *out = &r->governance->approvals;
  *out = (struct governance_approvals){
      .ttl_s = TTL_S,
      .wait_s = -1,
      .destructive = {.gate_id = GATE_DESTRUCTIVE,
                      .pointer = STR("/approvals/destructive"),
                      .role = STR("approver"),
                      .quorum = 1},
  };
  r->governance->may_need_approval = may_need_approval(r->governance);
  if (v) governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, out);
}

const struct governance_approvals *governance_approvals(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return &g->approvals;
}

bool governance_may_need_approval(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->may_need_approval;
}

const struct governance_gate **governance_gates(const struct governance *g, const struct governance_decision *d,
                                                struct arena *a, size_t *out_count) {
  bool built_in = !d->gate_count && d->effective == APPROVAL_DESTRUCTIVE;
  ASSERT(d->code == GOVERNANCE_ALLOWED);
  *out_count = d->gate_count + built_in;
  if (!*out_count) return NULL;
  const struct governance_gate **gates = ARENA_ARRAY(a, const struct governance_gate *, *out_count);
  for (size_t i = 0; i < *out_count; i++) gates[i] = built_in ? &g->approvals.destructive : d->gates[i];
  return gates;
}

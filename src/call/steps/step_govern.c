// SPDX-License-Identifier: Apache-2.0
// Applies the governance file to a call of a tool and to its arguments. Earlier steps have checked that the caller may
// see the tool. A call that a person must approve is refused, because the gateway cannot ask for approval.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/call_journal.h"
#include "call/steps/steps.h"
#include "govern/versions.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "json/write.h"

enum { ID_SHOWN = 100, DETAILS = 1 << 20, ID_RANDOM = 8, ID_PREFIX = 4 };

struct govern_state {
  const struct governance_capability *capability;  // NULL: the call is not governed
  enum approval_mode effective;
  char id[ID_PREFIX + 2 * ID_RANDOM + 1];  // id of the Decision Record; empty if there is none
  struct governed_call *record;            // NULL: nothing is recorded
};

const struct governance_capability *call_capability(const struct call *c) {
  return ((const struct govern_state *)call_state(c, STEP_GOVERN))->capability;
}

enum approval_mode call_mode(const struct call *c) {
  const struct govern_state *s = call_state(c, STEP_GOVERN);
  return s->capability ? s->effective : APPROVAL_NONE;
}

str call_decision_id(const struct call *c) {
  const struct govern_state *s = call_state(c, STEP_GOVERN);
  return *s->id ? str_of(s->id) : STR_NONE;
}

struct governed_call **call_governed(const struct call *c) {
  return &((struct govern_state *)call_state(c, STEP_GOVERN))->record;
}

static void done(struct call *c, void *state) {
  governed_call_free(&((struct govern_state *)state)->record);
}

static void make_id(struct govern_state *s, struct call_context *x) {
  unsigned char random[ID_RANDOM];
  rand_pool_fill(&x->governed_ids, x->loop->rand, random, sizeof random);
  memcpy(s->id, "pol_", ID_PREFIX);
  hash_hex(random, sizeof random, s->id + ID_PREFIX);
}

// ---- a denial

static enum fault_code fault_of(enum governance_code code) {
  static const enum fault_code codes[] = {
      [GOVERNANCE_CAPABILITY_UNKNOWN] = FAULT_CAPABILITY_UNKNOWN,
      [GOVERNANCE_PERMISSION_DENIED] = FAULT_PERMISSION_DENIED,
      [GOVERNANCE_POLICY_DENIED] = FAULT_POLICY_DENIED,
      [GOVERNANCE_POLICY_EVAL_ERROR] = FAULT_POLICY_EVAL_ERROR,
      [GOVERNANCE_MODE_INVALID] = FAULT_MODE_INVALID,
      [GOVERNANCE_MODE_EXCEEDS_MAXIMUM] = FAULT_MODE_EXCEEDS_MAXIMUM,
      [GOVERNANCE_MODE_RAISE_FORBIDDEN] = FAULT_MODE_RAISE_FORBIDDEN,
      [GOVERNANCE_MODE_ABOVE_RUN_CEILING] = FAULT_MODE_ABOVE_RUN_CEILING,
      [GOVERNANCE_CLASS_MODE_CONFLICT] = FAULT_CLASS_MODE_CONFLICT,
      [GOVERNANCE_DELEGATION_REQUIRED] = FAULT_DELEGATION_REQUIRED,
      [GOVERNANCE_DELEGATION_EXPIRED] = FAULT_DELEGATION_EXPIRED,
      [GOVERNANCE_CLASS_INTENT_CONFLICT] = FAULT_CLASS_INTENT_CONFLICT,
      [GOVERNANCE_ARG_CONSTRAINT_VIOLATION] = FAULT_ARG_CONSTRAINT_VIOLATION,
  };
  ASSERT((size_t)code < sizeof codes / sizeof *codes && codes[code] != FAULT_NONE);
  return codes[code];
}

static void put_mode(struct json_writer *w, str key, enum approval_mode mode) {
  if (mode != APPROVAL_NONE) json_member_str(w, key, str_of(approval_mode_name(mode)));
}

static void put_violations(struct json_writer *w, const struct violations *all) {
  if (!all->first) return;
  json_put_key(w, STR("violations"));
  json_begin_array(w);
  for (const struct violation *v = all->first; v; v = v->next) {
    json_begin_object(w);
    json_member_str(w, STR("path"), v->path);
    json_member_str(w, STR("constraint"), str_of(v->constraint));
    json_end_object(w);
  }
  json_end_array(w);
}

static str put_details(struct call *c, const struct governance_decision *d, const struct policy_decision *place) {
  struct buf b, path;
  buf_init(&b, DETAILS);
  buf_init(&path, 1 << 14);
  policy_put_path(place, &path);
  c->rule = arena_str(&c->request->arena, buf_view(&path));
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("rule"), c->rule);
  if (call_decision_id(c).p) json_member_str(&w, STR("decision_id"), call_decision_id(c));
  json_member_str(&w, STR("pointer"), place->governed);
  const struct governance_version *v = governance_version_of(c->governance, call_server(c));
  if (v) json_member_str(&w, STR("adapter_version"), v->version);
  if (d->requested.p) json_member_str(&w, STR("mode_requested"), utf8_cut(d->requested, ID_SHOWN));
  put_mode(&w, STR("mode_effective"), d->effective);
  put_mode(&w, STR("mode_highest"), d->highest);
  if (d->capability && d->capability->provisional) json_member_bool(&w, STR("provisional"), true);
  if (d->gate_count) json_member_str(&w, STR("gate"), d->gates[0]->gate_id);
  put_violations(&w, &d->violations);
  json_end_object(&w);
  str details = b.over ? STR_NONE : arena_str(&c->request->arena, buf_view(&b));
  buf_done(&path);
  buf_done(&b);
  return details;
}

static enum call_result refuse(struct call *c, const struct governance_decision *d, str id) {
  struct fault f;
  struct policy_decision place = {.governed = d->pointer};
  str shown = utf8_cut(id, ID_SHOWN);
  if (d->code != GOVERNANCE_ALLOWED) {
    fault_set(&f, fault_of(d->code), "%.*s is denied: %s", STR_ARG(shown), governance_code_advice(d->code));
  } else {
    const struct governance_gate *gate = d->gates[0];
    place.governed = gate->pointer;
    fault_set(&f, FAULT_APPROVAL_REQUIRED, "%.*s needs the approval of a %.*s (%.*s)", STR_ARG(shown),
              STR_ARG(utf8_cut(gate->role, ID_SHOWN)), STR_ARG(utf8_cut(gate->gate_id, ID_SHOWN)));
  }
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, put_details(c, d, &place));
}

// The constraints and expressions of a governance file check members of the arguments. Arguments that are not an object
// would evade the checks.
static enum call_result refuse_arguments(struct call *c) {
  struct fault f;
  fault_set(&f, FAULT_ARGS_INVALID,
            "the arguments of this tool must be an object, because a governance file applies to the tool");
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

// ---- the step

static enum call_result run(struct call *c, void *state) {
  const struct governance *g = c->governance;
  if (!g || !c->item || !call_is_tool(c)) return CALL_NEXT;
  str server = call_server(c);
  // The governance file allows tools of servers that it does not name. (If it denies them, governance_shows has hidden
  // the tool.)
  if (governance_allows_unlisted(g) && !governance_governs(g, server)) return CALL_NEXT;
  struct call_context *x = c->context;
  struct arena *a = &x->scratch;
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  if (args && !json_is(args, JSON_OBJECT)) return refuse_arguments(c);
  struct fault unrecorded;
  if (!c->options.dry_run && !call_journal_ready(c, &unrecorded))
    return call_end(c, &unrecorded, RPC_INTERNAL_ERROR, STR_NONE);
  caller_note_item(&c->caller, server, c->item);
  const struct governance_capability *capability = governance_find_tool(g, server, c->item->name);
  str asked = c->options.safety_mode;
  enum approval_mode ceiling = asked.p ? approval_mode_find(asked) : APPROVAL_NONE;
  int64_t now = clock_wall_ms(x->loop->clock);
  struct governance_question question = {
      .capability = capability ? capability->id : STR(""),
      .provisional = capability && capability->unlisted ? capability : NULL,
      .args = args,
      .context = governance_context(&c->run->governed, ceiling, a),
      .subject = &c->run->governed.subject,
      .mode = c->options.mode,
      .now = now / 1000,
      .flow = flow_marks_before(c),
  };
  if (question.context == c->run->governed.context) question.canonical = c->run->canonical;
  struct governance_decision d;
  governance_decide(g, &question, a, &d);
  if (x->metrics && !c->options.dry_run) govern_metrics_decision(metrics_governed(x->metrics), d.code);
  enum call_result r = CALL_NEXT;
  struct govern_state *s = state;
  done(c, s);
  *s = (struct govern_state){.capability = d.capability, .effective = d.effective};
  if (!c->options.dry_run) {
    make_id(s, x);
    s->record = call_journal_decided(c, &question, &d, call_decision_id(c), now);
  }
  if (d.code == GOVERNANCE_FLOW_DENIED) r = flow_refuse(c);
  else if (d.code != GOVERNANCE_ALLOWED || d.gate_count) r = refuse(c, &d, capability ? capability->id : c->item->name);
  arena_reset(a);
  return r;
}

const struct call_step step_govern = {
    .name = "govern",
    .does = "Applies the governance file: permissions, rules, approval modes, constraints on arguments.",
    .state = sizeof(struct govern_state),
    .governed = true,
    .run = run,
    .done = done,
};

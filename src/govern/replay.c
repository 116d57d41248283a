// SPDX-License-Identifier: Apache-2.0
#include "govern/replay.h"

#include "govern/flow.h"
#include "govern/govern_impl.h"
#include "govern/provisional.h"
#include "json/write.h"

enum { EDITS = GOVERNANCE_CLAIMS_MAX + 8 };

static str text_of(const struct json *v, const char *key, struct arena *a) {
  str text = STR_NONE;
  json_string(json_get(v, str_of(key)), a, &text);
  return text;
}

static void add_gate(str *gates, str id, struct arena *a) {
  *gates = gates->n ? arena_printf(a, "%.*s,%.*s", STR_ARG(*gates), STR_ARG(id)) : id;
}

bool replay_recorded(const struct json *record, struct arena *a, struct replay_record *out) {
  bool allowed;
  const struct json *gates = json_get(record, STR("gates")), *governed = json_get(record, STR("governed"));
  if (!json_bool(json_get(record, STR("allowed")), &allowed)) return false;
  str mode = text_of(record, "mode_effective", a);
  struct replay_outcome own = {.code = allowed ? STR("ALLOWED") : text_of(record, "code", a),
                               .mode = mode.p ? mode : STR("-"),
                               .gates = STR(""),
                               .pointer = text_of(record, "pointer", a)};
  json_bool(json_get(record, STR("provisional")), &own.provisional);
  if (json_is(gates, JSON_ARRAY))
    JSON_EACH(it, gates) add_gate(&own.gates, text_of(it, "id", a), a);
  *out = (struct replay_record){.outcome = own, .governed = own};
  if (!governed) return own.code.p;
  str code = text_of(governed, "code", a);
  out->governed.code = code.p ? code : STR("ALLOWED");
  out->governed.pointer = text_of(governed, "pointer", a);
  out->outcome.mode = STR("-");
  out->outcome.gates = STR("");
  out->by_rules = own.code.p && str_eq(own.code, str_of(fault_name(FAULT_DENIED_BY_POLICY)));
  out->by_pins = !out->by_rules;
  return own.code.p;
}

// ---- the question

static bool is_from_token(const struct governance *g, const struct json *member) {
  static const str always[] = {STR("principals"), STR("scopes"),   STR("user"),
                               STR("agent"),      STR("workload"), STR("run")};
  if (json_key_in(member, always, sizeof always / sizeof *always)) return true;
  for (size_t i = 0; i < g->claim_count; i++)
    if (json_key_is(member, g->claims[i].member)) return true;
  return false;
}

// Returns the context that the governance file `g` gives the agent.
static const struct json *context_of(const struct governance *g, const struct json *question, str agent,
                                     struct arena *a) {
  const struct governance_agent *own = governance_agent_get(g, agent);
  const struct json *recorded = json_get(question, STR("context"));
  struct json_edit edits[EDITS];
  size_t count = 0;
  struct fault f;
  enum approval_mode lowest = own->safety;
  if (!json_is(recorded, JSON_OBJECT)) recorded = &json_empty_object;
  JSON_EACH(it, recorded) {
    if (!is_from_token(g, it) || count == EDITS - 1) continue;
    str mode = STR_NONE;
    // A recorded safety_mode applies only if it is lower, because claims can only lower it.
    if (json_key_is(it, STR("safety_mode")) && json_string(it, a, &mode) && approval_mode_find(mode) < lowest)
      lowest = approval_mode_find(mode);
    if (!mode.p) edits[count++] = (struct json_edit){json_key(it, a), json_span(it)};
  }
  if (lowest < own->safety)
    edits[count++] = (struct json_edit){STR("safety_mode"), json_escaped(a, str_of(approval_mode_name(lowest)))};
  const struct json *made = json_parse(a, json_edited(a, own->context, edits, count), &json_default_limits, &f);
  return made && governance_check_context(made, &f) ? made : NULL;
}

// Notes a tool that no adapter lists, with the hints that it had when the decision was recorded.
static void note_tool(const struct governance *g, const struct json *record, str server, str tool, struct arena *a) {
  str highest = text_of(record, "mode_highest", a);
  bool provisional = false;
  json_bool(json_get(record, STR("provisional")), &provisional);
  enum approval_mode mode = provisional && highest.p ? approval_mode_find(highest) : APPROVAL_DESTRUCTIVE;
  struct tool_hints hints = {.read_only = mode == APPROVAL_READ_ONLY || mode == APPROVAL_NETWORK,
                             .open_world = mode == APPROVAL_NETWORK};
  governance_note_tool(g, server, tool, hints);
}

static const struct governance_capability *capability_of(const struct governance *g, const struct json *record,
                                                         struct arena *a) {
  str server = text_of(record, "server", a), tool = text_of(record, "tool", a);
  if (server.p && tool.p) note_tool(g, record, server, tool, a);
  const struct governance_capability *c = server.p && tool.p ? governance_find_tool(g, server, tool) : NULL;
  str id = text_of(json_get(record, STR("question")), "capability", a);
  return c || !id.p ? c : governance_find(g, id);
}

static bool read_question(const struct governance *g, const struct json *record, struct arena *a,
                          struct governance_question *out, struct fault *f) {
  const struct json *question = json_get(record, STR("question"));
  str kept = text_of(record, "arguments", a), agent = text_of(record, "agent", a);
  unsigned flow = 0;
  if (!kept.p || !str_eq(kept, STR("full"))) {
    fault_set(f, FAULT_INVALID, "the arguments were not recorded in full (%.*s)", STR_ARG(kept));
    return false;
  }
  const struct governance_capability *c = capability_of(g, record, a);
  flow_marks_read(json_get(question, STR("flow")), a, &flow);
  *out = (struct governance_question){
      .capability = c ? c->id : STR(""),
      .provisional = c && c->unlisted ? c : NULL,
      .args = json_get(question, STR("args")),
      .context = context_of(g, question, agent.p ? agent : STR(""), a),
      .mode = text_of(question, "mode", a),
      .ceiling = text_of(question, "ceiling", a),
      .flow = flow,
  };
  if (!out->context) fault_set(f, FAULT_INVALID, "the recorded claims make an invalid context");
  return out->context != NULL;
}

// ---- the decision

bool replay_decide(const struct governance *g, const struct json *record, int64_t now, struct arena *a,
                   struct replay_outcome *out, struct fault *f) {
  struct governance_question q;
  struct governance_decision d;
  str server = text_of(record, "server", a);
  if (server.p && !governance_governs(g, server) && governance_allows_unlisted(g)) {
    *out = (struct replay_outcome){STR("ALLOWED"), STR("-"), STR(""), STR("/context/unlisted_servers"), false};
    return true;
  }
  if (!read_question(g, record, a, &q, f)) return false;
  q.now = now;
  governance_decide(g, &q, a, &d);
  bool allowed = d.code == GOVERNANCE_ALLOWED;
  *out = (struct replay_outcome){
      .code = str_of(governance_code_name(d.code)),
      .mode = d.effective == APPROVAL_NONE ? STR("-") : str_of(approval_mode_name(d.effective)),
      .gates = STR(""),
      .pointer = arena_str(a, d.pointer),
      .provisional = d.capability && d.capability->provisional,
  };
  for (size_t i = 0; allowed && i < d.gate_count; i++) add_gate(&out->gates, d.gates[i]->gate_id, a);
  return true;
}

bool replay_same(const struct replay_outcome *a, const struct replay_outcome *b) {
  return str_eq(a->code, b->code) && str_eq(a->mode, b->mode) && str_eq(a->gates, b->gates);
}

// SPDX-License-Identifier: Apache-2.0
// toolgate decisions explain
#include "app/cli/records/records.h"
#include "call/remedies.h"
#include "govern/records.h"

static const struct command command = {
    .usage = "ID [options]",
    .about = "Explains one recorded decision in sentences: what was asked, what matched, which part of the\n"
             "governance file decided and why, and what a caller can do. With --json, prints the record.\n"
             "Exit code 1: there is no such record.",
    .options = "+cj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a decision",
};

static bool has_elements(const struct json *list) {
  return json_is(list, JSON_ARRAY) && list->count;
}

static void put_question(struct records *r, const struct json *d, struct buf *out) {
  const struct json *args = record_member(d, "question.args");
  str agent = record_text(r, d, "agent"), tool = record_text(r, d, "tool"), server = record_text(r, d, "server");
  str tenant = record_text(r, d, "tenant"), kept = record_text(r, d, "arguments");
  buf_printf(out, "Agent %.*s (tenant %.*s) called tool %.*s of server %.*s", STR_ARG(agent), STR_ARG(tenant),
             STR_ARG(tool), STR_ARG(server));
  if (args) buf_printf(out, " with %.*s.\n", STR_ARG(json_span(args)));
  else buf_printf(out, "; arguments recorded: %.*s.\n", STR_ARG(kept));
}

static void put_matches(struct records *r, const struct json *d, struct buf *out) {
  const struct json *matches = record_member(d, "matches");
  str capability = record_text(r, d, "question.capability"), highest = record_text(r, d, "mode_highest");
  if (record_member(d, "mode_highest"))
    buf_printf(out, "The capability is %.*s, with the highest mode %.*s%s.\n", STR_ARG(capability), STR_ARG(highest),
               record_provisional(d));
  else buf_str(out, STR("No adapter lists the tool as a capability.\n"));
  if (!has_elements(matches)) {
    buf_str(out, STR("No permission matched this agent, role, intent, environment and tenant.\n"));
    return;
  }
  JSON_EACH(it, matches) {
    str id = record_text(r, it, "id"), pointer = record_text(r, it, "pointer");
    buf_printf(out, "%s %.*s matched (%.*s).\n", str_starts(pointer, STR("/permissions/")) ? "Permission" : "Rule",
               STR_ARG(id), STR_ARG(pointer));
    if (json_get(it, STR("decision_binding")))
      buf_printf(out, "It binds the call to %.*s.\n", STR_ARG(record_text(r, it, "decision_binding")));
  }
}

static void put_violations(struct records *r, const struct json *d, struct buf *out) {
  const struct json *all = record_member(d, "violations");
  if (!has_elements(all)) return;
  JSON_EACH(it, all) {
    str path = record_text(r, it, "path"), constraint = record_text(r, it, "constraint");
    str pointer = record_text(r, it, "pointer");
    buf_printf(out, "Argument %.*s violates the constraint %.*s (%.*s).\n", STR_ARG(path), STR_ARG(constraint),
               STR_ARG(pointer));
  }
}

static const char *advice_of(str code) {
  for (int c = 0; c < FAULT_COUNT; c++)
    if (str_eq(code, str_of(fault_name((enum fault_code)c)))) return call_remedy((enum fault_code)c);
  return call_remedy(FAULT_INVALID);
}

static void put_verdict(struct records *r, const struct json *d, struct buf *out) {
  bool allowed = false;
  const struct json *gates = record_member(d, "gates");
  str code = record_text(r, d, "code"), pointer = record_text(r, d, "pointer"), why = record_text(r, d, "why");
  str mode = record_text(r, d, "mode_effective"), requested = record_text(r, d, "mode_requested");
  json_bool(record_member(d, "allowed"), &allowed);
  if (record_member(d, "mode_requested")) buf_printf(out, "The caller requested the mode %.*s.\n", STR_ARG(requested));
  if (allowed) {
    buf_printf(out, "The call is allowed in mode %.*s.\n", STR_ARG(mode));
    if (has_elements(gates))
      JSON_EACH(it, gates) {
        str id = record_text(r, it, "id"), role = record_text(r, it, "role");
        buf_printf(out, "A %.*s must approve it (%.*s).\n", STR_ARG(role), STR_ARG(id));
      }
    return;
  }
  if (str_eq(code, str_of(fault_name(FAULT_POLICY_DENIED))) && str_eq(pointer, STR("/bundles")))
    buf_str(out, STR("No rule matched. If there are bundles, a call above read_only needs a rule that allows it.\n"));
  bool by_rules = str_eq(code, str_of(fault_name(FAULT_DENIED_BY_POLICY)));
  buf_printf(out, "The call is denied with %.*s, decided at %.*s%s", STR_ARG(code), STR_ARG(pointer),
             by_rules ? " of the access rules" : "");
  if (record_member(d, "why")) buf_printf(out, ": %.*s", STR_ARG(why));
  buf_printf(out, ".\nTo be allowed: %s.\n", advice_of(code));
}

// Writes which governance file made the decision, and whether this file has changed since then.
static void put_rules(struct records *r, const struct json *d, struct buf *out) {
  str digest = record_text(r, d, "rules.governance");
  if (r->digest.p)
    buf_printf(out, "The governance file %s since this decision.\n",
               str_eq(digest, r->digest) ? "has not changed" : "has changed");
  buf_printf(out, "Governance file: %.*s.\n", STR_ARG(digest));
}

static void put_explanation(struct records *r, const struct record *it, struct buf *out) {
  const struct json *d = json_get(it->root, STR("decision"));
  buf_printf(out, "%.*s  %.*s\n", STR_ARG(it->id), STR_ARG(it->time));
  put_question(r, d, out);
  put_matches(r, d, out);
  put_violations(r, d, out);
  put_verdict(r, d, out);
  str call = record_text(r, it->root, "call_id");
  if (record_member(it->root, "call_id"))
    buf_printf(out, "How the call ended: toolgate calls show %.*s.\n", STR_ARG(call));
  put_rules(r, d, out);
}

int decisions_explain(int argc, char **argv) {
  return records_show(&command, "decision", put_explanation, argc, argv);
}

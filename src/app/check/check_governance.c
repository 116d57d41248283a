// SPDX-License-Identifier: Apache-2.0
#include "app/check/check_governance.h"

#include "govern/agents.h"
#include "govern/flow.h"

// How people read the values of unlisted_servers and unlisted_tools, and how the file has them.
static const char *const unlisted[] = {
    [UNLISTED_DENY] = "denied", [UNLISTED_ALLOW] = "allowed", [UNLISTED_PROVISIONAL] = "provisional"};
static const char *const unlisted_words[] = {
    [UNLISTED_DENY] = "deny", [UNLISTED_ALLOW] = "allow", [UNLISTED_PROVISIONAL] = "provisional"};
static const char *const pins_modes[] = {
    [GOVERNANCE_PINS_OFF] = "off", [GOVERNANCE_PINS_WARN] = "warn", [GOVERNANCE_PINS_ENFORCE] = "enforce"};

// Returns what applies in place of access rules.
static const char *note_of(const struct config *c) {
  return c->governance ? "there are no access rules: the governance file decides about tools; every client may use the "
                         "resources and prompts of governed servers"
                       : "there are no rules: every client that can connect may use everything";
}

static size_t count_provisional(const struct governance *g) {
  size_t n = 0;
  for (size_t i = 0; i < governance_capability_count(g); i++) n += governance_capability_at(g, i)->provisional;
  return n;
}

static const char *flow_mode(const struct governance *g) {
  const struct governance_flow *flow = governance_flow_of(g);
  return !flow ? "off" : flow->mode == FLOW_WARN ? "warn" : "enforce";
}

void check_print_governance(struct buf *out, const struct config *c) {
  const struct governance *g = c->governance;
  size_t agents = c->policy ? policy_agent_count(c->policy) : 0;
  if (c->policy)
    buf_printf(out, "rules: %zu agent%s, from %.*s\n", agents, agents == 1 ? "" : "s", STR_ARG(c->rules_file));
  else buf_printf(out, "note: %s\n", note_of(c));
  if (!g) return;
  size_t count = governance_capability_count(g), provisional = count_provisional(g);
  buf_printf(out, "governance: %zu capabilit%s", count, count == 1 ? "y" : "ies");
  if (provisional) buf_printf(out, " (%zu provisional)", provisional);
  buf_printf(out, ", from %.*s; tools of servers without an adapter are %s\n", STR_ARG(c->governance_file),
             unlisted[governance_unlisted(g)]);
  buf_printf(out, "  tools without a capability are %s; pins: %s; flow guard: %s\n",
             unlisted[governance_unlisted_tools(g)], pins_modes[governance_pins(g)], flow_mode(g));
}

void check_write_governance(struct json_writer *w, const struct config *c) {
  const struct governance *g = c->governance;
  json_put_key(w, STR("rules"));
  if (c->rules_file.n) json_put_str(w, c->rules_file);
  else json_put_null(w);
  if (!c->policy) json_member_str(w, STR("note"), str_of(note_of(c)));
  json_put_key(w, STR("governance"));
  if (c->governance_file.n) json_put_str(w, c->governance_file);
  else json_put_null(w);
  if (!g) return;
  json_put_key(w, STR("governed"));
  json_begin_object(w);
  json_member_u64(w, STR("capabilities"), governance_capability_count(g));
  json_member_u64(w, STR("provisional"), count_provisional(g));
  json_member_str(w, STR("unlisted_servers"), str_of(unlisted_words[governance_unlisted(g)]));
  json_member_str(w, STR("unlisted_tools"), str_of(unlisted_words[governance_unlisted_tools(g)]));
  json_member_str(w, STR("pins"), str_of(pins_modes[governance_pins(g)]));
  json_member_str(w, STR("flow"), str_of(flow_mode(g)));
  json_end_object(w);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/survey.h"

#include "base/assert.h"
#include "policy/policy_impl.h"

struct survey_work {
  const struct policy *policy;
  struct survey *survey;
};

// Marks the entries of the agent and its ancestors that match the server or tool, and the entry that decided.
static void note(struct survey_work *w, const struct policy_decision *d, str server, str tool) {
  for (const struct policy_agent *a = d->agent; a; a = a->parent) {
    for (size_t i = 0; i < a->own_count; i++) {
      const struct policy_entry *e = &a->own[i];
      bool of_tool = e->server.p != NULL;
      if (e->method || of_tool != (tool.p != NULL)) continue;
      if (of_tool && !str_eq(e->server, server) && !str_eq(e->server, STR("*"))) continue;
      if (!policy_matches(e, of_tool ? tool : server)) continue;
      ASSERT(e->agent == a && (size_t)(a - w->policy->agents) < w->survey->count);
      struct survey_entry *s = &w->survey->agents[a - w->policy->agents].entries[i];
      s->matches = true;
      if (d->entry == e) s->decides = true;
      else if (!s->over) s->over = d->entry;
    }
  }
}

static void ask(struct survey_work *w, struct survey_agent *a, const struct survey_server *server) {
  struct policy_decision d = policy_decide(w->policy, a->agent, server->name, STR_NONE);
  note(w, &d, server->name, STR_NONE);
  for (size_t i = 0; i < server->tool_count; i++) {
    d = policy_decide(w->policy, a->agent, server->name, server->tools[i]);
    a->tools++;
    a->allowed += d.allowed;
    note(w, &d, server->name, server->tools[i]);
  }
}

struct survey policy_survey(const struct policy *p, const struct survey_server *servers, size_t count,
                            struct arena *a) {
  struct survey s = {.count = p->agent_count, .agents = ARENA_ARRAY(a, struct survey_agent, p->agent_count + 1)};
  struct survey_work w = {p, &s};
  for (size_t i = 0; i < s.count; i++) {
    const struct policy_agent *agent = &p->agents[i];
    s.agents[i] = (struct survey_agent){.agent = agent, .entry_count = agent->own_count};
    s.agents[i].entries = ARENA_ARRAY(a, struct survey_entry, agent->own_count + 1);
    // Counts every entry for methods as deciding, because the gateway does not know which methods servers have.
    for (size_t k = 0; k < agent->own_count; k++)
      s.agents[i].entries[k] = (struct survey_entry){&agent->own[k], agent->own[k].method, agent->own[k].method, NULL};
  }
  for (size_t i = 0; i < s.count; i++)
    for (size_t k = 0; k < count; k++) ask(&w, &s.agents[i], &servers[k]);
  return s;
}

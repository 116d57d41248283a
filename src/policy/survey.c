// SPDX-License-Identifier: Apache-2.0
#include "policy/survey.h"

#include "base/text/glob.h"
#include "policy/policy_impl.h"

struct work {
  const struct policy *policy;
  struct survey *survey;
};

static struct survey_entry *find_entry(struct work *w, const struct policy_entry *e) {
  struct survey_agent *a = &w->survey->agents[e->agent - w->policy->agents];
  return &a->entries[e - e->agent->own];
}

static bool matches(const struct policy_entry *e, str name) {
  return e->pattern ? glob_match(e->text, name) : str_eq(e->text, name);
}

// Which entries of an agent and its ancestors have a word in this question, and whose it was.
static void note(struct work *w, const struct policy_decision *d, str server, str tool) {
  for (const struct policy_agent *a = d->agent; a; a = a->parent) {
    for (size_t i = 0; i < a->own_count; i++) {
      const struct policy_entry *e = &a->own[i];
      bool of_tool = e->server.p != NULL;
      if (e->method || of_tool != (tool.p != NULL)) continue;
      if (of_tool && !str_eq(e->server, server) && !str_eq(e->server, STR("*"))) continue;
      if (!matches(e, of_tool ? tool : server)) continue;
      struct survey_entry *s = find_entry(w, e);
      s->matches = true;
      if (d->entry == e) s->decides = true;
      else if (!s->over) s->over = d->entry;
    }
  }
}

static void ask(struct work *w, struct survey_agent *a, const struct survey_server *server) {
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
  struct work w = {p, &s};
  for (size_t i = 0; i < s.count; i++) {
    const struct policy_agent *agent = &p->agents[i];
    s.agents[i] = (struct survey_agent){.agent = agent, .entry_count = agent->own_count};
    s.agents[i].entries = ARENA_ARRAY(a, struct survey_entry, agent->own_count + 1);
    // Which methods there are is not known: an entry for them counts as one that decides.
    for (size_t k = 0; k < agent->own_count; k++)
      s.agents[i].entries[k] = (struct survey_entry){&agent->own[k], agent->own[k].method, agent->own[k].method, NULL};
  }
  for (size_t i = 0; i < s.count; i++)
    for (size_t k = 0; k < count; k++) ask(&w, &s.agents[i], &servers[k]);
  return s;
}

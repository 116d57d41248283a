// SPDX-License-Identifier: Apache-2.0
#include "app/cli/access.h"

#include <unistd.h>

#include "base/assert.h"

// Replaces the governance file of the configuration by that of --governance.
static bool load_governance(struct access *x, const struct arguments *args) {
  if (!args->governance) return true;
  governance_unref(&x->governance);
  x->governance = command_load_governance(args->governance, STR("--governance"));
  return x->governance;
}

bool access_open(struct access *x, const struct arguments *args, bool quiet, int *out_status) {
  struct config_problems problems;
  struct config c;
  *x = (struct access){.rules_file = STR("")};
  config_problems_init(&problems);
  bool ok = config_load_access(&c, &args->config, environ, &problems, !args->governance);
  if (!ok || !quiet) command_print_problems(&problems);
  config_problems_done(&problems);
  *out_status = EXIT_CANNOT;
  if (!ok) return false;
  arena_init(&x->arena);
  if (c.policy) x->policy = policy_ref(c.policy);
  if (c.policy) x->rules_file = arena_str(&x->arena, c.rules_file);
  if (c.governance) x->governance = governance_ref(c.governance);
  config_done(&c);
  ok = load_governance(x, args);
  if (ok && x->policy) fprintf(stderr, "toolgate: the rules are those of %.*s\n", STR_ARG(x->rules_file));
  if (!ok) access_close(x);
  return ok;
}

void access_close(struct access *x) {
  policy_unref(&x->policy);
  governance_unref(&x->governance);
  arena_done(&x->arena);
}

struct run_context *access_context(const struct access *x, str agent, str claims, struct fault *f) {
  static const struct hash_key seed;  // the contexts of one command need no secret
  struct run_source source = {.seed = &seed, .agent = agent, .claims = claims};
  return x->governance ? run_context_get(x->governance, &source, f) : NULL;
}

struct access_answer access_decide(const struct access *x, const struct policy_agent *agent,
                                   const struct run_context *run, str server, str tool) {
  struct policy_decision d = {.allowed = true, .by = POLICY_IMPLICIT, .server = server};
  if (x->policy) d = policy_decide(x->policy, agent, server, tool);
  struct access_answer a = {.decision = d, .rules = d};
  struct governance_verdict v;
  if (!d.allowed || !x->governance) return a;
  ASSERT(run);
  a.decision.allowed = governance_shows(x->governance, &run->governed, server, tool, &v);
  a.code = v.code;
  bool ungoverned = !governance_governs(x->governance, server) && governance_allows_unlisted(x->governance);
  if (!a.decision.allowed || (!ungoverned && (tool.p || !x->policy))) a.decision.governed = v.pointer;
  return a;
}

size_t access_agent_count(const struct access *x) {
  return x->policy ? policy_agent_count(x->policy) : governance_agent_count(x->governance);
}

str access_agent_name(const struct access *x, size_t index) {
  return x->policy ? policy_agent_name(policy_agent_at(x->policy, index)) : governance_agent_name(x->governance, index);
}

// SPDX-License-Identifier: Apache-2.0
#include "call/caller.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "govern/provisional.h"
#include "govern/versions.h"

enum { NAME_SHOWN = 100 };  // maximum bytes of a name in an error message

// A client of the control socket (s->as_operator) may name any agent, because it can read the rules file anyway.
static struct identity_question question(const struct rulebook *book, const struct session *s, str named) {
  return (struct identity_question){
      .policy = book->policy,
      .credential = session_agent(s),
      .named = named,
      .fallback = book->fallback,
      .distrust = !book->trust_stated && !s->as_operator,
  };
}

// Returns the run context of this session and agent, or NULL with the reason in f. The session caches the last context
// found, because this function runs several times for each request.
static struct run_context *find_run(struct governance *g, const struct session *s, str agent, struct fault *f) {
  struct session *keeper = (struct session *)s;
  struct run_context *r = s->run;
  if (r && r->governance == g && str_eq(r->agent, agent)) return r;
  struct run_source source = {
      .seed = &s->server->loop->seed,
      .agent = agent,
      .credential = s->principal < 0 || s->as_operator ? STR_NONE
                    : s->subject.p                     ? s->subject
                                                       : session_principal(s),
      .claims = s->claims,
      .workload = s->workload,
  };
  r = run_context_get(g, &source, f);
  if (!r) return NULL;
  run_context_unref(&keeper->run);
  return keeper->run = run_context_ref(r);
}

bool caller_find(const struct rulebook *book, const struct session *s, str named, struct caller *out, struct fault *f) {
  struct caller found = {0};
  bool known = named.n || session_agent(s).n;
  if (!known && !book->policy) {  // a fast path, because this function runs several times for each request
    found.id = book->fallback.n ? book->fallback : STR("");
  } else {
    struct identity_question q = question(book, s, named);
    if (s->as_operator && !q.credential.n) q.policy = NULL;
    if (!identity_find(&q, &found.id, f)) return false;
    found.policy = q.policy;
    if (found.policy) found.agent = policy_find(found.policy, found.id);
  }
  if (book->governance && (known || !s->as_operator)) {
    found.governance = book->governance;
    found.pins = book->pins;
    found.run = find_run(book->governance, s, found.id, f);
    if (!found.run) return false;
  }
  *out = found;
  return true;
}

str caller_rule(const struct rulebook *book, const struct session *s, str named, const struct fault *f) {
  struct identity_question q = question(book, s, named);
  return identity_rule(&q, f);
}

void caller_describe_quarantine(const struct caller *c, str server, str tool, struct fault *f) {
  static const char *const reasons[PIN_STATES] = {"is accepted", "has changed since it was accepted",
                                                  "is new and was not accepted yet", "has findings that need a review"};
  enum pin_state state = pins_find(c->pins, server, tool);
  fault_set(f, state == PIN_CHANGED ? FAULT_SCHEMA_DRIFT : FAULT_TOOL_QUARANTINED,
            "tool \"%.*s\" %s; ask the operator to run: toolgate pins diff %.*s %.*s",
            STR_ARG(utf8_cut(tool, NAME_SHOWN)), reasons[state], STR_ARG(utf8_cut(server, NAME_SHOWN)),
            STR_ARG(utf8_cut(tool, NAME_SHOWN)));
}

void caller_describe_denial(const struct caller *c, const struct policy_decision *d, str tool, struct fault *f) {
  ASSERT(!d->allowed);
  if (d->quarantined) {
    caller_describe_quarantine(c, d->server, tool, f);
    return;
  }
  str agent = utf8_cut(c->id, NAME_SHOWN);
  if (tool.p)
    fault_set(f, FAULT_DENIED_BY_POLICY, "Agent '%.*s' denied tool '%.*s'", STR_ARG(agent),
              STR_ARG(utf8_cut(tool, NAME_SHOWN)));
  else
    fault_set(f, FAULT_DENIED_BY_POLICY, "Agent '%.*s' denied server '%.*s'", STR_ARG(agent),
              STR_ARG(utf8_cut(d->server, NAME_SHOWN)));
}

void caller_note_item(const struct caller *c, str server, const struct item *item) {
  if (!c->governance || item->kind != ITEM_TOOL) return;
  struct governance_hints hints = {item->hints.read_only, item->hints.open_world};
  governance_note_tool(c->governance, server, item->name, hints);
}

struct policy_decision caller_decide(const struct caller *c, str server, enum item_kind kind, str name) {
  ASSERT(caller_is_limited(c));
  str tool = kind == ITEM_TOOL ? name : STR_NONE;
  struct policy_decision d = {.allowed = true, .by = POLICY_IMPLICIT, .server = server};
  if (c->policy) d = policy_decide(c->policy, c->agent, server, tool);
  if (d.allowed && c->governance && !governance_shows(c->governance, &c->run->governed, server, tool, &d.governed)) {
    d.allowed = false;
    d.of_tool = tool.p;
  }
  if (d.allowed && tool.p && pins_quarantines(c->pins, server, tool)) {
    d.allowed = false;
    d.of_tool = d.quarantined = true;
    d.governed = STR("/pins");
  }
  return d;
}

bool caller_lists(const struct caller *c, str server, enum item_kind kind, str name) {
  return caller_may(c, server, kind, name) && !(c->governance && governance_version_of(c->governance, server));
}

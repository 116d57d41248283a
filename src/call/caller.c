// SPDX-License-Identifier: Apache-2.0
#include "call/caller.h"

bool caller_find(const struct rulebook *book, const struct session *s, str named, struct caller *out, struct fault *f) {
  struct identity_question q = {book->policy, session_agent(s), named, book->fallback};
  struct caller found = {.policy = book->policy};
  if (!identity_find(&q, &found.id, f)) return false;
  if (found.policy) found.agent = policy_find(found.policy, found.id);
  *out = found;
  return true;
}

struct policy_decision caller_decide(const struct caller *c, str server, enum item_kind kind, str name) {
  return policy_decide(c->policy, c->agent, server, kind == ITEM_TOOL ? name : STR_NONE);
}

// SPDX-License-Identifier: Apache-2.0
// A world (governed_world.h) with people who approve calls.
//
//   const struct json *m = calls(ann, "shop:order", "{'amount':51}");
//   const char *id = expect_pending(m);                        nothing has arrived at the server
//   approves(w, id, "bob", "lead");
//   expect_text(redeems(ann, id), "ok");
#pragma once
#include "effect/approvals.h"
#include "governed_world.h"

struct voted {
  bool over, ok;
  enum approval_state state;
  enum fault_code code;
};

static inline void on_voted(void *ctx, const struct approval *x, const struct fault *f) {
  struct voted *v = ctx;
  v->over = true;
  v->ok = x;
  if (x) v->state = x->state;
  else v->code = f->code;
}

static inline struct voted await_vote(struct world *w, const struct voted *v) {
  for (uint64_t until = clock_mono_ms(&clock_system) + 5000; !v->over; sched_yield()) {
    if (clock_mono_ms(&clock_system) > until) fail_msg("no decision");
    turn(w);
  }
  return *v;
}

static inline struct voted votes(struct world *w, const char *id, const char *who, const char *role, bool approve) {
  struct voted v = {0};
  struct approval_vote vote = {str_of(who), str_of(role), STR_NONE, STR("because"), STR("cli"), approve};
  approvals_decide(w->gateway.approvals, str_of(id), &vote, on_voted, &v);
  return await_vote(w, &v);
}

static inline void approves(struct world *w, const char *id, const char *who, const char *role) {
  if (!votes(w, id, who, role, true).ok) fail_msg("%s cannot approve %s", who, id);
}

static inline void denies(struct world *w, const char *id, const char *who, const char *role) {
  if (!votes(w, id, who, role, false).ok) fail_msg("%s cannot deny %s", who, id);
}

static inline enum approval_state state_of(struct world *w, const char *id) {
  struct voted v = {0};
  approvals_find(w->gateway.approvals, str_of(id), STR_NONE, on_voted, &v);
  return await_vote(w, &v).ok ? v.state : APPROVAL_STATE_COUNT;
}

// Waits for other threads of the gateway; the clock does not move.
static inline void expect_the_state(struct world *w, const char *id, enum approval_state s) {
  enum approval_state now = state_of(w, id);
  for (uint64_t until = clock_mono_ms(&clock_system) + 2000; now != s && clock_mono_ms(&clock_system) < until;)
    now = state_of(w, id);
  if (now != s) fail_msg("%s is %s", id, now < APPROVAL_STATE_COUNT ? approval_state_name(now) : "gone");
}
#define expect_state(id, name) expect_the_state(w, id, APPROVAL_STATE_##name)

// The id of the request that a reply names.
static inline const char *pending_id(struct world *w, const struct json *message) {
  struct fault f;
  const struct json *v = json_parse(&w->arena, text_of(w, message), &json_default_limits, &f);
  if (!json_equals_str(json_get(v, STR("status")), STR("approval_required")))
    fail_msg("not pending: %.*s", STR_ARG(raw(message)));
  return arena_cstr(&w->arena, member(w, v, "request_id"));
}
#define expect_pending(message) pending_id(w, message)

// The agent passes the id, in the form of its mode.
static inline uint64_t begins_to_redeem(struct agent *a, const char *id) {
  bool executes = a->mode == MODE_GATEWAY || a->mode == MODE_TRANSPARENT;
  return sends(a, "tools/call",
               arena_printf(&a->world->arena, "{'name':'%s','arguments':{'request_id':'%s'}}",
                            executes ? "tool_execute" : "approval_status", id)
                   .p);
}

static inline const struct json *redeems(struct agent *a, const char *id) {
  return hears(a, begins_to_redeem(a, id));
}

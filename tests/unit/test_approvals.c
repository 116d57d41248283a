// SPDX-License-Identifier: Apache-2.0
// Requests for approval: their records, decisions and lifetimes, in one gateway and in two that share a store. How
// calls use them is tested in test_approved_calls.c.
#include "effect/approvals.h"

#include <sched.h>

#include "store/shared.h"
#include "store_world.h"

enum { TTL_MS = 900000 };

#define ARGS "{\"amount\": 1.0, \"big\":1e2, \"b\":\"\\u00e9\\/\", \"a\":null}"

static uint64_t mono;

static uint64_t read_mono(void *ctx) {
  return mono;
}

// The outcome of an operation.
struct answer {
  struct arena arena;
  bool over, ok;
  struct fault fault;
  struct approval x;
};

static void on_done(void *ctx, const struct approval *x, const struct fault *f) {
  struct answer *r = ctx;
  assert_true(!r->over && (!x != !f));
  r->over = true;
  r->ok = x;
  if (f) r->fault = *f;
  if (x) approval_copy(x, &r->arena, &r->x);
}

static struct answer *answer(void) {
  static struct answer all[32];
  static size_t next;
  struct answer *r = &all[next++ % 32];
  if (r->over) arena_done(&r->arena);
  *r = (struct answer){.over = false};
  arena_init(&r->arena);
  return r;
}

static struct answer *await_answer(struct world *x, struct answer *r) {
  while (!r->over) {
    uv_run(&x->loop.uv, UV_RUN_NOWAIT);
    sched_yield();
  }
  return r;
}

static void settle(struct world *x) {
  for (int i = 0; i < 20; i++) {
    uv_run(&x->loop.uv, UV_RUN_NOWAIT);
    usleep(500);
  }
}

static void pass(struct world *x, uint64_t ms) {
  mono += ms;
  x->wall += (int64_t)ms;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
  settle(x);
}

static struct approvals *gateway(struct world *x) {
  struct approvals_options opt = {&x->loop, x->store, lasts(x) ? str_of(x->folder) : STR_NONE};
  return approvals_new(&opt);
}

static struct approvals *begin(struct world *x) {
  mono = 1000000;
  x->clock.mono_ms = read_mono;
  mkdir(x->folder, 0700);
  open_store(x);
  return gateway(x);
}

static void end(struct world *x, struct approvals *a) {
  settle(x);
  approvals_free(&a);
}

// ---- requests

static struct approval_gate lead = {STR("GATE_LEAD"), STR("lead"), 1, NULL, 0};

static struct approval draft(struct arena *a, const char *args) {
  char hash[APPROVAL_HASH_SIZE];
  struct approval x = {
      .tenant = STR("acme"),
      .agent = STR("ann"),
      .principal = STR("local"),
      .principals = STR("[{\"kind\":\"user\",\"id\":\"ulla\"},{\"kind\":\"agent\",\"id\":\"ann\"}]"),
      .server = STR("shop"),
      .tool = STR("order"),
      .capability = STR("adp_shop.order"),
      .class = STR("act"),
      .mode = STR("destructive"),
      .args = str_of(args),
      .governance = STR("sha256:1"),
      .gates = &lead,
      .gate_count = 1,
  };
  approval_owner(x.tenant, x.agent, x.principal, NULL, hash);
  x.owner = arena_str(a, str_of(hash));
  approval_hash_same(&x, hash);
  x.same = arena_str(a, str_of(hash));
  approval_hash(&x, hash);
  x.call_hash = arena_str(a, str_of(hash));
  return x;
}

static struct answer *propose_as(struct world *x, struct approvals *a, const struct approval *d) {
  struct answer *r = answer();
  approvals_propose(a, d, TTL_MS, on_done, r);
  return await_answer(x, r);
}

static str propose(struct world *x, struct approvals *a, const char *args) {
  struct arena m;
  arena_init(&m);
  struct approval d = draft(&m, args);
  struct answer *r = propose_as(x, a, &d);
  arena_done(&m);
  if (!r->ok) fail_msg("%s", r->fault.message);
  return r->x.request_id;
}

static struct answer *find(struct world *x, struct approvals *a, str id) {
  struct answer *r = answer();
  approvals_find(a, id, STR_NONE, on_done, r);
  return await_answer(x, r);
}

static void expect_state(struct world *x, struct approvals *a, str id, enum approval_state s) {
  struct answer *r = find(x, a, id);
  if (!r->ok) fail_msg("%s", r->fault.message);
  assert_string_equal(approval_state_name(r->x.state), approval_state_name(s));
}

static struct answer *begin_vote(struct approvals *a, str id, const char *who, const char *role, bool approve) {
  struct answer *r = answer();
  struct approval_vote v = {str_of(who), str_of(role), STR_NONE, STR("because"), STR("cli"), approve};
  approvals_decide(a, id, &v, on_done, r);
  return r;
}

static struct answer *vote(struct world *x, struct approvals *a, str id, const char *who, const char *role,
                           bool approve) {
  return await_answer(x, begin_vote(a, id, who, role, approve));
}

static struct answer *redeem(struct world *x, struct approvals *a, str id) {
  struct answer *r = answer();
  approvals_redeem(a, id, on_done, r);
  return await_answer(x, r);
}

static void expect_fault(const struct answer *r, enum fault_code code) {
  assert_false(r->ok);
  assert_string_equal(fault_name(r->fault.code), fault_name(code));
}

// ---- records

static void a_request_keeps_the_bytes_of_the_arguments(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  struct answer *r = find(x, a, id);
  assert_int_equal(id.n, APPROVAL_ID_SIZE - 1);
  assert_true(str_starts(id, STR("areq_")));
  assert_true(str_eq(r->x.args, STR(ARGS)));
  assert_int_equal(r->x.state, APPROVAL_STATE_PENDING);
  assert_int_equal(r->x.expires_at - r->x.proposed_at, TTL_MS);
  end(x, a);
}

static void calls_with_other_bytes_have_other_hashes(void **state) {
  struct arena m;
  arena_init(&m);
  static const char *const others[] = {"{\"n\":1.0}", "{\"n\":9007199254740993}", "{\"n\":9007199254740992}",
                                       "{\"n\":\"1\"}"};
  struct approval first = draft(&m, "{\"n\":1}");
  for (size_t i = 0; i < 4; i++) {
    struct approval other = draft(&m, others[i]);
    assert_false(str_eq(first.call_hash, other.call_hash));
    assert_false(str_eq(first.same, other.same));
    for (size_t k = 0; k < i; k++) assert_false(str_eq(draft(&m, others[k]).call_hash, other.call_hash));
  }
  struct approval sorted = draft(&m, "{\"a\":1,\"b\":2}"), turned = draft(&m, "{ \"b\":2, \"a\":1 }");
  assert_true(str_eq(sorted.same, turned.same));
  first.governance = STR("sha256:2");
  char hash[APPROVAL_HASH_SIZE];
  approval_hash(&first, hash);
  assert_false(str_eq(first.call_hash, str_of(hash)));
  arena_done(&m);
}

static void a_record_that_cannot_be_read_is_not_approved(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  static const char *const broken[] = {"", "{", "{\"v\":1}", "{\"v\":2,\"status\":\"approved\"}"};
  for (size_t i = 0; i < 4; i++) {
    struct waiter w;
    wait_init(&w);
    entry_put(x->store, STR("approval"), STR("areq_0000000000000000"), str_of(broken[i]), 100000, &w.wait);
    assert_int_equal(await(x, &w), STORE_KEPT);
    expect_fault(redeem(x, a, STR("areq_0000000000000000")), FAULT_APPROVAL_INVALID);
    expect_fault(vote(x, a, STR("areq_0000000000000000"), "bob", "lead", true), FAULT_APPROVAL_INVALID);
  }
  end(x, a);
}

static void a_request_of_another_caller_does_not_exist(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  static const str ids[] = {STR("areq_0000000000000000"), STR(""), STR("areq_"), STR("x")};
  struct answer *r = answer();
  approvals_find(a, id, STR("sha256:0"), on_done, r);
  expect_fault(await_answer(x, r), FAULT_APPROVAL_INVALID);
  struct fault foreign = r->fault;
  for (size_t i = 0; i < 4; i++) {
    r = answer();
    approvals_find(a, ids[i], STR_NONE, on_done, r);
    if (ids[i].n) assert_string_equal(await_answer(x, r)->fault.message, foreign.message);
    await_answer(x, r);
  }
  end(x, a);
}

// ---- decisions

static void a_person_with_the_role_of_the_gate_approves(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  expect_fault(redeem(x, a, id), FAULT_APPROVAL_REQUIRED);
  expect_fault(vote(x, a, id, "bob", "intern", true), FAULT_APPROVAL_INVALID);
  expect_state(x, a, id, APPROVAL_STATE_PENDING);
  struct answer *r = vote(x, a, id, "bob", "lead", true);
  assert_true(r->ok && r->x.state == APPROVAL_STATE_APPROVED);
  const struct approval_decision *d = r->x.gates[0].decisions;
  assert_true(str_eq(d->approver, STR("bob")) && str_eq(d->reason, STR("because")) && d->sig.n);
  end(x, a);
}

static void a_principal_of_the_call_cannot_approve_it(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  static const char *const own[] = {"ann", "ulla", "local", "Ann", "ULLA", ""};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    expect_fault(vote(x, a, id, own[i], "lead", true), FAULT_APPROVAL_INVALID);
  expect_state(x, a, id, APPROVAL_STATE_PENDING);
  end(x, a);
}

static void a_quorum_needs_different_people(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct arena m;
  arena_init(&m);
  struct approval d = draft(&m, ARGS);
  struct approval_gate both[] = {{STR("GATE_LEAD"), STR("lead"), 2, NULL, 0},
                                 {STR("GATE_LAW"), STR("law"), 1, NULL, 0}};
  d.gates = both;
  d.gate_count = 2;
  str id = propose_as(x, a, &d)->x.request_id;
  assert_int_equal(vote(x, a, id, "bob", "lead", true)->x.state, APPROVAL_STATE_PENDING);
  struct answer *again = vote(x, a, id, "Bob", "lead", true);
  assert_true(again->ok && again->x.state == APPROVAL_STATE_PENDING && again->x.gates[0].decision_count == 1);
  assert_int_equal(vote(x, a, id, "eve", "lead", true)->x.state, APPROVAL_STATE_PENDING);
  assert_int_equal(vote(x, a, id, "bob", "law", true)->x.state, APPROVAL_STATE_APPROVED);
  arena_done(&m);
  end(x, a);
}

static void one_denial_is_enough_even_after_the_approval(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS), other = propose(x, a, "{}");
  assert_int_equal(vote(x, a, id, "bob", "lead", false)->x.state, APPROVAL_STATE_DENIED);
  expect_fault(vote(x, a, id, "eve", "lead", true), FAULT_APPROVAL_INVALID);
  expect_fault(redeem(x, a, id), FAULT_APPROVAL_REJECTED);
  vote(x, a, other, "bob", "lead", true);
  assert_int_equal(vote(x, a, other, "eve", "lead", false)->x.state, APPROVAL_STATE_DENIED);
  expect_fault(redeem(x, a, other), FAULT_APPROVAL_REJECTED);
  end(x, a);
}

static void only_signatures_over_this_call_count(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct fault f;
  struct governance_gate gate = {.gate_id = STR("GATE_LEAD"), .role = STR("lead"), .quorum = 1};
  str id = propose(x, a, ARGS);
  struct answer *r = vote(x, a, id, "bob", "lead", true);
  const struct gateway_key *key = approvals_key(a, &f);
  struct gateway_key *foreign = gateway_key_open(STR(""), &rand_system, &f);
  struct approval_decision *d = r->x.gates[0].decisions, kept = *d;
  assert_true(approval_satisfies(&r->x, &gate, key));
  assert_false(approval_satisfies(&r->x, &gate, foreign));
  d->approver = STR("eve");
  assert_false(approval_satisfies(&r->x, &gate, key));
  *d = kept;
  d->at++;
  assert_false(approval_satisfies(&r->x, &gate, key));
  *d = kept;
  r->x.call_hash = STR("sha256:0");
  assert_false(approval_satisfies(&r->x, &gate, key));
  r->x.call_hash = kept.call_hash;
  gate.quorum = 2;
  assert_false(approval_satisfies(&r->x, &gate, key));
  gate = (struct governance_gate){.gate_id = STR("GATE_LEAD"), .role = STR("boss"), .quorum = 1};
  assert_false(approval_satisfies(&r->x, &gate, key));
  gateway_key_free(&foreign);
  end(x, a);
}

static void of_two_approvers_at_once_both_are_counted(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x), *b = gateway(x);
  struct arena m;
  arena_init(&m);
  struct approval d = draft(&m, ARGS);
  struct approval_gate two = {STR("GATE_LEAD"), STR("lead"), 2, NULL, 0};
  d.gates = &two;
  str id = propose_as(x, a, &d)->x.request_id, single = propose(x, a, "{}");
  struct answer *first = begin_vote(a, id, "bob", "lead", true), *second = begin_vote(b, id, "eve", "lead", true);
  await_answer(x, first);
  await_answer(x, second);
  assert_true(first->ok && second->ok);
  struct answer *now = find(x, a, id);
  assert_int_equal(now->x.state, APPROVAL_STATE_APPROVED);
  assert_int_equal(now->x.gates[0].decision_count, 2);
  // With a quorum of one, the second approver is late.
  first = begin_vote(a, single, "bob", "lead", true);
  second = begin_vote(b, single, "eve", "lead", true);
  await_answer(x, first);
  await_answer(x, second);
  assert_int_equal(first->ok + second->ok, 1);
  assert_int_equal(find(x, b, single)->x.gates[0].decision_count, 1);
  arena_done(&m);
  end(x, a);
  end(x, b);
}

// ---- execution

static void a_request_is_redeemed_once(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x), *b = gateway(x);
  str id = propose(x, a, ARGS);
  vote(x, b, id, "bob", "lead", true);
  struct answer *first = answer(), *second = answer();
  approvals_redeem(a, id, on_done, first);
  approvals_redeem(b, id, on_done, second);
  await_answer(x, first);
  await_answer(x, second);
  assert_int_equal(first->ok + second->ok, 1);
  expect_fault(first->ok ? second : first, FAULT_APPROVAL_ALREADY_REDEEMED);
  struct approvals *winner = first->ok ? a : b;
  struct approval_end done = {APPROVAL_STATE_COMPLETED, STR_NONE, STR("{\"content\": []}"), true};
  struct answer *r = answer();
  approvals_end(first->ok ? b : a, id, &done, on_done, r);  // the other gateway does not know how it ended
  assert_int_equal(await_answer(x, r)->x.state, APPROVAL_STATE_EXECUTING);
  r = answer();
  approvals_end(winner, id, &done, on_done, r);
  assert_int_equal(await_answer(x, r)->x.state, APPROVAL_STATE_COMPLETED);
  expect_fault(redeem(x, a, id), FAULT_APPROVAL_ALREADY_REDEEMED);
  struct answer *now = find(x, b, id);
  assert_true(str_eq(now->x.result, STR("{\"content\": []}")) && now->x.stateless_result);
  end(x, a);
  end(x, b);
}

static void a_call_that_a_crash_interrupted_is_unknown(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str pending = propose(x, a, "{}"), approved = propose(x, a, "{\"a\":1}"), executing = propose(x, a, "{\"a\":2}");
  vote(x, a, approved, "bob", "lead", true);
  vote(x, a, executing, "bob", "lead", true);
  assert_true(redeem(x, a, executing)->ok);
  end(x, a);
  reopen(x);
  a = gateway(x);
  settle(x);
  expect_state(x, a, pending, APPROVAL_STATE_PENDING);
  expect_state(x, a, approved, APPROVAL_STATE_APPROVED);
  expect_state(x, a, executing, APPROVAL_STATE_UNKNOWN);
  expect_fault(redeem(x, a, executing), FAULT_APPROVAL_ALREADY_REDEEMED);
  assert_true(redeem(x, a, approved)->ok);
  end(x, a);
}

// ---- time

static void a_request_expires_at_the_end_of_its_lifetime(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str late = propose(x, a, ARGS), timely = propose(x, a, "{}"), approved = propose(x, a, "{\"a\":1}");
  vote(x, a, approved, "bob", "lead", true);
  x->wall += TTL_MS - 1;
  assert_true(vote(x, a, timely, "bob", "lead", true)->ok);
  x->wall += 1;
  expect_fault(vote(x, a, late, "bob", "lead", true), FAULT_APPROVAL_EXPIRED);
  expect_fault(redeem(x, a, approved), FAULT_APPROVAL_EXPIRED);
  x->wall -= TTL_MS;  // it stays expired when the clock is set back
  expect_fault(vote(x, a, late, "bob", "lead", true), FAULT_APPROVAL_EXPIRED);
  expect_fault(redeem(x, a, approved), FAULT_APPROVAL_EXPIRED);
  expect_state(x, a, late, APPROVAL_STATE_EXPIRED);
  end(x, a);
}

static void a_clock_that_is_set_back_does_not_extend_the_lifetime(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS), kept = propose(x, a, "{}");
  vote(x, a, kept, "bob", "lead", true);
  pass(x, TTL_MS / 2);
  x->wall -= 24 * 3600000;
  pass(x, TTL_MS / 2 + 20);
  expect_state(x, a, id, APPROVAL_STATE_EXPIRED);
  expect_fault(redeem(x, a, kept), FAULT_APPROVAL_EXPIRED);
  end(x, a);
}

static void a_clock_that_is_set_back_between_two_runs_ends_the_lifetime(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  vote(x, a, id, "bob", "lead", true);
  end(x, a);
  x->wall -= 3600000;
  reopen(x);
  a = gateway(x);
  expect_fault(redeem(x, a, id), FAULT_APPROVAL_EXPIRED);
  end(x, a);
}

static void an_approval_and_the_end_of_the_lifetime_at_once_have_one_result(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x), *b = gateway(x);
  str id = propose(x, a, ARGS);
  struct answer *r = begin_vote(b, id, "bob", "lead", true);
  mono += TTL_MS + 20;  // the first gateway expires the request while the second one records the approval
  x->loop.now_known = false;
  timer_run_due(&x->loop);
  await_answer(x, r);
  settle(x);
  struct answer *now = find(x, b, id);
  assert_int_equal(now->x.state, APPROVAL_STATE_EXPIRED);
  assert_int_equal(redeem(x, b, id)->fault.code, FAULT_APPROVAL_EXPIRED);
  end(x, a);
  end(x, b);
}

// ---- identical calls

static void an_identical_call_joins_the_open_request(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct arena m;
  arena_init(&m);
  str id = propose(x, a, ARGS);
  assert_true(str_eq(propose(x, a, ARGS), id));
  struct approval d = draft(&m, ARGS);
  assert_true(str_eq(approvals_find_same(a, d.same), id));
  struct answer *first = answer(), *second = answer();  // two at once
  struct approval other = draft(&m, "{\"at\":\"once\"}");
  approvals_propose(a, &other, TTL_MS, on_done, first);
  approvals_propose(a, &other, TTL_MS, on_done, second);
  assert_true(str_eq(await_answer(x, first)->x.request_id, await_answer(x, second)->x.request_id));
  vote(x, a, id, "bob", "lead", true);
  assert_true(str_eq(propose(x, a, ARGS), id));
  assert_true(redeem(x, a, id)->ok);
  assert_false(str_eq(propose(x, a, ARGS), id));  // another effect needs another approval
  arena_done(&m);
  end(x, a);
}

static void a_repeated_call_does_not_ask_again_after_a_denial(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  str id = propose(x, a, ARGS);
  vote(x, a, id, "bob", "lead", false);
  assert_true(str_eq(propose(x, a, ARGS), id));
  pass(x, TTL_MS + 20);
  assert_false(str_eq(propose(x, a, ARGS), id));
  end(x, a);
}

static void the_requests_of_a_session_are_withdrawn_with_it(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct arena m;
  arena_init(&m);
  struct approval d = draft(&m, ARGS);
  d.session = STR("sha256:5");
  str id = propose_as(x, a, &d)->x.request_id, other = propose(x, a, "{}");
  approvals_withdraw_session(a, STR("sha256:6"));
  approvals_withdraw_session(a, STR_NONE);
  expect_state(x, a, id, APPROVAL_STATE_PENDING);
  approvals_withdraw_session(a, STR("sha256:5"));
  settle(x);
  expect_state(x, a, id, APPROVAL_STATE_WITHDRAWN);
  expect_state(x, a, other, APPROVAL_STATE_PENDING);
  expect_fault(vote(x, a, id, "bob", "lead", true), FAULT_APPROVAL_INVALID);
  arena_done(&m);
  end(x, a);
}

// ---- limits

static void open_requests_are_bounded_and_none_is_dropped(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct arena m;
  arena_init(&m);
  str first = STR_NONE;
  for (int i = 0; i <= APPROVALS_PRINCIPAL_MAX; i++) {
    struct approval d = draft(&m, arena_printf(&m, "{\"i\":%d}", i).p);
    struct answer *r = propose_as(x, a, &d);
    if (!i) first = arena_str(&m, r->x.request_id);
    if (i < APPROVALS_PRINCIPAL_MAX) assert_true(r->ok);
    else expect_fault(r, FAULT_RATE_LIMITED);
  }
  struct approval d = draft(&m, "{\"i\":0}");
  assert_true(propose_as(x, a, &d)->ok);  // joins its request
  d = draft(&m, "{}");
  d.principal = STR("other");
  assert_true(propose_as(x, a, &d)->ok);
  assert_int_equal(approvals_open(a), APPROVALS_PRINCIPAL_MAX + 1);
  expect_state(x, a, first, APPROVAL_STATE_PENDING);
  vote(x, a, first, "bob", "lead", false);
  d = draft(&m, "{\"i\":-1}");
  assert_true(propose_as(x, a, &d)->ok);
  arena_done(&m);
  end(x, a);
}

static void a_request_that_cannot_be_stored_durably_is_refused(void **state) {
  struct world *x = *state;
  mono = 1000000;
  x->clock.mono_ms = read_mono;
  struct store_limits limits = store_default_limits;
  limits.kind_bytes = 4096;
  x->store = open_with(x, limits, true);
  struct approvals *a = gateway(x);
  struct arena m;
  arena_init(&m);
  struct answer *r = NULL;
  for (int i = 0; i < 8; i++) {
    struct approval d = draft(&m, arena_printf(&m, "{\"i\":%d}", i).p);
    if (!(r = propose_as(x, a, &d))->ok) break;
  }
  expect_fault(r, FAULT_EFFECTS_UNAVAILABLE);
  assert_true(fault_retryable(r->fault.code));
  arena_done(&m);
  end(x, a);
}

// ---- watching

static unsigned woken;

static void on_woken(struct approvals_watch *w) {
  woken++;
}

static void a_watch_notices_changes_of_every_gateway(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x), *b = gateway(x);
  struct approvals_watch w = {.of = NULL};
  str id = propose(x, a, ARGS), other = propose(x, a, "{}");
  approvals_watch(a, &w, &find(x, a, id)->x, on_woken);
  woken = 0;
  vote(x, b, other, "bob", "lead", true);
  pass(x, 1100);
  assert_int_equal(woken, 0);
  vote(x, b, id, "bob", "lead", true);
  assert_int_equal(woken, 0);
  pass(x, 1100);
  assert_int_equal(woken, 1);
  assert_true(redeem(x, a, id)->ok);
  assert_int_equal(woken, 2);
  approvals_unwatch(&w);
  end(x, a);
  end(x, b);
}

struct heard {
  struct approvals_listener listener;
  char text[512];
};

static void on_change(struct approvals_listener *l, const struct approvals_change *c) {
  struct heard *h = CONTAINER_OF(l, struct heard, listener);
  size_t n = strlen(h->text);
  snprintf(h->text + n, sizeof h->text - n, "%s%s%s ", c->vote ? c->vote->approver.p : "", c->vote ? ":" : "",
           approval_state_name(c->request->state));
}

static void listeners_get_every_change(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x);
  struct heard h = {.listener.changed = on_change};
  struct buf page;
  approvals_listen(a, &h.listener);
  str id = propose(x, a, ARGS), late = propose(x, a, "{}");
  vote(x, a, id, "bob", "lead", true);
  redeem(x, a, id);
  approvals_end(a, id, &(struct approval_end){APPROVAL_STATE_FAILED, STR("UPSTREAM_ERROR"), STR_NONE, false}, NULL,
                NULL);
  settle(x);
  pass(x, TTL_MS + 20);
  expect_state(x, a, late, APPROVAL_STATE_EXPIRED);
  assert_string_equal(h.text, "pending pending bob:approved executing failed expired ");
  buf_init(&page, 65536);
  approvals_write_metrics(a, &page);
  buf_char(&page, 0);
  assert_non_null(strstr(page.p, "toolgate_approvals_total{state=\"approved\"} 1\n"));
  assert_non_null(strstr(page.p, "toolgate_approvals{state=\"pending\"} 0\n"));
  assert_non_null(strstr(page.p, "toolgate_approval_wait_seconds_count 1\n"));
  buf_done(&page);
  approvals_unlisten(&h.listener);
  end(x, a);
}

struct listing {
  size_t count;
  bool over;
};

static bool on_each(void *ctx, const struct approval *x) {
  ((struct listing *)ctx)->count++;
  return true;
}

static void on_listed(void *ctx, const struct approval *x, const struct fault *f) {
  assert_true(!x && !f);
  ((struct listing *)ctx)->over = true;
}

static size_t list(struct world *x, struct approvals *a, struct approvals_filter f) {
  struct listing l = {0};
  approvals_list(a, &f, on_each, on_listed, &l);
  while (!l.over) uv_run(&x->loop.uv, UV_RUN_NOWAIT);
  return l.count;
}

static void the_list_can_be_filtered(void **state) {
  struct world *x = *state;
  struct approvals *a = begin(x), *b = gateway(x);
  str id = propose(x, a, ARGS);
  propose(x, a, "{}");
  vote(x, a, id, "bob", "lead", false);
  assert_int_equal(list(x, b, (struct approvals_filter){.open = false}), 2);
  assert_int_equal(list(x, b, (struct approvals_filter){.open = true}), 1);
  assert_int_equal(list(x, b, (struct approvals_filter){.status = STR("denied")}), 1);
  assert_int_equal(list(x, b, (struct approvals_filter){.role = STR("lead"), .agent = STR("ann")}), 2);
  assert_int_equal(list(x, b, (struct approvals_filter){.tenant = STR("other")}), 0);
  assert_int_equal(approvals_open(b), 1);
  end(x, a);
  end(x, b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EACH(a_request_keeps_the_bytes_of_the_arguments),
      T(calls_with_other_bytes_have_other_hashes),
      EACH(a_record_that_cannot_be_read_is_not_approved),
      EACH(a_request_of_another_caller_does_not_exist),
      EACH(a_person_with_the_role_of_the_gate_approves),
      EACH(a_principal_of_the_call_cannot_approve_it),
      EACH(a_quorum_needs_different_people),
      EACH(one_denial_is_enough_even_after_the_approval),
      T(only_signatures_over_this_call_count),
      T(of_two_approvers_at_once_both_are_counted),
      T(a_request_is_redeemed_once),
      EACH(a_call_that_a_crash_interrupted_is_unknown),
      EACH(a_request_expires_at_the_end_of_its_lifetime),
      EACH(a_clock_that_is_set_back_does_not_extend_the_lifetime),
      T(a_clock_that_is_set_back_between_two_runs_ends_the_lifetime),
      T(an_approval_and_the_end_of_the_lifetime_at_once_have_one_result),
      EACH(an_identical_call_joins_the_open_request),
      EACH(a_repeated_call_does_not_ask_again_after_a_denial),
      EACH(the_requests_of_a_session_are_withdrawn_with_it),
      EACH(open_requests_are_bounded_and_none_is_dropped),
      EACH(a_request_that_cannot_be_stored_durably_is_refused),
      T(a_watch_notices_changes_of_every_gateway),
      EACH(listeners_get_every_change),
      EACH(the_list_can_be_filtered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

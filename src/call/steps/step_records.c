// SPDX-License-Identifier: Apache-2.0
// Notes what a governed call returns, for its envelopes. If the governance file requires records (on_failure: refuse),
// the decision is recorded before the call is sent, and the envelopes are recorded before the call is answered: so a
// record is not lost if the gateway is killed.
#include "base/assert.h"
#include "call/call_journal.h"
#include "call/steps/steps.h"

struct record_state {
  struct call *call;  // NULL: the call never waited
  struct journal_wait wait;
};

static void cancel(struct call *c, void *state, str reason) {
  struct record_state *s = state;
  if (s->call) journal_wait_cancel(&s->wait);
}

static enum journal_state begin_wait(struct call *c, struct record_state *s, journal_done *done) {
  s->call = c;
  journal_wait_init(&s->wait, done);
  return call_journal_wait(c, &s->wait);
}

// ---- the decision

static enum call_result refuse(struct call *c) {
  struct fault f;
  fault_set(&f, FAULT_RECORDS_UNAVAILABLE,
            "the call was not sent, because its decision could not be recorded; try again later");
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
}

static void on_decision(struct journal_wait *w, bool written) {
  struct call *c = CONTAINER_OF(w, struct record_state, wait)->call;
  if (written) call_resume(c);
  else refuse(c);
}

static enum call_result record_decision(struct call *c, void *state) {
  if (!call_journal_waits(c)) return CALL_NEXT;
  switch (begin_wait(c, state, on_decision)) {
  case JOURNAL_WRITTEN: return CALL_NEXT;
  case JOURNAL_WAITS: return CALL_WAIT;
  default: return refuse(c);
  }
}

// ---- the result

static enum call_result note_result(struct call *c, void *state) {
  if (!c->failure && c->reply && c->reply->kind == RPC_RESULT) call_journal_result(c);
  return CALL_NEXT;
}

// ---- the envelopes

static void on_call(struct journal_wait *w, bool written) {
  call_resume(CONTAINER_OF(w, struct record_state, wait)->call);
}

// A call whose envelopes cannot be recorded is answered nevertheless, because it may have had its effect.
static enum call_result record_call(struct call *c, void *state) {
  call_journal_decide_late(c);
  if (!call_journal_waits(c) || !call_keep_reply(c)) return CALL_NEXT;
  call_journal_ended(c, false);
  return begin_wait(c, state, on_call) == JOURNAL_WAITS ? CALL_WAIT : CALL_NEXT;
}

const struct call_step step_recorded = {
    .name = "recorded",
    .does = "Waits until the decision is recorded, if the governance file requires records.",
    .state = sizeof(struct record_state),
    .run = record_decision,
    .cancel = cancel,
};

const struct call_step step_effects = {
    .name = "effects",
    .does = "Notes the evidence and the effects in the result of a governed call.",
    .run = note_result,
};

const struct call_step step_record_call = {
    .name = "record_call",
    .does = "Waits until the envelopes are recorded, if the governance file requires records.",
    .state = sizeof(struct record_state),
    .run = record_call,
    .cancel = cancel,
};

// SPDX-License-Identifier: Apache-2.0
// The operations of `toolgate dead-letters`, for the control socket and for the command itself when no gateway runs.
//
//   {"action": "list"}                                 → {"searching", "letters": […]}
//   {"action": "show", "id"}                           → the letter, with the arguments of its call
//   {"action": "retry", "id", "by", "note"?}           → the same; records that a person sends the call again
//   {"action": "resolve", "id", "outcome": "done" | "not-done", "by", "note"?} → {"resolved": true}
//
// `searching` is true while calls of gateways that have ended are searched: there may be more letters.
#pragma once
#include "app/gateway.h"
#include "observe/audit.h"

struct dead_letters_operation {
  struct store *store;
  const struct gateways *gateways;
  struct idempotency *idempotency;  // of the running gateway, or NULL
  const struct clock *clock;
  uint64_t keep_ms;  // lifetime of a decided outcome
  // Logs what a person has decided.
  void (*audit)(void *ctx, const struct audit_event *e);
  void *ctx;
};

// Called with the answer, as raw JSON, or with a fault: before dead_letters_answer returns or later.
typedef void dead_letters_done(void *ctx, str answer, const struct fault *f);

void dead_letters_answer(const struct dead_letters_operation *o, const struct json *params, dead_letters_done *done,
                         void *ctx);

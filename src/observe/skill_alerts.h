// SPDX-License-Identifier: Apache-2.0
// Alerts for the owners of skills. If the active version of a skill has a flaw or fails its golden set, the people of
// its owner_role get one message (observe/webhooks.h):
//
//   skill.golden_failing  {"skill_id", "version", "owner_role", "cases", "failed", "failed_cases": [{"line", "name"?,
//                          "message"}, …]}
//   skill.unusable        {"skill_id", "version", "owner_role", "reason"}
//   skill.recovered       {"skill_id", "version", "owner_role"}
//
// The store keeps the last message of each skill that was delivered, so that neither a reload nor a restart nor another
// gateway with the same state folder sends it again.
#pragma once
#include "observe/webhooks.h"
#include "store/store.h"

struct skill_alerts;

// `store` must outlive the alerts. `webhooks` must be freed before them.
struct skill_alerts *skill_alerts_new(struct webhooks *webhooks, struct store *store);
void skill_alerts_free(struct skill_alerts **a);  // must be called after webhooks_free, which ends the messages

// Compares the active skills of a governance file with the last messages, and sends the messages that are due. Must be
// called when the file takes effect.
void skill_alerts_take(struct skill_alerts *a, struct governance *g);

// Writes the metrics of the active skills of a governance file.
void skill_alerts_write(const struct governance *g, struct buf *out);

// SPDX-License-Identifier: Apache-2.0
// Writes decisions as JSON and as text.
#pragma once
#include "govern/govern.h"
#include "json/write.h"

// Writes the members of a decision into an open object: allowed, code (if denied), mode_requested, mode_effective,
// mode_highest, gate, rules, violations. Modes are null while unknown. `gate` is present if an allowed call needs
// approval; `gates` if it needs several approvals. `provisional` is present if the class and mode follow hints of a
// server.
void governance_put_members(struct json_writer *w, const struct governance_decision *d);

// Writes a decision for people: a line, then a line for each violation, without a final newline.
void governance_put_text(struct buf *out, const struct governance_decision *d);

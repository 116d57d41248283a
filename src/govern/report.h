// SPDX-License-Identifier: Apache-2.0
// Decisions as JSON and as text.
#pragma once
#include "govern/govern.h"
#include "json/write.h"

// Writes the members of a decision into an open object: allowed, code (of a denial), mode_requested, mode_effective,
// mode_highest (null while unknown), gate (of an allowed call that needs approval; gates, if it needs several), rules,
// violations.
void governance_put_members(struct json_writer *w, const struct governance_decision *d);

// Writes one line for people, without a newline, and a line for each violation.
void governance_put_text(struct buf *out, const struct governance_decision *d);

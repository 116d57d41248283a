// SPDX-License-Identifier: Apache-2.0
// Those who are not let in: counted, all of them, and told in the log and the audit log, as many as do no harm. Of each
// reason ten lines may come at once, then one a minute, with the number of those that have none: who has no credential
// must not be able to fill a disk, nor to push out of the log what others did.
#pragma once
#include "app/gateway.h"
#include "io/http/http_server.h"
#include "observe/rejection.h"

struct rejections {
  struct gateway *gateway;
  struct {
    uint64_t full_at;  // of the loop's time: when ten may come again
    uint64_t omitted;
  } of[REJECTION_COUNT];
};

// One more, at this time: is there a line for it? *out_omitted: how many had none since the last that had.
bool rejections_tell(struct rejections *r, enum rejection why, uint64_t now_ms, uint64_t *out_omitted);

// at: of what it was refused, or STR_NONE: of the endpoint.
void rejections_note(struct rejections *r, const struct http_exchange *x, enum rejection why, str at);

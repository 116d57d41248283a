// SPDX-License-Identifier: Apache-2.0
// The argument `filter` of tool_browse, for callers with a governance file:
//
//   {"capability": "adp_shop.*", "class": "verify", "domain": "payments", "max_mode": "network", "claim": "refund"}
//
// Every member is optional. A tool matches if its capability has all the given properties; `class` may also be a list.
// `claim` is the name of a claim or scope that the capability requires.
#pragma once
#include "call/caller.h"
#include "surface/surface.h"

struct browse_filter {
  bool set;        // false: everything matches
  str capability;  // a pattern with `*`; like the other strings, STR_NONE if absent
  str domain, claim;
  unsigned classes;         // bits 1 << enum capability_class; 0: all
  enum approval_mode mode;  // highest approval mode of capabilities that match; APPROVAL_NONE: any
};

// Reads the argument. Returns NULL on success, otherwise an error message. The strings are in the arena.
const char *browse_filter_read(const struct json *v, struct arena *a, struct browse_filter *out);

// Returns the visible entries that match, as bits in the scratch arena of `d`. `visible` is a result of meta_visible. A
// tool without a capability does not match.
const uint64_t *browse_filter_apply(struct surface *d, const struct browse_filter *filter, const struct governance *g,
                                    const uint64_t *visible);

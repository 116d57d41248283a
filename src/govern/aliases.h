// SPDX-License-Identifier: Apache-2.0
// Read-only aliases: names under which clients in mode gateway see a tool next to the meta-tools. They are the member
// `aliases` of the governance file:
//
//   aliases:
//     - { alias: find_order, capability_id: adp_payments.find_order, ttl_s: 300 }
//
// An alias is only a name and a copy of the definition. A call by this name is decided and executed like every other
// call of the capability. Only capabilities of class observe, recall or verify with the mode read_only can have an
// alias.
#pragma once
#include "govern/govern.h"

struct governance_alias {
  str alias, pointer;
  str capability_id;
  const struct governance_capability *capability;
  const struct json *args_template;  // object that contains the arguments with fixed values; NULL if absent
  uint64_t ttl_s;                    // time for which the copy of the definition may be used
};

enum { ALIAS_BYTES = 64, ALIASES_MAX = 100, ALIAS_TTL_S = 300 };

size_t governance_alias_count(const struct governance *g);
// The aliases are in the order of the file.
const struct governance_alias *governance_alias_at(const struct governance *g, size_t index);
const struct governance_alias *governance_alias_find(const struct governance *g, str alias);  // NULL if unknown

// SPDX-License-Identifier: Apache-2.0
// Versions of an adapter: servers that replace the adapter's own server for a part of its calls.
//
//   adapters:
//     - adapter_id: adp_pay
//       server: pay
//       versions:
//         - { version: "2.0", server: pay-next, environments: [staging] }
//         - { version: "2.1", server: pay-canary, tenants: [acme], share: 5 }
//
// A call uses the first version that its context matches, otherwise the adapter's own server. `share` is a percentage
// of runs: a hash of the run decides, so that all calls of a run use the same version.
#pragma once
#include "govern/govern.h"

struct governance_version {
  str version;  // the version of the server that the file expects
  str server, pointer;
  struct governance_names environments, tenants;
  double share;  // percentage of the runs, above 0
};

// Returns the version that uses this server. Returns NULL for an adapter's own server and for unknown servers.
const struct governance_version *governance_version_of(const struct governance *g, str server);

// Returns whether calls of this tenant (STR_NONE: none) may use the version.
bool governance_version_serves(const struct governance_version *v, str tenant);

// Returns the adapter that governs this server, if the adapter has versions; otherwise NULL.
const struct governance_adapter *governance_versioned(const struct governance *g, str server);

// Searches the versions from index `from` on for one that a call of this environment, tenant and run may use. Returns
// the first such version, or NULL.
const struct governance_version *governance_choose_version(const struct governance_adapter *a, str environment,
                                                           str tenant, str run, size_t from);

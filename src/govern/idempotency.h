// SPDX-License-Identifier: Apache-2.0
// Members of a governance file for calls that have an effect:
//
//   idempotency: { mint: request, keep_s: 86400 }
//
//   adapters:
//     - adapter_id: adp_pay
//       capabilities:
//         - name: charge
//           reconcile:
//             capability: find_charge
//             args: { reference: { var: args.reference } }
//             done: { "!!": [{ var: result.id }] }
#pragma once
#include "govern/govern.h"

// Whether the gateway makes an idempotency key for a request that has none.
enum idempotency_mint { MINT_NEVER, MINT_REQUEST };

struct governance_idempotency {
  uint8_t mint;     // enum idempotency_mint
  uint64_t keep_s;  // how long the outcome of a key is stored
};

// Returns the settings; the defaults if the file has no member `idempotency`.
const struct governance_idempotency *governance_idempotency(const struct governance *g);

enum reconciled { RECONCILED_DONE, RECONCILED_NOT_DONE, RECONCILED_FAILED };

// Writes the arguments of the call that reconciles, as a JSON object. `args` are the arguments of the call whose
// outcome is unknown. Returns false, with the reason in *out_why, if an expression fails.
bool governance_reconcile_args(const struct governance_reconcile *r, const struct json *args, struct arena *a, str *out,
                               const char **out_why);

// Returns whether the effect happened. `result` is the result of the call that reconciles, as raw JSON.
// RECONCILED_FAILED: the expression failed, with the reason in *out_why.
enum reconciled governance_reconcile(const struct governance_reconcile *r, const struct json *args, str result,
                                     struct arena *a, const char **out_why);

// SPDX-License-Identifier: Apache-2.0
// Reads the evidence and the effects of a completed call from its result: names of evidence, and references to objects
// that the call has created, updated or deleted (mutations). The manifest says where a result has them. A server can
// also report mutations in `_meta` of the result; they are untrusted, so they are bounded, validated and marked.
#pragma once
#include "govern/manifest.h"
#include "text/secrets.h"

// The member of `_meta` of a result in which a server reports mutations: a list of {"ref", "kind"}. Its name must not
// begin with "io.toolgate/", because the gateway removes such members from the messages of servers.
#define MUTATIONS_META "contextos/mutations"

enum {
  MUTATIONS_MAX = 32,         // maximum mutations of one call
  MUTATION_REF_MAX = 1024,    // maximum bytes of a reference
  EFFECTS_DECLARED_MAX = 32,  // maximum elements of `evidence` and of `mutations` in a manifest
};

// A call whose server has returned a result that reports no error.
struct effects_of {
  const struct governance_capability *capability;
  const struct json *result;  // NULL if its members are not known: then only names and the own reference count
  str tool_call_id;           // the own reference of a call has the ids of its capability and of the call
  bool repeated;              // the result is from the cache, so the call had no effect
  const struct secrets_known *secrets;  // masked in references, or NULL
};

// Returns whether a result has this evidence. Evidence without a pointer is in every result. `result` may be NULL.
bool effects_has_evidence(const struct governance_evidence *e, const struct json *result);

// effects_put_evidence writes the names of the evidence that the result contains, as elements of a JSON array, and
// effects_put_places the members of an object with the JSON Pointers to this evidence.
void effects_put_evidence(struct buf *out, const struct effects_of *e);
void effects_put_places(struct buf *out, const struct effects_of *e);
// Writes the mutations as elements of a JSON array: {"ref", "kind", "source"}. A call of class act has at least one.
void effects_put_mutations(struct buf *out, const struct effects_of *e, struct arena *scratch);

// SPDX-License-Identifier: Apache-2.0
// Adapters, the first part of a governance file. Each adapter lists the capabilities of one upstream.
#pragma once
#include "govern/limits.h"
#include "govern/mode.h"

// A list of names. `list` is NULL if the member is absent from the file.
struct governance_names {
  const str *list;
  size_t count;
};
// Returns whether the list has the name. An absent list has every name; STR_NONE is in no other list.
bool governance_names_have(const struct governance_names *names, str name);

// Evidence that the results of a capability contain. `pointer` is a JSON Pointer into the result, or STR_NONE.
struct governance_evidence {
  str name, pointer;
};

struct governance_evidence_list {
  const struct governance_evidence *list;
  size_t count;
};

// An effect of a capability. `pointer` is a JSON Pointer to the reference in the result that names the changed object,
// or STR_NONE.
enum mutation_kind { MUTATION_CREATE, MUTATION_UPDATE, MUTATION_DELETE };

struct governance_mutation {
  uint8_t kind;  // enum mutation_kind
  str pointer;
};

struct governance_mutation_list {
  const struct governance_mutation *list;
  size_t count;
};

struct governance_version;

// Versions of an adapter (govern/versions.h), in the order of the file.
struct governance_versions {
  struct governance_version *list;
  size_t count;
};

enum adapter_type { ADAPTER_MCP, ADAPTER_A2A, ADAPTER_OPENAPI, ADAPTER_FUNCTION, ADAPTER_CUSTOM };

// How to prevent that a repeated call has its effect twice. IDEMPOTENCY_REQUIRED: the gateway must send an idempotency
// key. IDEMPOTENCY_NATIVE: the upstream itself recognises repeated keys. IDEMPOTENCY_OF_ADAPTER: the value of the
// adapter, which replaces this constant while the file is read.
enum adapter_idempotency { IDEMPOTENCY_REQUIRED, IDEMPOTENCY_NATIVE, IDEMPOTENCY_OF_ADAPTER };

enum { GOVERNANCE_ATTEMPTS_MAX = 100 };

struct governance_capability;
struct logic;

// How to find out whether a call whose outcome is unknown had its effect: by a call of another capability.
struct governance_reconcile {
  str pointer;                                     // STR_NONE if the member is absent
  str name;                                        // as in the file: the id or, within the same adapter, the name
  const struct governance_capability *capability;  // has no effect itself
  const struct json *args;                         // template (govern/template.h); NULL: no arguments
  const struct logic *done;                        // true if the call had its effect
};

struct governance_retry {
  bool set;
  uint64_t max_attempts;
  double base_delay, max_delay;  // seconds; negative if absent
};

// The dimensions of risk. Each member is an index into a word list of govern_manifest.c, or 0 if the file does not set
// the dimension.
struct governance_risk {
  uint8_t effect, authority, reversibility, interaction, data_scope;
};

// How to treat a result that does not match the output schema of its tool. OUTPUT_OF_FILE stands for an adapter without
// a setting of its own: the reader of the file replaces it with the setting of the whole file.
enum governance_output { OUTPUT_OFF, OUTPUT_WARN, OUTPUT_ENFORCE, OUTPUT_OF_FILE };

struct governance_adapter {
  str adapter_id, pointer;
  uint8_t output_schemas;  // enum governance_output
  uint8_t type;            // enum adapter_type
  uint8_t idempotency;     // enum adapter_idempotency
  str server;              // name of the upstream; like the other strings, STR_NONE if absent
  str owner, description, endpoint_ref, domain, environment;
  str version, protocol, protocol_version, transport;  // the values that the upstream must have
  uint64_t timeout_ms;                                 // 0 if absent
  struct governance_retry retry;
  struct breaker_limits breaker;
  struct egress_limits egress;
  struct governance_reconcile reconcile;
  bool signs;  // sign_metadata: calls carry a signed decision (govern/signing.h)
  struct governance_versions versions;
};

struct governance_permission;

struct governance_capability {
  const struct governance_adapter *adapter;
  str id;       // adapter_id.name
  str id_json;  // `id` as a JSON string
  str name, pointer, mode_pointer;
  uint8_t class;        // enum capability_class
  uint8_t mode;         // highest allowed mode, enum approval_mode
  uint8_t idempotency;  // enum adapter_idempotency
  bool unlisted;        // no adapter lists the tool (govern/provisional.h)
  bool provisional;     // class and mode follow hints of the server, which no person has confirmed
  struct governance_names scopes, claims;
  struct governance_evidence_list evidence;
  struct governance_mutation_list mutations;
  str description, domain;
  str environment;                  // STR_NONE: every environment; by default that of the adapter
  str input_schema, output_schema;  // expected hashes of the schemas: "sha256:HEX"
  uint64_t timeout_ms;
  uint8_t flow;      // marks of the flow guard (govern/flow.h), as bits
  str flow_pointer;  // the place of the flow marks in the file
  double cost;       // of one call, in the unit of max_cost; 0 if absent
  struct governance_retry retry;
  struct breaker_limits breaker;
  struct egress_limits egress;
  struct governance_reconcile reconcile;
  struct governance_risk risk;
  // The permissions for this capability, in the order of the file.
  const struct governance_permission **permissions;
  size_t permission_count;
};

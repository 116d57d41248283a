// SPDX-License-Identifier: Apache-2.0
// Adapters: what each upstream may do at most. The first part of a governance file.
#pragma once
#include "govern/mode.h"

// A list of names; `list` is NULL if the key is absent.
struct governance_names {
  const str *list;
  size_t count;
};

enum adapter_type { ADAPTER_MCP, ADAPTER_A2A, ADAPTER_OPENAPI, ADAPTER_FUNCTION, ADAPTER_CUSTOM };

// Whether calls that write need an idempotency key of the gateway, or the upstream recognises repeated calls itself.
// IDEMPOTENCY_OF_ADAPTER is replaced while the file is read.
enum adapter_idempotency { IDEMPOTENCY_REQUIRED, IDEMPOTENCY_NATIVE, IDEMPOTENCY_OF_ADAPTER };

struct governance_retry {
  bool set;
  uint64_t max_attempts;
  double base_delay, max_delay;  // seconds
};

// Dimensions of risk, as indexes into the words of govern_manifest.c; absent: 0.
struct governance_risk {
  uint8_t effect, authority, reversibility, interaction, data_scope;
};

struct governance_adapter {
  str adapter_id, pointer;
  uint8_t type;         // enum adapter_type
  uint8_t idempotency;  // enum adapter_idempotency
  str server;           // the upstream that it governs; STR_NONE if absent, as other texts
  str owner, description, endpoint_ref, domain, environment;
  str version, protocol, protocol_version, transport;  // pins
  uint64_t timeout_ms;                                 // 0 if absent
  struct governance_retry retry;
};

struct governance_permission;

struct governance_capability {
  const struct governance_adapter *adapter;
  str id;       // adapter_id.name
  str id_json;  // the same as JSON text
  str name, pointer;
  uint8_t class;        // enum capability_class
  uint8_t mode;         // highest mode, enum approval_mode
  uint8_t idempotency;  // enum adapter_idempotency
  struct governance_names scopes, claims, evidence;
  str description, domain, environment;
  str input_schema, output_schema;  // pins: "sha256:HEX"
  uint64_t timeout_ms;
  struct governance_retry retry;
  struct governance_risk risk;
  // In the order of the file.
  const struct governance_permission **permissions;
  size_t permission_count;
};

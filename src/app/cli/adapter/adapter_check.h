// SPDX-License-Identifier: Apache-2.0
// Compares the adapters of a governance file with the tools of their servers.
#pragma once
#include "app/gateway_client/inventory.h"
#include "govern/govern.h"

// Each row has a code, and says whether findings with this code are only remarks.
#define ADAPTER_FINDINGS(X) \
  X(GOVERNANCE_INVALID, false)      /* the governance file cannot be used */ \
  X(SERVER_UNKNOWN, false)          /* no such server is in use */ \
  X(SERVER_UNAVAILABLE, false)      /* the server did not start, so nothing was compared */ \
  X(CAPABILITY_WITHOUT_TOOL, false) /* the server has no such tool */ \
  X(TOOL_WITHOUT_CAPABILITY, false) /* no adapter of the server has a capability for this tool */ \
  X(VERSION_MISMATCH, false)        /* the server has another version, protocol or transport */ \
  X(VERSION_INCOMPATIBLE, false)    /* a tool of another version differs, so that version gets no calls */ \
  X(CAPABILITY_PROVISIONAL, true)   /* no person has confirmed the capability's class and mode */ \
  X(SCHEMA_DRIFT, false)            /* the schema of the tool differs from the pinned schema */ \
  X(CAPABILITY_BELOW_HINTS, true)   /* the class or mode is lower than the server's hints suggest */

enum adapter_code {
#define X(name, remark) ADAPTER_##name,
  ADAPTER_FINDINGS(X)
#undef X
};

// Collects findings, as text or as JSON.
struct adapter_report {
  str named;  // path of the file that the operator named
  str file;   // path of the governance file: `named`, or the file that the configuration file `named` names
  bool json;
  struct buf out;   // text: one line for each finding; JSON: the elements of the list
  size_t findings;  // number of findings, without remarks
  size_t remarks;
  bool incomplete;  // at least one server could not be compared
};

// Adds a finding. `tool` may be STR_NONE. A pointer such as /manifests/NAME/… is shown as the manifest file and a
// pointer within this file; /servers/NAME/adapter/… is a place in the configuration file.
void adapter_report_add(struct adapter_report *r, enum adapter_code code, str pointer, str tool, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

// Compares all adapters that name a server. Memory is taken from the arena.
void adapter_check(struct adapter_report *r, const struct governance *g, const struct config *config,
                   const struct inventory *i, struct arena *a);

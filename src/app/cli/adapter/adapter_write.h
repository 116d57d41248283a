// SPDX-License-Identifier: Apache-2.0
// Writes a governance file with one adapter, for a person to edit.
#pragma once
#include "app/cli/adapter/adapter_tools.h"

struct adapter_draft {
  str server;
  str protocol_version, transport;  // STR_NONE if unknown
  const struct adapter_tool *tools;
  size_t count;
};

// YAML with comments. Tools whose names a governance file cannot have are comments.
void adapter_write_yaml(struct buf *out, const struct adapter_draft *d);
// JSON on one line, without these tools.
void adapter_write_json(struct buf *out, const struct adapter_draft *d);

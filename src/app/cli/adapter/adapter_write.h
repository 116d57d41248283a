// SPDX-License-Identifier: Apache-2.0
// Writes a governance file with one adapter, for a person to edit.
#pragma once
#include "app/cli/adapter/adapter_tools.h"

struct adapter_draft {
  str server;
  struct adapter_live live;
  bool manifest;  // write only the adapter, as a manifest, which a governance file includes by its list `manifests`
  const struct adapter_tool *tools;
  size_t count;
};

// Writes YAML with comments. Tools whose names are not valid in a governance file become comments.
void adapter_write_yaml(struct buf *out, const struct adapter_draft *d);
// Writes JSON on one line, without the tools whose names are not valid.
void adapter_write_json(struct buf *out, const struct adapter_draft *d);

// SPDX-License-Identifier: Apache-2.0
// Reads the text of a governance file, for commands.
#pragma once
#include "govern/govern.h"

// Reads a governance file, or a manifest (a file that defines one adapter). The text is YAML, or JSON with comments.
// The caller must release the result. On failure, reports each error to `problem` and returns NULL.
struct governance *governance_file_read(str text, bool yaml, governance_problem *problem, void *ctx);

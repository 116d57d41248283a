// SPDX-License-Identifier: Apache-2.0
// The commands below `toolgate context`: what they have in common.
#pragma once
#include "app/command.h"
#include "base/buf.h"

// argv[0] is "toolgate context NAME".
command_run context_build, context_messages;

enum { CONTEXT_FILE_BYTES = 64 << 20 };

// All of a file, or of standard input when the path is "-". False: why not was said on stderr.
bool context_read(const char *path, struct buf *out);

// The same for a text that stands around others: what is no UTF-8 is replaced. No path: empty.
bool context_read_text(const char *path, struct buf *out);

// SPDX-License-Identifier: Apache-2.0
// The list of tools in transparent mode. Every tool has a short description and no schema. Tools are listed under names
// that every client accepts, or under their ids (transparent.names).
#pragma once
#include "mcp/server/session.h"

struct surface;

size_t transparent_count_tools(struct surface *d, const struct session *s, uint64_t *out_version);
// Appends the tools with the indexes `at` to `end` - 1 in the list of visible tools, which is sorted by id.
void transparent_put_tools(struct surface *d, struct request *r, size_t at, size_t end, struct buf *out);

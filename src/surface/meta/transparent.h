// SPDX-License-Identifier: Apache-2.0
// The list of mode transparent: every tool with a short description and without its schema, under a client-safe name or
// under its id (transparent.names).
#pragma once
#include "mcp/server/session.h"

struct surface;

size_t transparent_count_tools(struct surface *d, const struct session *s, uint64_t *out_version);
// Appends the visible tools from index `at` up to `end`, in the order of their ids.
void transparent_put_tools(struct surface *d, struct request *r, size_t at, size_t end, struct buf *out);

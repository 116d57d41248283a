// SPDX-License-Identifier: Apache-2.0
// Answers tools/list, resources/list and similar requests with pages of the catalog. A list waits for upstreams that
// are starting.
#pragma once
#include "catalog/catalog.h"
#include "mcp/server/session.h"

struct surface;

bool direct_is_list(str method, enum item_kind *out);
void direct_list(struct surface *d, struct request *r);

// Reads the cursor of a list with `count` items. A cursor is valid as long as the version of the list does not change.
// If the cursor is invalid, refuses the request and returns false.
bool direct_read_cursor(struct request *r, uint64_t version, size_t count, size_t *out_at);
// Computes the version of a list, item by item: returns the new version after the item `name` was appended to a list of
// version `before`. The version of an empty list is 0. Must be called only with names that the client may see.
uint64_t direct_list_version(const struct surface *d, uint64_t before, str name);
// Returns the index after the last item of the page that begins at index `at`. For the operator, a list has only one
// page.
size_t direct_page_end(const struct surface *d, const struct session *s, size_t at, size_t count);

// SPDX-License-Identifier: Apache-2.0
// tools/list and its kin: pages of the catalog, once the upstreams that are starting have had their chance.
#pragma once
#include "surface/surface_impl.h"

bool direct_is_list(str method, enum item_kind *out);
void direct_list(struct surface *d, struct request *r);

// Where a list goes on that was cut into pages. version: by what a cursor knows whether the list that it goes on in is
// still the same; made of the names in it, so that it tells nothing of what is not. False: the request was refused.
bool direct_read_cursor(struct request *r, uint64_t version, size_t count, size_t *out_at);
uint64_t direct_list_version(const struct surface *d, uint64_t before, str name);  // with one more name

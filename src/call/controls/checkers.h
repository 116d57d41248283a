// SPDX-License-Identifier: Apache-2.0
// Input schemas of tools, compiled when a tool is first called and kept for its next calls.
//
// A tool is known by its server and its name. When the catalog is another, its schema is compared, once, and compiled
// anew only if it changed. What was not used for the longest time leaves when there are too many, or too large ones.
#pragma once
#include "catalog/catalog.h"
#include "schema/schema.h"

struct checkers;

struct checkers *checkers_new(const struct schema_options *options, const struct hash_key *seed);
void checkers_free(struct checkers **checkers);

// The schema that the arguments of a tool must follow, good until the next call; *out is NULL when there is nothing to
// follow. False: what the tool has is no schema that we take, f says why and, as its path, where in it.
bool checkers_get(struct checkers *k, str server, const struct item *tool, uint64_t generation,
                  const struct schema **out, struct fault *f);

size_t checkers_compiled(const struct checkers *k);  // how often one was, so far
size_t checkers_count(const struct checkers *k);     // that are kept

// SPDX-License-Identifier: Apache-2.0
// Caches the input schemas of tools, which are compiled when a tool is first called.
//
// A tool is identified by its server and its name. When the catalog changes, the schema is compared once, and compiled
// again only if it changed. The least recently used schemas are dropped if there are too many, or too many bytes.
#pragma once
#include "catalog/catalog.h"
#include "schema/schema.h"

struct checkers;

struct checkers *checkers_new(const struct schema_options *options, const struct hash_key *seed);
void checkers_free(struct checkers **checkers);

// Finds the schema for the arguments of a tool, valid until the next call; *out is NULL if every argument is allowed.
// Returns false if the tool's schema cannot be used: f has the reason and, as its path, the place in the schema.
bool checkers_get(struct checkers *k, str server, const struct item *tool, uint64_t generation,
                  const struct schema **out, struct fault *f);

size_t checkers_compiled(const struct checkers *k);  // compilations so far
size_t checkers_count(const struct checkers *k);     // tools in the cache

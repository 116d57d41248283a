// SPDX-License-Identifier: Apache-2.0
// Caches the compiled schemas of tools, either the input schemas or the output schemas, and their pins. A schema is
// compiled when it is first needed.
//
// A tool is identified by its server and its name. After a change of the catalog, a tool's schema is compared with the
// cached one at the tool's next call, and compiled again only if it differs. If the cache has too many schemas or
// bytes, the least recently used schemas are dropped.
#pragma once
#include "catalog/catalog.h"
#include "schema/schema.h"

struct checkers;

// `member` is the member of a tool's definition that has the schema: "inputSchema" or "outputSchema".
struct checkers *checkers_new(const char *member, const struct schema_options *options, const struct hash_key *seed);
void checkers_free(struct checkers **checkers);

// Sets *out to the schema of a tool, or to NULL if all values are allowed. The schema is valid until the next call of a
// function of this module. Returns false if the tool's schema cannot be used: `f` has the reason and, as
// its path, the invalid place in the schema.
bool checkers_get(struct checkers *k, str server, const struct item *tool, uint64_t generation,
                  const struct schema **out, struct fault *f);

// Returns the pin of a tool's schema (govern/schema_pin.h), or STR_NONE if the tool has no schema or the schema has no
// pin. The text is valid until the next call of a function of this module.
str checkers_pin(struct checkers *k, str server, const struct item *tool, uint64_t generation);

const struct schema_options *checkers_options(const struct checkers *k);

size_t checkers_compiled(const struct checkers *k);  // compilations so far
size_t checkers_count(const struct checkers *k);     // tools in the cache

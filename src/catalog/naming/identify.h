// SPDX-License-Identifier: Apache-2.0
// Ids from definitions. The same definition always gives the same id; changes of prose do not change it.
//
// The namespace is that of the configured server, else it is inferred from the name. The version is what the
// definition's _meta declares. Where it declares none, a hash stands for it: of the name as the upstream has it and of
// the shape of what it takes (names of arguments, not their types or descriptions).
//
// No definition with a name is ever refused. What does not fit the grammar or is too long is made to fit, and the id
// then carries the hash whether or not there is a version, so that two names do not become one.
#pragma once
#include "catalog/naming/tool_id.h"

struct identify_rules {
  str namespace;         // of the configured server, from identify_namespaces; empty: infer one
  bool (*fits)(str id);  // an id for which this is false is shortened; NULL: every id fits
};

struct identity {
  str id;
  struct tool_id_parts parts;
  str note;  // what was changed and why, for the refresh report; empty: nothing
};

// Slices of *out live in the arena or in the definition. False: the definition has no name (or URI), or is no object.
bool identify_tool(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                   struct identity *out, struct fault *f);
bool identify_resource(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                       struct identity *out, struct fault *f);  // templates too
bool identify_prompt(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                     struct identity *out, struct fault *f);

// The namespace of every configured server, no two alike: the name itself when it fits the grammar; else made to fit,
// with a hash of the name behind it when another server has that namespace. Does not depend on the order of servers.
// A namespace for which `fits` refuses even short names is shortened the same way. Server names are different and not
// empty. Gives the number of those that got a hash.
size_t identify_namespaces(const str *servers, size_t count, bool (*fits)(str id), struct arena *a, str *out);

// The hashes alone. An input schema that is NULL or no object has no arguments; what is no string among required
// names, and arguments without a name, do not count.
str identify_hash_tool(struct arena *a, str upstream_name, const struct json *input_schema);
str identify_hash_resource(struct arena *a, str uri);
str identify_hash_prompt(struct arena *a, str upstream_name, const struct json *arguments);

// SPDX-License-Identifier: Apache-2.0
// Ids from definitions. The same definition always gives the same id; changes of prose do not change it.
//
// The namespace is that of the configured server, else it is inferred from the name. The version is declared in the
// definition's _meta. Without one, a hash replaces it: of the server's name for the item and of the names of its
// arguments (not their types or descriptions).
//
// Every definition with a name gets an id. A name that breaks the grammar or is too long is changed to fit, and the id
// then has the hash even with a version, so that two names do not become one.
#pragma once
#include "catalog/naming/tool_id.h"

struct identify_rules {
  str namespace;         // of the configured server, from identify_namespaces; empty: infer it
  bool (*fits)(str id);  // ids that do not fit are shortened; NULL: every id fits
};

struct identity {
  str id;
  struct tool_id_parts parts;
  str note;  // the change and its reason, for the refresh report; empty: unchanged
};

// Slices of *out are in the arena or in the definition. Returns false if the definition has no name (or URI), or is not
// an object.
bool identify_tool(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                   struct identity *out, struct fault *f);
bool identify_resource(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                       struct identity *out, struct fault *f);  // templates too
bool identify_prompt(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                     struct identity *out, struct fault *f);

// Returns the namespace of every configured server, all different: the name itself if it fits the grammar; else a form
// that fits, with a hash of the name if another server has that namespace. Does not depend on the order of servers. A
// namespace for which `fits` refuses even short names is shortened the same way. Server names must be different and not
// empty. Returns the number of namespaces with a hash.
size_t identify_namespaces(const str *servers, size_t count, bool (*fits)(str id), struct arena *a, str *out);

// Returns the hash alone. An input schema that is NULL or not an object has no arguments; required names that are not
// strings, and arguments without a name, do not count.
str identify_hash_tool(struct arena *a, str upstream_name, const struct json *input_schema);
str identify_hash_resource(struct arena *a, str uri);
str identify_hash_prompt(struct arena *a, str upstream_name, const struct json *arguments);

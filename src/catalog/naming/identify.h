// SPDX-License-Identifier: Apache-2.0
// Makes ids from definitions. The same definition always gives the same id; changes of titles and descriptions do not
// change it.
//
// The namespace is that of the configured server; without one, it is inferred from the name. The version is declared in
// the definition's _meta. Without a version, the id has a hash of the server's name for the item and of the names of
// its arguments (not their types or descriptions).
//
// Every definition with a name gets an id. A name that breaks the grammar or is too long is changed to fit. The id then
// has the hash even if it has a version, so that two names do not get the same id.
#pragma once
#include "catalog/naming/tool_id.h"

struct identify_rules {
  str namespace;         // namespace of the configured server, from identify_namespaces; empty: infer it
  bool (*fits)(str id);  // ids that do not fit are shortened; NULL: every id fits
};

struct identity {
  str id;
  struct tool_id_parts parts;
  str note;  // the changes, for the refresh report; empty: unchanged
};

// Return the id in *out, whose slices point into the arena or the definition. Return false if the definition has no
// name (or URI) or is not an object.
bool identify_tool(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                   struct identity *out, struct fault *f);
bool identify_resource(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                       struct identity *out, struct fault *f);  // also for templates
bool identify_prompt(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                     struct identity *out, struct fault *f);

// Writes the namespace of every configured server to `out`; all are different. The namespace is the server's name if it
// fits the grammar; else a form of the name that fits, with a hash of the name if another server has that namespace. A
// namespace for which `fits` rejects even short names is shortened the same way. The result does not depend on the
// order of servers. Server names must be different and not empty. Returns the number of namespaces with a hash.
size_t identify_namespaces(const str *servers, size_t count, bool (*fits)(str id), struct arena *a, str *out);

// Return the hash alone. An input schema that is NULL or not an object counts as one without arguments. Required names
// that are not strings, and arguments without a name, are ignored.
str identify_hash_tool(struct arena *a, str upstream_name, const struct json *input_schema);
str identify_hash_resource(struct arena *a, str uri);
str identify_hash_prompt(struct arena *a, str upstream_name, const struct json *arguments);

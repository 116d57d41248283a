// SPDX-License-Identifier: Apache-2.0
// Makes ids from definitions. The same definition always gives the same id; changes to titles and descriptions do not
// affect the id.
//
// The namespace is that of the configured server, or is inferred from the name if the server has none. The version is
// the one that the definition declares in _meta. Without a version, the id has a hash of the item's name and of the
// names of its arguments (but not of their types or descriptions).
//
// Every definition with a name gets an id. If a name breaks the grammar or is too long, it is changed to fit. Such an
// id always has the hash, so that two names do not get the same id.
#pragma once
#include "catalog/naming/tool_id.h"

struct identify_rules {
  str namespace;  // namespace of the configured server, from identify_namespaces; empty to infer it from the name
  bool (*fits)(str id);  // returns whether an id is short enough; longer ids are shortened; NULL if there is no limit
};

struct identity {
  str id;
  struct tool_id_parts parts;
  str note;  // what was changed to make the id, for the operator; empty if nothing was changed
};

// These functions make the id of a definition. The strings of *out are in the arena or the definition. The functions
// return false if the definition is not an object or has no name (or URI).
bool identify_tool(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                   struct identity *out, struct fault *f);
bool identify_resource(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                       struct identity *out, struct fault *f);  // also for templates
bool identify_prompt(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                     struct identity *out, struct fault *f);

// Writes the namespace of every configured server to `out`; all are different. A server's namespace is its name, if the
// name fits the grammar. Otherwise the name is changed to fit, and gets a hash if the changed name belongs to another
// server. A namespace that is too long for `fits`, even with a short name, is shortened in the same way. The result
// does not depend on the order of servers. Server names must be different and not empty. Returns the number of
// namespaces with a hash.
size_t identify_namespaces(const str *servers, size_t count, bool (*fits)(str id), struct arena *a, str *out);

// These functions return only the hash of the id. A tool whose input schema is NULL or not an object has no arguments.
// Required names that are not strings, and arguments without a name, are ignored.
str identify_hash_tool(struct arena *a, str upstream_name, const struct json *input_schema);
str identify_hash_resource(struct arena *a, str uri);
str identify_hash_prompt(struct arena *a, str upstream_name, const struct json *arguments);

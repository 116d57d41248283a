// SPDX-License-Identifier: Apache-2.0
// Makes names that every client accepts: letters, digits, '_' and '-', at most 64 characters.
#pragma once
#include "base/arena.h"

enum { NAMES_MAX = 64 };

bool names_is_safe(str name);

// Returns `name`, or server__name if `prefix` is set. If the result is not a safe name, or if `salt` is not 0, shortens
// the result and adds a stable hash of server, name and salt.
str names_safe(struct arena *a, str server, str name, bool prefix, unsigned salt);

// Returns namespace__leaf for the tool with this id. Adds a stable hash of the id if another tool could have the same
// result (`plain` is false, or the border between namespace and leaf is ambiguous), if the result is not a safe name,
// or if `salt` is not 0.
str names_of_id(struct arena *a, str namespace, str leaf, str id, bool plain, unsigned salt);

// Returns the name itself if it has no control or hidden characters; otherwise a safe name with a stable hash of server
// and name.
str names_shown(struct arena *a, str server, str name);

// Returns the URI with the prefix of its server, which may be empty. Control and hidden characters are percent-encoded.
str names_uri(struct arena *a, str prefix, str uri);

// Writes the prefix of every server, such as "name+". All prefixes are different, and can begin a URI scheme. If a
// server's name cannot be part of a scheme, it is changed like the namespace of an id (identify_namespaces), with "."
// instead of "_".
void names_prefixes(struct arena *a, const str *servers, size_t count, str *out);

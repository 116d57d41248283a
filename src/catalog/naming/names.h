// SPDX-License-Identifier: Apache-2.0
// Makes names that every client accepts: letters, digits, '_' and '-', at most 64 characters.
#pragma once
#include "base/arena.h"

enum { NAMES_MAX = 64 };

bool names_is_safe(str name);

// Returns the name itself, or server__name if `prefix` is set. If the result is not safe, or `salt` is not 0, it is
// shortened and gets a stable hash of server and name.
str names_safe(struct arena *a, str server, str name, bool prefix, unsigned salt);

// Returns namespace__leaf for the tool with this id. Adds a stable hash of the id if the result is not safe, if `salt`
// is not 0, or if another namespace or, unless `plain` is set, another name could give the same result.
str names_of_id(struct arena *a, str namespace, str leaf, str id, bool plain, unsigned salt);

// Returns the name itself if it has no control or hidden characters, else a safe name with a stable hash of server and
// name.
str names_shown(struct arena *a, str server, str name);

// Returns the URI with the prefix of its server, which may be empty. Control and hidden characters are percent-encoded.
str names_uri(struct arena *a, str prefix, str uri);

// Writes the prefix of every server, such as "name+". All prefixes are different, and each one begins a valid URI
// scheme. A server name that cannot be part of a scheme is changed like the namespace of an id (identify_namespaces),
// with "." instead of "_".
void names_prefixes(struct arena *a, const str *servers, size_t count, str *out);

// SPDX-License-Identifier: Apache-2.0
// Names that every client accepts: letters, digits, '_' and '-', at most 64.
#pragma once
#include "base/arena.h"

enum { NAMES_MAX = 64 };

bool names_is_safe(str name);

// The name itself, or server__name with `prefix`; shortened with a stable hash of server and name if that is not safe,
// or if salt is not 0.
str names_safe(struct arena *a, str server, str name, bool prefix, unsigned salt);

// namespace__leaf for a tool with this id. With a stable hash of the id if that is not safe, if salt is not 0, or if
// another namespace or, where `plain` is false, another name could give the same.
str names_of_id(struct arena *a, str namespace, str leaf, str id, bool plain, unsigned salt);

// The name itself if it has no control and hidden characters, else a safe name with a stable hash of server and name.
str names_shown(struct arena *a, str server, str name);

// The URI with the prefix of its server; the URI itself if the prefix is empty. Control and hidden characters are
// percent-encoded.
str names_uri(struct arena *a, str prefix, str uri);

// The prefix of every server, "name+": all are different, and each begins a valid URI scheme. A server name that cannot
// be part of a scheme is changed to fit as for ids (identify_namespaces), with "." in place of "_".
void names_prefixes(struct arena *a, const str *servers, size_t count, str *out);

// SPDX-License-Identifier: Apache-2.0
// A roster as JSON: for what is kept on disk, and for commands that read the catalog of a running gateway.
#pragma once
#include "catalog/definitions.h"
#include "json/write.h"

// Members "origin" and "lists" of an object that the caller has begun. Each list is written as its method's result.
// serves: which tools are written, as in struct catalog_source; NULL: all.
void definitions_put(struct json_writer *w, const struct definitions *r, bool (*serves)(const void *ctx, str tool),
                     const void *ctx);

// From an object with these members. NULL: it is not complete.
struct definitions *definitions_read(const struct json *v);

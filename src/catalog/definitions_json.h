// SPDX-License-Identifier: Apache-2.0
// Definitions as JSON: for the definition cache, and for commands that read the catalog of a running gateway.
#pragma once
#include "catalog/definitions.h"
#include "json/write.h"

// Writes the members "origin" and "lists" of an object that the caller has begun. Each list has the form of its
// method's result. serves: the tools to write, as in struct catalog_source; NULL: all.
void definitions_put(struct json_writer *w, const struct definitions *r, bool (*serves)(const void *ctx, str tool),
                     const void *ctx);

// Reads an object with these members. NULL if it is incomplete.
struct definitions *definitions_read(const struct json *v);

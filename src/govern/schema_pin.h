// SPDX-License-Identifier: Apache-2.0
// Pins of schemas: "sha256:" and the hexadecimal SHA-256 of the schema's canonical form (RFC 8785).
#pragma once
#include "json/json.h"

enum { SCHEMA_PIN_SIZE = 7 + 64 + 1 };  // bytes of a pin, with the terminating NUL

// Writes the pin of a schema. Returns false if there is no schema (NULL or null), if it has no canonical form, or if
// its canonical form is larger than 1 MiB.
bool schema_pin(const struct json *schema, char out[SCHEMA_PIN_SIZE]);

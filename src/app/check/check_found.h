// SPDX-License-Identifier: Apache-2.0
// The output of `toolgate check --connect` for one server: time to start, definitions, problems.
#pragma once
#include "app/gateway_client/inventory.h"

void check_print_found(struct buf *out, const struct inventory *found, str server);
// Writes the result for one server as members of the current JSON object.
void check_write_found(struct json_writer *w, const struct inventory *found, str server);

// SPDX-License-Identifier: Apache-2.0
// The part of `toolgate check --connect` about one server that it started: time to start, definitions, problems.
#pragma once
#include "app/gateway_client/inventory.h"

void check_print_found(struct buf *out, const struct inventory *found, str server);
// Members of an object.
void check_write_found(struct json_writer *w, const struct inventory *found, str server);

// SPDX-License-Identifier: Apache-2.0
// What `toolgate check --connect` says of a server that it started: how long that took, what it offers, what is wrong.
#pragma once
#include "app/gateway_client/inventory.h"

void check_print_found(struct buf *out, const struct inventory *found, str server);
// Members of an object.
void check_write_found(struct json_writer *w, const struct inventory *found, str server);

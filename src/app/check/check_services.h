// SPDX-License-Identifier: Apache-2.0
// The output of `toolgate check` for the token issuer, the audit log, the admin listener and traces, if they are
// configured. Never prints secrets.
#pragma once
#include "app/config/config.h"
#include "json/write.h"

void check_print_services(struct buf *out, const struct config *c);        // writes one line of text for each service
void check_write_services(struct json_writer *w, const struct config *c);  // writes one JSON member for each service

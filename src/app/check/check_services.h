// SPDX-License-Identifier: Apache-2.0
// The part of `toolgate check` about the token issuer, the audit log, the admin address and traces, if they are
// configured. Secrets are not shown.
#pragma once
#include "app/config/config.h"
#include "json/write.h"

void check_print_services(struct buf *out, const struct config *c);        // a line for each
void check_write_services(struct json_writer *w, const struct config *c);  // members of an object

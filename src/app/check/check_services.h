// SPDX-License-Identifier: Apache-2.0
// What `toolgate check` says of an issuer of tokens, the audit log, the address for readiness and metrics, and traces:
// those that are configured, without anything secret.
#pragma once
#include "app/config/config.h"
#include "json/write.h"

void check_print_services(struct buf *out, const struct config *c);        // a line for each
void check_write_services(struct json_writer *w, const struct config *c);  // members of an object

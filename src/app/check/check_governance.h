// SPDX-License-Identifier: Apache-2.0
// The output of `toolgate check` for the access rules and the governance file.
#pragma once
#include "app/config/config.h"
#include "json/write.h"

void check_print_governance(struct buf *out, const struct config *c);
void check_write_governance(struct json_writer *w, const struct config *c);

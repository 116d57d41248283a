// SPDX-License-Identifier: Apache-2.0
// Direct mode: lists every tool, resource and prompt of every upstream with the full definition, and forwards all
// methods of the protocol in both directions.
#pragma once
#include "mcp/server/session.h"

struct surface;

void direct_describe(struct surface *d, struct session *s, struct json_writer *w);
void direct_request(struct surface *d, struct request *r);

// SPDX-License-Identifier: Apache-2.0
// Arguments that a tool wants repeated in HTTP headers. A stateless client's are compared with the call; a stateless
// server on HTTP gets those that its tool wants.
#pragma once
#include "call/pipeline.h"

// What an upstream on HTTP wants repeated in headers; sets c->link's. False: more than headers can hold.
bool call_set_headers(struct call *c);

// SPDX-License-Identifier: Apache-2.0
// A TCP socket that accepts connections.
#pragma once
#include "base/fault.h"
#include "io/loop.h"

bool listener_is_address(str host);  // can it be listened on: a numeric address or "localhost"?

// Binds and listens; on_connection gets the handle with `data` set. Port 0 takes a free port; *out_port is the port it
// has. NULL: f says why.
uv_tcp_t *listener_open(struct loop *l, str host, uint16_t port, uv_connection_cb on_connection, void *data,
                        uint16_t *out_port, struct fault *f);
void listener_close(uv_tcp_t **listener);

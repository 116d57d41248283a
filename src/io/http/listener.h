// SPDX-License-Identifier: Apache-2.0
// A TCP socket that accepts connections.
#pragma once
#include "base/fault.h"
#include "io/loop.h"

bool listener_is_address(str host);  // returns whether listener_open accepts `host`: a numeric address or "localhost"

// Binds and listens. on_connection gets the handle, with its `data` set. If port is 0, the system chooses a free port.
// *out_port is the port in use. Returns NULL on failure, with a reason in f.
uv_tcp_t *listener_open(struct loop *l, str host, uint16_t port, uv_connection_cb on_connection, void *data,
                        uint16_t *out_port, struct fault *f);
void listener_close(uv_tcp_t **listener);

// SPDX-License-Identifier: Apache-2.0
// The kind for HTTP+SSE, the transport of revision 2024-11-05.
#include "upstream/kinds/kind_http.h"
#include "upstream/upstream_impl.h"

static struct link *open_link(struct upstream *u, const struct link_options *opt, const struct link_events *ev,
                              void *ctx) {
  return link_new_sse(opt, u->origin, &u->url, u->headers, ev, ctx);
}

const struct upstream_kind upstream_sse = {
    .name = "sse",
    .status = "sse",
    .brief = "http",
    .words = {"sse"},
    .place = "url",
    .keys = {"headers", "isolation", "protocol"},
    .remote = true,
    .kept = true,
    .handshake = true,
    .names = kind_http_names,
    .public_place = kind_http_public_place,
    .redact = kind_http_redact,
    .prepare = kind_http_prepare,
    .open = open_link,
};

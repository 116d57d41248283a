// SPDX-License-Identifier: Apache-2.0
// Pages for whoever watches the gateway: /healthz (the process answers), /readyz (it can be used, and how its servers
// are), /metrics (Prometheus).
//
// They tell of all servers, whoever may use them. So they are whole only where nobody else reads them: at an address of
// their own (admin.listen), or at the endpoint when everybody there may use everything. At any other endpoint /readyz
// tells numbers without names, and /metrics is not there.
#pragma once
#include "app/gateway.h"
#include "app/rejections.h"
#include "io/http_server.h"
#include "mcp/access.h"

struct pages {
  struct gateway *gateway;
  struct buf text;           // being written
  const bool *draining;      // the gateway is about to stop
  struct http_server *http;  // at their own address; NULL: they have none
  const struct config *config;
  struct rejections *rejections;
  bool guarded;  // the endpoint asks for credentials
  str host;      // of that address, as Host has it
};

void pages_init(struct pages *p, struct gateway *g, const bool *draining, struct rejections *rejections);
void pages_done(struct pages *p);

// At the endpoint. False: it is none of these pages.
bool pages_answer(void *pages, struct http_exchange *x);

// At the address of their own that the configuration names, if it does. On stdio one that cannot be had is a warning.
bool pages_listen(struct pages *p, struct fault *f);

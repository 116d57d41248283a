// SPDX-License-Identifier: Apache-2.0
// Everything between clients and servers, put together from a configuration: loop, child processes, sessions, surface,
// upstreams. It does not connect clients: `serve` opens a front, the other commands a loopback.
#pragma once
#include "app/config/config.h"
#include "io/http/proxy.h"
#include "io/process/child.h"
#include "mcp/gateway_chain.h"
#include "surface/surface.h"

struct gateway {
  uint32_t magic;
  const struct config *config;
  struct log log;
  struct arena names;
  struct proxies proxies;
  struct loop loop;
  struct child_host *children;
  struct store *store;
  struct recorder *recorder;              // NULL: calls are not written down
  struct audit_recorder *audit_recorder;  // NULL: there is no audit log
  struct metrics *metrics;
  struct tracer *tracer;   // NULL: nobody collects spans
  struct tracer *records;  // NULL: nobody collects log records
  struct rulebook rules;
  struct chain chain;  // gateways upstream of this one's clients, for loop detection
  struct reload_status reload;
  struct surface *surface;
  struct mcp_server server;
  struct upstreams *upstreams;
  unsigned ending;  // of what ends last: how much has not yet
  void (*stopped)(void *ctx);
  void *ctx;
};

// Returns the owner of results that are stored for clients without a credential. Agents that share a folder have
// different names.
str gateway_local(const struct config *c, struct arena *a);

// Starts no upstream yet. Config and environment must outlive it, and it must not move. False: f says why; it is to be
// stopped and done with all the same.
bool gateway_init(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                  struct fault *f);

// The same with another clock and another source of randomness, for tests. Both must outlive the gateway. The clock is
// also read by the thread that writes to the store.
bool gateway_init_with(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                       const struct clock *clock, const struct rand_source *rand, struct fault *f);

// Takes over the parts of another configuration that can change at run time: servers, rules, log level and, if no audit
// log is open yet, the audit log. Writes a line about it to `told`. Keeps no pointers to c. False: nothing changed, and
// f says why.
bool gateway_take(struct gateway *g, const struct config *c, char *told, size_t size, struct fault *f);

// Every session must be closed before. `stopped` is called once the upstreams are, everything that is to last is
// written, and the collector has the last spans or had two seconds for them; the loop then runs out, unless others have
// something on it.
void gateway_stop(struct gateway *g, void (*stopped)(void *ctx), void *ctx);

// Once it was stopped and the loop has run out: waits for the child processes to end, gives everything back.
void gateway_done(struct gateway *g);

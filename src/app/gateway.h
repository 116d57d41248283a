// SPDX-License-Identifier: Apache-2.0
// The gateway as a whole: creates the loop, child processes, sessions, surface and upstreams from a configuration. It
// does not connect clients: `serve` opens listeners, and other commands use a client in the same process.
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
  struct recorder *recorder;              // NULL if calls are not recorded
  struct audit_recorder *audit_recorder;  // NULL if there is no audit log
  struct gateway_key *key;                // signs heads of the audit log; NULL until it is needed
  struct journal *journal;                // records of governed calls; NULL without state_dir
  struct metrics *metrics;
  struct tracer *tracer;   // sends spans; NULL if there is no collector
  struct tracer *records;  // sends log records; NULL if there is no collector
  struct rulebook rules;
  struct pins *pins;                            // NULL until a governance file switches pins on
  struct approvals *approvals;                  // NULL until there is a governance file
  struct approvals_listener approval_listener;  // writes changes to the audit log
  struct chain chain;                           // the chain of gateways that started this gateway, for loop detection
  struct reload_status reload;
  struct surface *surface;
  struct mcp_server server;
  struct upstreams *upstreams;
  unsigned ending;  // number of parts that are still to be closed while the gateway stops
  void (*stopped)(void *ctx);
  void *ctx;
};

// Returns the name under which results are stored for clients without a credential. The name contains the agent, so
// that agents with the same state folder do not see each other's results.
str gateway_local(const struct config *c, struct arena *a);

// Creates the gateway; starts no upstream yet. `c` and `env` must outlive the gateway, and *g must not move. On failure
// returns false with the reason in `f`; gateway_stop and gateway_done must be called in any case.
bool gateway_init(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                  struct fault *f);

// Like gateway_init, with another clock and another source of randomness, for tests. Both must outlive the gateway. The
// clock must be thread-safe, because the thread that writes to the store reads it.
bool gateway_init_with(struct gateway *g, const struct config *c, const struct guard *guard, char *const *env,
                       const struct clock *clock, const struct rand_source *rand, struct fault *f);

// Takes over the parts of another configuration that can change at run time: servers, rules, log level and, if no audit
// log is open yet, the audit log. Writes a summary of the changes to `told`. Keeps no pointers to `c`. Returns false,
// with the reason in `f`, if nothing was changed.
bool gateway_take(struct gateway *g, const struct config *c, char *told, size_t size, struct fault *f);

// Accepts the current definitions of the chosen tools (catalog/pins/pins.h), and lets clients see these tools. Writes
// the accepted pins to `w` and returns their number.
size_t gateway_accept_pins(struct gateway *g, const struct pins_choice *which, struct json_writer *w);

// Stops the gateway. Every session must already be closed. Calls `stopped` after the upstreams are stopped, all durable
// data is written, and the last spans are sent or two seconds have passed. Then the loop ends, unless the caller has
// other handles on it.
void gateway_stop(struct gateway *g, void (*stopped)(void *ctx), void *ctx);

// Waits for the child processes to end, and frees everything. Must be called after gateway_stop and the end of the
// loop.
void gateway_done(struct gateway *g);

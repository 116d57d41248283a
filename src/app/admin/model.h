// SPDX-License-Identifier: Apache-2.0
// The state of a running gateway, read only: servers, sessions, calls in flight, queues, rules. Metrics, the admin
// pages and the control socket (app/control.h) get this state from here.
#pragma once
#include "app/gateway.h"
#include "upstream/lane/upstream_status.h"

struct model {
  struct gateway *gateway;
  const bool *draining;  // true while the gateway finishes calls in flight before it stops
  str url;               // URL at which clients connect; empty if they use stdio
  int64_t since;         // time when the gateway started: wall clock in milliseconds
};

struct model_totals {
  size_t servers;    // configured servers
  size_t usable;     // servers that are ready, or start at the first call
  size_t sessions;   // sessions of clients
  size_t in_flight;  // number of calls in flight at servers
  size_t queued;     // calls that wait for their turn at a server
};

struct model_totals model_totals(const struct gateway *g);

// Iterates over the configured servers. *at must be 0 before the first call. Returns false at the end.
bool model_next_server(const struct gateway *g, unsigned *at, struct upstream_status *out);

// Returns whether clients can be served. Sets *out_unaudited to NULL or, if a required audit log cannot be written, to
// the reason. The reason contains file names.
bool model_is_ready(const struct model *m, const struct model_totals *t, const char **out_unaudited);

// Writes a member with text from or about a server, with secrets of its configuration masked. Writes nothing if `words`
// is empty.
void model_put_words(struct json_writer *w, str key, const char *words, const struct upstream_spec *spec);

// If the current configuration files are invalid and the gateway uses an older configuration, writes the member "stale"
// with the reason.
void model_put_stale(const struct gateway *g, struct json_writer *w);

// Writes the state as an object. If `whole` is set, includes file names, clients, process ids, the current time and
// text that servers printed: these are only for the user who runs the gateway.
void model_put_status(const struct model *m, bool whole, struct json_writer *w);

// Writes the lines that a server wrote to stderr. params: {"server", "after"?, "lines"?}. Returns false, with the
// reason in `f`, if `params` is invalid.
bool model_put_logs(const struct gateway *g, const struct json *params, struct json_writer *w, struct fault *f);

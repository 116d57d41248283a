// SPDX-License-Identifier: Apache-2.0
// The state of a running gateway, read only: servers, sessions, calls in flight, queues, rules. Metrics, the admin
// pages and the commands that ask a running gateway (app/control.h) all read it here.
#pragma once
#include "app/gateway.h"
#include "upstream/lane/upstream_status.h"

struct model {
  struct gateway *gateway;
  const bool *draining;  // the gateway finishes the calls under way and stops
  str url;               // where clients connect; empty: stdio
  int64_t since;         // wall clock in milliseconds when the gateway started
};

struct model_totals {
  size_t servers;    // configured
  size_t usable;     // ready, or started at the first call
  size_t sessions;   // of clients
  size_t in_flight;  // calls under way at servers
  size_t queued;     // calls that wait for their turn at a server
};

struct model_totals model_totals(const struct gateway *g);

// Iterates over the configured servers: *at is 0 before the first call. False: there are no more.
bool model_next_server(const struct gateway *g, unsigned *at, struct upstream_status *out);

// Whether clients can be served. *out_unaudited: why a required audit log cannot be written, or NULL. The reason names
// files.
bool model_is_ready(const struct model *m, const struct model_totals *t, const char **out_unaudited);

// A member with words of a server or about it, without the secrets of its configuration. Writes nothing if
// `words` is empty.
void model_put_words(struct json_writer *w, str key, const char *words, const struct upstream_spec *spec);

// The member "stale" of an object: why the files of the configuration, as they are now, are not in force.
void model_put_stale(const struct gateway *g, struct json_writer *w);

// The whole state as an object. whole: with files, clients, process ids, times that pass and the words that servers
// printed, for the user who runs the gateway.
void model_put_status(const struct model *m, bool whole, struct json_writer *w);

// The lines that a server wrote to stderr: params {"server", "after"?, "lines"?}. False: f says what is wrong with
// params.
bool model_put_logs(const struct gateway *g, const struct json *params, struct json_writer *w, struct fault *f);

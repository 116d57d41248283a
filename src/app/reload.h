// SPDX-License-Identifier: Apache-2.0
// Reloads the files of the configuration while the gateway runs: when one of them changes (`reload: watch`), on SIGHUP,
// and on POST /reload.
//
// A reload reads and checks the whole configuration, as at the start. If there is an error, nothing changes. Otherwise
// all changes that a running gateway supports are applied together, in one turn of the loop; the log names the changed
// keys that need a restart. An invalid server entry is an error, unless the server was already left out before. A
// missing rules file or configuration file is also an error.
//
// Revoked tokens are an exception: they are refused even if the reload fails.
//
// The watched files are those of the configuration in force and, if the last attempt failed, those of the attempt.
//
// The result is in the gateway's reload_status.
#pragma once
#include "app/gateway.h"

struct reload;

struct reload_options {
  struct gateway *gateway;
  const struct config_options *said;      // the command line
  const struct config_problems *started;  // problems that were found in the configuration when the gateway started
  char *const *env;
  // Two callbacks for parts of the configuration that the caller owns; set both or neither. `prepare` creates these
  // parts from `next` without applying them; `before` is the configuration in force. If `prepare` returns false, with
  // the reason in `f`, nothing changes. If it returns true, `settle` is called in the same turn of the loop. `settle`
  // must apply the prepared parts if `taken` is true, and free them otherwise. The callbacks must not keep pointers to
  // a configuration.
  bool (*prepare)(void *ctx, const struct config *before, const struct config *next, struct fault *f);
  void (*settle)(void *ctx, bool taken);
  // Called when a configuration is rejected: must revoke the tokens that `valid` does not contain, and return their
  // number. May be NULL.
  size_t (*revoke)(void *ctx, const struct config *valid);
  void *ctx;
};

// Starts watching the files. All pointers in `opt` must outlive the result.
struct reload *reload_new(const struct reload_options *opt);
void reload_free(struct reload **r);

void reload_now(struct reload *r);  // reloads the whole configuration

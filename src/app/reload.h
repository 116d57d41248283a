// SPDX-License-Identifier: Apache-2.0
// Reads the files of the configuration again while the gateway runs: when one of them changes (`reload: watch`), on
// SIGHUP, and on POST /reload.
//
// Everything is read and checked aside, as at the start. If anything is wrong, nothing changes. If all is well, what a
// running gateway can take over is taken over as a whole, in one turn of the loop; keys that count from the next start
// on only are named in the log. A server whose entry is wrong is a reason to change nothing, unless it was left out
// before too. Rules are replaced, never lost: a rules file that is gone is a mistake, as is a configuration file.
//
// Revoked tokens are the exception: they are refused even if nothing else can be taken over.
//
// The watched files are those of the configuration in force and, if the last attempt failed, those of the attempt.
//
// The result is in the gateway's reload_status.
#pragma once
#include "app/gateway.h"

struct reload;

struct reload_options {
  struct gateway *gateway;
  const struct config_options *said;      // on the command line
  const struct config_problems *started;  // what was said of the configuration that the gateway has
  char *const *env;
  // `prepare` makes the caller's parts of the new configuration ready, without effect; `before` is the one in force.
  // False: f says why, and nothing changes. After it returned true, `settle` is called in the same turn: the prepared
  // parts take effect, or are given up. Neither keeps pointers to a configuration. Both are set, or both are NULL.
  bool (*prepare)(void *ctx, const struct config *before, const struct config *next, struct fault *f);
  void (*settle)(void *ctx, bool taken);
  // When a configuration cannot be taken over: refuses the tokens that `valid` does not have, and returns their number.
  // May be NULL.
  size_t (*revoke)(void *ctx, const struct config *valid);
  void *ctx;
};

// All of it must outlive this.
struct reload *reload_new(const struct reload_options *opt);
void reload_free(struct reload **r);

void reload_now(struct reload *r);  // reads everything again

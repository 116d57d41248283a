// SPDX-License-Identifier: Apache-2.0
// Joins a governance file with the adapters that are elsewhere: in the files that its list `manifests` names, each of
// which has one adapter, and in the members `adapter` of servers in the configuration file.
#pragma once
#include "app/config/config_load.h"

struct manifest {
  str path;
  str pointer;  // place of its adapter in the joined file: /manifests/NAME
};

struct manifests {
  struct manifest *list;
  size_t count;
  str servers;  // the configuration file, whose adapters are at /servers/NAME/adapter in the joined file, too
};

// Returns the governance file `d` with the contents of its manifests: its member `manifests`, a list of paths and
// patterns, becomes an object that maps names of files to adapters. Adds the member `servers` with the adapters of
// `config`, the configuration file, which may be NULL. `d` may also be a single manifest, which has the member
// `adapter_id`. The result is `d->root` or in l->work. If an adapter cannot be read, reports the problem and returns
// NULL.
const struct json *config_manifests_join(struct config_loader *l, const struct config_document *d,
                                         const struct config_document *config, struct manifests *out);

// Converts a pointer into the joined file to the place that it came from: in a manifest, in the configuration file, or
// in the governance file `file`.
struct config_place config_manifests_place(const struct manifests *m, str file, str pointer);

// Returns the adapter of a server in the configuration file, or NULL.
const struct json *config_server_adapter(const struct json *server);

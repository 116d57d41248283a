// SPDX-License-Identifier: Apache-2.0
// Joins a governance file with the files that its list `manifests` names. Each of these files has one adapter.
#pragma once
#include "app/config/config_load.h"

struct manifest {
  str path;
  str pointer;  // place of its adapter in the joined file: /manifests/NAME
};

struct manifests {
  struct manifest *list;
  size_t count;
};

// Returns the governance file with the contents of its manifests: its member `manifests`, a list of paths and patterns,
// becomes an object that maps names of files to adapters. `d` may also be a single manifest, which has the member
// `adapter_id`. The result is `d->root` or in l->work. If a file cannot be read, reports the problem and returns NULL.
const struct json *config_manifests_join(struct config_loader *l, const struct config_document *d,
                                         struct manifests *out);

// Converts a pointer into the joined file to the place that it came from: in a manifest, or in the governance file
// `file`.
struct config_place config_manifests_place(const struct manifests *m, str file, str pointer);

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

// Returns the governance file with the contents of its manifests: the member `manifests`, a list of paths and patterns,
// becomes an object with the adapters by the names of their files. The result is `d->root` or in l->work. If a file
// cannot be read, reports the problem and returns NULL. A file with the member `adapter_id` is a manifest itself.
const struct json *config_manifests_join(struct config_loader *l, const struct config_document *d,
                                         struct manifests *out);

// Returns the place of a pointer into the joined file: a manifest, or the governance file `file`.
struct config_place config_manifests_place(const struct manifests *m, str file, str pointer);

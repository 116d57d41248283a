// SPDX-License-Identifier: Apache-2.0
// Data for tests. What every test needs is in tests/data or in a package of tests/e2e; larger data may lie beside the
// repository, in ../shared or in the folder that TOOLGATE_SHARED names, and adds tests. A test program includes this
// file if and only if it reads such data: tests/run.py --without-data runs those programs without it.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CATALOGS_IN_TREE "tests/data/catalogs"
#define CATALOGS_BESIDE "data/catalogs"

enum { BESIDE_PATH_MAX = 4096 };

// The path of a file or folder beside the repository, whether it exists or not.
static inline const char *beside(const char *path, char out[BESIDE_PATH_MAX]) {
  const char *shared = getenv("TOOLGATE_SHARED");
  snprintf(out, BESIDE_PATH_MAX, "%s/%s", shared ? shared : "../shared", path);
  return out;
}

// The same, or `packaged` (an installed package) where there is nothing beside the repository.
static inline const char *beside_or(const char *path, const char *packaged, char out[BESIDE_PATH_MAX]) {
  if (access(beside(path, out), R_OK) != 0) snprintf(out, BESIDE_PATH_MAX, "%s", packaged);
  return out;
}

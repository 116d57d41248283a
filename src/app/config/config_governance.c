// SPDX-License-Identifier: Apache-2.0
// The governance file, YAML or JSON. Only commands read it.
#include "app/config/config_load.h"
#include "govern/govern.h"

struct governance_reading {
  struct config_loader *loader;
  str file;
};

static void on_problem(void *ctx, str pointer, const char *message) {
  struct governance_reading *r = ctx;
  config_error(r->loader, &(struct config_place){r->file, pointer}, "%s", message);
}

struct governance *config_load_governance(const char *path, str named_by, struct config_problems *problems) {
  struct config_loader l = {.problems = problems, .max_file = GOVERNANCE_BYTES_MAX};
  struct config_document d;
  struct governance *g = NULL;
  arena_init(&l.work);
  if (config_document_open(&l, str_of(path), named_by, &d)) {
    g = governance_read(d.root, on_problem, &(struct governance_reading){&l, d.file});
    config_document_done(&d);
  }
  arena_done(&l.work);
  return g;
}

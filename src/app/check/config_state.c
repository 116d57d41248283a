// SPDX-License-Identifier: Apache-2.0
// Checks whether state_dir can be read and written. Only used by `check`: `serve` reports a failure and keeps its state
// in memory.
#include <unistd.h>

#include "app/config/config_load.h"
#include "store/store.h"

static void on_closed(void *ctx) {
}

void config_state_check(struct config_loader *l) {
  const struct config *c = l->config;
  ASSERT(l->opt->strict);
  struct log silent = {STDERR_FILENO, LOG_OFF, &clock_system};
  struct store_options opt = {
      .log = &silent, .clock = &clock_system, .rand = &rand_system, .folder = c->state_dir, .limits = c->kept};
  struct config_place at = {c->config_file.n ? c->config_file : STR("configuration"), STR("/state_dir")};
  struct store *store = store_new(&opt);
  struct fault f;
  if (!store_usable(store, &f) || !store_probe(store, &f))
    config_warn(l, &at, "%s; results, the archive and definitions of servers will be lost when the process ends",
                f.message);
  store_close(&store, on_closed, NULL);
}

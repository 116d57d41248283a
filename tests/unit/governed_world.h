// SPDX-License-Identifier: Apache-2.0
// A world (gateway_world.h) with a governance file.
#pragma once
#include "gateway_world.h"

// What the file says about idempotency keys, unless a test that includes this header says it: so that calls of class
// act need none.
#ifndef GOVERNED_KEYS
#define GOVERNED_KEYS ",'idempotency':{'mint':'request'}"
#endif

static inline void write_governance(struct world *w, const char *members) {
  str text = arena_printf(&w->arena, "{%.*s%.*s}", STR_ARG(quoted(w, members)), STR_ARG(quoted(w, GOVERNED_KEYS)));
  write_file("governance.json", arena_cstr(&w->arena, text));
}

static inline void governed_by(struct world *w, const char *members) {
  given(w, "governance: governance.json\naudit: {enabled: false}\n");
  write_governance(w, members);
}

// The gateway loads the file again. Returns whether the new file is in force.
static inline bool is_governed_anew_by(struct world *w, const char *members) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  char told[256];
  struct config next = {0};
  struct config_options options = w->place->options;
  struct fault f;
  write_governance(w, members);
  options.before = w->gateway.config;
  config_problems_done(&w->place->problems);  // those of an earlier attempt
  bool ok = config_load(&next, &options, env, &w->place->problems);
  if (ok) {
    put_scripts(w, &next);
    ok = gateway_take(&w->gateway, &next, told, sizeof told, &f);
  }
  config_done(&next);
  turn(w);
  return ok;
}

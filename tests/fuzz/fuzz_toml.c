// SPDX-License-Identifier: Apache-2.0
// TOML of a client's file. What is read is JSON; its lines lie one after the other, and a file without some is TOML.
#include "base/assert.h"
#include "json/edit/toml.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_BYTES = 1 << 14 };

// Whole tables with all their lines go, so that no other line loses its table.
static bool drops(void *ctx, const struct toml_part *part) {
  return str_eq(part->keys[0], STR("mcp_servers"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct toml t, rest;
  struct fault f = {0};
  str text = {(const char *)data, n};
  if (n > INPUT_BYTES) return 0;
  arena_init(&a);
  if (!toml_read(&a, text, &t, &f)) {
    ASSERT(f.code && f.message[0] && str_starts(str_of(f.path), STR("line ")));
  } else {
    const struct json *root = json_parse(&a, t.json, &json_default_limits, &f);
    ASSERT(json_is(root, JSON_OBJECT));
    for (size_t i = 0; i < t.count; i++)
      ASSERT(t.parts[i].from < t.parts[i].to && t.parts[i].to <= n && (!i || t.parts[i - 1].to <= t.parts[i].from));
    ASSERT(toml_read(&a, toml_without(&a, text, &t, drops, NULL), &rest, &f));
    root = json_parse(&a, rest.json, &json_default_limits, &f);
    ASSERT(root && !json_get(root, STR("mcp_servers")));
  }
  arena_done(&a);
  return 0;
}

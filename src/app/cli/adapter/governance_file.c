// SPDX-License-Identifier: Apache-2.0
#include "app/cli/adapter/governance_file.h"

#include "app/config/yaml.h"
#include "base/buf.h"
#include "json/edit/relaxed.h"

static const struct json *parse(str text, bool yaml, struct buf *json, struct arena *a, struct fault *f) {
  static const struct json_limits limits = {GOVERNANCE_BYTES_MAX, GOVERNANCE_DEPTH_MAX, 1 << 20};
  if (yaml) {
    if (!yaml_to_json(text, json, f)) return NULL;
  } else {
    buf_str(json, text);
    if (!json->over) json_relax(json->p, json->n);
  }
  if (!json->over) return json_parse(a, buf_view(json), &limits, f);
  fault_set(f, FAULT_LIMIT, "the governance file is larger than %d bytes", GOVERNANCE_BYTES_MAX);
  return NULL;
}

// Returns a governance file that contains only this adapter.
static str alone(struct arena *a, const struct json *adapter) {
  return arena_printf(a, "{\"adapters\":[%.*s]}", STR_ARG(json_span(adapter)));
}

struct governance *governance_file_read(str text, bool yaml, governance_problem *problem, void *ctx) {
  struct governance *g = NULL;
  struct fault f = {0};
  struct arena a;
  struct buf json;
  arena_init(&a);
  buf_init(&json, GOVERNANCE_BYTES_MAX);
  const struct json *root = parse(text, yaml, &json, &a, &f);
  if (json_get(root, STR("adapter_id"))) root = json_parse(&a, alone(&a, root), &json_default_limits, &f);
  if (root) g = governance_read(root, problem, ctx);
  else problem(ctx, STR(""), arena_printf(&a, "%s%s%s", f.path, *f.path ? ": " : "", f.message).p);
  buf_done(&json);
  arena_done(&a);
  return g;
}

// SPDX-License-Identifier: Apache-2.0
// A world (gateway_world.h) with a governance file and durable records.
#pragma once
#include "gateway_world.h"

#include "observe/journal.h"
#include "schema/schema.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'destructive'}]}]"
#define PERMISSIONS \
  "'permissions':[" \
  "{'permission_id':'p_find','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p_order','adapter_id':'adp_shop','capability':'order','allow':true,'roles':['buyer']," \
  "'arg_constraints':{'amount':{'required':true,'max':100}}}]"
#define BUNDLES \
  "'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" \
  "{'rule_id':'R_SMALL','if':{'<=':[{'var':'args.amount'},50]},'then':{'allow':true,'approval_mode':'network'}}," \
  "{'rule_id':'R_LARGE','if':{'>':[{'var':'args.amount'},50]},'then':{'allow':true," \
  "'requires_approval_gate':'GATE_LEAD'}}]}," \
  "'approval_gates':[{'gate_id':'GATE_LEAD','required_approver_role':'lead'}]}]"
#define CONTEXT "'context':{'defaults':{'tenant':'acme'},'agents':{'ann':{'role':'buyer'},'bob':{'tenant':'globex'}}}"
#define RULES ADAPTERS "," PERMISSIONS "," BUNDLES "," CONTEXT

static inline struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','description':'Order goods.','inputSchema':{'type':'object',"
              "'properties':{'idempotency_key':{}}}}");
  return s;
}

// A gateway with durable state and this governance file.
static inline void governed_by(struct world *w, const char *members) {
  str text = quoted(w, arena_printf(&w->arena, "{%s,'idempotency':{'mint':'request'}}", members).p);
  buf_reset(&w->yaml);
  given(w, "state_dir: state\nlog: {level: \"off\"}\ngovernance: governance.json\naudit: {enabled: false}\n");
  write_file("governance.json", arena_cstr(&w->arena, text));
}

struct lines {
  struct world *w;
  const struct json *list[64];
  size_t count;
};

static inline bool on_line(void *ctx, str line) {
  struct lines *l = ctx;
  struct fault f;
  const struct json *v = json_parse(&l->w->arena, arena_str(&l->w->arena, line), &json_default_limits, &f);
  assert_non_null(v);
  assert_true(l->count < sizeof l->list / sizeof *l->list);
  l->list[l->count++] = v;
  return true;
}

// Waits until the records are written, and returns those of one kind.
static inline struct lines records(struct world *w, const char *kind) {
  struct lines all = {.w = w}, of_kind = {.w = w};
  struct fault f;
  for (int i = 0; i < 3; i++) {
    pass(w, 20);
    while (w->gateway.loop.uv.active_reqs.count) turn(w);
  }
  assert_true(journal_read(STR("state/records"), 0, on_line, &all, &f));
  for (size_t i = 0; i < all.count; i++)
    if (str_eq(member(w, all.list[i], "record"), str_of(kind))) of_kind.list[of_kind.count++] = all.list[i];
  return of_kind;
}

static inline void expect_member(struct world *w, const struct json *record, const char *path, const char *value) {
  str found = member(w, record, path);
  if (!str_eq(found, quoted(w, value))) fail_msg("%s is %.*s, not %s", path, STR_ARG(found), value);
}

// ---- envelopes

static inline struct schema *schema_of(struct world *w, const char *name) {
  char path[PATH_MAX], *text = malloc(65536);
  struct fault f;
  snprintf(path, sizeof path, "data/schemas/%s.json", name);
  int fd = openat(w->place->origin, path, O_RDONLY | O_CLOEXEC);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
  assert_non_null(file);
  size_t n = fread(text, 1, 65536, file);
  fclose(file);
  const struct json *root = json_parse(&w->arena, arena_str(&w->arena, (str){text, n}), &json_default_limits, &f);
  struct schema_options options = schema_default_options;
  options.assert_formats = true;
  struct schema *s = schema_compile(root, &options, &f);
  assert_non_null(s);
  free(text);
  return s;
}

static inline void expect_valid(struct world *w, const char *schema, const struct json *v) {
  struct schema_result r;
  struct fault f;
  struct schema *s = schema_of(w, schema);
  assert_non_null(v);
  // Validation needs a value that was parsed alone.
  const struct json *alone = json_parse(&w->arena, arena_str(&w->arena, json_span(v)), &json_default_limits, &f);
  if (!schema_validate(s, alone, &w->arena, &r))
    fail_msg("%.*s %.*s: %.*s", STR_ARG(r.errors[0].instance), STR_ARG(r.errors[0].message), STR_ARG(json_span(v)));
  schema_free(&s);
}

static inline void expect_envelopes(struct world *w, const struct json *both) {
  expect_valid(w, "contextos.tool_call.v1", json_get(both, STR("call")));
  expect_valid(w, "contextos.tool_result.v1", json_get(both, STR("result")));
}

static inline const struct json *part(const struct json *v, const char *path) {
  str rest = str_of(path), name;
  for (bool more = true; more && v;) {
    more = str_cut(rest, '.', &name, &rest);
    v = json_get(v, name);
  }
  return v;
}

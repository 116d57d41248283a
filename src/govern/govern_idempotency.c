// SPDX-License-Identifier: Apache-2.0
// Reads and applies the members `idempotency` and `reconcile` of a governance file.
#include "base/assert.h"
#include "govern/govern_impl.h"
#include "govern/template.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { KEEP_S = 24 * 3600, WORK_STEPS = 100000, WORK_BYTES = 4 << 20, DATA_MAX = 2 << 20 };

// ---- idempotency

void governance_read_idempotency(struct governance_reader *r, str pointer, const struct json *v) {
  static const char *const mints[] = {"never", "request", NULL};  // in the order of enum idempotency_mint
#define AT(member) offsetof(struct governance_idempotency, member)
  static const struct governance_field fields[] = {
      {"mint", governance_choice, AT(mint), false, mints},
      {"keep_s", governance_count, AT(keep_s), false, NULL},
  };
#undef AT
  struct governance_idempotency *out = &r->governance->idempotency;
  *out = (struct governance_idempotency){.mint = MINT_NEVER, .keep_s = KEEP_S};
  if (v) governance_read_members(r, pointer, v, fields, COUNT(fields), out);
}

const struct governance_idempotency *governance_idempotency(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return &g->idempotency;
}

// ---- reconcile

static void read_args(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  struct fault fault = {0};
  if (!json_is(v, JSON_OBJECT)) governance_report(r, pointer, "must be an object");
  else if (!template_check(v, r->arena, &fault))
    governance_report(r, arena_printf(r->arena, "%.*s%s", STR_ARG(pointer), fault.path), "%s", fault.message);
  else *(const struct json **)to = v;
}

void governance_read_reconcile(struct governance_reader *r, str pointer, const struct json *v,
                               const struct governance_field *f, void *to) {
#define AT(member) offsetof(struct governance_reconcile, member)
  static const struct governance_field fields[] = {
      {"capability", governance_id, AT(name), true, NULL},
      {"args", read_args, AT(args), false, NULL},
      {"done", governance_logic, AT(done), true, NULL},
  };
#undef AT
  struct governance_reconcile *out = to;
  out->pointer = pointer;
  governance_read_members(r, pointer, v, fields, COUNT(fields), out);
}

static void find_capability(struct governance_reader *r, struct governance_capability *c) {
  struct governance_reconcile *to = &c->reconcile;
  bool qualified = memchr(to->name.p, '.', to->name.n);
  str id = to->name;
  if (!qualified) id = arena_printf(r->arena, "%.*s.%.*s", STR_ARG(c->adapter->adapter_id), STR_ARG(to->name));
  to->capability = governance_find(r->governance, id);
  if (!to->capability) governance_report(r, to->pointer, "no adapter registers the capability \"%.*s\"", STR_ARG(id));
  else if (to->capability->class == CLASS_ACT)
    governance_report(r, to->pointer, "the capability \"%.*s\" has the class act: name one without effects",
                      STR_ARG(id));
  else if (!to->capability->adapter->server.p)
    governance_report(r, to->pointer, "the adapter of the capability \"%.*s\" has no server", STR_ARG(id));
}

void governance_settle_reconcile(struct governance_reader *r) {
  struct governance *g = r->governance;
  for (size_t i = 0; i < g->capability_count; i++)
    if (g->capabilities[i].reconcile.name.n) find_capability(r, &g->capabilities[i]);
}

// Returns {"args": …, "result": …} as a parsed object, or NULL if it is too large.
static const struct json *make_data(const struct json *args, str result, struct arena *a) {
  static const struct json_limits limits = {DATA_MAX, GOVERNANCE_DEPTH_MAX, 1 << 17};
  struct fault f;
  struct buf b;
  buf_init(&b, DATA_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_raw(&w, STR("args"), args ? json_span(args) : STR("{}"));
  if (result.p) json_member_raw(&w, STR("result"), result);
  json_end_object(&w);
  const struct json *data = b.over ? NULL : json_parse(a, arena_str(a, buf_view(&b)), &limits, &f);
  buf_done(&b);
  return data;
}

bool governance_reconcile_args(const struct governance_reconcile *r, const struct json *args, struct arena *a, str *out,
                               const char **out_why) {
  struct logic_budget budget = {WORK_STEPS, WORK_BYTES};
  struct buf b;
  *out = STR("{}");
  if (!r->args) return true;
  const struct json *data = make_data(args, STR_NONE, a);
  *out_why = "the arguments are too large";
  if (!data) return false;
  buf_init(&b, DATA_MAX);
  struct json_writer w = json_writer(&b);
  bool ok = template_put(r->args, data, a, &budget, &w, out_why) && !b.over;
  if (ok) *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return ok;
}

enum reconciled governance_reconcile(const struct governance_reconcile *r, const struct json *args, str result,
                                     struct arena *a, const char **out_why) {
  struct logic_budget budget = {WORK_STEPS, WORK_BYTES};
  const struct json *data = make_data(args, result, a);
  *out_why = "the result is too large";
  if (!data) return RECONCILED_FAILED;
  switch (logic_test(r->done, data, a, &budget, out_why)) {
  case LOGIC_TRUE: return RECONCILED_DONE;
  case LOGIC_FALSE: return RECONCILED_NOT_DONE;
  default: return RECONCILED_FAILED;
  }
}

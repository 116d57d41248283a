// SPDX-License-Identifier: Apache-2.0
// Reads a governance file: its permissions and bundles, and the references between its parts.
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "govern/govern_impl.h"
#include "govern/run.h"
#include "json/canon.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { GATES_MAX = 1000 };  // maximum number of gates in all bundles together

// Writes the texts that records use for a permission or, if `bundle` is set, for a rule of this bundle.
static void write_texts(struct governance_reader *r, struct governance_match *m, str bundle) {
  struct arena *a = r->arena;
  str id = json_escaped(a, m->id), pointer = json_escaped(a, m->pointer), evidence;
  m->record = arena_printf(a, "{\"id\":%.*s,\"pointer\":%.*s}", STR_ARG(id), STR_ARG(pointer));
  if (bundle.p) evidence = arena_printf(a, "policy:%.*s#%.*s", STR_ARG(bundle), STR_ARG(m->id));
  else evidence = arena_printf(a, "permission:%.*s", STR_ARG(m->id));
  m->evidence = json_escaped(a, evidence);
}

// ---- permissions

#define AT(member) offsetof(struct governance_permission, member)
static const struct governance_field permission_fields[] = {
    {"permission_id", governance_id, AT(match.id), true, NULL},
    {"adapter_id", governance_id, AT(adapter_id), true, NULL},
    {"capability", governance_id, AT(name), true, NULL},
    {"allow", governance_flag, AT(allow), true, NULL},
    {"approval_mode", governance_mode, AT(mode), false, NULL},
    {"arg_constraints", governance_constraints, AT(match.constraints), false, NULL},
    {"roles", governance_texts, AT(roles), false, NULL},
    {"intents", governance_texts, AT(intents), false, NULL},
    {"environments", governance_texts, AT(environments), false, NULL},
    {"tenants", governance_texts, AT(tenants), false, NULL},
    {"decision_binding", governance_id, AT(decision_binding), false, NULL},
    {"description", governance_text, AT(description), false, NULL},
};
#undef AT

static void read_permission(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct governance_permission *p = into;
  p->match.pointer = pointer;
  p->mode = APPROVAL_NONE;
  governance_read_members(r, pointer, v, permission_fields, COUNT(permission_fields), p);
  write_texts(r, &p->match, STR_NONE);
}

static struct governance_capability *find_capability(const struct governance *g, str id) {
  size_t low = 0, high = g->capability_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (str_cmp(g->capabilities[mid].id, id) < 0) low = mid + 1;
    else high = mid;
  }
  return low < g->capability_count && str_eq(g->capabilities[low].id, id) ? &g->capabilities[low] : NULL;
}

const struct governance_capability *governance_find(const struct governance *g, str id) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return find_capability(g, id);
}

// Returns the capability of a permission. If there is no such capability, reports an error and returns NULL.
static struct governance_capability *capability_of(struct governance_reader *r, const struct governance_permission *p) {
  struct arena_mark mark = arena_mark(r->arena);
  str id = arena_printf(r->arena, "%.*s.%.*s", STR_ARG(p->adapter_id), STR_ARG(p->name));
  struct governance_capability *c = find_capability(r->governance, id);
  if (!p->adapter_id.n || !p->name.n) return NULL;  // reported already
  if (!c) {
    governance_report(r, p->match.pointer, "no adapter registers the capability \"%.*s\"", STR_ARG(id));
  } else if (p->mode != APPROVAL_NONE && c->mode != APPROVAL_NONE && p->mode > c->mode) {
    governance_report(r, p->match.pointer,
                      "MODE_EXCEEDS_MAXIMUM: the approval mode %s is above the capability's mode %s",
                      approval_mode_name(p->mode), approval_mode_name(c->mode));
  }
  arena_rewind(r->arena, &mark);
  return c;
}

// Gives each capability the list of its permissions, so that a decision need not search all permissions.
static void index_permissions(struct governance_reader *r) {
  struct governance *g = r->governance;
  struct governance_capability **owner = ARENA_ARRAY(r->arena, struct governance_capability *, g->permission_count);
  for (size_t i = 0; i < g->permission_count; i++) {
    owner[i] = capability_of(r, &g->permissions[i]);
    if (owner[i]) owner[i]->permission_count++;
  }
  for (size_t i = 0; i < g->capability_count; i++) {
    struct governance_capability *c = &g->capabilities[i];
    c->permissions = ARENA_ARRAY(r->arena, const struct governance_permission *, c->permission_count);
    c->permission_count = 0;
  }
  for (size_t i = 0; i < g->permission_count; i++)
    if (owner[i]) owner[i]->permissions[owner[i]->permission_count++] = &g->permissions[i];
}

static void read_permissions(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance *g = r->governance;
  g->permissions = governance_read_list(r, pointer, v, sizeof *g->permissions, read_permission, &g->permission_count);
  struct governance_named *ids = ARENA_ARRAY(r->arena, struct governance_named, g->permission_count);
  for (size_t i = 0; i < g->permission_count; i++)
    ids[i].id = g->permissions[i].match.id, ids[i].pointer = g->permissions[i].match.pointer;
  governance_sort_unique(r, ids, g->permission_count, "permission_id");
  index_permissions(r);
}

// ---- rules

static void read_applies(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  static const struct governance_field fields[] = {{"intent", governance_id, 0, false, NULL}};
  governance_read_members(r, pointer, v, fields, COUNT(fields), to);
}

#define AT(member) offsetof(struct governance_rule, member)
static void read_then(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  static const struct governance_field fields[] = {
      {"allow", governance_flag, AT(allow), true, NULL},
      {"approval_mode", governance_mode, AT(mode), false, NULL},
      {"requires_approval_gate", governance_id, AT(gate_name), false, NULL},
      {"arg_constraints", governance_constraints, AT(match.constraints), false, NULL},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), to);
}

static const struct governance_field rule_fields[] = {
    {"rule_id", governance_id, AT(match.id), true, NULL},
    {"applies_to", read_applies, AT(intent), false, NULL},
    {"if", governance_logic, AT(condition), false, NULL},
    {"then", read_then, 0, true, NULL},
    {"non_enforcing", governance_flag, AT(non_enforcing), false, NULL},
    {"decision_binding", governance_id, AT(decision_binding), false, NULL},
    {"rationale", governance_text, AT(rationale), false, NULL},
    {"description", governance_text, AT(description), false, NULL},
};
#undef AT

static void read_rule(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct governance_rule *rule = into;
  rule->match.pointer = pointer;
  rule->mode = APPROVAL_NONE;
  governance_read_members(r, pointer, v, rule_fields, COUNT(rule_fields), rule);
}

// ---- bundles

static void read_rules(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  struct governance_bundle *b = to;
  b->rules = governance_read_list(r, pointer, v, sizeof *b->rules, read_rule, &b->rule_count);
}

static void read_language(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  if (!json_equals_str(v, STR("jsonlogic"))) governance_report(r, pointer, "must be \"jsonlogic\"");
}

static void read_policy(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  static const struct governance_field fields[] = {
      {"language", read_language, 0, true, NULL},
      {"rules", read_rules, 0, true, NULL},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), to);
}

static void read_gate(struct governance_reader *r, str pointer, const struct json *v, void *into) {
#define AT(member) offsetof(struct governance_gate, member)
  static const struct governance_field fields[] = {
      {"gate_id", governance_id, AT(gate_id), true, NULL},
      {"when", governance_logic, AT(when), false, NULL},
      {"required_approver_role", governance_id, AT(role), true, NULL},
      {"quorum", governance_count, AT(quorum), false, NULL},
  };
#undef AT
  struct governance_gate *gate = into;
  gate->pointer = pointer;
  gate->quorum = 1;
  governance_read_members(r, pointer, v, fields, COUNT(fields), gate);
}

static void read_gates(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  struct governance_bundle *b = to;
  b->gates = governance_read_list(r, pointer, v, sizeof *b->gates, read_gate, &b->gate_count);
}

static void read_bundle(struct governance_reader *r, str pointer, const struct json *v, void *into) {
#define AT(member) offsetof(struct governance_bundle, member)
  static const struct governance_field fields[] = {
      {"bundle_id", governance_id, AT(bundle_id), true, NULL},
      {"priority", governance_integer, AT(priority), false, NULL},
      {"policy_dsl", read_policy, 0, false, NULL},
      {"approval_gates", read_gates, 0, false, NULL},
      {"description", governance_text, AT(description), false, NULL},
  };
#undef AT
  struct governance_bundle *b = into;
  b->pointer = pointer;
  governance_read_members(r, pointer, v, fields, COUNT(fields), b);
  for (size_t i = 0; i < b->rule_count; i++) write_texts(r, &b->rules[i].match, b->bundle_id);
}

// ---- references between bundles

static size_t count_rules(const struct governance *g, size_t *out_gates) {
  size_t rules = 0;
  *out_gates = 0;
  for (size_t i = 0; i < g->bundle_count; i++) {
    rules += g->bundles[i].rule_count;
    *out_gates += g->bundles[i].gate_count;
  }
  return rules;
}

static int compare_ids(const void *key, const void *named) {
  return str_cmp(*(const str *)key, ((const struct governance_named *)named)->id);
}

// Finds the gate that each rule names. The gate may be in another bundle than the rule.
static void resolve_gates(struct governance_reader *r, const struct governance_named *gates, size_t gate_count) {
  struct governance *g = r->governance;
  for (size_t i = 0; i < g->bundle_count; i++)
    for (size_t k = 0; k < g->bundles[i].rule_count; k++) {
      struct governance_rule *rule = &g->bundles[i].rules[k];
      if (!rule->gate_name.n) continue;
      const struct governance_named *found =
          gate_count ? bsearch(&rule->gate_name, gates, gate_count, sizeof *gates, compare_ids) : NULL;
      if (found) rule->gate = found->object;
      else
        governance_report(r, rule->match.pointer, "no bundle defines the approval gate \"%.*s\"",
                          STR_ARG(rule->gate_name));
    }
}

static void connect_bundles(struct governance_reader *r) {
  struct governance *g = r->governance;
  size_t gate_count, rule_count = count_rules(g, &gate_count), gate = 0, rule = 0;
  struct governance_named *bundles = ARENA_ARRAY(r->arena, struct governance_named, g->bundle_count);
  struct governance_named *rules = ARENA_ARRAY(r->arena, struct governance_named, rule_count);
  struct governance_named *gates = ARENA_ARRAY(r->arena, struct governance_named, gate_count);
  for (size_t i = 0; i < g->bundle_count; i++) {
    struct governance_bundle *b = &g->bundles[i];
    b->index = i;
    bundles[i] = (struct governance_named){b->bundle_id, b->pointer, b, 0};
    for (size_t k = 0; k < b->rule_count; k++)
      rules[rule++] = (struct governance_named){b->rules[k].match.id, b->rules[k].match.pointer, &b->rules[k], 0};
    for (size_t k = 0; k < b->gate_count; k++)
      gates[gate++] = (struct governance_named){b->gates[k].gate_id, b->gates[k].pointer, &b->gates[k], 0};
  }
  governance_sort_unique(r, bundles, g->bundle_count, "bundle_id");
  governance_sort_unique(r, rules, rule_count, "rule_id");
  governance_sort_unique(r, gates, gate_count, "gate_id");
  if (gate_count > GATES_MAX) governance_report(r, STR("/bundles"), "have more than %d approval gates", GATES_MAX);
  resolve_gates(r, gates, gate_count);
}

static int compare_bundles(const void *a, const void *b) {
  const struct governance_bundle *x = a, *y = b;
  if (x->priority != y->priority) return x->priority < y->priority ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static void read_bundles(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance *g = r->governance;
  g->bundles = governance_read_list(r, pointer, v, sizeof *g->bundles, read_bundle, &g->bundle_count);
  connect_bundles(r);
  if (g->bundle_count) qsort(g->bundles, g->bundle_count, sizeof *g->bundles, compare_bundles);
}

// ---- the file

static void keep_node(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  *(const struct json **)to = v;
}

static const char *const pins_words[] = {"off", "warn", "enforce", NULL};  // in the order of enum governance_pins

static void settle_outputs(struct governance *g, uint8_t of_file) {
  g->output_schemas = of_file;
  g->checks_output = of_file != OUTPUT_OFF;
  for (size_t i = 0; i < g->adapter_count; i++) {
    struct governance_adapter *a = &g->adapters[i];
    if (a->output_schemas == OUTPUT_OF_FILE) a->output_schemas = of_file;
    g->checks_output |= a->output_schemas != OUTPUT_OFF;
  }
}

// Reads the whole file. Adapters are read first, because permissions refer to the capabilities of adapters.
static void read_root(struct governance_reader *r, const struct json *root) {
  struct parts {
    const struct json *adapters, *permissions, *bundles, *intents, *context, *records, *flow;
    const struct json *manifests, *aliases, *signing;
    const struct json *skills, *skill_keys;
    str description;
    bool plan_check;
    uint8_t pins, output_schemas;
  } parts = {.pins = GOVERNANCE_PINS_WARN};
  static const struct governance_field fields[] = {
      {"adapters", keep_node, offsetof(struct parts, adapters), false, NULL},
      {"manifests", keep_node, offsetof(struct parts, manifests), false, NULL},
      {"permissions", keep_node, offsetof(struct parts, permissions), false, NULL},
      {"bundles", keep_node, offsetof(struct parts, bundles), false, NULL},
      {"intents", keep_node, offsetof(struct parts, intents), false, NULL},
      {"context", keep_node, offsetof(struct parts, context), false, NULL},
      {"flow", keep_node, offsetof(struct parts, flow), false, NULL},
      {"skills", keep_node, offsetof(struct parts, skills), false, NULL},
      {"skill_keys", keep_node, offsetof(struct parts, skill_keys), false, NULL},
      {"plan_check", governance_flag, offsetof(struct parts, plan_check), false, NULL},
      {"aliases", keep_node, offsetof(struct parts, aliases), false, NULL},
      {"pins", governance_choice, offsetof(struct parts, pins), false, pins_words},
      {"output_schemas", governance_choice, offsetof(struct parts, output_schemas), false, governance_outputs},
      {"records", keep_node, offsetof(struct parts, records), false, NULL},
      {"signing", keep_node, offsetof(struct parts, signing), false, NULL},
      {"description", governance_text, offsetof(struct parts, description), false, NULL},
  };
  governance_read_members(r, STR(""), root, fields, COUNT(fields), &parts);
  r->governance->offers_plan_check = parts.plan_check;
  governance_read_adapters(r, parts.adapters, parts.manifests);
  settle_outputs(r->governance, parts.output_schemas);
  if (parts.permissions) read_permissions(r, STR("/permissions"), parts.permissions);
  if (parts.bundles) read_bundles(r, STR("/bundles"), parts.bundles);
  if (parts.intents) governance_read_intents(r, STR("/intents"), parts.intents);
  governance_read_context(r, STR("/context"), parts.context);
  governance_read_flow(r, STR("/flow"), parts.flow);
  governance_read_skills(r, parts.skills, parts.skill_keys);
  r->governance->pins = parts.pins;
  if (parts.aliases) governance_read_aliases(r, STR("/aliases"), parts.aliases);
  governance_read_records(r, STR("/records"), parts.records);
  governance_read_signing(r, STR("/signing"), parts.signing);
}

enum governance_pins governance_pins(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return (enum governance_pins)g->pins;
}

static void make_digest(struct governance *g, const struct json *root) {
  struct buf b;
  struct fault f;
  unsigned char digest[SHA256_SIZE];
  buf_init(&b, 8 * (size_t)GOVERNANCE_BYTES_MAX);
  if (!json_canon(&b, root, JSON_CANON_JCS, &f)) {
    buf_reset(&b);
    json_canon(&b, root, JSON_CANON_EXACT, &f);
  }
  hash_sha256(buf_view(&b), digest);
  memcpy(g->digest, "sha256:", 7);
  hash_hex(digest, sizeof digest, g->digest + 7);
  buf_done(&b);
}

struct governance *governance_read(const struct json *root, governance_problem *problem, void *ctx) {
  static const struct json_limits limits = {GOVERNANCE_BYTES_MAX, GOVERNANCE_DEPTH_MAX, 1 << 20};
  struct governance *g = MEM_NEW(struct governance);
  struct governance_reader r = {.governance = g, .arena = &g->arena, .problem = problem, .ctx = ctx};
  struct fault f;
  g->magic = GOVERNANCE_MAGIC;
  g->refs = 1;
  arena_init(&g->arena);
  // Parses a copy that lives as long as the governance, because constraints refer to its values.
  const struct json *copy = NULL;
  if (root->n <= GOVERNANCE_BYTES_MAX) copy = json_parse(&g->arena, arena_str(&g->arena, json_span(root)), &limits, &f);
  else fault_set(&f, FAULT_LIMIT, "the file is larger than the limit of %d bytes", GOVERNANCE_BYTES_MAX);
  if (copy) read_root(&r, copy);
  if (copy) make_digest(g, copy);
  else governance_report(&r, STR(""), "%s", f.message);
  if (r.failed) governance_unref(&g);
  return g;
}

struct governance *governance_ref(struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  ASSERT(g->refs > 0);
  g->refs++;
  return g;
}

void governance_unref(struct governance **g) {
  struct governance *was = *g;
  *g = NULL;
  if (!was) return;
  ASSERT_MAGIC(was, GOVERNANCE_MAGIC);
  ASSERT(was->refs > 0);
  if (--was->refs) return;
  run_contexts_free(was);
  governance_signing_done(was);
  if (was->skills) was->skills_free(&was->skills);
  governance_notes_free(was);
  was->magic = 0;
  arena_done(&was->arena);
  mem_free(was);
}

bool governance_offers_plan_check(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->offers_plan_check;
}

size_t governance_adapter_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->adapter_count;
}

const struct governance_adapter *governance_adapter_at(const struct governance *g, size_t index) {
  ASSERT(index < governance_adapter_count(g));
  return &g->adapters[index];
}

size_t governance_capability_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->capability_count;
}

const struct governance_capability *governance_capability_at(const struct governance *g, size_t index) {
  ASSERT(index < governance_capability_count(g));
  return &g->capabilities[index];
}

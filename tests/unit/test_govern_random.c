// SPDX-License-Identifier: Apache-2.0
// Random governance files and questions, decided by the engine and by a second evaluator: written straight from the
// text of the specification, over the JSON of the file, with loops, without an index, and with its own JsonLogic. The
// two must agree on the code, the effective mode, the gates, the matching rules, the violations, and the place in the
// file that decided.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "naive_logic.h"
#include "random_governance.h"

enum { FILES = 4000, QUESTIONS = 25 };
enum { NETWORK = 2, DELEGATED = 3, DESTRUCTIVE = 4 };  // indexes of modes

// ---- values of the file

static int mode_index(const struct json *v) {
  for (int i = 0; i < 5; i++)
    if (json_equals_str(v, str_of(modes[i]))) return i;
  return -1;
}

static void text_of(const struct json *v, const char *key, char out[64]) {
  const struct json *m = json_get(v, str_of(key));
  snprintf(out, 64, "%.*s", (int)m->n - 2, m->p + 1);
}

static bool is_true_at(const struct json *v, const char *key) {
  return json_is(json_get(v, str_of(key)), JSON_TRUE);
}

static bool contains(const struct json *list, const struct json *value) {
  for (const struct json *it = list ? list->child : NULL; it; it = it->next)
    if (value && json_same(it, value)) return true;
  return false;
}

static bool lists(const struct json *permission, const char *key, const struct json *context, const char *member) {
  const struct json *list = json_get(permission, str_of(key));
  return !list || contains(list, json_get(context, str_of(member)));
}

// ---- constraints

struct verdict {
  struct buf rules, gates, hard, soft;  // ids; "path:constraint"
  char place[128], hard_place[128], soft_place[128];
};

static void add(struct buf *b, const char *label, const char *text) {
  buf_printf(b, "%s%s", b->n ? "," : label, text);
}

static const struct json *argument(const struct json *args, const char *key) {
  const struct json *at = args;
  if (!strcmp(key, "l[1]")) at = json_at(json_get(args, STR("l")), 1);
  else if (!strcmp(key, "o.k")) at = json_get(json_get(args, STR("o")), STR("k"));
  else at = json_get(args, str_of(key));
  return json_is(at, JSON_NULL) ? NULL : at;
}

static bool violates(const char *keyword, const struct json *limit, const struct json *v) {
  double d = 0, l = 0;
  char text[64] = "";
  json_double(v, &d);
  json_double(limit, &l);
  if (v->type == JSON_STRING) snprintf(text, sizeof text, "%.*s", (int)v->n - 2, v->p + 1);
  if (!strcmp(keyword, "min")) return v->type == JSON_NUMBER && d < l;
  if (!strcmp(keyword, "max")) return v->type == JSON_NUMBER && d > l;
  if (!strcmp(keyword, "const")) return !json_same(limit, v);
  if (!strcmp(keyword, "pattern")) return v->type == JSON_STRING && strcmp(text, "x") && strcmp(text, "1");
  if (!strcmp(keyword, "minLength")) return v->type == JSON_STRING && (double)strlen(text) < l;
  if (!strcmp(keyword, "maxLength")) return v->type == JSON_STRING && (double)strlen(text) > l;
  if (!strcmp(keyword, "maxItems")) return v->type == JSON_ARRAY && v->count > l;
  if (!strcmp(keyword, "format")) return v->type == JSON_STRING;  // no text of this test is a date
  if (!strcmp(keyword, "enum")) return !contains(limit, v);
  return false;
}

static bool wants_type(const char *keyword, const struct json *v) {
  if (!strcmp(keyword, "min") || !strcmp(keyword, "max")) return v->type == JSON_NUMBER;
  if (!strcmp(keyword, "maxItems")) return v->type == JSON_ARRAY;
  bool text = !strcmp(keyword, "pattern") || strstr(keyword, "Length") || !strcmp(keyword, "format");
  return !text || v->type == JSON_STRING;
}

static void violate(struct verdict *out, const char *key, const char *constraint, bool soft, const char *place) {
  char line[64], *first = soft ? out->soft_place : out->hard_place;
  struct buf *to = soft ? &out->soft : &out->hard;
  snprintf(line, sizeof line, "%s:%s", key, constraint);
  if (!to->n) snprintf(first, 128, "%s/%s", place, key);
  // Without a gate, the first violation of either kind is the place.
  if (!out->hard.n && !out->soft.n) snprintf(out->place, 128, "%s/%s", place, key);
  add(to, "", line);
}

static void check_constraint(const struct json *c, const struct json *args, bool partial, const char *place,
                             struct verdict *out) {
  char key[32], keyword[32];
  bool soft = json_get(c, STR("unless_approved")) != NULL, typed = true;
  snprintf(key, sizeof key, "%.*s", (int)c->key_n, c->key);
  const struct json *v = argument(args, key);
  if (!v && is_true_at(c, "required") && !partial) violate(out, key, "required", soft, place);
  if (!v) return;
  JSON_EACH(k, c) {
    snprintf(keyword, sizeof keyword, "%.*s", (int)k->key_n, k->key);
    typed = typed && wants_type(keyword, v);
  }
  if (!typed) violate(out, key, "type", soft, place);
  JSON_EACH(k, c) {
    snprintf(keyword, sizeof keyword, "%.*s", (int)k->key_n, k->key);
    if (violates(keyword, k, v)) violate(out, key, keyword, soft, place);
  }
}

// ---- what matches

struct constrained {
  const struct json *constraints;
  char place[128];
};

struct naive {
  struct question q;
  struct verdict *v;
  struct constrained constrained[64];
  size_t constrained_count;
  int ceiling, floor, highest;
  char ceiling_place[128], floor_place[128], against[128], first[128], failed[128];
  char capability[64], gate_place[128];
  const struct json *definition;  // of the capability; NULL if no adapter lists it
  bool any, acts;
  const char *class;
  char gates[2];
};

static void constrain(struct naive *n, const struct json *owner, const char *place) {
  struct constrained *c = &n->constrained[n->constrained_count];
  c->constraints = json_get(owner, STR("arg_constraints"));
  snprintf(c->place, sizeof c->place, "%s/arg_constraints", place);
  if (c->constraints) n->constrained_count++;
}

static void naive_permission(struct naive *n, const struct json *p, size_t index) {
  const struct json *context = n->q.context;
  char name[64], place[64];
  if (!lists(p, "roles", context, "role") || !lists(p, "intents", context, "intent") ||
      !lists(p, "environments", context, "environment") || !lists(p, "tenants", context, "tenant"))
    return;
  snprintf(place, sizeof place, "/permissions/%zu", index);
  text_of(p, "permission_id", name);
  add(&n->v->rules, " rules=", name);
  if (!n->any) snprintf(n->first, sizeof n->first, "%s", place);
  n->any = true;
  if (!is_true_at(p, "allow") && !*n->against) snprintf(n->against, sizeof n->against, "%s", place);
  int mode = mode_index(json_get(p, STR("approval_mode")));
  if (mode >= 0 && mode < n->ceiling) {
    n->ceiling = mode;
    snprintf(n->ceiling_place, sizeof n->ceiling_place, "%s/approval_mode", place);
  }
  constrain(n, p, place);
}

static void naive_gate(struct naive *n, const struct json *owner, const char *key) {
  char gate[64];
  if (!json_get(owner, str_of(key))) return;
  text_of(owner, key, gate);
  if (!n->v->gates.n) snprintf(n->gate_place, sizeof n->gate_place, "/bundles/%c/approval_gates/0", gate[1]);
  if (!n->gates[gate[1] - '0']++) add(&n->v->gates, " gates=", gate);
}

static bool fails(const struct json *condition) {
  return condition && condition->n == strlen(FAILING) && !memcmp(condition->p, FAILING, condition->n);
}

static void naive_rule(struct naive *n, const struct json *r, size_t bundle, size_t index) {
  const struct json *intent = json_get(json_get(r, STR("applies_to")), STR("intent"));
  const struct json *condition = json_get(r, STR("if")), *then = json_get(r, STR("then"));
  const struct json *own = json_get(n->q.context, STR("intent"));
  char name[64], place[64], then_place[80];
  snprintf(place, sizeof place, "/bundles/%zu/policy_dsl/rules/%zu", bundle, index);
  if (intent && !(own && json_same(intent, own))) return;
  if (fails(condition)) {
    if (!is_true_at(r, "non_enforcing")) snprintf(n->failed, sizeof n->failed, "%s/if", place);
    return;
  }
  if (condition && !is_true(evaluate(condition, &n->q, NULL))) return;
  text_of(r, "rule_id", name);
  add(&n->v->rules, " rules=", name);
  n->any = true;
  if (!is_true_at(then, "allow") && !*n->against) snprintf(n->against, sizeof n->against, "%s", place);
  int mode = mode_index(json_get(then, STR("approval_mode")));
  if (mode > n->floor) {
    n->floor = mode;
    snprintf(n->floor_place, sizeof n->floor_place, "%s", place);
  }
  snprintf(then_place, sizeof then_place, "%s/then", place);
  constrain(n, then, then_place);
  naive_gate(n, then, "requires_approval_gate");
}

static void naive_bundle(struct naive *n, const struct json *b, size_t index) {
  size_t i = 0;
  JSON_EACH(r, json_get(json_get(b, STR("policy_dsl")), STR("rules")))
    if (!*n->failed) naive_rule(n, r, index, i++);
  JSON_EACH(g, json_get(b, STR("approval_gates"))) {
    const struct json *when = json_get(g, STR("when"));
    if (*n->failed || !when) continue;
    if (fails(when)) snprintf(n->failed, sizeof n->failed, "/bundles/%zu/approval_gates/0/when", index);
    else if (is_true(evaluate(when, &n->q, NULL))) naive_gate(n, g, "gate_id");
  }
}

static void naive_bundles(struct naive *n, const struct json *bundles) {
  for (int64_t priority = 0; priority < 3; priority++) {
    size_t index = 0;
    JSON_EACH(b, bundles) {
      int64_t own = 0;
      json_int(json_get(b, STR("priority")), &own);
      if (own == priority && !*n->failed) naive_bundle(n, b, index);
      index++;
    }
  }
}

// ---- the steps

static void judge(struct buf *out, const char *code, int effective, const struct verdict *v, const char *place) {
  buf_printf(out, "%s", code);
  if (effective >= 0) buf_printf(out, " effective=%s", modes[effective]);
  buf_printf(out, "%.*s%.*s", STR_ARG(buf_view(&v->gates)), STR_ARG(buf_view(&v->rules)));
  if (!strcmp(code, "ALLOWED") || !strcmp(code, "ARG_CONSTRAINT_VIOLATION")) {
    buf_printf(out, " hard=%.*s", STR_ARG(buf_view(&v->hard)));
    if (!v->gates.n) buf_printf(out, " soft=%.*s", STR_ARG(buf_view(&v->soft)));
  }
  buf_printf(out, " at=%s", place);
}

// Finds the capability. An unlisted tool has a capability if the file says so; hints of the server describe it.
static bool naive_capability(struct naive *n, const struct json *file, const struct json *question) {
  const struct json *context = json_get(file, STR("context")), *hints = json_get(question, STR("annotations"));
  char name[64];
  size_t index = 0;
  JSON_EACH(it, json_get(json_at(json_get(file, STR("adapters")), 0), STR("capabilities"))) {
    text_of(it, "name", name);
    if (!strncmp(n->q.capability, "a.", 2) && !strcmp(name, n->q.capability + 2)) {
      n->definition = it;
      snprintf(n->capability, sizeof n->capability, "/adapters/0/capabilities/%zu", index);
      n->acts = json_equals_str(json_get(it, STR("class")), STR("act"));
      n->highest =
          n->acts && is_true_at(it, "provisional") ? DESTRUCTIVE : mode_index(json_get(it, STR("approval_mode")));
    }
    index++;
  }
  if (n->definition) return true;
  bool tool = !strncmp(n->q.capability, "a.", 2) && json_get(context, STR("unlisted_tools"));
  bool server = !strcmp(n->q.capability, "mcp_t.x") &&
                json_equals_str(json_get(context, STR("unlisted_servers")), STR("provisional"));
  snprintf(n->capability, sizeof n->capability, "/context/%s", tool ? "unlisted_tools" : "unlisted_servers");
  n->acts = !is_true_at(hints, "readOnlyHint");
  n->highest = n->acts ? DESTRUCTIVE : is_true_at(hints, "openWorldHint") ? NETWORK : 0;
  return tool || server;
}

// Returns whether the intent allows the class; otherwise sets `place`.
static bool naive_intent(const struct naive *n, const struct json *file, char place[128]) {
  const struct json *own = json_get(n->q.context, STR("intent"));
  static const struct json act = {.type = JSON_STRING, .p = "\"act\"", .n = 5};
  static const struct json observe = {.type = JSON_STRING, .p = "\"observe\"", .n = 9};
  const struct json *class = n->definition ? json_get(n->definition, STR("class")) : n->acts ? &act : &observe;
  const struct json *listed = json_get(json_get(file, STR("intents")), STR("i"));
  bool is_listed = listed && json_equals_str(own, STR("i"));
  snprintf(place, 128, "/intents%s", is_listed ? "/i" : "");
  if (json_equals_str(own, STR("read_only"))) return !n->acts;
  return !is_listed || contains(json_get(listed, STR("classes")), class);
}

// Returns the code of the denial, or NULL.
static const char *naive_delegation(const struct naive *n, const struct json *question, int effective, int plain) {
  const struct json *scopes = json_get(n->q.context, STR("scopes")), *level = json_get(n->q.context, STR("level"));
  const struct json *wanted = json_get(n->definition, STR("claims")), *needed = json_get(n->definition, STR("scopes"));
  if (wanted && (!level || level->type == JSON_NULL)) return "PERMISSION_DENIED";
  for (const struct json *s = needed && scopes ? needed->child : NULL; s; s = s->next)
    if (!contains(scopes, s)) return "DELEGATION_REQUIRED";
  if (effective != DELEGATED && plain != DELEGATED) return NULL;
  const struct json *chain = json_get(n->q.context, STR("principals"));
  if (chain && !json_equals_str(json_get(chain->child, STR("kind")), STR("user"))) return "DELEGATION_REQUIRED";
  int64_t now, expires;
  if (!json_int(json_get(question, STR("now")), &now)) return NULL;
  if (!json_int(json_get(n->q.context, STR("delegation_expires")), &expires)) return NULL;
  return now >= expires ? "DELEGATION_EXPIRED" : NULL;
}

// Returns whether the call would give the run all three marks of the flow guard, in a file that enforces this.
static bool naive_flow(const struct naive *n, const struct json *file, const struct json *question) {
  const struct json *mode = json_get(json_get(file, STR("flow")), STR("mode"));
  const struct json *own = json_get(n->definition, STR("flow")), *before = json_get(question, STR("flow"));
  bool enforced = !mode || json_equals_str(mode, STR("enforce")), all = own;
  for (int i = 0; i < 3; i++) {
    char text[32];
    snprintf(text, sizeof text, "\"%s\"", mark_words[i]);
    const struct json mark = {.type = JSON_STRING, .p = text, .n = (uint32_t)strlen(text)};
    all = all && (contains(own, &mark) || contains(before, &mark));
  }
  return enforced && all;
}

static void naive_end(struct naive *n, const struct json *file, const struct json *question, int effective,
                      struct buf *out) {
  struct verdict *v = n->v;
  char place[128];
  for (size_t i = 0; i < n->constrained_count; i++)
    JSON_EACH(c, n->constrained[i].constraints)
      check_constraint(c, n->q.args, is_true_at(question, "partial"), n->constrained[i].place, v);
  if (v->hard.n || (v->soft.n && !v->gates.n))
    return judge(out, "ARG_CONSTRAINT_VIOLATION", effective, v, v->gates.n ? v->hard_place : v->place);
  snprintf(place, sizeof place, "%s/flow", n->capability);
  if (naive_flow(n, file, question)) return judge(out, "FLOW_DENIED", effective, v, place);
  judge(out, "ALLOWED", effective, v, v->gates.n ? n->gate_place : n->definition ? n->first : n->capability);
}

static void naive_mode(struct naive *n, const struct json *file, const struct json *question, struct buf *out) {
  const struct json *wanted = json_get(question, STR("mode")), *safety = json_get(n->q.context, STR("safety_mode"));
  const struct json *lower = json_get(question, STR("ceiling"));
  int high = n->highest, requested = mode_index(wanted), plain = n->floor >= 0 ? n->floor : high;
  char own[128];
  snprintf(own, sizeof own, "%s%s", n->capability, n->definition ? "/approval_mode" : "");
  const char *raised = n->floor >= 0 ? n->floor_place : own;
  if (wanted && requested < 0) return judge(out, "MODE_INVALID", -1, n->v, own);
  if (requested > high) return judge(out, "MODE_EXCEEDS_MAXIMUM", -1, n->v, own);
  if (n->floor > high) return judge(out, "MODE_RAISE_FORBIDDEN", -1, n->v, n->floor_place);
  int effective = n->floor >= 0 && requested > plain ? requested : plain;
  if (effective > n->ceiling) return judge(out, "MODE_EXCEEDS_MAXIMUM", effective, n->v, n->ceiling_place);
  if ((safety && effective > mode_index(safety)) || (lower && effective > mode_index(lower)))
    return judge(out, "MODE_ABOVE_RUN_CEILING", effective, n->v, raised);
  if (n->acts && effective == 0) return judge(out, "CLASS_MODE_CONFLICT", effective, n->v, raised);
  const char *denial = naive_delegation(n, question, effective, plain);
  if (denial) return judge(out, denial, effective, n->v, n->capability);
  naive_end(n, file, question, effective, out);
}

static void naive_permissions(struct naive *n, const struct json *file) {
  const struct json *name = json_get(n->definition, STR("name"));
  size_t index = 0;
  JSON_EACH(p, json_get(file, STR("permissions"))) {
    if (name && json_same(json_get(p, STR("capability")), name)) naive_permission(n, p, index);
    index++;
  }
}

static void naive_decide(const struct json *file, const struct json *question, struct verdict *v, struct buf *out) {
  struct naive n = {.v = v, .ceiling = 9, .floor = -1};
  const struct json *bundles = json_get(file, STR("bundles"));
  char place[128];
  n.q.args = json_get(question, STR("args"));
  n.q.context = json_get(question, STR("context"));
  text_of(question, "capability", n.q.capability);
  bool ours = !strncmp(n.q.capability, "a.", 2);
  if (!naive_capability(&n, file, question))
    return judge(out, "CAPABILITY_UNKNOWN", -1, v, ours ? "/adapters/0" : "/adapters");
  const struct json *only = json_get(n.definition, STR("environment"));
  const struct json *environment = json_get(n.q.context, STR("environment"));
  if (only && !(environment && json_same(only, environment)))
    return judge(out, "PERMISSION_DENIED", -1, v, n.capability);
  naive_permissions(&n, file);
  if (*n.against) return judge(out, "PERMISSION_DENIED", -1, v, n.against);
  if (!n.any && n.definition) return judge(out, "PERMISSION_DENIED", -1, v, "/permissions");
  if (!naive_intent(&n, file, place)) return judge(out, "CLASS_INTENT_CONFLICT", -1, v, place);
  n.any = false;
  naive_bundles(&n, bundles);
  if (*n.failed) return judge(out, "POLICY_EVAL_ERROR", -1, v, n.failed);
  if (*n.against) return judge(out, "POLICY_DENIED", -1, v, n.against);
  if (bundles->count && !n.any && n.highest > 0) return judge(out, "POLICY_DENIED", -1, v, "/bundles");
  naive_mode(&n, file, question, out);
}

// ---- the comparison

static void engine_decide(const struct governance *g, const struct json *question, struct arena *a, struct buf *out) {
  struct governance_question q;
  struct governance_decision d;
  struct fault f;
  assert_true(governance_read_question(question, a, &q, &f));
  json_string(json_get(question, STR("ceiling")), a, &q.ceiling);
  q.partial = is_true_at(question, "partial");
  governance_decide(g, &q, a, &d);
  buf_printf(out, "%s", governance_code_name(d.code));
  if (d.effective != APPROVAL_NONE) buf_printf(out, " effective=%s", approval_mode_name(d.effective));
  for (size_t i = 0; i < d.gate_count; i++)
    buf_printf(out, "%s%.*s", i ? "," : " gates=", STR_ARG(d.gates[i]->gate_id));
  for (size_t i = 0; i < d.match_count; i++) buf_printf(out, "%s%.*s", i ? "," : " rules=", STR_ARG(d.matches[i].id));
  bool violations = d.code == GOVERNANCE_ALLOWED || d.code == GOVERNANCE_ARG_CONSTRAINT_VIOLATION;
  for (int soft = 0; violations && soft < (d.gate_count ? 1 : 2); soft++) {
    buf_printf(out, soft ? " soft=" : " hard=");
    const char *comma = "";
    for (const struct violation *v = d.violations.first; v; v = v->next) {
      assert_false(v->waivable && d.gate_count);
      if (v->waivable != soft) continue;
      buf_printf(out, "%s%.*s:%s", comma, STR_ARG(v->path), v->constraint);
      comma = ",";
    }
  }
  buf_printf(out, " at=%.*s", STR_ARG(d.pointer));
}

struct comparison {
  struct buf text, expected, found;
  struct verdict v;
};

static void begin(struct comparison *c) {
  struct buf *all[] = {&c->text, &c->expected, &c->found, &c->v.rules, &c->v.gates, &c->v.hard, &c->v.soft};
  memset(c, 0, sizeof *c);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_init(all[i], 1 << 16);
}

static void end(struct comparison *c) {
  struct buf *all[] = {&c->text, &c->expected, &c->found, &c->v.rules, &c->v.gates, &c->v.hard, &c->v.soft};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_done(all[i]);
}

static void compare(const struct governance *g, const struct json *file, struct arena *a, size_t seen[32]) {
  struct comparison c;
  struct fault f;
  begin(&c);
  put_question(&c.text);
  const struct json *question = json_parse(a, buf_view(&c.text), &json_default_limits, &f);
  if (!question) fail_msg("%s: %.*s", f.message, STR_ARG(buf_view(&c.text)));
  naive_decide(file, question, &c.v, &c.expected);
  engine_decide(g, question, a, &c.found);
  if (!str_eq(buf_view(&c.expected), buf_view(&c.found)))
    fail_msg("%.*s\n%.*s\nexpected %.*s\nfound    %.*s", STR_ARG(json_span(file)), STR_ARG(buf_view(&c.text)),
             STR_ARG(buf_view(&c.expected)), STR_ARG(buf_view(&c.found)));
  for (int i = 0; i <= GOVERNANCE_FLOW_DENIED; i++)
    if (str_starts(buf_view(&c.found), str_of(governance_code_name((enum governance_code)i)))) seen[i]++;
  end(&c);
}

static void the_engine_decides_as_a_naive_evaluator_does(void **unused) {
  struct arena a, answers;
  struct buf b, problems;
  struct fault f;
  size_t seen[32] = {0};
  arena_init(&a);
  arena_init(&answers);
  buf_init(&b, 1 << 20);
  buf_init(&problems, 1 << 16);
  scratch = &answers;
  for (int i = 0; i < FILES; i++) {
    buf_reset(&b);
    put_file(&b);
    const struct json *file = json_parse(&a, buf_view(&b), &json_default_limits, &f);
    if (!file) fail_msg("%s: %.*s", f.message, STR_ARG(buf_view(&b)));
    struct governance *g = governance_read(file, governance_note, &problems);
    if (!g) fail_msg("%.*s\n%.*s", STR_ARG(buf_view(&problems)), STR_ARG(buf_view(&b)));
    for (int k = 0; k < QUESTIONS; k++) {
      compare(g, file, &answers, seen);
      arena_reset(&answers);
    }
    governance_unref(&g);
    arena_reset(&a);
  }
  // Every code occurs often enough to mean something.
  for (int i = 0; i <= GOVERNANCE_FLOW_DENIED; i++)
    if (seen[i] < 100) fail_msg("%s: %zu cases only", governance_code_name((enum governance_code)i), seen[i]);
  arena_done(&a);
  arena_done(&answers);
  buf_done(&b);
  buf_done(&problems);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_engine_decides_as_a_naive_evaluator_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

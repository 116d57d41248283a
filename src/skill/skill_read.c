// SPDX-License-Identifier: Apache-2.0
#include "skill/skill.h"

#include "base/ascii.h"
#include "schema/schema.h"
#include "json/canon.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct json_limits skill_limits = {8 << 20, GOVERNANCE_DEPTH_MAX, 1 << 18};

static bool is_word(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_alnum(s.p[i]) && s.p[i] != '_' && s.p[i] != '-') return false;
  return s.n > 0;
}

bool skill_is_id(str id) {
  str domain, name;
  if (id.n > SKILL_ID_MAX || !str_starts(id, STR("skill."))) return false;
  return str_cut(str_from(id, 6), '.', &domain, &name) && is_word(domain) && is_word(name);
}

// ---- values

static void read_skill_id(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  str id = STR("");
  json_string(v, r->arena, &id);
  if (skill_is_id(id)) *(str *)to = id;
  else governance_report(r, pointer, "must be skill.DOMAIN.NAME, at most %d bytes", SKILL_ID_MAX);
}

static void read_version(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  str version = STR("");
  json_string(v, r->arena, &version);
  bool ok = version.n && version.n <= 64;
  for (size_t i = 0; i < version.n; i++) ok = ok && (ascii_is_alnum(version.p[i]) || strchr(".-+_", version.p[i]));
  if (ok) *(str *)to = version;
  else governance_report(r, pointer, "must be a string of letters, digits, and .-+_, at most 64 bytes");
}

static void read_hash(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  str hash = STR("");
  json_string(v, r->arena, &hash);
  bool ok = hash.n == SKILL_HASH;
  for (size_t i = 0; i < hash.n; i++) ok = ok && (ascii_is_digit(hash.p[i]) || (hash.p[i] >= 'a' && hash.p[i] <= 'f'));
  if (ok) *(str *)to = hash;
  else governance_report(r, pointer, "must be a SHA-256 of %d lower-case hexadecimal digits", SKILL_HASH);
}

static void keep(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                 void *to) {
  *(const struct json **)to = v;
}

static void read_inputs(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  struct fault fault = {0};
  struct schema *s = schema_compile(v, &schema_default_options, &fault);
  if (s) *(const struct json **)to = v;
  else governance_report(r, arena_printf(r->arena, "%.*s%s", STR_ARG(pointer), fault.path), "%s", fault.message);
  schema_free(&s);
}

// ---- lists

#define AT(member) offsetof(struct skill_capability, member)
static void read_class(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  str name = STR("");
  json_string(v, r->arena, &name);
  enum capability_class class = capability_class_find(name);
  if (class != CLASS_NONE) *(uint8_t *)to = (uint8_t) class;
  else governance_report(r, pointer, "must be observe, recall, think_support, act or verify");
}

static void read_capability(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  static const struct governance_field fields[] = {
      {"capability_class", read_class, AT(class), true, NULL},
      {"name", governance_id, AT(name), true, NULL},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), into);
}
#undef AT

// Prose is a string; every other condition is an expression.
static void read_condition(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct skill_condition *c = into;
  c->text = v;
  if (v->type == JSON_STRING) return;
  if (v->type == JSON_OBJECT) governance_logic(r, pointer, v, NULL, &c->logic);
  else governance_report(r, pointer, "must be a sentence or a JsonLogic expression");
}

static void read_step(struct governance_reader *r, str pointer, const struct json *v, void *into) {
#define AT(member) offsetof(struct skill_step, member)
  static const struct governance_field fields[] = {
      {"id", governance_id, AT(id), true, NULL},
      {"capability", governance_id, AT(capability), false, NULL},
      {"skill", read_skill_id, AT(skill), false, NULL},
      {"args", governance_object_template, AT(args), false, NULL},
  };
#undef AT
  struct skill_step *s = into;
  *s = (struct skill_step){.id = STR(""), .pointer = pointer, .capability = STR_NONE, .skill = STR_NONE};
  governance_read_members(r, pointer, v, fields, COUNT(fields), s);
  if (!s->capability.p == !s->skill.p) governance_report(r, pointer, "needs either capability or skill");
  if (s->id.n && !is_word(s->id)) governance_report(r, pointer, "id must consist of letters, digits, _ and -");
}

struct lists {
  const struct json *capabilities, *before, *after, *steps;
};

// Reads a list of at most `max` elements; `v` is NULL if the list is absent.
static void *read_list(struct governance_reader *r, const char *name, const struct json *v, size_t max, size_t size,
                       void (*read)(struct governance_reader *r, str pointer, const struct json *v, void *into),
                       size_t *out_count) {
  str pointer = arena_printf(r->arena, "/%s", name);
  *out_count = 0;
  if (!v) return NULL;
  if (json_is(v, JSON_ARRAY) && v->count <= max) return governance_read_list(r, pointer, v, size, read, out_count);
  governance_report(r, pointer, "must be a list of at most %zu elements", max);
  return NULL;
}

static bool requires(const struct skill *s, str capability) {
  for (size_t i = 0; i < s->capability_count; i++)
    if (str_eq(s->capabilities[i].name, capability)) return true;
  return false;
}

static void check_steps(struct governance_reader *r, const struct skill *s) {
  struct governance_named ids[SKILL_STEPS_MAX];
  for (size_t i = 0; i < s->step_count; i++) {
    const struct skill_step *step = &s->steps[i];
    ids[i] = (struct governance_named){.id = step->id, .pointer = step->pointer};
    if (step->capability.p && !requires(s, step->capability))
      governance_report(r, step->pointer, "required_capabilities does not list the capability \"%.*s\"",
                        STR_ARG(step->capability));
  }
  governance_sort_unique(r, ids, s->step_count, "id");
}

static void read_lists(struct governance_reader *r, const struct lists *l, struct skill *s) {
  s->capabilities = read_list(r, "required_capabilities", l->capabilities, SKILL_CAPABILITIES_MAX,
                              sizeof *s->capabilities, read_capability, &s->capability_count);
  s->before = read_list(r, "preconditions", l->before, SKILL_CONDITIONS_MAX, sizeof *s->before, read_condition,
                        &s->before_count);
  s->after =
      read_list(r, "postconditions", l->after, SKILL_CONDITIONS_MAX, sizeof *s->after, read_condition, &s->after_count);
  s->steps = read_list(r, "steps", l->steps, SKILL_STEPS_MAX, sizeof *s->steps, read_step, &s->step_count);
  check_steps(r, s);
}

// ---- the file

static void read_root(struct governance_reader *r, const struct json *root, struct skill *s) {
  struct parts {
    struct skill skill;
    struct lists lists;
  } p = {.skill = {.fragment_ref = STR_NONE, .golden_ref = STR_NONE}};
#define AT(member) offsetof(struct parts, skill.member)
#define LIST(member) offsetof(struct parts, lists.member)
  static const struct governance_field fields[] = {
      {"skill_id", read_skill_id, AT(skill_id), true, NULL},
      {"version", read_version, AT(version), true, NULL},
      {"purpose", governance_text, AT(purpose), true, NULL},
      {"required_capabilities", keep, LIST(capabilities), true, NULL},
      {"preconditions", keep, LIST(before), false, NULL},
      {"postconditions", keep, LIST(after), false, NULL},
      {"steps", keep, LIST(steps), false, NULL},
      {"inputs", read_inputs, AT(inputs), false, NULL},
      {"output", governance_template, AT(output), false, NULL},
      {"tenants", governance_texts, AT(tenants), false, NULL},
      {"prompt_fragment_ref", governance_id, AT(fragment_ref), false, NULL},
      {"prompt_fragment_sha256", read_hash, AT(fragment_sha256), false, NULL},
      {"evaluation_set_ref", governance_id, AT(golden_ref), false, NULL},
      {"evaluation_set_sha256", read_hash, AT(golden_sha256), false, NULL},
      {"owner_role", governance_id, AT(owner_role), true, NULL},
  };
#undef AT
#undef LIST
  governance_read_members(r, STR(""), root, fields, COUNT(fields), &p);
  *s = p.skill;
  read_lists(r, &p.lists, s);
}

// Sets the canonical form of the file without its signatures, and its digest.
static bool canonise(const struct json *root, struct arena *a, struct skill *s, struct fault *f) {
  struct json_edit edit = {STR("signatures"), STR_NONE};
  unsigned char sha[SHA256_SIZE];
  struct buf b;
  const struct json *bare = json_parse(a, json_edited(a, root, &edit, 1), &skill_limits, f);
  if (!bare) return false;
  buf_init(&b, skill_limits.max_bytes);
  bool ok = json_canon(&b, bare, JSON_CANON_JCS, f) && !b.over;
  if (ok) {
    s->canonical = arena_str(a, buf_view(&b));
    hash_sha256(s->canonical, sha);
    hash_hex(sha, sizeof sha, s->digest);
  }
  buf_done(&b);
  return ok;
}

// Reads the members from the canonical form, so that the skill has the values that were signed.
const struct skill *skill_read(const struct json *root, struct arena *a, governance_problem *problem, void *ctx) {
  struct governance_reader r = {.arena = a, .problem = problem, .ctx = ctx};
  struct skill form = {.digest = ""}, *s = ARENA_NEW(a, struct skill);
  struct fault f;
  if (!json_is(root, JSON_OBJECT)) {
    problem(ctx, STR(""), "must be an object");
    return NULL;
  }
  const struct json *signed_root =
      canonise(root, a, &form, &f) ? json_parse(a, form.canonical, &skill_limits, &f) : NULL;
  if (!signed_root) {
    problem(ctx, STR(""), f.message);
    return NULL;
  }
  read_root(&r, signed_root, s);
  s->canonical = form.canonical;
  memcpy(s->digest, form.digest, sizeof s->digest);
  const struct json *signatures = json_get(root, STR("signatures"));
  s->signatures = signatures ? json_parse(a, arena_str(a, json_span(signatures)), &skill_limits, &f) : NULL;
  return r.failed ? NULL : s;
}

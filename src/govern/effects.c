// SPDX-License-Identifier: Apache-2.0
#include "govern/effects.h"

#include "govern/govern_impl.h"
#include "json/pointer.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const kinds[] = {"create", "update", "delete", NULL};

// ---- the manifest

static bool is_pointer(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1'))) return false;
  return str_starts(s, STR("/")) && governance_is_id(s);
}

static void read_pointer(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  str text = STR("");
  if (json_string(v, r->arena, &text) && is_pointer(text)) *(str *)to = text;
  else governance_report(r, pointer, "must be a JSON Pointer into the result, such as \"/structuredContent/id\"");
}

// Returns whether `v` is a list that is short enough.
static bool is_list(struct governance_reader *r, str pointer, const struct json *v) {
  bool ok = json_is(v, JSON_ARRAY) && v->count <= EFFECTS_DECLARED_MAX;
  if (!ok) governance_report(r, pointer, "must be a list of at most %d elements", EFFECTS_DECLARED_MAX);
  return ok;
}

static void read_evidence_item(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  static const struct governance_field fields[] = {
      {"name", governance_id, offsetof(struct governance_evidence, name), true, NULL},
      {"pointer", read_pointer, offsetof(struct governance_evidence, pointer), false, NULL},
  };
  struct governance_evidence *e = into;
  if (json_is(v, JSON_OBJECT)) governance_read_members(r, pointer, v, fields, COUNT(fields), e);
  else governance_id(r, pointer, v, NULL, &e->name);
}

void governance_read_evidence(struct governance_reader *r, str pointer, const struct json *v,
                              const struct governance_field *f, void *to) {
  struct governance_evidence_list *out = to;
  if (is_list(r, pointer, v))
    out->list = governance_read_list(r, pointer, v, sizeof *out->list, read_evidence_item, &out->count);
}

static void read_mutation_item(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  static const struct governance_field fields[] = {
      {"kind", governance_choice, offsetof(struct governance_mutation, kind), true, kinds},
      {"pointer", read_pointer, offsetof(struct governance_mutation, pointer), false, NULL},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), into);
}

void governance_read_mutations(struct governance_reader *r, str pointer, const struct json *v,
                               const struct governance_field *f, void *to) {
  struct governance_mutation_list *out = to;
  if (is_list(r, pointer, v))
    out->list = governance_read_list(r, pointer, v, sizeof *out->list, read_mutation_item, &out->count);
}

// ---- evidence

static const struct json *value_at(const struct json *result, str pointer) {
  const struct json *v = result ? json_pointer_find((struct json *)result, pointer) : NULL;
  return json_is(v, JSON_NULL) ? NULL : v;
}

bool effects_has_evidence(const struct governance_evidence *e, const struct json *result) {
  return !e->pointer.p || value_at(result, e->pointer);
}

void effects_put_evidence(struct buf *out, const struct effects_of *e) {
  struct json_writer w = {.out = out};
  const struct governance_evidence_list *all = &e->capability->evidence;
  for (size_t i = 0; i < all->count; i++)
    if (effects_has_evidence(&all->list[i], e->result)) json_put_str(&w, all->list[i].name);
}

void effects_put_places(struct buf *out, const struct effects_of *e) {
  struct json_writer w = {.out = out};
  const struct governance_evidence_list *all = &e->capability->evidence;
  for (size_t i = 0; i < all->count; i++)
    if (all->list[i].pointer.p && effects_has_evidence(&all->list[i], e->result))
      json_member_str(&w, all->list[i].name, all->list[i].pointer);
}

// ---- mutations

struct writing {
  const struct effects_of *e;
  struct json_writer w;
  struct arena *scratch;
  struct {
    str ref;
    enum mutation_kind kind;
  } list[MUTATIONS_MAX];
  size_t count;
};

static bool has_control(str s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return true;
  return false;
}

// Writes a mutation, unless it is too long, too many, or known already.
static void put(struct writing *x, str ref, enum mutation_kind kind, const char *source) {
  if (!ref.n || ref.n > MUTATION_REF_MAX || has_control(ref) || x->count == MUTATIONS_MAX) return;
  for (size_t i = 0; i < x->count; i++)
    if (x->list[i].kind == kind && str_eq(x->list[i].ref, ref)) return;
  x->list[x->count].ref = ref;
  x->list[x->count++].kind = kind;
  json_begin_object(&x->w);
  json_member_str(&x->w, STR("ref"), secrets_mask(x->scratch, ref, x->e->secrets));
  json_member_str(&x->w, STR("kind"), str_of(kinds[kind]));
  json_member_str(&x->w, STR("source"), str_of(source));
  json_end_object(&x->w);
}

static void put_value(struct writing *x, const struct json *v, enum mutation_kind kind, const char *source) {
  str ref = STR("");
  if (json_is(v, JSON_NUMBER)) ref = json_span(v);
  else if (json_is(v, JSON_STRING) && v->n <= 6 * MUTATION_REF_MAX) json_string(v, x->scratch, &ref);
  put(x, ref, kind, source);
}

static void put_values(struct writing *x, const struct json *list, enum mutation_kind kind) {
  size_t left = MUTATIONS_MAX;
  if (json_is_folded(list)) return;
  JSON_EACH(it, list) {
    if (!left--) return;
    put_value(x, it, kind, "result");
  }
}

// Writes the mutations that the result names where the manifest says.
static void put_declared(struct writing *x, str own) {
  const struct governance_mutation_list *all = &x->e->capability->mutations;
  for (size_t i = 0; i < all->count; i++) {
    const struct governance_mutation *m = &all->list[i];
    const struct json *v = m->pointer.p ? value_at(x->e->result, m->pointer) : NULL;
    if (!m->pointer.p) put(x, own, m->kind, "call");
    else if (!json_is(v, JSON_ARRAY)) put_value(x, v, m->kind, "result");
    else put_values(x, v, m->kind);
  }
}

// Writes the mutations that the server reports. Ignores malformed ones.
static void put_reported(struct writing *x) {
  const struct json *meta = json_get(x->e->result, STR("_meta"));
  const struct json *all =
      json_is(meta, JSON_OBJECT) && !json_is_folded(meta) ? json_get(meta, STR(MUTATIONS_META)) : NULL;
  size_t left = MUTATIONS_MAX;
  if (!json_is(all, JSON_ARRAY) || json_is_folded(all)) return;
  JSON_EACH(it, all) {
    const struct json *kind = json_is(it, JSON_OBJECT) && !json_is_folded(it) ? json_get(it, STR("kind")) : NULL;
    str name = STR("");
    if (!left--) return;
    json_string(kind, x->scratch, &name);
    for (int k = MUTATION_CREATE; k <= MUTATION_DELETE; k++)
      if (str_eq(name, str_of(kinds[k]))) put_value(x, json_get(it, STR("ref")), (enum mutation_kind)k, "server");
  }
}

void effects_put_mutations(struct buf *out, const struct effects_of *e, struct arena *scratch) {
  const struct governance_capability *c = e->capability;
  struct writing x = {.e = e, .w = {.out = out}, .scratch = scratch};
  if (e->repeated) return;
  str own = arena_printf(scratch, "%.*s#%.*s", STR_ARG(c->id), STR_ARG(e->tool_call_id));
  put_declared(&x, own);
  if (e->result) put_reported(&x);
  enum mutation_kind kind = c->mutations.count ? c->mutations.list[0].kind : MUTATION_UPDATE;
  if (!x.count && c->class == CLASS_ACT) put(&x, own, kind, "call");
}

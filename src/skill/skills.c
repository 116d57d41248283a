// SPDX-License-Identifier: Apache-2.0
#include "skill/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/file.h"
#include "skill/skill_sign.h"

struct skills *skills_new(void) {
  struct skills *s = MEM_NEW(struct skills);
  arena_init(&s->arena);
  return s;
}

void skills_free(struct skills **s) {
  struct skills *was = *s;
  *s = NULL;
  if (!was) return;
  arena_done(&was->arena);
  mem_free(was);
}

struct skill_entry *skills_add(struct skills *s, const struct skill *skill) {
  if (s->count == SKILLS_MAX) return NULL;
  struct skill_entry *e = &s->list[s->count++];
  *e = (struct skill_entry){.skill = skill, .fragment = STR_NONE, .golden = STR_NONE, .flaw = STR_NONE};
  return e;
}

void skills_set_flaw(struct skills *s, struct skill_entry *e, const char *fmt, ...) {
  char text[FAULT_TEXT];
  va_list ap;
  if (e->flaw.p) return;  // the first flaw is the cause
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  e->flaw = arena_str(&s->arena, str_of(text));
}

static struct skill_entry *find(const struct skills *s, str id, str version) {
  for (size_t i = 0; i < s->count; i++) {
    const struct skill_entry *e = &s->list[i];
    if (str_eq(e->skill->skill_id, id) && str_eq(e->skill->version, version)) return (struct skill_entry *)e;
  }
  return NULL;
}

void skills_prefer(struct skills *s, const struct skill_entry *e) {
  for (size_t i = 0; i < s->count; i++)
    if (str_eq(s->list[i].skill->skill_id, e->skill->skill_id)) s->list[i].active = &s->list[i] == e;
}

void skills_prefer_all(struct skills *s) {
  for (size_t i = 0; i < s->count; i++) skills_prefer(s, &s->list[i]);
}

void skills_note_activation(struct skills *s, str id, str version, str digest) {
  struct skill_entry *e = find(s, id, version);
  for (size_t i = 0; i < s->count; i++)
    if (str_eq(s->list[i].skill->skill_id, id)) s->list[i].active = false;
  if (!e) return;
  e->active = true;
  if (!str_eq(digest, str_of(e->skill->digest)))
    skills_set_flaw(s, e, "the version was activated with other content; give changed content a new version");
}

// ---- flaws

static bool same_hash(str text, str hex) {
  unsigned char sha[SHA256_SIZE];
  char digits[SKILL_HASH + 1];
  hash_sha256(text, sha);
  hash_hex(sha, sizeof sha, digits);
  return str_eq(hex, str_of(digits));
}

static void check_signed(struct skills *s, struct skill_entry *e, const struct governance *g) {
  struct fault f;
  const struct skill *k = e->skill;
  if (!skill_verify(k, g, &f)) skills_set_flaw(s, e, "%s", f.message);
  if (k->fragment_ref.p && (!e->fragment.p || !same_hash(e->fragment, k->fragment_sha256)))
    skills_set_flaw(s, e,
                    "the signature is not valid for the prompt fragment: it does not match "
                    "prompt_fragment_sha256");
  if (k->golden_ref.p && (!e->golden.p || !same_hash(e->golden, k->golden_sha256)))
    skills_set_flaw(s, e, "the signature is not valid for the golden set: it does not match evaluation_set_sha256");
}

static void check_versions(struct skills *s) {
  for (size_t i = 0; i < s->count; i++)
    for (size_t j = i + 1; j < s->count; j++) {
      struct skill_entry *a = &s->list[i], *b = &s->list[j];
      if (!str_eq(a->skill->skill_id, b->skill->skill_id) || !str_eq(a->skill->version, b->skill->version)) continue;
      static const char *const why = "two files have different content for this version";
      if (str_eq(str_of(a->skill->digest), str_of(b->skill->digest))) {
        skills_set_flaw(s, b, "another file has the same version");
        continue;
      }
      skills_set_flaw(s, a, "%s", why);
      skills_set_flaw(s, b, "%s", why);
    }
}

static bool is_permitted(const struct governance_capability *c) {
  for (size_t i = 0; i < c->permission_count; i++)
    if (c->permissions[i]->allow) return true;
  return false;
}

static void check_capabilities(struct skills *s, struct skill_entry *e, const struct governance *g) {
  for (size_t i = 0; i < e->skill->capability_count; i++) {
    const struct skill_capability *needed = &e->skill->capabilities[i];
    const struct governance_capability *c = governance_find(g, needed->name);
    if (!c) skills_set_flaw(s, e, "no adapter registers the capability %.*s", STR_ARG(needed->name));
    else if (c->class != needed->class)
      skills_set_flaw(s, e, "the capability %.*s has the class %s", STR_ARG(needed->name),
                      capability_class_name((enum capability_class)c->class));
    else if (!is_permitted(c)) skills_set_flaw(s, e, "no permission allows the capability %.*s", STR_ARG(needed->name));
  }
}

// Returns whether the nested skill serves every tenant that the outer one serves.
static bool serves_all(const struct skill *nested, const struct skill *outer) {
  if (!nested->tenants.list) return true;
  for (size_t i = 0; i < outer->tenants.count; i++)
    if (!skill_serves(nested, outer->tenants.list[i])) return false;
  return outer->tenants.list != NULL;
}

// Returns the error of the nested skills, or NULL. A cycle exceeds the depth.
static const char *check_nested(const struct skills *s, const struct skill *k, int depth) {
  if (depth > SKILL_DEPTH_MAX) return "skills are nested more than 3 levels deep, or in a cycle";
  for (size_t i = 0; i < k->step_count; i++) {
    if (!k->steps[i].skill.p) continue;
    const struct skill_entry *below = skills_active(s, k->steps[i].skill);
    if (below && !serves_all(below->skill, k)) return "a nested skill does not serve all tenants of this skill";
    if (below && !below->skill->step_count) return "a nested skill has no steps";
    const char *why = below ? check_nested(s, below->skill, depth + 1) : NULL;
    if (why) return why;
  }
  return NULL;
}

void skills_settle(struct skills *s, const struct governance *g) {
  for (size_t i = 0; i < s->count; i++) {
    check_signed(s, &s->list[i], g);
    check_capabilities(s, &s->list[i], g);
  }
  check_versions(s);
  for (size_t i = 0; i < s->count; i++) {
    const char *why = check_nested(s, s->list[i].skill, 1);
    if (why) skills_set_flaw(s, &s->list[i], "%s", why);
  }
}

// ---- lookups

const struct skill_entry *skills_active(const struct skills *s, str id) {
  for (size_t i = 0; i < s->count; i++)
    if (s->list[i].active && str_eq(s->list[i].skill->skill_id, id)) return &s->list[i];
  return NULL;
}

const struct skill_entry *skills_find(const struct skills *s, str id, str version) {
  return find(s, id, version);
}

bool skill_serves(const struct skill *s, str tenant) {
  return governance_names_have(&s->tenants, tenant);
}

static bool each(const struct skills *s, const struct skill_entry *e, int depth, skill_visit *visit, void *ctx) {
  const struct skill *k = e->skill;
  if (depth > SKILL_DEPTH_MAX || e->flaw.p) return false;
  for (size_t i = 0; i < k->capability_count; i++)
    if (!visit(ctx, &k->capabilities[i])) return false;
  for (size_t i = 0; i < k->step_count; i++) {
    if (!k->steps[i].skill.p) continue;
    const struct skill_entry *below = skills_active(s, k->steps[i].skill);
    if (!below || !each(s, below, depth + 1, visit, ctx)) return false;
  }
  return true;
}

bool skills_each_capability(const struct skills *s, const struct skill_entry *e, skill_visit *visit, void *ctx) {
  return each(s, e, 1, visit, ctx);
}

struct highest {
  const struct governance *governance;
  enum approval_mode mode;
  bool provisional;  // for at least one capability
};

static bool raise(void *ctx, const struct skill_capability *needed) {
  struct highest *h = ctx;
  const struct governance_capability *c = governance_find(h->governance, needed->name);
  if (c && c->mode > h->mode) h->mode = (enum approval_mode)c->mode;
  h->provisional |= c && c->provisional;
  return true;
}

enum approval_mode skills_mode(const struct skills *s, const struct skill_entry *e, const struct governance *g,
                               bool *out_provisional) {
  struct highest h = {g, APPROVAL_READ_ONLY, false};
  skills_each_capability(s, e, raise, &h);
  *out_provisional = h.provisional;
  return h.mode;
}

// ---- use

static bool is_same(const struct skill_file *file, struct fault *f) {
  struct buf text;
  unsigned char sha[SHA256_SIZE];
  int fd = open(file->path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    fault_set(f, FAULT_SKILL_UNAVAILABLE, "%s cannot be read: %s", file->path.p, strerror(errno));
    return false;
  }
  buf_init(&text, SKILL_GOLDEN_MAX);
  bool ok = file_read(fd, SKILL_GOLDEN_MAX, &text, f);
  close(fd);
  if (ok) {
    hash_sha256(buf_view(&text), sha);
    ok = !memcmp(sha, file->sha256, sizeof sha);
  }
  buf_done(&text);
  if (!ok) fault_set(f, FAULT_SKILL_UNAVAILABLE, "%s was changed after its signature was verified", file->path.p);
  return ok;
}

bool skill_files_same(const struct skill_file *files, size_t count, struct fault *f) {
  for (size_t i = 0; i < count; i++)
    if (!is_same(&files[i], f)) return false;
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// Reads the skills that a governance file names, and the record of their activations in state_dir. A skill with an
// error is left out with a warning, so that it does not keep a new governance file from taking effect.
#include <errno.h>
#include <glob.h>
#include <unistd.h>

#include "app/config/config_load.h"
#include "io/file.h"
#include "skill/golden.h"

enum { ACTIVATIONS_MAX = 4 << 20 };

struct skill_reading {
  struct config_loader *loader;
  str file;
  bool failed;
};

// ---- files

static bool open_softly(struct config_loader *l, str path, size_t max, bool parsed, struct config_document *out) {
  return config_open_softly(l, path, STR("skills"), max, parsed, out);
}

static void note_file(struct skills *s, struct skill_entry *e, str path, const unsigned char sha[SHA256_SIZE]) {
  struct skill_file *file = &e->files[e->file_count++];
  file->path = arena_str(&s->arena, path);
  memcpy(file->sha256, sha, SHA256_SIZE);
}

// Reads a file that the skill refers to. Returns STR_NONE if it cannot be read.
static str read_other(struct config_loader *l, struct skills *s, struct skill_entry *e, str ref, str folder,
                      size_t max) {
  struct config_document d;
  unsigned char sha[SHA256_SIZE];
  if (!ref.p) return STR_NONE;
  str path = config_path(l, ref, folder, &l->work);
  if (!open_softly(l, path, max, false, &d)) return STR_NONE;
  str text = arena_str(&s->arena, (str){d.text, d.text_n});
  hash_sha256(text, sha);
  note_file(s, e, d.file, sha);
  config_document_done(&d);
  return text;
}

// Computes the SHA-256 of the bytes of a file. The text of a parsed file cannot be used,
// because config_document_parse changes it.
static bool hash_file(struct config_loader *l, str path, unsigned char out[SHA256_SIZE]) {
  struct config_document d;
  if (!open_softly(l, path, SKILL_BYTES_MAX, false, &d)) return false;
  hash_sha256((str){d.text, d.text_n}, out);
  config_document_done(&d);
  return true;
}

static void on_problem(void *ctx, str pointer, const char *message) {
  struct skill_reading *r = ctx;
  r->failed = true;
  config_warn(r->loader, &(struct config_place){r->file, pointer}, "%s; the skill is left out", message);
}

struct skill_entry *config_skill_read(struct config_loader *l, struct skills *s, str path) {
  struct config_document d;
  unsigned char sha[SHA256_SIZE];
  if (!hash_file(l, path, sha) || !open_softly(l, path, SKILL_BYTES_MAX, true, &d)) return NULL;
  struct skill_reading r = {l, d.file, false};
  const struct skill *skill = skill_read(d.root, &s->arena, on_problem, &r);
  struct skill_entry *e = skill ? skills_add(s, skill) : NULL;
  if (skill && !e)
    config_warn(l, &(struct config_place){d.file, STR_NONE}, "there are more than %d skills", SKILLS_MAX);
  if (e) {
    note_file(s, e, d.file, sha);
    e->fragment = read_other(l, s, e, skill->fragment_ref, d.folder, SKILL_FRAGMENT_MAX);
    e->golden = read_other(l, s, e, skill->golden_ref, d.folder, SKILL_GOLDEN_MAX);
  }
  config_document_done(&d);
  return e;
}

// ---- activations

static void note_line(struct config_loader *l, struct skills *s, str line) {
  struct fault f;
  str id, version, digest;
  const struct json *v = json_parse(&l->work, arena_str(&l->work, line), &skill_limits, &f);
  if (v && json_string(json_get(v, STR("skill_id")), &l->work, &id) &&
      json_string(json_get(v, STR("version")), &l->work, &version) &&
      json_string(json_get(v, STR("sha256")), &l->work, &digest))
    skills_note_activation(s, id, version, digest);
}

static void read_activations(struct config_loader *l, struct skills *s) {
  struct config_document d;
  str rest, line;
  if (!l->config->state_dir.n) return;
  str path = arena_printf(&l->work, "%.*s/" CONFIG_SKILLS_FILE, STR_ARG(l->config->state_dir));
  config_file_seen(l, path);
  if (access(path.p, F_OK) != 0 || !open_softly(l, path, ACTIVATIONS_MAX, false, &d)) return;
  for (rest = (str){d.text, d.text_n}; rest.n;) {
    str_cut(rest, '\n', &line, &rest);
    if (str_trim(line).n) note_line(l, s, line);
  }
  config_document_done(&d);
}

// ---- all skills

static void read_pattern(struct config_loader *l, struct skills *s, str pattern, const struct config_document *g,
                         size_t index) {
  glob_t found = {0};
  struct config_place at = {g->file, arena_printf(&l->work, "/skills/%zu", index)};
  str path = config_path(l, pattern, g->folder, &l->work);
  int failed = glob(path.p, 0, NULL, &found);
  if (failed == GLOB_NOMATCH) config_warn(l, &at, "no file matches %.*s", STR_ARG(path));
  else if (failed) config_warn(l, &at, "cannot be read: %s", strerror(errno));
  for (size_t i = 0; !failed && i < found.gl_pathc; i++) config_skill_read(l, s, str_of(found.gl_pathv[i]));
  globfree(&found);
}

// Reads the skill file that the command line names, unless a pattern of the governance file has already matched it. The
// version in this file counts as active, so that it can be tested.
static void read_chosen(struct config_loader *l, struct skills *s, const char *path) {
  const struct skill_entry *chosen = NULL;
  for (size_t i = 0; i < s->count; i++)
    if (file_is_same(s->list[i].files[0].path.p, path)) chosen = &s->list[i];
  if (!chosen) chosen = config_skill_read(l, s, str_of(path));
  if (chosen) skills_prefer(s, chosen);
}

// Runs the golden set of an active version, and warns if it fails now, for example because a permission has changed.
static void report_regression(struct config_loader *l, struct skills *s, const struct governance *g,
                              struct skill_entry *e) {
  struct config_place at = {e->files[0].path, STR_NONE};
  if (!e->active || e->flaw.p || !e->golden.n) return;
  golden_test(s, g, e);
  if (e->failed)
    config_warn(l, &at, "the golden set of the active skill %.*s@%.*s fails now (%zu of %zu cases); owner: %.*s",
                STR_ARG(e->skill->skill_id), STR_ARG(e->skill->version), e->failed, e->cases,
                STR_ARG(e->skill->owner_role));
}

void config_skills_read(struct config_loader *l, struct governance *g, const struct config_document *d) {
  const struct governance_names *patterns = governance_skill_files(g);
  const char *chosen = l->opt->skill;
  if (!patterns->count && !chosen) return;
  struct skills *s = skills_new();
  for (size_t i = 0; i < patterns->count; i++) read_pattern(l, s, patterns->list[i], d, i);
  if (l->config) read_activations(l, s);
  else skills_prefer_all(s);
  if (chosen) read_chosen(l, s, chosen);
  skills_settle(s, g);
  for (size_t i = 0; i < s->count; i++)
    if (s->list[i].flaw.p)
      config_warn(l, &(struct config_place){s->list[i].files[0].path, STR_NONE},
                  "the skill %.*s@%.*s cannot be used: %.*s", STR_ARG(s->list[i].skill->skill_id),
                  STR_ARG(s->list[i].skill->version), STR_ARG(s->list[i].flaw));
  for (size_t i = 0; i < s->count && !chosen && l->config; i++) report_regression(l, s, g, &s->list[i]);
  governance_keep_skills(g, s, skills_free);
}

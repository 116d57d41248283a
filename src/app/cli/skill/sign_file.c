// SPDX-License-Identifier: Apache-2.0
#include "app/cli/skill/sign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/yaml.h"
#include "base/clock.h"
#include "io/file.h"
#include "skill/skill_sign.h"
#include "json/edit/relaxed.h"
#include "json/write.h"

enum { MEMBERS = 3 };

struct signing {
  const char *path;
  bool yaml;
  str text;
  struct arena *arena;
  struct fault *fault;
};

static bool read_text(const char *path, size_t max, struct arena *a, str *out, struct fault *f) {
  struct buf b;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, FAULT_IO, "%s: %s", path, strerror(errno));
    return false;
  }
  buf_init(&b, max);
  bool ok = file_read(fd, max, &b, f);
  if (ok) *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  close(fd);
  return ok;
}

static const struct json *parse(const struct signing *s, str text) {
  if (s->yaml) {
    struct buf b;
    buf_init(&b, skill_limits.max_bytes);
    bool ok = yaml_to_json(text, &b, s->fault);
    text = arena_str(s->arena, buf_view(&b));
    buf_done(&b);
    if (!ok) return NULL;
  } else {
    text = arena_str(s->arena, text);
    json_relax((char *)text.p, text.n);
  }
  return json_parse(s->arena, text, &skill_limits, s->fault);
}

// ---- edits

// Copies YAML text without the top-level members that the edits name, and appends these members.
static void edit_yaml(str text, const struct json_edit *edits, struct buf *out) {
  bool dropping = false;
  for (str line, rest = text; rest.n;) {
    str_cut(rest, '\n', &line, &rest);
    bool top = line.n && line.p[0] != ' ' && line.p[0] != '\t' && line.p[0] != '#' && line.p[0] != '-';
    if (top) dropping = false;
    for (size_t i = 0; i < MEMBERS && top; i++)
      dropping |= str_starts(line, edits[i].key) && str_starts(str_from(line, edits[i].key.n), STR(":"));
    if (!dropping) buf_printf(out, "%.*s\n", STR_ARG(line));
  }
  for (size_t i = 0; i < MEMBERS; i++)
    if (edits[i].raw.p) buf_printf(out, "%.*s: %.*s\n", STR_ARG(edits[i].key), STR_ARG(edits[i].raw));
}

// Returns the text of the file after the edits.
static str edited(const struct signing *s, const struct json *root, const struct json_edit *edits) {
  struct buf b;
  if (!s->yaml) return json_edited(s->arena, root, edits, MEMBERS);
  buf_init(&b, SKILL_BYTES_MAX);
  edit_yaml(s->text, edits, &b);
  str text = arena_str(s->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// Sets *out to the JSON string with the SHA-256 of the file that a member names, or to STR_NONE without this member.
static bool hash_other(const struct signing *s, const struct json *root, const char *member, size_t max, str *out) {
  str ref, text;
  unsigned char sha[SHA256_SIZE];
  char hex[SKILL_HASH + 1];
  *out = STR_NONE;
  if (!json_string(json_get(root, str_of(member)), s->arena, &ref)) return true;
  str folder = str_of(dirname(arena_cstr(s->arena, str_of(s->path))));
  str path = str_starts(ref, STR("/")) ? arena_str(s->arena, ref)
                                       : arena_printf(s->arena, "%.*s/%.*s", STR_ARG(folder), STR_ARG(ref));
  if (!read_text(path.p, max, s->arena, &text, s->fault)) return false;
  hash_sha256(text, sha);
  hash_hex(sha, sizeof sha, hex);
  *out = arena_printf(s->arena, "\"%s\"", hex);
  return true;
}

// ---- signing

static void on_problem(void *ctx, str pointer, const char *message) {
  struct signing *s = ctx;
  if (s->fault->code == FAULT_NONE)
    fault_set(s->fault, FAULT_INVALID, "%s:%.*s: %s", s->path, STR_ARG(pointer), message);
}

static const struct skill *read_skill(struct signing *s, str text) {
  const struct json *root = parse(s, text);
  return root ? skill_read(root, s->arena, on_problem, s) : NULL;
}

static str make_signature(const struct skill *skill, const struct ed25519 *key, int64_t now, struct arena *a) {
  char at[CLOCK_TEXT];
  clock_print_second(now, at);
  return arena_printf(a, "[{\"alg\": \"EdDSA\", \"kid\": \"%.*s\", \"sig\": \"%.*s\", \"signed_at\": \"%s\"}]",
                      STR_ARG(skill_key_id(key, a)), STR_ARG(skill_key_sign(key, skill->canonical, a)), at);
}

static bool write_back(const struct signing *s, str text) {
  char *folder = dirname(arena_cstr(s->arena, str_of(s->path)));
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    fault_set(s->fault, FAULT_IO, "%s: %s", folder, strerror(errno));
    return false;
  }
  const char *name = arena_cstr(s->arena, str_base_name(str_of(s->path)));
  struct stat st;
  bool known = fstatat(fd, name, &st, 0) == 0;
  bool ok = file_write(fd, name, text, false, &rand_system, s->fault);
  // Restores the mode: file_write makes a file that only its owner can read.
  if (ok && known && fchmodat(fd, name, st.st_mode & 0777, 0) != 0) {
    fault_set(s->fault, FAULT_IO, "%s: %s", s->path, strerror(errno));
    ok = false;
  }
  close(fd);
  return ok;
}

bool sign_file(const char *path, const struct ed25519 *key, int64_t now, struct arena *a, struct fault *f) {
  struct signing s = {.path = path, .arena = a, .fault = f};
  struct json_edit edits[MEMBERS] = {{STR("prompt_fragment_sha256"), STR_NONE},
                                     {STR("evaluation_set_sha256"), STR_NONE},
                                     {STR("signatures"), STR_NONE}};
  str name = str_of(path);
  *f = (struct fault){0};
  s.yaml = str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"));
  if (!read_text(path, SKILL_BYTES_MAX, a, &s.text, f)) return false;
  const struct json *root = parse(&s, s.text);
  if (!root) return false;
  if (!hash_other(&s, root, "prompt_fragment_ref", SKILL_FRAGMENT_MAX, &edits[0].raw)) return false;
  if (!hash_other(&s, root, "evaluation_set_ref", SKILL_GOLDEN_MAX, &edits[1].raw)) return false;
  const struct skill *bare = read_skill(&s, edited(&s, root, edits));
  if (!bare) return false;
  edits[2].raw = make_signature(bare, key, now, a);
  str text = edited(&s, root, edits);
  const struct skill *made = read_skill(&s, text);
  if (made && made->signatures && str_eq(made->canonical, bare->canonical)) return write_back(&s, text);
  if (f->code == FAULT_NONE)
    fault_set(f, FAULT_INVALID, "%s: cannot be edited; write its members as a block mapping, or use JSON", path);
  return false;
}

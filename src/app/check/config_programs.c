// SPDX-License-Identifier: Apache-2.0
// Checks whether the programs of servers can be started. Only used by `check`: `serve` starts the programs and reports
// failures.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/config_load.h"
#include "io/process/guard_priv.h"

struct program {
  struct config_loader *l;
  const struct upstream_spec *spec;
  str folder;  // folder to which relative paths refer
};

static bool has_slash(str command) {
  return memchr(command.p, '/', command.n) != NULL;
}

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

// Returns PATH from the "env" of the server's entry, or STR_NONE.
static str own_path(const struct upstream_spec *s) {
  for (size_t i = 0; i < s->env_count; i++)
    if (str_eq(s->env[i].name, STR("PATH"))) return s->env[i].value;
  return STR_NONE;
}

// Returns the value of PATH that the child process will have.
static str child_path(const struct program *p) {
  str own = own_path(p->spec), ours = config_env(p->l, STR("PATH"));
  return own.p ? own : ours.p ? ours : STR(GUARD_DEFAULT_PATH);
}

// Finds a program in PATH. Resolves relative folders in PATH from the working directory of the child. Skips empty
// folders.
static str find_in_path(const struct program *p, str name) {
  ASSERT(name.n && !has_slash(name));
  str rest = child_path(p), folder, cwd = p->spec->cwd;
  while (rest.n) {
    if (!str_cut(rest, ':', &folder, &rest)) rest = STR_NONE;
    if (!folder.n) continue;
    bool moved = cwd.n && folder.p[0] != '/';
    str file = arena_printf(&p->l->work, "%.*s%s%.*s/%.*s", STR_ARG(moved ? cwd : STR("")), moved ? "/" : "",
                            STR_ARG(folder), STR_ARG(name));
    if (is_program(file.p)) return file;
  }
  return STR_NONE;
}

static str find(const struct program *p, str command) {
  if (!has_slash(command)) return command.n ? find_in_path(p, command) : STR_NONE;
  str path = config_path(p->l, command, p->folder, &p->l->work);
  return is_program(path.p) ? path : STR_NONE;
}

static bool is_found(const struct program *p, str command) {
  return find(p, command).n > 0;
}

str config_program_find(struct config_loader *l, const struct upstream_spec *spec, str command, str folder) {
  struct program p = {l, spec, folder};
  return find(&p, command);
}

// Reports that PATH does not contain the program. Prints the PATH of this process, but never a PATH from the
// configuration: values of configured variables may be secret.
static void report_path(const struct program *p, const struct config_place *at) {
  str path = child_path(p);
  if (own_path(p->spec).p) config_unworkable(p->l, at, "there is no such program in the PATH that its \"env\" sets");
  else config_unworkable(p->l, at, "there is no such program in PATH (%.*s)", STR_ARG(path));
}

static void report_file(const struct program *p, const struct config_place *at, str command) {
  bool relative = !str_starts(command, STR("/")) && !str_starts(command, STR("~/"));
  const char *from = relative ? arena_printf(&p->l->work, " (relative to %.*s)", STR_ARG(p->folder)).p : "";
  if (access(arena_cstr(&p->l->work, p->spec->command), F_OK) != 0)
    config_unworkable(p->l, at, "there is no such file%s", from);
  else config_unworkable(p->l, at, "is not a program: not a file, or not executable (chmod +x)");
}

static void check_command(const struct program *p, const struct config_place *at, str command) {
  str first, rest;
  if (is_found(p, command)) return;
  if (str_cut(command, ' ', &first, &rest) && is_found(p, first))
    config_unworkable(p->l, at, "must be only the program \"%.*s\": write arguments in \"args\"", STR_ARG(first));
  else if (has_slash(command)) report_file(p, at, command);
  else report_path(p, at);
}

static void check_cwd(struct config_loader *l, const struct config_place *at, str cwd) {
  struct stat st;
  const char *path = arena_cstr(&l->work, cwd);
  int error = stat(path, &st) != 0 ? errno : !S_ISDIR(st.st_mode) ? ENOTDIR : access(path, X_OK) != 0 ? errno : 0;
  if (error == ENOENT) config_unworkable(l, at, "there is no such folder");
  else if (error) config_unworkable(l, at, "cannot be entered: %s", strerror(error));
}

void config_program_check(struct config_loader *l, const struct config_place *at, const struct upstream_spec *spec,
                          str command, str folder) {
  struct program p = {l, spec, folder};
  struct config_place command_at = config_below(l, at, STR("command")), cwd_at = config_below(l, at, STR("cwd"));
  check_command(&p, &command_at, command);
  if (spec->cwd.n) check_cwd(l, &cwd_at, spec->cwd);
}

// SPDX-License-Identifier: Apache-2.0
// Records problems with their places, and reads the environment and files.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/config_load.h"
#include "app/config/foreign.h"
#include "app/config/yaml.h"
#include "base/ascii.h"
#include "base/crypto/locked.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "json/edit/relaxed.h"
#include "json/pointer.h"

enum {
  MAX_PROBLEMS = 1000,
  MAX_EXPANDED = 128 * 1024,  // maximum bytes of an expanded text; the limit of Linux for one argument
  MAX_HOST = 253,
  MAX_FILES = 300,  // maximum number of recorded files: one for each server, and Toolgate's own files
};

// ---- problems ----

void config_problems_init(struct config_problems *p) {
  *p = (struct config_problems){0};
  arena_init(&p->arena);
}

void config_problems_done(struct config_problems *p) {
  mem_free(p->list);
  arena_done(&p->arena);
  config_problems_init(p);
}

bool config_problems_fatal(const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++)
    if (!p->list[i].warning) return true;
  return false;
}

int config_problems_status(const struct config_problems *p) {
  bool unworkable = false;
  for (size_t i = 0; i < p->count; i++) unworkable |= p->list[i].unworkable;
  return p->usage ? 2 : config_problems_fatal(p) || unworkable ? 1 : 0;
}

// Copies a text without control characters, so that a file cannot forge a line of output or move the cursor.
static str one_line_copy(struct arena *a, str s) {
  char *p = arena_cstr(a, s);
  str_mask_controls(p, s.n);
  return (str){p, s.n};
}

__attribute__((format(printf, 2, 0))) static str format(struct arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  size_t len = n < 0 ? 0 : (size_t)n;
  char *p = arena_alloc(a, len + 1);
  vsnprintf(p, len + 1, fmt, again);
  va_end(again);
  str_mask_controls(p, len);
  return (str){p, len};
}

bool config_is_full(const struct config_loader *l) {
  return l->problems->count >= MAX_PROBLEMS;
}

void config_report(struct config_loader *l, const struct config_place *at, bool warning, const char *fmt, va_list ap) {
  struct config_problems *p = l->problems;
  // If the list is full, drops the problem, unless it is the first error, which is always recorded.
  if (config_is_full(l) && (warning || config_problems_fatal(p))) return;
  if (p->count == p->cap) {
    p->cap = p->cap ? p->cap * 2 : 8;
    p->list = mem_grow(p->list, p->cap * sizeof *p->list);
  }
  ASSERT(p->count < p->cap);
  struct config_problem *it = &p->list[p->count++];
  it->file = one_line_copy(&p->arena, at->file);
  it->pointer = one_line_copy(&p->arena, at->pointer);
  it->message = format(&p->arena, fmt, ap);
  it->warning = warning;
  it->left_out = it->unworkable = false;
  it->cause = 0;
}

void config_error(struct config_loader *l, const struct config_place *at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  config_report(l, at, false, fmt, ap);
  va_end(ap);
}

void config_warn(struct config_loader *l, const struct config_place *at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  config_report(l, at, true, fmt, ap);
  va_end(ap);
}

void config_unworkable(struct config_loader *l, const struct config_place *at, const char *fmt, ...) {
  size_t before = l->problems->count;
  va_list ap;
  va_start(ap, fmt);
  config_report(l, at, true, fmt, ap);
  va_end(ap);
  if (l->problems->count > before) l->problems->list[before].unworkable = true;
}

void config_left_out(struct config_loader *l, const struct config_place *at, size_t cause) {
  size_t before = l->problems->count;
  config_warn(l, at, "this server is left out");
  if (l->problems->count == before) return;
  l->problems->list[before].left_out = true;
  l->problems->list[before].cause = cause <= before ? cause : 0;
}

struct config_place config_below(struct config_loader *l, const struct config_place *at, str token) {
  return (struct config_place){at->file, json_pointer_below(&l->work, at->pointer, token)};
}

struct config_place config_below_index(struct config_loader *l, const struct config_place *at, size_t index) {
  return config_below(l, at, arena_printf(&l->work, "%zu", index));
}

// ---- suggestions for misspelled words ----

const char *config_nearest_hint(struct config_loader *l, const struct nearest *n) {
  return n->best.p ? arena_printf(&l->work, "; did you mean \"%.*s\"?", STR_ARG(n->best)).p : "";
}

// ---- environment ----

str config_env(const struct config_loader *l, str name) {
  return str_env(l->env, name);
}

static size_t name_length(str s) {
  size_t n = 0;
  while (n < s.n && (s.p[n] == '_' || ascii_is_letter(s.p[n]) || (n > 0 && ascii_is_digit(s.p[n])))) n++;
  return n;
}

// Returns the length of "${" or "${env:" at the start of `s`, or 0. ${env:NAME}, which editors use, means the same as
// ${NAME}. In ${env:-default}, "env" is the name of the variable.
static size_t opening(str s) {
  if (!str_starts(s, STR("${"))) return 0;
  return str_starts(s, STR("${env:")) && name_length(str_from(s, 6)) ? 6 : 2;
}

size_t config_reference(str s, str *out_name, str *out_default) {
  size_t head = opening(s);
  if (!head) return 0;
  str rest = str_from(s, head);
  size_t n = name_length(rest);
  if (n == 0 || n == rest.n) return 0;
  *out_name = (str){rest.p, n};
  *out_default = STR_NONE;
  if (rest.p[n] == '}') return head + n + 1;
  if (!str_starts(str_from(rest, n), STR(":-"))) return 0;
  str value = str_from(rest, n + 2), tail;
  if (!str_cut(value, '}', out_default, &tail) || memmem(out_default->p, out_default->n, "${", 2)) return 0;
  return head + n + 2 + out_default->n + 1;
}

bool config_has_odd_reference(str text) {
  str name, preset;
  for (size_t at = 0, n; at < text.n; at += n ? n : 1) {
    str rest = str_from(text, at);
    n = config_reference(rest, &name, &preset);
    if (!n && str_starts(rest, STR("${"))) return true;
  }
  return false;
}

bool config_expand(struct config_loader *l, str text, struct arena *a, str *out, str *out_why) {
  struct buf b;
  buf_init(&b, MAX_EXPANDED);
  str name = STR_NONE, preset, missing = STR_NONE;
  for (size_t at = 0, n; at < text.n && !missing.p; at += n ? n : 1) {
    n = config_reference(str_from(text, at), &name, &preset);
    str value = n ? config_env(l, name) : (str){text.p + at, 1};
    // As in a shell, the default after ":-" is also used if the variable is empty.
    if (n && preset.p && value.n == 0) value = preset;
    if (n && !value.p) missing = name;
    buf_str(&b, value);
  }
  bool ok = !missing.p && !b.over;
  if (ok) *out = arena_str(a, buf_view(&b));
  else if (missing.p)
    *out_why = arena_printf(&l->work, "uses ${%.*s}, which is not set in the environment", STR_ARG(missing));
  else *out_why = STR("is too long once its variables are expanded");
  buf_wipe(&b);
  return ok;
}

str config_path(struct config_loader *l, str path, str folder, struct arena *a) {
  str home = config_env(l, STR("HOME"));
  if (str_starts(path, STR("~/")) && home.n)
    return arena_printf(a, "%.*s%.*s", STR_ARG(home), STR_ARG(str_from(path, 1)));
  if (str_starts(path, STR("/")) || !folder.n) return arena_str(a, path);
  return arena_printf(a, "%.*s/%.*s", STR_ARG(folder), STR_ARG(path));
}

// ---- names of servers ----

enum { MAX_NAME = 64 };

bool config_has_control(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f) return true;
  return false;
}

const char *config_name_wrong(str name) {
  _Static_assert(MAX_NAME == 64, "the message says so");
  if (!name.n || utf8_count(name) > MAX_NAME) return "a name has 1 to 64 characters";
  if (config_has_control(name) || memchr(name.p, '\t', name.n)) return "a name must not contain control characters";
  return NULL;
}

// Converts a character of a server's name for names of tools: to lower case, or to _ if names of tools must not contain
// it.
static char fold(char c) {
  return ascii_is_alnum(c) || c == '-' ? ascii_lower(c) : '_';
}

bool config_same_name(str a, str b) {
  if (a.n != b.n) return false;
  for (size_t i = 0; i < a.n; i++)
    if (fold(a.p[i]) != fold(b.p[i])) return false;
  return true;
}

// ---- hosts ----

// Copies the host as a C string. Returns false if the text is empty, longer than any host, or contains a NUL.
static bool host_text(str host, char out[MAX_HOST + 1]) {
  if (host.n == 0 || host.n > MAX_HOST || memchr(host.p, 0, host.n)) return false;
  memcpy(out, host.p, host.n);
  out[host.n] = 0;
  return true;
}

bool config_is_loopback(str host) {
  char text[MAX_HOST + 1];
  unsigned char address[16];
  if (str_eq_nocase(host, STR("localhost"))) return true;
  if (!host_text(host, text)) return false;
  if (inet_pton(AF_INET, text, address) == 1) return address[0] == 127;
  return inet_pton(AF_INET6, text, address) == 1 && memcmp(address, &in6addr_loopback, 16) == 0;
}

bool config_is_host(str host) {
  char text[MAX_HOST + 1];
  unsigned char address[16];
  if (!host_text(host, text)) return false;
  if (inet_pton(AF_INET6, text, address) == 1) return true;
  for (size_t i = 0; i < host.n; i++) {
    char c = text[i];
    if (!ascii_is_alnum(c) && c != '-' && c != '.' && c != '_') return false;
  }
  return true;
}

str config_in_url(str host, struct arena *a) {
  bool v6 = config_is_host(host) && memchr(host.p, ':', host.n);
  return v6 ? arena_printf(a, "[%.*s]", STR_ARG(host)) : host;
}

// ---- files ----

void config_file_seen(struct config_loader *l, str path) {
  struct config *c = l->config;
  if (!c) return;  // NULL if only a governance file is read
  for (size_t i = 0; i < c->file_count; i++)
    if (str_eq(c->files[i].path, path)) return;
  if (!c->files) c->files = ARENA_ARRAY(&c->arena, struct config_file, MAX_FILES);
  const char *name = arena_cstr(&c->arena, path);
  if (c->file_count < MAX_FILES) c->files[c->file_count++] = (struct config_file){str_of(name), file_state_of(name)};
}

static size_t max_file(const struct config_loader *l) {
  return l->max_file ? l->max_file : CONFIG_MAX_FILE;
}

// Reads the whole file. On failure returns false and sets errno, to EFBIG if the file is larger than `max` bytes.
static bool read_all(int fd, size_t max, struct config_document *d) {
  ASSERT(!d->text && d->text_n == 0);
  d->text = mem_alloc(max + 1);
  while (d->text_n <= max) {
    ssize_t k = read(fd, d->text + d->text_n, max + 1 - d->text_n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return false;
    if (k == 0) return true;
    d->text_n += (size_t)k;
  }
  errno = EFBIG;
  return false;
}

// Returns whether this is a regular file or a device. Other files are refused, because reading them could wait. Devices
// are accepted for the sake of /dev/null, which counts as an empty file.
static bool is_file(const struct stat *st) {
  if (S_ISREG(st->st_mode) || S_ISCHR(st->st_mode)) return true;
  errno = ENOTSUP;
  return false;
}

static bool read_file(const char *path, size_t max, struct config_document *d) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: opening a pipe does not wait for its writer
  if (fd < 0) return false;
  struct stat *st = &d->stat;
  bool ok = fstat(fd, st) == 0 && (S_ISDIR(st->st_mode) || is_file(st)) && read_all(fd, max, d);
  int why = errno;
  close(fd);
  errno = why;
  d->world_readable = ok && (st->st_mode & S_IROTH);
  d->world_writable = ok && S_ISREG(st->st_mode) && (st->st_mode & S_IWOTH);
  return ok;
}

// For each file in a default place: parts of a message that say what the file decides, and how to name it explicitly.
static const struct {
  str name;  // end of the file's path
  const char *decides, *naming;
} found_files[] = {
    {STR("-rules.json"), "who may use which tools", "name it on the command line (--rules)"},
    {STR("/tokens.json"), "which tokens are accepted", "name it in the configuration (auth.token_file)"},
    {STR("mcp.json"), "which programs are started", "name it on the command line (--mcp-config)"},
    {STR(""), "which programs are started", "name it on the command line (--config, --mcp-config)"},
};

// Returns whether a file in a default place may be used. Reports a problem if the file is foreign.
static bool is_trusted(struct config_loader *l, const struct config_document *d, const struct config_place *at) {
  struct fault why;
  if (!foreign_file(d->file.p, d->stat.st_uid, d->stat.st_mode, l->env, &why)) return true;
  size_t i = 0;
  while (!str_ends(d->file, found_files[i].name)) i++;
  ASSERT(i < sizeof found_files / sizeof *found_files);  // the last row matches every path, because its name is empty
  config_error(l, at,
               "refused, because another user could change this file (%s) and decide %s; if you trust it, %s, or "
               "set " FOREIGN_TRUST "=1",
               why.message, found_files[i].decides, found_files[i].naming);
  return false;
}

// Removes the byte order mark that some editors write at the start of a file. UTF-8 does not need it.
static void skip_mark(struct config_document *d) {
  static const str mark = STR("\xef\xbb\xbf");
  if (!str_starts((str){d->text, d->text_n}, mark)) return;
  d->text_n -= mark.n;
  memmove(d->text, d->text + mark.n, d->text_n);
}

static str folder_of(struct config_loader *l, const char *path) {
  char resolved[PATH_MAX];
  char *copy = arena_cstr(&l->work, str_of(path));
  if (!realpath(dirname(copy), resolved)) return STR(".");
  return arena_str(&l->work, str_of(resolved));
}

static bool is_yaml(const struct config_document *d) {
  return str_ends(d->file, STR(".yaml")) || str_ends(d->file, STR(".yml"));
}

static bool parse(struct config_loader *l, struct config_document *d, struct fault *f) {
  const struct json_limits limits = {.max_bytes = 4 * max_file(l), .max_depth = YAML_MAX_DEPTH + 1};
  str text = {d->text, d->text_n};
  if (is_yaml(d)) {
    // Reserves enough room for usual files, because a buffer that grows leaves copies of secrets in memory.
    buf_room(&d->json, text.n * 2 + 64);
    if (!yaml_to_json(text, &d->json, f)) return false;
    text = buf_view(&d->json);
  } else {
    json_relax(d->text, d->text_n);
  }
  d->root = json_parse(&l->work, text, &limits, f);
  return d->root != NULL;
}

// ---- hints for syntax errors ----

static bool take_number(str *s, str before, uint64_t *out) {
  if (!str_starts(*s, before)) return false;
  str rest = str_from(*s, before.n);
  size_t n = 0;
  while (n < rest.n && ascii_is_digit(rest.p[n])) n++;
  *s = str_from(rest, n);
  return str_to_u64((str){rest.p, n}, out);
}

// Converts "line N, column N" into an offset. Returns false if `path` has another form or is outside the text.
static bool find_position(str text, str path, size_t *out) {
  uint64_t line, column;
  size_t at = 0;
  if (!take_number(&path, STR("line "), &line) || !take_number(&path, STR(", column "), &column)) return false;
  for (; line > 1 && at < text.n; at++) line -= text.p[at] == '\n';
  for (; column > 1 && at < text.n; column--) {
    do at++;
    while (at < text.n && utf8_follows(text.p[at]));
  }
  *out = at;
  return at < text.n;
}

static const char *json_hint(str text, size_t at, const struct fault *f) {
  ASSERT(at < text.n);
  str rest = str_from(text, at);
  while (at && strchr(" \t\r\n", text.p[at - 1])) at--;
  char c = rest.p[0], last = (char)(at ? text.p[at - 1] : 0);
  if (c == '#') return "; JSON comments start with //, not with #";
  if (str_starts(rest, STR("/*"))) return "; this comment does not end";
  if (c == '\'') return "; JSON strings need double quotes";
  if (ascii_is_letter(c) && (last == '{' || last == ',')) return "; JSON keys need double quotes";
  if (c == '"' && strstr(f->message, "',' or")) return "; a comma may be missing before this string";
  return "";
}

// Returns a hint about the probable cause of a syntax error, or "".
static const char *syntax_hint(str text, bool yaml, const struct fault *f) {
  size_t at;
  if (str_starts(text, STR("\xff\xfe")) || str_starts(text, STR("\xfe\xff")))
    return "; this is UTF-16: save it as UTF-8";
  if (!find_position(text, str_of(f->path), &at)) return "";
  if (!yaml) return json_hint(text, at, f);
  if (text.p[at] == '\t') return "; this is a tab: indent YAML with spaces";
  if (text.p[at] && strchr("@`%", text.p[at])) return "; a string that starts with this character needs quotes";
  if (strstr(f->message, "mapping values are not allowed")) return "; a string with \": \" in it needs quotes";
  return "";
}

bool config_document_parse(struct config_loader *l, struct config_document *d) {
  struct config_place at = {d->file, STR_NONE};
  struct fault f;
  buf_init(&d->json, 4 * max_file(l));
  if (parse(l, d, &f)) return true;
  config_error(l, &at, "%s: %s%s", f.path, f.message, syntax_hint((str){d->text, d->text_n}, is_yaml(d), &f));
  return false;
}

static void cannot_read(struct config_loader *l, const struct config_place *at, str named_by, int error) {
  const char *by = named_by.n ? arena_printf(&l->work, " (named by %.*s)", STR_ARG(named_by)).p : "";
  if (error == EFBIG) config_error(l, at, "is larger than %zu MiB%s", max_file(l) >> 20, by);
  else config_error(l, at, "cannot be read: %s%s", strerror(error), by);
}

bool config_file_open(struct config_loader *l, str path, str named_by, struct config_document *out) {
  const char *name = arena_cstr(&l->work, path);
  struct config_document d = {.file = str_of(name), .folder = folder_of(l, name)};
  struct config_place at = {d.file, STR_NONE};
  config_file_seen(l, path);
  bool ok = read_file(name, max_file(l), &d);
  if (!ok) cannot_read(l, &at, named_by, errno);
  if (ok) skip_mark(&d);
  if (ok && !named_by.n) ok = is_trusted(l, &d, &at);
  if (ok && d.world_writable) config_warn(l, &at, "every user of this machine can change it: chmod o-w");
  if (ok) *out = d;
  if (!ok) config_document_done(&d);
  return ok;
}

bool config_document_open(struct config_loader *l, str path, str named_by, struct config_document *out) {
  struct config_document d;
  if (!config_file_open(l, path, named_by, &d)) return false;
  bool ok = config_document_parse(l, &d);
  if (ok) *out = d;
  else config_document_done(&d);
  return ok;
}

bool config_open_softly(struct config_loader *l, str path, str named_by, size_t max, bool parsed,
                        struct config_document *out) {
  struct config_problems own, *all = l->problems;
  size_t max_before = l->max_file;
  config_problems_init(&own);
  l->problems = &own;
  l->max_file = max;
  bool ok = parsed ? config_document_open(l, path, named_by, out) : config_file_open(l, path, named_by, out);
  l->problems = all;
  l->max_file = max_before;
  for (size_t i = 0; i < own.count; i++)
    config_warn(l, &(struct config_place){own.list[i].file, own.list[i].pointer}, "%.*s", STR_ARG(own.list[i].message));
  config_problems_done(&own);
  return ok;
}

void config_document_done(struct config_document *d) {
  if (d->text) explicit_bzero(d->text, d->text_n);
  mem_free(d->text);
  buf_wipe(&d->json);
  d->text = NULL;
  d->root = NULL;
}

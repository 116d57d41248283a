// SPDX-License-Identifier: Apache-2.0
#include "upstream/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "catalog/definitions_json.h"
#include "io/file.h"
#include "upstream/kind.h"
#include "json/canon.h"
#include "json/write.h"

enum {
  FORMAT = 1,
  SAFE_NAME = 40,
  NAME_SIZE = 80,    // of a file
  HASH_DIGITS = 16,  // of the fingerprint, in that name
  DAY_S = 24 * 3600,
  MAX_CLIENT = 65536,  // bytes of the capabilities of a client
};

#define SALT "salt"
#define LAST_CLIENT "last-client.json"
#define SUFFIX ".json"

// A file to be written.
struct keep_write {
  struct list node;
  struct keep *keep;
  uv_work_t work;
  char name[NAME_SIZE];
  struct buf text;
  bool ok;
  struct fault f;
};

struct keep {
  struct loop *loop;
  int folder;
  unsigned char salt[SHA256_SIZE];
  struct list jobs;  // the first is under way
  bool closed;       // to be freed with the last of them
};

// ---- which upstream

static void mix(unsigned char state[SHA256_SIZE], str field) {
  unsigned char both[2 * SHA256_SIZE];
  memcpy(both, state, SHA256_SIZE);
  hash_sha256(field, both + SHA256_SIZE);
  hash_sha256((str){(const char *)both, sizeof both}, state);
}

static void mix_number(unsigned char state[SHA256_SIZE], uint64_t n) {
  struct str_digits digits;
  mix(state, str_from_u64(n, &digits));
}

static void mix_pairs(unsigned char state[SHA256_SIZE], const struct upstream_pair *pairs, size_t count) {
  mix_number(state, count);
  for (size_t i = 0; i < count; i++) {
    mix(state, pairs[i].name);
    mix(state, pairs[i].value);
  }
}

// A program without a folder of its own starts in ours, where its arguments may name other files than elsewhere.
static void mix_folder(unsigned char state[SHA256_SIZE], const struct upstream_spec *spec) {
  char here[PATH_MAX];
  bool ours = !spec->cwd.n && spec->kind->process && getcwd(here, sizeof here);
  mix(state, ours ? str_of(here) : spec->cwd);
}

static void fingerprint(const struct keep *k, const struct upstream_spec *spec, char out[2 * SHA256_SIZE + 1]) {
  unsigned char state[SHA256_SIZE];
  memcpy(state, k->salt, sizeof state);
  mix(state, spec->name);
  mix_number(state, kind_number(spec->kind));
  mix_number(state, spec->protocol);
  mix_number(state, spec->isolation == UPSTREAM_ISOLATE_SHARED);  // it says then that it can be asked everything
  mix(state, spec->command);
  mix_number(state, spec->arg_count);
  for (size_t i = 0; i < spec->arg_count; i++) mix(state, spec->args[i]);
  mix_pairs(state, spec->env, spec->env_count);
  mix_folder(state, spec);
  mix(state, spec->url);
  mix_pairs(state, spec->headers, spec->header_count);
  hash_hex(state, sizeof state, out);
}

// The server's name, as far as it is fit for one, and the beginning of the fingerprint.
static void file_name(str server, const char *print, char out[NAME_SIZE]) {
  char safe[SAFE_NAME + 1];
  size_t n = 0;
  for (; n < server.n && n < SAFE_NAME; n++) {
    char c = server.p[n];
    safe[n] = ascii_is_alnum(c) || c == '-' ? c : '_';
  }
  safe[n] = 0;
  snprintf(out, NAME_SIZE, "%s-%.*s" SUFFIX, safe, HASH_DIGITS, print);
}

static bool is_ours(str name) {
  static const char hex[] = "0123456789abcdef";
  if (str_ends(name, STR(FILE_UNFINISHED))) return true;
  size_t tail = HASH_DIGITS + sizeof SUFFIX - 1;
  if (!str_ends(name, STR(SUFFIX)) || name.n < tail + 1 || name.p[name.n - tail - 1] != '-') return false;
  for (size_t i = name.n - tail; i < name.n - sizeof SUFFIX + 1; i++)
    if (!memchr(hex, name.p[i], sizeof hex - 1)) return false;
  return true;
}

// ---- the folder

static bool read_whole(int folder, const char *name, size_t max, struct buf *out, struct fault *f) {
  // Whatever else stands there, it is not waited for.
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_IO, "%s", strerror(errno));
    return false;
  }
  bool ok = file_is_private(fd, f) && file_read(fd, max, out, f);
  if (ok) futimens(fd, NULL);  // it was needed
  close(fd);
  return ok;
}

static bool read_salt(struct keep *k, struct fault *f) {
  struct buf text;
  if (!read_whole(k->folder, SALT, sizeof k->salt, &text, f)) return false;
  bool ok = text.n == sizeof k->salt;
  if (ok) memcpy(k->salt, text.p, sizeof k->salt);
  else fault_set(f, FAULT_INVALID, "the salt is not whole");
  buf_done(&text);
  return ok;
}

// Of two gateways that begin together, both take what the first one wrote. One that is of no use is replaced.
static bool take_salt(struct keep *k, struct fault *f) {
  if (read_salt(k, f)) return true;
  bool missing = f->code == FAULT_NOT_FOUND;
  rand_fill(k->loop->rand, k->salt, sizeof k->salt);
  str fresh = {(const char *)k->salt, sizeof k->salt};
  if (file_write(k->folder, SALT, fresh, missing, k->loop->rand, f)) return true;
  return missing && f->code == FAULT_INVALID && read_salt(k, f);
}

static void remove_old(const struct keep *k) {
  int fd = openat(k->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) return;
  int64_t now = clock_wall_ms(k->loop->clock) / 1000;
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    str name = str_of(e->d_name);
    if (!is_ours(name) || fstatat(k->folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    int64_t days = str_ends(name, STR(SUFFIX)) ? KEEP_DAYS : 1;
    if (S_ISREG(st.st_mode) && now - st.st_mtim.tv_sec > days * DAY_S) unlinkat(k->folder, e->d_name, 0);
  }
  closedir(dir);
}

struct keep *keep_open(struct loop *loop, str folder) {
  struct fault f;
  struct keep *k = MEM_NEW(struct keep);
  k->loop = loop;
  list_init(&k->jobs);
  k->folder = file_open_folder(folder, &f);
  if (k->folder >= 0 && take_salt(k, &f)) {
    remove_old(k);
    return k;
  }
  log_warn(loop->log, "%.*s: nothing can be kept there, neither results nor the archive nor what servers offer: %s",
           STR_ARG(folder), f.message);
  keep_close(&k);
  return NULL;
}

void keep_close(struct keep **keep) {
  struct keep *k = *keep;
  if (!k) return;
  *keep = NULL;
  k->closed = true;
  if (!list_empty(&k->jobs)) return;
  if (k->folder >= 0) close(k->folder);
  mem_free(k);
}

// ---- reading

// NULL: it is none of this upstream, in the form of this version.
static struct definitions *read_definitions(const struct json *root, const char *print) {
  int64_t format;
  bool ours = json_int(json_get(root, STR("format")), &format) && format == FORMAT &&
              json_equals_str(json_get(root, STR("fingerprint")), str_of(print));
  return ours ? definitions_read(root) : NULL;
}

static struct definitions *parse(str text, const char *print, struct arena *a, str *out_instructions, struct fault *f) {
  struct arena nodes;
  arena_init(&nodes);
  const struct json *root = json_parse(&nodes, text, &json_default_limits, f);
  struct definitions *r = root ? read_definitions(root, print) : NULL;
  str instructions = STR_NONE;
  if (r) json_string(json_get(root, STR("instructions")), &nodes, &instructions);
  if (r) *out_instructions = arena_str(a, instructions);
  else if (root) fault_set(f, FAULT_INVALID, "it is not of this version, or of another server");
  arena_done(&nodes);
  return r;
}

struct definitions *keep_load(struct keep *k, const struct upstream_spec *spec, struct arena *a,
                              str *out_instructions) {
  char print[2 * SHA256_SIZE + 1], name[NAME_SIZE];
  struct buf text;
  struct fault f;
  struct definitions *r = NULL;
  fingerprint(k, spec, print);
  file_name(spec->name, print, name);
  if (read_whole(k->folder, name, KEEP_MAX_FILE, &text, &f)) {
    r = parse(buf_view(&text), print, a, out_instructions, &f);
    buf_done(&text);
  }
  if (!r && f.code != FAULT_NOT_FOUND)
    log_warn(k->loop->log, "%.*s: what was kept of it in %s is ignored: %s", STR_ARG(spec->name), name, f.message);
  return r;
}

// Canonical, as a session's profile is; STR_NONE: it is no object.
static str read_client(str text, struct arena *a) {
  struct fault f;
  struct buf canonical;
  const struct json *root = json_parse(a, text, &json_default_limits, &f);
  if (!json_is(root, JSON_OBJECT)) return STR_NONE;
  buf_init(&canonical, 2 * MAX_CLIENT);
  str read = json_canon(&canonical, root, JSON_CANON_JCS, &f) ? arena_str(a, buf_view(&canonical)) : STR_NONE;
  buf_done(&canonical);
  return read;
}

str keep_load_client(struct keep *k, struct arena *a) {
  struct buf text;
  struct fault f;
  str client = STR_NONE;
  if (read_whole(k->folder, LAST_CLIENT, MAX_CLIENT, &text, &f)) {
    client = read_client(buf_view(&text), a);
    buf_done(&text);
    if (!client.n) fault_set(&f, FAULT_INVALID, "it holds no JSON object");
  }
  if (!client.n && f.code != FAULT_NOT_FOUND) log_warn(k->loop->log, "%s is ignored: %s", LAST_CLIENT, f.message);
  return client;
}

// ---- writing

static void put_file(struct buf *out, const char *print, const struct definitions *r, str instructions) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_int(&w, STR("format"), FORMAT);
  json_member_str(&w, STR("fingerprint"), str_of(print));
  json_member_str(&w, STR("instructions"), instructions);
  definitions_put(&w, r, NULL, NULL);
  json_end_object(&w);
}

static void on_work(uv_work_t *work) {
  struct keep_write *job = CONTAINER_OF(work, struct keep_write, work);
  job->ok = file_write(job->keep->folder, job->name, buf_view(&job->text), false, &rand_system, &job->f);
}

static void start_next(struct keep *k);

static void on_written(uv_work_t *work, int status) {
  struct keep_write *job = CONTAINER_OF(work, struct keep_write, work);
  struct keep *k = job->keep;
  struct loop *l = k->loop;
  loop_begin(l);
  if (!job->ok) log_warn(k->loop->log, "%s: cannot be kept: %s", job->name, job->f.message);
  list_remove(&job->node);
  buf_done(&job->text);
  mem_free(job);
  start_next(k);
  loop_end(l, LOOP_JOB, LOOP_CALLBACK(on_written));
}

static void start_next(struct keep *k) {
  if (!list_empty(&k->jobs)) {
    struct keep_write *job = CONTAINER_OF(k->jobs.next, struct keep_write, node);
    uv_queue_work(&k->loop->uv, &job->work, on_work, on_written);
  } else if (k->closed) {
    keep_close(&k);
  }
}

static void add_job(struct keep *k, struct keep_write *job) {
  bool idle = list_empty(&k->jobs);
  list_push(&k->jobs, &job->node);
  if (idle) start_next(k);
}

void keep_save_client(struct keep *k, str capabilities) {
  if (capabilities.n > MAX_CLIENT) return;
  struct keep_write *job = MEM_NEW(struct keep_write);
  job->keep = k;
  snprintf(job->name, sizeof job->name, LAST_CLIENT);
  buf_init(&job->text, MAX_CLIENT);
  buf_str(&job->text, capabilities);
  add_job(k, job);
}

void keep_save(struct keep *k, const struct upstream_spec *spec, const struct definitions *r, str instructions) {
  char print[2 * SHA256_SIZE + 1];
  struct keep_write *job = MEM_NEW(struct keep_write);
  job->keep = k;
  fingerprint(k, spec, print);
  file_name(spec->name, print, job->name);
  buf_init(&job->text, KEEP_MAX_FILE);
  put_file(&job->text, print, r, instructions);
  if (job->text.over) {
    log_info(k->loop->log, "%.*s: what it offers is too large to be kept", STR_ARG(spec->name));
    buf_done(&job->text);
    mem_free(job);
    return;
  }
  add_job(k, job);
}

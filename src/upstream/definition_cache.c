// SPDX-License-Identifier: Apache-2.0
#include "upstream/definition_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/mem.h"
#include "catalog/definitions_json.h"
#include "io/file.h"
#include "upstream/kind.h"
#include "json/canon.h"
#include "json/write.h"

enum {
  CACHE_MAGIC = 0x64656663,
  FORMAT = 1,
  SAFE_NAME = 40,
  NAME_SIZE = 80,    // maximum length of a file name, with its NUL
  HASH_DIGITS = 16,  // number of hex digits of the fingerprint in the file name
  DAY_S = 24 * 3600,
  MAX_CLIENT = 65536,  // maximum size of a client's capabilities in bytes
};

#define SALT "salt"
#define LAST_CLIENT "last-client.json"
#define SUFFIX ".json"

// A file to be written on another thread.
struct cache_write {
  struct list node;
  struct definition_cache *cache;
  uv_work_t work;
  char name[NAME_SIZE];
  struct buf text;
  bool ok;
  struct fault f;
};

struct definition_cache {
  uint32_t magic;
  struct loop *loop;
  int folder;
  unsigned char salt[SHA256_SIZE];
  struct list writes;  // files to write (struct cache_write); the first one is being written
  bool closed;         // the cache is freed after the last write
};

// ---- fingerprint

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

static void mix_own(void *ctx, str field) {
  mix(ctx, field);
}

static void fingerprint(const struct definition_cache *cache, const struct upstream_spec *spec,
                        char out[2 * SHA256_SIZE + 1]) {
  unsigned char state[SHA256_SIZE];
  char here[PATH_MAX];
  memcpy(state, cache->salt, sizeof state);
  mix(state, spec->name);
  mix(state, str_of(spec->kind->name));
  mix_number(state, spec->protocol);
  // A shared lane declares all client capabilities, so the server may list other definitions on it.
  mix_number(state, spec->isolation == UPSTREAM_ISOLATE_SHARED);
  mix(state, spec->command);
  mix_number(state, spec->arg_count);
  for (size_t i = 0; i < spec->arg_count; i++) mix(state, spec->args[i]);
  mix_pairs(state, spec->env, spec->env_count);
  // A program without a configured folder starts in the gateway's folder, so relative paths in its arguments depend on
  // the gateway's folder.
  bool starts_here = !spec->cwd.n && spec->kind->process && getcwd(here, sizeof here);
  mix(state, starts_here ? str_of(here) : spec->cwd);
  mix(state, spec->url);
  mix_pairs(state, spec->headers, spec->header_count);
  ASSERT(!spec->own || spec->kind->fingerprint);
  if (spec->own) spec->kind->fingerprint(spec->own, mix_own, state);
  hash_hex(state, sizeof state, out);
}

// Writes the file name for a server's definitions: the server's name, with unsafe characters replaced, and the first
// digits of its fingerprint `print`.
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
  // O_NONBLOCK, because opening must not block if somebody has replaced the file by a FIFO.
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_IO, "%s", strerror(errno));
    return false;
  }
  bool ok = file_is_private(fd, f) && file_read(fd, max, out, f);
  if (ok) futimens(fd, NULL);  // sets the file's time, because files that were not used for a long time are removed
  close(fd);
  return ok;
}

static bool read_salt(struct definition_cache *cache, struct fault *f) {
  struct buf text;
  if (!read_whole(cache->folder, SALT, sizeof cache->salt, &text, f)) return false;
  bool ok = text.n == sizeof cache->salt;
  if (ok) memcpy(cache->salt, text.p, sizeof cache->salt);
  else fault_set(f, FAULT_INVALID, "the file \"salt\" has the wrong size");
  buf_done(&text);
  return ok;
}

// Loads the salt, or creates it if the file is missing or unusable. If two gateways start together, both use the salt
// that was written first.
static bool take_salt(struct definition_cache *cache, struct fault *f) {
  if (read_salt(cache, f)) return true;
  bool missing = f->code == FAULT_NOT_FOUND;
  rand_fill(cache->loop->rand, cache->salt, sizeof cache->salt);
  str fresh = {(const char *)cache->salt, sizeof cache->salt};
  if (file_write(cache->folder, SALT, fresh, missing, cache->loop->rand, f)) return true;
  return missing && f->code == FAULT_INVALID && read_salt(cache, f);
}

static void remove_old(const struct definition_cache *cache) {
  int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) return;
  int64_t now = clock_wall_ms(cache->loop->clock) / 1000;
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    str name = str_of(e->d_name);
    if (!is_ours(name) || fstatat(cache->folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    int64_t days = str_ends(name, STR(SUFFIX)) ? DEFINITION_CACHE_DAYS : 1;
    if (S_ISREG(st.st_mode) && now - st.st_mtim.tv_sec > days * DAY_S) unlinkat(cache->folder, e->d_name, 0);
  }
  closedir(dir);
}

struct definition_cache *definition_cache_open(struct loop *loop, str folder) {
  struct fault f;
  struct definition_cache *cache = MEM_NEW(struct definition_cache);
  cache->magic = CACHE_MAGIC;
  cache->loop = loop;
  list_init(&cache->writes);
  cache->folder = file_open_folder(folder, &f);
  if (cache->folder >= 0 && take_salt(cache, &f)) {
    remove_old(cache);
    return cache;
  }
  log_warn(loop->log, "%.*s: cannot use this folder, so results, the archive and server definitions are not stored: %s",
           STR_ARG(folder), f.message);
  definition_cache_close(&cache);
  return NULL;
}

void definition_cache_close(struct definition_cache **handle) {
  struct definition_cache *cache = *handle;
  if (!cache) return;
  *handle = NULL;
  ASSERT_MAGIC(cache, CACHE_MAGIC);
  cache->closed = true;
  if (!list_empty(&cache->writes)) return;
  if (cache->folder >= 0) close(cache->folder);
  cache->magic = 0;
  mem_free(cache);
}

// ---- reading

static struct definitions *parse(str text, const char *print, struct arena *a, str *out_instructions, struct fault *f) {
  struct arena nodes;
  arena_init(&nodes);
  const struct json *root = json_parse(&nodes, text, &json_default_limits, f);
  int64_t format;
  bool ours = json_int(json_get(root, STR("format")), &format) && format == FORMAT &&
              json_equals_str(json_get(root, STR("fingerprint")), str_of(print));
  struct definitions *r = ours ? definitions_read(root) : NULL;
  str instructions = STR_NONE;
  if (r) json_string(json_get(root, STR("instructions")), &nodes, &instructions);
  if (r) *out_instructions = arena_str(a, instructions);
  else if (root) fault_set(f, FAULT_INVALID, "the file was written by another version or for another configuration");
  arena_done(&nodes);
  return r;
}

struct definitions *definition_cache_load(struct definition_cache *cache, const struct upstream_spec *spec,
                                          struct arena *a, str *out_instructions) {
  ASSERT_MAGIC(cache, CACHE_MAGIC);
  char print[2 * SHA256_SIZE + 1], name[NAME_SIZE];
  struct buf text;
  struct fault f;
  struct definitions *r = NULL;
  fingerprint(cache, spec, print);
  file_name(spec->name, print, name);
  if (read_whole(cache->folder, name, DEFINITION_CACHE_MAX_FILE, &text, &f)) {
    r = parse(buf_view(&text), print, a, out_instructions, &f);
    buf_done(&text);
  }
  if (!r && f.code != FAULT_NOT_FOUND)
    log_warn(cache->loop->log, "%.*s: ignoring the stored definitions in %s: %s", STR_ARG(spec->name), name, f.message);
  return r;
}

// Returns the capabilities in `text` as canonical JSON, or STR_NONE if `text` is not a JSON object.
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

str definition_cache_load_client(struct definition_cache *cache, struct arena *a) {
  ASSERT_MAGIC(cache, CACHE_MAGIC);
  struct buf text;
  struct fault f;
  str client = STR_NONE;
  if (read_whole(cache->folder, LAST_CLIENT, MAX_CLIENT, &text, &f)) {
    client = read_client(buf_view(&text), a);
    buf_done(&text);
    if (!client.n) fault_set(&f, FAULT_INVALID, "the file does not contain a JSON object");
  }
  if (!client.n && f.code != FAULT_NOT_FOUND)
    log_warn(cache->loop->log, "ignoring the file %s: %s", LAST_CLIENT, f.message);
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
  struct cache_write *job = CONTAINER_OF(work, struct cache_write, work);
  job->ok = file_write(job->cache->folder, job->name, buf_view(&job->text), false, &rand_system, &job->f);
}

static void start_next(struct definition_cache *cache);

static void on_written(uv_work_t *work, int status) {
  struct cache_write *job = CONTAINER_OF(work, struct cache_write, work);
  struct definition_cache *cache = job->cache;
  ASSERT_MAGIC(cache, CACHE_MAGIC);
  ASSERT(cache->writes.next == &job->node);
  struct loop *l = cache->loop;
  loop_begin(l);
  if (!job->ok) log_warn(cache->loop->log, "cannot write the file %s: %s", job->name, job->f.message);
  list_remove(&job->node);
  buf_done(&job->text);
  mem_free(job);
  start_next(cache);
  loop_end(l, LOOP_JOB, LOOP_CALLBACK(on_written));
}

static void start_next(struct definition_cache *cache) {
  if (!list_empty(&cache->writes)) {
    struct cache_write *job = CONTAINER_OF(cache->writes.next, struct cache_write, node);
    uv_queue_work(&cache->loop->uv, &job->work, on_work, on_written);
  } else if (cache->closed) {
    definition_cache_close(&cache);
  }
}

static void add_job(struct definition_cache *cache, struct cache_write *job) {
  ASSERT_MAGIC(cache, CACHE_MAGIC);
  ASSERT(!cache->closed);
  bool idle = list_empty(&cache->writes);
  list_push(&cache->writes, &job->node);
  if (idle) start_next(cache);
}

void definition_cache_save_client(struct definition_cache *cache, str capabilities) {
  if (capabilities.n > MAX_CLIENT) return;
  struct cache_write *job = MEM_NEW(struct cache_write);
  job->cache = cache;
  snprintf(job->name, sizeof job->name, LAST_CLIENT);
  buf_init(&job->text, MAX_CLIENT);
  buf_str(&job->text, capabilities);
  add_job(cache, job);
}

void definition_cache_save(struct definition_cache *cache, const struct upstream_spec *spec,
                           const struct definitions *r, str instructions) {
  char print[2 * SHA256_SIZE + 1];
  struct cache_write *job = MEM_NEW(struct cache_write);
  job->cache = cache;
  fingerprint(cache, spec, print);
  file_name(spec->name, print, job->name);
  buf_init(&job->text, DEFINITION_CACHE_MAX_FILE);
  put_file(&job->text, print, r, instructions);
  if (job->text.over) {
    log_info(cache->loop->log, "%.*s: the definitions are not stored: the file would be too large",
             STR_ARG(spec->name));
    buf_done(&job->text);
    mem_free(job);
    return;
  }
  add_job(cache, job);
}

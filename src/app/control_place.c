// SPDX-License-Identifier: Apache-2.0
#include "app/control_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "io/file.h"

enum { CONNECT_S = 2 };

#ifndef SO_PEERPIDFD  // older Linux headers (before 6.5) do not define it
#define SO_PEERPIDFD 77
#endif

#define PREFIX "gateway-"
#define SUFFIX ".sock"

// Appends the length of a path and then the path, so that two different lists of paths never give the same text.
static void put_path(struct buf *out, str path) {
  struct file_path room;
  path = file_real_path(path, &room);
  buf_printf(out, "%zu:%.*s\n", path.n, STR_ARG(path));
}

void control_id(const struct config *c, char out[CONTROL_ID + 1]) {
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  struct buf text;
  buf_init(&text, 8 * PATH_MAX);
  put_path(&text, c->config_file);
  put_path(&text, c->mcp_config);
  put_path(&text, c->rules_file);
  put_path(&text, c->catalog);
  put_path(&text, c->state_dir);
  hash_sha256(buf_view(&text), digest);
  hash_hex(digest, sizeof digest, hex);
  snprintf(out, CONTROL_ID + 1, "%.*s", CONTROL_ID, hex);
  buf_done(&text);
}

static int open_folder(str path, bool make, struct fault *f) {
  if (make) return file_open_folder(path, f);
  char text[PATH_MAX];
  snprintf(text, sizeof text, "%.*s", STR_ARG(path));
  int fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fault_set(f, FAULT_IO, "%s: %s", text, strerror(errno));
  return fd;
}

int control_folder(const struct config *c, char *const *env, bool make, struct fault *f) {
  int fd = -1;
  fault_set(f, FAULT_NOT_FOUND,
            "no folder for the control socket: there is no state folder, and XDG_RUNTIME_DIR is not set");
  if (c->state_dir.n) fd = open_folder(c->state_dir, make, f);
  str runtime = str_env(env, STR("XDG_RUNTIME_DIR"));
  if (fd >= 0 || !str_starts(runtime, STR("/"))) return fd;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s/toolgate", STR_ARG(runtime));
  return open_folder(str_of(path), make, f);
}

void control_name(const char *id, int pid, char out[CONTROL_NAME]) {
  int n = snprintf(out, CONTROL_NAME, PREFIX "%s-%d" SUFFIX, id, pid);
  ASSERT(pid > 0 && n > 0 && n < CONTROL_NAME);
}

struct sockaddr_un control_address(int folder, const char *name) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  int n = snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", folder, name);
  ASSERT(folder >= 0 && n > 0 && (size_t)n < sizeof a.sun_path);
  return a;
}

// ---- finding

static bool read_name(const char *file, const char *id, struct control_socket *out) {
  str name = str_of(file), own, pid;
  uint64_t number;
  if (name.n >= CONTROL_NAME || !str_starts(name, STR(PREFIX)) || !str_ends(name, STR(SUFFIX))) return false;
  str middle = str_from(name, sizeof PREFIX - 1);
  middle.n -= sizeof SUFFIX - 1;
  if (!str_cut(middle, '-', &own, &pid) || !str_to_u64(pid, &number) || number > INT32_MAX) return false;
  *out = (struct control_socket){.pid = (int)number, .ours = str_eq(own, str_of(id))};
  snprintf(out->name, sizeof out->name, "%s", file);
  return true;
}

static int newest_first(const void *a, const void *b) {
  const struct control_socket *x = a, *y = b;
  if (x->made_ns != y->made_ns) return x->made_ns > y->made_ns ? -1 : 1;
  return y->pid - x->pid;
}

size_t control_list(int folder, const char *id, struct control_socket out[CONTROL_MOST]) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  size_t n = 0;
  if (!dir) return 0;
  for (struct dirent *e; n < CONTROL_MOST && (e = readdir(dir));) {
    struct stat st;
    if (!read_name(e->d_name, id, &out[n])) continue;
    if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode)) continue;
    out[n++].made_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  }
  closedir(dir);
  qsort(out, n, sizeof *out, newest_first);
  return n;
}

int control_connect(int folder, const struct control_socket *s) {
  struct sockaddr_un address = control_address(folder, s->name);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // Limits connect(), which would block forever if a suspended gateway has a full queue of connections.
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = CONNECT_S}, sizeof(struct timeval));
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int why = errno;
  close(fd);
  if (why == ECONNREFUSED) unlinkat(folder, s->name, 0);
  errno = why;
  return -1;
}

static bool read_peer(int fd, struct ucred *out) {
  socklen_t size = sizeof *out;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &size) == 0;
}

bool control_trusts(int fd) {
  struct ucred peer;
  return read_peer(fd, &peer) && (peer.uid == geteuid() || peer.uid == 0);
}

int control_peer(int fd) {
  struct ucred peer;
  return read_peer(fd, &peer) ? peer.pid : 0;
}

bool control_peer_lives(int fd) {
  int process;
  socklen_t size = sizeof process;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) != 0) return errno == ENOPROTOOPT;
  struct pollfd p = {.fd = process, .events = POLLIN};  // a pidfd becomes readable when its process ends
  bool lives = poll(&p, 1, 0) == 0;
  close(process);
  return lives;
}

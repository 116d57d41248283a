// SPDX-License-Identifier: Apache-2.0
#include "app/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"

enum { MOST = 4096, DEEPEST = 32, PATH_SIZE = 64, TEXT_SIZE = 8192 };

static str read_text(const char *path, char text[TEXT_SIZE]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_SIZE);
  if (fd >= 0) close(fd);
  return (str){text, n > 0 ? (size_t)n : 0};
}

// The second number of statm: pages in memory. False: the process is gone.
static bool add_memory(struct processes *p, int pid) {
  char path[PATH_SIZE], text[TEXT_SIZE];
  str size, rest, pages, more;
  uint64_t number;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  if (!str_cut(read_text(path, text), ' ', &size, &rest) || !str_cut(rest, ' ', &pages, &more)) return false;
  if (!str_to_u64(pages, &number)) return false;
  p->bytes += number * (uint64_t)sysconf(_SC_PAGESIZE);
  p->count++;
  return true;
}

static void add(struct processes *p, int pid, int depth);

static void add_children(struct processes *p, int pid, const char *thread, int depth) {
  char path[PATH_SIZE], text[TEXT_SIZE];
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, thread);
  str list = read_text(path, text), one;
  uint64_t child;
  while (list.n) {
    str_cut(list, ' ', &one, &list);
    if (str_to_u64(one, &child)) add(p, (int)child, depth + 1);
  }
}

static void add(struct processes *p, int pid, int depth) {
  char path[PATH_SIZE];
  if (p->count >= MOST || depth > DEEPEST || !add_memory(p, pid)) return;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *dir = opendir(path);
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));)
    if (e->d_name[0] != '.') add_children(p, pid, e->d_name, depth);
  closedir(dir);
}

void processes_add(struct processes *p, int pid) {
  add(p, pid, 0);
}

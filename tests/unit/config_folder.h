// SPDX-License-Identifier: Apache-2.0
// Tests of the configuration: each runs in a folder of its own, writes files there, loads, and looks at the outcome.
#pragma once
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/config/config.h"
#include "base/mem.h"

#define TIME "{\"mcpServers\":{\"time\":{\"command\":\"cat\",\"args\":[\"mcp-server-time\"]}}}"
#define TOKEN "0e9Kq27bXv4Rz81mGHJ5"

struct place {
  int origin;
  char folder[32];
  struct config config;
  struct config_problems problems;
  struct config_options options;
  bool ok;
};

static inline int enter(void **state) {
  struct place *p = MEM_NEW(struct place);
  p->origin = open(".", O_RDONLY | O_DIRECTORY);
  snprintf(p->folder, sizeof p->folder, "/tmp/toolgate-XXXXXX");
  if (!mkdtemp(p->folder) || chdir(p->folder)) return -1;
  config_problems_init(&p->problems);
  *state = p;
  return 0;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  return remove(path);
}

static inline int leave(void **state) {
  struct place *p = *state;
  config_done(&p->config);
  config_problems_done(&p->problems);
  int failed = fchdir(p->origin) || nftw(p->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  close(p->origin);
  mem_free(p);
  return failed;
}

static inline void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  assert_int_equal(chmod(path, 0600), 0);
}

static inline bool load_with(struct place *p, char *const *env) {
  config_done(&p->config);
  config_problems_done(&p->problems);
  p->ok = config_load(&p->config, &p->options, env, &p->problems);
  return p->ok;
}

static inline bool load(struct place *p) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  return load_with(p, env);
}

static inline bool load_yaml(struct place *p, const char *yaml) {
  write_file("toolgate.yaml", yaml);
  return load(p);
}

// A .mcp.json with this entry as the server s.
static inline bool load_entry(struct place *p, const char *entry) {
  char text[4096];
  snprintf(text, sizeof text, "{\"mcpServers\":{\"s\":%s}}", entry);
  write_file(".mcp.json", text);
  return load(p);
}

static inline void print_problems(const struct place *p) {
  for (size_t i = 0; i < p->problems.count; i++) {
    const struct config_problem *it = &p->problems.list[i];
    print_message("%.*s:%.*s: %s%.*s\n", STR_ARG(it->file), STR_ARG(it->pointer), it->warning ? "warning: " : "",
                  STR_ARG(it->message));
  }
}

static inline bool reported(const struct place *p, bool warning, const char *file, const char *pointer,
                            const char *part) {
  for (size_t i = 0; i < p->problems.count; i++) {
    const struct config_problem *it = &p->problems.list[i];
    if (it->warning == warning && str_eq(it->file, str_of(file)) && str_eq(it->pointer, str_of(pointer)) &&
        memmem(it->message.p, it->message.n, part, strlen(part)))
      return true;
  }
  return false;
}

static inline void expect_ok(const struct place *p) {
  if (p->ok && p->problems.count == 0) return;
  print_problems(p);
  fail_msg("there are problems");
}

static inline void expect(const struct place *p, bool warning, const char *file, const char *pointer,
                          const char *part) {
  if (reported(p, warning, file, pointer, part)) return;
  print_problems(p);
  fail_msg("no %s %s:%s with \"%s\"", warning ? "warning" : "error", file, pointer, part);
}

// A toolgate.yaml with this text is refused, at this place, with these words.
static inline void refuses(struct place *p, const char *yaml, const char *pointer, const char *part) {
  if (load_yaml(p, yaml)) fail_msg("accepted: %s", yaml);
  expect(p, false, "toolgate.yaml", pointer, part);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

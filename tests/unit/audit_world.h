// SPDX-License-Identifier: Apache-2.0
// A folder with an audit log in it, a clock, and somebody who verifies it.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "observe/audit_impl.h"
#include "json/json.h"

static uint64_t now_ms;

static inline uint64_t mono(void *ctx) {
  return now_ms;
}
static inline int64_t wall(void *ctx) {
  return 1761647400123 + (int64_t)now_ms;
}
static const struct clock test_clock = {mono, wall, NULL};

static char folder[64], path[96];

static inline int make_folder(void **state) {
  snprintf(folder, sizeof folder, "/tmp/audit-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/audit.jsonl", folder);
  now_ms = 1000;
  return 0;
}

static inline int remove_folder(void **state) {
  DIR *all = opendir(folder);
  for (struct dirent *e; all && (e = readdir(all));) {
    char name[sizeof folder + sizeof e->d_name];
    snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
    if (e->d_name[0] != '.') remove(name);
  }
  if (all) closedir(all);
  rmdir(folder);
  return 0;
}

static inline struct audit *open_audit(uint64_t max_bytes, unsigned keep, bool required) {
  struct audit_options opt = {
      .file = str_of(path), .max_bytes = max_bytes, .keep = keep, .required = required, .clock = &test_clock};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  if (!a) fail_msg("%s", f.message);
  return a;
}

static inline struct audit_event event_of(const char *tool) {
  return (struct audit_event){.agent = STR("researcher"),
                              .operation = STR("execute_tool"),
                              .server = STR("brave-search"),
                              .tool = str_of(tool),
                              .latency_us = 145250,
                              .counted_in = STR("hello world"),
                              .counted_out = STR("hello, wide world")};
}

static inline void write_lines(struct audit *a, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char tool[32];
    snprintf(tool, sizeof tool, "tool_%zu", i);
    struct audit_event e = event_of(tool);
    audit_add(a, &e);
  }
  audit_flush(a);
}

static inline void write_log(size_t count) {
  struct audit *a = open_audit(0, 0, false);
  write_lines(a, count);
  audit_close(&a);
}

static inline str read_whole(const char *name, char *room, size_t size) {
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  size_t n = fread(room, 1, size, file);
  fclose(file);
  return (str){room, n};
}

static inline str read_log(void) {
  static char text[4 << 20];
  return read_whole(path, text, sizeof text);
}

static inline void replace_file(const char *name, str text) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
  fclose(file);
}

static inline void replace_log(str text) {
  replace_file(path, text);
}

// The text of a line, from 0, with its end.
static inline str line_at(str text, size_t index) {
  for (; index; index--) text = str_from(text, (size_t)((char *)memchr(text.p, '\n', text.n) - text.p) + 1);
  return (str){text.p, (size_t)((char *)memchr(text.p, '\n', text.n) - text.p) + 1};
}

struct findings {
  size_t count;
  enum audit_finding first;
  uint64_t line;
  char message[256];
};

static inline void note_finding(void *ctx, enum audit_finding what, const char *file, uint64_t line,
                                const char *message) {
  struct findings *f = ctx;
  if (f->count++) return;
  f->first = what;
  f->line = line;
  snprintf(f->message, sizeof f->message, "%s", message);
}

static inline struct audit_verdict verify(struct findings *out) {
  struct audit_verdict v;
  struct fault f;
  *out = (struct findings){0};
  assert_true(audit_verify(str_of(path), STR_NONE, note_finding, out, &v, &f));
  assert_int_equal(v.findings, out->count);
  return v;
}

static inline void assert_whole(uint64_t lines) {
  struct findings found;
  struct audit_verdict v = verify(&found);
  if (found.count) fail_msg("line %llu: %s", (unsigned long long)found.line, found.message);
  assert_int_equal(v.lines, lines);
}

static inline void assert_found(enum audit_finding what, uint64_t line) {
  struct findings found;
  verify(&found);
  assert_true(found.count > 0);
  assert_int_equal(found.first, what);
  assert_int_equal(found.line, line);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

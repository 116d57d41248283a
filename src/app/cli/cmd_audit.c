// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/cli/records/records.h"
#include "base/buf.h"
#include "observe/audit.h"
#include "json/write.h"

static const struct command verify = {
    .usage = "FILE [options]",
    .about = "Checks the hash chain of an audit log and its rotated files (FILE.1, ...), and the end\n"
             "of the log against FILE.head. Prints every line that was altered, removed, inserted\n"
             "or moved. With --key it also checks that every line was signed with that key; without\n"
             "--key, anybody who can write the files can forge a valid chain. Exit code 1: there is\n"
             "a finding.",
    .options = "yj",
    .min = 1,
    .max = 1,
    .missing = "give the file",
};

static const char *const kinds[] = {"altered", "unlinked", "malformed", "shortened", "unsigned"};

static void print_finding(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message) {
  const struct arguments *args = ctx;
  struct buf out;
  ASSERT((size_t)what < sizeof kinds / sizeof *kinds);
  buf_init(&out, 1 << 16);
  if (args->json) {
    struct json_writer w = json_writer(&out);
    json_begin_object(&w);
    json_member_str(&w, STR("finding"), str_of(kinds[what]));
    json_member_str(&w, STR("file"), str_of(file));
    json_member_u64(&w, STR("line"), line);
    json_member_str(&w, STR("message"), str_of(message));
    json_end_object(&w);
  } else {
    buf_printf(&out, "%s:%llu: %s", file, (unsigned long long)line, message);
  }
  buf_char(&out, '\n');
  command_print_done(&out);
}

static void print_verdict(const struct arguments *args, const struct audit_verdict *v) {
  if (args->json) {
    printf("{\"ok\":%s,\"files\":%zu,\"lines\":%llu,\"findings\":%zu,\"first\":%llu,\"last\":%llu,\"behind\":%llu,"
           "\"torn\":%s,\"breaks\":%llu,\"checked\":\"%s\"}\n",
           v->findings ? "false" : "true", v->files, (unsigned long long)v->lines, v->findings,
           (unsigned long long)v->first_seq, (unsigned long long)v->last_seq, (unsigned long long)v->behind,
           v->torn ? "true" : "false", (unsigned long long)v->breaks, args->key ? "key" : "hashes");
  } else if (v->findings) {
    printf("damaged: %zu finding%s in %llu lines\n", v->findings, v->findings == 1 ? "" : "s",
           (unsigned long long)v->lines);
  } else if (!v->lines) {
    printf("ok: no lines\n");
  } else {
    printf("ok: %llu line%s, from number %llu to %llu, in %zu file%s\n", (unsigned long long)v->lines,
           v->lines == 1 ? "" : "s", (unsigned long long)v->first_seq, (unsigned long long)v->last_seq, v->files,
           v->files == 1 ? "" : "s");
    if (v->behind) printf("%llu lines follow the last line in the head file\n", (unsigned long long)v->behind);
  }
  if (!args->json && v->breaks)
    printf("%llu line%s an earlier log that could not be verified: grep audit_break\n", (unsigned long long)v->breaks,
           v->breaks == 1 ? " reports" : "s report");
  if (!args->json && v->keyed && !args->key) printf("only hashes were checked; --key FILE checks signatures\n");
  if (!args->json && v->torn) printf("the last line is incomplete and not recorded in the head file\n");
}

static int verify_with(const struct arguments *args, struct arena *a) {
  struct audit_verdict verdict;
  struct fault f;
  str key = STR_NONE;
  bool ok = !args->key || audit_read_key(str_of(args->key), a, &key, &f);
  if (!ok || !audit_verify(str_of(args->operands[0]), key, print_finding, (void *)args, &verdict, &f)) {
    return command_failed(&f, EXIT_CANNOT);
  }
  print_verdict(args, &verdict);
  return verdict.findings ? EXIT_NO : EXIT_OK;
}

static int run_verify(int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  if (!command_parse(&verify, argc, argv, &args, &status)) return status;
  arena_init(&a);
  status = verify_with(&args, &a);
  arena_done(&a);
  return status;
}

static const char usage[] =
    "usage: toolgate audit verify FILE [--key FILE]\n"
    "       toolgate audit prove ID\n"
    "       toolgate audit check-proof FILE [--key KEY]\n\n"
    "Checks that nobody tampered with an audit log, and makes and checks receipts of governed calls.\n";

int cmd_audit(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"verify", run_verify}, {"prove", audit_prove}, {"check-proof", audit_check_proof}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

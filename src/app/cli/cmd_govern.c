// SPDX-License-Identifier: Apache-2.0
// toolgate govern decide | check | keys
#include <stdio.h>

#include "app/cli/command.h"
#include "govern/decision_text.h"
#include "govern/signing.h"

enum { MOST_OUTPUT = 16 << 20 };

// ---- decide

static const struct command decide = {
    .usage = "--governance FILE --batch | QUESTION [options]",
    .about = "Decides whether a call is allowed. A question is an object {\"capability\", \"args\"?,\n"
             "\"context\"?, \"mode\"?}. With --batch, each line on stdin is a question, and the answer is\n"
             "a line {\"allowed\", \"code\"?, \"mode_requested\", \"mode_effective\", \"mode_highest\", \"gate\"?,\n"
             "\"rules\", \"violations\"}, or {\"error\"} for a malformed question.\n"
             "A single question ends with 0 if the call is allowed and 1 if not; --batch ends with 1\n"
             "if a question was malformed. No server is started, and nothing is recorded.",
    .options = "^bj",
    .max = 1,
};

static bool read_question(str text, struct arena *a, struct governance_question *out, struct fault *f) {
  const struct json *v = json_parse(a, text, &json_default_limits, f);
  return v && governance_read_question(v, a, out, f);
}

static void put_error(struct buf *out, const struct fault *f) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("error"));
  json_begin_object(&w);
  json_member_str(&w, STR("code"), str_of(fault_name(f->code)));
  json_member_str(&w, STR("message"), str_of(f->message));
  json_end_object(&w);
  json_end_object(&w);
}

static void put_decision(struct buf *out, const struct governance_decision *d) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  governance_put_members(&w, d);
  json_end_object(&w);
}

static bool answer_line(void *ctx, str line, struct arena *a, struct buf *out) {
  struct governance_question q;
  struct governance_decision d;
  struct fault f = {0};
  bool readable = read_question(line, a, &q, &f);
  if (readable) {
    governance_decide(ctx, &q, a, &d);
    put_decision(out, &d);
  } else {
    put_error(out, &f);
  }
  buf_char(out, '\n');
  return readable;
}

static int answer_one(const struct governance *g, const char *name, const struct arguments *args) {
  struct governance_question q;
  struct governance_decision d;
  struct fault f = {0};
  struct arena a;
  struct buf out;
  int status;
  arena_init(&a);
  buf_init(&out, MOST_OUTPUT);
  if (read_question(str_of(args->operands[0]), &a, &q, &f)) {
    governance_decide(g, &q, &a, &d);
    if (args->json) put_decision(&out, &d);
    else governance_put_text(&out, &d);
    buf_char(&out, '\n');
    status = d.code == GOVERNANCE_ALLOWED ? EXIT_OK : EXIT_NO;
  } else {
    status = command_misused(name, f.message);
  }
  command_print_done(&out);
  arena_done(&a);
  return status;
}

static int run_decide(int argc, char **argv) {
  struct arguments args = {0};
  int status;
  if (!command_parse(&decide, argc, argv, &args, &status)) return status;
  if (!args.governance) return command_misused(argv[0], "give the file: --governance FILE");
  if (args.batch == (args.operand_count > 0))
    return command_misused(argv[0],
                           args.batch ? "give a question or --batch, not both" : "give a question, or --batch");
  struct governance *g = command_load_governance(args.governance, STR("--governance"));
  if (!g) return EXIT_CANNOT;
  status = args.batch ? command_each_line(answer_line, g) : answer_one(g, argv[0], &args);
  governance_unref(&g);
  return status;
}

// ---- check

static const struct command check = {
    .usage = "FILE [options]",
    .about = "Reads a governance file and prints every problem with its place. A file with a problem\n"
             "is not used at all. FILE can also be a manifest, or a configuration that names a\n"
             "governance file. Exit code 1: there is a problem.",
    .options = "j",
    .min = 1,
    .max = 1,
    .missing = "give a governance file",
};

static void put_check(struct buf *out, const struct governance *g, const struct config_problems *problems) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_bool(&w, STR("valid"), g != NULL);
  if (g) json_member_u64(&w, STR("capabilities"), governance_capability_count(g));
  json_put_key(&w, STR("problems"));
  json_begin_array(&w);
  for (size_t i = 0; i < problems->count; i++) {
    const struct config_problem *it = &problems->list[i];
    json_begin_object(&w);
    json_member_str(&w, STR("level"), it->warning ? STR("warning") : STR("error"));
    json_member_str(&w, STR("file"), it->file);
    json_member_str(&w, STR("pointer"), it->pointer);
    json_member_str(&w, STR("message"), it->message);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  buf_char(out, '\n');
}

static int run_check(int argc, char **argv) {
  struct arguments args = {0};
  struct config_problems problems;
  struct buf out;
  int status;
  if (!command_parse(&check, argc, argv, &args, &status)) return status;
  config_problems_init(&problems);
  buf_init(&out, MOST_OUTPUT);
  struct governance *g = config_load_governance(args.operands[0], STR("the command line"), &problems);
  if (args.json) put_check(&out, g, &problems);
  else command_print_problems(&problems);
  size_t count = g ? governance_capability_count(g) : 0;
  if (g && !args.json)
    buf_printf(&out, "%s: no problems, %zu capabilit%s\n", args.operands[0], count, count == 1 ? "y" : "ies");
  status = g ? EXIT_OK : EXIT_NO;
  command_print_done(&out);
  governance_unref(&g);
  config_problems_done(&problems);
  return status;
}

// ---- keys

static const struct command keys = {
    .usage = "FILE [options]",
    .about = "Prints the public keys that verify signed decisions, as a JWK set. The member `signing` of\n"
             "the governance file FILE names the keys. A running gateway serves the same set at\n"
             "/.well-known/jwks.json. Exit code 1: FILE names no keys.",
    .options = "j",
    .min = 1,
    .max = 1,
    .missing = "give a governance file",
};

static int run_keys(int argc, char **argv) {
  struct arguments args = {0};
  struct config_problems problems;
  struct buf out;
  int status;
  if (!command_parse(&keys, argc, argv, &args, &status)) return status;
  config_problems_init(&problems);
  buf_init(&out, MOST_OUTPUT);
  struct governance *g = config_load_signing(args.operands[0], STR("the command line"), &problems);
  command_print_problems(&problems);
  status = !g ? EXIT_CANNOT : governance_key_count(g) ? EXIT_OK : EXIT_NO;
  if (status == EXIT_OK) governance_put_keys(g, &out);
  else if (g) fprintf(stderr, "%s: the file has no member \"signing\", which names keys\n", args.operands[0]);
  command_print_done(&out);
  governance_unref(&g);
  config_problems_done(&problems);
  return status;
}

static const char usage[] = "usage: toolgate govern decide --governance FILE --batch | QUESTION [--json]\n"
                            "       toolgate govern check FILE [--json]\n"
                            "       toolgate govern keys FILE\n\n"
                            "Decides calls by a governance file, checks such a file, and prints the keys that it\n"
                            "names. toolgate govern COMMAND --help shows the options.\n";

int cmd_govern(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"decide", run_decide}, {"check", run_check}, {"keys", run_keys}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

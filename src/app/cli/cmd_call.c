// SPDX-License-Identifier: Apache-2.0
// The commands call and hydrate.
#include <errno.h>
#include <stdio.h>

#include "app/gateway_client/meta_command.h"
#include "json/write.h"

static const struct command call_command = {
    .usage = "TOOL_ID [ARGS_JSON | -] [options]",
    .about = "Calls a tool as an agent does in gateway mode and prints its answer. An answer of\n"
             "more than result.budget tokens is cut; its last line is then a command that shows\n"
             "more. `browse` and `catalog` print the ids of tools; SERVER:NAME is enough if it\n"
             "names only one tool. The arguments are a JSON object (default {}), or - to read\n"
             "them from standard input.",
    .options = "cmuACWjd9`Y",
    .min = 1,
    .max = 2,
    .missing = "give the id of a tool",
    .surplus = "put the arguments in single quotes",
};

enum { MAX_ARGUMENTS = 64 << 20, READ_SIZE = 65536 };

static bool read_stdin(struct buf *out) {
  for (size_t n = 1; n;) {
    char *p = buf_room(out, READ_SIZE);
    n = p ? fread(p, 1, READ_SIZE, stdin) : 0;
    out->n += n;
  }
  if (out->over) fprintf(stderr, "toolgate: the arguments on standard input are larger than %d bytes\n", MAX_ARGUMENTS);
  else if (ferror(stdin)) fprintf(stderr, "toolgate: cannot read standard input: %s\n", strerror(errno));
  return !out->over && !ferror(stdin);
}

// Checks the arguments before the call, so that the error message can name the position of the error.
static bool check_arguments(const char *name, str text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, text, &json_default_limits, &f);
  bool ok = json_is(v, JSON_OBJECT);
  if (!v) fprintf(stderr, "%s: the arguments are not JSON: %s (%s)\n", name, f.message, f.path);
  else if (!ok) fprintf(stderr, "%s: the arguments must be a JSON object\n", name);
  arena_done(&a);
  return ok;
}

static int call(const struct arguments *args, str arguments) {
  struct buf text;
  str id = str_of(args->operands[0]);
  buf_init(&text, id.n * 6 + arguments.n + 64);
  struct json_writer w = json_writer(&text);
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), id);
  json_member_raw(&w, STR("args"), arguments);
  if (args->dry_run) json_member_bool(&w, STR("dry_run"), true);
  json_end_object(&w);
  ASSERT(!text.over);
  struct arena a;
  arena_init(&a);
  struct meta_command q = {
      .mode = MODE_GATEWAY, .tool = STR("tool_execute"), .arguments = buf_view(&text), .whole = true};
  if (args->idempotency_key)
    q.meta = arena_printf(&a, "{\"io.toolgate/idempotency_key\":%.*s}",
                          STR_ARG(json_escaped(&a, str_of(args->idempotency_key))));
  struct arguments bounded = *args;
  bounded.config.bounded = !args->full;
  int status = meta_command_run(&bounded, &q);
  arena_done(&a);
  buf_done(&text);
  return status;
}

int cmd_call(int argc, char **argv) {
  struct arguments args = {0};
  struct buf input;
  int status;
  if (!command_parse(&call_command, argc, argv, &args, &status)) return status;
  str arguments = args.operand_count > 1 ? str_of(args.operands[1]) : STR("{}");
  buf_init(&input, MAX_ARGUMENTS);
  bool from_stdin = str_eq(arguments, STR("-"));
  if (from_stdin && !read_stdin(&input)) status = EXIT_CANNOT;
  else if (!check_arguments(argv[0], from_stdin ? buf_view(&input) : arguments)) status = EXIT_USAGE;
  else status = call(&args, from_stdin ? buf_view(&input) : arguments);
  buf_done(&input);
  return status;
}

static const struct command hydrate_command = {
    .usage = "TOOL_ID [options]",
    .about = "Shows the full definition of a tool, with its schema. `browse` and `catalog` print\n"
             "the ids of tools; SERVER:NAME is enough if it names only one tool.",
    .options = "cmuACWjY",
    .min = 1,
    .max = 1,
    .missing = "give the id of a tool",
};

int cmd_hydrate(int argc, char **argv) {
  struct arguments args = {0};
  struct buf text;
  int status;
  if (!command_parse(&hydrate_command, argc, argv, &args, &status)) return status;
  str id = str_of(args.operands[0]);
  buf_init(&text, id.n * 6 + 64);
  struct json_writer w = json_writer(&text);
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), id);
  json_end_object(&w);
  ASSERT(!text.over);
  struct meta_command q = {.mode = MODE_TRANSPARENT, .tool = STR("tool_hydrate"), .arguments = buf_view(&text)};
  status = meta_command_run(&args, &q);
  buf_done(&text);
  return status;
}

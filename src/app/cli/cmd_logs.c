// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <unistd.h>

#include "app/gateway_client/console.h"
#include "io/stream/tail.h"
#include "json/write.h"

static const struct command command = {
    .usage = "SERVER [options]",
    .about = "Shows the last lines that a server's processes wrote to standard error. The running\n"
             "gateway stores at most 200 lines or 64 KiB. Exit code 3: no gateway serves this\n"
             "configuration.",
    .options = "znjcmuCW",
    .briefs = "fznn",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};

enum { FOLLOW_US = 300000, MAX_LINE = 1 << 20 };

static void print_line(const struct json *line, struct arena *a, bool json) {
  struct buf out;
  char at[CLOCK_TEXT];
  buf_init(&out, MAX_LINE);
  clock_print((int64_t)console_number(line, "at_ms"), at);
  if (json) buf_str(&out, json_span(line));
  else buf_printf(&out, "%s %.*s", at, STR_ARG(console_text(line, "text", a)));
  buf_char(&out, '\n');
  command_print_done(&out);
}

// Requests and prints lines of the log: if `which` is "after", the lines after line `number`; if it is "lines", the
// last `number` lines. Sets *out_last to the number of the last line.
static bool show(struct console *c, const struct arguments *args, const char *which, uint64_t number,
                 uint64_t *out_last, struct fault *f) {
  struct arena *a = &c->arena;
  struct json_writer w;
  struct buf params;
  str server = str_of(args->operands[0]);
  buf_init(&params, server.n * 6 + 256);
  w = json_writer(&params);
  json_begin_object(&w);
  json_member_str(&w, STR("server"), server);
  json_member_u64(&w, str_of(which), number);
  json_end_object(&w);
  ASSERT(!params.over);
  const struct json *said = control_client_request(c->gateway, a, STR("toolgate/logs"), buf_view(&params), f);
  buf_done(&params);
  if (!said) return false;
  bool process = true;
  const struct json *lines = json_get(said, STR("lines"));
  if (json_is(lines, JSON_ARRAY))
    JSON_EACH(it, lines) print_line(it, a, args->json);
  *out_last = console_number(said, "last");
  json_bool(json_get(said, STR("process")), &process);
  if (!process)
    fault_set(f, FAULT_NOT_FOUND, "server %.*s has no log, because it is not a process of this gateway",
              STR_ARG(server));
  fflush(stdout);
  arena_reset(a);
  return process;
}

static bool follow(struct console *c, const struct arguments *args, uint64_t lines, struct fault *f) {
  uint64_t last;
  if (!show(c, args, "lines", lines, &last, f)) return false;
  while (args->follow && !ferror(stdout)) {
    usleep(FOLLOW_US);
    if (!show(c, args, "after", last, &last, f)) return false;
  }
  return true;
}

int cmd_logs(int argc, char **argv) {
  struct arguments args = {0};
  struct console c;
  struct fault f;
  uint64_t lines = TAIL_LINES;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (args.lines && (!str_to_u64(str_of(args.lines), &lines) || lines > TAIL_LINES))
    return command_misused(argv[0], "--lines must be a number from 0 to 200");
  if (!console_open(&c, &args.config, &status)) return status;
  status = EXIT_OK;
  if (!follow(&c, &args, lines, &f)) {
    fprintf(stderr, "toolgate: %s\n", f.message);
    status = f.code == FAULT_SHUTTING_DOWN ? EXIT_CANNOT : EXIT_NO;
  }
  console_close(&c);
  return status;
}

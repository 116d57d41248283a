// SPDX-License-Identifier: Apache-2.0
// The command view: shows the full text of session results that were shortened in a prompt.
#include <stdio.h>

#include "app/cli/context/cmd_context.h"
#include "context/session_events.h"
#include "result/view/view.h"

static const struct command command = {
    .usage = "--session FILE HANDLE [SELECTOR] [options]",
    .about = "Prints a part of a long tool result that a prompt of this session shortened. The handle\n"
             "is the artifact:ID in the result's label. The selector is that of tool_view, such as\n"
             "{\"type\":\"lines\",\"start\":0,\"end\":20}; without one, prints the beginning.",
    .options = "efcW",
    .min = 1,
    .max = 2,
    .missing = "give the handle",
};

#define HANDLE "artifact:"

static const struct event *find_event(const struct event_log *log, str handle) {
  str id = str_from(handle, STR(HANDLE).n);
  if (!str_starts(handle, STR(HANDLE))) return NULL;
  for (size_t i = 0; i < log->count; i++)
    if (log->list[i].kind == EVENT_TOOL_RESULT && str_eq(log->list[i].id, id)) return &log->list[i];
  return NULL;
}

// Prints the selected part of a result. A result whose sensitivity is `floor` or higher is hidden, as in the prompt.
static int show(const struct event_log *log, str handle, const struct json *selector, enum event_level floor) {
  const struct event *e = find_event(log, handle);
  struct fault f;
  struct buf text;
  buf_init(&text, CONTEXT_FILE_BYTES);
  bool ok = e && e->level < floor && view_select(e->text, selector, VIEW_TOKENS, STR("…"), &text, &f);
  if (ok) command_print(buf_view(&text));
  else if (!e || e->level >= floor) fprintf(stderr, "toolgate: the session has no such result\n");
  else fprintf(stderr, "toolgate: %s\n", f.message);
  buf_done(&text);
  return ok ? EXIT_OK : EXIT_NO;
}

static int view(const struct arguments *args, const struct json *selector, enum event_level floor, struct arena *a) {
  struct buf text = {0};
  struct event_log log;
  struct fault f;
  int status = context_read_session(args, &text);
  if (status == EXIT_OK && session_read(a, buf_view(&text), &session_default_limits, &log, &f))
    status = show(&log, str_of(args->operands[0]), selector, floor);
  else if (status == EXIT_OK) status = context_failed(&f);
  buf_done(&text);
  return status;
}

int context_view(int argc, char **argv) {
  struct arguments args = {0};
  enum event_level floor = LEVEL_CONFIDENTIAL;
  struct arena a;
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!args.context.session) return command_misused(argv[0], "give --session");
  if (args.context.floor && !context_floor(args.context.floor, &floor))
    return command_misused(argv[0], CONTEXT_FLOOR_WRONG);
  str said = args.operand_count > 1 ? str_of(args.operands[1]) : STR("{\"type\":\"head\"}");
  arena_init(&a);
  const struct json *selector = json_parse(&a, said, &json_default_limits, &f);
  if (json_is(selector, JSON_OBJECT)) status = view(&args, selector, floor, &a);
  else status = command_misused(argv[0], "the selector must be a JSON object such as {\"type\":\"head\"}");
  arena_done(&a);
  return status;
}

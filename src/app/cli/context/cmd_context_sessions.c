// SPDX-License-Identifier: Apache-2.0
// The commands sessions and export: recorded sessions (context.record).
#include <stdio.h>

#include "app/cli/context/cmd_context.h"
#include "context/recorder.h"
#include "json/write.h"

static const struct command sessions_command = {
    .usage = "[options]",
    .about = "Lists the recorded sessions (context.record: true) in the order in which they began.",
    .options = "cWj",
};

static const struct command export_command = {
    .usage = "SESSION [options]",
    .about = "Prints the events of a recorded session, one per line, in the form that `context build\n"
             "--session` reads.",
    .options = "cW",
    .min = 1,
    .max = 1,
    .missing = "give the id of a session: toolgate context sessions lists them",
};

static void print_json(const struct recorded_session *s) {
  struct buf out;
  buf_init(&out, 1 << 16);
  struct json_writer w = json_writer(&out);
  json_begin_object(&w);
  json_member_str(&w, STR("session"), s->session);
  json_member_str(&w, STR("client"), s->client);
  json_member_str(&w, STR("principal"), s->principal);
  json_member_str(&w, STR("began"), str_of(context_time(s->began_ms).text));
  json_member_str(&w, STR("last"), str_of(context_time(s->last_ms).text));
  json_member_u64(&w, STR("calls"), s->calls);
  json_end_object(&w);
  buf_char(&out, '\n');
  command_print_done(&out);
}

static void print_line(const struct recorded_session *s, struct arena *a) {
  command_print(arena_printf(a, "%.*s  %.19sZ  %5zu calls  %.*s\n", STR_ARG(s->session), context_time(s->began_ms).text,
                             s->calls, STR_ARG(s->client)));
}

static int list(const struct context_place *place, bool json, struct arena *a) {
  struct recorded_session *sessions;
  struct fault f;
  size_t n;
  if (!recorder_list(place->store, a, &sessions, &n, &f)) return context_failed(&f);
  for (size_t i = 0; i < n; i++) {
    if (json) print_json(&sessions[i]);
    else print_line(&sessions[i], a);
  }
  if (!n && !place->config.record) fputs("toolgate: nothing was recorded: context.record is off\n", stderr);
  return EXIT_OK;
}

int context_sessions(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct arena a;
  int status;
  if (!command_parse(&sessions_command, argc, argv, &args, &status)) return status;
  if (!context_open(&place, &args.config, &status)) return status;
  arena_init(&a);
  status = list(&place, args.json, &a);
  arena_done(&a);
  context_close(&place);
  return status;
}

int context_export(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct buf out;
  struct fault f;
  int status;
  if (!command_parse(&export_command, argc, argv, &args, &status)) return status;
  if (!context_open(&place, &args.config, &status)) return status;
  buf_init(&out, CONTEXT_FILE_BYTES);
  if (context_export_session(&place, str_of(args.operands[0]), &out, &f)) command_print(buf_view(&out));
  else status = context_failed(&f);
  buf_done(&out);
  context_close(&place);
  return status;
}

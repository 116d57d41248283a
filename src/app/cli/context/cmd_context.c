// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context/cmd_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/crypto/rand.h"
#include "context/recorder.h"
#include "io/file.h"
#include "result/text_cut.h"

static const char help[] = "usage: toolgate context COMMAND [options]\n"
                           "\n"
                           "Builds prompts and messages for a model from the events of a conversation.\n"
                           "\n"
                           "  build                        make a prompt from a session, within a token budget\n"
                           "  view HANDLE                  show a part of a result that a prompt shortened\n"
                           "  messages [FILE|-]            turn calls and their responses into messages\n"
                           "  sessions                     list the recorded sessions\n"
                           "  export SESSION               print the events of a recorded session, for build\n"
                           "  trim [FILE|-]                move the oldest turns to the archive\n"
                           "  archive                      print archived messages\n"
                           "  save ID [FILE|-]             save a conversation\n"
                           "  load ID                      print a saved conversation, byte for byte\n"
                           "  swap ID OTHER [FILE|-]       save conversation ID, then print OTHER\n"
                           "  saved                        list the saved conversations\n"
                           "\n"
                           "toolgate context COMMAND --help shows its options.\n";

// clang-format off
static const struct command_part commands[] = {
    {"build", context_build},
    {"view", context_view},
    {"messages", context_messages},
    {"sessions", context_sessions},
    {"export", context_export},
    {"trim", context_trim},
    {"archive", context_archive},
    {"save", context_save},
    {"load", context_load},
    {"swap", context_swap},
    {"saved", context_saved},
    {NULL, NULL},
};
// clang-format on

int cmd_context(int argc, char **argv) {
  return command_run_part(commands, help, argc, argv);
}

// ---- files

bool context_read(const char *path, struct buf *out) {
  bool is_stdin = strcmp(path, "-") == 0;
  const char *shown = is_stdin ? "standard input" : path;
  struct fault f;
  int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  bool ok = fd >= 0 && file_read(fd, CONTEXT_FILE_BYTES, out, &f);
  if (fd < 0) fprintf(stderr, "toolgate: %s cannot be read: %s\n", shown, strerror(errno));
  else if (!ok) fprintf(stderr, "toolgate: %s %s\n", shown, f.message);
  if (fd >= 0 && !is_stdin) close(fd);
  return ok;
}

bool context_read_text(const char *path, struct buf *out) {
  struct buf raw;
  buf_init(out, 3 * (size_t)CONTEXT_FILE_BYTES);
  if (!path) return true;
  if (!context_read(path, &raw)) return false;
  measure_repair(out, buf_view(&raw));
  buf_done(&raw);
  return true;
}

bool context_read_conversation(const char *path, struct arena *a, struct conversation *out, str *out_text,
                               int *out_status) {
  struct buf text;
  struct fault f;
  *out_status = EXIT_CANNOT;
  if (!context_read(path ? path : "-", &text)) return false;
  *out_text = arena_str(a, buf_view(&text));
  buf_done(&text);
  const struct json *root = json_parse(a, *out_text, &json_default_limits, &f);
  bool ok = root && conversation_read(root, a, out, &f);
  *out_status = ok ? EXIT_OK : EXIT_NO;
  if (!ok) fprintf(stderr, "toolgate: %s%s%s\n", f.message, *f.path ? ", " : "", f.path);
  return ok;
}

// ---- the store

static void on_closed(void *ctx) {
}

void context_close(struct context_place *p) {
  ASSERT(p->store);
  store_close(&p->store, on_closed, NULL);
  config_done(&p->config);
}

static bool open_store(struct context_place *p, int *out_status) {
  struct store_options opt = {
      .log = &p->log,
      .clock = &clock_system,
      .rand = &rand_system,
      .folder = p->config.state_dir,
      .limits = p->config.kept,
  };
  struct fault f;
  p->log = (struct log){STDERR_FILENO, p->config.log_level, &clock_system};
  p->store = store_new(&opt);
  if (store_probe(p->store, &f)) return true;
  fprintf(stderr, "toolgate: %s\n", f.message);
  context_close(p);
  *out_status = EXIT_CANNOT;
  return false;
}

bool context_open(struct context_place *p, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  *p = (struct context_place){0};
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.serverless = true;
  if (!opt.log_level) opt.log_level = "warn";
  config_problems_init(&problems);
  bool ok = config_load(&p->config, &opt, environ, &problems);
  command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok && !p->config.state_dir.n) {
    fputs("toolgate: nothing can be stored: the configuration has state_dir: none\n", stderr);
    *out_status = EXIT_CANNOT;
    ok = false;
  }
  if (!ok) {
    config_done(&p->config);
    return false;
  }
  return open_store(p, out_status);
}

struct context_time context_time(int64_t ms) {
  struct context_time t;
  size_t n = clock_print(ms, t.text);
  ASSERT(n < sizeof t.text);
  return t;
}

int context_failed(const struct fault *f) {
  fprintf(stderr, "toolgate: %s\n", f->message);
  return f->code == FAULT_IO ? EXIT_CANNOT : EXIT_NO;
}

bool context_id(const char *name, const char *id, str *out, int *out_status) {
  *out = str_of(id);
  if (conversation_id_ok(*out)) return true;
  *out_status = command_misused(name, "the id of a conversation must be one line of at most 512 bytes");
  return false;
}

// ---- shared code of commands about sessions

// Finds the only session whose id begins with `begin`. Returns false, with the reason in `f`, if there is no such
// session or more than one.
static bool find_session(struct context_place *p, str begin, struct arena *a, str *out, struct fault *f) {
  ASSERT(begin.n);
  struct recorded_session *sessions;
  size_t n, found = 0;
  struct fault unknown = *f;
  if (!recorder_list(p->store, a, &sessions, &n, f)) return false;
  *f = unknown;
  for (size_t i = 0; i < n; i++) {
    if (!str_starts(sessions[i].session, begin)) continue;
    *out = sessions[i].session;
    found++;
  }
  if (found > 1)
    fault_set(f, FAULT_NOT_FOUND, "%zu session ids begin with \"%.*s\": give more characters of the id", found,
              STR_ARG(begin));
  return found == 1;
}

bool context_export_session(struct context_place *p, str session, struct buf *out, struct fault *f) {
  struct arena a;
  str whole;
  if (recorder_export(p->store, session, out, f)) return true;
  if (f->code != FAULT_NOT_FOUND || !session.n) return false;
  arena_init(&a);
  bool ok = find_session(p, session, &a, &whole, f) && recorder_export(p->store, whole, out, f);
  arena_done(&a);
  return ok;
}

#define LIVE "live:"

int context_read_session(const struct arguments *args, struct buf *out) {
  struct context_place place;
  struct fault f;
  int status;
  str said = str_of(args->context.session);
  if (!str_starts(said, STR(LIVE))) return context_read(args->context.session, out) ? EXIT_OK : EXIT_CANNOT;
  if (!context_open(&place, &args->config, &status)) return status;
  buf_init(out, CONTEXT_FILE_BYTES);
  bool ok = context_export_session(&place, str_from(said, STR(LIVE).n), out, &f);
  context_close(&place);
  return ok ? EXIT_OK : context_failed(&f);
}

bool context_floor(const char *said, enum event_level *out) {
  bool none = strcmp(said, "none") == 0;
  if (none) *out = LEVEL_COUNT;
  return none || event_level_find(str_of(said), out);
}

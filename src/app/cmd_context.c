// SPDX-License-Identifier: Apache-2.0
#include "app/cmd_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/file.h"
#include "result/measure.h"

static const char help[] = "usage: toolgate context COMMAND [options]\n"
                           "\n"
                           "What was said and done in a conversation, made into what a model should read.\n"
                           "\n"
                           "  build                        a prompt from a session, within a budget of tokens\n"
                           "  messages [FILE|-]            calls and their responses as messages\n"
                           "\n"
                           "toolgate context COMMAND --help says more.\n";

static const struct {
  const char *name;
  command_run *run;
} commands[] = {
    {"build", context_build},
    {"messages", context_messages},
};

static command_run *find_command(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(name, commands[i].name) == 0) return commands[i].run;
  return NULL;
}

int cmd_context(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  command_run *run = find_command(name);
  if (run) {
    char shown[64];  // messages begin with it
    snprintf(shown, sizeof shown, "%s %s", argv[0], name);
    argv[1] = shown;
    return run(argc - 1, argv + 1);
  }
  bool asked = !strcmp(name, "--help") || !strcmp(name, "-h");
  if (asked) fputs(help, stdout);
  else if (*name) fprintf(stderr, "%s: there is no command \"%s\"\n", argv[0], name);
  else fprintf(stderr, "%s: give a command\n", argv[0]);
  return asked ? EXIT_OK : command_misused(argv[0], NULL);
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

// SPDX-License-Identifier: Apache-2.0
// The main function: finds the command in a table and runs it.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "base/assert.h"
#include "base/text/nearest.h"
#include "io/process/lockdown.h"

static const char usage[] = "toolgate: one gateway between AI agents and their MCP servers\n"
                            "\n"
                            "usage: toolgate COMMAND [options]\n"
                            "\n"
                            "  serve                        serve the configured MCP servers to clients\n"
                            "  check                        print every problem in the configuration\n"
                            "  import [CLIENT]              copy the servers of other clients\n"
                            "  connect CLIENT               let a client use Toolgate in place of its servers\n"
                            "  add, remove, enable, disable NAME\n"
                            "                               change the configured servers\n"
                            "  token new | list | revoke    issue bearer tokens for agents over HTTP\n"
                            "  status                       show a running gateway, its clients and servers\n"
                            "  top                          show calls and latencies of the servers, live\n"
                            "  logs SERVER [-f]             show what a server wrote to standard error\n"
                            "  catalog                      list all tools, resources and prompts with ids\n"
                            "  browse QUERY | --path PATH   find tools, as an agent does\n"
                            "  hydrate TOOL_ID              show the full definition of a tool\n"
                            "  call TOOL_ID [ARGS_JSON|-]   call a tool\n"
                            "  view HANDLE [SELECTOR_JSON]  look into a result that was cut\n"
                            "  stats                        show the cost of the servers in tokens\n"
                            "  rank                         rank tools for queries, to measure the search\n"
                            "  schema validate --batch      check values against JSON Schemas\n"
                            "  policy ...                   explain and check the access rules\n"
                            "  govern ...                   decide calls by a governance file, and check it\n"
                            "  adapter new | check          draft a governance file, compare it with the servers\n"
                            "  plan check FILE              decide every step of a plan, without making a call\n"
                            "  pins list | diff | accept    review tools that have changed\n"
                            "  approvals list | show | approve | deny\n"
                            "                               decide about calls that wait for a person\n"
                            "  decisions ...                show the recorded decisions about calls\n"
                            "  calls ...                    show the recorded governed calls\n"
                            "  skill check | sign | list | show | activate\n"
                            "                               test and sign skills, and choose their versions\n"
                            "  audit verify FILE            check that nobody changed an audit log\n"
                            "  context ...                  build prompts within a budget from a conversation\n"
                            "  tokens [FILE...]             count the tokens of files exactly\n"
                            "  version                      print the version\n"
                            "\n"
                            "toolgate COMMAND --help shows its options.\n";

// clang-format off
static const struct {
  const char *name;
  command_run *run;
} commands[] = {
    {"serve", cmd_serve},
    {"check", cmd_check},
    {"import", cmd_import},
    {"connect", cmd_connect},
    {"add", cmd_add},
    {"remove", cmd_remove},
    {"enable", cmd_enable},
    {"disable", cmd_disable},
    {"token", cmd_token},
    {"status", cmd_status},
    {"top", cmd_top},
    {"logs", cmd_logs},
    {"catalog", cmd_catalog},
    {"browse", cmd_browse},
    {"hydrate", cmd_hydrate},
    {"call", cmd_call},
    {"view", cmd_view},
    {"stats", cmd_stats},
    {"rank", cmd_rank},
    {"schema", cmd_schema},
    {"policy", cmd_policy},
    {"govern", cmd_govern},
    {"adapter", cmd_adapter},
    {"plan", cmd_plan},
    {"pins", cmd_pins},
    {"approvals", cmd_approvals},
    {"decisions", cmd_decisions},
    {"calls", cmd_calls},
    {"skill", cmd_skill},
    {"audit", cmd_audit},
    {"context", cmd_context},
    {"tokens", cmd_tokens},
    {"version", cmd_version},
};
// clang-format on

// Opens /dev/null on closed standard descriptors: otherwise a new socket could get the number of stdout or stderr.
static void fill_standard_descriptors(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

static command_run *find_command(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(name, commands[i].name) == 0) return commands[i].run;
  return NULL;
}

// Returns the exit code of the program. Reports an error if output was lost, for example because the disk is full, but
// not if the reader closed the pipe (`| head`).
static int end(int status) {
  bool lost = ferror(stdout);
  lost |= fflush(stdout) != 0;
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  bool reader_left = poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
  if (!lost || reader_left) return status;
  fputs("toolgate: the output could not be written\n", stderr);
  return EXIT_CANNOT;
}

int main(int argc, char **argv) {
  lockdown_process();
  lockdown_environment();
  fill_standard_descriptors();
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "--version")) name = "version";
  command_run *run = find_command(name);
  if (run) {
    char shown[32];  // program name for messages
    int n = snprintf(shown, sizeof shown, "toolgate %s", name);
    ASSERT(n > 0 && (size_t)n < sizeof shown);
    argv[1] = shown;
    return end(run(argc - 1, argv + 1));
  }
  bool asked = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");
  fputs(usage, asked ? stdout : stderr);
  struct nearest near = {.word = str_of(name)};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) nearest_try(&near, str_of(commands[i].name));
  const char *hint = near.best.p ? near.best.p : "";
  if (!asked && *name)
    fprintf(stderr, "\ntoolgate: unknown command \"%s\"%s%s%s\n", name, *hint ? "; did you mean \"" : "", hint,
            *hint ? "\"?" : "");
  return asked ? EXIT_OK : EXIT_USAGE;
}

// SPDX-License-Identifier: Apache-2.0
// The command line.
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "app/check.h"
#include "app/serve.h"

enum { EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_CANNOT };  // EXIT_NO: see config_problems_status

static const char usage[] = "toolgate: one gateway between AI agents and their MCP servers\n"
                            "\n"
                            "usage: toolgate serve [options]     serve the configured MCP servers to clients\n"
                            "       toolgate check [options]     say everything that is wrong with the configuration\n"
                            "       toolgate version\n"
                            "\n"
                            "toolgate COMMAND --help says more.\n";

static const char options_help[] =
    "  --config FILE       toolgate.yaml, or JSON (default: toolgate.yaml here, if there is one)\n"
    "  --mcp-config FILE   the servers: .mcp.json (default: .mcp.json here)\n"
    "  --mode MODE         what clients see: direct\n"
    "  --transport T       how clients connect: stdio (default) or http\n"
    "  --listen HOST:PORT  for http (default 127.0.0.1:8811; port 0 takes a free one); implies --transport http\n"
    "  --insecure-bind     listen beyond this machine without any token\n"
    "  --log-level LEVEL   debug, info (default), warn, error or off; the log goes to stderr\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},  // the first one, which only `check` has
    {"config", required_argument, NULL, 'c'},
    {"mcp-config", required_argument, NULL, 'm'},
    {"mode", required_argument, NULL, 'M'},
    {"transport", required_argument, NULL, 't'},
    {"listen", required_argument, NULL, 'l'},
    {"insecure-bind", no_argument, NULL, 'i'},
    {"log-level", required_argument, NULL, 'L'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct arguments {
  struct config_options config;
  bool json, help;
};

static bool parse_options(int argc, char **argv, const struct option *options, struct arguments *out) {
  for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    switch (c) {
    case 'c': out->config.config = optarg; break;
    case 'm': out->config.mcp_config = optarg; break;
    case 'M': out->config.mode = optarg; break;
    case 't': out->config.transport = optarg; break;
    case 'l': out->config.listen = optarg; break;
    case 'L': out->config.log_level = optarg; break;
    case 'i': out->config.insecure_bind = true; break;
    case 'j': out->json = true; break;
    case 'h': out->help = true; break;
    default: return false;
    }
  }
  if (optind == argc) return true;
  fprintf(stderr, "%s: unexpected argument '%s'\n", argv[0], argv[optind]);
  return false;
}

// argv[0] is "toolgate COMMAND": getopt begins its messages with it.
static bool parse(int argc, char **argv, const struct option *options, struct arguments *out) {
  if (parse_options(argc, argv, options, out)) return true;
  fprintf(stderr, "%s --help lists the options\n", argv[0]);
  return false;
}

static void print_problems(const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++) {
    const struct config_problem *e = &p->list[i];
    fprintf(stderr, "toolgate: %s%.*s%s%.*s: %.*s\n", e->warning ? "warning: " : "", STR_ARG(e->file),
            e->pointer.n ? ":" : "", STR_ARG(e->pointer), STR_ARG(e->message));
  }
}

static int serve(const struct arguments *args, const struct guard *guard) {
  struct config config;
  struct config_problems problems;
  config_problems_init(&problems);
  bool ok = config_load(&config, &args->config, environ, &problems);
  print_problems(&problems);
  int status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok) status = serve_run(&config, guard, environ);
  config_done(&config);
  return status;
}

static int serve_command(int argc, char **argv) {
  // First of all, while there is one thread and nothing is open: the process that will start the servers.
  struct guard guard;
  struct fault f;
  struct arguments args = {0};
  if (!parse(argc, argv, long_options + 1, &args)) return EXIT_USAGE;
  if (args.help) {
    printf("usage: toolgate serve [options]\n\nServes the configured MCP servers to clients, on stdio or HTTP.\n\n%s",
           options_help);
    return EXIT_OK;
  }
  if (!guard_start(&guard, &f)) {
    fprintf(stderr, "toolgate: %s\n", f.message);
    return EXIT_CANNOT;
  }
  return serve(&args, &guard);
}

static int check_command(int argc, char **argv) {
  struct arguments args = {.config.strict = true};
  if (!parse(argc, argv, long_options, &args)) return EXIT_USAGE;
  if (args.help) {
    printf(
        "usage: toolgate check [options]\n\nReads the configuration and says everything that is wrong with it. Starts "
        "nothing.\n\n%s  --json              the same for programs\n",
        options_help);
    return EXIT_OK;
  }
  return check_run(&args.config, args.json, environ, stdout);
}

static int version_command(int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
  struct arguments args = {0};
  if (!parse(argc, argv, options, &args)) return EXIT_USAGE;
  puts(args.help ? "usage: toolgate version\n\nPrints the version." : "toolgate " TOOLGATE_VERSION);
  return EXIT_OK;
}

// Whoever starts us without stdin, stdout or stderr would have our first sockets take their place.
static void fill_standard_descriptors(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

int main(int argc, char **argv) {
  fill_standard_descriptors();
  static const struct {
    const char *name, *shown;
    int (*run)(int argc, char **argv);
  } commands[] = {
      {"serve", "toolgate serve", serve_command},
      {"check", "toolgate check", check_command},
      {"version", "toolgate version", version_command},
      {"--version", "toolgate version", version_command},
  };
  const char *command = argc > 1 ? argv[1] : "";
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(command, commands[i].name) != 0) continue;
    argv[1] = (char *)commands[i].shown;
    return commands[i].run(argc - 1, argv + 1);
  }
  bool asked = !strcmp(command, "help") || !strcmp(command, "--help") || !strcmp(command, "-h");
  fputs(usage, asked ? stdout : stderr);
  if (!asked && *command) fprintf(stderr, "\ntoolgate: there is no command \"%s\"\n", command);
  return asked ? EXIT_OK : EXIT_USAGE;
}

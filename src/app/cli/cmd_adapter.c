// SPDX-License-Identifier: Apache-2.0
// toolgate adapter new | check
#include <stdio.h>
#include <unistd.h>

#include "app/cli/adapter/adapter_check.h"
#include "app/cli/adapter/adapter_write.h"
#include "app/cli/adapter/governance_file.h"
#include "app/cli/command.h"
#include "app/gateway_client/inventory.h"
#include "govern/versions.h"

enum { MAX_REPORT = 256 << 20 };

// ---- new

static const struct command new_command = {
    .usage = "SERVER [options]",
    .about = "Prints a governance file with the tools of a server, in YAML, for a person to edit.\n"
             "Classes and approval modes follow hints of the server: review each of them.\n"
             "Exit code 1: there is no such server, or a tool was left out.",
    .options = "cmuCWj!Y",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};

static void on_problem(void *ctx, str pointer, const char *message) {
  struct fault *f = ctx;
  if (!f->code) fault_set(f, FAULT_LIMIT, "the governance file would be invalid: %.*s: %s", STR_ARG(pointer), message);
}

// Returns whether the draft is a valid governance file. It is invalid if the server has more tools than a file can
// contain.
static bool loads(const struct buf *out, bool json, struct fault *f) {
  if (out->over)
    fault_set(f, FAULT_LIMIT, "the governance file would be larger than the limit of %d bytes", GOVERNANCE_BYTES_MAX);
  if (out->over) return false;
  struct governance *g = governance_file_read(buf_view(out), !json, on_problem, f);
  bool ok = g != NULL;
  governance_unref(&g);
  return ok;
}

static int print(const struct adapter_draft *d, bool json) {
  struct fault f = {0};
  struct buf out;
  size_t left_out = 0;
  for (size_t i = 0; i < d->count; i++) left_out += !d->tools[i].usable;
  buf_init(&out, GOVERNANCE_BYTES_MAX);
  if (json) adapter_write_json(&out, d);
  else adapter_write_yaml(&out, d);
  if (!loads(&out, json, &f)) {
    buf_done(&out);
    return command_failed(&f, EXIT_CANNOT);
  }
  command_print_done(&out);
  if (!left_out) return EXIT_OK;
  fprintf(stderr,
          "toolgate: %zu tool%s left out: a capability needs a name of 1 to %d bytes without control characters\n",
          left_out, left_out == 1 ? " was" : "s were", GOVERNANCE_ID_MAX);
  return EXIT_NO;
}

static int print_server(struct gateway_client *client, const struct inventory *i, unsigned source,
                        const struct arguments *args) {
  const struct inventory_server *s = &i->servers[source];
  struct adapter_draft draft = {s->name, adapter_live(&client->config, s), args->manifest, NULL, 0};
  if (s->error) {
    fprintf(stderr, "toolgate: %.*s: not available: %s\n", STR_ARG(s->name), s->error);
    return EXIT_CANNOT;
  }
  draft.tools = adapter_tools(i->directory, source, &client->arena, &draft.count);
  return print(&draft, args->json);
}

static int write_new(struct gateway_client *client, str server, const struct arguments *args) {
  struct inventory i;
  struct fault f;
  if (!inventory_take(client, &i, &f)) return command_failed(&f, EXIT_CANNOT);
  unsigned source = 0;
  while (source < i.server_count && !str_eq(i.servers[source].name, server)) source++;
  int status = EXIT_NO;
  if (source < i.server_count) status = print_server(client, &i, source, args);
  else fprintf(stderr, "toolgate: no server \"%.*s\" is in use; toolgate check lists the servers\n", STR_ARG(server));
  inventory_done(&i);
  return status;
}

static int run_new(int argc, char **argv) {
  struct arguments args = {0};
  struct gateway_client client;
  int status;
  if (!command_parse(&new_command, argc, argv, &args, &status)) return status;
  str server = str_of(args.operands[0]);
  args.config.only = &server;
  args.config.only_count = 1;
  if (!gateway_client_open(&client, &args.config, &status)) return status;
  status = write_new(&client, server, &args);
  gateway_client_close(&client);
  return status;
}

// ---- check

static const struct command check_command = {
    .usage = "FILE [options]",
    .about = "Compares the adapters of a governance file with the tools of their servers, and prints\n"
             "each difference with its place in the file: tools and capabilities without the other,\n"
             "schemas and versions that differ from their pins, unknown servers. A capability that is lower than\n"
             "the server's hints is a remark. FILE can also be a configuration that names a governance\n"
             "file. Exit code 1: there are differences.",
    .options = "cmuCWjY",
    .min = 1,
    .max = 1,
    .missing = "give a governance file, or a configuration that names one",
};

// Adds the errors of a governance file. An error in a manifest is reported with the file of the manifest.
static void report_problems(struct adapter_report *r, const struct config_problems *problems) {
  str file = r->file;
  for (size_t i = 0; i < problems->count; i++) {
    const struct config_problem *p = &problems->list[i];
    if (p->warning) continue;
    r->file = p->file;
    adapter_report_add(r, ADAPTER_GOVERNANCE_INVALID, p->pointer, STR_NONE, "%.*s", STR_ARG(p->message));
    r->file = file;
  }
}

// Returns the governance file with its manifests; the caller must release it. Returns NULL if the file is invalid (the
// report has the errors), or if it cannot be read (*out_status is set).
static struct governance *open_file(const char *path, struct adapter_report *r, int *out_status) {
  struct config_problems problems;
  config_problems_init(&problems);
  struct governance *g = config_load_governance(path, STR("the command line"), &problems);
  bool readable = access(path, R_OK) == 0;
  if (!g && readable) report_problems(r, &problems);
  if (!g && !readable) {
    command_print_problems(&problems);
    *out_status = EXIT_CANNOT;
  }
  config_problems_done(&problems);
  return g;
}

// Sets opt->only to the servers that the file names.
static void name_servers(struct config_options *opt, const struct governance *g, struct arena *a) {
  size_t most = 0;
  for (size_t k = 0; k < governance_adapter_count(g); k++) most += 1 + governance_adapter_at(g, k)->versions.count;
  str *names = ARENA_ARRAY(a, str, most);
  for (size_t k = 0; k < governance_adapter_count(g); k++) {
    const struct governance_adapter *adapter = governance_adapter_at(g, k);
    if (adapter->server.p) names[opt->only_count++] = adapter->server;
    for (size_t i = 0; i < adapter->versions.count; i++) names[opt->only_count++] = adapter->versions.list[i].server;
  }
  opt->only = names;
}

// Compares the governance file with the tools of the servers that it names, and starts only these servers. Returns
// EXIT_OK if the comparison could run.
static int compare(struct config_options *opt, const struct governance *g, struct arena *a, struct adapter_report *r) {
  struct gateway_client client;
  struct inventory i;
  struct fault f;
  int status = EXIT_OK;
  name_servers(opt, g, a);
  if (!opt->only_count) return EXIT_OK;
  // Nothing was compared, so the exit code must not be EXIT_NO, which reports differences.
  if (!gateway_client_open(&client, opt, &status)) return status == EXIT_USAGE ? EXIT_USAGE : EXIT_CANNOT;
  if (inventory_take(&client, &i, &f)) {
    adapter_check(r, g, &client.config, &i, a);
    inventory_done(&i);
  } else {
    status = command_failed(&f, EXIT_CANNOT);
  }
  gateway_client_close(&client);
  return status;
}

static void print_report(struct adapter_report *r) {
  ASSERT(r->out.n || r->findings + r->remarks == 0);
  if (r->json) printf("{\"ok\":%s,\"findings\":[", r->findings ? "false" : "true");
  command_print(buf_view(&r->out));
  if (r->json) printf("]}\n");
  else
    printf("%zu finding%s, %zu remark%s\n", r->findings, r->findings == 1 ? "" : "s", r->remarks,
           r->remarks == 1 ? "" : "s");
}

static int run_check(int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  if (!command_parse(&check_command, argc, argv, &args, &status)) return status;
  struct adapter_report r = {.named = str_of(args.operands[0]), .json = args.json};
  status = EXIT_OK;
  arena_init(&a);
  r.file = config_governance_path(args.operands[0], &a);
  buf_init(&r.out, MAX_REPORT);
  struct governance *g = open_file(args.operands[0], &r, &status);
  if (g) status = compare(&args.config, g, &a, &r);
  if (r.out.over) {
    fprintf(stderr, "toolgate: the findings are larger than %d bytes\n", MAX_REPORT);
    status = EXIT_CANNOT;
  }
  if (status == EXIT_OK) {
    print_report(&r);
    status = r.incomplete ? EXIT_CANNOT : r.findings ? EXIT_NO : EXIT_OK;
  }
  governance_unref(&g);
  buf_done(&r.out);
  arena_done(&a);
  return status;
}

// ---- the command

static const char usage[] = "usage: toolgate adapter new SERVER [options]\n"
                            "       toolgate adapter check FILE [options]\n\n"
                            "Drafts a governance file from the tools of a server, and compares a governance file\n"
                            "with the servers. toolgate adapter COMMAND --help shows the options.\n";

int cmd_adapter(int argc, char **argv) {
  static const struct command_part parts[] = {{"new", run_new}, {"check", run_check}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// toolgate adapter new | check
#include <stdio.h>

#include "app/cli/adapter/adapter_check.h"
#include "app/cli/adapter/adapter_write.h"
#include "app/cli/adapter/governance_file.h"
#include "app/cli/command.h"
#include "app/clients/text_file.h"
#include "app/gateway_client/inventory.h"
#include "upstream/kind.h"

enum { MAX_REPORT = 256 << 20 };

// ---- new

static const struct command new_command = {
    .usage = "SERVER [options]",
    .about = "Prints a governance file with the tools of a server, in YAML, for a person to edit.\n"
             "Classes and approval modes follow hints of the server: review each of them.\n"
             "Exit code 1: there is no such server, or a tool was left out.",
    .options = "cmuCWjY",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};

// Returns the kind of a server, or NULL if the server is not in this configuration.
static const struct upstream_kind *kind_of(const struct config *c, str server) {
  for (size_t i = 0; i < c->upstream_count; i++)
    if (str_eq(c->upstreams[i].name, server)) return c->upstreams[i].kind;
  return NULL;
}

// Sets the protocol revision and the transport that the draft expects, if they are known. A server inside this
// process has neither, because it does not use MCP.
static void pin_protocol(struct adapter_draft *d, const struct upstream_kind *kind, const char *revision) {
  if (kind && kind->local) return;
  d->protocol_version = str_of(revision);
  if (kind == &upstream_http) d->transport = STR("streamable_http");
  else if (kind == &upstream_stdio || kind == &upstream_sse) d->transport = str_of(kind->name);
}

static void on_problem(void *ctx, str pointer, const char *message) {
  struct fault *f = ctx;
  if (!f->code) fault_set(f, FAULT_LIMIT, "the governance file would be invalid: %.*s: %s", STR_ARG(pointer), message);
}

// Returns whether the draft is a valid governance file: a server may have more tools than one file can contain.
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

static int print_server(struct gateway_client *client, const struct inventory *i, unsigned source, bool json) {
  const struct inventory_server *s = &i->servers[source];
  struct adapter_draft draft = {.server = s->name};
  if (s->error) {
    fprintf(stderr, "toolgate: %.*s: not available: %s\n", STR_ARG(s->name), s->error);
    return EXIT_CANNOT;
  }
  pin_protocol(&draft, kind_of(&client->config, s->name), s->revision);
  draft.tools = adapter_tools(i->directory, source, &client->arena, &draft.count);
  return print(&draft, json);
}

static int write_new(struct gateway_client *client, str server, bool json) {
  struct inventory i;
  struct fault f;
  if (!inventory_take(client, &i, &f)) return command_failed(&f, EXIT_CANNOT);
  unsigned source = 0;
  while (source < i.server_count && !str_eq(i.servers[source].name, server)) source++;
  int status = EXIT_NO;
  if (source < i.server_count) status = print_server(client, &i, source, json);
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
  status = write_new(&client, server, args.json);
  gateway_client_close(&client);
  return status;
}

// ---- check

static const struct command check_command = {
    .usage = "FILE [options]",
    .about = "Compares the adapters of a governance file with the tools of their servers, and prints\n"
             "each difference with its place in the file: tools and capabilities without the other,\n"
             "schemas that differ from their pins, unknown servers. A capability that is lower than\n"
             "the server's hints is a remark. Exit code 1: there are differences.",
    .options = "cmuCWjY",
    .min = 1,
    .max = 1,
    .missing = "give a governance file",
};

static void on_invalid(void *ctx, str pointer, const char *message) {
  adapter_report_add(ctx, ADAPTER_GOVERNANCE_INVALID, pointer, STR_NONE, "%s", message);
}

// Returns the governance file, which the caller must release. Returns NULL if the file is invalid (the report has the
// error), or if it cannot be read (*out_status is set).
static struct governance *open_file(const char *path, struct arena *a, struct adapter_report *r, int *out_status) {
  struct text_file file;
  struct fault f;
  bool ok = text_file_open(&file, str_of(path), a, &f);
  if (ok && !file.exists) fault_set(&f, FAULT_IO, "does not exist");
  if (ok && file.exists) {
    bool yaml = str_ends(r->file, STR(".yaml")) || str_ends(r->file, STR(".yml"));
    return governance_file_read(file.text, yaml, on_invalid, r);
  }
  fprintf(stderr, "toolgate: %s: %s\n", path, f.message);
  *out_status = EXIT_CANNOT;
  return NULL;
}

// Compares the file with its servers. Starts only the servers that the file names. Returns EXIT_OK if the comparison
// could run.
static int compare(struct config_options *opt, const struct governance *g, struct arena *a, struct adapter_report *r) {
  struct gateway_client client;
  struct inventory i;
  struct fault f;
  int status = EXIT_OK;
  str *names = ARENA_ARRAY(a, str, governance_adapter_count(g));
  for (size_t k = 0; k < governance_adapter_count(g); k++)
    if (governance_adapter_at(g, k)->server.p) names[opt->only_count++] = governance_adapter_at(g, k)->server;
  if (!opt->only_count) return EXIT_OK;
  opt->only = names;
  // If the configuration is unusable, nothing was compared. EXIT_NO would mean that the comparison found differences.
  if (!gateway_client_open(&client, opt, &status)) return status == EXIT_USAGE ? EXIT_USAGE : EXIT_CANNOT;
  if (inventory_take(&client, &i, &f)) {
    adapter_check(r, g, &i, a);
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
  struct adapter_report r = {.file = str_of(args.operands[0]), .json = args.json};
  status = EXIT_OK;
  arena_init(&a);
  buf_init(&r.out, MAX_REPORT);
  struct governance *g = open_file(args.operands[0], &a, &r, &status);
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

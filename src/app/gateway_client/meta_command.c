// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/meta_command.h"

#include <stdio.h>
#include <unistd.h>

#include "app/gateway_client/gateway_client.h"
#include "base/ascii.h"
#include "result/envelope/envelope.h"
#include "upstream/kind.h"
#include "json/scan.h"

// ---- printing

// A message may tell an agent to call a meta-tool. Replaces the meta-tool with the command that a person can run
// instead.
static str for_people(struct arena *a, str said) {
  static const struct {
    str agent, people;
  } words[] = {
      {STR("call tool_browse to find"), STR("run toolgate browse to find")},
      {STR("call resource_browse to find"), STR("run toolgate browse --kind resource to find")},
      {STR("call prompt_browse to find"), STR("run toolgate browse --kind prompt to find")},
      {STR("tool_browse with path \"/\""), STR("toolgate browse --path /")},
      {STR("resource_browse with path \"/\""), STR("toolgate browse --kind resource --path /")},
      {STR("prompt_browse with path \"/\""), STR("toolgate browse --kind prompt --path /")},
      {STR("tools/list names"), STR("toolgate catalog lists")},
  };
  for (size_t i = 0; said.n && i < sizeof words / sizeof *words; i++) {
    const char *at = memmem(said.p, said.n, words[i].agent.p, words[i].agent.n);
    if (!at || (at > said.p && at[-1] != ' ')) continue;
    str before = {said.p, (size_t)(at - said.p)}, after = str_from(said, before.n + words[i].agent.n);
    return arena_printf(a, "%.*s%.*s%.*s", STR_ARG(before), STR_ARG(words[i].people), STR_ARG(after));
  }
  return said;
}

static void print_line(str text) {
  command_print(text);
  if (!str_ends(text, STR("\n"))) putchar('\n');
}

// Prints one part of a result. Prints text unchanged, a link as its URI, and data as its type and size.
static void print_part(struct arena *a, const struct json *part) {
  const struct json *resource = json_get(part, STR("resource")), *holder = resource ? resource : part;
  str type = STR("unknown"), text, mime = STR("of unknown type"), data;
  if (json_string(json_get(holder, STR("text")), a, &text)) {
    print_line(str_starts(text, STR("Nothing found. ")) ? for_people(a, text) : text);
    return;
  }
  json_string(json_get(part, STR("type")), a, &type);
  json_string(json_get(holder, STR("mimeType")), a, &mime);
  bool has_bytes =
      json_string(json_get(holder, STR("data")), a, &data) || json_string(json_get(holder, STR("blob")), a, &data);
  if (has_bytes)
    text = arena_printf(a, "[%.*s %.*s: %zu characters of base64; --json shows them]", STR_ARG(type), STR_ARG(mime),
                        data.n);
  else if (json_string(json_get(holder, STR("uri")), a, &data))
    text = arena_printf(a, "[%.*s %.*s]", STR_ARG(type), STR_ARG(data));
  else text = arena_printf(a, "[%.*s]", STR_ARG(type));
  print_line(text);
}

// ---- the rest of a cut result

#define MARK "tool_view handle=\""
#define USUAL "{\"type\":\"head\",\"start\":0,\"chars\":2000}"

// Returns whether a shell reads the text literally if it is in single quotes.
static bool is_plain(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '\'' || (unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return false;
  return s.n > 0;
}

static bool is_handle(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_alnum(s.p[i]) && !strchr(":#@~._-", s.p[i])) return false;
  return s.n > 0;
}

// Finds the note at the end of a cut result, and reads the handle and the selector from it: … tool_view handle="H"
// selector={…}
static bool find_note(str text, str *out_handle, str *out_selector) {
  static const str mark = STR(MARK), by = STR("\" selector=");
  const char *at = text.n ? memmem(text.p, text.n, mark.p, mark.n) : NULL;
  if (!at) return false;
  str rest = str_from(text, (size_t)(at - text.p) + mark.n), tail;
  if (!str_cut(rest, '"', out_handle, &tail)) return false;
  rest = str_from(rest, out_handle->n);
  if (!str_starts(rest, by)) return true;
  rest = str_from(rest, by.n);
  struct json_scan scan = json_scan_strict(rest);
  const char *end = rest.n && rest.p[0] == '{' ? json_scan_skip(&scan, rest.p) : NULL;
  if (end) *out_selector = (str){rest.p, (size_t)(end - rest.p)};
  return true;
}

static str option(struct arena *a, const char *name, const char *value) {
  return value && is_plain(str_of(value)) ? arena_printf(a, " %s '%s'", name, value) : STR("");
}

// Sets *out to a line that explains how to see the rest of a cut result. The line is a command `toolgate view 'HANDLE'
// 'SELECTOR'` with the options of this command. If the pieces are lost when this process ends, the line advises to use
// --full instead. Text from a server appears only inside quotes, so that a shell does not interpret it. Returns false
// if the result was not cut.
static bool put_view_command(const struct arguments *args, const struct gateway_client *client, struct arena *a,
                             const struct json *result, str *out) {
  // Reads the envelope from _meta, which only the gateway writes. structuredContent may come from the server.
  const struct json *envelope = json_get(json_get(result, STR("_meta")), STR(ENVELOPE_META));
  const struct json *pieces = json_get(envelope, STR("artifacts")), *content = json_get(result, STR("content"));
  str handle = STR_NONE, selector = STR_NONE, last = STR_NONE;
  if (!json_is(pieces, JSON_ARRAY) || !pieces->count) return false;
  if (json_is(content, JSON_ARRAY))
    JSON_EACH(part, content) json_string(json_get(part, STR("text")), a, &last);
  if (!find_note(last, &handle, &selector)) json_string(json_get(pieces->child, STR("handle")), a, &handle);
  if (!is_handle(handle)) return false;
  bool on_disk = client->config.state_dir.n && !json_get(json_get(envelope, STR("provenance")), STR("kept_in"));
  if (!on_disk && !client->running) {
    *out = STR("the rest of the result is not stored on disk: repeat the call with --full to see all of it");
    return true;
  }
  if (!is_plain(selector)) selector = STR(USUAL);
  str config = option(a, "--config", args->config.config), rules = option(a, "--rules", args->config.rules);
  str agent = option(a, "--agent", args->config.agent), servers = STR("");
  if (!on_disk) servers = option(a, "--mcp-config", args->config.mcp_config);
  *out = arena_printf(a, "toolgate view '%.*s' '%.*s'%.*s%.*s%.*s%.*s", STR_ARG(handle), STR_ARG(selector),
                      STR_ARG(config), STR_ARG(servers), STR_ARG(rules), STR_ARG(agent));
  return true;
}

// ---- the answer

// Prints a fault of the gateway on one line, then its details.
static void print_fault(struct arena *a, const struct json *fault) {
  str code = STR("?"), message = STR_NONE;
  struct fault f;  // makes the message one line, as fault_set does
  json_string(json_get(fault, STR("error")), a, &code);
  json_string(json_get(fault, STR("message")), a, &message);
  fault_set(&f, FAULT_UPSTREAM_ERROR, "%.*s: %.*s", STR_ARG(code), STR_ARG(for_people(a, message)));
  fprintf(stderr, "toolgate: %s\n", f.message);
  const struct json *details = json_get(fault, STR("details"));
  if (!details) return;
  command_print_masked(json_span(details), stderr);
  fputc('\n', stderr);
}

// If a server of the running gateway failed and has a log, prints the command that shows the log.
static void print_log_hint(const struct gateway_client *client, struct arena *a, const struct json *fault) {
  str message = STR(""), name, rest;
  json_string(json_get(fault, STR("message")), a, &message);
  if (!client->running || !str_starts(message, STR("server \"")) || !str_cut(str_from(message, 8), '"', &name, &rest))
    return;
  for (size_t i = 0; i < client->config.upstream_count; i++) {
    const struct upstream_spec *spec = &client->config.upstreams[i];
    if (str_eq(spec->name, name) && spec->kind->process)
      fprintf(stderr, "toolgate: its last output: toolgate logs %.*s\n", STR_ARG(name));
  }
}

static int print_answer(const struct arguments *args, const struct meta_command *m, struct gateway_client *client,
                        const struct json *result) {
  struct arena *a = &client->arena;
  const struct json *structured = json_get(result, STR("structuredContent")), *content;
  bool failed = false;
  str more;
  json_bool(json_get(result, STR("isError")), &failed);
  bool fault =
      failed && json_is(json_get(structured, STR("error")), JSON_STRING) && json_get(structured, STR("retryable"));
  if (!failed && m->print) return m->print(args, a, structured);
  if (fault) {
    print_fault(a, structured);
    print_log_hint(client, a, structured);
  }
  if (args->json) {
    print_line(json_span(!structured || (m->whole && !fault) ? result : structured));
  } else {
    content = fault ? NULL : json_get(result, STR("content"));
    if (json_is(content, JSON_ARRAY))
      JSON_EACH(part, content) print_part(a, part);
    if (args->config.bounded && put_view_command(args, client, a, result, &more)) print_line(more);
  }
  return failed ? EXIT_NO : EXIT_OK;
}

int meta_command_run(const struct arguments *args, const struct meta_command *m) {
  struct gateway_client client;
  struct fault f;
  int status;
  ASSERT(m->tool.n && m->arguments.n);
  if (!gateway_client_open(&client, &args->config, &status)) return status;
  gateway_client_set_mode(&client, m->mode);
  if (m->all) gateway_client_wait_servers(&client);
  const struct json *result = gateway_client_call_tool(&client, m->tool, m->arguments, m->meta, &f);
  if (result) {
    status = print_answer(args, m, &client, result);
  } else {
    fprintf(stderr, "toolgate: %s\n", m->absent && f.code == FAULT_INVALID ? m->absent : f.message);
    status = EXIT_NO;
  }
  gateway_client_close(&client);
  return status;
}

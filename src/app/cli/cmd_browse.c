// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/gateway_client/meta_command.h"
#include "base/buf.h"
#include "base/clock.h"
#include "catalog/directory/decision.h"
#include "json/write.h"

static const struct command command = {
    .usage = "QUERY [options]\n       toolgate browse --path PATH [options]",
    .about = "Finds tools, resources or prompts as an agent does in gateway mode: by the words\n"
             "of a query, or by listing the entries below a path.",
    .options = "pkKsSvcmuACWjY",
    .max = 1,
    .surplus = "put a query of several words in quotes",
};

enum { MAX_ARGUMENTS = 1 << 20, MOST_CARDS = 50 };

// The meta-tool that searches each kind of item. The meta-tools for resources and prompts exist only if a server has
// resources or prompts; if the meta-tool does not exist, the command prints `absent`.
static const struct {
  const char *kind;
  str tool;
  const char *absent;
} tools[] = {
    {"tool", STR("tool_browse"), NULL},
    {"resource", STR("resource_browse"), "the servers have no resources"},
    {"prompt", STR("prompt_browse"), "the servers have no prompts"},
};

static bool find_tool(const char *kind, struct meta_command *out) {
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    if (kind && strcmp(kind, tools[i].kind) != 0) continue;
    out->tool = tools[i].tool;
    out->absent = tools[i].absent;
    return true;
  }
  return false;
}

static void put_arguments(struct buf *out, const struct arguments *args, uint64_t top_k) {
  ASSERT(!args->path != !args->operand_count && top_k <= MOST_CARDS);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, args->path ? STR("path") : STR("query"), str_of(args->path ? args->path : args->operands[0]));
  if (args->top_k) json_member_u64(&w, STR("top_k"), top_k);
  json_end_object(&w);
}

// ---- choice of one id by a model

enum { MOST_IDS = 400, MAX_DECISION = 4 << 20 };

static size_t read_ids(struct arena *a, const struct json *structured, str *out) {
  const struct json *cards = json_get(structured, STR("cards"));
  size_t n = 0;
  if (!json_is(cards, JSON_ARRAY)) return 0;
  JSON_EACH(card, cards)
    if (n < MOST_IDS && json_string(json_get(card, STR("id")), a, &out[n])) n++;
  return n;
}

static int print_schema(const char *name, const str *ids, size_t count) {
  enum selection_form form;
  struct fault f;
  struct buf text;
  buf_init(&text, MAX_ARGUMENTS);
  bool ok = selection_form_find(str_of(name), &form, &f) && selection_schema(form, ids, count, &text, &f);
  if (ok) printf("%.*s\n", STR_ARG(buf_view(&text)));
  else fprintf(stderr, "toolgate: %s\n", f.message);
  buf_done(&text);
  return ok ? EXIT_OK : EXIT_NO;
}

static int print_selection(const char *said, const str *ids, size_t count) {
  struct selection s = selection_check(str_of(said), ids, count);
  struct buf text;
  buf_init(&text, MAX_ARGUMENTS);
  struct json_writer w = json_writer(&text);
  selection_write(&w, &s);
  printf("%.*s\n", STR_ARG(buf_view(&text)));
  buf_done(&text);
  return s.status == SELECTION_REJECTED ? EXIT_NO : EXIT_OK;
}

static int print_decision(const struct arguments *args, struct arena *a, const struct json *cards, const str *ids,
                          size_t count) {
  struct rand_source random = rand_system;
  struct selection s = selection_check(str_of(args->selected), ids, count);
  struct fault f;
  struct buf text;
  char id[DECISION_ID_SIZE], now[CLOCK_TEXT];
  decision_id(&random, id);
  size_t n = clock_print(clock_wall_ms(&clock_system), now);
  struct decision d = {str_of(id), {now, n}, str_of(args->operands[0]), cards, args->selected ? &s : NULL};
  buf_init(&text, MAX_DECISION);
  struct json_writer w = json_writer(&text);
  bool ok = decision_write(&w, &d, a, &f);
  buf_char(&text, '\n');
  if (ok) command_print(buf_view(&text));
  else fprintf(stderr, "toolgate: %s\n", f.message);
  buf_done(&text);
  return ok && (!d.selection || s.status != SELECTION_REJECTED) ? EXIT_OK : EXIT_NO;
}

static int print_choice(const struct arguments *args, struct arena *a, const struct json *structured) {
  str ids[MOST_IDS];
  size_t n = read_ids(a, structured, ids);
  ASSERT(n <= MOST_IDS && (args->decision || !args->schema != !args->selected));
  if (args->decision) return print_decision(args, a, json_get(structured, STR("cards")), ids, n);
  return args->schema ? print_schema(args->schema, ids, n) : print_selection(args->selected, ids, n);
}

int cmd_browse(int argc, char **argv) {
  struct arguments args = {0};
  struct meta_command q = {.mode = MODE_GATEWAY, .all = true};
  struct buf text;
  uint64_t top_k = 0;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (args.path && args.operand_count) return command_misused(argv[0], "give a query or --path, not both");
  if (!args.path && !args.operand_count) return command_misused(argv[0], "give a query, or --path");
  if (!find_tool(args.kind, &q)) return command_misused(argv[0], "--kind must be tool, resource or prompt");
  if (args.top_k && (!str_to_u64(str_of(args.top_k), &top_k) || !top_k || top_k > MOST_CARDS))
    return command_misused(argv[0], "--top-k must be a number from 1 to 50");
  if (args.schema && args.selected) return command_misused(argv[0], "give --schema or --selected, not both");
  if (args.decision && (args.path || args.schema))
    return command_misused(argv[0], "--decision cannot be combined with --path or --schema");
  if (args.schema || args.selected || args.decision) q.print = print_choice;
  buf_init(&text, MAX_ARGUMENTS);
  put_arguments(&text, &args, top_k);
  q.arguments = buf_view(&text);
  status = meta_command_run(&args, &q);
  buf_done(&text);
  return status;
}

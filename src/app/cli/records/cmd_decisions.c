// SPDX-License-Identifier: Apache-2.0
// toolgate decisions list | show
#include "app/cli/records/records.h"
#include "json/write.h"

enum { MOST_OUTPUT = 1 << 30 };

// ---- list

static const struct command list = {
    .usage = "[options]",
    .about = "Prints the recorded decisions about governed calls, one per line, the latest last: time,\n"
             "id, verdict, agent, capability. With --json, prints the whole records, one per line.\n"
             "Reads the files in state_dir, so that no gateway needs to run.",
    .options = "+=|#cj",
};

static void put_verdict(struct records *r, const struct json *d, struct buf *out) {
  bool allowed = false;
  json_bool(record_member(d, "allowed"), &allowed);
  const struct json *gates = record_member(d, "gates");
  bool gated = json_is(gates, JSON_ARRAY) && gates->count;
  str word = record_text(r, d, allowed ? "mode_effective" : "code");
  buf_printf(out, "%s  %.*s", allowed ? "ALLOW" : "DENY", STR_ARG(word));
  if (!allowed || !gated) return;
  const char *before = " after approval by ";
  JSON_EACH(it, gates) {
    str id = record_text(r, it, "id");
    buf_printf(out, "%s%.*s", before, STR_ARG(id));
    before = ", ";
  }
}

static void put_line(struct records *r, const struct record *it, struct buf *out) {
  const struct json *d = json_get(it->root, STR("decision"));
  buf_printf(out, "%.*s  %.*s  ", STR_ARG(it->time), STR_ARG(it->id));
  put_verdict(r, d, out);
  buf_printf(out, "  %.*s  ", STR_ARG(record_text(r, d, "agent")));
  buf_printf(out, "%.*s\n", STR_ARG(record_text(r, d, "question.capability")));
}

static int run_list(int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found;
  struct buf out;
  int status;
  if (!command_parse(&list, argc, argv, &args, &status)) return status;
  const char *wrong = records_query(&args.records, "decision", &q);
  if (wrong) return command_misused(argv[0], wrong);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  buf_init(&out, MOST_OUTPUT);
  for (size_t i = 0; i < found.count; i++) {
    if (args.json) buf_printf(&out, "%.*s\n", STR_ARG(found.list[i].line));
    else put_line(&found, &found.list[i], &out);
  }
  if (!found.count) fputs("toolgate: no decision is recorded that fits\n", stderr);
  command_print_done(&out);
  records_done(&found);
  return EXIT_OK;
}

// ---- show

static const struct command show = {
    .usage = "ID [options]",
    .about = "Prints the record of one decision: the question, the verdict, and the permissions and\n"
             "rules that matched. The id is in the fault (decision_id), in the audit line and in the\n"
             "trace. Exit code 1: there is no such record.",
    .options = "+cj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a decision",
};

static void put_member(struct records *r, const struct json *v, const char *name, const char *path, struct buf *out) {
  buf_printf(out, "%-12s %.*s\n", name, STR_ARG(record_text(r, v, path)));
}

static void put_modes(struct records *r, const struct json *d, struct buf *out) {
  buf_printf(out, "%-12s requested %.*s", "modes", STR_ARG(record_text(r, d, "mode_requested")));
  buf_printf(out, ", effective %.*s", STR_ARG(record_text(r, d, "mode_effective")));
  buf_printf(out, ", highest %.*s\n", STR_ARG(record_text(r, d, "mode_highest")));
}

// Prints a line for each element of a list, with two of its members.
static void put_each(struct records *r, const struct json *all, const char *name, const char *first, const char *second,
                     struct buf *out) {
  if (!json_is(all, JSON_ARRAY)) return;
  JSON_EACH(it, all) {
    buf_printf(out, "%-12s %.*s", name, STR_ARG(record_text(r, it, first)));
    buf_printf(out, "  %.*s\n", STR_ARG(record_text(r, it, second)));
  }
}

static void put_record(struct records *r, const struct record *it, struct buf *out) {
  static const struct {
    const char *name, *path;
  } rows[] = {{"tenant", "tenant"},           {"agent", "agent"},        {"principal", "principal"},
              {"server", "server"},           {"tool", "tool"},          {"capability", "question.capability"},
              {"arguments", "question.args"}, {"recorded", "arguments"}, {"context", "question.context"}};
  const struct json *d = json_get(it->root, STR("decision"));
  buf_printf(out, "%.*s  %.*s  ", STR_ARG(it->time), STR_ARG(it->id));
  put_verdict(r, d, out);
  buf_printf(out, "  %.*s\n", STR_ARG(record_text(r, d, "pointer")));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) put_member(r, d, rows[i].name, rows[i].path, out);
  put_modes(r, d, out);
  put_each(r, record_member(d, "matches"), "matched", "pointer", "id", out);
  put_each(r, record_member(d, "gates"), "gate", "id", "role", out);
  put_each(r, record_member(d, "violations"), "violated", "path", "constraint", out);
  put_member(r, d, "inputs", "inputs", out);
  put_member(r, d, "governance", "rules.governance", out);
  put_member(r, d, "rules", "rules.access", out);
}

static int run_show(int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found;
  struct buf out;
  int status;
  if (!command_parse(&show, argc, argv, &args, &status)) return status;
  records_query(&args.records, "decision", &q);
  q.id = str_of(args.operands[0]);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  buf_init(&out, MOST_OUTPUT);
  if (found.count && args.json) buf_printf(&out, "%.*s\n", STR_ARG(found.list[0].line));
  else if (found.count) put_record(&found, &found.list[0], &out);
  else fputs("toolgate: no decision with this id is recorded\n", stderr);
  status = found.count ? EXIT_OK : EXIT_NO;
  command_print_done(&out);
  records_done(&found);
  return status;
}

static const char usage[] = "usage: toolgate decisions list [options]\n"
                            "       toolgate decisions show ID [options]\n\n"
                            "Shows the recorded decisions about governed calls. toolgate decisions COMMAND --help\n"
                            "shows the options.\n";

int cmd_decisions(int argc, char **argv) {
  static const struct command_part parts[] = {{"list", run_list}, {"show", run_show}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

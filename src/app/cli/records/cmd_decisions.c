// SPDX-License-Identifier: Apache-2.0
// toolgate decisions list | show | explain | replay
#include "app/cli/records/records.h"
#include "json/write.h"

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
  buf_printf(out, "%.*s%s\n", STR_ARG(record_text(r, d, "question.capability")), record_provisional(d));
}

static int run_list(int argc, char **argv) {
  return records_list(&list, "decision", put_line, argc, argv);
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

static void put_modes(struct records *r, const struct json *d, struct buf *out) {
  buf_printf(out, "%-12s requested %.*s", "modes", STR_ARG(record_text(r, d, "mode_requested")));
  buf_printf(out, ", effective %.*s", STR_ARG(record_text(r, d, "mode_effective")));
  buf_printf(out, ", highest %.*s%s\n", STR_ARG(record_text(r, d, "mode_highest")), record_provisional(d));
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
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) records_put_member(r, d, rows[i].name, rows[i].path, out);
  put_modes(r, d, out);
  records_put_each(r, record_member(d, "matches"), "matched", "pointer", "id", out);
  records_put_each(r, record_member(d, "gates"), "gate", "id", "role", out);
  records_put_each(r, record_member(d, "violations"), "violated", "path", "constraint", out);
  records_put_member(r, d, "inputs", "inputs", out);
  records_put_member(r, d, "governance", "rules.governance", out);
  records_put_member(r, d, "rules", "rules.access", out);
}

static int run_show(int argc, char **argv) {
  return records_show(&show, "decision", put_record, argc, argv);
}

static const char usage[] = "usage: toolgate decisions list [options]\n"
                            "       toolgate decisions show ID [options]\n"
                            "       toolgate decisions explain ID [options]\n"
                            "       toolgate decisions replay --rules FILE [options]\n\n"
                            "Shows the recorded decisions about governed calls. toolgate decisions COMMAND --help\n"
                            "shows the options.\n";

int cmd_decisions(int argc, char **argv) {
  static const struct command_part parts[] = {{"list", run_list},
                                              {"show", run_show},
                                              {"explain", decisions_explain},
                                              {"replay", decisions_replay},
                                              {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

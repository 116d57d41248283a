// SPDX-License-Identifier: Apache-2.0
// toolgate calls list | show | audit
#include "app/cli/records/records.h"

static const struct command list = {
    .usage = "[options]",
    .about = "Prints the recorded governed calls, one per line, the latest last: time, id, status, agent,\n"
             "capability, duration. With --json, prints the records with both envelopes, one per line.\n"
             "Reads the files in state_dir, so that no gateway needs to run.",
    .options = "+=|#cj",
};

static void put_line(struct records *r, const struct record *it, struct buf *out) {
  const struct json *call = json_get(it->root, STR("call"));
  str status = record_text(r, call, "result.status"), agent = record_text(r, call, "agent");
  str capability = record_text(r, call, "call.capability_id"), ms = record_text(r, call, "result.latency_ms");
  buf_printf(out, "%.*s  %.*s  %.*s  %.*s  %.*s%s  %.*s ms\n", STR_ARG(it->time), STR_ARG(it->id), STR_ARG(status),
             STR_ARG(agent), STR_ARG(capability), record_provisional(record_member(call, "call.metadata")),
             STR_ARG(ms));
}

static int run_list(int argc, char **argv) {
  return records_list(&list, "call", put_line, argc, argv);
}

static const struct command show = {
    .usage = "ID [options]",
    .about = "Prints one governed call: who made it, the decision, how it ended, and what `calls audit` has\n"
             "stated about it. With --json, prints both envelopes. Exit code 1: there is no such record.",
    .options = "+cj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a call",
};

static void put_record(struct records *r, const struct record *it, struct buf *out) {
  static const struct {
    const char *name, *path;
  } rows[] = {{"tenant", "tenant"},
              {"agent", "agent"},
              {"server", "server"},
              {"tool", "tool"},
              {"arguments", "call.args"},
              {"principals", "call.principal_chain"},
              {"run", "call.run_id"},
              {"trace", "call.trace_id"},
              {"decision", "call.policy_decision_id"},
              {"requested", "call.approval_mode_requested"},
              {"effective", "call.approval_mode_effective"},
              {"highest", "call.approval_mode_highest"},
              {"rules", "call.evidence_refs"},
              {"key", "call.idempotency_key"},
              {"error", "result.error.code"},
              {"message", "result.error.message"},
              {"retryable", "result.error.retryable"},
              {"remediation", "result.error.remediation"},
              {"citations", "result.citations"},
              {"evidence", "result.evidence_refs"},
              {"mutations", "result.mutations"},
              {"output", "result.output"},
              {"artifacts", "result.metadata.artifacts"},
              {"attempts", "result.attempts"},
              {"started", "result.started_at"},
              {"completed", "result.completed_at"},
              {"output hash", "result.output_hash"}};
  const struct json *call = json_get(it->root, STR("call"));
  put_line(r, it, out);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (record_member(call, rows[i].path)) records_put_member(r, call, rows[i].name, rows[i].path, out);
}

// Writes the statements of operators about the call.
static void put_audits(struct records *audits, struct buf *out) {
  for (size_t i = 0; i < audits->count; i++) {
    const struct json *audit = json_get(audits->list[i].root, STR("audit"));
    str mode = record_text(audits, audit, "approval_mode_real"), note = record_text(audits, audit, "note");
    buf_printf(out, "%-12s %.*s  %.*s  %.*s\n", "audited", STR_ARG(mode), STR_ARG(audits->list[i].time), STR_ARG(note));
  }
}

// Writes the record with a member `audits`, if there are statements about the call.
static void put_json(struct records *found, struct records *audits, struct buf *out) {
  struct buf all;
  buf_init(&all, 1 << 24);
  for (size_t i = 0; i < audits->count; i++) buf_printf(&all, "%c%.*s", i ? ',' : '[', STR_ARG(audits->list[i].line));
  buf_char(&all, ']');
  struct json_edit edit = {STR("audits"), buf_view(&all)};
  buf_str(out, json_edited(&found->arena, found->list[0].root, &edit, audits->count > 0));
  buf_char(out, '\n');
  buf_done(&all);
}

static int run_show(int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found, audits;
  struct buf out;
  int status;
  if (!command_parse(&show, argc, argv, &args, &status)) return status;
  records_query(&args.records, "call", &q);
  q.id = str_of(args.operands[0]);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  if (!found.count) fputs("toolgate: no call with this id is recorded\n", stderr);
  status = found.count ? EXIT_OK : EXIT_NO;
  if (found.count && calls_find_audits(&args, &audits, &status)) {
    buf_init(&out, 1 << 30);
    if (args.json) put_json(&found, &audits, &out);
    else {
      put_record(&found, &found.list[0], &out);
      put_audits(&audits, &out);
    }
    command_print_done(&out);
    records_done(&audits);
  }
  records_done(&found);
  return status;
}
static const char usage[] = "usage: toolgate calls list [options]\n"
                            "       toolgate calls show ID [options]\n"
                            "       toolgate calls audit ID --mode MODE [options]\n\n"
                            "Shows the recorded governed calls, and states which mode they really had.\n"
                            "toolgate calls COMMAND --help shows the options.\n";

int cmd_calls(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"list", run_list}, {"show", run_show}, {"audit", calls_audit}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

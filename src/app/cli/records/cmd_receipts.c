// SPDX-License-Identifier: Apache-2.0
// toolgate audit prove | check-proof
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/records/records.h"
#include "io/file.h"
#include "observe/audit_receipt.h"
#include "json/write.h"

// ---- prove

static const struct command prove = {
    .usage = "ID [options]",
    .about = "Prints a receipt for a governed call: its envelopes, and the proof that they are in the\n"
             "audit log. ID is the id of the call (tool_...) or of its decision (pol_...). Reads the\n"
             "files in state_dir and the audit log. Exit code 1: there is no such call, or no head of\n"
             "the log was signed since the call ended (audit.head_interval).",
    .options = "c",
    .min = 1,
    .max = 1,
    .missing = "give the id of a call or of a decision",
};

// Finds the record of a call by its id or by the id of its decision.
static bool find_call(const struct arguments *args, str id, struct records *out, const struct json **out_call,
                      int *status) {
  struct records_query q;
  records_query(&args->records, "call", &q);
  bool by_decision = str_starts(id, STR("pol_"));
  q.limit = by_decision ? RECORDS_ALL : 1;
  if (!by_decision) q.id = id;
  if (!records_find(&args->config, &q, out, status)) return false;
  *out_call = NULL;
  for (size_t i = 0; i < out->count; i++) {
    const struct json *call = json_get(out->list[i].root, STR("call"));
    if (!by_decision || str_eq(record_text(out, call, "call.policy_decision_id"), id)) *out_call = call;
  }
  return true;
}

static int print_receipt(struct records *r, const struct json *call) {
  struct audit_receipt receipt;
  struct fault f;
  struct buf out;
  str decision = record_text(r, call, "call.policy_decision_id");
  str envelopes =
      arena_printf(&r->arena, "{\"call\":%.*s,\"result\":%.*s}", STR_ARG(json_span(record_member(call, "call"))),
                   STR_ARG(json_span(record_member(call, "result"))));
  if (!audit_receipt_make(r->audit, decision, &r->arena, &receipt, &f))
    return command_failed(&f, f.code == FAULT_IO ? EXIT_CANNOT : EXIT_NO);
  buf_init(&out, RECEIPT_MAX);
  audit_receipt_put(&receipt, envelopes, &out);
  buf_char(&out, '\n');
  command_print_done(&out);
  return EXIT_OK;
}

int audit_prove(int argc, char **argv) {
  struct arguments args = {0};
  struct records found;
  const struct json *call;
  int status;
  if (!command_parse(&prove, argc, argv, &args, &status)) return status;
  if (!find_call(&args, str_of(args.operands[0]), &found, &call, &status)) return status;
  if (!call) {
    fputs("toolgate: no governed call with this id is recorded\n", stderr);
    status = EXIT_NO;
  } else if (!found.audit.n) {
    fputs("toolgate: the configuration has no audit log, so calls have no receipts; set audit.file\n", stderr);
    status = EXIT_CANNOT;
  } else {
    status = print_receipt(&found, call);
  }
  records_done(&found);
  return status;
}

// ---- check-proof

static const struct command check_proof = {
    .usage = "FILE [options]",
    .about = "Verifies a receipt of `toolgate audit prove`, without the audit log: the envelopes, the\n"
             "audit line, the path to the head of the log, and the signature of the head. With --key,\n"
             "the head must be signed with this key; without it, compare the printed key yourself.\n"
             "FILE can be - for standard input. Exit code 1: the receipt is not valid.",
    .options = "/j",
    .min = 1,
    .max = 1,
    .missing = "give the file with the receipt",
};

static bool read_receipt(const char *name, struct buf *out, struct fault *f) {
  bool standard = strcmp(name, "-") == 0;
  int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, FAULT_IO, "%s cannot be read: %s", name, strerror(errno));
    return false;
  }
  bool ok = file_read(fd, RECEIPT_MAX, out, f);
  if (!standard) close(fd);
  return ok;
}

static str text_at(const struct json *v, const char *name, struct arena *a) {
  str text = STR("-");
  json_string(json_get(v, str_of(name)), a, &text);
  return text;
}

static void print_checked(const struct audit_receipt_checked *c, bool json, struct arena *a) {
  struct buf out;
  str id = text_at(c->call, "tool_call_id", a), capability = text_at(c->call, "capability_id", a);
  str result = text_at(c->result, "status", a);
  buf_init(&out, 1 << 16);
  if (json) {
    struct json_writer w = json_writer(&out);
    json_begin_object(&w);
    json_member_bool(&w, STR("ok"), true);
    json_member_str(&w, STR("tool_call_id"), id);
    json_member_str(&w, STR("capability_id"), capability);
    json_member_str(&w, STR("status"), result);
    json_member_u64(&w, STR("seq"), c->seq);
    json_member_str(&w, STR("signed_at"), c->head.time);
    json_member_str(&w, STR("key"), c->head.key);
    json_end_object(&w);
    buf_char(&out, '\n');
  } else {
    buf_printf(&out, "ok: %.*s  %.*s  %.*s\n", STR_ARG(id), STR_ARG(capability), STR_ARG(result));
    buf_printf(&out, "line %llu of the audit log, head signed at %.*s with the key %.*s\n", (unsigned long long)c->seq,
               STR_ARG(c->head.time), STR_ARG(c->head.key));
  }
  command_print_done(&out);
}

int audit_check_proof(int argc, char **argv) {
  struct arguments args = {0};
  struct audit_receipt_checked checked;
  struct fault f;
  struct buf text;
  struct arena a;
  int status;
  if (!command_parse(&check_proof, argc, argv, &args, &status)) return status;
  arena_init(&a);
  buf_init(&text, RECEIPT_MAX);
  if (!read_receipt(args.operands[0], &text, &f)) status = command_failed(&f, EXIT_CANNOT);
  else if (!audit_receipt_check(buf_view(&text), args.key ? str_of(args.key) : STR(""), &a, &checked, &f))
    status = command_failed(&f, EXIT_NO);
  else {
    print_checked(&checked, args.json, &a);
    status = EXIT_OK;
  }
  buf_done(&text);
  arena_done(&a);
  return status;
}

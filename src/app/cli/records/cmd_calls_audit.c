// SPDX-License-Identifier: Apache-2.0
// toolgate calls audit: sends an operator's statement about a recorded call to the running gateway.
#include "app/call_audit.h"
#include "app/cli/records/records.h"
#include "app/gateway_client/console.h"

static const struct command command = {
    .usage = "ID --mode MODE [options]",
    .about = "States which approval mode a recorded call really had. The running gateway records the\n"
             "statement with the calls and in the audit log, and counts it in the metrics and in\n"
             "`toolgate stats --governance`. A later statement replaces an earlier one.\n"
             "Exit code 1: there is no such call, or it was denied.",
    .options = "()+cj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a call",
};

bool calls_find_audits(const struct arguments *args, struct records *out, int *out_status) {
  struct records_query q;
  records_query(&args->records, "audit", &q);
  q.id = str_of(args->operands[0]);
  return records_find(&args->config, &q, out, out_status);
}

// Returns the real mode that the latest statement about the call has named, or STR_NONE.
static str stated_mode(const struct arguments *args, struct arena *a, int *out_status) {
  struct records found;
  str mode = STR_NONE;
  if (!calls_find_audits(args, &found, out_status)) return STR_NONE;
  const struct json *last = found.count ? json_get(found.list[found.count - 1].root, STR("audit")) : NULL;
  if (last) mode = arena_str(a, record_text(&found, last, "approval_mode_real"));
  records_done(&found);
  return mode;
}

static void put_member(struct json_writer *w, struct records *r, const struct json *call, const char *key,
                       const char *path) {
  if (record_member(call, path)) json_member_str(w, str_of(key), record_text(r, call, path));
}

static str params_of(const struct arguments *args, struct records *r, const struct json *call, str before) {
  struct buf b;
  buf_init(&b, 1 << 16);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("id"), str_of(args->operands[0]));
  json_member_str(&w, STR("mode"), str_of(args->records.mode));
  if (args->records.note) json_member_str(&w, STR("note"), str_of(args->records.note));
  if (before.p) json_member_str(&w, STR("before"), before);
  put_member(&w, r, call, "effective", "call.approval_mode_effective");
  put_member(&w, r, call, "capability", "call.capability_id");
  put_member(&w, r, call, "adapter", "result.adapter.id");
  put_member(&w, r, call, "tenant", "tenant");
  put_member(&w, r, call, "agent", "agent");
  put_member(&w, r, call, "server", "server");
  put_member(&w, r, call, "tool", "tool");
  json_end_object(&w);
  str text = arena_str(&r->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void print_answer(const struct arguments *args, const struct json *answer, str effective) {
  struct buf out;
  buf_init(&out, 4096);
  if (args->json) {
    buf_printf(&out, "%.*s\n", STR_ARG(json_span(answer)));
  } else {
    bool wrong = json_is(json_get(answer, STR("misclassified")), JSON_TRUE);
    buf_printf(&out, "%s: %s, effective mode %.*s%s\n", args->operands[0], args->records.mode, STR_ARG(effective),
               wrong ? ": misclassified" : "");
  }
  command_print_done(&out);
}

static int send_statement(const struct arguments *args, struct records *r) {
  const struct json *call = json_get(r->list[0].root, STR("call"));
  str status = record_text(r, call, "result.status");
  struct console c;
  struct fault f;
  int code = EXIT_OK;
  if (str_eq(status, STR("denied")) || str_eq(status, STR("approval_required"))) {
    fprintf(stderr, "toolgate: the call was not made (%.*s), so it had no mode\n", STR_ARG(status));
    return EXIT_NO;
  }
  str before = stated_mode(args, &r->arena, &code);
  if (code != EXIT_OK || !console_open(&c, &args->config, &code)) return code;
  const struct json *answer =
      control_client_request(c.gateway, &c.arena, STR("toolgate/audit_call"), params_of(args, r, call, before), &f);
  if (answer) print_answer(args, answer, record_text(r, call, "call.approval_mode_effective"));
  else code = command_failed(&f, EXIT_CANNOT);
  console_close(&c);
  return code;
}

int calls_audit(int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  struct records found;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!args.records.mode || approval_mode_find(str_of(args.records.mode)) == APPROVAL_NONE)
    return command_misused(argv[0], "--mode must be read_only, local_write, network, delegated or destructive");
  if (args.records.note && strlen(args.records.note) > CALL_AUDIT_NOTE)
    return command_misused(argv[0], "--note must have at most 1024 bytes");
  records_query(&args.records, "call", &q);
  q.id = str_of(args.operands[0]);
  if (!records_find(&args.config, &q, &found, &status)) return status;
  if (found.count) {
    status = send_statement(&args, &found);
  } else {
    fputs("toolgate: no call with this id is recorded\n", stderr);
    status = EXIT_NO;
  }
  records_done(&found);
  return status;
}

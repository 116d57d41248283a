// SPDX-License-Identifier: Apache-2.0
#include "app/call_audit.h"

#include "base/assert.h"
#include "call/audit_recorder.h"
#include "govern/records.h"
#include "observe/govern_metrics.h"
#include "observe/journal.h"
#include "observe/metrics.h"

struct statement {
  str id, capability, adapter, note, tenant, agent, server, tool;
  enum approval_mode mode, effective;
  enum approval_mode before;  // APPROVAL_NONE: this is the first statement about the call
};

static str text_of(const struct json *params, const char *key, struct arena *a) {
  str text;
  return json_string(json_get(params, str_of(key)), a, &text) ? text : STR_NONE;
}

static enum approval_mode mode_of(const struct json *params, const char *key, struct arena *a) {
  str name = text_of(params, key, a);
  return name.p ? approval_mode_find(name) : APPROVAL_NONE;
}

static bool read_statement(const struct json *params, struct arena *a, struct statement *out, struct fault *f) {
  *out = (struct statement){
      .id = text_of(params, "id", a),
      .capability = text_of(params, "capability", a),
      .adapter = text_of(params, "adapter", a),
      .note = text_of(params, "note", a),
      .tenant = text_of(params, "tenant", a),
      .agent = text_of(params, "agent", a),
      .server = text_of(params, "server", a),
      .tool = text_of(params, "tool", a),
      .mode = mode_of(params, "mode", a),
      .effective = mode_of(params, "effective", a),
      .before = mode_of(params, "before", a),
  };
  const char *wrong = out->mode == APPROVAL_NONE || out->effective == APPROVAL_NONE
                          ? "the mode must be read_only, local_write, network, delegated or destructive"
                      : !out->id.n || !out->capability.n ? "the id and the capability of the call are missing"
                      : out->note.n > CALL_AUDIT_NOTE    ? "the note is longer than 1024 bytes"
                                                         : NULL;
  if (wrong) fault_set(f, FAULT_INVALID, "%s", wrong);
  return !wrong;
}

static bool record(struct gateway *g, const struct statement *s, struct fault *f) {
  char time[CLOCK_TEXT];
  struct buf b;
  size_t n = clock_print(clock_wall_ms(g->loop.clock), time);
  buf_init(&b, JOURNAL_LINE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("record"), STR("audit"));
  json_member_str(&w, STR("id"), s->id);
  json_member_str(&w, STR("time"), (str){time, n});
  json_put_key(&w, STR("audit"));
  json_begin_object(&w);
  json_member_str_or_null(&w, STR("tenant"), s->tenant);
  json_member_str_or_null(&w, STR("agent"), s->agent);
  json_member_str(&w, STR("capability_id"), s->capability);
  json_member_str(&w, STR("approval_mode_effective"), str_of(approval_mode_name(s->effective)));
  json_member_str(&w, STR("approval_mode_real"), str_of(approval_mode_name(s->mode)));
  json_member_bool(&w, STR("misclassified"), s->mode != s->effective);
  json_member_str_or_null(&w, STR("note"), s->note);
  json_end_object(&w);
  json_end_object(&w);
  bool ok = !b.over && journal_add(g->journal, buf_view(&b));
  if (!ok) fault_set(f, FAULT_INVALID, "the records cannot be written; see the log of the gateway");
  buf_done(&b);
  return ok;
}

// The member `reason` of the audit line: the real mode, and the note.
static void audit(struct gateway *g, const struct statement *s, struct arena *a) {
  const char *real = approval_mode_name(s->mode), *effective = approval_mode_name(s->effective);
  struct audit_event e = {
      .operation = STR("calls audit"),
      .server = s->server,
      .tool = s->tool,
      .decision = AUDIT_ALLOW,
      .target = s->id,
      .tenant = s->tenant,
      .reason =
          arena_printf(a, "was %s, recorded as %s%s%.*s", real, effective, s->note.n ? ": " : "", STR_ARG(s->note)),
  };
  audit_recorder_add(g->audit_recorder, &e);
}

bool call_audit_answer(struct gateway *g, const struct json *params, struct json_writer *w, struct fault *f) {
  struct arena a;
  struct statement s;
  const struct governance_records *settings = g->rules.governance ? governance_records(g->rules.governance) : NULL;
  if (!settings || !settings->enabled || !g->journal) {
    fault_set(f, FAULT_INVALID,
              "records are off: there is no governance file or no state_dir, or it has enabled: false");
    return false;
  }
  arena_init(&a);
  bool ok = read_statement(params, &a, &s, f) && record(g, &s, f);
  if (ok) {
    struct governed_audit said = {s.adapter, s.effective, s.mode, s.before};
    govern_metrics_audit(metrics_governed(g->metrics), &said);
    audit(g, &s, &a);
    json_begin_object(w);
    json_member_bool(w, STR("misclassified"), s.mode != s.effective);
    json_end_object(w);
  }
  arena_done(&a);
  return ok;
}

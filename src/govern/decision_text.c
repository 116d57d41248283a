// SPDX-License-Identifier: Apache-2.0
#include "govern/decision_text.h"

static void put_mode(struct json_writer *w, str key, enum approval_mode mode) {
  json_member_str_or_null(w, key, str_of(approval_mode_name(mode)));
}

// Writes the gates of an allowed call. The gates of a denied call are not written, because nobody can approve such a
// call.
static void put_gates(struct json_writer *w, const struct governance_decision *d) {
  if (d->code != GOVERNANCE_ALLOWED || !d->gate_count) return;
  json_member_str(w, STR("gate"), d->gates[0]->gate_id);
  if (d->gate_count < 2) return;
  json_put_key(w, STR("gates"));
  json_begin_array(w);
  for (size_t i = 0; i < d->gate_count; i++) json_put_str(w, d->gates[i]->gate_id);
  json_end_array(w);
}

static void put_violations(struct json_writer *w, const struct governance_decision *d) {
  json_put_key(w, STR("violations"));
  json_begin_array(w);
  for (const struct violation *v = d->violations.first; v; v = v->next) {
    json_begin_object(w);
    json_member_str(w, STR("path"), v->path);
    json_member_str(w, STR("constraint"), str_of(v->constraint));
    json_end_object(w);
  }
  json_end_array(w);
}

void governance_put_members(struct json_writer *w, const struct governance_decision *d) {
  json_member_bool(w, STR("allowed"), d->code == GOVERNANCE_ALLOWED);
  if (d->code != GOVERNANCE_ALLOWED) json_member_str(w, STR("code"), str_of(governance_code_name(d->code)));
  json_member_str_or_null(w, STR("mode_requested"), d->requested);
  put_mode(w, STR("mode_effective"), d->effective);
  put_mode(w, STR("mode_highest"), d->highest);
  if (d->capability && d->capability->provisional) json_member_bool(w, STR("provisional"), true);
  put_gates(w, d);
  json_put_key(w, STR("rules"));
  json_begin_array(w);
  for (size_t i = 0; i < d->match_count; i++) json_put_str(w, d->matches[i]->id);
  json_end_array(w);
  put_violations(w, d);
}

void governance_put_text(struct buf *out, const struct governance_decision *d) {
  if (d->code == GOVERNANCE_ALLOWED) {
    buf_printf(out, "ALLOW  %s", approval_mode_name(d->effective));
    for (size_t i = 0; i < d->gate_count; i++)
      buf_printf(out, "%s%.*s", i ? ", " : ", after approval by ", STR_ARG(d->gates[i]->gate_id));
  } else {
    buf_printf(out, "DENY  %s", governance_code_name(d->code));
  }
  if (d->capability && d->capability->provisional) buf_str(out, STR("  provisional"));
  buf_printf(out, "  %.*s", STR_ARG(d->pointer));
  for (size_t i = 0; i < d->match_count; i++)
    buf_printf(out, "%s%.*s%s", i ? ", " : "  (", STR_ARG(d->matches[i]->id), i + 1 < d->match_count ? "" : ")");
  if (d->code != GOVERNANCE_ALLOWED) buf_printf(out, "\n  %s", d->why ? d->why : governance_code_advice(d->code));
  for (const struct violation *v = d->violations.first; v; v = v->next)
    buf_printf(out, "\n  %.*s: %s", STR_ARG(v->path), v->constraint);
}

// SPDX-License-Identifier: Apache-2.0
#include "govern/decision_record.h"

#include "govern/flow.h"
#include "json/canon.h"

static void put_mode(struct json_writer *w, str key, enum approval_mode mode) {
  json_member_str_or_null(w, key, mode == APPROVAL_NONE ? STR_NONE : str_of(approval_mode_name(mode)));
}

// ---- digests

static void put_digest(struct hasher *h, str text, char out[RECORD_DIGEST_SIZE]) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256_with(h, text, digest);
  memcpy(out, "sha256:", 7);
  hash_hex(digest, sizeof digest, out + 7);
}

static void put_canonical(struct buf *out, const struct json *v) {
  struct fault f;
  size_t from = out->n;
  if (!v) {
    buf_str(out, STR("null"));
  } else if (!json_canon(out, v, JSON_CANON_JCS, &f)) {
    out->n = from;
    json_canon(out, v, JSON_CANON_EXACT, &f);
  }
}

void decision_record_digest(const struct json *v, struct hasher *h, struct buf *scratch, char out[RECORD_DIGEST_SIZE]) {
  buf_reset(scratch);
  put_canonical(scratch, v);
  put_digest(h, buf_view(scratch), out);
}

void decision_record_inputs(const struct governance_question *q, struct hasher *h, struct buf *scratch,
                            char out[RECORD_DIGEST_SIZE]) {
  struct json_writer w = {.out = scratch};
  buf_reset(scratch);
  buf_str(scratch, STR("{\"args\":"));
  put_canonical(scratch, q->args);
  buf_str(scratch, STR(",\"capability\":"));
  json_put_str(&w, q->capability);
  buf_str(scratch, STR(",\"context\":"));
  put_canonical(scratch, q->context);
  if (q->flow) {
    buf_str(scratch, STR(",\"flow\":"));
    w.comma = false;
    flow_marks_put(&w, q->flow);
  }
  if (q->flow) buf_printf(scratch, ",\"flow\":%u", q->flow);
  buf_str(scratch, STR(",\"mode\":"));
  w.comma = false;
  if (q->mode.p) json_put_str(&w, q->mode);
  else json_put_null(&w);
  buf_char(scratch, '}');
  put_digest(h, buf_view(scratch), out);
}

// ---- the record

static void put_question(struct json_writer *w, const struct decision_record *r) {
  const struct governance_question *q = r->question;
  json_put_key(w, STR("question"));
  json_begin_object(w);
  json_member_str(w, STR("capability"), q->capability);
  json_member_str_or_null(w, STR("mode"), q->mode);
  if (q->flow) {
    json_put_key(w, STR("flow"));
    flow_marks_put(w, q->flow);
  }
  if (r->ceiling.p) json_member_str(w, STR("ceiling"), r->ceiling);
  if (q->flow) json_member_u64(w, STR("flow"), q->flow);
  if (r->args.p) json_member_raw(w, STR("args"), r->args);
  if (q->context) json_member_raw(w, STR("context"), json_span(q->context));
  json_end_object(w);
  json_member_str(w, STR("arguments"), str_of(r->kept));
  if (r->args_digest) json_member_str(w, STR("arguments_digest"), str_of(r->args_digest));
}

static void put_gates(struct json_writer *w, const struct governance_decision *d) {
  json_put_key(w, STR("gates"));
  json_begin_array(w);
  for (size_t i = 0; d->code == GOVERNANCE_ALLOWED && i < d->gate_count; i++) {
    json_begin_object(w);
    json_member_str(w, STR("id"), d->gates[i]->gate_id);
    json_member_str(w, STR("role"), d->gates[i]->role);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_matches(struct json_writer *w, const struct governance_decision *d) {
  json_put_key(w, STR("matches"));
  json_begin_array(w);
  for (size_t i = 0; i < d->match_count; i++) {
    json_begin_object(w);
    json_member_str(w, STR("id"), d->matches[i].id);
    json_member_str(w, STR("pointer"), d->matches[i].pointer);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_violations(struct json_writer *w, const struct violations *all) {
  json_put_key(w, STR("violations"));
  json_begin_array(w);
  for (const struct violation *v = all->first; v; v = v->next) {
    json_begin_object(w);
    json_member_str(w, STR("path"), v->path);
    json_member_str(w, STR("constraint"), str_of(v->constraint));
    json_member_str(w, STR("pointer"), v->pointer);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_outcome(struct json_writer *w, const struct governance_decision *d) {
  bool allowed = d->code == GOVERNANCE_ALLOWED;
  json_member_bool(w, STR("allowed"), allowed);
  json_member_str_or_null(w, STR("code"), allowed ? STR_NONE : str_of(governance_code_name(d->code)));
  put_mode(w, STR("mode_effective"), d->effective);
  put_mode(w, STR("mode_highest"), d->highest);
  put_gates(w, d);
  json_member_str(w, STR("pointer"), d->pointer);
  put_matches(w, d);
  put_violations(w, &d->violations);
  if (d->why) json_member_str(w, STR("why"), str_of(d->why));
}

void decision_record_put(struct json_writer *w, const struct decision_record *r) {
  json_begin_object(w);
  json_member_str_or_null(w, STR("tenant"), r->tenant);
  json_member_str_or_null(w, STR("agent"), r->agent);
  json_member_str_or_null(w, STR("principal"), r->principal);
  json_member_str_or_null(w, STR("server"), r->server);
  json_member_str_or_null(w, STR("tool"), r->tool);
  json_member_str(w, STR("inputs"), str_of(r->inputs));
  json_put_key(w, STR("rules"));
  json_begin_object(w);
  json_member_str(w, STR("governance"), governance_digest(r->governance));
  json_member_str_or_null(w, STR("access"), r->access);
  json_end_object(w);
  put_question(w, r);
  json_member_str_or_null(w, STR("mode_requested"), r->decision->requested);
  put_outcome(w, r->decision);
  json_end_object(w);
}

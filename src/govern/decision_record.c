// SPDX-License-Identifier: Apache-2.0
#include "govern/decision_record.h"

#include "govern/flow.h"
#include "govern/versions.h"
#include "json/canon.h"
#include "json/put.h"

// ---- digests

static void put_digest(str text, char out[RECORD_DIGEST_SIZE]) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256(text, digest);
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

void decision_record_digest(const struct json *v, struct buf *scratch, char out[RECORD_DIGEST_SIZE]) {
  buf_reset(scratch);
  put_canonical(scratch, v);
  put_digest(buf_view(scratch), out);
}

void decision_record_inputs(const struct governance_question *q, struct buf *scratch, char out[RECORD_DIGEST_SIZE]) {
  struct json_writer w = {.out = scratch};
  buf_reset(scratch);
  buf_str(scratch, STR("{\"args\":"));
  put_canonical(scratch, q->args);
  buf_str(scratch, STR(",\"capability\":"));
  json_put_str(&w, q->capability);
  buf_str(scratch, STR(",\"context\":"));
  if (q->canonical.p) buf_str(scratch, q->canonical);
  else put_canonical(scratch, q->context);
  if (q->flow) {
    buf_str(scratch, STR(",\"flow\":"));
    w.comma = false;
    flow_marks_put(&w, q->flow);
  }
  buf_str(scratch, STR(",\"mode\":"));
  w.comma = false;
  if (q->mode.p) json_put_str(&w, q->mode);
  else json_put_null(&w);
  buf_char(scratch, '}');
  put_digest(buf_view(scratch), out);
}

// ---- the record

static void put_mode(struct buf *out, enum approval_mode mode) {
  if (mode == APPROVAL_NONE) JSON_PUT(out, "null");
  else JSON_PUT_ID(out, "", approval_mode_text(mode));
}

static void put_question(struct buf *out, const struct decision_record *r) {
  const struct governance_question *q = r->question;
  if (r->decision->capability) JSON_PUT_RAW(out, ",\"question\":{\"capability\":", r->decision->capability->id_json);
  else JSON_PUT_TEXT(out, ",\"question\":{\"capability\":", q->capability);
  JSON_PUT_TEXT(out, ",\"mode\":", q->mode);
  if (r->ceiling.p) JSON_PUT_TEXT(out, ",\"ceiling\":", r->ceiling);
  if (q->flow) {
    struct json_writer w = {.out = out};
    JSON_PUT(out, ",\"flow\":");
    flow_marks_put(&w, q->flow);
  }
  if (r->args.p) JSON_PUT_RAW(out, ",\"args\":", r->args);
  if (q->context) JSON_PUT_RAW(out, ",\"context\":", json_span(q->context));
  JSON_PUT_ID(out, "},\"arguments\":", str_of(r->kept));
  if (r->args_digest) JSON_PUT_ID(out, ",\"arguments_digest\":", str_of(r->args_digest));
}

static void put_gates(struct buf *out, const struct governance_decision *d) {
  JSON_PUT(out, ",\"gates\":[");
  for (size_t i = 0; d->code == GOVERNANCE_ALLOWED && i < d->gate_count; i++) {
    if (i) buf_char(out, ',');
    JSON_PUT_TEXT(out, "{\"id\":", d->gates[i]->gate_id);
    JSON_PUT_TEXT(out, ",\"role\":", d->gates[i]->role);
    buf_char(out, '}');
  }
}

static void put_matches(struct buf *out, const struct governance_decision *d) {
  JSON_PUT(out, ",\"matches\":[");
  for (size_t i = 0; i < d->match_count; i++) {
    if (i) buf_char(out, ',');
    buf_str(out, d->matches[i]->record);
  }
}

static void put_violations(struct buf *out, const struct violations *all) {
  JSON_PUT(out, "],\"violations\":[");
  for (const struct violation *v = all->first; v; v = v->next) {
    if (v != all->first) buf_char(out, ',');
    JSON_PUT_TEXT(out, "{\"path\":", v->path);
    JSON_PUT_TEXT(out, ",\"constraint\":", str_of(v->constraint));
    JSON_PUT_TEXT(out, ",\"pointer\":", v->pointer);
    buf_char(out, '}');
  }
}

static void put_outcome(struct buf *out, const struct governance_decision *d) {
  if (d->code == GOVERNANCE_ALLOWED) JSON_PUT(out, ",\"allowed\":true,\"code\":null");
  else JSON_PUT_ID(out, ",\"allowed\":false,\"code\":", str_of(governance_code_name(d->code)));
  JSON_PUT(out, ",\"mode_effective\":");
  put_mode(out, d->effective);
  JSON_PUT(out, ",\"mode_highest\":");
  put_mode(out, d->highest);
  if (d->capability && d->capability->provisional) JSON_PUT(out, ",\"provisional\":true");
  put_gates(out, d);
  JSON_PUT_TEXT(out, "],\"pointer\":", d->pointer);
  put_matches(out, d);
  put_violations(out, &d->violations);
  buf_char(out, ']');
  if (d->why) JSON_PUT_TEXT(out, ",\"why\":", str_of(d->why));
}

void decision_record_put(struct buf *out, const struct decision_record *r) {
  JSON_PUT_TEXT(out, "{\"tenant\":", r->tenant);
  JSON_PUT_TEXT(out, ",\"agent\":", r->agent);
  JSON_PUT_TEXT(out, ",\"principal\":", r->principal);
  JSON_PUT_TEXT(out, ",\"server\":", r->server);
  JSON_PUT_TEXT(out, ",\"tool\":", r->tool);
  const struct governance_version *v = r->server.p ? governance_version_of(r->governance, r->server) : NULL;
  if (v) JSON_PUT_TEXT(out, ",\"adapter_version\":", v->version);
  JSON_PUT_ID(out, ",\"inputs\":", str_of(r->inputs));
  JSON_PUT_ID(out, ",\"rules\":{\"governance\":", governance_digest(r->governance));
  JSON_PUT_TEXT(out, ",\"access\":", r->access);
  buf_char(out, '}');
  put_question(out, r);
  JSON_PUT_TEXT(out, ",\"mode_requested\":", r->decision->requested);
  put_outcome(out, r->decision);
  buf_char(out, '}');
}

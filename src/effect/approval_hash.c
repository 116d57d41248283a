// SPDX-License-Identifier: Apache-2.0
// The hashes of a request for approval.
#include "effect/approval.h"
#include "json/canon.h"

enum { CANON_MAX = 8 * APPROVAL_ARGS_MAX };

static void hash_text(str text, char out[APPROVAL_HASH_SIZE]) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256(text, digest);
  memcpy(out, "sha256:", 7);
  hash_hex(digest, sizeof digest, out + 7);
}

// Hashes the canonical form of a JSON text. A value that has no canonical form in RFC 8785 is hashed with its numbers
// as they were written.
static void hash_canonical(str text, enum json_canon form, char out[APPROVAL_HASH_SIZE]) {
  struct arena a;
  struct buf b;
  struct fault f;
  arena_init(&a);
  buf_init(&b, CANON_MAX);
  const struct json *v = json_parse(&a, text, &json_default_limits, &f);
  if (v && !json_canon(&b, v, form, &f)) {
    buf_reset(&b);
    json_canon(&b, v, JSON_CANON_EXACT, &f);
  }
  hash_text(v && !b.over ? buf_view(&b) : text, out);
  buf_done(&b);
  arena_done(&a);
}

void approval_owner(str tenant, str agent, str principal, const struct json *principals, char out[APPROVAL_HASH_SIZE]) {
  struct buf b;
  buf_init(&b, CANON_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str_or_null(&w, STR("tenant"), tenant);
  json_member_str(&w, STR("agent"), agent);
  json_member_str(&w, STR("principal"), principal);
  json_member_raw(&w, STR("principal_chain"), principals ? json_span(principals) : STR("[]"));
  json_end_object(&w);
  hash_canonical(buf_view(&b), JSON_CANON_JCS, out);
  buf_done(&b);
}

static void put_call(const struct approval *x, struct json_writer *w) {
  json_member_str(w, STR("capability_id"), x->capability);
  json_member_raw(w, STR("args"), x->args);
  json_member_raw(w, STR("meta"), x->meta.p ? x->meta : STR("{}"));
  json_member_str(w, STR("mode"), x->mode);
  json_member_str_or_null(w, STR("tenant"), x->tenant);
  json_member_raw(w, STR("principal_chain"), x->principals.p ? x->principals : STR("[]"));
}

// The canonical form writes numbers as doubles, so the hash of the bytes is a part of the call too.
void approval_hash(const struct approval *x, char out[APPROVAL_HASH_SIZE]) {
  char args[APPROVAL_HASH_SIZE];
  struct buf b;
  buf_init(&b, CANON_MAX);
  hash_text(x->args, args);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  put_call(x, &w);
  json_member_str(&w, STR("args_sha256"), str_of(args));
  json_member_str_or_null(&w, STR("evidence_snapshot_hash"), x->evidence_hash);
  json_member_str(&w, STR("governance"), x->governance);
  json_end_object(&w);
  hash_canonical(buf_view(&b), JSON_CANON_JCS, out);
  buf_done(&b);
}

void approval_hash_same(const struct approval *x, char out[APPROVAL_HASH_SIZE]) {
  struct buf b;
  buf_init(&b, CANON_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  put_call(x, &w);
  json_member_str(&w, STR("owner"), x->owner);
  json_member_str(&w, STR("server"), x->server);
  json_member_str(&w, STR("tool"), x->tool);
  json_member_raw(&w, STR("options"), x->options.p ? x->options : STR("{}"));
  json_end_object(&w);
  hash_canonical(buf_view(&b), JSON_CANON_EXACT, out);
  buf_done(&b);
}

void approval_hash_evidence(const struct approval_evidence *list, size_t count, char out[APPROVAL_HASH_SIZE]) {
  struct buf b;
  buf_init(&b, CANON_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (size_t i = 0; i < count; i++) {
    json_begin_object(&w);
    json_member_str(&w, STR("gate_id"), list[i].gate_id);
    json_member_str(&w, STR("capability"), list[i].capability);
    json_member_str(&w, STR("sha256"), list[i].sha256);
    json_end_object(&w);
  }
  json_end_array(&w);
  hash_canonical(buf_view(&b), JSON_CANON_JCS, out);
  buf_done(&b);
}

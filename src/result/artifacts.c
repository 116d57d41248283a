// SPDX-License-Identifier: Apache-2.0
#include "result/artifacts.h"

#include "base/assert.h"

static const char *const kind_names[] = {"text", "structured", "image", "audio", "resource"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

static struct artifact_name name_of(const struct artifact *piece, const unsigned char hash[SHA256_SIZE],
                                    struct arena *a) {
  ASSERT((int)piece->kind < KINDS);
  char hex[2 * SHA256_SIZE + 1];
  hash_hex(hash, SHA256_SIZE, hex);
  return (struct artifact_name){
      .handle = arena_printf(a, "%s:%.*s:%.*s", kind_names[piece->kind], STR_ARG(piece->tool_id), ARTIFACT_DIGITS, hex),
      .content_hash = arena_str(a, str_of(hex)),
  };
}

bool artifact_begins(str s) {
  for (size_t i = 0; i < KINDS; i++) {
    str kind = str_of(kind_names[i]);
    if (str_starts(s, kind) && s.n > kind.n && s.p[kind.n] == ':') return true;
  }
  return false;
}

bool artifact_add(struct piece_batch *b, const struct artifact *piece, char *block, struct arena *a,
                  struct artifact_name *out) {
  struct store_piece p = {
      .kind = (int)piece->kind,
      .tool_id = piece->tool_id,
      .media_type = piece->media_type,
      .label = piece->label,
      .bytes = piece->bytes,
  };
  ASSERT(b && out);
  hash_sha256(piece->bytes, p.hash);
  *out = name_of(piece, p.hash, a);
  p.handle = out->handle;
  return piece_batch_add(b, &p, block);
}

static void on_found(struct store_read *r) {
  struct found_artifact *f = CONTAINER_OF(r, struct found_artifact, find.read);
  const struct store_piece *p = &f->find.found.piece;
  bool known = p->kind >= 0 && p->kind < KINDS;
  f->artifact = (struct artifact){
      .kind = known ? (enum artifact_kind)p->kind : ARTIFACT_RESOURCE,
      .tool_id = p->tool_id,
      .media_type = p->media_type,
      .label = p->label,
      .bytes = p->bytes,
  };
  if (f->done) f->done(f);
}

void artifact_find(struct store *s, str owner, str handle, struct found_artifact *out) {
  ASSERT(s && out);
  out->find.read.done = on_found;
  pieces_find(s, owner, handle, &out->find);
}

void artifact_release(struct found_artifact *f) {
  found_piece_release(&f->find.found);
}

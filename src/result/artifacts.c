// SPDX-License-Identifier: Apache-2.0
#include "result/artifacts.h"

enum { HANDLE_DIGITS = 16 };

static const char *const kind_names[] = {"text", "structured", "image", "audio", "resource"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

static struct artifact_name name_of(const struct artifact *piece, const unsigned char hash[SHA256_SIZE],
                                    struct arena *a) {
  char hex[2 * SHA256_SIZE + 1];
  hash_hex(hash, SHA256_SIZE, hex);
  return (struct artifact_name){
      .handle = arena_printf(a, "%s:%.*s:%.*s", kind_names[piece->kind], STR_ARG(piece->tool_id), HANDLE_DIGITS, hex),
      .content_hash = arena_str(a, str_of(hex)),
  };
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
  hash_sha256(piece->bytes, p.hash);
  *out = name_of(piece, p.hash, a);
  p.handle = out->handle;
  return piece_batch_add(b, &p, block);
}

bool artifact_find(struct store *s, str owner, str handle, struct found_artifact *out) {
  struct found_piece found;
  if (!pieces_find(s, owner, handle, &found)) return false;
  const struct store_piece *p = &found.piece;
  bool known = p->kind >= 0 && p->kind < KINDS;
  out->artifact = (struct artifact){
      .kind = known ? (enum artifact_kind)p->kind : ARTIFACT_RESOURCE,
      .tool_id = p->tool_id,
      .media_type = p->media_type,
      .label = p->label,
      .bytes = p->bytes,
  };
  out->found = found;
  return true;
}

void artifact_release(struct found_artifact *f) {
  found_piece_release(&f->found);
}

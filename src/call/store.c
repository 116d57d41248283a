// SPDX-License-Identifier: Apache-2.0
// What the firewall keeps is durable before the answer that names it leaves.
#include "call/bridge.h"

#define PASSING "What tool_view can show of this result is kept in memory only: it is gone when the gateway stops."
#define LOST "What was cut from this result could not be kept: its handles lead nowhere."

// Programs find it in the provenance of the envelope.
static size_t note_envelope(struct arena *a, const struct json *envelope, str where, struct json_edit *out) {
  const struct json *provenance = json_get(envelope, STR("provenance"));
  if (!json_is(provenance, JSON_OBJECT)) return 0;
  struct json_edit kept = {STR("kept_in"), where};
  struct json_edit edit = {STR("provenance"), json_edited(a, provenance, &kept, 1)};
  *out = (struct json_edit){STR("structuredContent"), json_edited(a, envelope, &edit, 1)};
  return 1;
}

// A further part of the content says it, and the envelope; nothing else is changed. In the memory of the request.
static void add_note(struct call *c, str note, str where) {
  struct arena *a = &c->request->arena;
  struct fault f;
  const struct json *answer = json_parse(a, c->answer, &json_default_limits, &f);
  const struct json *content = json_get(answer, STR("content"));
  if (!json_is(content, JSON_ARRAY) || !content->count) return;
  str parts = json_span(content);
  struct json_edit edits[2] = {{STR("content"), arena_printf(a, "%.*s,{\"type\":\"text\",\"text\":\"%.*s\"}]",
                                                             (int)parts.n - 1, parts.p, STR_ARG(note))}};
  size_t count = 1 + note_envelope(a, json_get(answer, STR("structuredContent")), where, &edits[1]);
  struct buf b;
  buf_init(&b, c->answer.n + note.n + 256);
  json_copy_edited(&b, answer, edits, count);
  if (!b.over) c->answer = arena_str(a, buf_view(&b));
  buf_done(&b);
}

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct call *c = CONTAINER_OF(w, struct call, stored);
  if (kept == STORE_PASSING) add_note(c, STR(PASSING), STR("\"memory\""));
  if (kept == STORE_LOST) add_note(c, STR(LOST), STR("\"nowhere\""));
  call_resume(c);
}

enum call_result step_store(struct call *c) {
  if (!c->pieces) return CALL_NEXT;
  store_wait_init(&c->stored, on_stored);
  pieces_put(c->context->store, &c->pieces, &c->stored);
  return CALL_WAIT;
}

void call_unstore(struct call *c) {
  piece_batch_free(&c->pieces);
  if (c->stored.done) store_wait_cancel(&c->stored);
}

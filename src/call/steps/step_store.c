// SPDX-License-Identifier: Apache-2.0
// Writes the stored parts of a result to disk before the gateway sends the answer, which contains the handles of these
// parts.
#include "base/assert.h"
#include "call/steps/steps.h"
#include "result/envelope/envelope.h"
#include "json/write.h"

#define PASSING "The parts of this result for tool_view are in memory only: they are lost when the gateway stops."
#define LOST "The parts that were cut from this result could not be stored: do not use its handles."

struct store_state {
  struct call *call;           // NULL: the call never waited
  struct piece_batch *pieces;  // pieces to be written
  struct store_wait wait;      // while they are written
};

struct piece_batch **call_pieces(const struct call *c) {
  struct store_state *s = call_state(c, STEP_STORE);
  return &s->pieces;
}

// Adds the member `kept_in` with the value `where` to the provenance of an envelope. Returns false if there is no
// envelope.
static bool note_envelope(struct arena *a, const struct json *envelope, str where, str *out) {
  const struct json *provenance = json_get(envelope, STR("provenance"));
  if (!json_is(provenance, JSON_OBJECT)) return false;
  struct json_edit kept = {STR("kept_in"), where};
  struct json_edit edit = {STR("provenance"), json_edited(a, provenance, &kept, 1)};
  *out = json_edited(a, envelope, &edit, 1);
  return true;
}

// Makes edits that add `kept_in` to the envelopes of the answer, which may be in structuredContent, in _meta, or in
// both. Returns the number of edits.
static size_t note_envelopes(struct arena *a, const struct json *answer, str where, struct json_edit *edits) {
  const struct json *meta = json_get(answer, STR("_meta"));
  struct json_edit in_meta = {STR(ENVELOPE_META), STR_NONE};
  size_t count = 0;
  str noted;
  if (note_envelope(a, json_get(answer, STR("structuredContent")), where, &noted))
    edits[count++] = (struct json_edit){STR("structuredContent"), noted};
  if (note_envelope(a, json_get(meta, STR(ENVELOPE_META)), where, &in_meta.raw))
    edits[count++] = (struct json_edit){STR("_meta"), json_edited(a, meta, &in_meta, 1)};
  return count;
}

// Adds the text `note` to the answer's content, and `where` to its envelopes. The new answer is in the memory of the
// request.
static void add_note(struct call *c, str note, str where) {
  struct arena *a = &c->request->arena;
  struct fault f;
  const struct json *answer = json_parse(a, c->answer, &json_default_limits, &f);
  const struct json *content = json_get(answer, STR("content"));
  if (!json_is(content, JSON_ARRAY) || !content->count) return;
  str parts = json_span(content);
  struct json_edit edits[3] = {
      {STR("content"), arena_printf(a, "%.*s,{\"type\":\"text\",\"text\":\"%s %.*s\"}]", (int)parts.n - 1, parts.p,
                                    c->session->mark, STR_ARG(note))}};
  size_t count = 1 + note_envelopes(a, answer, where, edits + 1);
  struct buf b;
  buf_init(&b, c->answer.n + note.n + SESSION_MARK_SIZE + 320);
  json_copy_edited(&b, answer, edits, count);
  if (!b.over) c->answer = arena_str(a, buf_view(&b));
  buf_done(&b);
}

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct call *c = CONTAINER_OF(w, struct store_state, wait)->call;
  ASSERT(c);
  if (kept == STORE_PASSING) add_note(c, STR(PASSING), STR("\"memory\""));
  if (kept == STORE_LOST) {
    add_note(c, STR(LOST), STR("\"nowhere\""));
    firewall_lose_handles(c);
  }
  call_resume(c);
}

static enum call_result run(struct call *c, void *state) {
  struct store_state *s = state;
  if (!s->pieces) return CALL_NEXT;
  ASSERT(c->context->store);
  s->call = c;
  store_wait_init(&s->wait, on_stored);
  pieces_put(c->context->store, &s->pieces, &s->wait);
  return CALL_WAIT;
}

static void cancel(struct call *c, void *state, str reason) {
  struct store_state *s = state;
  piece_batch_free(&s->pieces);
  if (s->call) store_wait_cancel(&s->wait);
}

const struct call_step step_store = {
    .name = "store",
    .does = "Waits until the stored parts of the result are durable.",
    .state = sizeof(struct store_state),
    .run = run,
    .cancel = cancel,
};

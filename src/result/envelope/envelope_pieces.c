// SPDX-License-Identifier: Apache-2.0
// Chooses which data of a result to store separately, as pieces, and adds the pieces to the batch of writes for that
// result.
#include "base/assert.h"
#include "base/mem.h"
#include "result/envelope/envelope_impl.h"
#include "text/tokens.h"
#include "json/write.h"

enum {
  LINKS = 4,              // maximum number of links that get a piece each; more links become one list
  NAME_TOKENS = 45,       // tokens of a handle and the text around it, without the tool's id
  WHOLE_BYTES = 1 << 20,  // a result with more bytes is not stored as a whole in addition to its parts
  LONG_BYTES = 1 << 10,   // a longer string is left out of a piece if another piece has it
};

// ---- one piece ----

static str or_else(str s, str usual) {
  return s.n ? s : usual;
}

static struct envelope_piece *add_piece(struct envelope *e, enum artifact_kind kind, str media_type, str label,
                                        str bytes) {
  ASSERT(e->count < e->room);
  struct envelope_piece *p = &e->pieces[e->count++];
  p->artifact = (struct artifact){.kind = kind, .tool_id = e->order->tool_id, .bytes = bytes};
  p->artifact.media_type = summary_line(media_type, ENVELOPE_LABEL_BYTES, e->a);
  p->artifact.label = summary_line(label, ENVELOPE_LABEL_BYTES, e->a);
  return p;
}

static str label_of(const struct envelope *e, const char *what) {
  return arena_printf(e->a, "%s from %.*s", what, STR_ARG(e->order->tool_id));
}

static void add_data(struct envelope *e, const struct part *p, enum artifact_kind kind, str usual, str label) {
  char *block;
  str bytes = parts_decode(p->data, e->a, &block);
  add_piece(e, kind, or_else(p->media_type, usual), label, bytes)->block = block;
}

static void add_resource(struct envelope *e, const struct part *p) {
  str label = or_else(p->label, label_of(e, e->order->kind == ENVELOPE_RESOURCE ? "content" : "resource"));
  if (!p->text.p) {
    add_data(e, p, ARTIFACT_RESOURCE, STR("application/octet-stream"), label);
    return;
  }
  struct envelope_piece *piece =
      add_piece(e, ARTIFACT_RESOURCE, or_else(p->media_type, STR("text/plain")), label, p->text);
  if (e->parts.texts > 1) return;
  // This piece contains the only text of the result, so the summary of the text refers to it.
  e->sections[0].piece = piece;
  piece->block = e->parts.block;
  e->parts.block = NULL;
}

// Adds one piece with all links: a text/uri-list (RFC 2483) with the names of the links as comments.
static void add_links(struct envelope *e, size_t count) {
  struct buf list;
  buf_init(&list, e->order->result->n + 8 * count);
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (p->type != PART_LINK) continue;
    str name = summary_line(p->label, ENVELOPE_LABEL_BYTES, e->a);
    if (name.n) buf_printf(&list, "# %.*s\r\n", STR_ARG(name));
    buf_str(&list, p->uri);
    buf_str(&list, STR("\r\n"));
  }
  add_piece(e, ARTIFACT_RESOURCE, STR("text/uri-list"), arena_printf(e->a, "%zu links", count),
            arena_str(e->a, buf_view(&list)));
  buf_done(&list);
}

static void add_part(struct envelope *e, const struct part *p) {
  switch (p->type) {
  case PART_TEXT: return;
  case PART_IMAGE: add_data(e, p, ARTIFACT_IMAGE, STR("image/png"), label_of(e, "image")); return;
  case PART_AUDIO: add_data(e, p, ARTIFACT_AUDIO, STR("audio/wav"), label_of(e, "audio")); return;
  case PART_RESOURCE: add_resource(e, p); return;
  case PART_LINK: add_piece(e, ARTIFACT_RESOURCE, STR("text/uri-list"), or_else(p->label, p->uri), p->uri); return;
  case PART_OTHER:
    add_piece(e, ARTIFACT_RESOURCE, STR("application/json"), label_of(e, "content part"), json_span(p->json));
    return;
  }
}

// ---- data that no piece has ----

static bool has_others(const struct json *object, const str *names, size_t count) {
  if (!json_is(object, JSON_OBJECT)) return false;
  if (json_is_folded(object)) return true;
  JSON_EACH(m, object) {
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = json_key_is(m, names[i]);
    if (!known) return true;
  }
  return false;
}

// Returns whether a part has data that would be neither in its stored piece nor in the envelope.
static bool has_more(const struct part *p) {
  static const str names[] = {STR("type"),        STR("text"),     STR("data"), STR("mimeType"),
                              STR("annotations"), STR("resource"), STR("uri"),  STR("name")};
  static const str resource_names[] = {STR("uri"), STR("mimeType"), STR("text"), STR("blob")};
  const struct json *annotations = json_get(p->json, STR("annotations"));
  if (p->type == PART_OTHER) return false;
  if (p->text.p && p->data.p) return true;
  if (p->label.n > ENVELOPE_LABEL_BYTES || p->media_type.n > ENVELOPE_LABEL_BYTES) return true;
  if (annotations && (!json_is(annotations, JSON_OBJECT) || annotations->n > ENVELOPE_ANNOTATION_BYTES)) return true;
  return has_others(p->json, names, sizeof names / sizeof *names) ||
         has_others(json_get(p->json, STR("resource")), resource_names, sizeof resource_names / sizeof *resource_names);
}

static bool needs_whole(const struct envelope *e) {
  if (e->parts.unusual || !e->rest_kept) return true;
  if (e->order->kind != ENVELOPE_TOOL) return false;
  if (e->parts.count > ENVELOPE_ANNOTATIONS) return true;
  for (size_t i = 0; i < e->parts.count; i++)
    if (!e->kept[i] && has_more(&e->parts.list[i])) return true;
  return false;
}

// ---- the plan ----

// Returns whether a part gets a piece of its own. The contents of a resource always get one. For links, returns false,
// because their pieces are planned separately.
static bool is_piece(const struct envelope *e, size_t i) {
  const struct part *p = &e->parts.list[i];
  if (p->type == PART_TEXT || p->type == PART_LINK) return false;
  return !e->kept[i] || (e->order->kind == ENVELOPE_RESOURCE && p->type == PART_RESOURCE);
}

static size_t count_links(const struct envelope *e) {
  size_t count = 0;
  for (size_t i = 0; i < e->parts.count; i++) count += e->parts.list[i].type == PART_LINK;
  return count;
}

static size_t count_pieces(const struct envelope *e) {
  size_t count = 0, links = count_links(e);
  for (size_t i = 0; i < e->parts.count; i++) count += is_piece(e, i);
  return count + (links > LINKS ? 1 : links);
}

static void plan_structured(struct envelope *e) {
  struct envelope_section *s = &e->sections[1];
  if (!e->parts.structured || e->said) return;
  s->text = json_span(e->parts.structured);
  s->piece = add_piece(e, ARTIFACT_STRUCTURED, STR("application/json"), label_of(e, "structured content"), s->text);
}

// Adds the whole result as a piece. If the array `content` has too many values to be split into parts, the summary
// describes this array as JSON.
static struct envelope_piece *plan_whole(struct envelope *e) {
  const struct json *content = json_get(e->order->result, STR("content"));
  struct envelope_piece *whole = add_piece(e, ARTIFACT_STRUCTURED, STR("application/json"), label_of(e, "whole result"),
                                           json_span(e->order->result));
  if (e->parts.unusual && json_is(content, JSON_ARRAY) && !e->parts.structured)
    e->sections[1] = (struct envelope_section){.text = json_span(content), .piece = whole};
  return whole;
}

static bool is_long(const struct json *v) {
  return json_is(v, JSON_STRING) && v->n > LONG_BYTES;
}

// Returns the object as JSON. Replaces its members `one` and `other` by empty strings if they are long strings, because
// other pieces have these strings.
static str without_long(struct arena *a, const struct json *object, str one, str other) {
  struct json_edit edits[2];
  size_t count = 0;
  if (is_long(json_get(object, one))) edits[count++] = (struct json_edit){one, STR("\"\"")};
  if (is_long(json_get(object, other))) edits[count++] = (struct json_edit){other, STR("\"\"")};
  return json_edited(a, object, edits, count);
}

static void put_outline(struct json_writer *w, const struct part *p, struct arena *a) {
  const struct json *resource = json_get(p->json, STR("resource"));
  if (!json_is(p->json, JSON_OBJECT) || json_is_folded(p->json)) {
    json_put_null(w);
  } else if (p->type == PART_RESOURCE && json_is(resource, JSON_OBJECT)) {
    struct json_edit edit = {STR("resource"), without_long(a, resource, STR("text"), STR("blob"))};
    json_put_raw(w, json_edited(a, p->json, &edit, 1));
  } else {
    json_put_raw(w, p->type == PART_OTHER ? STR("null") : without_long(a, p->json, STR("text"), STR("data")));
  }
}

// Adds a piece with the whole large result, except the texts and data that are in other pieces.
static void plan_outline(struct envelope *e) {
  struct buf b;
  buf_init(&b, 2 * (size_t)e->order->result->n + 4096);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (size_t i = 0; i < e->parts.count; i++) put_outline(&w, &e->parts.list[i], e->a);
  json_end_array(&w);
  struct json_edit edits[] = {{STR("content"), arena_str(e->a, buf_view(&b))}, {STR("structuredContent"), STR_NONE}};
  add_piece(e, ARTIFACT_STRUCTURED, STR("application/json"), label_of(e, "rest of the result"),
            json_edited(e->a, e->order->result, edits, 2));
  buf_done(&b);
}

static void plan_text(struct envelope *e) {
  if (!e->parts.text.n || e->sections[0].piece || (e->whole && e->order->kind != ENVELOPE_PROMPT)) return;
  str label = e->order->kind == ENVELOPE_PROMPT ? arena_printf(e->a, "rendered prompt %.*s", STR_ARG(e->order->tool_id))
                                                : label_of(e, "text result");
  struct envelope_piece *piece = add_piece(e, ARTIFACT_TEXT, STR("text/plain"), label, e->parts.text);
  e->sections[0].piece = piece;
  piece->block = e->parts.block;
  e->parts.block = NULL;
}

// Plans a single piece, because the handles of more pieces would not fit the budget. The piece has all data that does
// not stay in the result.
static void plan_one(struct envelope *e) {
  bool more = needs_whole(e) || count_pieces(e), structured = e->parts.structured && !e->said;
  if (!more && !(structured && e->parts.text.n)) {
    plan_structured(e);
    plan_text(e);
    return;
  }
  struct envelope_piece *whole = plan_whole(e);
  if (structured) {
    e->sections[1].text = json_span(e->parts.structured);
    e->sections[1].piece = whole;
  }
  e->sections[0].piece = whole;
}

static void plan(struct envelope *e) {
  size_t parts = count_pieces(e), links = count_links(e), others = 3;
  // `most` is the number of handles that fit into three quarters of the budget.
  size_t each = tokens_count(e->order->tool_id) + NAME_TOKENS, most = e->budget * 3 / 4 / each;
  size_t limit = e->order->text_only ? ENVELOPE_PIECES_TEXT_ONLY : ENVELOPE_PIECES;
  most = most < 1 ? 1 : most > limit ? limit : most;
  bool too_many = parts > most;
  e->sections[0].text = e->parts.text;
  e->room = (too_many ? 0 : parts) + others;
  e->pieces = ARENA_ARRAY(e->a, struct envelope_piece, e->room);
  if (most == 1) {
    plan_one(e);
    return;
  }
  for (size_t i = 0; i < e->parts.count && !too_many; i++) {
    const struct part *p = &e->parts.list[i];
    if (is_piece(e, i) || (p->type == PART_LINK && links <= LINKS)) add_part(e, p);
  }
  if (!too_many && links > LINKS) add_links(e, links);
  plan_structured(e);
  bool large = e->order->result->n > WHOLE_BYTES && !too_many && !e->parts.unusual;
  if (large && needs_whole(e)) plan_outline(e);
  else if (too_many || needs_whole(e)) plan_whole(e);
  plan_text(e);
}

// ---- storing ----

void envelope_keep(struct envelope *e) {
  plan(e);
  ASSERT(!e->count || e->order->batch);
  if (e->count && !*e->order->batch)
    *e->order->batch = piece_batch_new(e->order->store, e->order->owner, e->order->origin);
  for (size_t i = 0; i < e->count; i++) {
    struct envelope_piece *p = &e->pieces[i];
    // The store takes ownership of the memory of a large piece instead of copying its bytes.
    char *block = p->artifact.bytes.n > PIECE_ROW_BYTES ? p->block : NULL;
    p->held = artifact_add(*e->order->batch, &p->artifact, block, e->a, &p->name);
    if (p->held && block) p->block = NULL;
  }
}

void envelope_free_blocks(struct envelope *e) {
  for (size_t i = 0; i < e->count; i++) {
    mem_free(e->pieces[i].block);
    e->pieces[i].block = NULL;
  }
}

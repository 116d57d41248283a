// SPDX-License-Identifier: Apache-2.0
#include "result/envelope.h"

#include "base/assert.h"
#include "result/measure.h"
#include "result/parts.h"
#include "result/summary.h"
#include "text/tokens.h"
#include "json/write.h"

enum {
  NEXT_CHARS = 4000,           // what a handle's line proposes to look at next
  SAME_BYTES = 8 << 20,        // a longer text is not compared with the structured content
  LABEL_BYTES = 256,           // of a label or a media type
  ANNOTATION_BYTES = 1 << 10,  // of one part's annotations
  ANNOTATIONS = 32,
  LINE_BYTES = 1 << 10,  // of a line about a piece, without the tool id
  TOKEN_BYTES = 128,     // no token has more
};

struct piece {
  struct artifact artifact;
  struct artifact_name name;
  bool held;
};

struct envelope {
  const struct envelope_order *order;
  struct arena *a;
  size_t budget;
  struct parts parts;
  bool *kept;  // for each part: stays as it is
  bool said;   // the text says the same as the structured content
  struct piece *pieces;
  size_t count;
  struct piece *text;  // the one that holds the text; NULL when there is none
  size_t text_chars;
  str summary;
};

// ---- is it small? ----

static bool starts_alike(str text, const struct json *v) {
  while (text.n && (*text.p == ' ' || *text.p == '\n' || *text.p == '\r' || *text.p == '\t')) text = str_from(text, 1);
  return text.n && *text.p == *v->p;
}

static bool says_same(str text, const struct json *structured) {
  if (text.n > SAME_BYTES || !starts_alike(text, structured)) return false;
  struct arena scratch;
  struct fault ignored;
  arena_init(&scratch);
  struct json *v = json_parse(&scratch, text, &json_default_limits, &ignored);
  bool same = v && json_same(v, structured);
  arena_done(&scratch);
  return same;
}

static bool any_text_says(const struct parts *parts) {
  for (size_t i = 0; i < parts->count; i++)
    if (parts->list[i].text.p && says_same(parts->list[i].text, parts->structured)) return true;
  return false;
}

static bool take_tokens(str text, size_t *left) {
  if (!tokens_fit(text, *left)) return false;
  *left -= tokens_count(text);
  return true;
}

// Everything that the model would read is within the budget.
static bool reads_short(const struct envelope *e) {
  const struct parts *parts = &e->parts;
  size_t left = e->budget;
  for (size_t i = 0; i < parts->count; i++)
    if (parts->list[i].text.p && !take_tokens(parts->list[i].text, &left)) return false;
  if (parts->unusual && !take_tokens(json_span(json_get(e->order->result, STR("content"))), &left)) return false;
  return !parts->structured || any_text_says(parts) || take_tokens(json_span(parts->structured), &left);
}

// Which parts that are no text may stay. True when all may.
static bool choose_kept(struct envelope *e) {
  size_t left = ENVELOPE_PARTS_BYTES;
  bool all = true;
  e->kept = ARENA_ARRAY(e->a, bool, e->parts.count);
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (p->text.p) continue;
    e->kept[i] = p->json->n <= ENVELOPE_PART_BYTES && p->json->n <= left;
    if (e->kept[i]) left -= p->json->n;
    all = all && e->kept[i];
  }
  return all;
}

// ---- what is kept as pieces ----

static str or_else(str s, str usual) {
  return s.n ? s : usual;
}

static void add_piece(struct envelope *e, enum artifact_kind kind, str media_type, str label, str bytes) {
  struct piece *p = &e->pieces[e->count++];
  p->artifact = (struct artifact){.kind = kind, .tool_id = e->order->tool_id, .bytes = bytes};
  p->artifact.media_type = summary_line(media_type, LABEL_BYTES, e->a);
  p->artifact.label = summary_line(label, LABEL_BYTES, e->a);
}

static str label_of(const struct envelope *e, const char *what) {
  return arena_printf(e->a, "%s from %.*s", what, STR_ARG(e->order->tool_id));
}

static void add_part(struct envelope *e, const struct part *p) {
  switch (p->type) {
  case PART_TEXT: return;
  case PART_IMAGE:
    add_piece(e, ARTIFACT_IMAGE, or_else(p->media_type, STR("image/png")), label_of(e, "image"),
              parts_decode(p->data, e->a));
    return;
  case PART_AUDIO:
    add_piece(e, ARTIFACT_AUDIO, or_else(p->media_type, STR("audio/wav")), label_of(e, "audio"),
              parts_decode(p->data, e->a));
    return;
  case PART_RESOURCE:
    add_piece(e, ARTIFACT_RESOURCE,
              or_else(p->media_type, p->text.p ? STR("text/plain") : STR("application/octet-stream")),
              or_else(p->label, label_of(e, "resource")), p->text.p ? p->text : parts_decode(p->data, e->a));
    return;
  case PART_OTHER:
    add_piece(e, ARTIFACT_RESOURCE, STR("application/json"), label_of(e, "content part"), json_span(p->json));
    return;
  }
}

static bool is_known(const struct json *member, const str *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (json_key_is(member, names[i])) return true;
  return false;
}

// The part has something that neither a piece nor the envelope tells.
static bool tells_more(const struct part *p) {
  static const str names[] = {STR("type"),     STR("text"),        STR("data"),
                              STR("mimeType"), STR("annotations"), STR("resource")};
  static const str resource_names[] = {STR("uri"), STR("mimeType"), STR("text"), STR("blob")};
  const struct json *annotations = json_get(p->json, STR("annotations"));
  if (p->type == PART_OTHER) return false;
  if (p->text.p && p->data.p) return true;
  if (p->label.n > LABEL_BYTES || p->media_type.n > LABEL_BYTES) return true;
  if (annotations && (!json_is(annotations, JSON_OBJECT) || annotations->n > ANNOTATION_BYTES)) return true;
  JSON_EACH(m, p->json)
    if (!is_known(m, names, sizeof names / sizeof *names)) return true;
  const struct json *resource = json_get(p->json, STR("resource"));
  if (!resource) return false;
  JSON_EACH(m, resource)
    if (!is_known(m, resource_names, sizeof resource_names / sizeof *resource_names)) return true;
  return false;
}

// The pieces cannot tell everything.
static bool needs_whole(const struct envelope *e) {
  if (e->parts.unusual || e->parts.count > ANNOTATIONS) return true;
  for (size_t i = 0; i < e->parts.count; i++)
    if (!e->kept[i] && tells_more(&e->parts.list[i])) return true;
  return false;
}

static size_t count_part_pieces(const struct envelope *e) {
  size_t count = 0;
  for (size_t i = 0; i < e->parts.count; i++) count += !e->kept[i] && e->parts.list[i].type != PART_TEXT;
  return count;
}

static void plan_pieces(struct envelope *e) {
  size_t most = e->order->text_only ? ENVELOPE_PIECES_TEXT_ONLY : ENVELOPE_PIECES, count = count_part_pieces(e);
  bool too_many = count > most;
  e->pieces = ARENA_ARRAY(e->a, struct piece, (too_many ? 0 : count) + 3);
  for (size_t i = 0; i < e->parts.count && !too_many; i++)
    if (!e->kept[i]) add_part(e, &e->parts.list[i]);
  if (e->parts.structured && !e->said)
    add_piece(e, ARTIFACT_STRUCTURED, STR("application/json"), label_of(e, "structured content"),
              json_span(e->parts.structured));
  if (too_many || needs_whole(e))
    add_piece(e, ARTIFACT_STRUCTURED, STR("application/json"), label_of(e, "whole result"),
              json_span(e->order->result));
  if (!e->parts.text.n) return;
  e->text = &e->pieces[e->count];
  e->text_chars = measure_all_chars(e->parts.text);
  add_piece(e, ARTIFACT_TEXT, STR("text/plain"), label_of(e, "text result"), e->parts.text);
}

static void store_pieces(struct envelope *e) {
  const struct envelope_order *o = e->order;
  if (e->count) *o->batch = piece_batch_new(o->store, o->owner);
  for (size_t i = 0; i < e->count; i++) {
    struct piece *p = &e->pieces[i];
    p->held = artifact_add(*o->batch, &p->artifact, NULL, e->a, &p->name);
  }
}

// ---- the text ----

// Where the rest of the text is, when `shown` bytes of it are there.
static void write_text_line(struct buf *out, const struct envelope *e, size_t shown) {
  size_t start = measure_all_chars((str){e->parts.text.p, shown});
  buf_printf(out, "\n… %zu characters in all", e->text_chars);
  if (e->text->held)
    buf_printf(out, "; go on with tool_view handle=\"%.*s\" selector={\"type\":\"head\",\"start\":%zu,\"chars\":%d}",
               STR_ARG(e->text->name.handle), start, NEXT_CHARS);
  else buf_str(out, STR("; the rest is too large to keep"));
}

static void write_piece_line(struct buf *out, const struct piece *p) {
  buf_printf(out, "\n… %.*s, %zu bytes: ", STR_ARG(p->artifact.media_type), p->artifact.bytes.n);
  if (p->held) buf_printf(out, "tool_view handle=\"%.*s\"", STR_ARG(p->name.handle));
  else buf_str(out, STR("too large to keep"));
}

// More than the lines of all pieces take.
static size_t lines_bytes(const struct envelope *e) {
  return (e->count + 1) * (e->order->tool_id.n + LINE_BYTES);
}

// A line for each piece but the text; at most half of the budget when the envelope can name the others.
static str piece_lines(const struct envelope *e) {
  struct buf lines;
  size_t more = 0;
  buf_init(&lines, lines_bytes(e));
  for (size_t i = 0; i < e->count; i++) {
    size_t before = lines.n;
    if (&e->pieces[i] == e->text) continue;
    if (!more) write_piece_line(&lines, &e->pieces[i]);
    if (!more && (e->order->text_only || tokens_fit(buf_view(&lines), e->budget / 2))) continue;
    if (!more) lines.n = before;
    more++;
  }
  if (more) buf_printf(&lines, "\n… %zu more: structuredContent.artifacts", more);
  ASSERT(!lines.over);
  str text = arena_str(e->a, buf_view(&lines));
  buf_done(&lines);
  return text;
}

static str without_blanks_behind(str s) {
  while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == '\t')) s.n--;
  return s;
}

static void compose(struct buf *out, const struct envelope *e, str head, str lines, bool cut) {
  buf_reset(out);
  buf_str(out, head);
  if (cut && e->text) write_text_line(out, e, head.n);
  buf_str(out, lines);
}

// The beginning of `source` with the lines behind it, within the budget. Each try leaves more room for the lines; they
// stay even when the budget is too small for them.
static void write_text(struct envelope *e, str source, struct buf *out) {
  str lines = piece_lines(e);
  e->summary = source;
  if (tokens_fit(source, e->budget)) {
    compose(out, e, source, lines, false);
    if (tokens_fit(buf_view(out), e->budget)) return;
  }
  compose(out, e, (str){source.p, 0}, lines, true);
  for (size_t room = tokens_count(buf_view(out));; room += 8) {
    size_t left = e->budget > room ? e->budget - room : 0;
    e->summary = (str){source.p, measure_cut_nicely(source, measure_cut_tokens(source, left))};
    e->summary = without_blanks_behind(e->summary);
    compose(out, e, e->summary, lines, true);
    if (!left || tokens_fit(buf_view(out), e->budget)) return;
  }
}

// ---- the result ----

static str write_content(const struct envelope *e, str text) {
  struct buf b;
  size_t max = 6 * text.n + ENVELOPE_PARTS_BYTES + e->parts.count + 64;
  buf_init(&b, max);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  json_begin_object(&w);
  json_member_str(&w, STR("type"), STR("text"));
  json_member_str(&w, STR("text"), text);
  json_end_object(&w);
  for (size_t i = 0; i < e->parts.count; i++)
    if (e->kept[i]) json_put_raw(&w, json_span(e->parts.list[i].json));
  json_end_array(&w);
  ASSERT(!b.over);
  str content = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return content;
}

static void write_facts(struct json_writer *w, const struct envelope *e) {
  str facts[SUMMARY_FACTS];
  size_t count = summary_facts(&e->parts, !e->said, e->budget, e->a, facts, SUMMARY_FACTS);
  json_put_key(w, STR("facts"));
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) json_put_str(w, facts[i]);
  json_end_array(w);
}

static void write_artifacts(struct json_writer *w, const struct envelope *e) {
  json_put_key(w, STR("artifacts"));
  json_begin_array(w);
  for (size_t i = 0; i < e->count; i++) {
    const struct piece *p = &e->pieces[i];
    if (!p->held) continue;
    json_begin_object(w);
    json_member_str(w, STR("handle"), p->name.handle);
    json_member_str(w, STR("media_type"), p->artifact.media_type);
    json_member_u64(w, STR("size_bytes"), p->artifact.bytes.n);
    json_member_str(w, STR("label"), p->artifact.label);
    json_member_str(w, STR("content_hash"), p->name.content_hash);
    json_end_object(w);
  }
  json_end_array(w);
}

static const struct json *annotations_of(const struct part *p) {
  const struct json *v = json_get(p->json, STR("annotations"));
  return json_is(v, JSON_OBJECT) && v->child && v->n <= ANNOTATION_BYTES ? v : NULL;
}

static void write_annotation(struct json_writer *w, size_t index, const struct json *annotations, struct arena *a) {
  json_begin_object(w);
  json_member_u64(w, STR("part_index"), index);
  JSON_EACH(m, annotations) {
    if (json_key_is(m, STR("part_index"))) continue;
    json_member_raw(w, json_key(m, a), json_span(m));
  }
  json_end_object(w);
}

static void write_annotations(struct json_writer *w, const struct envelope *e) {
  bool any = false;
  for (size_t i = 0; i < e->parts.count && i < ANNOTATIONS; i++) {
    const struct json *annotations = annotations_of(&e->parts.list[i]);
    if (!annotations) continue;
    if (!any) {
      json_put_key(w, STR("content_annotations"));
      json_begin_array(w);
    }
    write_annotation(w, i, annotations, e->a);
    any = true;
  }
  if (any) json_end_array(w);
}

static str write_envelope(const struct envelope *e) {
  struct buf b;
  size_t strings = e->summary.n + SUMMARY_FACTS * 4 * SUMMARY_FACT_CHARS + e->order->tool_id.n;
  buf_init(&b, 6 * (strings + lines_bytes(e)) + ANNOTATIONS * 8 * ANNOTATION_BYTES + e->order->provenance.n);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("status"), e->parts.is_error ? STR("error") : STR("ok"));
  json_member_str(&w, STR("summary"), e->summary);
  write_facts(&w, e);
  write_artifacts(&w, e);
  json_put_key(&w, STR("views"));
  json_begin_array(&w);
  json_end_array(&w);
  json_put_key(&w, STR("provenance"));
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), e->order->tool_id);
  json_member_str(&w, STR("protocol"), STR("mcp"));
  write_annotations(&w, e);
  if (e->order->provenance.n) json_put_raw(&w, e->order->provenance);
  json_end_object(&w);
  json_end_object(&w);
  ASSERT(!b.over);
  str text = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void write_result(struct envelope *e, struct buf *out) {
  struct buf text;
  str source = summary_text(e->order->result, &e->parts, e->a);
  buf_init(&text, e->budget * TOKEN_BYTES + lines_bytes(e));
  write_text(e, source, &text);
  ASSERT(!text.over);
  struct json_edit edits[] = {
      {STR("content"), write_content(e, buf_view(&text))},
      {STR("structuredContent"), e->order->text_only ? STR_NONE : write_envelope(e)},
  };
  json_copy_edited(out, e->order->result, edits, 2);
  buf_done(&text);
}

// As it is, but for what its caller has to say about it.
static bool pass_on(const struct envelope *e, struct buf *out) {
  const struct json *result = e->order->result, *meta = json_get(result, STR("_meta"));
  if (!e->order->provenance.n || !json_is(result, JSON_OBJECT) || (meta && !json_is(meta, JSON_OBJECT))) {
    buf_str(out, json_span(result));
    return true;
  }
  struct json_edit told = {STR("toolgate/provenance"), arena_printf(e->a, "{%.*s}", STR_ARG(e->order->provenance))};
  struct json_edit edit = {STR("_meta"), json_edited(e->a, meta ? meta : &json_empty_object, &told, 1)};
  json_copy_edited(out, result, &edit, 1);
  return false;
}

bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct envelope e = {.order = order, .a = a, .budget = order->budget ? order->budget : ENVELOPE_TOKENS};
  if (e.budget > ENVELOPE_TOKENS_MAX) e.budget = ENVELOPE_TOKENS_MAX;
  if (json_is(order->result, JSON_OBJECT)) e.parts = parts_read(order->result, a);
  if ((choose_kept(&e) && reads_short(&e)) || !json_is(order->result, JSON_OBJECT)) return pass_on(&e, out);
  e.said = e.parts.structured && e.parts.text.n && says_same(e.parts.text, e.parts.structured);
  plan_pieces(&e);
  store_pieces(&e);
  write_result(&e, out);
  return false;
}

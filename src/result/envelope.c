// SPDX-License-Identifier: Apache-2.0
#include "result/envelope.h"

#include "base/assert.h"
#include "result/envelope_impl.h"
#include "result/same_json.h"
#include "json/write.h"

// ---- the content ----

static void put_text_part(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

// What was read of a resource is a part of type resource; what no client takes for a part is told as text.
static void put_part(struct json_writer *w, const struct envelope *e, const struct part *p) {
  if (part_is_broken(p)) {
    str words;
    put_text_part(w, json_string(p->json, e->a, &words) ? words : json_span(p->json));
    return;
  }
  if (e->order->kind != ENVELOPE_RESOURCE) {
    json_put_raw(w, json_span(p->json));
    return;
  }
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("resource"));
  json_member_raw(w, STR("resource"), json_span(p->json));
  json_end_object(w);
}

static size_t content_room(const struct envelope *e, str text) {
  size_t room = 6 * text.n + 256;
  for (size_t i = 0; i < e->parts.count; i++)
    if (e->whole || e->kept[i]) room += 6 * (size_t)e->parts.list[i].json->n + 6 * e->parts.list[i].text.n + 64;
  return room;
}

static str write_content(const struct envelope *e, str text) {
  struct buf b;
  buf_init(&b, content_room(e, text));
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  if (text.p) put_text_part(&w, text);
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (e->whole && p->type == PART_TEXT && p->text.p) put_text_part(&w, p->text);
    else if (e->kept[i] || (e->whole && p->text.p)) put_part(&w, e, p);
  }
  json_end_array(&w);
  ASSERT(!b.over);
  str content = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return content;
}

// ---- passed on ----

// What stands for content that is no list of parts.
static str mended_content(const struct envelope *e) {
  const struct json *content = json_get(e->order->result, STR("content"));
  struct buf b;
  buf_init(&b, 6 * (size_t)e->order->result->n + 64 * e->parts.count + 256);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  if (e->parts.unusual) put_text_part(&w, json_span(content));
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (p->json == content) put_text_part(&w, p->text);
    else put_part(&w, e, p);
  }
  json_end_array(&w);
  str mended = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return mended;
}

// Only Toolgate says what begins with its name.
static size_t drop_ours(const struct json *meta, struct arena *a, struct json_edit *edits) {
  size_t count = 0;
  if (json_is(meta, JSON_OBJECT) && !json_is_folded(meta)) {
    JSON_EACH(m, meta) {
      str key = json_key(m, a);
      if (str_starts(key, STR("toolgate/"))) edits[count++] = (struct json_edit){key, STR_NONE};
    }
  }
  return count;
}

// The _meta of the result with what is told about it, if anything is. STR_NONE: as it was.
static str edited_meta(const struct envelope *e, str told) {
  const struct json *meta = json_get(e->order->result, STR("_meta"));
  if (meta && !json_is(meta, JSON_OBJECT)) return STR_NONE;
  struct json_edit *edits = ARENA_ARRAY(e->a, struct json_edit, (meta ? meta->count : 0) + 1);
  size_t count = drop_ours(meta, e->a, edits);
  if (told.n) {
    size_t at = 0;
    while (at < count && !str_eq(edits[at].key, STR("toolgate/provenance"))) at++;
    edits[at] = (struct json_edit){STR("toolgate/provenance"), arena_printf(e->a, "{%.*s}", STR_ARG(told))};
    if (at == count) count++;
  }
  return count ? json_edited(e->a, meta ? meta : &json_empty_object, edits, count) : STR_NONE;
}

// How structuredContent reaches the model of this client.
struct arrangement {
  bool add;   // as one more text
  bool drop;  // not as structuredContent
};

static struct arrangement arrange(const struct envelope *e) {
  struct arrangement none = {false, false};
  if (!e->parts.structured || e->order->whole || e->order->kind != ENVELOPE_TOOL) return none;
  bool repeated = envelope_text_says(e), others = e->parts.count > (repeated ? 1 : 0);
  switch (e->order->reads) {
  case CLIENT_READS_UNKNOWN: break;
  case CLIENT_READS_TEXT: return (struct arrangement){!repeated, false};
  case CLIENT_READS_STRUCTURED: return (struct arrangement){others && !repeated, others};
  case CLIENT_READS_BOTH: return (struct arrangement){false, repeated};
  }
  return none;
}

static str with_text(struct arena *a, str content, str text) {
  struct buf b;
  buf_init(&b, content.n + 6 * text.n + 64);
  buf_str(&b, (str){content.p, content.n - 1});
  struct json_writer w = json_writer(&b);
  w.comma = str_trim(str_from(buf_view(&b), 1)).n > 0;
  put_text_part(&w, text);
  buf_char(&b, ']');
  ASSERT(!b.over);
  str all = arena_str(a, buf_view(&b));
  buf_done(&b);
  return all;
}

// As it is, but for what its caller has to say about it, for what its client would hide from the model, and for what no
// client could read.
static bool pass_on(const struct envelope *e, struct buf *out) {
  struct json_edit edits[4];
  size_t count = 0;
  struct arrangement arranged = arrange(e);
  str meta = edited_meta(e, e->order->provenance);
  bool broken = e->order->kind == ENVELOPE_TOOL && envelope_content_broken(e);
  str content = broken ? mended_content(e) : STR_NONE;
  if (arranged.add) {
    if (!broken) content = json_span(json_get(e->order->result, STR("content")));
    content = with_text(e->a, content, json_compacted(e->a, json_span(e->parts.structured)));
  }
  if (meta.n) edits[count++] = (struct json_edit){STR("_meta"), meta};
  if (content.p) edits[count++] = (struct json_edit){STR("content"), content};
  if (arranged.drop) edits[count++] = (struct json_edit){STR("structuredContent"), STR_NONE};
  if (e->parts.odd_error) edits[count++] = (struct json_edit){STR("isError"), STR("true")};
  json_copy_edited(out, e->order->result, edits, count);
  return !count;
}

// ---- the result ----

static void look(struct envelope *e) {
  for (size_t i = 0; i < 2; i++) {
    struct envelope_section *s = &e->sections[i];
    if (s->text.n && e->order->kind == ENVELOPE_PROMPT) summary_look_text(s->text, e->a, &s->summary);
    else if (s->text.n) summary_look(s->text, e->a, &s->summary);
  }
}

// Of what was read or got, nothing else is a member that the result of a tool has.
static void write_fresh(const struct envelope *e, str content, str structured, struct buf *out) {
  const struct json *meta = json_get(e->order->result, STR("_meta"));
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_raw(&w, STR("content"), content);
  if (structured.n) json_member_raw(&w, STR("structuredContent"), structured);
  str edited = edited_meta(e, STR_NONE);
  if (meta && e->rest_kept) json_member_raw(&w, STR("_meta"), edited.n ? edited : json_span(meta));
  json_end_object(&w);
}

static void write_result(struct envelope *e, struct buf *out) {
  str content = write_content(e, e->whole && e->parts.count ? STR_NONE : envelope_text(e));
  str structured = e->order->text_only ? STR_NONE : envelope_json(e);
  if (e->order->kind != ENVELOPE_TOOL) {
    write_fresh(e, content, structured, out);
    return;
  }
  const struct json *result = e->order->result;
  struct json_edit *edits = ARENA_ARRAY(e->a, struct json_edit, (size_t)result->count + 4);
  size_t count = 0;
  str meta = edited_meta(e, STR_NONE);
  edits[count++] = (struct json_edit){STR("content"), content};
  edits[count++] = (struct json_edit){STR("structuredContent"), structured};
  if (e->parts.odd_error) edits[count++] = (struct json_edit){STR("isError"), STR("true")};
  if (e->rest_kept && meta.n) edits[count++] = (struct json_edit){STR("_meta"), meta};
  if (!e->rest_kept) count += envelope_drop_rest(e, edits + count);
  json_copy_edited(out, result, edits, count);
}

static size_t budget_of(const struct envelope_order *order) {
  if (!order->budget) return ENVELOPE_TOKENS;
  if (order->budget < ENVELOPE_TOKENS_MIN) return ENVELOPE_TOKENS_MIN;
  return order->budget > ENVELOPE_TOKENS_MAX ? ENVELOPE_TOKENS_MAX : order->budget;
}

static bool make(struct envelope *e, struct buf *out) {
  if (e->order->whole) return pass_on(e, out);
  e->whole = envelope_fits(e);
  if (e->whole && e->order->kind == ENVELOPE_TOOL) return pass_on(e, out);
  envelope_choose(e);
  e->said = e->parts.structured && e->parts.text.n && says_same(e->parts.text, json_span(e->parts.structured));
  envelope_keep(e);
  look(e);
  write_result(e, out);
  envelope_free_blocks(e);
  return false;
}

// Without what looks like a secret, in *out. NULL: it has too many values for a look at all of them.
static const struct json *scrubbed(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct fault f;
  struct arena nodes;
  arena_init(&nodes);
  const struct json *whole = json_parse(&nodes, json_span(order->result), &json_default_limits, &f);
  buf_init(out, whole ? secrets_json_max(whole) : 0);
  if (whole) secrets_put_json(out, whole, &order->secrets);
  arena_done(&nodes);
  return whole ? json_parse(a, buf_view(out), &json_default_limits, &f) : NULL;
}

// What is told and kept is copied out of the masked text by the time it goes.
static bool make_scrubbed(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct envelope_order clean = *order;
  struct buf masked;
  clean.scrub = false;
  clean.secrets = (struct secrets_known){0};
  clean.result = scrubbed(order, a, &masked);
  if (clean.result) envelope_make(&clean, a, out);
  else
    buf_str(out, STR("{\"content\":[{\"type\":\"text\",\"text\":\"The result is too large to be looked through for "
                     "secrets (result.scrub), and is not shown.\"}],\"isError\":true}"));
  buf_done(&masked);
  return false;
}

// An error may tell what was sent to the server.
static bool is_scrubbed(const struct envelope_order *order) {
  const struct json *failed = json_get(order->result, STR("isError"));
  bool error = failed && failed->type != JSON_FALSE && failed->type != JSON_NULL;
  return order->scrub || (error && secrets_in_json(order->result, &order->secrets));
}

bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out) {
  if (is_scrubbed(order)) return make_scrubbed(order, a, out);
  static const enum parts_source sources[] = {PARTS_OF_TOOL, PARTS_OF_RESOURCE, PARTS_OF_PROMPT};
  struct envelope e = {.order = order, .a = a, .budget = budget_of(order)};
  if (!json_is(order->result, JSON_OBJECT)) {
    buf_str(out, json_span(order->result));
    return true;
  }
  e.parts = parts_read(order->result, sources[order->kind], a);
  bool passed = make(&e, out);
  parts_done(&e.parts);
  return passed;
}

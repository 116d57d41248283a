// SPDX-License-Identifier: Apache-2.0
#include "result/envelope.h"

#include "base/assert.h"
#include "result/envelope_impl.h"
#include "result/same_json.h"
#include "text/secrets.h"
#include "text/tokens.h"
#include "json/write.h"

// ---- is it small? ----

static bool any_text_says(const struct parts *parts) {
  for (size_t i = 0; i < parts->count; i++)
    if (parts->list[i].text.p && says_same(parts->list[i].text, json_span(parts->structured))) return true;
  return false;
}

static bool take_tokens(str text, size_t *left) {
  if (!tokens_fit(text, *left)) return false;
  *left -= tokens_count(text);
  return true;
}

// Pictures and sounds are seen and heard; everything else is read.
static bool is_read(const struct part *p) {
  return !p->text.p && p->type != PART_IMAGE && p->type != PART_AUDIO;
}

// Everything that the model would read is within the budget.
static bool reads_short(const struct envelope *e) {
  const struct parts *parts = &e->parts;
  size_t left = e->budget;
  if (e->order->result->n <= left) return true;  // no token is less than a byte
  for (size_t i = 0; i < parts->count; i++) {
    const struct part *p = &parts->list[i];
    if (p->text.p && !take_tokens(p->text, &left)) return false;
    if (is_read(p) && !take_tokens(json_span(p->json), &left)) return false;
  }
  if (parts->unusual && !take_tokens(json_span(e->order->result), &left)) return false;
  if (!parts->structured) return true;
  // By itself in any case: some clients show nothing else.
  return tokens_fit(json_span(parts->structured), e->budget) &&
         (any_text_says(parts) || take_tokens(json_span(parts->structured), &left));
}

// Pictures and sounds by their size. True when all may stay.
static bool choose_seen(struct envelope *e) {
  size_t left = ENVELOPE_PARTS_BYTES;
  bool all = true;
  e->kept = ARENA_ARRAY(e->a, bool, e->parts.count);
  for (size_t i = 0; i < e->parts.count; i++) {
    const struct part *p = &e->parts.list[i];
    if (p->text.p || is_read(p)) continue;
    e->kept[i] = p->json->n <= ENVELOPE_PART_BYTES && p->json->n <= left;
    if (e->kept[i]) left -= p->json->n;
    all = all && e->kept[i];
  }
  return all;
}

// What is read besides the text may have a quarter of the budget, when there is more than that.
static void choose_read(struct envelope *e) {
  size_t left = e->whole ? e->budget : e->budget / 4, had = left;
  for (size_t i = 0; i < e->parts.count; i++)
    if (is_read(&e->parts.list[i])) e->kept[i] = take_tokens(json_span(e->parts.list[i].json), &left);
  e->kept_tokens = e->whole ? 0 : had - left;
}

// ---- passed on ----

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

// ---- the content ----

static void put_text_part(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

// What was read of a resource is a part of type resource.
static void put_part(struct json_writer *w, const struct envelope *e, const struct part *p) {
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
    if (e->whole || e->kept[i]) room += e->parts.list[i].json->n + 6 * e->parts.list[i].text.n + 64;
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
  if (meta) json_member_raw(&w, STR("_meta"), json_span(meta));
  json_end_object(&w);
}

static void write_result(struct envelope *e, struct buf *out) {
  str content = write_content(e, e->whole && e->parts.count ? STR_NONE : envelope_text(e));
  str structured = e->order->text_only ? STR_NONE : envelope_json(e);
  if (e->order->kind != ENVELOPE_TOOL) {
    write_fresh(e, content, structured, out);
    return;
  }
  struct json_edit edits[] = {{STR("content"), content}, {STR("structuredContent"), structured}};
  json_copy_edited(out, e->order->result, edits, 2);
}

static size_t budget_of(const struct envelope_order *order) {
  if (!order->budget) return ENVELOPE_TOKENS;
  if (order->budget < ENVELOPE_TOKENS_MIN) return ENVELOPE_TOKENS_MIN;
  return order->budget > ENVELOPE_TOKENS_MAX ? ENVELOPE_TOKENS_MAX : order->budget;
}

static bool make(struct envelope *e, struct buf *out) {
  if (e->order->whole) return pass_on(e, out);
  bool seen = choose_seen(e);
  e->whole = seen && reads_short(e);
  if (e->whole && e->order->kind == ENVELOPE_TOOL) return pass_on(e, out);
  choose_read(e);
  e->said = e->parts.structured && e->parts.text.n && says_same(e->parts.text, json_span(e->parts.structured));
  envelope_keep(e);
  look(e);
  write_result(e, out);
  envelope_free_blocks(e);
  return false;
}

// Without what looks like a secret. NULL: it has too many values for a look at all of them.
static const struct json *scrubbed(const struct json *result, struct arena *a) {
  struct fault f;
  const struct json *whole = json_parse(a, json_span(result), &json_default_limits, &f);
  return whole ? json_parse(a, secrets_mask_json(a, whole), &json_default_limits, &f) : NULL;
}

static bool make_scrubbed(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct envelope_order clean = *order;
  clean.scrub = false;
  clean.result = scrubbed(order->result, a);
  if (clean.result) envelope_make(&clean, a, out);
  else
    buf_str(out, STR("{\"content\":[{\"type\":\"text\",\"text\":\"The result is too large to be looked through for "
                     "secrets (result.scrub), and is not shown.\"}],\"isError\":true}"));
  return false;
}

bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out) {
  if (order->scrub) return make_scrubbed(order, a, out);
  static const enum parts_source sources[] = {PARTS_OF_TOOL, PARTS_OF_RESOURCE, PARTS_OF_PROMPT};
  struct envelope e = {.order = order, .a = a, .budget = budget_of(order)};
  if (!json_is(order->result, JSON_OBJECT)) return pass_on(&e, out);
  e.parts = parts_read(order->result, sources[order->kind], a);
  bool passed = make(&e, out);
  parts_done(&e.parts);
  return passed;
}

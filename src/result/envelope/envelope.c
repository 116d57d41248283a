// SPDX-License-Identifier: Apache-2.0
#include "result/envelope/envelope.h"

#include "base/assert.h"
#include "base/text/find.h"
#include "result/envelope/envelope_impl.h"
#include "result/envelope/lookalike.h"
#include "result/envelope/same_json.h"
#include "json/write.h"

enum { META_ROOM = 128 << 10 };  // maximum size in bytes of the envelope in _meta, not counting the tool ids in it

// ---- the content ----

static void put_text_part(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

// Writes a content part of a tool result. Each element of a resource's `contents` becomes a part of type `resource`; an
// invalid part becomes a text part.
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

static str write_content(const struct envelope *e, str text) {
  struct buf b;
  size_t room = 6 * text.n + 256;
  for (size_t i = 0; i < e->parts.count; i++)
    if (e->whole || e->kept[i]) room += 6 * (size_t)e->parts.list[i].json->n + 6 * e->parts.list[i].text.n + 64;
  buf_init(&b, room);
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

// ---- results that are passed on ----

// Returns a valid list of content parts, for a result whose `content` is not a valid list.
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

// Returns `meta`, the _meta of a result, without members whose names have the gateway's prefixes: only the gateway may
// set such members. Adds `value` as the member `name` unless `value` is empty. Returns STR_NONE if nothing changes.
static str edited_meta(const struct envelope *e, const struct json *meta, str name, str value) {
  if (!meta || meta->type != JSON_OBJECT || json_is_folded(meta)) meta = &json_empty_object;
  struct json_edit *edits = ARENA_ARRAY(e->a, struct json_edit, (size_t)meta->count + 1);
  size_t count = 0, at = 0;
  JSON_EACH(m, meta) {
    str key = json_key(m, e->a);
    bool ours = str_starts(key, STR("toolgate/")) || str_starts(key, STR("io.toolgate/"));
    if (ours) edits[count++] = (struct json_edit){key, STR_NONE};
  }
  if (value.n) {
    while (at < count && !str_eq(edits[at].key, name)) at++;
    edits[at] = (struct json_edit){name, value};
    if (at == count) count++;
  }
  ASSERT(count <= (size_t)meta->count + 1);
  return count ? json_edited(e->a, meta, edits, count) : STR_NONE;
}

// Writes the result's _meta, which contains the envelope. If `stays` is true, also copies the members of the server's
// _meta.
static void put_meta(const struct envelope *e, bool stays, struct buf *out) {
  const struct json *meta = stays ? json_get(e->order->result, STR("_meta")) : NULL;
  size_t begin = out->n;
  if (!meta) buf_str(out, STR("{\"" ENVELOPE_META "\":"));
  envelope_put_meta(e, out);
  if (!meta) {
    buf_char(out, '}');
    return;
  }
  str envelope = arena_str(e->a, str_from(buf_view(out), begin));
  out->n = begin;
  buf_str(out, edited_meta(e, meta, STR(ENVELOPE_META), envelope));
}

static str write_meta(const struct envelope *e, bool stays) {
  struct buf b;
  buf_init(&b, META_ROOM + 12 * e->order->tool_id.n * (e->count + 2) + e->order->provenance.n + e->order->result->n);
  put_meta(e, stays, &b);
  str meta = b.over ? STR_NONE : arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return meta;
}

// Changes to a result that make the client's model see the data of structuredContent exactly once.
struct arrangement {
  bool add;   // add structuredContent as text
  bool drop;  // remove structuredContent
};

static struct arrangement arrange(const struct envelope *e) {
  struct arrangement none = {false, false};
  if (!e->parts.structured || e->order->whole || e->order->kind != ENVELOPE_TOOL) return none;
  bool repeated = envelope_text_says(e), others = e->parts.count > (repeated ? 1 : 0);
  // If the result imitates the gateway, structuredContent is removed, and its data follows the notice as text.
  if (e->imitates) return (struct arrangement){!repeated, true};
  switch (e->order->reads) {
  case CLIENT_READS_UNKNOWN: break;
  case CLIENT_READS_TEXT: return (struct arrangement){!repeated, false};
  case CLIENT_READS_STRUCTURED: return (struct arrangement){others && !repeated, others};
  case CLIENT_READS_BOTH: return (struct arrangement){false, repeated};
  }
  return none;
}

static str with_text(struct arena *a, str content, str text) {
  ASSERT(content.n >= 2 && content.p[content.n - 1] == ']');
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

// Returns `content` with a new first part: the notice that the server's text imitates the gateway (lookalike.h).
static str with_notice(const struct envelope *e, str content) {
  struct buf line, b;
  buf_init(&line, 1024);
  lookalike_put_notice(&line, e->mark);
  buf_init(&b, content.n + 6 * line.n + 64);
  struct json_writer w = json_writer(&b);
  buf_char(&b, '[');
  put_text_part(&w, (str){line.p, line.n - 1});
  str parts = str_trim(str_from(content, 1));
  if (parts.n > 1) buf_char(&b, ',');
  buf_str(&b, parts);
  str all = arena_str(e->a, buf_view(&b));
  buf_done(&line);
  buf_done(&b);
  return all;
}

// Passes a result on to the client. Changes only _meta, invalid content, and structuredContent that the model would not
// see or would see twice. Adds a notice if the result imitates the gateway.
static bool pass_on(struct envelope *e, struct buf *out) {
  struct json_edit edits[4];
  size_t count = 0;
  bool whole = e->order->whole;
  e->imitates = e->order->mark.n && lookalike_json(e->order->result, e->mark);
  struct arrangement arranged = arrange(e);
  bool broken = e->order->kind == ENVELOPE_TOOL && envelope_content_broken(e);
  str content = STR_NONE;  // the new content; STR_NONE if the content stays unchanged
  if (broken) content = mended_content(e);
  else if (arranged.add || e->imitates) content = json_span(json_get(e->order->result, STR("content")));
  if (arranged.add) content = with_text(e->a, content, json_compacted(e->a, json_span(e->parts.structured)));
  if (e->imitates) content = with_notice(e, content);
  if (content.p) edits[count++] = (struct json_edit){STR("content"), content};
  if (arranged.drop) edits[count++] = (struct json_edit){STR("structuredContent"), STR_NONE};
  if (e->parts.odd_error) edits[count++] = (struct json_edit){STR("isError"), STR("true")};
  if (!count && !whole && e->order->apart) {
    put_meta(e, true, out);
    return true;
  }
  str meta = STR_NONE;
  if (whole) {
    const struct json *old = json_get(e->order->result, STR("_meta"));
    str provenance = e->order->provenance;
    if (provenance.n) provenance = arena_printf(e->a, "{%.*s}", STR_ARG(provenance));
    if (!old || json_is(old, JSON_OBJECT)) meta = edited_meta(e, old, STR("toolgate/provenance"), provenance);
  } else {
    meta = write_meta(e, true);
  }
  if (meta.n) edits[count++] = (struct json_edit){STR("_meta"), meta};
  if (count || !e->order->apart) json_copy_edited(out, e->order->result, edits, count);
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

// Writes the result of a resource or prompt in the form of a tool result. Copies only _meta from the server's result.
static void write_fresh(const struct envelope *e, str content, str structured, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_raw(&w, STR("content"), content);
  if (structured.n) json_member_raw(&w, STR("structuredContent"), structured);
  json_member_raw(&w, STR("_meta"), write_meta(e, e->rest_kept));
  json_end_object(&w);
}

// Returns the content parts of a resource or prompt that stay in the result because they fit the budget.
static str fitting_content(struct envelope *e) {
  e->imitates = e->order->mark.n && lookalike_json(e->order->result, e->mark);
  str content = write_content(e, STR_NONE);
  return e->imitates ? with_notice(e, content) : content;
}

static void write_result(struct envelope *e, struct buf *out) {
  str content = e->whole && e->parts.count ? fitting_content(e) : write_content(e, envelope_text(e));
  str structured = e->order->text_only ? STR_NONE : envelope_json(e);
  if (e->order->kind != ENVELOPE_TOOL) {
    write_fresh(e, content, structured, out);
    return;
  }
  const struct json *result = e->order->result;
  struct json_edit *edits = ARENA_ARRAY(e->a, struct json_edit, (size_t)result->count + 4);
  size_t count = 0;
  edits[count++] = (struct json_edit){STR("content"), content};
  edits[count++] = (struct json_edit){STR("structuredContent"), structured};
  edits[count++] = (struct json_edit){STR("_meta"), write_meta(e, e->rest_kept)};
  if (e->parts.odd_error) edits[count++] = (struct json_edit){STR("isError"), STR("true")};
  if (!e->rest_kept) count += envelope_drop_rest(e, edits + count);
  ASSERT(count <= (size_t)result->count + 4);
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

// Returns whether the result contains the gateway's mark, the text at the start of each line that the gateway adds. A
// server can learn the mark from the arguments of a call.
static bool repeats_mark(const struct envelope_order *order) {
  str raw = json_span(order->result);
  const char *end = raw.p + raw.n;
  struct secrets_known mark = {&order->mark, 1, 0};
  if (!order->mark.n || (!find_bytes(raw.p, end, order->mark) && !find_bytes(raw.p, end, STR("\\u00")))) return false;
  return secrets_in_json(order->result, &mark);
}

// Returns the mark and the known secrets, which must be masked. For errors, also returns the known addresses.
static struct secrets_known masked_values(const struct envelope_order *order, struct arena *a) {
  size_t addresses = envelope_is_error(order->result) ? order->hidden.addresses : 0;
  size_t known = order->hidden.count - order->hidden.addresses + addresses, count = 0;
  str *values = ARENA_ARRAY(a, str, known + 1);
  if (order->mark.n) values[count++] = order->mark;
  for (size_t i = 0; i < known; i++) values[count++] = order->hidden.values[i];
  return (struct secrets_known){values, count, addresses};
}

// Masks the result, writes the masked JSON to *out, and returns the parsed form of this JSON. Returns NULL if the
// result has too many values to be searched.
static const struct json *scrubbed(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct fault f;
  struct arena nodes;
  arena_init(&nodes);
  const struct json *whole = json_parse(&nodes, json_span(order->result), &json_default_limits, &f);
  buf_init(out, whole ? secrets_json_max(whole) : 0);
  struct secrets_known known = masked_values(order, a);
  if (whole) secrets_put_json(out, whole, &known);
  arena_done(&nodes);
  return whole ? json_parse(a, buf_view(out), &json_default_limits, &f) : NULL;
}

// Makes the envelope of a masked copy of the result. The copy may be freed afterwards, because envelope_make copies
// everything it needs.
static bool make_scrubbed(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct envelope_order clean = *order;
  struct buf masked;
  clean.scrub = clean.apart = false;
  clean.hidden = (struct secrets_known){0};
  clean.result = scrubbed(order, a, &masked);
  if (clean.result) envelope_make(&clean, a, out);
  else if (order->kind != ENVELOPE_ANY)
    buf_printf(out,
               "{\"content\":[{\"type\":\"text\",\"text\":\"%.*s The result is too large to be searched for secrets "
               "(result.scrub), and is not shown.\"}],\"isError\":true}",
               STR_ARG(order->mark));
  buf_done(&masked);
  return false;
}

static bool is_error(const struct json *result) {
  const struct json *failed = json_get(result, STR("isError"));
  return failed && failed->type != JSON_FALSE && failed->type != JSON_NULL;
}

static bool is_failed_task(const struct json *task) {
  const struct json *status = json_get(task, STR("status"));
  if (!status || !json_get(task, STR("taskId"))) return false;
  return json_equals_str(status, STR("failed")) || json_equals_str(status, STR("cancelled")) ||
         json_get(task, STR("error")) || is_error(json_get(task, STR("result")));
}

bool envelope_is_error(const struct json *result) {
  return is_error(result) || is_failed_task(result) || is_failed_task(json_get(result, STR("task")));
}

// Returns whether the result must be masked. Errors are also searched for known secrets, because errors often repeat
// data that was sent to the server.
static bool is_scrubbed(const struct envelope_order *order) {
  if (order->scrub || repeats_mark(order)) return true;
  return envelope_is_error(order->result) && secrets_in_json(order->result, &order->hidden);
}

bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out) {
  ASSERT(order->result && order->kind <= ENVELOPE_ANY);
  if (is_scrubbed(order)) return make_scrubbed(order, a, out);
  static const enum parts_source sources[] = {PARTS_OF_TOOL, PARTS_OF_RESOURCE, PARTS_OF_PROMPT};
  struct envelope e = {.order = order, .a = a, .budget = budget_of(order)};
  e.mark = order->mark.n ? order->mark : STR("…");
  if (!json_is(order->result, JSON_OBJECT) || order->kind == ENVELOPE_ANY) {
    if (!order->apart) buf_str(out, json_span(order->result));
    return true;
  }
  e.parts = parts_read(order->result, sources[order->kind], a);
  bool passed = make(&e, out);
  parts_done(&e.parts);
  return passed;
}

// SPDX-License-Identifier: Apache-2.0
// Writes the envelope as JSON, for programs, and for clients that show it to the model instead of the text.
#include "base/assert.h"
#include "base/text/plain.h"
#include "result/envelope/envelope_impl.h"
#include "result/envelope/lookalike.h"
#include "text/tokens.h"
#include "json/write.h"

static const str ids[] = {STR("tool_id"), STR("resource_id"), STR("prompt_id")};  // index: enum envelope_kind

enum { TOKEN_BYTES = 128, ENTRY_BYTES = 4 << 10 };

// Members that the envelope leaves out, in this order, until the handles and a part of the summary fit. Each value also
// leaves out the members of the values before it.
enum spare {
  SPARE_NOTHING,
  SPARE_VIEWS,
  SPARE_LABELS,
  SPARE_HASHES,
  SPARE_ANNOTATIONS,
  SPARE_SIZES,       // leave out sizes and media types
  SPARE_PROVENANCE,  // leave out provenance completely: the handles already contain the tool id
  SPARES,
};

struct json_form {
  enum spare spare;
  str summary;
  size_t facts;
};

// ---- members ----

static void write_facts(struct json_writer *w, const struct facts *facts, size_t count) {
  json_put_key(w, STR("facts"));
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) json_put_str(w, facts->list[i]);
  json_end_array(w);
}

static void write_artifact(struct json_writer *w, const struct envelope_piece *p, enum spare spare) {
  json_begin_object(w);
  json_member_str(w, STR("handle"), p->name.handle);
  if (spare < SPARE_SIZES) {
    json_member_str(w, STR("media_type"), p->artifact.media_type);
    json_member_u64(w, STR("size_bytes"), p->artifact.bytes.n);
  }
  if (spare < SPARE_LABELS) json_member_str(w, STR("label"), p->artifact.label);
  if (spare < SPARE_HASHES) json_member_str(w, STR("content_hash"), p->name.content_hash);
  json_end_object(w);
}

static void write_artifacts(struct json_writer *w, const struct envelope *e, enum spare spare) {
  json_put_key(w, STR("artifacts"));
  json_begin_array(w);
  for (size_t i = 0; i < e->count; i++)
    if (e->pieces[i].held) write_artifact(w, &e->pieces[i], spare);
  json_end_array(w);
}

static void write_views(struct json_writer *w, const struct envelope *e, enum spare spare) {
  json_put_key(w, STR("views"));
  json_begin_array(w);
  for (size_t i = 0; i < 2 && spare < SPARE_VIEWS; i++) {
    const struct envelope_section *s = &e->sections[i];
    bool leads = s->text.n && s->piece && s->piece->held && s->piece->artifact.bytes.p == s->text.p;
    for (size_t k = 0; leads && k < s->summary.view_count; k++) {
      json_begin_object(w);
      json_member_str(w, STR("label"), str_of(s->summary.views[k].label));
      json_member_raw(w, STR("selector"), s->summary.views[k].selector);
      json_member_str(w, STR("artifact_ref"), s->piece->name.handle);
      json_end_object(w);
    }
  }
  json_end_array(w);
}

// ---- provenance ----

static const struct json *annotations_of(const struct part *p) {
  const struct json *v = json_get(p->json, STR("annotations"));
  return json_is(v, JSON_OBJECT) && v->n <= ENVELOPE_ANNOTATION_BYTES && !json_is_folded(v) && v->count ? v : NULL;
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
  for (size_t i = 0; i < e->parts.count && i < ENVELOPE_ANNOTATIONS; i++) {
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

static void write_provenance(struct json_writer *w, const struct envelope *e, enum spare spare) {
  static const str primitives[] = {STR("tool"), STR("resource"), STR("prompt")};
  enum envelope_kind kind = e->order->kind;
  ASSERT(kind < ENVELOPE_ANY);
  json_put_key(w, STR("provenance"));
  json_begin_object(w);
  if (spare < SPARE_PROVENANCE) {
    json_member_str(w, ids[kind], e->order->tool_id);
    json_put_raw(w, STR("\"protocol\":\"mcp\""));
    if (kind != ENVELOPE_TOOL) json_member_str(w, STR("primitive"), primitives[kind]);
    if (spare < SPARE_ANNOTATIONS) write_annotations(w, e);
    if (e->order->provenance.n) json_put_raw(w, e->order->provenance);
  }
  json_end_object(w);
}

// ---- fitting the budget ----

static void write_form(struct buf *b, const struct envelope *e, const struct json_form *f, const struct facts *facts) {
  struct json_writer w = json_writer(b);
  buf_reset(b);
  json_begin_object(&w);
  json_member_str(&w, STR("status"), e->parts.is_error ? STR("error") : STR("ok"));
  json_member_str(&w, STR("summary"), f->summary);
  write_facts(&w, facts, f->facts);
  write_artifacts(&w, e, f->spare);
  write_views(&w, e, f->spare);
  write_provenance(&w, e, f->spare);
  json_end_object(&w);
}

// Chooses the members to leave out, so that all members except the summary take at most two thirds of the budget. If
// even the hashes must be left out, the other members may take three quarters.
static enum spare choose_spare(struct buf *b, const struct envelope *e, const struct facts *facts) {
  for (int spare = SPARE_NOTHING; spare < SPARES; spare++) {
    struct json_form f = {.spare = (enum spare)spare, .summary = STR("")};
    size_t most = spare < SPARE_HASHES ? e->budget * 2 / 3 : e->budget * 3 / 4;
    write_form(b, e, &f, facts);
    if (tokens_fit(buf_view(b), most)) return f.spare;
  }
  return SPARE_PROVENANCE;
}

// Returns how many facts to write. Facts may take a third of `tokens`. The list begins with the most informative facts.
static size_t choose_facts(const struct facts *facts, size_t tokens) {
  enum { AROUND = 3 };
  size_t count = 0, left = tokens / 3;
  for (; count < facts->count; count++) {
    size_t cost = tokens_count(facts->list[count]) + AROUND;
    if (cost > left) break;
    left -= cost;
  }
  return count;
}

// Removes hidden characters from a text made from the server's data, unless `keep_hidden` is set.
static str seen(const struct envelope *e, str text) {
  return e->order->keep_hidden ? text : plain_copy(e->a, text, false);
}

// Tries shorter summaries until one fits. The number of tokens of a summary in JSON, with escapes, is known only after
// the summary is written.
static void fit_summary(struct buf *b, const struct envelope *e, struct json_form *f, const struct facts *facts) {
  struct buf text;
  write_form(b, e, f, facts);
  size_t taken = tokens_count(buf_view(b)), left = e->budget > taken ? e->budget - taken : 0;
  buf_init(&text, e->budget * TOKEN_BYTES + ENTRY_BYTES);
  for (; left; left = left > 8 ? left * 7 / 8 : left - 1) {
    buf_reset(&text);
    envelope_summarise(e, left, &text);
    f->summary = seen(e, buf_view(&text));
    write_form(b, e, f, facts);
    if (tokens_fit(buf_view(b), e->budget)) break;
  }
  f->summary = STR("");
  if (!left) write_form(b, e, f, facts);
  buf_done(&text);
}

static void drop_lookalikes(const struct envelope *e, struct facts *facts) {
  ASSERT(facts->count <= SUMMARY_FACTS);
  size_t kept = 0;
  for (size_t i = 0; i < facts->count; i++) facts->list[i] = seen(e, facts->list[i]);
  for (size_t i = 0; i < facts->count && e->order->mark.n; i++)
    if (!lookalike(facts->list[i], e->mark)) facts->list[kept++] = facts->list[i];
  if (e->order->mark.n) facts->count = kept;
}

static void gather_facts(const struct envelope *e, struct facts *facts) {
  *facts = (struct facts){0};
  str description = STR_NONE;
  if (e->order->kind == ENVELOPE_PROMPT &&
      json_string(json_get(e->order->result, STR("description")), e->a, &description) && description.n)
    facts_add(facts, arena_printf(e->a, "description: %.*s",
                                  STR_ARG(summary_line(description, SUMMARY_FACT_CHARS / 2, e->a))));
  const struct summary *first = e->sections[0].text.n ? &e->sections[0].summary : NULL;
  if (first && (first->content.kind == CONTENT_PROSE || e->parts.is_error)) facts_of_lines(first->text, facts);
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; e->sections[i].text.n && k < e->sections[i].summary.fact_count; k++)
      facts_add(facts, e->sections[i].summary.facts[k]);
  drop_lookalikes(e, facts);
}

// Writes constant text directly, for speed: every result has this envelope, and most results have neither facts nor
// pieces.
void envelope_put_meta(const struct envelope *e, struct buf *out) {
  struct facts facts = {0};
  size_t shown = 0, bytes = 0;
  if (e->sections[0].text.n || e->sections[1].text.n) {
    gather_facts(e, &facts);
  } else {
    // A result that is passed on has no summary. Its facts are lines of the text and short members of the structured
    // content.
    facts_of_lines(e->parts.text, &facts);
    facts_of_members(e->parts.structured, e->a, &facts);
    drop_lookalikes(e, &facts);
  }
  buf_str(out, e->parts.is_error ? STR("{\"status\":\"error\"") : STR("{\"status\":\"ok\""));
  struct json_writer w = json_writer(out);
  w.comma = true;
  json_member_str(&w, ids[e->order->kind], e->order->tool_id);
  if (!facts.count && !e->count) {
    json_put_raw(&w, STR("\"facts\":[],\"artifacts\":[]"));
  } else {
    while (shown < facts.count && (bytes += facts.list[shown].n) <= ENVELOPE_META_BYTES) shown++;
    write_facts(&w, &facts, shown);
    write_artifacts(&w, e, SPARE_HASHES);
  }
  write_provenance(&w, e, SPARE_ANNOTATIONS);
  buf_char(out, '}');
}

static size_t room_for(const struct envelope *e) {
  size_t strings = e->budget * TOKEN_BYTES + SUMMARY_FACTS * 4 * SUMMARY_FACT_CHARS + 2 * ENTRY_BYTES;
  return 6 * strings + (e->count + 4) * (12 * e->order->tool_id.n + 4 * ENTRY_BYTES) +
         ENVELOPE_ANNOTATIONS * 8 * ENVELOPE_ANNOTATION_BYTES + e->order->provenance.n;
}

str envelope_json(const struct envelope *e) {
  struct facts facts;
  struct buf b;
  buf_init(&b, room_for(e));
  gather_facts(e, &facts);
  struct json_form f = {.summary = STR("")};
  f.spare = choose_spare(&b, e, &facts);
  write_form(&b, e, &f, &facts);
  size_t taken = tokens_count(buf_view(&b));
  f.facts = choose_facts(&facts, e->budget > taken ? e->budget - taken : 0);
  fit_summary(&b, e, &f, &facts);
  ASSERT(!b.over);
  str json = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return json;
}

// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/definition.h"
#include "base/assert.h"
#include "catalog/directory/card.h"
#include "surface/meta/execute.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/tokens.h"
#include "json/write.h"

enum { EVERY_LEVEL = 1000 };

// The steps in which a definition is made smaller, from the complete definition to the smallest. Level 0 of a schema is
// the schema itself, level 1 its properties, and so on.
static const struct prune {
  const char *pruned;  // value of the member "pruned": the missing parts, except the output schema
  bool output;         // the output schema is kept
  int texts;           // deepest level that keeps descriptions; if not EVERY_LEVEL, titles and examples are dropped
  int depth;           // deepest level that keeps schemas
} steps[] = {
    {NULL, true, EVERY_LEVEL, EVERY_LEVEL},
    {NULL, false, EVERY_LEVEL, EVERY_LEVEL},
    {"nested descriptions", false, 1, EVERY_LEVEL},
    {"descriptions of parameters", false, 0, EVERY_LEVEL},
    {"descriptions of parameters, schemas below level 4", false, 0, 4},
    {"descriptions of parameters, schemas below level 3", false, 0, 3},
    {"descriptions of parameters, schemas below level 2", false, 0, 2},
    {"descriptions of parameters, nested schemas", false, 0, 1},
    {"all but the names of required parameters", false, 0, 0},
};
enum { STEPS = sizeof steps / sizeof *steps };

static bool is_one_of(const struct json *member, const char *const *names) {
  for (; *names; names++)
    if (json_key_is(member, str_of(*names))) return true;
  return false;
}

// ---- a schema

struct pruner {
  const struct prune *keep;
  struct json_writer *w;
  struct arena *arena;
};

static void put_schema(struct pruner *p, const struct json *schema, int level);

// Writes all schemas of an object or an array that contains schemas.
static void put_schemas(struct pruner *p, const struct json *list, int level) {
  bool named = list->type == JSON_OBJECT;
  if (named) json_begin_object(p->w);
  else json_begin_array(p->w);
  JSON_EACH(it, list) {
    if (named) json_put_key(p->w, json_key(it, p->arena));
    put_schema(p, it, level);
  }
  if (named) json_end_object(p->w);
  else json_end_array(p->w);
}

static void put_member(struct pruner *p, const struct json *member, int level) {
  static const char *const texts[] = {"description", NULL};
  static const char *const remarks[] = {"title", "examples", "example", "$comment", "$schema", "$id", NULL};
  static const char *const many[] = {"properties", "patternProperties", "$defs", "definitions", "allOf", "anyOf",
                                     "oneOf",      "prefixItems",       NULL};
  static const char *const one[] = {"items", "additionalProperties", "not", "if", "then", "else", NULL};
  bool holds_many = is_one_of(member, many) && (member->type == JSON_OBJECT || member->type == JSON_ARRAY);
  bool holds_one = is_one_of(member, one) && member->type == JSON_OBJECT;
  if (level > p->keep->texts && is_one_of(member, texts)) return;
  if (p->keep->texts < EVERY_LEVEL && is_one_of(member, remarks)) return;
  if ((holds_many || holds_one) && level >= p->keep->depth) return;
  json_put_key(p->w, json_key(member, p->arena));
  if (holds_many) put_schemas(p, member, level + 1);
  else if (holds_one) put_schema(p, member, level + 1);
  else json_put_raw(p->w, json_span(member));
}

static void put_schema(struct pruner *p, const struct json *schema, int level) {
  if (schema->type != JSON_OBJECT) {
    json_put_raw(p->w, json_span(schema));
    return;
  }
  json_begin_object(p->w);
  JSON_EACH(it, schema) put_member(p, it, level);
  json_end_object(p->w);
}

// ---- the definition

struct definition_source {
  const struct entry *entry;
  enum directory_kind kind;
  const struct json *source;
  size_t budget;
  struct arena *arena;
};

static void put_text(const struct definition_source *d, const struct prune *p, struct json_writer *w) {
  str text;
  if (!json_string(json_get(d->source, STR("description")), d->arena, &text)) return;
  json_member_str(w, STR("description"), p->texts == EVERY_LEVEL ? text : card_truncate(d->arena, text, d->budget / 2));
}

static void put_raw_member(const struct definition_source *d, const char *from, const char *to, struct json_writer *w) {
  const struct json *v = json_get(d->source, str_of(from));
  if (v) json_member_raw(w, str_of(to), json_span(v));
}

static void put_shape(const struct definition_source *d, const char *from, const char *to, const struct prune *p,
                      struct json_writer *w) {
  const struct json *v = json_get(d->source, str_of(from));
  if (!v) return;
  struct pruner pruner = {p, w, d->arena};
  json_put_key(w, str_of(to));
  if (v->type == JSON_ARRAY) put_schemas(&pruner, v, 1);  // an array is the list of a prompt's arguments
  else put_schema(&pruner, v, 0);
}

// Writes the member "pruned", which names the parts that the pruning step left out.
static void put_pruned(const struct definition_source *d, const struct prune *p, struct json_writer *w) {
  bool output = !p->output && d->kind == DIRECTORY_TOOLS && json_get(d->source, STR("outputSchema"));
  if (!output && !p->pruned) return;
  json_member_str(w, STR("pruned"),
                  arena_printf(d->arena, "%s%s%s", output ? "output_schema" : "", output && p->pruned ? ", " : "",
                               p->pruned ? p->pruned : ""));
}

static const char *const id_names[] = {"tool_id", "resource_id", "prompt_id"};

static str write_definition(const struct definition_source *d, const struct prune *p) {
  struct buf b;
  buf_init(&b, d->entry->item->text.n * 2 + 6 * d->entry->card.id.n + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, str_of(id_names[d->kind]), d->entry->card.id);
  put_text(d, p, &w);
  if (d->kind == DIRECTORY_TOOLS) put_shape(d, "inputSchema", "args_schema", p, &w);
  if (d->kind == DIRECTORY_TOOLS && p->output) put_shape(d, "outputSchema", "output_schema", p, &w);
  if (d->kind == DIRECTORY_PROMPTS) put_shape(d, "arguments", "args", p, &w);
  if (d->kind == DIRECTORY_RESOURCES) {
    put_raw_member(d, "uri", "uri", &w);
    put_raw_member(d, "uriTemplate", "uri_template", &w);
    put_raw_member(d, "mimeType", "mime_type", &w);
    put_raw_member(d, "size", "size", &w);
  }
  put_pruned(d, p, &w);
  json_end_object(&w);
  str text = json_compacted(d->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// Used if no pruning step makes the definition small enough: writes only the data of the item's card.
static str write_bare(const struct definition_source *d, const struct card *card) {
  struct buf b;
  buf_init(&b, 65536);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, str_of(id_names[d->kind]), card->id);
  json_member_str(&w, STR("description"), card->description);
  json_member_str(&w, STR("args"), card->signature);
  json_member_str(&w, STR("pruned"), STR("all but the card"));
  json_end_object(&w);
  str text = arena_str(d->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

void meta_define(struct surface *d, struct request *r, enum directory_kind kind, str id) {
  const struct entry *e = meta_lookup(d, r, kind, id);
  struct fault f;
  if (!e) return;
  struct definition_source what = {
      .entry = e,
      .kind = kind,
      .source = json_parse(&r->arena, e->item->text, &json_default_limits, &f),
      .budget = d->opt.definition_tokens,
      .arena = &r->arena,
  };
  ASSERT(what.source && what.budget);
  size_t step = 0;
  str text = write_definition(&what, &steps[step]);
  while (!tokens_fit(text, what.budget) && ++step < STEPS) text = write_definition(&what, &steps[step]);
  if (step == STEPS) text = write_bare(&what, directory_card(d->directory, e));
  meta_used(d, r->session, e->card.id);
  meta_reply(d, r, text, text);
}

// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/directory_part.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "catalog/naming/identify.h"
#include "catalog/naming/names.h"
#include "text/oneline.h"
#include "text/search/search_doc.h"
#include "json/write.h"

// Limits of the stored texts, in bytes, and of the number of notes. Cards and the search index use shorter texts.
enum { KEPT_DESCRIPTION = 4096, KEPT_NAME = 256, MOST_NOTES = 1000 };

struct directory_builder {
  const struct catalog *catalog;
  const struct catalog_part *source;
  struct directory_part *part;
  struct arena scratch;  // memory for one definition
  struct search_doc *docs;
  struct arena texts;  // memory for the search documents of one kind index
  const struct schema_options *schemas;
};

enum note_kind { NOTE_REMARK, NOTE_SKIPPED, NOTE_UNSOUND };

static void note(struct directory_builder *b, str name, str reason, enum note_kind kind) {
  struct directory_part *p = b->part;
  p->skipped |= kind == NOTE_SKIPPED;
  p->unsound |= kind == NOTE_UNSOUND;
  if (p->note_count == MOST_NOTES) return;
  if (!p->notes) p->notes = ARENA_ARRAY(&p->arena, struct directory_note, MOST_NOTES);
  p->notes[p->note_count++] = (struct directory_note){
      .server = p->server,
      .name = arena_str(&p->arena, oneline(&b->scratch, utf8_cut(name, DIRECTORY_NAME_SHOWN))),
      .reason = arena_str(&p->arena, reason),
      .skipped = kind == NOTE_SKIPPED,
      .unsound = kind == NOTE_UNSOUND,
      .fresh = true,
  };
}

// ---- one definition

// Parses the definition, and puts the server's own name back in place of the name that clients see.
static const struct json *read_definition(struct directory_builder *b, const struct item *item) {
  struct fault f;
  const struct json *d = json_parse(&b->scratch, item->text, &json_default_limits, &f);
  if (!d || str_eq(item->name, item->shown)) return d;
  struct json_edit edit = {str_of(item_kind_rules[item->kind].name_key), json_escaped(&b->scratch, item->name)};
  return json_parse(&b->scratch, json_edited(&b->scratch, d, &edit, 1), &json_default_limits, &f);
}

static bool identify(const struct directory_builder *b, enum item_kind kind, const struct json *d, struct arena *a,
                     struct identity *out, struct fault *f) {
  struct identify_rules rules = {b->part->namespace, card_id_fits};
  switch (kind) {
  case ITEM_TOOL: return identify_tool(&rules, d, a, out, f);
  case ITEM_PROMPT: return identify_prompt(&rules, d, a, out, f);
  case ITEM_RESOURCE:
  case ITEM_TEMPLATE: break;
  }
  return identify_resource(&rules, d, a, out, f);
}

static bool says(const struct json *annotations, const char *hint) {
  bool value;
  return json_bool(json_get(annotations, str_of(hint)), &value) && value;
}

// Up to MOST_TAGS tags are read; a card shows fewer. SAFETY_TAGS more places are reserved for tags that declare the
// safety, so that other tags cannot displace these tags.
enum { MOST_TAGS = 32, SAFETY_TAGS = 3 };

struct tags {
  str list[MOST_TAGS + SAFETY_TAGS];
  size_t count;
};

static bool declares_safety(str tag) {
  return str_eq(tag, STR("destructive")) || str_eq(tag, STR("read-only")) || str_eq(tag, STR("read_only"));
}

static bool has_tag(const struct tags *t, str tag) {
  for (size_t i = 0; i < t->count; i++)
    if (str_eq(t->list[i], tag)) return true;
  return false;
}

static void add_tag(struct tags *t, str tag) {
  size_t room = declares_safety(tag) ? MOST_TAGS + SAFETY_TAGS : MOST_TAGS;
  if (t->count < room && tag.n && !has_tag(t, tag)) t->list[t->count++] = utf8_cut(tag, KEPT_NAME);
}

static void read_tags(struct directory_builder *b, const struct json *d, struct tags *t) {
  const struct json *tags = json_get(json_get(d, STR("_meta")), STR("tags"));
  if (!json_is(tags, JSON_ARRAY)) tags = json_get(d, STR("tags"));
  if (!json_is(tags, JSON_ARRAY)) return;
  JSON_EACH(it, tags) {
    str tag;
    if (json_string(it, &b->scratch, &tag)) add_tag(t, tag);
  }
}

// ---- parameters

struct params {
  struct card_params found;
  str list[CARD_PARAMS];
};

static void add_param(struct params *p, str name) {
  for (size_t i = 0; i < p->found.count; i++)
    if (str_eq(p->list[i], name)) return;
  if (p->found.count == CARD_PARAMS || name.n > CARD_PARAM_MAX) p->found.more = true;
  else p->list[p->found.count++] = name;
}

static const struct card_params *keep_params(struct directory_builder *b, struct params *p) {
  struct arena *a = &b->part->arena;
  str *names = ARENA_ARRAY(a, str, p->found.count + 1);
  for (size_t i = 0; i < p->found.count; i++) names[i] = arena_str(a, p->list[i]);
  p->found.names = names;
  struct card_params *kept = ARENA_NEW(a, struct card_params);
  *kept = p->found;
  return kept;
}

// Reads the parameters of an input schema. Returns NULL if the schema lacks `properties` but has keywords such as $ref,
// which may describe parameters elsewhere.
static const struct card_params *read_schema_params(struct directory_builder *b, const struct json *schema) {
  const struct json *properties = json_get(schema, STR("properties")), *required = json_get(schema, STR("required"));
  bool elsewhere = json_get(schema, STR("$ref")) || json_get(schema, STR("allOf")) || json_get(schema, STR("anyOf")) ||
                   json_get(schema, STR("oneOf"));
  struct params p = {.found.count = 0};
  str name;
  if (!json_is(schema, JSON_OBJECT) || (elsewhere && !json_is(properties, JSON_OBJECT))) return NULL;
  if (json_is(required, JSON_ARRAY)) {
    JSON_EACH(it, required)
      if (json_string(it, &b->scratch, &name)) add_param(&p, name);
  }
  p.found.required = p.found.count;
  if (json_is(properties, JSON_OBJECT)) {
    JSON_EACH(it, properties) add_param(&p, json_key(it, &b->scratch));
  }
  return keep_params(b, &p);
}

static const struct card_params *read_prompt_params(struct directory_builder *b, const struct json *arguments) {
  struct params p = {.found.count = 0};
  for (int optional = 0; json_is(arguments, JSON_ARRAY) && optional < 2; optional++) {
    JSON_EACH(it, arguments) {
      str name;
      if (json_string(json_get(it, STR("name")), &b->scratch, &name) && says(it, "required") == !optional)
        add_param(&p, name);
    }
    if (!optional) p.found.required = p.found.count;
  }
  return keep_params(b, &p);
}

static const struct card_params *read_template(struct directory_builder *b, const struct json *d) {
  struct params p = {.found.required = 1, .found.count = 1};
  if (!json_string(json_get(d, STR("uriTemplate")), &b->scratch, &p.list[0]) || p.list[0].n > KEPT_NAME) return NULL;
  return keep_params(b, &p);
}

static void describe_tool(struct directory_builder *b, const struct json *d, struct card_source *c, struct tags *t) {
  const struct json *hints = json_get(d, STR("annotations")), *schema = json_get(d, STR("inputSchema"));
  bool reads = says(hints, "readOnlyHint"), destroys = says(hints, "destructiveHint");
  c->kind = CARD_TOOL;
  c->safety = destroys ? CARD_DESTRUCTIVE : reads ? CARD_READ_ONLY : CARD_UNKNOWN;
  if (destroys) add_tag(t, STR("destructive"));
  else if (reads) add_tag(t, STR("read-only"));
  c->side_effects = !reads;
  c->params = read_schema_params(b, schema);
  if (json_double(json_get(hints, STR("costHint")), &c->cost_hint) && c->cost_hint < 0) c->cost_hint = 0;
}

static void describe_resource(struct directory_builder *b, const struct json *d, struct card_source *c,
                              struct tags *t) {
  str mime;
  c->kind = CARD_RESOURCE;
  c->safety = CARD_READ_ONLY;
  c->params = read_template(b, d);
  if (json_string(json_get(d, STR("mimeType")), &b->scratch, &mime)) add_tag(t, mime);
}

static void describe_prompt(struct directory_builder *b, const struct json *d, struct card_source *c) {
  c->kind = CARD_PROMPT;
  c->params = read_prompt_params(b, json_get(d, STR("arguments")));
}

static str text_of(struct directory_builder *b, const struct json *d, enum item_kind kind) {
  str text = STR_NONE;
  json_string(json_get(d, STR("description")), &b->scratch, &text);
  if (!text.n) json_string(json_get(d, STR("title")), &b->scratch, &text);
  if (!text.n && kind != ITEM_TOOL) json_string(json_get(d, STR("name")), &b->scratch, &text);
  return arena_str(&b->part->arena, utf8_cut(text, KEPT_DESCRIPTION));
}

static void describe(struct directory_builder *b, enum item_kind kind, const struct json *d, struct card_source *c) {
  struct arena *a = &b->part->arena;
  struct tags t = {.count = 0};
  c->description = text_of(b, d, kind);
  if (kind == ITEM_TOOL) describe_tool(b, d, c, &t);
  else if (kind == ITEM_PROMPT) describe_prompt(b, d, c);
  else describe_resource(b, d, c, &t);
  read_tags(b, d, &t);
  str *tags = ARENA_ARRAY(a, str, t.count + 1);
  for (size_t i = 0; i < t.count; i++) tags[i] = arena_str(a, t.list[i]);
  c->tags = tags;
  c->tag_count = t.count;
}

// Adds a note about tags of the item that did not fit on its card.
static void note_dropped_tags(struct directory_builder *b, const struct item *item, const struct card_source *c) {
  enum { REASON_BYTES = 1024 };
  struct card card;
  struct fault f;
  struct buf dropped;
  if (c->tag_count < 2) return;
  buf_init(&dropped, REASON_BYTES);
  if (card_make(c, &b->scratch, &card, &dropped, &f) && dropped.n)
    note(b, item->name,
         arena_printf(&b->scratch, "its card has no space for these tags: %.*s", STR_ARG(buf_view(&dropped))),
         NOTE_REMARK);
  buf_done(&dropped);
}

// Adds a note if a schema of a tool is invalid or too large. With such an inputSchema, calls of the tool fail. Such an
// outputSchema is ignored. The compiled schema is not kept: it is compiled again when it is first used.
static void check_schema(struct directory_builder *b, const struct item *item, const struct json *d,
                         const char *member) {
  const struct json *source = json_get(d, str_of(member));
  struct fault f;
  bool says = source && source->type != JSON_NULL;
  struct schema *s = says ? schema_compile(source, b->schemas, &f) : NULL;
  bool sound = !says || s;
  schema_free(&s);
  if (sound) return;
  const char *where = f.path[0] ? " at " : "";
  bool ignored = str_eq(str_of(member), STR("outputSchema"));
  note(b, item->name,
       arena_printf(&b->scratch, "its %s cannot be used%s%s%s: %s", member, ignored ? " and is ignored" : "", where,
                    f.path, f.message),
       ignored ? NOTE_REMARK : NOTE_UNSOUND);
}

// Returns whether the name part of the id is the tool's unchanged name, or the rest of a name of the form
// "namespace.name".
static bool is_plain(str raw, const struct tool_id_parts *parts) {
  str ns = parts->namespace;
  bool dotted = raw.n == ns.n + 1 + parts->name.n && str_starts(raw, ns) && raw.p[ns.n] == '.';
  return str_eq(dotted ? str_from(raw, ns.n + 1) : raw, parts->name);
}

static void add(struct directory_builder *b, struct part_kind_index *kind_index, const struct item *item, uint32_t at) {
  struct arena *a = &b->part->arena;
  struct identity who;
  struct fault f;
  const struct json *d = read_definition(b, item);
  fault_set(&f, FAULT_INVALID, "the definition is not valid JSON");
  if (!d || !identify(b, item->kind, d, &b->scratch, &who, &f)) {
    note(b, item->name, str_of(f.message), NOTE_SKIPPED);
    return;
  }
  if (who.note.n) note(b, item->name, who.note, NOTE_REMARK);
  struct entry *e = &kind_index->entries[kind_index->count];
  *e = (struct entry){.leaf = arena_str(a, who.parts.name)};
  e->card.id = arena_str(a, who.id);
  e->card.namespace = arena_str(a, who.parts.namespace);
  e->card.name = arena_str(a, utf8_cut(item->name, KEPT_NAME));
  describe(b, item->kind, d, &e->card);
  note_dropped_tags(b, item, &e->card);
  if (item->kind == ITEM_TOOL) {
    e->safe = arena_str(
        a, names_of_id(&b->scratch, e->card.namespace, e->leaf, e->card.id, is_plain(item->name, &who.parts), 0));
    check_schema(b, item, d, "inputSchema");
    check_schema(b, item, d, "outputSchema");
  }
  kind_index->origins[kind_index->count] = (struct part_origin){item->kind, at};
  struct search_doc *doc = &b->docs[kind_index->count++];
  *doc = (struct search_doc){0};
  search_doc_from_tool(d, &b->texts, doc);
  doc->id = e->card.id;
  // The slices point into the definition in the scratch arena: copy them.
  for (int i = 0; i < SEARCH_FIELDS; i++) doc->fields[i] = arena_str(&b->texts, doc->fields[i]);
}

// ---- a kind index

enum directory_kind directory_kind_of(enum item_kind kind) {
  switch (kind) {
  case ITEM_TOOL: return DIRECTORY_TOOLS;
  case ITEM_PROMPT: return DIRECTORY_PROMPTS;
  case ITEM_RESOURCE:
  case ITEM_TEMPLATE: break;
  }
  return DIRECTORY_RESOURCES;
}

static void fill(struct directory_builder *b, enum directory_kind which, const struct hash_key *seed) {
  struct part_kind_index *kind_index = &b->part->kind_indexes[which];
  size_t most = 0;
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    if (directory_kind_of((enum item_kind)kind) == which) most += b->source->count[kind];
  kind_index->entries = ARENA_ARRAY(&b->part->arena, struct entry, most + 1);
  kind_index->origins = ARENA_ARRAY(&b->part->arena, struct part_origin, most + 1);
  b->docs = ARENA_ARRAY(&b->texts, struct search_doc, most + 1);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (directory_kind_of((enum item_kind)kind) != which) continue;
    for (size_t i = 0; i < b->source->count[kind]; i++) {
      add(b, kind_index, &b->catalog->items[kind][b->source->first[kind] + i], (uint32_t)i);
      arena_reset(&b->scratch);
    }
  }
  struct search_source source = {b->source->server, b->source->instructions, b->docs, kind_index->count};
  kind_index->search = search_part_new(&source, seed);
  arena_reset(&b->texts);
}

struct directory_part *directory_part_new(const struct catalog *c, size_t source, str namespace,
                                          const struct directory_options *opt) {
  struct directory_part *p = MEM_NEW(struct directory_part);
  const struct catalog_part *from = &c->parts[source];
  p->refs = 1;
  p->version = from->version;
  arena_init(&p->arena);
  p->server = arena_str(&p->arena, from->server);
  p->namespace = arena_str(&p->arena, namespace);
  struct directory_builder b = {.catalog = c, .source = from, .part = p, .schemas = opt->schemas};
  arena_init(&b.scratch);
  arena_init(&b.texts);
  for (size_t i = 0; i < from->twice_count; i++) {
    note(&b, from->twice[i], STR("its server lists this name more than once: only the first definition is used"),
         NOTE_SKIPPED);
    arena_reset(&b.scratch);
  }
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) fill(&b, (enum directory_kind)kind, opt->seed);
  arena_done(&b.texts);
  arena_done(&b.scratch);
  return p;
}

struct directory_part *directory_part_ref(struct directory_part *p) {
  p->refs++;
  return p;
}

void directory_part_unref(struct directory_part **part) {
  struct directory_part *p = *part;
  *part = NULL;
  if (!p || --p->refs) return;
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) search_part_unref(&p->kind_indexes[kind].search);
  arena_done(&p->arena);
  mem_free(p);
}

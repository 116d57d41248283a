// SPDX-License-Identifier: Apache-2.0
#include "text/search/search_doc.h"

#include "base/buf.h"
#include "base/text/utf8.h"
#include "text/search/words.h"

enum { DEEPEST = 6 };

struct doc_collector {
  struct arena *arena;
  struct buf names, texts;
};

// Adds a line to the text, or as much of it as fits.
static void add_line(struct buf *out, str s) {
  if (!s.n || out->max - out->n < 2) return;
  buf_str(out, utf8_cut(s, out->max - out->n - 1));
  buf_char(out, '\n');
}

static str string_of(struct doc_collector *c, const struct json *v) {
  str s = STR_NONE;
  json_string(v, c->arena, &s);
  return s;
}

static void collect_schema(struct doc_collector *c, const struct json *schema, int depth);

static void collect_each(struct doc_collector *c, const struct json *schemas, int depth) {
  if (!json_is(schemas, JSON_ARRAY)) return;
  JSON_EACH(s, schemas) collect_schema(c, s, depth);
}

static void collect_schema(struct doc_collector *c, const struct json *schema, int depth) {
  if (depth > DEEPEST || !json_is(schema, JSON_OBJECT)) return;
  const struct json *values = json_get(schema, STR("enum")), *properties = json_get(schema, STR("properties"));
  if (json_is(values, JSON_ARRAY))
    JSON_EACH(v, values) add_line(&c->texts, string_of(c, v));
  add_line(&c->texts, string_of(c, json_get(schema, STR("const"))));
  if (json_is(properties, JSON_OBJECT))
    JSON_EACH(p, properties) {
      add_line(&c->names, json_key(p, c->arena));
      add_line(&c->texts, string_of(c, json_get(p, STR("description"))));
      collect_schema(c, p, depth + 1);
    }
  collect_schema(c, json_get(schema, STR("items")), depth + 1);
  collect_each(c, json_get(schema, STR("anyOf")), depth + 1);
  collect_each(c, json_get(schema, STR("oneOf")), depth + 1);
  collect_each(c, json_get(schema, STR("allOf")), depth + 1);
}

static str tags_of(struct doc_collector *c, const struct json *tags) {
  struct buf out;
  buf_init(&out, SEARCH_MOST_NAME_BYTES);
  if (json_is(tags, JSON_ARRAY))
    JSON_EACH(t, tags) add_line(&out, string_of(c, t));
  str s = arena_str(c->arena, buf_view(&out));
  buf_done(&out);
  return s;
}

void search_doc_from_tool(const struct json *tool, struct arena *a, struct search_doc *out) {
  struct doc_collector c = {.arena = a};
  buf_init(&c.names, SEARCH_MOST_TEXT_BYTES);
  buf_init(&c.texts, SEARCH_MOST_TEXT_BYTES);
  collect_schema(&c, json_get(tool, STR("inputSchema")), 0);
  const struct json *title = json_get(tool, STR("title"));
  if (!title) title = json_get(json_get(tool, STR("annotations")), STR("title"));
  out->fields[SEARCH_NAME] = string_of(&c, json_get(tool, STR("name")));
  out->fields[SEARCH_TITLE] = string_of(&c, title);
  out->fields[SEARCH_DESCRIPTION] = string_of(&c, json_get(tool, STR("description")));
  out->fields[SEARCH_PARAMS] = arena_str(a, buf_view(&c.names));
  out->fields[SEARCH_PARAM_TEXTS] = arena_str(a, buf_view(&c.texts));
  if (!json_double(json_get(json_get(tool, STR("annotations")), STR("costHint")), &out->cost) || !(out->cost > 0))
    out->cost = 0;
  out->fields[SEARCH_TAGS] = tags_of(&c, json_get(tool, STR("tags")));
  buf_done(&c.names);
  buf_done(&c.texts);
}

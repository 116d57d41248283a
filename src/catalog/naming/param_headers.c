// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/param_headers.h"

#include "base/ascii.h"

enum { PARAM_HEADER_DEEPEST = 64, PARAM_HEADER_MOST = 256 };

#define ANNOTATION STR("x-mcp-header")

// A walk over all places of a schema where "x-mcp-header" could be, including places where it is not allowed.
struct walk {
  struct arena *arena;
  str path[PARAM_HEADER_DEEPEST];
  size_t depth;  // number of keys on the path to the current property; may exceed the size of `path`
  struct param_header found[PARAM_HEADER_MOST];
  size_t count;
  const char *why;
};

static bool refuse(struct walk *w, const char *why) {
  w->why = why;
  return false;
}

// ---- one declaration

static bool is_known(const struct walk *w, str name) {
  for (size_t i = 0; i < w->count; i++)
    if (str_eq_nocase(w->found[i].name, name)) return true;
  return false;
}

// Stores a copy of the header name and of its path, because the definition may be freed.
static void keep(struct walk *w, str name) {
  struct param_header m = {arena_str(w->arena, name), ARENA_ARRAY(w->arena, str, w->depth), w->depth};
  for (size_t i = 0; i < w->depth; i++) m.path[i] = arena_str(w->arena, w->path[i]);
  w->found[w->count++] = m;
}

static bool declare(struct walk *w, const struct json *schema, const struct json *annotation, bool reachable) {
  if (!reachable || w->depth == 0)
    return refuse(w, "x-mcp-header is allowed only under \"properties\", not in arrays or other subschemas");
  str name;
  if (!json_string(annotation, w->arena, &name) || !ascii_is_token(name))
    return refuse(w, "the value of x-mcp-header must be text that is valid in a header name");
  const struct json *type = json_get(schema, STR("type"));
  if (!json_equals_str(type, STR("string")) && !json_equals_str(type, STR("integer")) &&
      !json_equals_str(type, STR("boolean")))
    return refuse(w, "a property with x-mcp-header must have type string, integer or boolean");
  if (is_known(w, name)) return refuse(w, "the same x-mcp-header is declared twice");
  if (w->depth > PARAM_HEADER_DEEPEST) return refuse(w, "a property with x-mcp-header is more than 64 levels deep");
  if (w->count == PARAM_HEADER_MOST) return refuse(w, "more than 256 properties have x-mcp-header");
  keep(w, name);
  return true;
}

// ---- the walk

static bool visit(struct walk *w, const struct json *schema, bool reachable);

static bool visit_properties(struct walk *w, const struct json *properties, bool reachable) {
  if (properties->type != JSON_OBJECT) return true;
  JSON_EACH(p, properties) {
    if (w->depth < PARAM_HEADER_DEEPEST) w->path[w->depth] = json_key(p, w->arena);
    w->depth++;
    bool good = visit(w, p, reachable);
    w->depth--;
    if (!good) return false;
  }
  return true;
}

// How a member of a schema contains other schemas: not at all; directly or in an array; by name in an object.
enum holds { NO_SCHEMA, ONE_OR_SOME, BY_NAME };

static enum holds holds_schemas(const struct json *member) {
  static const str some[] = {STR("items"),         STR("prefixItems"),
                             STR("contains"),      STR("additionalProperties"),
                             STR("propertyNames"), STR("unevaluatedProperties"),
                             STR("oneOf"),         STR("unevaluatedItems"),
                             STR("anyOf"),         STR("allOf"),
                             STR("not"),           STR("if"),
                             STR("then"),          STR("else")};
  static const str by_name[] = {STR("patternProperties"), STR("dependentSchemas"), STR("$defs"), STR("definitions")};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (json_key_is(member, some[i])) return ONE_OR_SOME;
  for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
    if (json_key_is(member, by_name[i])) return BY_NAME;
  return NO_SCHEMA;
}

static bool visit_unreachable(struct walk *w, const struct json *member) {
  enum holds holds = holds_schemas(member);
  if (holds == NO_SCHEMA) return true;
  if (holds == ONE_OR_SOME && member->type == JSON_OBJECT) return visit(w, member, false);
  JSON_EACH(branch, member)
    if (!visit(w, branch, false)) return false;
  return true;
}

static bool visit(struct walk *w, const struct json *schema, bool reachable) {
  if (schema->type != JSON_OBJECT) return true;
  const struct json *annotation = json_get(schema, ANNOTATION);
  if (annotation && !declare(w, schema, annotation, reachable)) return false;
  JSON_EACH(m, schema) {
    bool properties = json_key_is(m, STR("properties"));
    if (!(properties ? visit_properties(w, m, reachable) : visit_unreachable(w, m))) return false;
  }
  return true;
}

static bool has_unicode_escape(str text) {
  const char *end = text.p + text.n;
  for (const char *p = text.p; (p = memchr(p, '\\', (size_t)(end - p))); p += 2)
    if (p[1] == 'u') return true;
  return false;
}

// Returns false if the schema cannot contain "x-mcp-header": neither this text nor a \u escape occurs. Most schemas
// need no walk, because the key is very rare.
static bool may_declare(const struct json *schema) {
  str text = json_span(schema);
  return memmem(text.p, text.n, "x-mcp-header", 12) || has_unicode_escape(text);
}

bool param_headers_read(const struct json *definition, struct arena *a, struct param_headers *out, const char **why) {
  const struct json *schema = json_get(definition, STR("inputSchema"));
  struct param_headers read = {0};
  if (schema && may_declare(schema)) {
    struct walk w = {.arena = a};
    if (!visit(&w, schema, true)) {
      *why = w.why;
      return false;
    }
    read = (struct param_headers){w.count ? ARENA_ARRAY(a, struct param_header, w.count) : NULL, w.count};
    if (w.count) memcpy(read.list, w.found, w.count * sizeof *w.found);
  }
  *out = read;
  return true;
}

// ---- values

const struct json *param_header_value(const struct param_header *m, const struct json *arguments) {
  const struct json *v = arguments;
  for (size_t i = 0; i < m->depth; i++) v = json_get(v, m->path[i]);
  bool held = v && v->type != JSON_NULL && v->type != JSON_ARRAY && v->type != JSON_OBJECT;
  return held ? v : NULL;
}

bool param_header_text(const struct json *value, struct arena *a, str *out) {
  const int64_t most = (INT64_C(1) << 53) - 1;  // the largest integer that every JSON reader represents exactly
  int64_t number;
  if (value->type == JSON_STRING) return json_string(value, a, out);
  if (value->type == JSON_TRUE || value->type == JSON_FALSE) {
    *out = json_span(value);
    return true;
  }
  if (!json_int(value, &number) || number > most || number < -most) return false;
  *out = arena_printf(a, "%lld", (long long)number);
  return true;
}

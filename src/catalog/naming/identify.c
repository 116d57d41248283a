// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/identify.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "json/text.h"

// Writes a list of names in ASCII, with all other characters escaped, because the hash must not depend on an encoding.
static void put_ascii_list(struct buf *out, const str *names, size_t count) {
  buf_char(out, '[');
  for (size_t i = 0; i < count; i++) {
    buf_str(out, i ? STR(",\"") : STR("\""));
    for (str rest = names[i]; rest.n;) json_text_put_ascii(out, utf8_next(&rest));
    buf_char(out, '"');
  }
  buf_char(out, ']');
}

struct names {
  str *list;
  size_t count;
};

static int by_bytes(const void *x, const void *y) {
  return str_cmp(*(const str *)x, *(const str *)y);
}

static struct names sorted(struct names n) {
  if (n.count) qsort(n.list, n.count, sizeof *n.list, by_bytes);
  return n;
}

static struct names room(const struct json *v, struct arena *a) {
  return (struct names){ARENA_ARRAY(a, str, (v ? v->count : 0) + 1), 0};
}

static struct names keys_of(const struct json *object, struct arena *a) {
  struct names n = room(object, a);
  if (json_is(object, JSON_OBJECT)) {
    JSON_EACH(member, object) n.list[n.count++] = json_key(member, a);
  }
  return sorted(n);
}

static struct names strings_of(const struct json *array, struct arena *a) {
  struct names n = room(array, a);
  if (json_is(array, JSON_ARRAY)) {
    JSON_EACH(element, array) n.count += json_string(element, a, &n.list[n.count]);
  }
  return sorted(n);
}

static struct names arguments_of(const struct json *array, struct arena *a) {
  struct names n = room(array, a);
  if (json_is(array, JSON_ARRAY)) {
    JSON_EACH(argument, array) n.count += json_string(json_get(argument, STR("name")), a, &n.list[n.count]);
  }
  return sorted(n);
}

// Returns the maximum size of the hashed text: an escape is at most six times as long as its character, and `shape->n`
// includes quotes and commas.
static size_t hashed_max(str name, const struct json *shape) {
  return name.n + 6 * (size_t)(shape ? shape->n : 0) + 64;
}

static str hash_of(struct buf *text, struct arena *a) {
  str hash8 = tool_id_hash8(a, buf_view(text));
  buf_done(text);
  return hash8;
}

str identify_hash_tool(struct arena *a, str upstream_name, const struct json *input_schema) {
  struct names properties = keys_of(json_get(input_schema, STR("properties")), a);
  struct names required = strings_of(json_get(input_schema, STR("required")), a);
  struct buf text;
  buf_init(&text, hashed_max(upstream_name, input_schema));
  buf_str(&text, upstream_name);
  buf_str(&text, STR("\n{\"properties\":"));
  put_ascii_list(&text, properties.list, properties.count);
  buf_str(&text, STR(",\"required\":"));
  put_ascii_list(&text, required.list, required.count);
  buf_char(&text, '}');
  return hash_of(&text, a);
}

str identify_hash_resource(struct arena *a, str uri) {
  struct buf text;
  buf_init(&text, hashed_max(uri, NULL));
  buf_str(&text, STR("resource\n"));
  buf_str(&text, uri);
  return hash_of(&text, a);
}

str identify_hash_prompt(struct arena *a, str upstream_name, const struct json *arguments) {
  struct names names = arguments_of(arguments, a);
  struct buf text;
  buf_init(&text, hashed_max(upstream_name, arguments));
  buf_str(&text, STR("prompt\n"));
  buf_str(&text, upstream_name);
  buf_char(&text, '\n');
  put_ascii_list(&text, names.list, names.count);
  return hash_of(&text, a);
}

static void note(struct identity *id, struct arena *a, const char *text) {
  const char *between = id->note.n ? "; " : "";
  id->note = arena_printf(a, "%.*s%s%s", STR_ARG(id->note), between, text);
}

// Returns the first characters of the namespace, so that it is recognisable, and a hash, so that it is unique.
static str hashed_namespace(struct arena *a, str namespace, str hashed) {
  size_t n = namespace.n < 16 ? namespace.n : 16;
  return arena_printf(a, "%.*s-%.*s", (int)n, namespace.p, STR_ARG(tool_id_hash8(a, hashed)));
}

// Minimum length of a name that is cut to make an id fit.
enum { SHORTEST_NAME = 8 };

// Returns whether ids in this namespace can fit: tests the longest id whose name is cut to SHORTEST_NAME characters.
static bool leaves_room(struct arena *a, str namespace, bool (*fits)(str id)) {
  return !fits || fits(arena_printf(a, "resource::%.*s:a1b2c3d4#a1b2c3d4", STR_ARG(namespace)));
}

static str settle_namespace(struct arena *a, str text, bool (*fits)(str id)) {
  str namespace = tool_id_is_namespace(text) ? text : tool_id_fit_namespace(a, text);
  return leaves_room(a, namespace, fits) ? namespace : hashed_namespace(a, namespace, text);
}

// Sets the namespace of an id. Returns whether the namespace was changed to fit the grammar. If so, another namespace
// may have the same changed form.
static bool choose_namespace(const struct identify_rules *rules, str inferred, struct arena *a, struct identity *id) {
  id->parts.namespace = rules->namespace.n ? rules->namespace : settle_namespace(a, inferred, rules->fits);
  bool changed = !rules->namespace.n && !str_eq(id->parts.namespace, inferred);
  if (changed) note(id, a, "the namespace was changed to fit the grammar of ids");
  return changed;
}

static bool choose_name(str wanted, str fitted, struct arena *a, struct identity *id) {
  id->parts.name = fitted;
  bool changed = !str_eq(wanted, fitted);
  if (changed) note(id, a, "the name was changed to fit the grammar of ids");
  return changed;
}

// Returns the version that the definition declares, or STR_NONE if it declares no version that an id can contain. ""
// and 0 do not count as versions.
static str choose_version(const struct json *definition, struct arena *a, struct identity *id) {
  const struct json *declared = json_get(json_get(definition, STR("_meta")), STR("version"));
  str version = STR_NONE;
  double number = 1;
  if (json_is(declared, JSON_NUMBER) && (!json_double(declared, &number) || number != 0)) version = json_span(declared);
  if (json_string(declared, a, &version) && !version.n) return STR_NONE;
  if (!declared || number == 0 || declared->type == JSON_NULL || declared->type == JSON_FALSE) return STR_NONE;
  if (tool_id_is_version(version)) return version;
  note(id, a, "the version does not fit the grammar of ids: a hash replaces it");
  return STR_NONE;
}

// Shortens the name until the id fits. Replaces the version by the hash, so that names with the same start get
// different ids.
static void shorten(const struct identify_rules *rules, str hash8, struct arena *a, struct identity *id) {
  struct fault f;
  id->parts.hash8 = hash8;
  id->parts.version = STR_NONE;
  for (size_t max = TOOL_ID_NAME_MAX; max >= SHORTEST_NAME && !rules->fits(id->id); max /= 2) {
    if (id->parts.name.n > max) id->parts.name.n = max;
    tool_id_format(&id->parts, a, &id->id, &f);
  }
  note(id, a, "the id was shortened");
}

static bool finish(const struct identify_rules *rules, str hash8, bool lossy, struct arena *a, struct identity *id,
                   struct fault *f) {
  id->parts.hash8 = lossy || !id->parts.version.p ? hash8 : STR_NONE;
  if (!tool_id_format(&id->parts, a, &id->id, f)) return false;
  if (rules->fits && !rules->fits(id->id)) shorten(rules, hash8, a, id);
  return true;
}

static bool required_string(const struct json *definition, str key, struct arena *a, str *out, struct fault *f) {
  if (json_string(json_get(definition, key), a, out) && out->n) return true;
  fault_set(f, FAULT_INVALID, "the definition must have \"%.*s\", a string that is not empty", STR_ARG(key));
  return false;
}

bool identify_tool(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                   struct identity *out, struct fault *f) {
  ASSERT(rules && out);
  struct identity id = {.parts.kind = TOOL_ID_TOOL};
  str raw;
  if (!required_string(definition, STR("name"), a, &raw, f)) return false;
  str name = rules->namespace.n ? raw : tool_id_infer_name(raw);
  bool lossy = choose_namespace(rules, tool_id_infer_namespace(raw), a, &id);
  lossy |= choose_name(name, tool_id_is_name(name) ? name : tool_id_fit_name(a, name), a, &id);
  id.parts.version = choose_version(definition, a, &id);
  str hash8 = identify_hash_tool(a, raw, json_get(definition, STR("inputSchema")));
  if (!finish(rules, hash8, lossy, a, &id, f)) return false;
  *out = id;
  return true;
}

static str scheme_of(str uri) {
  const char *at = memmem(uri.p, uri.n, "://", 3);
  if (!at) at = memchr(uri.p, ':', uri.n);
  return at ? (str){uri.p, (size_t)(at - uri.p)} : STR("mcp");
}

static str last_segment(str uri) {
  str s = uri;
  while (s.n && s.p[s.n - 1] == '/') s.n--;
  const char *at = s.n ? memrchr(s.p, '/', s.n) : NULL;
  if (at) s = str_from(s, (size_t)(at + 1 - s.p));
  return s.n ? s : uri;
}

bool identify_resource(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                       struct identity *out, struct fault *f) {
  struct identity id = {.parts.kind = TOOL_ID_RESOURCE};
  str uri, name = STR_NONE;
  bool is_template = json_get(definition, STR("uriTemplate"));
  if (!required_string(definition, is_template ? STR("uriTemplate") : STR("uri"), a, &uri, f)) return false;
  if (!json_string(json_get(definition, STR("name")), a, &name) || !name.n) name = last_segment(uri);
  choose_namespace(rules, scheme_of(uri), a, &id);
  id.parts.name = tool_id_fit_name(a, name);
  if (!finish(rules, identify_hash_resource(a, uri), true, a, &id, f)) return false;
  *out = id;
  return true;
}

bool identify_prompt(const struct identify_rules *rules, const struct json *definition, struct arena *a,
                     struct identity *out, struct fault *f) {
  struct identity id = {.parts.kind = TOOL_ID_PROMPT};
  str raw;
  if (!required_string(definition, STR("name"), a, &raw, f)) return false;
  choose_namespace(rules, tool_id_infer_namespace(raw), a, &id);
  id.parts.name = tool_id_fit_name(a, raw);
  str hash8 = identify_hash_prompt(a, raw, json_get(definition, STR("arguments")));
  if (!finish(rules, hash8, true, a, &id, f)) return false;
  *out = id;
  return true;
}

// Returns whether another server has a right to this namespace: the namespace is that server's name, or that name
// changed to fit the grammar.
static bool is_taken(str namespace, const str *servers, const str *fitted, size_t count, size_t self) {
  for (size_t i = 0; i < count; i++)
    if (i != self && (str_eq(servers[i], namespace) || str_eq(fitted[i], namespace))) return true;
  return false;
}

size_t identify_namespaces(const str *servers, size_t count, bool (*fits)(str id), struct arena *a, str *out) {
  ASSERT(out || !count);
  str *fitted = ARENA_ARRAY(a, str, count + 1);
  size_t hashed = 0;
  for (size_t i = 0; i < count; i++) fitted[i] = settle_namespace(a, servers[i], fits);
  for (size_t i = 0; i < count; i++) {
    str salted = servers[i];
    out[i] = fitted[i];
    if (str_eq(fitted[i], servers[i]) || !is_taken(fitted[i], servers, fitted, count, i)) continue;
    // If the namespace with a hash equals another server's name, use another hash.
    for (hashed++; is_taken(out[i], servers, fitted, count, i); salted = arena_printf(a, "%.*s.", STR_ARG(salted)))
      out[i] = hashed_namespace(a, fitted[i], salted);
  }
  return hashed;
}

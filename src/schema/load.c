// SPDX-License-Identifier: Apache-2.0
// Walks through the documents of a schema. Finds their drafts, identifiers and anchors, and resolves references.
#include "base/assert.h"
#include "schema/schema_impl.h"
#include "schema/uri.h"

// ---- drafts and vocabularies ----

static const struct {
  const char *uri;  // without "http://" or "https://"
  enum schema_draft draft;
} drafts[] = {
    {"json-schema.org/draft-04/schema", SCHEMA_DRAFT_4},
    {"json-schema.org/draft-06/schema", SCHEMA_DRAFT_6},
    {"json-schema.org/draft-07/schema", SCHEMA_DRAFT_7},
    {"json-schema.org/draft/2019-09/schema", SCHEMA_DRAFT_2019_09},
    {"json-schema.org/draft/2020-12/schema", SCHEMA_DRAFT_2020_12},
};

static const struct {
  const char *name;  // the last part of the vocabulary's URI
  unsigned vocabulary;
} vocabularies[] = {
    {"/vocab/core", VOCABULARY_CORE},
    {"/vocab/applicator", VOCABULARY_APPLICATOR},
    {"/vocab/validation", VOCABULARY_VALIDATION},
    {"/vocab/unevaluated", VOCABULARY_UNEVALUATED},
    {"/vocab/meta-data", VOCABULARY_REMARKS},
    {"/vocab/content", VOCABULARY_REMARKS},
    {"/vocab/format", VOCABULARY_FORMAT},
    {"/vocab/format-annotation", VOCABULARY_FORMAT},
    {"/vocab/format-assertion", VOCABULARY_FORMAT | VOCABULARY_FORMAT_ASSERTED},
};

struct dialect {
  enum schema_draft draft;
  unsigned vocabularies;
  bool declared;  // whether "$schema" named the draft
};

static bool find_draft(str uri, enum schema_draft *out) {
  str fragment, path = uri_without_fragment(uri, &fragment);
  path = str_from(path, str_starts(path, STR("https://")) ? 8 : str_starts(path, STR("http://")) ? 7 : 0);
  for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++) {
    if (!str_eq(path, str_of(drafts[i].uri))) continue;
    *out = drafts[i].draft;
    return true;
  }
  return false;
}

static unsigned find_vocabulary(str uri) {
  if (!str_starts(uri, STR("https://json-schema.org/draft/20"))) return 0;
  for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
    if (str_ends(uri, str_of(vocabularies[i].name))) return vocabularies[i].vocabulary;
  return 0;
}

static const struct json *find_document(const struct schema_options *o, str uri) {
  str fragment, path = uri_without_fragment(uri, &fragment);
  for (size_t i = 0; i < o->document_count; i++)
    if (str_eq(o->documents[i].uri, path)) return o->documents[i].root;
  return NULL;
}

// Reads the vocabularies of a custom meta-schema.
static bool read_vocabularies(struct schema_compiler *c, const struct schema_resource *r, const struct json *at,
                              const struct json *listed, unsigned *out) {
  unsigned all = VOCABULARY_CORE;
  JSON_EACH(m, listed) {
    str uri = json_key(m, c->arena);
    unsigned v = find_vocabulary(uri);
    if (!v && m->type == JSON_TRUE)
      return schema_fail(c, r, at, FAULT_INVALID, "the schema requires the unsupported vocabulary %.*s", STR_ARG(uri));
    all |= v;
    // In draft 2019-09, the applicator vocabulary includes the "unevaluated…" keywords.
    if (v == VOCABULARY_APPLICATOR && str_starts(uri, STR("https://json-schema.org/draft/2019-09/")))
      all |= VOCABULARY_UNEVALUATED;
  }
  *out = all;
  return true;
}

// Reads the draft and vocabularies that "$schema" names. Leaves *out unchanged if "$schema" is missing or names nothing
// known.
static bool read_dialect(struct schema_compiler *c, const struct schema_resource *r, const struct json *schema,
                         struct dialect *out) {
  const struct json *named = json_get(schema, STR("$schema"));
  str uri;
  if (!named) return true;
  if (!json_string(named, c->arena, &uri)) return schema_fail(c, r, named, FAULT_INVALID, "$schema must be a string");
  if (find_draft(uri, &out->draft)) {
    out->vocabularies = VOCABULARY_USUAL;
    out->declared = true;
    return true;
  }
  const struct json *meta = find_document(&c->schema->options, uri), *listed = json_get(meta, STR("$vocabulary"));
  str parent;
  if (!meta) return true;
  if (json_string(json_get(meta, STR("$schema")), c->arena, &parent)) find_draft(parent, &out->draft);
  return !json_is(listed, JSON_OBJECT) || read_vocabularies(c, r, named, listed, &out->vocabularies);
}

// ---- nodes, resources and anchors ----

static bool walk(struct schema_compiler *c, const struct json *v, struct schema_resource *r);

struct schema_node *schema_node_of(struct schema_compiler *c, const struct json *source) {
  return map_find(&c->nodes, (str){(const char *)&source, sizeof source});
}

static struct schema_node *add_node(struct schema_compiler *c, const struct json *v, struct schema_resource *r) {
  ASSERT(v && r && !schema_node_of(c, v));
  struct schema_node *n = ARENA_NEW(c->arena, struct schema_node);
  n->source = v;
  n->resource = r;
  n->types = TYPES_ALL;
  map_add(&c->nodes, (str){(const char *)&n->source, sizeof n->source}, n);
  *c->last = n;
  c->last = &n->next;
  return n;
}

static struct schema_resource *add_resource(struct schema_compiler *c, str uri, const struct json *root,
                                            const struct schema_resource *outer) {
  struct schema_resource *r = ARENA_NEW(c->arena, struct schema_resource);
  if (outer) *r = *outer;
  r->uri = uri;
  r->root = root;
  r->anchors = NULL;
  return r;
}

static void set_dialect(struct schema_resource *r, const struct dialect *d) {
  r->draft = d->draft;
  r->vocabularies = d->vocabularies;
  r->declared = d->declared;
}

static bool add_anchor(struct schema_compiler *c, struct schema_resource *r, struct schema_node *n, str name,
                       bool dynamic) {
  for (const struct schema_anchor *a = r->anchors; a; a = a->next)
    if (str_eq(a->name, name) && a->node != n)
      return schema_fail(c, r, n->source, FAULT_INVALID, "duplicate anchor \"%.*s\"", STR_ARG(name));
  struct schema_anchor *a = ARENA_NEW(c->arena, struct schema_anchor);
  *a = (struct schema_anchor){.next = r->anchors, .name = name, .node = n, .dynamic = dynamic};
  r->anchors = a;
  return true;
}

// ---- identifiers ----

// Returns whether only the "$ref" of a schema counts: drafts up to 7 ignore all keywords next to a "$ref".
static bool only_ref(const struct json *v, enum schema_draft draft) {
  return draft <= SCHEMA_DRAFT_7 && json_is(json_get(v, STR("$ref")), JSON_STRING);
}

static const struct json *id_of(const struct json *v, enum schema_draft draft) {
  if (only_ref(v, draft)) return NULL;
  return json_get(v, draft == SCHEMA_DRAFT_4 ? STR("id") : STR("$id"));
}

// Enters the resource that starts at a schema with an identifier. Before the call, *r is the enclosing resource;
// afterwards, *r is the resource that was entered.
static bool enter_resource(struct schema_compiler *c, const struct json *v, str uri, struct schema_resource **r) {
  str absolute = uri_resolve(c->arena, (*r)->uri, uri);
  struct dialect dialect = {(*r)->draft, (*r)->vocabularies, (*r)->declared};
  if (!read_dialect(c, *r, v, &dialect)) return false;
  if (v == (*r)->root) (*r)->uri = absolute;
  else *r = add_resource(c, absolute, v, *r);
  set_dialect(*r, &dialect);
  struct schema_resource *known = map_find(&c->resources, absolute);
  if (known && known != *r)
    return schema_fail(c, *r, v, FAULT_INVALID, "duplicate identifier \"%.*s\"", STR_ARG(absolute));
  if (!known) map_add(&c->resources, absolute, *r);
  return true;
}

static bool enter(struct schema_compiler *c, const struct json *v, struct schema_resource **r, str *out_anchor) {
  const struct json *id = id_of(v, (*r)->draft);
  // An embedded schema may declare another draft with "$schema". The keyword for the identifier may then be different,
  // too.
  if (!id && v != (*r)->root && json_get(v, STR("$schema"))) id = id_of(v, SCHEMA_DRAFT_2020_12);
  str text, fragment;
  if (!id) return true;
  if (!json_string(id, c->arena, &text))
    return schema_fail(c, *r, id, FAULT_INVALID, "the schema identifier must be a string");
  str uri = uri_without_fragment(text, &fragment);
  if (fragment.n && (*r)->draft >= SCHEMA_DRAFT_2019_09)
    return schema_fail(c, *r, id, FAULT_INVALID, "$id must not have a fragment; use $anchor");
  if (fragment.n && fragment.p[0] != '/') *out_anchor = fragment;
  return !uri.n || enter_resource(c, v, uri, r);
}

static bool add_named_anchor(struct schema_compiler *c, struct schema_resource *r, struct schema_node *n, str keyword,
                             bool dynamic) {
  const struct json *m = json_get(n->source, keyword);
  str name;
  if (!m) return true;
  if (!json_string(m, c->arena, &name) || !name.n)
    return schema_fail(c, r, m, FAULT_INVALID, "%.*s must be a non-empty string", STR_ARG(keyword));
  return add_anchor(c, r, n, name, dynamic);
}

static bool add_anchors(struct schema_compiler *c, struct schema_resource *r, struct schema_node *n, str in_id) {
  if (in_id.n && !add_anchor(c, r, n, in_id, false)) return false;
  if (r->draft < SCHEMA_DRAFT_2019_09) return true;
  if (r->draft == SCHEMA_DRAFT_2019_09 && n->source == r->root &&
      json_is(json_get(n->source, STR("$recursiveAnchor")), JSON_TRUE))
    add_anchor(c, r, n, STR(""), true);
  if (r->draft >= SCHEMA_DRAFT_2020_12 && !add_named_anchor(c, r, n, STR("$dynamicAnchor"), true)) return false;
  return add_named_anchor(c, r, n, STR("$anchor"), false);
}

// ---- the walk over a document ----

static bool walk_each(struct schema_compiler *c, const struct json *container, struct schema_resource *r) {
  JSON_EACH(child, container)
    if (!walk(c, child, r)) return false;
  return true;
}

// Walks through the schemas in the value of a keyword. Ignores a value of the wrong type, because the compilation of
// the keyword reports this error.
static bool walk_keyword(struct schema_compiler *c, const struct json *m, struct schema_resource *r) {
  const struct schema_keyword *k = schema_keyword_find(r, m);
  enum schema_children children = k ? k->children : CHILD_NONE;
  if (children == CHILD_ITEMS) children = m->type == JSON_ARRAY ? CHILD_LIST : CHILD_SCHEMA;
  switch (children) {
  case CHILD_SCHEMA: return walk(c, m, r);
  case CHILD_LIST: return m->type != JSON_ARRAY || walk_each(c, m, r);
  case CHILD_MAP: return m->type != JSON_OBJECT || walk_each(c, m, r);
  case CHILD_DEPENDENCIES:
    if (m->type != JSON_OBJECT) return true;
    JSON_EACH(child, m)
      if (child->type != JSON_ARRAY && !walk(c, child, r)) return false;
    return true;
  default: return true;
  }
}

static bool walk(struct schema_compiler *c, const struct json *v, struct schema_resource *r) {
  if (schema_node_of(c, v)) return true;
  bool boolean = v->type == JSON_TRUE || v->type == JSON_FALSE;
  if (boolean && (r->draft >= SCHEMA_DRAFT_6 || json_key_is(v, STR("additionalItems")) ||
                  json_key_is(v, STR("additionalProperties")))) {
    add_node(c, v, r);
    return true;
  }
  if (v->type != JSON_OBJECT)
    return schema_fail(c, r, v, FAULT_INVALID, "a schema must be an object%s",
                       r->draft >= SCHEMA_DRAFT_6 ? " or a boolean" : "");
  str anchor = STR_NONE;
  if (!enter(c, v, &r, &anchor)) return false;
  struct schema_node *n = add_node(c, v, r);
  if (!add_anchors(c, r, n, anchor)) return false;
  bool ignored = only_ref(v, r->draft);
  JSON_EACH(m, v) {
    if (ignored && !json_key_is(m, STR("definitions"))) continue;
    if (!walk_keyword(c, m, r)) return false;
  }
  return true;
}

const struct schema_node *schema_load(struct schema_compiler *c, str uri, const struct json *root) {
  uri = arena_str(c->arena, uri);
  struct schema_resource *r = add_resource(c, uri, root, NULL);
  r->document = root;
  r->document_uri = uri;
  struct dialect dialect = {c->schema->options.draft, VOCABULARY_USUAL, false};
  if (!read_dialect(c, r, root, &dialect)) return NULL;
  set_dialect(r, &dialect);
  bool added = map_add(&c->resources, uri, r);
  ASSERT(added);  // a document is loaded only once
  return walk(c, root, r) ? schema_node_of(c, root) : NULL;
}

// ---- references ----

static bool load_document(struct schema_compiler *c, str uri) {
  const struct schema_options *o = &c->schema->options;
  for (size_t i = 0; i < o->document_count; i++)
    if (str_eq(o->documents[i].uri, uri)) return schema_load(c, o->documents[i].uri, o->documents[i].root);
  for (size_t i = 0; i < schema_meta_count; i++) {
    if (!str_eq(str_of(schema_metas[i].uri), uri)) continue;
    const struct json *root = json_parse(c->arena, str_of(schema_metas[i].text), &json_default_limits, c->fault);
    return root && schema_load(c, str_of(schema_metas[i].uri), root);
  }
  return false;
}

static struct schema_resource *find_resource(struct schema_compiler *c, const struct schema_node *from,
                                             const struct json *at, str uri) {
  struct schema_resource *r = map_find(&c->resources, uri);
  if (r) return r;
  c->fault->code = FAULT_NONE;
  if (load_document(c, uri)) {
    r = map_find(&c->resources, uri);
    ASSERT(r);
    return r;
  }
  if (c->fault->code == FAULT_NONE)
    schema_fail(c, from->resource, at, FAULT_NOT_FOUND,
                "the schema refers to the unknown document \"%.*s\"; documents are never fetched", STR_ARG(uri));
  return NULL;
}

// Replaces "~1" by "/" and "~0" by "~".
static str unescape_token(struct arena *a, str token) {
  if (!token.n || !memchr(token.p, '~', token.n)) return token;
  char *out = arena_alloc(a, token.n);
  size_t n = 0;
  for (size_t i = 0; i < token.n; i++) {
    char next = i + 1 < token.n ? token.p[i + 1] : 0;
    bool escape = token.p[i] == '~' && (next == '0' || next == '1');
    out[n++] = !escape ? token.p[i] : next == '1' ? '/' : '~';
    i += escape;
  }
  ASSERT(n <= token.n);
  return (str){out, n};
}

static const struct json *step(const struct json *v, str token) {
  uint64_t index;
  if (v->type == JSON_OBJECT) return json_get(v, token);
  if (token.n > 1 && token.p[0] == '0') return NULL;
  return str_to_u64(token, &index) ? json_at(v, index) : NULL;
}

// Returns the schema at a JSON Pointer, even if the walk through the document has not reached this schema. The schema
// belongs to the resource of the last schema on the path to it.
static const struct schema_node *find_pointer(struct schema_compiler *c, struct schema_resource *r, str pointer) {
  const struct json *v = r->root;
  while (v && pointer.n) {
    ASSERT(pointer.p[0] == '/');
    str rest = str_from(pointer, 1), token, tail;
    str_cut(rest, '/', &token, &tail);
    pointer = str_from(rest, token.n);
    const struct schema_node *n = schema_node_of(c, v);
    if (n) r = (struct schema_resource *)n->resource;
    v = step(v, unescape_token(c->arena, token));
  }
  return v && walk(c, v, r) ? schema_node_of(c, v) : NULL;
}

static const struct schema_node *find_fragment(struct schema_compiler *c, struct schema_resource *r, str fragment,
                                               const struct schema_anchor **out_anchor) {
  if (!fragment.n) return schema_node_of(c, r->root);
  if (fragment.p[0] == '/') return find_pointer(c, r, fragment);
  // If a plain anchor and a dynamic anchor have the same name, the dynamic anchor counts.
  const struct schema_anchor *found = NULL;
  for (const struct schema_anchor *a = r->anchors; a; a = a->next)
    if (a->name.n && str_eq(a->name, fragment) && (!found || a->dynamic)) found = a;
  *out_anchor = found;
  return found ? found->node : NULL;
}

const struct schema_node *schema_resolve(struct schema_compiler *c, const struct schema_node *from,
                                         const struct json *reference, const struct schema_anchor **out_anchor) {
  str text, fragment, decoded;
  *out_anchor = NULL;
  if (!json_string(reference, c->arena, &text)) {
    schema_fail(c, from->resource, reference, FAULT_INVALID, "a reference such as $ref must be a string");
    return NULL;
  }
  str uri = uri_resolve(c->arena, from->resource->uri, uri_without_fragment(text, &fragment));
  struct schema_resource *r = find_resource(c, from, reference, uri);
  if (!r) return NULL;
  c->fault->code = FAULT_NONE;
  const struct schema_node *n = NULL;
  if (uri_decode(c->arena, fragment, &decoded)) n = find_fragment(c, r, decoded, out_anchor);
  ASSERT(!n || n->source);
  if (!n && c->fault->code == FAULT_NONE)
    schema_fail(c, from->resource, reference, FAULT_NOT_FOUND, "the reference \"%.*s\" does not point to a schema",
                STR_ARG(text));
  return n;
}

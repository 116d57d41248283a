// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "schema/schema_impl.h"
#include "schema/uri.h"

static bool walk(struct schema_compiler *c, const struct json *v, struct schema_resource *r);

struct schema_node *schema_node_of(struct schema_compiler *c, const struct json *source) {
  return map_find(&c->nodes, (str){(const char *)&source, sizeof source});
}

static struct schema_node *add_node(struct schema_compiler *c, const struct json *v, struct schema_resource *r) {
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

static void set_dialect(struct schema_resource *r, const struct schema_dialect *d) {
  r->draft = d->draft;
  r->vocabularies = d->vocabularies;
  r->declared = d->declared;
}

static bool add_anchor(struct schema_compiler *c, struct schema_resource *r, struct schema_node *n, str name,
                       bool dynamic) {
  for (const struct schema_anchor *a = r->anchors; a; a = a->next)
    if (str_eq(a->name, name) && a->node != n)
      return schema_fail(c, r, n->source, FAULT_INVALID, "the anchor \"%.*s\" is there twice", STR_ARG(name));
  struct schema_anchor *a = ARENA_NEW(c->arena, struct schema_anchor);
  *a = (struct schema_anchor){.next = r->anchors, .name = name, .node = n, .dynamic = dynamic};
  r->anchors = a;
  return true;
}

// ---- identifiers ----

// Until draft 7 nothing beside "$ref" counts.
static bool only_ref(const struct json *v, enum schema_draft draft) {
  return draft <= SCHEMA_DRAFT_7 && json_is(json_get(v, STR("$ref")), JSON_STRING);
}

static const struct json *id_of(const struct json *v, enum schema_draft draft) {
  if (only_ref(v, draft)) return NULL;
  return json_get(v, draft == SCHEMA_DRAFT_4 ? STR("id") : STR("$id"));
}

// The resource that a schema with an identifier begins; *r is the one it lies in.
static bool enter_resource(struct schema_compiler *c, const struct json *v, str uri, struct schema_resource **r) {
  str absolute = uri_resolve(c->arena, (*r)->uri, uri);
  struct schema_dialect dialect = {(*r)->draft, (*r)->vocabularies, (*r)->declared};
  if (!schema_dialect(c, *r, v, &dialect)) return false;
  if (v == (*r)->root) (*r)->uri = absolute;
  else *r = add_resource(c, absolute, v, *r);
  set_dialect(*r, &dialect);
  struct schema_resource *known = map_find(&c->resources, absolute);
  if (known && known != *r)
    return schema_fail(c, *r, v, FAULT_INVALID, "the identifier \"%.*s\" is there twice", STR_ARG(absolute));
  if (!known) map_add(&c->resources, absolute, *r);
  return true;
}

static bool enter(struct schema_compiler *c, const struct json *v, struct schema_resource **r, str *out_anchor) {
  const struct json *id = id_of(v, (*r)->draft);
  // A schema of another draft within this one says so, and may name itself by the other keyword.
  if (!id && v != (*r)->root && json_get(v, STR("$schema"))) id = id_of(v, SCHEMA_DRAFT_2020_12);
  str text, fragment;
  if (!id) return true;
  if (!json_string(id, c->arena, &text)) return schema_fail(c, *r, id, FAULT_INVALID, "an identifier must be a string");
  str uri = uri_without_fragment(text, &fragment);
  if (fragment.n && (*r)->draft >= SCHEMA_DRAFT_2019_09)
    return schema_fail(c, *r, id, FAULT_INVALID, "$id has a fragment: take $anchor");
  if (fragment.n && fragment.p[0] != '/') *out_anchor = fragment;
  return !uri.n || enter_resource(c, v, uri, r);
}

static bool add_named_anchor(struct schema_compiler *c, struct schema_resource *r, struct schema_node *n, str keyword,
                             bool dynamic) {
  const struct json *m = json_get(n->source, keyword);
  str name;
  if (!m) return true;
  if (!json_string(m, c->arena, &name) || !name.n)
    return schema_fail(c, r, m, FAULT_INVALID, "%.*s must be a name", STR_ARG(keyword));
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

static bool walk_dependencies(struct schema_compiler *c, const struct json *object, struct schema_resource *r) {
  JSON_EACH(child, object)
    if (child->type != JSON_ARRAY && !walk(c, child, r)) return false;
  return true;
}

// Values of the wrong shape are left to the compilation of the keyword, which says what it wants.
static bool walk_keyword(struct schema_compiler *c, const struct json *m, struct schema_resource *r) {
  const struct schema_keyword *k = schema_keyword_find(r, m);
  enum schema_children children = k ? k->children : CHILD_NONE;
  if (children == CHILD_ITEMS) children = m->type == JSON_ARRAY ? CHILD_LIST : CHILD_SCHEMA;
  switch (children) {
  case CHILD_SCHEMA: return walk(c, m, r);
  case CHILD_LIST: return m->type != JSON_ARRAY || walk_each(c, m, r);
  case CHILD_MAP: return m->type != JSON_OBJECT || walk_each(c, m, r);
  case CHILD_DEPENDENCIES: return m->type != JSON_OBJECT || walk_dependencies(c, m, r);
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
  struct schema_dialect dialect = {c->schema->options.draft, VOCABULARY_USUAL, false};
  if (!schema_dialect(c, r, root, &dialect)) return NULL;
  set_dialect(r, &dialect);
  map_add(&c->resources, uri, r);
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
  if (load_document(c, uri)) return map_find(&c->resources, uri);
  if (c->fault->code == FAULT_NONE)
    schema_fail(c, from->resource, at, FAULT_NOT_FOUND, "it refers to \"%.*s\", which is not at hand and never fetched",
                STR_ARG(uri));
  return NULL;
}

// "~1" and "~0" become "/" and "~".
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
  return (str){out, n};
}

static const struct json *step(const struct json *v, str token) {
  uint64_t index;
  if (v->type == JSON_OBJECT) return json_get(v, token);
  if (token.n > 1 && token.p[0] == '0') return NULL;
  return str_to_u64(token, &index) ? json_at(v, index) : NULL;
}

// The schema at a pointer. It may lie where the walk found no schemas; the base is that of the last one on the way.
static const struct schema_node *find_pointer(struct schema_compiler *c, struct schema_resource *r, str pointer) {
  const struct json *v = r->root;
  while (v && pointer.n) {
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
  // A name may stand for an anchor and a dynamic one on the same schema.
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
    schema_fail(c, from->resource, reference, FAULT_INVALID, "a reference must be a string");
    return NULL;
  }
  str uri = uri_resolve(c->arena, from->resource->uri, uri_without_fragment(text, &fragment));
  struct schema_resource *r = find_resource(c, from, reference, uri);
  if (!r) return NULL;
  c->fault->code = FAULT_NONE;
  const struct schema_node *n = NULL;
  if (uri_decode(c->arena, fragment, &decoded)) n = find_fragment(c, r, decoded, out_anchor);
  if (!n && c->fault->code == FAULT_NONE)
    schema_fail(c, from->resource, reference, FAULT_NOT_FOUND, "it refers to \"%.*s\", and there is nothing",
                STR_ARG(text));
  return n;
}

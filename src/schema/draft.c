// SPDX-License-Identifier: Apache-2.0
#include "schema/schema_impl.h"
#include "schema/uri.h"

static const struct {
  const char *uri;  // behind "http://" or "https://"
  enum schema_draft draft;
} drafts[] = {
    {"json-schema.org/draft-04/schema", SCHEMA_DRAFT_4},
    {"json-schema.org/draft-06/schema", SCHEMA_DRAFT_6},
    {"json-schema.org/draft-07/schema", SCHEMA_DRAFT_7},
    {"json-schema.org/draft/2019-09/schema", SCHEMA_DRAFT_2019_09},
    {"json-schema.org/draft/2020-12/schema", SCHEMA_DRAFT_2020_12},
};

static const struct {
  const char *name;  // the end of its URI
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

// What a meta-schema of somebody's own says about the vocabularies it is made of.
static bool read_vocabularies(struct schema_compiler *c, const struct schema_resource *r, const struct json *at,
                              const struct json *listed, unsigned *out) {
  unsigned all = VOCABULARY_CORE;
  JSON_EACH(m, listed) {
    str uri = json_key(m, c->arena);
    unsigned v = find_vocabulary(uri);
    if (!v && m->type == JSON_TRUE)
      return schema_fail(c, r, at, FAULT_INVALID, "it needs the vocabulary %.*s, which is not known", STR_ARG(uri));
    all |= v;
    // Until 2019-09 what is left over belonged to the applicators.
    if (v == VOCABULARY_APPLICATOR && str_starts(uri, STR("https://json-schema.org/draft/2019-09/")))
      all |= VOCABULARY_UNEVALUATED;
  }
  *out = all;
  return true;
}

bool schema_dialect(struct schema_compiler *c, const struct schema_resource *r, const struct json *schema,
                    struct schema_dialect *out) {
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

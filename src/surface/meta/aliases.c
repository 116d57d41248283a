// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/aliases.h"

#include "base/assert.h"
#include "base/mem.h"
#include "govern/aliases.h"
#include "govern/records.h"
#include "surface/meta/execute.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "json/write.h"

enum { EPOCH_BYTES = 8 };

// A cached definition of an alias. It becomes invalid at the time `until`, and when the rules, the definitions of the
// server, or the version that the server reports change.
struct alias_copy {
  struct list node;
  str alias;  // on the heap
  uint64_t rules, version, reported, until;
  struct buf text;
};

static void copy_free(struct alias_copy *k) {
  list_remove(&k->node);
  mem_free((char *)k->alias.p);
  buf_done(&k->text);
  mem_free(k);
}

void meta_aliases_forget(struct surface *d) {
  LIST_EACH(it, &d->aliases) copy_free(CONTAINER_OF(it, struct alias_copy, node));
}

// ---- the definition

static bool is_fixed(const struct governance_alias *a, const struct json *name) {
  bool fixed = false;
  if (!a->args_template) return false;
  struct arena scratch;
  arena_init(&scratch);
  JSON_EACH(it, a->args_template) fixed |= json_equals_str(name, json_key(it, &scratch));
  arena_done(&scratch);
  return fixed;
}

// Returns the tool's input schema without the arguments for which the alias sets fixed values.
static str schema_of(const struct governance_alias *a, const struct json *schema, struct arena *arena) {
  const struct json *properties = json_get(schema, STR("properties")), *required = json_get(schema, STR("required"));
  struct json_edit edits[2];
  size_t count = 0;
  if (!a->args_template || !json_is(schema, JSON_OBJECT))
    return schema ? json_span(schema) : STR("{\"type\":\"object\"}");
  if (json_is(properties, JSON_OBJECT)) {
    struct json_edit *removed = ARENA_ARRAY(arena, struct json_edit, a->args_template->count + 1);
    size_t n = 0;
    JSON_EACH(it, a->args_template) removed[n++] = (struct json_edit){json_key(it, arena), STR_NONE};
    edits[count++] = (struct json_edit){STR("properties"), json_edited(arena, properties, removed, n)};
  }
  if (json_is(required, JSON_ARRAY)) {
    struct buf b;
    buf_init(&b, required->n + 2);
    struct json_writer w = json_writer(&b);
    json_begin_array(&w);
    JSON_EACH(it, required)
      if (!is_fixed(a, it)) json_put_raw(&w, json_span(it));
    json_end_array(&w);
    edits[count++] = (struct json_edit){STR("required"), arena_str(arena, buf_view(&b))};
    buf_done(&b);
  }
  return json_edited(arena, schema, edits, count);
}

// Writes the epoch: a text that changes when the rules, the governance file (with the versions of adapters), the
// definition, or the version that the server reports changes.
static void put_epoch(const struct rulebook *rules, const struct governance *g, str definition, str reported,
                      struct json_writer *w) {
  unsigned char hash[SHA256_SIZE];
  char hex[2 * EPOCH_BYTES + 1];
  struct buf b;
  buf_init(&b, definition.n + reported.n + 256);
  buf_printf(&b, "%llu %s %.*s ", (unsigned long long)rules->epoch, governance_digest(g).p, STR_ARG(reported));
  buf_str(&b, definition);
  hash_sha256(buf_view(&b), hash);
  hash_hex(hash, EPOCH_BYTES, hex);
  json_member_str(w, STR("epoch"), str_of(hex));
  buf_done(&b);
}

static void put_definition(struct surface *d, const struct governance *g, const struct governance_alias *a,
                           const struct item *item, struct buf *out) {
  struct arena arena;
  struct fault f;
  arena_init(&arena);
  const struct json *v = json_parse(&arena, item->text, &json_default_limits, &f);
  const struct json *description = json_get(v, STR("description"));
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), a->alias);
  if (json_is(description, JSON_STRING)) json_member_raw(&w, STR("description"), json_span(description));
  json_member_raw(&w, STR("inputSchema"), schema_of(a, json_get(v, STR("inputSchema")), &arena));
  json_member_raw(&w, STR("annotations"), STR("{\"readOnlyHint\":true}"));
  json_put_key(&w, STR("_meta"));
  json_begin_object(&w);
  json_put_key(&w, STR("toolgate/alias"));
  json_begin_object(&w);
  json_member_str(&w, STR("capability"), a->capability->id);
  put_epoch(d->calls.rules, g, item->text, upstreams_reported(d->upstreams, item->source), &w);
  json_member_u64(&w, STR("ttl_s"), a->ttl_s);
  json_end_object(&w);
  json_end_object(&w);
  json_end_object(&w);
  arena_done(&arena);
}

// Returns the cached definition of an alias. Makes a new one if it is absent or no longer valid.
static str copy_of(struct surface *d, const struct governance *g, const struct governance_alias *a,
                   const struct item *item, uint64_t version) {
  uint64_t now = loop_now(d->opt.loop), rules = d->calls.rules->epoch;
  uint64_t reported = hash_sip(&d->opt.loop->seed, upstreams_reported(d->upstreams, item->source));
  struct alias_copy *found = NULL;
  LIST_EACH(it, &d->aliases) {
    struct alias_copy *k = CONTAINER_OF(it, struct alias_copy, node);
    if (str_eq(k->alias, a->alias)) found = k;
  }
  if (found && found->rules == rules && found->version == version && found->reported == reported && now < found->until)
    return buf_view(&found->text);
  if (found) copy_free(found);
  struct alias_copy *k = MEM_NEW(struct alias_copy);
  char *name = mem_alloc(a->alias.n + 1);
  memcpy(name, a->alias.p, a->alias.n);
  k->alias = (str){name, a->alias.n};
  k->rules = rules;
  k->version = version;
  k->reported = reported;
  k->until = now + a->ttl_s * 1000;
  buf_init(&k->text, 1u << 30);
  put_definition(d, g, a, item, &k->text);
  list_push(&d->aliases, &k->node);
  return buf_view(&k->text);
}

// ---- the tool of an alias

struct alias_view {
  struct surface *d;
  const struct caller *caller;
  const struct catalog *catalog;
  const uint32_t *views;
  size_t count;
};

// Returns the tool of an alias if the client sees it.
static const struct item *find_item(const struct alias_view *v, const struct governance_alias *a) {
  unsigned source;
  if (!upstreams_find(v->d->upstreams, a->capability->adapter->server, &source)) return NULL;
  if (source >= v->catalog->part_count) return NULL;
  const struct catalog_part *part = &v->catalog->parts[source];
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &v->catalog->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    if (!str_eq(item->name, a->capability->name)) continue;
    bool listed = source >= v->count || item->seen & v->views[source];
    return listed && surface_sees(v->d, v->caller, v->catalog, item) ? item : NULL;
  }
  return NULL;
}

static const struct item *find_now(struct surface *d, const struct session *s, const struct caller *c,
                                   const struct governance_alias *a) {
  struct alias_view v = {d, c, upstreams_catalog(d->upstreams), NULL, 0};
  const struct item *item = find_item(&v, a);
  return item && item->seen & upstreams_view(d->upstreams, item->source, s) ? item : NULL;
}

// Finds the alias with this name. Returns its tool, and sets *out to the alias.
static const struct item *find_named(struct surface *d, const struct session *s, str name,
                                     const struct governance_alias **out) {
  struct caller c;
  struct fault f;
  if (s->mode != MODE_GATEWAY || !surface_caller(d, s, &c, &f) || !c.governance) return NULL;
  *out = governance_alias_find(c.governance, name);
  return *out ? find_now(d, s, &c, *out) : NULL;
}

bool meta_has_alias(struct surface *d, const struct session *s, str alias) {
  const struct governance_alias *a;
  return find_named(d, s, alias, &a) != NULL;
}

void meta_put_aliases(struct surface *d, const struct session *s, struct buf *out) {
  struct caller c;
  struct fault f;
  if (s->mode != MODE_GATEWAY || !surface_caller(d, s, &c, &f) || !c.governance) return;
  const struct catalog *catalog = upstreams_catalog(d->upstreams);
  for (size_t i = 0; i < governance_alias_count(c.governance); i++) {
    const struct governance_alias *a = governance_alias_at(c.governance, i);
    const struct item *item = find_now(d, s, &c, a);
    if (!item) continue;
    if (out->n && out->p[out->n - 1] != '[') buf_char(out, ',');
    buf_str(out, copy_of(d, c.governance, a, item, catalog->parts[item->source].version));
  }
}

// Returns the arguments of a call together with the fixed arguments of the alias. Fixed arguments take precedence.
static str args_of(const struct governance_alias *a, const struct json *args, struct arena *arena) {
  const struct json *given = json_is(args, JSON_OBJECT) ? args : &json_empty_object;
  if (!a->args_template || !a->args_template->count) return json_span(given);
  struct json_edit *edits = ARENA_ARRAY(arena, struct json_edit, a->args_template->count);
  size_t n = 0;
  JSON_EACH(it, a->args_template) edits[n++] = (struct json_edit){json_key(it, arena), json_span(it)};
  return json_edited(arena, given, edits, n);
}

bool meta_call_alias(struct surface *d, struct request *r, str alias) {
  const struct governance_alias *a;
  const struct item *item = find_named(d, r->session, alias, &a);
  str id = item ? surface_tool_id(d, item) : STR_NONE;
  if (!id.p) return false;
  meta_execute_id(d, r, arena_str(&r->arena, id), args_of(a, json_get(r->msg.params, STR("arguments")), &r->arena));
  return true;
}

uint64_t meta_aliases_digest(struct surface *d, const struct caller *c, const struct catalog *catalog,
                             const uint32_t *views, size_t count) {
  struct alias_view v = {d, c, catalog, views, count};
  uint64_t digest = 0;
  for (size_t i = 0; c->governance && i < governance_alias_count(c->governance); i++) {
    const struct governance_alias *a = governance_alias_at(c->governance, i);
    const struct item *item = c->run ? find_item(&v, a) : NULL;
    if (item) digest = digest * 31 + hash_sip(&d->opt.loop->seed, a->alias) + hash_sip(&d->opt.loop->seed, item->text);
  }
  return digest;
}

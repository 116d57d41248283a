// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/filter.h"

#include "base/assert.h"
#include "base/text/glob.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

enum { TEXT_BYTES = 512 };

static bool read_text(const struct json *v, struct arena *a, str *out) {
  *out = STR_NONE;
  return !v || v->type == JSON_NULL || (json_string(v, a, out) && out->n && out->n <= TEXT_BYTES);
}

static bool add_class(const struct json *v, struct arena *a, unsigned *out) {
  str name;
  if (!json_string(v, a, &name)) return false;
  enum capability_class class = capability_class_find(name);
  *out |= 1U << class;
  return class != CLASS_NONE;
}

static bool read_classes(const struct json *v, struct arena *a, unsigned *out) {
  if (!v || v->type == JSON_NULL) return true;
  if (!json_is(v, JSON_ARRAY)) return add_class(v, a, out);
  JSON_EACH(it, v)
    if (!add_class(it, a, out)) return false;
  return v->count > 0;
}

const char *browse_filter_read(const struct json *v, struct arena *a, struct browse_filter *out) {
  static const str known[] = {STR("capability"), STR("class"), STR("domain"), STR("max_mode"), STR("claim")};
  str mode;
  *out = (struct browse_filter){.mode = APPROVAL_NONE};
  if (!v || v->type == JSON_NULL) return NULL;
  if (!json_is(v, JSON_OBJECT)) return "filter must be an object";
  JSON_EACH(it, v)
    if (!json_key_in(it, known, sizeof known / sizeof *known))
      return "filter may have capability, class, domain, max_mode and claim only";
  if (!read_text(json_get(v, STR("capability")), a, &out->capability) ||
      !read_text(json_get(v, STR("domain")), a, &out->domain) || !read_text(json_get(v, STR("claim")), a, &out->claim))
    return "capability, domain and claim of filter must be strings of 1 to 512 bytes";
  if (!read_classes(json_get(v, STR("class")), a, &out->classes))
    return "class of filter must be observe, recall, verify, think_support or act, or a list of these";
  if (!read_text(json_get(v, STR("max_mode")), a, &mode) ||
      (mode.p && (out->mode = approval_mode_find(mode)) == APPROVAL_NONE))
    return "max_mode of filter must be read_only, local_write, network, delegated or destructive";
  out->set = true;
  return NULL;
}

static bool lists(const struct governance_names *names, str name) {
  return names->list && governance_names_have(names, name);
}

static bool matches(const struct browse_filter *f, const struct governance_capability *c) {
  str domain = c->domain.p ? c->domain : c->adapter->domain;
  if (f->classes && !(f->classes >> c->class & 1)) return false;
  if (f->mode != APPROVAL_NONE && c->mode > f->mode) return false;
  if (f->domain.p && !(domain.p && str_eq(domain, f->domain))) return false;
  if (f->claim.p && !lists(&c->claims, f->claim) && !lists(&c->scopes, f->claim)) return false;
  return !f->capability.p || glob_match(f->capability, c->id);
}

const uint64_t *browse_filter_apply(struct surface *d, const struct browse_filter *filter, const struct governance *g,
                                    const uint64_t *visible) {
  const struct kind_index *tools = &surface_directory(d)->kind_indexes[DIRECTORY_TOOLS];
  uint64_t *bits = ARENA_ARRAY(&d->scratch, uint64_t, tools->count / 64 + 1);
  ASSERT(filter->set && g);
  for (size_t i = 0; i < tools->count; i++) {
    const struct entry *e = &tools->entries[i];
    if (e->hidden || (visible && !(visible[i / 64] >> (i % 64) & 1))) continue;
    const struct governance_capability *c =
        governance_find_tool(g, upstreams_name(d->upstreams, e->source), e->item->name);
    if (c && matches(filter, c)) bits[i / 64] |= UINT64_C(1) << (i % 64);
  }
  return bits;
}

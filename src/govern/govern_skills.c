// SPDX-License-Identifier: Apache-2.0
// The members `skills` and `skill_keys` of a governance file.
#include "govern/govern_impl.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { KEYS_MAX = 1000 };

#define AT(member) offsetof(struct governance_skill_key, member)
static const struct governance_field key_fields[] = {
    {"kid", governance_id, AT(kid), true, NULL},
    {"owner_role", governance_id, AT(owner_role), true, NULL},
    {"public_key", governance_text, AT(public_key), true, NULL},
    {"description", governance_text, AT(description), false, NULL},
};
#undef AT

static void read_key(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct governance_skill_key *key = into;
  key->pointer = pointer;
  governance_read_members(r, pointer, v, key_fields, COUNT(key_fields), key);
}

void governance_read_skills(struct governance_reader *r, const struct json *files, const struct json *keys) {
  struct governance *g = r->governance;
  if (files) governance_texts(r, STR("/skills"), files, NULL, &g->skill_files);
  if (!keys) return;
  g->skill_keys =
      governance_read_list(r, STR("/skill_keys"), keys, sizeof *g->skill_keys, read_key, &g->skill_key_count);
  if (g->skill_key_count > KEYS_MAX) governance_report(r, STR("/skill_keys"), "must be a list of at most 1000 keys");
  struct governance_named *ids = ARENA_ARRAY(r->arena, struct governance_named, g->skill_key_count);
  for (size_t i = 0; i < g->skill_key_count; i++)
    ids[i].id = g->skill_keys[i].kid, ids[i].pointer = g->skill_keys[i].pointer;
  governance_sort_unique(r, ids, g->skill_key_count, "kid");
}

const struct governance_names *governance_skill_files(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return &g->skill_files;
}

const struct governance_skill_key *governance_skill_key(const struct governance *g, str kid) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  for (size_t i = 0; i < g->skill_key_count; i++)
    if (str_eq(g->skill_keys[i].kid, kid)) return &g->skill_keys[i];
  return NULL;
}

void governance_keep_skills(struct governance *g, struct skills *skills, void (*free)(struct skills **skills)) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  ASSERT(!g->skills);
  g->skills = skills;
  g->skills_free = free;
}

const struct skills *governance_skills(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->skills;
}

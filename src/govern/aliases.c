// SPDX-License-Identifier: Apache-2.0
#include "govern/aliases.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "govern/govern_impl.h"

// Prefixes of the names of meta-tools, now and in the future. Aliases must not have them.
static const char *const reserved[] = {"tool_", "resource_", "prompt_", "plan_", "skill_"};

static bool is_alias(str s) {
  if (!s.n || s.n > ALIAS_BYTES) return false;
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_alnum(s.p[i]) && s.p[i] != '_' && s.p[i] != '-') return false;
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (str_starts(s, str_of(reserved[i]))) return false;
  return true;
}

static void read_name(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  str name = STR("");
  if (json_string(v, r->arena, &name) && is_alias(name)) *(str *)to = name;
  else
    governance_report(r, pointer,
                      "must be a name of at most %d letters, digits, _ and -, and must not begin like a meta-tool "
                      "(tool_, resource_, prompt_, plan_, skill_)",
                      ALIAS_BYTES);
}

static void read_template(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  if (json_is(v, JSON_OBJECT)) *(const struct json **)to = v;
  else governance_report(r, pointer, "must be an object");
}

static void read_listed(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  if (!json_is(v, JSON_TRUE)) governance_report(r, pointer, "must be true; remove the alias instead");
}

// Checks `invalidate_on`. The list must have all four changes, because each of them invalidates every alias anyway.
static void read_triggers(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  static const str all[] = {STR("policy_version"), STR("permission_version"), STR("schema_hash"),
                            STR("adapter_version")};
  size_t count = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all && json_is(v, JSON_ARRAY); i++) {
    bool has = false;
    JSON_EACH(it, v) has |= json_equals_str(it, all[i]);
    count += has;
  }
  if (count < sizeof all / sizeof *all || v->count != count)
    governance_report(r, pointer,
                      "must have policy_version, permission_version, schema_hash and adapter_version, because each "
                      "of these changes makes an alias void");
}

static void read_alias(struct governance_reader *r, str pointer, const struct json *v, void *into) {
#define AT(member) offsetof(struct governance_alias, member)
  static const struct governance_field fields[] = {
      {"alias", read_name, AT(alias), true, NULL},
      {"capability_id", governance_text, AT(capability_id), true, NULL},
      {"args_template", read_template, AT(args_template), false, NULL},
      {"ttl_s", governance_count, AT(ttl_s), false, NULL},
      {"allow_listed", read_listed, 0, false, NULL},
      {"invalidate_on", read_triggers, 0, false, NULL},
  };
#undef AT
  struct governance_alias *a = into;
  a->pointer = pointer;
  a->ttl_s = ALIAS_TTL_S;
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, a);
}

static void check(struct governance_reader *r, struct governance_alias *a) {
  if (!a->capability_id.n) return;
  const struct governance_capability *c = governance_find(r->governance, a->capability_id);
  a->capability = c;
  if (!c) governance_report(r, a->pointer, "no adapter registers the capability \"%.*s\"", STR_ARG(a->capability_id));
  else if (!c->adapter->server.p)
    governance_report(r, a->pointer, "the adapter of the capability \"%.*s\" has no server", STR_ARG(c->id));
  else if (c->mode != APPROVAL_READ_ONLY || c->class == CLASS_ACT || c->class == CLASS_THINK_SUPPORT)
    governance_report(r, a->pointer,
                      "ALIAS_NOT_READ_ONLY: only a capability of class observe, recall or verify with the mode "
                      "read_only can have an alias");
}

void governance_read_aliases(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance *g = r->governance;
  g->aliases = governance_read_list(r, pointer, v, sizeof *g->aliases, read_alias, &g->alias_count);
  if (g->alias_count > ALIASES_MAX) governance_report(r, pointer, "has more than %d aliases", ALIASES_MAX);
  struct governance_named *names = ARENA_ARRAY(r->arena, struct governance_named, g->alias_count + 1);
  for (size_t i = 0; i < g->alias_count; i++) {
    check(r, &g->aliases[i]);
    names[i] = (struct governance_named){.id = g->aliases[i].alias, .pointer = g->aliases[i].pointer};
  }
  governance_sort_unique(r, names, g->alias_count, "alias");
}

// ---- use

size_t governance_alias_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->alias_count;
}

const struct governance_alias *governance_alias_at(const struct governance *g, size_t index) {
  ASSERT(index < governance_alias_count(g));
  return &g->aliases[index];
}

const struct governance_alias *governance_alias_find(const struct governance *g, str alias) {
  for (size_t i = 0; i < governance_alias_count(g); i++)
    if (str_eq(g->aliases[i].alias, alias)) return &g->aliases[i];
  return NULL;
}

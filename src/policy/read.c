// SPDX-License-Identifier: Apache-2.0
// Reads and checks the rules file. Entries stay in file order.
//
// An unknown key is an error, because otherwise a misspelt "deny" would deny nothing.
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "policy/policy_impl.h"
#include "json/pointer.h"

struct policy_reader {
  struct policy *policy;
  struct arena work;
  policy_problem *problem;
  void *ctx;
  bool failed;
};

static void __attribute__((format(printf, 3, 4))) report(struct policy_reader *r, str pointer, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  r->failed = true;
  r->problem(r->ctx, false, pointer, message);
}

static str below(struct policy_reader *r, str pointer, const struct json *member) {
  return json_pointer_below(&r->work, pointer, json_key(member, &r->work));
}

static bool is_object(struct policy_reader *r, str pointer, const struct json *v) {
  if (json_is(v, JSON_OBJECT)) return true;
  report(r, pointer, "must be an object");
  return false;
}

// Returns whether the member is a comment: its key starts with _, $ or /.
static bool is_remark(const struct json *member) {
  return member->key_n && (member->key[0] == '_' || member->key[0] == '$' || member->key[0] == '/');
}

static void report_unknown(struct policy_reader *r, str pointer, const char *known) {
  report(r, pointer, "is an unknown key; use %s", known);
}

// ---- entries

// Adds one entry to the rules of `like.agent` for each name in the list `v`. The entry is a copy of `like`, with the
// name and its index in the list.
static void read_list(struct policy_reader *r, str pointer, const struct json *v, struct policy_entry like) {
  struct policy_agent *a = &r->policy->agents[r->policy->agent_count];
  ASSERT(like.agent == a);
  if (!json_is(v, JSON_ARRAY)) {
    report(r, pointer, "must be a list of names");
    return;
  }
  JSON_EACH(it, v) {
    if (json_string(it, &r->policy->arena, &like.text) && like.text.n) {
      like.text = arena_str(&r->policy->arena, like.text);
      like.pattern = !glob_is_plain(like.text);
      a->own[a->own_count++] = like;
    } else {
      str at = arena_printf(&r->work, "%.*s/%u", STR_ARG(pointer), like.index);
      report(r, at, "must be a name or a pattern with *");
    }
    like.index++;
  }
}

static void read_tools(struct policy_reader *r, str pointer, const struct json *v, struct policy_entry like) {
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    like.server = arena_str(&r->policy->arena, json_key(it, &r->work));
    read_list(r, below(r, pointer, it), it, like);
  }
}

static void read_section(struct policy_reader *r, str pointer, const struct json *v, struct policy_entry like) {
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    str at = below(r, pointer, it);
    if (json_key_is(it, STR("servers"))) read_list(r, at, it, like);
    else if (json_key_is(it, STR("tools"))) read_tools(r, at, it, like);
    else if (json_key_is(it, STR("methods")))
      read_list(r, at, it, (struct policy_entry){.agent = like.agent, .deny = like.deny, .method = true});
    else if (!is_remark(it)) report_unknown(r, at, "\"servers\", \"tools\" and \"methods\"");
  }
}

// ---- agents

bool policy_is_agent_id(str id) {
  bool boundary = true;  // whether the next character starts a part of the id
  for (size_t i = 0; i < id.n; i++) {
    char c = id.p[i];
    if (c == '.' ? boundary : !(ascii_is_alnum(c) || c == '_' || c == '-')) return false;
    boundary = c == '.';
  }
  return id.n && id.n <= 255 && !boundary;
}

// Returns an upper bound for the number of entries in the lists of an agent.
static size_t count_values(const struct json *v) {
  size_t n = 0;
  for (const struct json *it = v->child; it; it = it->next) n += 1 + count_values(it);
  return n;
}

static void read_agent(struct policy_reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  struct policy_agent *a = &p->agents[p->agent_count];
  str id = json_key(v, &r->work);
  if (!policy_is_agent_id(id)) {
    report(r, pointer, "is not a valid agent name; use letters, digits, _ and -, with dots between parts");
    return;
  }
  if (!is_object(r, pointer, v)) return;
  *a = (struct policy_agent){.id = arena_str(&p->arena, id)};
  a->own = ARENA_ARRAY(&p->arena, struct policy_entry, count_values(v) + 1);
  const struct json *deny = json_get(v, STR("deny")), *allow = json_get(v, STR("allow"));
  if (deny) read_section(r, below(r, pointer, deny), deny, (struct policy_entry){.agent = a, .deny = true});
  if (allow) read_section(r, below(r, pointer, allow), allow, (struct policy_entry){.agent = a});
  JSON_EACH(it, v)
    if (it != deny && it != allow && !is_remark(it) && !json_key_is(it, STR("description")))
      report_unknown(r, below(r, pointer, it), "\"allow\" and \"deny\"");
  p->agent_count++;
}

static void read_agents(struct policy_reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  if (!is_object(r, pointer, v)) return;
  if (v->count > POLICY_AGENTS_MAX) {
    report(r, pointer, "has more than %d agents", POLICY_AGENTS_MAX);
    return;
  }
  p->agents = ARENA_ARRAY(&p->arena, struct policy_agent, v->count + 1);
  JSON_EACH(it, v)
    if (!is_remark(it)) read_agent(r, below(r, pointer, it), it);
}

// ---- defaults

static void read_defaults(struct policy_reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    str at = below(r, pointer, it);
    if (json_key_is(it, STR("deny_on_missing_agent"))) {
      if (!json_bool(it, &p->denies_missing)) report(r, at, "must be true or false");
    } else if (json_key_is(it, STR("precedence"))) {
      if (json_equals_str(it, STR("deny-first"))) p->order = POLICY_DENY_FIRST;
      else if (!json_equals_str(it, STR("document"))) report(r, at, "must be \"document\" or \"deny-first\"");
    } else if (!is_remark(it)) {
      report_unknown(r, at, "\"deny_on_missing_agent\" and \"precedence\"");
    }
  }
}

static void read_root(struct policy_reader *r, const struct json *root) {
  if (!is_object(r, STR(""), root)) return;
  JSON_EACH(it, root) {
    str at = below(r, STR(""), it);
    if (json_key_is(it, STR("agents"))) read_agents(r, at, it);
    else if (json_key_is(it, STR("defaults"))) read_defaults(r, at, it);
    else if (!is_remark(it)) report_unknown(r, at, "\"agents\" and \"defaults\"");
  }
}

struct policy *policy_read(const struct json *root, policy_problem *problem, void *ctx) {
  struct policy *p = MEM_NEW(struct policy);
  struct policy_reader r = {.policy = p, .problem = problem, .ctx = ctx};
  p->magic = POLICY_MAGIC;
  p->refs = 1;
  p->denies_missing = true;
  arena_init(&p->arena);
  arena_init(&r.work);
  read_root(&r, root);
  const struct policy_agent *deep = r.failed ? NULL : policy_compile(p);
  if (deep)
    report(&r, arena_printf(&r.work, "/agents/%.*s", STR_ARG(deep->id)), "has more than %d dots", POLICY_DEPTH_MAX);
  arena_done(&r.work);
  if (r.failed) policy_unref(&p);
  return p;
}

struct policy *policy_ref(struct policy *p) {
  ASSERT_MAGIC(p, POLICY_MAGIC);
  ASSERT(p->refs > 0);
  p->refs++;
  return p;
}

void policy_unref(struct policy **p) {
  struct policy *was = *p;
  *p = NULL;
  if (!was) return;
  ASSERT_MAGIC(was, POLICY_MAGIC);
  ASSERT(was->refs > 0);
  if (--was->refs) return;
  was->magic = 0;
  arena_done(&was->arena);
  mem_free(was);
}

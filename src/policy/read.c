// SPDX-License-Identifier: Apache-2.0
// The rules file: what it must look like, and its entries in the order in which they stand.
//
// A key that is not known is an error: a "deny" with a typing mistake would let everything through.
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "policy/policy_impl.h"
#include "json/pointer.h"

struct reader {
  struct policy *policy;
  struct arena work;
  policy_problem *problem;
  void *ctx;
  bool failed;
};

static void __attribute__((format(printf, 3, 4))) wrong(struct reader *r, str pointer, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  r->failed = true;
  r->problem(r->ctx, false, pointer, message);
}

static str below(struct reader *r, str pointer, const struct json *member) {
  struct buf b;
  str key = json_key(member, &r->work);
  buf_init(&b, pointer.n + 2 * key.n + 2);
  buf_str(&b, pointer);
  json_pointer_push(&b, key);
  str made = arena_str(&r->work, buf_view(&b));
  buf_done(&b);
  return made;
}

static bool is_object(struct reader *r, str pointer, const struct json *v) {
  if (json_is(v, JSON_OBJECT)) return true;
  wrong(r, pointer, "must be an object");
  return false;
}

// Remarks for people.
static bool is_remark(const struct json *member) {
  return member->key_n && (member->key[0] == '_' || member->key[0] == '$' || member->key[0] == '/');
}

static void unknown(struct reader *r, str pointer, const char *known) {
  wrong(r, pointer, "is not known here; there are %s", known);
}

// ---- entries

static bool read_entry(struct reader *r, str pointer, const struct json *v, struct policy_entry *out) {
  if (!json_string(v, &r->policy->arena, &out->text) || !out->text.n) {
    wrong(r, pointer, "must be a name or a pattern with *");
    return false;
  }
  out->text = arena_str(&r->policy->arena, out->text);
  out->pattern = !glob_is_plain(out->text);
  return true;
}

static void read_list(struct reader *r, str pointer, const struct json *v, struct policy_entry *like) {
  struct policy_agent *a = (struct policy_agent *)like->agent;
  if (!json_is(v, JSON_ARRAY)) {
    wrong(r, pointer, "must be a list of names");
    return;
  }
  uint32_t index = 0;
  JSON_EACH(it, v) {
    struct policy_entry *e = &a->own[a->own_count];
    *e = *like;
    e->index = index;
    str at = arena_printf(&r->work, "%.*s/%u", STR_ARG(pointer), index++);
    if (read_entry(r, at, it, e)) a->own_count++;
  }
}

static void read_tools(struct reader *r, str pointer, const struct json *v, struct policy_entry *like) {
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    struct policy_entry of_server = *like;
    of_server.server = arena_str(&r->policy->arena, json_key(it, &r->work));
    read_list(r, below(r, pointer, it), it, &of_server);
  }
}

static void read_methods(struct reader *r, str pointer, const struct json *v, const struct policy_entry *like) {
  struct policy_entry of_method = *like;
  of_method.method = true;
  read_list(r, pointer, v, &of_method);
}

static void read_section(struct reader *r, str pointer, const struct json *v, struct policy_entry like) {
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    str at = below(r, pointer, it);
    if (json_key_is(it, STR("servers"))) read_list(r, at, it, &like);
    else if (json_key_is(it, STR("tools"))) read_tools(r, at, it, &like);
    else if (json_key_is(it, STR("methods"))) read_methods(r, at, it, &like);
    else if (!is_remark(it)) unknown(r, at, "\"servers\", \"tools\" and \"methods\"");
  }
}

// ---- agents

bool policy_is_agent_id(str id) {
  bool boundary = true;  // of a segment
  for (size_t i = 0; i < id.n; i++) {
    char c = id.p[i];
    if (c == '.' ? boundary : !(ascii_is_alnum(c) || c == '_' || c == '-')) return false;
    boundary = c == '.';
  }
  return id.n && id.n <= 255 && !boundary;
}

// More than all lists of an agent can hold.
static size_t count_values(const struct json *v) {
  size_t n = 0;
  for (const struct json *it = v->child; it; it = it->next) n += 1 + count_values(it);
  return n;
}

static void read_agent(struct reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  struct policy_agent *a = &p->agents[p->agent_count];
  str id = json_key(v, &r->work);
  if (!policy_is_agent_id(id)) {
    wrong(r, pointer, "is no name of an agent: letters, digits, _, - and, between parts, dots");
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
      unknown(r, below(r, pointer, it), "\"allow\" and \"deny\"");
  p->agent_count++;
}

static void read_agents(struct reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  if (!is_object(r, pointer, v)) return;
  if (v->count > POLICY_AGENTS_MAX) {
    wrong(r, pointer, "has more than %d agents", POLICY_AGENTS_MAX);
    return;
  }
  p->agents = ARENA_ARRAY(&p->arena, struct policy_agent, v->count + 1);
  JSON_EACH(it, v)
    if (!is_remark(it)) read_agent(r, below(r, pointer, it), it);
}

// ---- defaults

static void read_defaults(struct reader *r, str pointer, const struct json *v) {
  struct policy *p = r->policy;
  if (!is_object(r, pointer, v)) return;
  JSON_EACH(it, v) {
    str at = below(r, pointer, it);
    if (json_key_is(it, STR("deny_on_missing_agent"))) {
      if (!json_bool(it, &p->denies_missing)) wrong(r, at, "must be true or false");
    } else if (json_key_is(it, STR("precedence"))) {
      if (json_equals_str(it, STR("deny-first"))) p->order = POLICY_DENY_FIRST;
      else if (!json_equals_str(it, STR("document"))) wrong(r, at, "must be \"document\" or \"deny-first\"");
    } else if (!is_remark(it)) {
      unknown(r, at, "\"deny_on_missing_agent\" and \"precedence\"");
    }
  }
}

static void read_root(struct reader *r, const struct json *root) {
  if (!is_object(r, STR(""), root)) return;
  JSON_EACH(it, root) {
    str at = below(r, STR(""), it);
    if (json_key_is(it, STR("agents"))) read_agents(r, at, it);
    else if (json_key_is(it, STR("defaults"))) read_defaults(r, at, it);
    else if (!is_remark(it)) unknown(r, at, "\"agents\" and \"defaults\"");
  }
}

static void compile(struct reader *r) {
  const struct policy_agent *deep = policy_compile(r->policy);
  if (deep)
    wrong(r, arena_printf(&r->work, "/agents/%.*s", STR_ARG(deep->id)), "has more than %d dots", POLICY_DEPTH_MAX);
}

struct policy *policy_read(const struct json *root, policy_problem *problem, void *ctx) {
  struct policy *p = MEM_NEW(struct policy);
  struct reader r = {.policy = p, .problem = problem, .ctx = ctx};
  p->refs = 1;
  p->denies_missing = true;
  arena_init(&p->arena);
  arena_init(&r.work);
  read_root(&r, root);
  if (!r.failed) compile(&r);
  arena_done(&r.work);
  if (r.failed) policy_unref(&p);
  return p;
}

struct policy *policy_ref(struct policy *p) {
  p->refs++;
  return p;
}

void policy_unref(struct policy **p) {
  struct policy *was = *p;
  *p = NULL;
  if (!was || --was->refs) return;
  arena_done(&was->arena);
  mem_free(was);
}

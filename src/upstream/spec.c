// SPDX-License-Identifier: Apache-2.0
#include "upstream/spec.h"

#include "base/assert.h"
#include "base/text/glob.h"
#include "upstream/kind.h"

// If the size of the struct changes, update spec_copy and spec_same, which must know every field.
_Static_assert(sizeof(struct upstream_spec) == 360, "spec_copy and spec_same know every field");

// ---- copying

static struct upstream_pair *copy_pairs(const struct upstream_pair *from, size_t count, struct arena *a) {
  struct upstream_pair *to = ARENA_ARRAY(a, struct upstream_pair, count + 1);
  for (size_t i = 0; i < count; i++)
    to[i] = (struct upstream_pair){arena_str(a, from[i].name), arena_str(a, from[i].value)};
  return to;
}

static str *copy_list(const str *from, size_t count, struct arena *a) {
  str *to = ARENA_ARRAY(a, str, count + 1);
  for (size_t i = 0; i < count; i++) to[i] = arena_str(a, from[i]);
  return to;
}

static struct upstream_tool_timeout *copy_timeouts(const struct upstream_spec *s, struct arena *a) {
  struct upstream_tool_timeout *to = ARENA_ARRAY(a, struct upstream_tool_timeout, s->tool_timeout_count + 1);
  for (size_t i = 0; i < s->tool_timeout_count; i++)
    to[i] = (struct upstream_tool_timeout){arena_str(a, s->tool_timeouts[i].tool), s->tool_timeouts[i].ms};
  return to;
}

static struct upstream_tool_budget *copy_budgets(const struct upstream_spec *s, struct arena *a) {
  struct upstream_tool_budget *to = ARENA_ARRAY(a, struct upstream_tool_budget, s->tool_budget_count + 1);
  for (size_t i = 0; i < s->tool_budget_count; i++)
    to[i] = (struct upstream_tool_budget){arena_str(a, s->tool_budgets[i].tool), s->tool_budgets[i].tokens};
  return to;
}

void spec_copy(struct upstream_spec *out, const struct upstream_spec *s, struct arena *a) {
  *out = *s;
  out->name = arena_str(a, s->name);
  out->shown = arena_str(a, s->shown);
  out->description = arena_str(a, s->description);
  out->program = arena_str(a, s->program);
  out->secrets = secrets_copy(&s->secrets, a);
  out->hidden = secrets_copy(&s->hidden, a);
  out->command = arena_str(a, s->command);
  out->args = copy_list(s->args, s->arg_count, a);
  out->env = copy_pairs(s->env, s->env_count, a);
  out->cwd = arena_str(a, s->cwd);
  out->url = arena_str(a, s->url);
  out->headers = copy_pairs(s->headers, s->header_count, a);
  ASSERT(!s->own || s->own->refs > 0);
  if (s->own) s->own->refs++;
  out->tool_timeouts = copy_timeouts(s, a);
  out->tool_budgets = copy_budgets(s, a);
  out->on_tools = s->on_tools ? copy_list(s->on_tools, s->on_tool_count, a) : NULL;
  out->off_tools = copy_list(s->off_tools, s->off_tool_count, a);
}

void spec_done(struct upstream_spec *s) {
  ASSERT(!s->own || s->own->refs > 0);
  if (s->own && !--s->own->refs) s->kind->own_free(s->own);
  s->own = NULL;
}

static bool matches(const str *patterns, size_t count, str tool) {
  for (size_t i = 0; i < count; i++)
    if (glob_match(patterns[i], tool)) return true;
  return false;
}

bool spec_serves(const struct upstream_spec *s, str tool) {
  if (matches(s->off_tools, s->off_tool_count, tool)) return false;
  return !s->on_tools || matches(s->on_tools, s->on_tool_count, tool);
}

// ---- comparing

static bool same_pairs(const struct upstream_pair *a, size_t a_count, const struct upstream_pair *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; i++)
    if (!str_eq(a[i].name, b[i].name) || !str_eq(a[i].value, b[i].value)) return false;
  return true;
}

static bool same_list(const str *a, size_t a_count, const str *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; i++)
    if (!str_eq(a[i], b[i])) return false;
  return true;
}

static bool same_tools(const struct upstream_spec *a, const struct upstream_spec *b) {
  return !a->on_tools == !b->on_tools && same_list(a->on_tools, a->on_tool_count, b->on_tools, b->on_tool_count) &&
         same_list(a->off_tools, a->off_tool_count, b->off_tools, b->off_tool_count);
}

static bool same_timeouts(const struct upstream_spec *a, const struct upstream_spec *b) {
  if (a->timeout_ms != b->timeout_ms || a->start_timeout_ms != b->start_timeout_ms) return false;
  if (a->tool_timeout_count != b->tool_timeout_count) return false;
  for (size_t i = 0; i < a->tool_timeout_count; i++) {
    const struct upstream_tool_timeout *x = &a->tool_timeouts[i], *y = &b->tool_timeouts[i];
    if (!str_eq(x->tool, y->tool) || x->ms != y->ms) return false;
  }
  return true;
}

static bool same_budgets(const struct upstream_spec *a, const struct upstream_spec *b) {
  if (a->result_tokens != b->result_tokens || a->tool_budget_count != b->tool_budget_count) return false;
  for (size_t i = 0; i < a->tool_budget_count; i++) {
    const struct upstream_tool_budget *x = &a->tool_budgets[i], *y = &b->tool_budgets[i];
    if (!str_eq(x->tool, y->tool) || x->tokens != y->tokens) return false;
  }
  return true;
}

static bool same_own(const struct upstream_spec *a, const struct upstream_spec *b) {
  return a->own == b->own || (a->own && b->own && a->kind->own_same(a->own, b->own));
}

static bool same_names(const struct upstream_pair *a, size_t a_count, const struct upstream_pair *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; i++) {
    size_t k = 0;
    while (k < b_count && !str_eq_nocase(a[i].name, b[k].name)) k++;
    if (k == b_count) return false;
  }
  return true;
}

bool spec_same_auth(const struct upstream_spec *a, const struct upstream_spec *b) {
  return a->isolation == b->isolation && same_names(a->headers, a->header_count, b->headers, b->header_count) &&
         same_names(a->env, a->env_count, b->env, b->env_count);
}

bool spec_same(const struct upstream_spec *a, const struct upstream_spec *b) {
  bool kind =
      a->anonymous == b->anonymous && a->kind == b->kind && a->isolation == b->isolation && a->protocol == b->protocol;
  bool child = str_eq(a->command, b->command) && same_list(a->args, a->arg_count, b->args, b->arg_count) &&
               str_eq(a->cwd, b->cwd) && a->unconfined == b->unconfined &&
               same_pairs(a->env, a->env_count, b->env, b->env_count);
  bool http = str_eq(a->url, b->url) && same_pairs(a->headers, a->header_count, b->headers, b->header_count);
  return str_eq(a->name, b->name) && str_eq(a->description, b->description) && kind &&
         a->max_in_flight == b->max_in_flight && a->has_idle == b->has_idle && a->idle_ms == b->idle_ms && child &&
         http && same_tools(a, b) && same_timeouts(a, b) && same_budgets(a, b) && same_own(a, b);
}

// ---- errors

str spec_public_text(const struct upstream_spec *s, struct arena *a, str text) {
  return secrets_mask(a, s->kind->redact ? s->kind->redact(s, a, text) : text, &s->hidden);
}

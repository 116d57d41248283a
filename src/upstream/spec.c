// SPDX-License-Identifier: Apache-2.0
#include "upstream/spec.h"

#include "base/glob.h"
#include "upstream/snapshot.h"

// Whoever adds a field says below how it is copied and compared.
_Static_assert(sizeof(struct upstream_spec) == 312, "spec_copy and spec_same know every field");

// ---- launchers

// What the arguments must begin with, apart from options; NULL: nothing.
static const struct {
  const char *program, *first, *second;
  enum upstream_launcher kind;
} launchers[] = {
    {"npx", NULL, NULL, UPSTREAM_NPX},          {"npm", "exec", NULL, UPSTREAM_NPX},
    {"npm", "x", NULL, UPSTREAM_NPX},           {"bunx", NULL, NULL, UPSTREAM_LAUNCHER},
    {"bun", "x", NULL, UPSTREAM_LAUNCHER},      {"pnpm", "dlx", NULL, UPSTREAM_LAUNCHER},
    {"pnpx", NULL, NULL, UPSTREAM_LAUNCHER},    {"yarn", "dlx", NULL, UPSTREAM_LAUNCHER},
    {"uvx", NULL, NULL, UPSTREAM_LAUNCHER},     {"uv", "run", NULL, UPSTREAM_LAUNCHER},
    {"uv", "tool", "run", UPSTREAM_LAUNCHER},   {"pipx", "run", NULL, UPSTREAM_LAUNCHER},
    {"docker", "run", NULL, UPSTREAM_LAUNCHER}, {"docker", "container", "run", UPSTREAM_LAUNCHER},
    {"podman", "run", NULL, UPSTREAM_LAUNCHER}, {"podman", "container", "run", UPSTREAM_LAUNCHER},
    {"dotnet", "run", NULL, UPSTREAM_LAUNCHER}, {"dotnet", "tool", "exec", UPSTREAM_LAUNCHER},
    {"dnx", NULL, NULL, UPSTREAM_LAUNCHER},
};

// Skips options up to the word; a word after an option may be its value, as in "uv --directory DIR run". False: another
// word comes first.
static bool take_word(const str **args, size_t *count, const char *word) {
  if (!word) return true;
  bool value = false;
  for (; *count; ++*args, --*count) {
    bool option = str_starts(**args, STR("-"));
    if (str_eq(**args, str_of(word))) {
      ++*args, --*count;
      return true;
    }
    if (!option && !value) return false;
    value = option && !memchr((*args)->p, '=', (*args)->n);
  }
  return false;
}

enum upstream_launcher spec_launcher(const struct upstream_spec *s) {
  str program = str_base_name(s->command);
  const str *args = s->args;
  size_t count = s->arg_count;
  if (s->transport != UPSTREAM_STDIO) return UPSTREAM_NO_LAUNCHER;
  if (str_eq(program, STR("env"))) {
    while (count && memchr(args->p, '=', args->n)) args++, count--;
    if (!count) return UPSTREAM_NO_LAUNCHER;
    program = str_base_name(*args);
    args++, count--;
  }
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    if (!str_eq(program, str_of(launchers[i].program))) continue;
    const str *at = args;
    size_t left = count;
    if (take_word(&at, &left, launchers[i].first) && take_word(&at, &left, launchers[i].second))
      return launchers[i].kind;
  }
  return UPSTREAM_NO_LAUNCHER;
}

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
  out->command = arena_str(a, s->command);
  out->args = copy_list(s->args, s->arg_count, a);
  out->env = copy_pairs(s->env, s->env_count, a);
  out->cwd = arena_str(a, s->cwd);
  out->url = arena_str(a, s->url);
  out->headers = copy_pairs(s->headers, s->header_count, a);
  out->snapshot = s->snapshot ? snapshot_ref(s->snapshot) : NULL;
  out->tool_timeouts = copy_timeouts(s, a);
  out->tool_budgets = copy_budgets(s, a);
  out->on_tools = s->on_tools ? copy_list(s->on_tools, s->on_tool_count, a) : NULL;
  out->off_tools = copy_list(s->off_tools, s->off_tool_count, a);
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

static bool same_snapshot(const struct snapshot *a, const struct snapshot *b) {
  if (!a || !b) return a == b;
  return a == b || str_eq(buf_view(&a->file), buf_view(&b->file));
}

bool spec_same(const struct upstream_spec *a, const struct upstream_spec *b) {
  bool kind = a->anonymous == b->anonymous && a->transport == b->transport && a->isolation == b->isolation &&
              a->protocol == b->protocol;
  bool child = str_eq(a->command, b->command) && same_list(a->args, a->arg_count, b->args, b->arg_count) &&
               str_eq(a->cwd, b->cwd) && same_pairs(a->env, a->env_count, b->env, b->env_count);
  bool http = str_eq(a->url, b->url) && same_pairs(a->headers, a->header_count, b->headers, b->header_count);
  return str_eq(a->name, b->name) && str_eq(a->description, b->description) && kind &&
         a->max_in_flight == b->max_in_flight && a->has_idle == b->has_idle && a->idle_ms == b->idle_ms && child &&
         http && same_tools(a, b) && same_timeouts(a, b) && same_budgets(a, b) &&
         same_snapshot(a->snapshot, b->snapshot);
}

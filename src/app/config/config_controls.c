// SPDX-License-Identifier: Apache-2.0
// Reads the configuration values of controls: lists of fault codes, lists of tools, and rate limits.
#include "app/config/config_controls.h"
#include "catalog/naming/names.h"
#include "catalog/naming/tool_id.h"
#include "result/envelope/fault_forms.h"

enum { MOST_CALLS = 1000000000 };

// ---- faults

// Returns whether faults with this code are sent to callers. All other codes are internal.
static bool is_told(enum fault_code code) {
  return code != FAULT_NONE && fault_public_code(code) == code;
}

static enum fault_code find_code(str name, struct nearest *near) {
  for (int code = FAULT_NONE + 1; code < FAULT_COUNT; code++) {
    if (!is_told((enum fault_code)code)) continue;
    if (str_eq(name, str_of(fault_name((enum fault_code)code)))) return (enum fault_code)code;
    nearest_try(near, str_of(fault_name((enum fault_code)code)));
  }
  return FAULT_NONE;
}

static void add_code(struct config_loader *l, const struct config_place *at, str name) {
  struct nearest near = {.word = name};
  enum fault_code code = find_code(name, &near);
  if (!code)
    config_error(l, at, "is not a fault code%s; use UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE or RATE_LIMITED",
                 config_nearest_hint(l, &near));
  else if (!fault_retryable(code))
    config_warn(l, at, "has no effect: calls that fail with this code are never retried");
  else l->config->controls.retry.codes |= retry_bit(code);
}

void config_codes_set(struct config_loader *l, const struct config_place *at, str list) {
  str name;
  for (bool more = true; more;) {
    more = str_cut(list, ',', &name, &list);
    add_code(l, at, str_trim(name));
  }
}

void config_codes_read(struct config_loader *l, const struct config_place *at, const struct json *v) {
  size_t index = 0;
  l->config->controls.retry.codes = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(l, at, index++);
    str name;
    if (json_string(it, &l->work, &name)) add_code(l, &below, name);
    else config_error(l, &below, "must be a fault code, such as UPSTREAM_TIMEOUT");
  }
}

// ---- ids

// Returns whether `s` is the name of a tool in transparent mode: server__name.
static bool is_listed_name(str s) {
  return names_is_safe(s) && memmem(s.p, s.n, "__", 2);
}

static bool check_id(struct config_loader *l, const struct config_place *at, str id) {
  struct tool_id_parts parts;
  struct fault f;
  if (!id.n || id.n > TOOL_ID_MAX) config_error(l, at, "must be a tool_id of at most %d characters", TOOL_ID_MAX);
  else if (glob_is_plain(id) && !is_listed_name(id) && !tool_id_parse(id, &parts, &f))
    config_error(l, at, "is not a valid tool_id: %s; in a pattern, * matches any characters", f.message);
  else return true;
  return false;
}

void config_ids_read(struct config_loader *l, const struct config_place *at, const struct json *v) {
  struct controls *controls = &l->config->controls;
  str *ids = ARENA_ARRAY(&l->config->arena, str, v->count + 1);
  size_t index = 0, n = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(l, at, index++);
    str id;
    if (!json_string(it, &l->work, &id)) config_error(l, &below, "must be a tool_id");
    else if (check_id(l, &below, id)) ids[n++] = arena_str(&l->config->arena, id);
  }
  ASSERT(n <= v->count);
  controls->cache_allow = ids;
  controls->cache_allow_count = n;
}

// ---- limits

static void add_rule(struct config_loader *l, const struct limiter_rule *rule) {
  struct controls *c = &l->config->controls;
  ASSERT(rule->name.n && (rule->per_minute || rule->per_session));
  struct limiter_rule *all = ARENA_ARRAY(&l->config->arena, struct limiter_rule, c->rule_count + 1);
  if (c->rule_count) memcpy(all, c->rules, c->rule_count * sizeof *all);
  all[c->rule_count] = *rule;
  c->rules = all;
  c->rule_count++;
}

static bool read_calls(struct config_loader *l, const struct config_place *at, const struct json *v, uint32_t *out) {
  int64_t calls;
  if (!json_int(v, &calls) || calls < 1 || calls > MOST_CALLS) {
    config_error(l, at, "must be a whole number, 1 to %d", MOST_CALLS);
    return false;
  }
  *out = (uint32_t)calls;
  return true;
}

static bool read_limit(struct config_loader *l, const struct config_place *at, const struct json *v,
                       struct limiter_rule *out) {
  static const str minute = STR("max_calls_per_minute"), session = STR("max_calls_per_session");
  bool good = true;
  JSON_EACH(it, v) {
    str key = json_key(it, &l->work);
    struct config_place below = config_below(l, at, key);
    struct nearest near = {.word = key};
    nearest_try(&near, minute);
    nearest_try(&near, session);
    if (str_eq(key, minute)) good = read_calls(l, &below, it, &out->per_minute) && good;
    else if (str_eq(key, session)) good = read_calls(l, &below, it, &out->per_session) && good;
    else {
      const char *hint = config_nearest_hint(l, &near);
      config_error(l, &below, "is not a known key%s",
                   *hint ? hint : "; use max_calls_per_minute or max_calls_per_session");
      good = false;
    }
  }
  if (v->count) return good;
  config_error(l, at, "must have max_calls_per_minute, max_calls_per_session or both");
  return false;
}

void config_limit_read(struct config_loader *l, const struct config_place *at, str name, const struct json *v) {
  struct limiter_rule rule = {.name = name};
  if (read_limit(l, at, v, &rule)) add_rule(l, &rule);
}

void config_limits_read(struct config_loader *l, const struct config_place *at, const struct json *v) {
  if (v->count > CONFIG_MOST_LIMITS) {
    config_error(l, at, "must be an object with at most %d tools", CONFIG_MOST_LIMITS);
    return;
  }
  JSON_EACH(it, v) {
    struct limiter_rule rule = {.name = arena_str(&l->config->arena, json_key(it, &l->work)), .tools = true};
    struct config_place below = config_below(l, at, rule.name);
    if (!json_is(it, JSON_OBJECT)) config_error(l, &below, "must be an object such as {max_calls_per_minute: 5}");
    else if (check_id(l, &below, rule.name) && read_limit(l, &below, it, &rule)) add_rule(l, &rule);
  }
}

// ---- limits of principals

void config_allowance_settle(struct config_loader *l, const struct config_document *d) {
  struct allowance_limits *p = &l->config->controls.principal;
  const struct {
    str key;
    uint64_t *field;
  } table[] = {
      {STR("max_requests_per_minute"), &p->requests},
      {STR("max_bytes_per_minute"), &p->bytes},
      {STR("max_tokens_per_minute"), &p->tokens},
  };
  const struct json *said = json_get(json_get(d->root, STR("rate_limits")), STR("principal"));
  if (l->config->token_count || l->config->jwt.issuer.n) return;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!json_get(said, table[i].key)) *table[i].field = 0;
}

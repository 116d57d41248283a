// SPDX-License-Identifier: Apache-2.0
// `toolgate stats --governance`: counters of governed calls since the gateway started.
#include "app/cli/stats_governance.h"

#include <stdio.h>

#include "app/gateway_client/console.h"

enum { MAX_OUTPUT = 64 << 20, WIDEST = 60 };

static unsigned long long number(const struct json *v, const char *key) {
  return (unsigned long long)console_number(v, key);
}

// Returns a ratio in percent, or "-" if there were no calls.
static str percent(const struct json *v, const char *key, struct arena *a) {
  double ratio;
  if (!json_double(json_get(v, str_of(key)), &ratio)) return STR("-");
  return arena_printf(a, "%.1f %%", 100 * ratio);
}

static str name_of(const struct json *v, struct arena *a) {
  str adapter = console_text(v, "adapter", a), name = console_text(v, "capability", a);
  bool provisional = false;
  json_bool(json_get(v, STR("provisional")), &provisional);
  str whole = name.n
                  ? arena_printf(a, "%.*s.%.*s%s", STR_ARG(adapter), STR_ARG(name), provisional ? " (provisional)" : "")
                  : adapter;
  return console_line(whole, a);
}

static int width_of(const struct json *list, struct arena *a) {
  size_t width = 10;
  if (json_is(list, JSON_ARRAY))
    JSON_EACH(it, list) {
      size_t n = name_of(it, a).n;
      if (n > width) width = n;
    }
  return width > WIDEST ? WIDEST : (int)width;
}

static void put_capabilities(struct buf *out, struct arena *a, const struct json *list) {
  int width = width_of(list, a);
  buf_printf(out, "%-*s     calls  completed    failed   timeout  cancelled    denied   success\n", width,
             "capability");
  if (!json_is(list, JSON_ARRAY)) return;
  JSON_EACH(it, list)
    buf_printf(out, "%-*.*s  %8llu  %9llu  %8llu  %8llu  %9llu  %8llu  %8.*s\n", width, STR_ARG(name_of(it, a)),
               number(it, "calls"), number(it, "completed"), number(it, "failed"), number(it, "timeout"),
               number(it, "cancelled"), number(it, "denied"), STR_ARG(percent(it, "success_rate", a)));
}

static void put_adapters(struct buf *out, struct arena *a, const struct json *list) {
  int width = width_of(list, a);
  buf_printf(out, "\n%-*s     calls   success      mean       p99   audited  misclassified  by an operator\n", width,
             "adapter");
  if (!json_is(list, JSON_ARRAY)) return;
  JSON_EACH(it, list)
    buf_printf(out, "%-*.*s  %8llu  %8.*s  %5.1f ms  %5.1f ms  %8llu  %13llu  %5llu of %llu\n", width,
               STR_ARG(name_of(it, a)), number(it, "calls"), STR_ARG(percent(it, "success_rate", a)),
               (double)number(it, "mean_us") / 1000, (double)number(it, "p99_us") / 1000, number(it, "audited"),
               number(it, "misclassified"), number(it, "misclassified_by_operator"), number(it, "audited_by_operator"));
}

static void put_text(struct buf *out, struct arena *a, const struct json *v) {
  const struct json *decisions = json_get(v, STR("decisions"));
  double violations = 0;
  json_double(json_get(v, STR("violations_per_thousand")), &violations);
  put_capabilities(out, a, json_get(v, STR("capabilities")));
  put_adapters(out, a, json_get(v, STR("adapters")));
  buf_str(out, STR("\ndecisions\n"));
  if (json_is(decisions, JSON_OBJECT))
    JSON_EACH(it, decisions) buf_printf(out, "  %-26.*s %8.*s\n", STR_ARG(json_key(it, a)), STR_ARG(json_span(it)));
  buf_printf(out, "  rejected modes %llu, denied %.1f of 1000\n", number(v, "rejected_modes"), violations);
  buf_printf(out, "flow guard: %llu denied, %llu warned\n", number(v, "flow_denied"), number(v, "flow_warned"));
  buf_printf(out, "breakers: %llu opened, %llu calls refused, %llu answered from the cache\n",
             number(v, "breaker_opened"), number(v, "circuit_open"), number(v, "degraded"));
  buf_printf(out, "egress budgets: %llu calls refused\n", number(v, "egress_budget"));
  const struct json *keys = json_get(v, STR("keys"));
  buf_printf(out, "idempotency keys: %llu outcomes returned again, %llu conflicts, %llu unknown outcomes\n",
             number(keys, "replayed"), number(keys, "conflict"), number(keys, "unknown"));
}

int stats_governance(const struct arguments *args) {
  struct console c;
  struct fault f;
  struct buf out;
  int status;
  if (!console_open(&c, &args->config, &status)) return status;
  const struct json *v = control_client_request(c.gateway, &c.arena, STR("toolgate/governance"), STR_NONE, &f);
  if (!v) {
    console_close(&c);
    return command_failed(&f, EXIT_CANNOT);
  }
  buf_init(&out, MAX_OUTPUT);
  if (!args->json) put_text(&out, &c.arena, v);
  else buf_printf(&out, "%.*s\n", STR_ARG(json_span(v)));
  command_print_done(&out);
  console_close(&c);
  return EXIT_OK;
}

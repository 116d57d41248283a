// SPDX-License-Identifier: Apache-2.0
#include "mcp/methods.h"

bool method_is_foreign(str method) {
  static const str own[] = {STR("notifications/"), STR("tasks/"),      STR("tools/"),   STR("resources/"),
                            STR("prompts/"),       STR("completion/"), STR("logging/"), STR("sampling/"),
                            STR("elicitation/"),   STR("roots/"),      STR("server/"),  STR("subscriptions/")};
  static const str whole[] = {STR("initialize"), STR("ping")};
  for (size_t i = 0; i < method.n; i++)
    // A server might remove or replace a character outside printable ASCII, and then read the name as a method of MCP.
    if (method.p[i] <= ' ' || method.p[i] >= 0x7f) return false;
  while (method.n && method.p[0] == '/') method = str_from(method, 1);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (str_starts_nocase(method, own[i])) return false;
  while (method.n && method.p[method.n - 1] == '/') method.n--;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (str_eq_nocase(method, whole[i])) return false;
  return method.n > 0;
}

enum { BY_CLIENT = 1, BY_SERVER = 2, BY_BOTH = 3 };
enum { ANY_ERA, WITH_SESSION, STATELESS, WITH_TASKS };  // WITH_TASKS: only the revision with tasks and URL elicitation

static const struct {
  str method;
  int by, era;
} notifications[] = {
    {STR("notifications/progress"), BY_SERVER, ANY_ERA},
    {STR("notifications/progress"), BY_CLIENT, WITH_SESSION},
    {STR("notifications/cancelled"), BY_BOTH, ANY_ERA},
    {STR("notifications/initialized"), BY_CLIENT, WITH_SESSION},
    {STR("notifications/message"), BY_SERVER, ANY_ERA},
    {STR("notifications/tools/list_changed"), BY_SERVER, ANY_ERA},
    {STR("notifications/resources/list_changed"), BY_SERVER, ANY_ERA},
    {STR("notifications/resources/updated"), BY_SERVER, ANY_ERA},
    {STR("notifications/prompts/list_changed"), BY_SERVER, ANY_ERA},
    {STR("notifications/roots/list_changed"), BY_CLIENT, WITH_SESSION},
    {STR("notifications/tasks/status"), BY_BOTH, WITH_TASKS},
    {STR("notifications/elicitation/complete"), BY_SERVER, WITH_TASKS},
    {STR("notifications/tasks"), BY_SERVER, STATELESS},
    {STR("notifications/subscriptions/acknowledged"), BY_SERVER, STATELESS},
};

static bool has_era(const struct mcp_revision *r, int era) {
  switch (era) {
  case WITH_SESSION: return !r->stateless;
  case STATELESS: return r->stateless;
  case WITH_TASKS: return r->tasks;
  default: return true;
  }
}

bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision) {
  int by = by_client ? BY_CLIENT : BY_SERVER;
  for (size_t i = 0; i < sizeof notifications / sizeof *notifications; i++)
    if ((notifications[i].by & by) && str_eq(method, notifications[i].method) &&
        has_era(revision, notifications[i].era))
      return true;
  return false;
}

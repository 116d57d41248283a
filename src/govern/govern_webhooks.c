// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/crypto/locked.h"
#include "govern/govern_impl.h"
#include "govern/webhooks.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define AT(member) offsetof(struct governance_webhook, member)
static const struct governance_field fields[] = {
    {"role", governance_id, AT(role), true, NULL},
    {"url", governance_text, AT(url), true, NULL},
    {"secret_env", governance_id, AT(secret_env), false, NULL},
    {"secret_file", governance_id, AT(secret_file), false, NULL},
    {"allow_http", governance_flag, AT(allow_http), false, NULL},
    {"description", governance_text, AT(description), false, NULL},
};
#undef AT

static void read_webhook(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct governance_webhook *w = into;
  *w = (struct governance_webhook){.pointer = pointer, .secret_env = STR_NONE, .secret_file = STR_NONE};
  governance_read_members(r, pointer, v, fields, COUNT(fields), w);
  if (json_is(v, JSON_OBJECT) && !w->secret_env.p == !w->secret_file.p)
    governance_report(r, pointer, "needs either the member \"secret_env\" or the member \"secret_file\"");
}

void governance_read_webhooks(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance *g = r->governance;
  g->webhooks = governance_read_list(r, pointer, v, sizeof *g->webhooks, read_webhook, &g->webhook_count);
  if (g->webhook_count > GOVERNANCE_WEBHOOKS_MAX)
    governance_report(r, pointer, "has more than %d webhooks", GOVERNANCE_WEBHOOKS_MAX);
  struct governance_named *roles = ARENA_ARRAY(r->arena, struct governance_named, g->webhook_count + 1);
  for (size_t i = 0; i < g->webhook_count; i++)
    roles[i] = (struct governance_named){.id = g->webhooks[i].role, .pointer = g->webhooks[i].pointer};
  governance_sort_unique(r, roles, g->webhook_count, "role");
}

void governance_webhooks_done(struct governance *g) {
  for (size_t i = 0; i < g->webhook_count; i++)
    if (g->webhooks[i].secret.n) locked_free((char *)g->webhooks[i].secret.p, g->webhooks[i].secret.n);
}

size_t governance_webhook_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->webhook_count;
}

const struct governance_webhook *governance_webhook_at(const struct governance *g, size_t index) {
  ASSERT(index < governance_webhook_count(g));
  return &g->webhooks[index];
}

void governance_webhook_set_secret(struct governance *g, size_t index, str secret) {
  ASSERT(index < governance_webhook_count(g) && secret.n && secret.n <= GOVERNANCE_SECRET_MAX);
  struct governance_webhook *w = &g->webhooks[index];
  ASSERT(!w->secret.n);
  char *copy = locked_alloc(secret.n);
  memcpy(copy, secret.p, secret.n);
  w->secret = (str){copy, secret.n};
}

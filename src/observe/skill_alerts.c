// SPDX-License-Identifier: Apache-2.0
#include "observe/skill_alerts.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/histogram.h"
#include "observe/metrics.h"
#include "skill/skills.h"
#include "store/shared.h"
#include "json/write.h"

#define KIND "skill_alert"
#define KEEP_MS (UINT64_C(90) * 86400000)

enum { DATA_BYTES = 64 << 10, NO_VERSION = -1 };

struct skill_alerts {
  struct webhooks *webhooks;
  struct store *store;
  struct list looks;              // comparisons that wait for the store
  struct list sent;               // comparisons whose message is being delivered
  struct governance *governance;  // in force, or NULL
  bool due;                       // the governance must be looked at when no comparison waits
};

// The comparison of a skill with its last message.
struct look {
  struct list node;
  struct store_wait wait;
  struct skill_alerts *alerts;
  struct arena arena;
  str skill_id, role, data;
  const char *type;                 // of the message that is due; NULL if the skill is sound
  bool outdated;                    // the state of the skill has changed while the message is being delivered
  char state[2 * SHA256_SIZE + 1];  // identifies the message
};

static void look_free(struct look *k) {
  list_remove(&k->node);
  if (store_waiting(&k->wait)) store_wait_cancel(&k->wait);
  arena_done(&k->arena);
  mem_free(k);
}

static void on_read(struct store_wait *wait, enum store_kept kept);

// ---- the message

static void put_cases(const struct skill_entry *e, struct json_writer *w) {
  json_member_u64(w, STR("cases"), e->cases);
  json_member_u64(w, STR("failed"), e->failed);
  json_put_key(w, STR("failed_cases"));
  json_begin_array(w);
  for (size_t i = 0; i < e->failure_count; i++) {
    const struct skill_failure *f = &e->failures[i];
    json_begin_object(w);
    json_member_u64(w, STR("line"), f->line);
    if (f->name.n) json_member_str(w, STR("name"), f->name);
    json_member_str(w, STR("message"), f->why);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_data(const struct skill_entry *e, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("skill_id"), e->skill->skill_id);
  json_member_str(&w, STR("version"), e->skill->version);
  json_member_str(&w, STR("owner_role"), e->skill->owner_role);
  if (e->flaw.p) json_member_str(&w, STR("reason"), e->flaw);
  else if (e->failed) put_cases(e, &w);
  json_end_object(&w);
}

static struct look *look_new(struct skill_alerts *a, const struct skill_entry *e) {
  struct look *k = MEM_NEW(struct look);
  unsigned char sha[SHA256_SIZE];
  struct buf b;
  k->alerts = a;
  arena_init(&k->arena);
  k->skill_id = arena_str(&k->arena, e->skill->skill_id);
  k->role = arena_str(&k->arena, e->skill->owner_role);
  k->type = e->flaw.p ? "skill.unusable" : e->failed ? "skill.golden_failing" : NULL;
  buf_init(&b, DATA_BYTES);
  put_data(e, &b);
  ASSERT(!b.over);
  k->data = arena_str(&k->arena, buf_view(&b));
  hash_sha256(k->data, sha);
  hash_hex(sha, sizeof sha, k->state);
  buf_done(&b);
  store_wait_init(&k->wait, on_read);
  list_push(&a->looks, &k->node);
  return k;
}

// ---- the comparison

static void look_at_all(struct skill_alerts *a, const struct governance *g);

static void look_again(struct skill_alerts *a) {
  if (!a->due || !list_empty(&a->looks)) return;
  a->due = false;
  look_at_all(a, a->governance);
}

// Keeps a message that was delivered. A message that was not delivered is sent again by the next reload or restart.
static void on_delivered(void *ctx, const char *why) {
  struct look *k = ctx;
  struct skill_alerts *a = k->alerts;
  struct store *s = a->store;
  if (!why && k->type) entry_put(s, STR(KIND), k->skill_id, str_of(k->state), KEEP_MS, NULL);
  if (!why && !k->type) entry_take(s, STR(KIND), k->skill_id, NULL);
  a->due |= k->outdated;
  look_free(k);
  look_again(a);
}

// Called when the last message of the skill was read.
static void on_read(struct store_wait *wait, enum store_kept kept) {
  struct look *k = CONTAINER_OF(wait, struct look, wait);
  struct skill_alerts *a = k->alerts;
  bool had = wait->bytes.n > 0, same = k->type && str_eq(wait->bytes, str_of(k->state));
  const char *type = k->type ? k->type : "skill.recovered";
  list_remove(&k->node);
  list_push(&a->sent, &k->node);
  if (same || (!k->type && !had) || !webhooks_send(a->webhooks, k->role, type, k->data, on_delivered, k)) look_free(k);
  look_again(a);
}

// Returns whether a message about the skill is being delivered. If it is about another state of the skill, the skill is
// looked at again when the message was delivered.
static bool is_sent(const struct skill_alerts *a, const struct look *k) {
  LIST_EACH(it, &a->sent) {
    struct look *other = CONTAINER_OF(it, struct look, node);
    if (!str_eq(other->skill_id, k->skill_id)) continue;
    other->outdated = strcmp(other->state, k->state) != 0;
    return true;
  }
  return false;
}

static void look_at_all(struct skill_alerts *a, const struct governance *g) {
  const struct skills *all = governance_skills(g);
  for (size_t i = 0; all && i < all->count; i++) {
    const struct skill_entry *e = &all->list[i];
    if (!e->active || !webhooks_serve(a->webhooks, e->skill->owner_role)) continue;
    struct look *k = look_new(a, e);
    if (is_sent(a, k)) look_free(k);
    else entry_replace(a->store, STR(KIND), k->skill_id, NO_VERSION, STR(""), KEEP_MS, &k->wait);  // only reads
  }
}

void skill_alerts_take(struct skill_alerts *a, struct governance *g) {
  governance_unref(&a->governance);
  a->governance = governance_ref(g);
  a->due = true;
  look_again(a);
}

struct skill_alerts *skill_alerts_new(struct webhooks *webhooks, struct store *store) {
  struct skill_alerts *a = MEM_NEW(struct skill_alerts);
  a->webhooks = webhooks;
  a->store = store;
  list_init(&a->looks);
  list_init(&a->sent);
  return a;
}

void skill_alerts_free(struct skill_alerts **alerts) {
  struct skill_alerts *a = *alerts;
  *alerts = NULL;
  if (!a) return;
  ASSERT(list_empty(&a->sent));  // the webhooks have ended all messages
  LIST_EACH(it, &a->looks) look_free(CONTAINER_OF(it, struct look, node));
  governance_unref(&a->governance);
  mem_free(a);
}

// ---- metrics

static void put_series(const struct skills *all, const char *name, const char *help, bool golden, struct buf *out) {
  metrics_put_head(out, name, "gauge", help);
  for (size_t i = 0; all && i < all->count; i++) {
    const struct skill_entry *e = &all->list[i];
    if (!e->active) continue;
    buf_printf(out, "%s{skill=\"", name);
    metrics_put_label(out, e->skill->skill_id);
    buf_str(out, STR("\",owner_role=\""));
    metrics_put_label(out, e->skill->owner_role);
    buf_printf(out, "\"} %zu\n", golden ? e->failed : (size_t)(e->flaw.p != NULL));
  }
}

void skill_alerts_write(const struct governance *g, struct buf *out) {
  const struct skills *all = governance_skills(g);
  put_series(all, "toolgate_skill_golden_failing", "Cases of the golden set of the active version that fail.", true,
             out);
  put_series(all, "toolgate_skill_unusable", "1: the active version of the skill has a flaw and cannot be used.", false,
             out);
}

// SPDX-License-Identifier: Apache-2.0
#include "effect/idempotency.h"

#include "base/assert.h"
#include "base/mem.h"
#include "effect/idempotency_impl.h"

enum { AGAIN_MS = 1000, TEXT_MAX = 16 << 20, CALL_MAX = 256 << 10, CLAIM_MAGIC = 0x636c616d };

struct claim {
  uint32_t magic;
  struct idempotency *all;
  enum {
    RESERVED,  // only in memory
    STORING,   // being stored as in_flight
    HELD,      // stored as in_flight
    SETTLING,  // the outcome is being stored
    UNKEPT,    // the outcome could not be stored, and will be stored later
  } phase;
  bool ended;       // released while it was being stored
  bool lettered;    // there is a dead letter about an earlier call
  int64_t version;  // of the entry; 0 if it does not exist
  str before;       // text of the entry before this claim, or STR_NONE
  int64_t at, until;
  enum claim_state outcome;
  uint64_t outcome_ms;  // lifetime of the outcome
  struct buf text;      // of the outcome
  struct store_wait write;
  struct list holder;   // the struct claim_wait of the call that holds the claim
  struct list waiters;  // those of other calls
  struct arena arena;
  str fingerprint, owner;
  str call, args;  // raw JSON: the members of struct claim_call but the arguments, and the arguments
  char id[CLAIM_HEX];
};

static void on_again(struct timer *t);
static void on_idle(struct deferred *d);
static void on_next(struct timer *t);

struct idempotency *idempotency_new(const struct idempotency_options *opt) {
  struct idempotency *i = MEM_NEW(struct idempotency);
  i->opt = *opt;
  i->hasher = hasher_new();
  buf_init(&i->text, SIZE_MAX / 2);
  map_init(&i->claims, &opt->loop->seed);
  timer_init(&i->again, on_again);
  timer_init(&i->next, on_next);
  deferred_init(&i->idle, on_idle);
  arena_init(&i->dead);
  store_wait_init(&i->recovered, claims_recovered);
  return i;
}

void claim_wait_init(struct claim_wait *w, void (*go)(struct claim_wait *w, enum claim_kept kept)) {
  list_init(&w->node);
  w->go = go;
}

static void notify(struct list *waits, enum claim_kept kept) {
  struct list all;
  list_init(&all);
  for (struct list *n; (n = list_pop(waits));) list_push(&all, n);
  for (struct list *n; (n = list_pop(&all));) {
    struct claim_wait *w = CONTAINER_OF(n, struct claim_wait, node);
    w->go(w, kept);
  }
}

static void destroy(struct claim *c) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(list_empty(&c->holder) && list_empty(&c->waiters));
  c->magic = 0;
  buf_done(&c->text);
  arena_done(&c->arena);
  mem_free(c);
}

// ---- stopping

static bool is_busy(const struct idempotency *i) {
  size_t at = 0;
  for (const struct claim *c; (c = map_next(&i->claims, &at));)
    if (c->phase == STORING || c->phase == SETTLING) return true;
  return false;
}

static void on_idle(struct deferred *d) {
  struct idempotency *i = CONTAINER_OF(d, struct idempotency, idle);
  if (i->stopped || is_busy(i)) return;
  i->stopped = true;
  i->on_stopped(i->ctx);
}

static void check_idle(struct idempotency *i) {
  if (i->stopping && !i->stopped) loop_defer(i->opt.loop, &i->idle);
}

void idempotency_stop(struct idempotency *i, void (*stopped)(void *ctx), void *ctx) {
  ASSERT(!i->stopping);
  i->stopping = true;
  i->on_stopped = stopped;
  i->ctx = ctx;
  timer_stop(&i->again);
  timer_stop(&i->next);
  check_idle(i);
}

// Removes a claim from memory, then notifies the call that holds it and the calls that wait for its end.
static void end(struct claim *c, enum claim_kept kept) {
  struct list holder, waiters;
  check_idle(c->all);
  ASSERT(map_remove(&c->all->claims, str_of(c->id)) == c);
  list_init(&holder);
  list_init(&waiters);
  for (struct list *n; (n = list_pop(&c->holder));) list_push(&holder, n);
  for (struct list *n; (n = list_pop(&c->waiters));) list_push(&waiters, n);
  destroy(c);
  notify(&holder, kept);
  notify(&waiters, CLAIM_KEPT);
}

void idempotency_free(struct idempotency **idempotency) {
  struct idempotency *i = *idempotency;
  if (!i) return;
  *idempotency = NULL;
  timer_stop(&i->again);
  timer_stop(&i->next);
  deferred_cancel(&i->idle);
  store_wait_cancel(&i->recovered);
  size_t at = 0;
  for (struct claim *c; (c = map_next(&i->claims, &at)); at = 0) {
    map_remove(&i->claims, str_of(c->id));
    store_wait_cancel(&c->write);
    destroy(c);
  }
  map_done(&i->claims);
  hasher_free(&i->hasher);
  buf_done(&i->text);
  arena_done(&i->dead);
  mem_free(i);
}

// ---- looking up

static void on_stored(struct store_wait *w, enum store_kept kept);

static struct claim *reserve(struct idempotency *i, const struct claim_name *n, const struct claim_entry *e) {
  struct claim *c = MEM_NEW(struct claim);
  c->magic = CLAIM_MAGIC;
  c->all = i;
  arena_init(&c->arena);
  list_init(&c->holder);
  list_init(&c->waiters);
  store_wait_init(&c->write, on_stored);
  buf_init(&c->text, TEXT_MAX);
  memcpy(c->id, n->id, sizeof c->id);
  c->fingerprint = arena_str(&c->arena, str_of(n->fingerprint));
  c->owner = arena_str(&c->arena, n->owner);
  c->version = e->version;
  c->before = e->version ? arena_str(&c->arena, e->text) : STR_NONE;
  c->at = clock_wall_ms(i->opt.loop->clock);
  ASSERT(map_add(&i->claims, str_of(c->id), c));
  return c;
}

// Returns whether the arguments and the caller are those of an earlier call: CLAIM_FREE, or the difference.
static enum claim_found compare(const struct claim_name *n, bool any_owner, str fingerprint, str owner) {
  if (!str_eq(fingerprint, str_of(n->fingerprint))) return CLAIM_OTHER_ARGS;
  return any_owner || str_eq(owner, n->owner) ? CLAIM_FREE : CLAIM_OTHER_OWNER;
}

// The claim is in memory.
static enum claim_found find_here(struct claim *c, const struct claim_name *n, bool any_owner, struct arena *a,
                                  struct claim **out, struct claim_record *record) {
  bool undone = c->ended && !c->before.p && c->outcome == CLAIM_IN_FLIGHT;  // the entry is being removed
  enum claim_found found = undone ? CLAIM_FREE : compare(n, any_owner, c->fingerprint, c->owner);
  if (found != CLAIM_FREE) return found;
  *out = c;
  if (c->phase != UNKEPT) return CLAIM_HERE;
  // The outcome is only in memory, because the disk failed: no new claim can be stored either.
  bool done = claim_read(arena_str(a, buf_view(&c->text)), a, record) && record->state == CLAIM_DONE;
  return done ? CLAIM_IS_DONE : CLAIM_UNREADABLE;
}

enum claim_found claim_find(struct idempotency *i, const struct claim_name *n, bool any_owner, struct arena *a,
                            struct claim **out, struct claim_record *record) {
  struct claim_entry e;
  struct claim *here = map_find(&i->claims, str_of(n->id));
  if (here) return find_here(here, n, any_owner, a, out, record);
  if (!claim_load(i->opt.store, str_of(n->id), a, &e)) return CLAIM_UNREADABLE;
  bool valid = e.version && claim_read(e.text, a, record);
  // Nothing was sent for an entry of this process that is not in memory: it is from a failed attempt to store it.
  bool failed = valid && record->state == CLAIM_IN_FLIGHT && str_eq(record->gateway, gateways_own(i->opt.gateways));
  if (valid && !failed) {
    enum claim_found found = compare(n, any_owner, record->fingerprint, record->owner);
    if (found != CLAIM_FREE) return found;
    if (record->state == CLAIM_DONE) return CLAIM_IS_DONE;
    if (record->state == CLAIM_IN_FLIGHT && !claim_is_orphan(record, i->opt.gateways)) return CLAIM_ELSEWHERE;
  }
  *out = reserve(i, n, &e);
  if (valid && any_owner) (*out)->owner = arena_str(&(*out)->arena, record->owner);
  if (!e.version || failed || (valid && record->state == CLAIM_OPEN)) return CLAIM_FREE;
  (*out)->lettered = true;
  return CLAIM_IS_UNKNOWN;
}

str claim_entry_id(const struct claim *c) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  return str_of(c->id);
}

void claim_await(struct claim *c, struct claim_wait *w) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(!claim_waiting(w));
  list_push(&c->waiters, &w->node);
}

// ---- texts

static str put_call(struct claim *c, const struct claim_call *call) {
  struct buf b;
  buf_init(&b, CALL_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str_or_null(&w, STR("tenant"), call->tenant);
  json_member_str(&w, STR("agent"), call->agent);
  json_member_str(&w, STR("server"), call->server);
  json_member_str(&w, STR("tool"), call->tool);
  json_member_str(&w, STR("capability"), call->capability);
  json_member_str(&w, STR("key"), call->key);
  json_member_str(&w, STR("tool_call_id"), call->tool_call_id);
  json_end_object(&w);
  str text = b.over ? STR("{}") : arena_str(&c->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// Returns the call with its arguments, which are needed only until the outcome is known.
static str whole_call(struct claim *c) {
  if (!c->args.p || c->call.n <= 2) return c->call;
  return arena_printf(&c->arena, "%.*s,\"args\":%.*s}", (int)c->call.n - 1, c->call.p, STR_ARG(c->args));
}

static struct claim_record record_of(struct claim *c, enum claim_state state) {
  return (struct claim_record){
      .state = state,
      .fingerprint = c->fingerprint,
      .owner = c->owner,
      .gateway = gateways_own(c->all->opt.gateways),
      .at = c->at,
      .until = c->until,
      .call = state == CLAIM_DONE ? c->call : whole_call(c),
  };
}

// ---- writes

static void on_claimed(struct claim *c, enum store_kept kept);
static void on_settled(struct claim *c, enum store_kept kept);

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct claim *c = CONTAINER_OF(w, struct claim, write);
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  if (c->phase == STORING) on_claimed(c, kept);
  else on_settled(c, kept);
}

static void write_text(struct claim *c, str text, uint64_t ms) {
  struct store *s = c->all->opt.store;
  if (c->version) entry_replace(s, CLAIM_KIND, str_of(c->id), c->version, text, ms, &c->write);
  else entry_add(s, CLAIM_KIND, str_of(c->id), text, ms, &c->write);
}

bool claim_store(struct claim *c, const struct claim_call *call, int64_t until, struct claim_wait *w, struct fault *f) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(c->phase == RESERVED && !claim_waiting(w) && !c->all->stopped);
  if (!gateways_join(c->all->opt.gateways, f)) return false;
  c->until = until;
  c->call = put_call(c, call);
  c->args = call->args.p ? arena_str(&c->arena, call->args) : STR_NONE;
  struct claim_record r = record_of(c, CLAIM_IN_FLIGHT);
  buf_reset(&c->text);
  claim_put(&c->text, &r);
  c->phase = STORING;
  list_push(&c->holder, &w->node);
  write_text(c, buf_view(&c->text), CLAIM_MS);
  return true;
}

// Removes the entry of a call that was not sent, or restores the entry that was there before.
static void undo(struct claim *c) {
  c->phase = SETTLING;
  c->lettered = false;
  if (!c->before.p) {
    c->outcome = CLAIM_IN_FLIGHT;
    entry_take(c->all->opt.store, CLAIM_KIND, str_of(c->id), &c->write);
    return;
  }
  c->outcome = CLAIM_OPEN;
  c->outcome_ms = CLAIM_MS;
  buf_reset(&c->text);
  buf_str(&c->text, c->before);
  write_text(c, buf_view(&c->text), c->outcome_ms);
}

static void on_claimed(struct claim *c, enum store_kept kept) {
  if (kept == STORE_KEPT && c->write.value) {
    c->phase = HELD;
    c->version = c->write.value;
    if (c->ended) undo(c);
    else notify(&c->holder, CLAIM_KEPT);
    return;
  }
  // The memory of this process has the entry now, in which no other process can see it.
  if (kept == STORE_PASSING && !c->all->stopped) entry_take(c->all->opt.store, CLAIM_KIND, str_of(c->id), NULL);
  end(c, kept == STORE_KEPT ? CLAIM_TAKEN : CLAIM_UNKEPT);
}

void claim_release(struct claim *c) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(!c->ended && c->phase <= HELD);
  while (list_pop(&c->holder)) {
  }
  if (c->all->stopped) return;
  c->ended = true;
  if (c->phase == RESERVED) end(c, CLAIM_KEPT);
  else if (c->phase == HELD) undo(c);
}

// ---- outcomes

static void store_letter(struct claim *c) {
  struct arena a;
  struct claim_record r;
  arena_init(&a);
  if (claim_read(buf_view(&c->text), &a, &r)) claim_put_letter(c->all->opt.store, str_of(c->id), &r);
  arena_done(&a);
}

static void remove_letter(struct claim *c) {
  char letter[DEAD_LETTER_ID_SIZE];
  claim_letter_id(str_of(c->id), letter);
  dead_letter_remove(c->all->opt.store, str_of(letter), NULL);
}

// The letter of an unknown call is stored before the entry says that it is unknown. So a crash in between leaves a
// claim that is recovered, and never an unknown call without a letter.
static void store_outcome(struct claim *c) {
  bool removes = c->outcome != CLAIM_UNKNOWN && c->lettered, in_flight = c->phase == HELD;
  c->phase = SETTLING;
  if (c->outcome == CLAIM_UNKNOWN) store_letter(c);
  if (removes && in_flight) remove_letter(c);
  write_text(c, buf_view(&c->text), c->outcome_ms);
  if (removes && !in_flight) remove_letter(c);
}

static void put_outcome(struct claim *c, struct claim_record *r) {
  buf_reset(&c->text);
  claim_put(&c->text, r);
  if (c->text.n <= SHARED_BYTES) return;
  r->result = r->error = r->answer = STR_NONE;
  buf_reset(&c->text);
  claim_put(&c->text, r);
}

void claim_settle(struct claim *c, const struct claim_record *outcome, uint64_t keep_ms, struct claim_wait *w) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(c->phase == HELD && !c->ended && list_empty(&c->holder));
  struct claim_record r = *outcome, own = record_of(c, outcome->state);
  r.fingerprint = own.fingerprint;
  r.owner = own.owner;
  r.gateway = own.gateway;
  r.at = own.at;
  r.until = own.until;
  r.call = own.call;
  c->ended = true;
  c->outcome = r.state;
  c->outcome_ms = r.state == CLAIM_UNKNOWN ? CLAIM_MS : keep_ms;
  put_outcome(c, &r);
  if (c->all->stopped) return;
  if (w) list_push(&c->holder, &w->node);
  store_outcome(c);
}

void claim_conclude(struct claim *c, enum claim_state state, const struct claim_record *record, uint64_t keep_ms) {
  ASSERT_MAGIC(c, CLAIM_MAGIC);
  ASSERT(c->phase == RESERVED && !c->ended && c->version);
  if (state == CLAIM_UNKNOWN && record->state == CLAIM_UNKNOWN && record->fingerprint.p) {
    claim_release(c);  // the entry says so already
    return;
  }
  struct claim_record r = *record;
  r.reason = state == CLAIM_UNKNOWN ? STR("GATEWAY_ENDED") : STR("RECONCILED");
  if (!r.fingerprint.p) {  // the entry cannot be read
    r = record_of(c, state);
    r.reason = STR("ENTRY_UNREADABLE");
  }
  r.state = state;
  c->ended = true;
  c->outcome = state;
  c->outcome_ms = state == CLAIM_UNKNOWN ? CLAIM_MS : keep_ms;
  put_outcome(c, &r);
  if (!c->all->stopped) store_outcome(c);
}

// A claim whose entry has another version was removed by a person, or by the clock; but this process knows the outcome.
static void on_settled(struct claim *c, enum store_kept kept) {
  bool replaced = kept == STORE_KEPT && c->outcome != CLAIM_IN_FLIGHT && !c->write.value;
  if (replaced && c->outcome == CLAIM_DONE && !c->all->stopped) {
    entry_put(c->all->opt.store, CLAIM_KIND, str_of(c->id), buf_view(&c->text), c->outcome_ms, &c->write);
    return;
  }
  if (kept == STORE_KEPT || c->outcome == CLAIM_IN_FLIGHT) {
    end(c, CLAIM_KEPT);
    return;
  }
  c->phase = UNKEPT;
  if (!c->all->stopping && !timer_running(&c->all->again)) timer_start(c->all->opt.loop, &c->all->again, AGAIN_MS);
  check_idle(c->all);
  notify(&c->holder, CLAIM_UNKEPT);
  notify(&c->waiters, CLAIM_UNKEPT);
}

static void on_again(struct timer *t) {
  struct idempotency *i = CONTAINER_OF(t, struct idempotency, again);
  size_t at = 0;
  for (struct claim *c; (c = map_next(&i->claims, &at));)
    if (c->phase == UNKEPT) store_outcome(c);
}

// ---- claims of gateways that have ended

static void on_next(struct timer *t) {
  claims_recover_more(CONTAINER_OF(t, struct idempotency, next));
}

// SPDX-License-Identifier: Apache-2.0
// The operations on requests for approval. An operation reads the record, changes it (approvals_change.c), and replaces
// it in the store if nobody else has changed it; otherwise it starts again.
#include "base/assert.h"
#include "base/mem.h"
#include "effect/approvals_impl.h"

#define KIND STR("approval")

enum {
  KEEP_MS = 24 * 3600 * 1000,  // time for which a request stays in the store after its lifetime
  TRIES_MAX = 20,
  ID_RANDOM = 8,
};

// ---- the end of an operation

static void op_free(struct approvals_op *op) {
  ASSERT(!op->reading);
  deferred_cancel(&op->start);
  store_wait_cancel(&op->wait);
  list_remove(&op->node);
  arena_done(&op->arena);
  mem_free(op);
}

static void finish(struct approvals_op *op) {
  bool ok = op->fault.code == FAULT_NONE;
  const struct approval *x = ok && op->kind != OP_LIST ? &op->request : NULL;
  if (op->done) op->done(op->ctx, x, ok ? NULL : &op->fault);
  op_free(op);
}

static void fail(struct approvals_op *op, enum fault_code code, const char *why) {
  fault_set(&op->fault, code, "%s", why);
  finish(op);
}

void approvals_cancel(struct approvals_op **op) {
  if (*op) (*op)->done = NULL;
  *op = NULL;
}

const struct gateway_key *approvals_key(struct approvals *a, struct fault *f) {
  ASSERT_MAGIC(a, APPROVALS_MAGIC);
  if (!a->key) a->key = gateway_key_open(a->opt.folder, a->opt.loop->rand, f);
  return a->key;
}

// ---- storing

static void run(struct approvals_op *op);
static void on_added(struct approvals_op *op, bool added);

static uint64_t kept_ms(const struct approval *x, int64_t now) {
  int64_t left = x->expires_at - now;
  return KEEP_MS + (left > 0 ? (uint64_t)left : 0);
}

static void on_changed(struct approvals_op *op) {
  struct approvals_change c = {&op->request, op->before, op->kind == OP_VOTE && !op->fault.code ? &op->vote : NULL};
  approvals_seen(op->of, &op->request);
  approvals_changed(op->of, &c);
}

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct approvals_op *op = CONTAINER_OF(w, struct approvals_op, wait);
  bool done = kept == STORE_KEPT && w->value;
  if (op->kind == OP_PROPOSE) on_added(op, done);
  if (kept != STORE_KEPT || (op->kind == OP_PROPOSE && !done)) {
    fail(op, FAULT_EFFECTS_UNAVAILABLE, "the state of the request for approval cannot be stored; try again later");
    return;
  }
  if (!w->value) {  // another process has changed the record
    if (++op->tries < TRIES_MAX) run(op);
    else fail(op, FAULT_EFFECTS_UNAVAILABLE, "the request for approval changes too often; try again");
    return;
  }
  on_changed(op);
  finish(op);
}

static void store(struct approvals_op *op) {
  struct approvals *a = op->of;
  struct buf b;
  buf_init(&b, SHARED_BYTES);
  approval_put(&op->request, &b);
  if (b.over && op->request.result.p) {  // a record with a smaller result still fits
    op->request.result = STR_NONE;
    buf_reset(&b);
    b.over = false;
    approval_put(&op->request, &b);
  }
  if (b.over) fail(op, FAULT_LIMIT, "the request for approval is too large to be stored");
  else
    entry_replace(a->opt.store, KIND, op->id, op->version, buf_view(&b), kept_ms(&op->request, approvals_now(a)),
                  &op->wait);
  buf_done(&b);
}

// ---- reading

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct approvals_op *op = ctx;
  op->found = true;
  op->version = e->version;
  op->readable = approval_read(e->bytes, &op->arena, &op->request) && str_eq(op->request.request_id, op->id);
  return false;
}

static void on_read(struct store_read *r) {
  struct approvals_op *op = CONTAINER_OF(r, struct approvals_op, search.read);
  struct fault f;
  op->reading = false;
  if (op->orphan) {
    op_free(op);
    return;
  }
  bool readable = op->found && op->readable;
  if (!store_answered(r, &f)) {
    fail(op, FAULT_EFFECTS_UNAVAILABLE, "requests for approval cannot be read; try again later");
  } else if (!readable || (op->owner.p && !str_eq(op->owner, op->request.owner))) {
    if (!readable) approvals_forget(op->of, op->id);
    fail(op, FAULT_APPROVAL_INVALID, "unknown request_id: the id is wrong, or the request is too old");
  } else if (approvals_change(op) == CHANGE_STORES) {
    store(op);
  } else {
    approvals_seen(op->of, &op->request);
    finish(op);
  }
}

static void run(struct approvals_op *op) {
  op->found = op->readable = false;
  op->fault.code = FAULT_NONE;
  op->search = (struct entry_search){.read.done = on_read, .id = op->id, .limit = 1, .each = on_entry, .ctx = op};
  op->reading = true;
  entry_find(op->of->opt.store, KIND, &op->search);
}

// ---- a new request

static void run_waiting(struct known_request *k) {
  for (struct list *n; (n = list_pop(&k->waiting));) {
    struct approvals_op *op = CONTAINER_OF(n, struct approvals_op, node);
    list_push(&op->of->ops, &op->node);
    loop_defer(op->of->opt.loop, &op->start);
  }
}

// Called when the record of a new request is in the store, or cannot be stored.
static void on_added(struct approvals_op *op, bool added) {
  struct known_request *k = known_find(op->of, op->id);
  ASSERT(k && k->storing);
  k->storing = false;
  run_waiting(k);
  if (!added) known_drop(k);
}

static void make_id(struct approvals_op *op) {
  unsigned char random[ID_RANDOM];
  char hex[2 * ID_RANDOM + 1];
  rand_fill(op->of->opt.loop->rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  op->id = op->request.request_id = arena_printf(&op->arena, "areq_%s", hex);
}

static void propose(struct approvals_op *op) {
  struct approvals *a = op->of;
  struct approval *x = &op->request;
  struct buf b;
  str same = approvals_find_same(a, x->same);
  if (same.p) {  // the same call was proposed meanwhile
    op->kind = OP_FIND;
    op->id = arena_str(&op->arena, same);
    loop_defer(a->opt.loop, &op->start);
    return;
  }
  if (!a->loaded) approvals_load(a);
  if (!a->loaded || !approvals_key(a, &op->fault)) {
    fail(op, FAULT_EFFECTS_UNAVAILABLE, "requests for approval cannot be stored; try again later");
    return;
  }
  if (!known_has_room(a, x->principal, &op->fault)) {
    finish(op);
    return;
  }
  make_id(op);
  op->before = APPROVAL_STATE_COUNT;
  x->proposed_at = approvals_now(a);
  x->expires_at = x->proposed_at + (int64_t)op->ttl_ms;
  approval_set_state(x, APPROVAL_STATE_PENDING, x->proposed_at, x->agent, STR_NONE, &op->arena);
  buf_init(&b, SHARED_BYTES);
  approval_put(x, &b);
  if (b.over) {
    fail(op, FAULT_LIMIT, "the call is too large for a request for approval");
  } else {
    known_add(a, x, op->ttl_ms)->storing = true;
    entry_add(a->opt.store, KIND, op->id, buf_view(&b), kept_ms(x, x->proposed_at), &op->wait);
  }
  buf_done(&b);
}

// ---- the list

static bool is_any(str wanted, str is) {
  return !wanted.p || str_eq(wanted, is);
}

static bool matches(const struct approvals_filter *f, const struct approval *x) {
  bool open = x->state == APPROVAL_STATE_PENDING || x->state == APPROVAL_STATE_APPROVED, role = !f->role.p;
  for (size_t i = 0; i < x->gate_count; i++) role |= str_eq(f->role, x->gates[i].role);
  return (!f->open || open) && role && is_any(f->tenant, x->tenant) && is_any(f->agent, x->agent) &&
         is_any(f->capability, x->capability) && is_any(f->status, str_of(approval_state_name(x->state)));
}

static bool on_listed_entry(void *ctx, const struct shared_entry *e) {
  struct approvals_op *op = ctx;
  struct approval x;
  struct arena_mark mark = arena_mark(&op->arena);
  bool more = true;
  if (approval_read(e->bytes, &op->arena, &x)) {
    known_adopt(op->of, &x);
    if (approvals_is_over(op->of, &x)) x.state = APPROVAL_STATE_EXPIRED;
    if (matches(&op->filter, &x)) more = op->each(op->ctx, &x);
  }
  arena_rewind(&op->arena, &mark);
  return more;
}

static void on_listed(struct store_read *r) {
  struct approvals_op *op = CONTAINER_OF(r, struct approvals_op, search.read);
  op->reading = false;
  if (op->orphan) op_free(op);
  else if (store_answered(r, &op->fault)) finish(op);
  else fail(op, FAULT_EFFECTS_UNAVAILABLE, "requests for approval cannot be read; try again later");
}

static void list_all(struct approvals_op *op) {
  op->search = (struct entry_search){.read.done = on_listed, .each = on_listed_entry, .ctx = op};
  op->reading = true;
  entry_find(op->of->opt.store, KIND, &op->search);
}

// ---- the start

static void on_start(struct deferred *d) {
  struct approvals_op *op = CONTAINER_OF(d, struct approvals_op, start);
  struct known_request *k = known_find(op->of, op->id);
  if (op->kind == OP_PROPOSE) {
    propose(op);
  } else if (op->kind == OP_LIST) {
    if (op->done) list_all(op);
    else op_free(op);
  } else if (k && k->storing) {
    list_remove(&op->node);
    list_push(&k->waiting, &op->node);
  } else {
    run(op);
  }
}

static struct approvals_op *op_new(struct approvals *a, enum op_kind kind, str id, approvals_done *done, void *ctx) {
  ASSERT_MAGIC(a, APPROVALS_MAGIC);
  struct approvals_op *op = MEM_NEW(struct approvals_op);
  op->of = a;
  op->kind = kind;
  op->done = done;
  op->ctx = ctx;
  arena_init(&op->arena);
  op->id = arena_str(&op->arena, id);
  store_wait_init(&op->wait, on_stored);
  deferred_init(&op->start, on_start);
  list_push(&a->ops, &op->node);
  loop_defer(a->opt.loop, &op->start);
  return op;
}

// ---- operations

struct approvals_op *approvals_find(struct approvals *a, str id, str owner, approvals_done *done, void *ctx) {
  struct approvals_op *op = op_new(a, OP_FIND, id, done, ctx);
  if (owner.p) op->owner = arena_str(&op->arena, owner);
  return op;
}

struct approvals_op *approvals_propose(struct approvals *a, const struct approval *draft, uint64_t ttl_ms,
                                       approvals_done *done, void *ctx) {
  struct approvals_op *op = op_new(a, OP_PROPOSE, STR(""), done, ctx);
  op->ttl_ms = ttl_ms;
  approval_copy(draft, &op->arena, &op->request);
  return op;
}

struct approvals_op *approvals_list(struct approvals *a, const struct approvals_filter *f,
                                    bool (*each)(void *ctx, const struct approval *x), approvals_done *done,
                                    void *ctx) {
  struct approvals_op *op = op_new(a, OP_LIST, STR(""), done, ctx);
  struct arena *m = &op->arena;
  op->each = each;
  op->filter = (struct approvals_filter){f->open,
                                         f->tenant.p ? arena_str(m, f->tenant) : STR_NONE,
                                         f->agent.p ? arena_str(m, f->agent) : STR_NONE,
                                         f->capability.p ? arena_str(m, f->capability) : STR_NONE,
                                         f->role.p ? arena_str(m, f->role) : STR_NONE,
                                         f->status.p ? arena_str(m, f->status) : STR_NONE};
  return op;
}

struct approvals_op *approvals_redeem(struct approvals *a, str id, approvals_done *done, void *ctx) {
  return op_new(a, OP_REDEEM, id, done, ctx);
}

struct approvals_op *approvals_end(struct approvals *a, str id, const struct approval_end *e, approvals_done *done,
                                   void *ctx) {
  struct approvals_op *op = op_new(a, OP_END, id, done, ctx);
  ASSERT(approval_state_is_final(e->state));
  op->end = *e;
  if (e->code.p) op->end.code = arena_str(&op->arena, e->code);
  op->end.result = e->result.n && e->result.n <= APPROVAL_RESULT_MAX ? arena_str(&op->arena, e->result) : STR_NONE;
  return op;
}

static void close_as(struct approvals *a, enum op_kind kind, str id, str why) {
  struct approvals_op *op = op_new(a, kind, id, NULL, NULL);
  op->why = arena_str(&op->arena, why);
}

void approvals_withdraw(struct approvals *a, str id, str why) {
  close_as(a, OP_WITHDRAW, id, why);
}

void approvals_invalidate(struct approvals *a, str id, str code) {
  close_as(a, OP_INVALIDATE, id, code);
}

void approvals_expire(struct approvals *a, str id) {
  close_as(a, OP_EXPIRE, id, STR(""));
}

void approvals_lose(struct approvals *a, str id) {
  close_as(a, OP_LOSE, id, STR(""));
}

void approvals_withdraw_session(struct approvals *a, str session) {
  LIST_EACH(it, &a->known) {
    const struct known_request *k = CONTAINER_OF(it, struct known_request, node);
    if (session.n && str_eq(str_of(k->session), session) && k->share)
      approvals_withdraw(a, str_of(k->id), STR("the client ended its session"));
  }
}

struct approvals_op *approvals_decide(struct approvals *a, str id, const struct approval_vote *v, approvals_done *done,
                                      void *ctx) {
  struct approvals_op *op = op_new(a, OP_VOTE, id, done, ctx);
  struct arena *m = &op->arena;
  op->vote = (struct approval_vote){arena_str(m, v->approver),
                                    arena_str(m, v->role),
                                    v->gate.p ? arena_str(m, v->gate) : STR_NONE,
                                    v->reason.p ? arena_str(m, v->reason) : STR_NONE,
                                    arena_str(m, v->via),
                                    v->approve};
  return op;
}

str approvals_gateway(const struct approvals *a) {
  return str_of(a->gateway);
}

str approvals_find_executing(const struct approvals *a, str same) {
  LIST_EACH(it, &a->known) {
    const struct known_request *k = CONTAINER_OF(it, struct known_request, node);
    if (k->state == APPROVAL_STATE_EXECUTING && str_eq(str_of(k->same), same)) return str_of(k->id);
  }
  return STR_NONE;
}

str approvals_find_same(const struct approvals *a, str same) {
  const struct known_request *k = map_find(&a->by_same, same);
  return k ? str_of(k->id) : STR_NONE;
}

// ---- the whole

static bool on_loaded_entry(void *ctx, const struct shared_entry *e) {
  struct approvals *a = ctx;
  struct arena scratch;
  struct approval x;
  arena_init(&scratch);
  if (approval_read(e->bytes, &scratch, &x)) {
    known_adopt(a, &x);
    if (x.state == APPROVAL_STATE_EXECUTING) approvals_lose(a, x.request_id);
  } else {
    log_warn(a->opt.loop->log, "the request for approval %.*s cannot be read, so it counts as not approved",
             STR_ARG(e->id));
  }
  arena_done(&scratch);
  return true;
}

void approvals_load(struct approvals *a) {
  a->loading = (struct entry_search){.each = on_loaded_entry, .ctx = a};
  entry_find(a->opt.store, KIND, &a->loading);
  a->loaded = a->loading.read.over && a->loading.read.ok;
  if (!a->loaded)
    log_error(a->opt.loop->log, "cannot read the requests for approval: %s", a->loading.read.fault.message);
}

struct approvals *approvals_new(const struct approvals_options *opt) {
  struct approvals *a = MEM_NEW(struct approvals);
  ASSERT(opt->loop && opt->store);
  a->magic = APPROVALS_MAGIC;
  a->opt = *opt;
  rand_id(opt->loop->rand, a->gateway);
  map_init(&a->by_id, &opt->loop->seed);
  map_init(&a->by_same, &opt->loop->seed);
  list_init(&a->known);
  list_init(&a->ops);
  shares_init(&a->shares, &opt->loop->seed, APPROVALS_MAX);
  approvals_watch_init(a);
  approvals_load(a);
  return a;
}

// Starts the changes that wait for their turn, so that the store has them in its queue.
static void start_changes(struct approvals *a) {
  LIST_EACH(it, &a->ops) {
    struct approvals_op *op = CONTAINER_OF(it, struct approvals_op, node);
    op->done = NULL;
    if (list_empty(&op->start.node) || op->kind == OP_FIND || op->kind == OP_LIST || op->kind == OP_PROPOSE) continue;
    deferred_cancel(&op->start);
    run(op);
  }
}

void approvals_free(struct approvals **approvals) {
  struct approvals *a = *approvals;
  if (!a) return;
  ASSERT_MAGIC(a, APPROVALS_MAGIC);
  ASSERT(!a->loading.read.store || a->loading.read.over);
  *approvals = NULL;
  approvals_watch_done(a);
  start_changes(a);
  LIST_EACH(it, &a->known) {
    struct known_request *k = CONTAINER_OF(it, struct known_request, node);
    run_waiting(k);
    known_drop(k);
  }
  LIST_EACH(it, &a->ops) {
    struct approvals_op *op = CONTAINER_OF(it, struct approvals_op, node);
    op->orphan = true;
    list_remove(&op->node);
    if (!op->reading) op_free(op);
  }
  ASSERT(!map_count(&a->by_id) && !map_count(&a->by_same));
  map_done(&a->by_id);
  map_done(&a->by_same);
  shares_done(&a->shares);
  gateway_key_free(&a->key);
  a->magic = 0;
  mem_free(a);
}

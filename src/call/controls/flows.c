// SPDX-License-Identifier: Apache-2.0
#include "call/controls/flows.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/shares.h"
#include "base/text/utf8.h"
#include "json/write.h"

enum { RUNS_MAX = 1 << 14, ID_SIZE = 2 * SHA256_SIZE + 1, TEXT_MAX = 64 << 10, NAME_SHOWN = 256 };

#define KIND STR("flow")

struct kept_call {
  struct flow_call call;
  char text[];
};

struct flow_run {
  struct list node;  // node in by_use if the run is stored; the most recently used run is at the end
  struct share *share;
  bool stored;
  // loop times of the last use and of the last write; `written` is 0 if the run was never stored
  uint64_t used, written;
  unsigned marks;
  struct kept_call *calls[FLOW_CALLS];
  size_t count;
  char id[ID_SIZE];
};

struct flows {
  struct map by_id;
  struct list by_use;
  struct shares shares;  // of the principals
};

struct flows *flows_new(const struct hash_key *seed) {
  struct flows *f = MEM_NEW(struct flows);
  map_init(&f->by_id, seed);
  list_init(&f->by_use);
  shares_init(&f->shares, seed, RUNS_MAX);
  return f;
}

static void forget(struct flows *f, struct flow_run *r) {
  ASSERT(map_remove(&f->by_id, str_of(r->id)) == r);
  list_remove(&r->node);
  shares_drop(&f->shares, &r->share);
  for (size_t i = 0; i < r->count; i++) mem_free(r->calls[i]);
  mem_free(r);
}

void flows_free(struct flows **flows) {
  struct flows *f = *flows;
  if (!f) return;
  *flows = NULL;
  size_t at = 0;
  for (struct flow_run *r; (r = map_next(&f->by_id, &at)); at = 0) forget(f, r);
  map_done(&f->by_id);
  shares_done(&f->shares);
  mem_free(f);
}

// The id is a hash, because names of principals and runs may be longer than an id of the store.
static void make_id(str principal, str run, char out[ID_SIZE]) {
  struct buf b;
  unsigned char hash[SHA256_SIZE];
  buf_init(&b, principal.n + run.n + 32);
  buf_printf(&b, "%zu %.*s %.*s", principal.n, STR_ARG(principal), STR_ARG(run));
  hash_sha256(buf_view(&b), hash);
  hash_hex(hash, sizeof hash, out);
  buf_done(&b);
}

// ---- calls of a run

unsigned flow_run_marks(const struct flow_run *r) {
  return r->marks;
}

size_t flow_run_count(const struct flow_run *r) {
  return r->count;
}

struct flow_call flow_run_call(const struct flow_run *r, size_t index) {
  ASSERT(index < r->count);
  return r->calls[index]->call;
}

static str keep_text(char **at, str text) {
  if (!text.p) return text;
  str copy = {*at, text.n};
  if (text.n) memcpy(*at, text.p, text.n);
  *at += text.n;
  return copy;
}

static void keep_call(struct flow_run *r, const struct flow_call *c) {
  ASSERT(r->count < FLOW_CALLS);
  struct kept_call *k = mem_alloc(sizeof *k + c->server.n + c->tool.n + c->call.n + 1);
  char *at = k->text;
  k->call = (struct flow_call){c->marks, keep_text(&at, c->server), keep_text(&at, c->tool), keep_text(&at, c->call)};
  r->calls[r->count++] = k;
  r->marks |= c->marks;
}

static bool same_text(str a, str b) {
  return a.p && b.p ? str_eq(a, b) : !a.p && !b.p;
}

// Returns those marks of the call for which the run can keep another call. A mark is left out if the run already keeps
// a call of the same tool for the mark.
static unsigned wanted(const struct flow_run *r, const struct flow_call *c) {
  unsigned marks = 0;
  for (unsigned bit = 1; bit < FLOW_ALL; bit <<= 1) {
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
      const struct flow_call *k = &r->calls[i]->call;
      if (!(k->marks & bit)) continue;
      kept += same_text(k->server, c->server) && same_text(k->tool, c->tool) ? FLOW_CALLS_PER_MARK : 1;
    }
    if ((c->marks & bit) && kept < FLOW_CALLS_PER_MARK) marks |= bit;
  }
  return marks;
}

bool flows_add(struct flows *f, struct flow_run *r, const struct flow_call *c, uint64_t now, uint64_t keep_ms) {
  struct flow_call kept = {c->marks, utf8_cut(c->server, NAME_SHOWN), utf8_cut(c->tool, NAME_SHOWN), c->call};
  kept.marks = wanted(r, &kept);
  if (kept.marks) keep_call(r, &kept);
  r->used = now;
  if (!r->stored) return false;
  list_remove(&r->node);
  list_push(&f->by_use, &r->node);
  return kept.marks || !r->written || now - r->written >= keep_ms / 8;
}

// ---- the stored form: {"calls":[{"marks":[…],"server":…,"tool":…,"call":…}]}

static void put_call(struct json_writer *w, const struct flow_call *c) {
  json_begin_object(w);
  json_put_key(w, STR("marks"));
  flow_marks_put(w, c->marks);
  json_member_str(w, STR("server"), c->server);
  if (c->tool.p) json_member_str(w, STR("tool"), c->tool);
  if (c->call.p) json_member_str(w, STR("call"), c->call);
  json_end_object(w);
}

static bool read_call(const struct json *v, struct arena *a, struct flow_call *out) {
  *out = (struct flow_call){0};
  if (!flow_marks_read(json_get(v, STR("marks")), a, &out->marks)) return false;
  if (!json_string(json_get(v, STR("server")), a, &out->server)) return false;
  json_string(json_get(v, STR("tool")), a, &out->tool);
  json_string(json_get(v, STR("call")), a, &out->call);
  return true;
}

static bool read_run(struct flow_run *r, str text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *calls = json_get(json_parse(&a, text, &json_default_limits, &f), STR("calls"));
  bool ok = json_is(calls, JSON_ARRAY) && calls->count <= FLOW_CALLS;
  if (ok)
    JSON_EACH(it, calls) {
      struct flow_call c;
      ok = ok && read_call(it, &a, &c);
      if (ok) keep_call(r, &c);
    }
  arena_done(&a);
  return ok;
}

void flows_store(struct store *s, struct flow_run *r, uint64_t now, uint64_t keep_ms, struct store_wait *w) {
  struct buf b;
  ASSERT(r->stored);
  buf_init(&b, TEXT_MAX);
  struct json_writer j = json_writer(&b);
  json_begin_object(&j);
  json_put_key(&j, STR("calls"));
  json_begin_array(&j);
  for (size_t i = 0; i < r->count; i++) put_call(&j, &r->calls[i]->call);
  json_end_array(&j);
  json_end_object(&j);
  r->written = now;
  entry_put(s, KIND, str_of(r->id), buf_view(&b), keep_ms, w);
  buf_done(&b);
}

// ---- finding a run

// The state of a read from the store. If the read is not complete when entry_find returns, the state is freed when the
// read completes.
struct loading {
  struct entry_search search;
  bool found, ok, left;
  struct flow_run *run;
  char id[ID_SIZE];
};

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct loading *l = ctx;
  l->found = true;
  if (!l->left) l->ok = read_run(l->run, e->bytes);
  return false;
}

static void on_loaded(struct store_read *read) {
  struct loading *l = CONTAINER_OF(CONTAINER_OF(read, struct entry_search, read), struct loading, search);
  if (l->left) mem_free(l);
}

static bool load(struct store *s, struct flow_run *r) {
  struct loading *l = MEM_NEW(struct loading);
  memcpy(l->id, r->id, sizeof l->id);
  l->run = r;
  l->search =
      (struct entry_search){.read.done = on_loaded, .id = str_of(l->id), .limit = 1, .each = on_entry, .ctx = l};
  entry_find(s, KIND, &l->search);
  bool ok = l->search.read.over && l->search.read.ok && (!l->found || l->ok);
  if (l->search.read.over) mem_free(l);
  else l->left = true;
  return ok;
}

static void forget_old(struct flows *f, uint64_t now, uint64_t keep_ms) {
  LIST_EACH(it, &f->by_use) {
    struct flow_run *old = CONTAINER_OF(it, struct flow_run, node);
    if (now - old->used < keep_ms) break;
    forget(f, old);
  }
}

enum flow_found flows_get(struct flows *f, struct store *s, const struct flow_name *name, uint64_t now,
                          uint64_t keep_ms, struct flow_run **out) {
  char id[ID_SIZE];
  make_id(name->principal, name->run, id);
  forget_old(f, now, keep_ms);
  struct flow_run *r = map_find(&f->by_id, str_of(id));
  if (r) {
    *out = r;
    return FLOW_RUN_FOUND;
  }
  if (!shares_allow(&f->shares, name->principal, 0)) return FLOW_RUN_NO_ROOM;
  r = MEM_NEW(struct flow_run);
  memcpy(r->id, id, sizeof id);
  r->stored = name->stored && s;
  r->used = now;
  r->share = shares_take(&f->shares, name->principal);
  list_init(&r->node);
  if (r->stored) list_push(&f->by_use, &r->node);
  ASSERT(map_add(&f->by_id, str_of(r->id), r));
  if (r->stored && !load(s, r)) {
    forget(f, r);
    return FLOW_RUN_UNREADABLE;
  }
  *out = r;
  return FLOW_RUN_FOUND;
}

void flows_forget(struct flows *f, str principal, str run) {
  char id[ID_SIZE];
  make_id(principal, run, id);
  struct flow_run *r = map_find(&f->by_id, str_of(id));
  if (r) forget(f, r);
}

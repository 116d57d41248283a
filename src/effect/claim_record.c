// SPDX-License-Identifier: Apache-2.0
// The names of claims, and the texts of their entries.
#include "base/assert.h"
#include "base/mem.h"
#include "effect/idempotency_impl.h"
#include "json/canon.h"

enum { SCRATCH_KEPT = 64 << 10 };

static const char *const states[] = {"in_flight", "open", "done", "unknown"};  // in the order of enum claim_state

bool idempotency_is_key(str key) {
  for (size_t i = 0; i < key.n; i++)
    if ((unsigned char)key.p[i] < ' ' || key.p[i] == 0x7f) return false;
  return key.n && key.n <= IDEMPOTENCY_KEY_MAX;
}

static void hash_into(struct idempotency *i, char out[CLAIM_HEX]) {
  unsigned char digest[SHA256_SIZE];
  ASSERT(!i->text.over);
  hash_sha256_with(i->hasher, buf_view(&i->text), digest);
  hash_hex(digest, sizeof digest, out);
  buf_trim(&i->text, SCRATCH_KEPT);
}

// Returns a copy of an object without one member. The members of the copy are those of the object.
static const struct json *without(const struct json *object, str key, struct arena *a) {
  struct json *copy = ARENA_NEW(a, struct json), **end = &copy->child;
  *copy = *object;
  copy->child = NULL;
  copy->count = 0;
  JSON_EACH(it, object) {
    if (json_key_is(it, key)) continue;
    struct json *member = ARENA_NEW(a, struct json);
    *member = *it;
    member->next = NULL;
    *end = member;
    end = &member->next;
    copy->count++;
  }
  return copy;
}

void claim_fingerprint(struct idempotency *i, const struct json *args, str key_member, char out[CLAIM_HEX]) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  buf_reset(&i->text);
  const struct json *v = args ? args : &json_empty_object;
  if (key_member.p && json_get(v, key_member)) v = without(v, key_member, &a);
  if (!json_canon(&i->text, v, JSON_CANON_JCS, &f)) {
    buf_reset(&i->text);
    json_canon(&i->text, v, JSON_CANON_EXACT, &f);  // some number has no canonical form
  }
  arena_done(&a);
  hash_into(i, out);
}

// The lengths in front of the texts prevent that different texts give the same bytes.
void claim_id(struct idempotency *i, str tenant, str capability, str key, char out[CLAIM_HEX]) {
  buf_reset(&i->text);
  buf_printf(&i->text, "%zu:%.*s %zu:%.*s %zu:%.*s", tenant.n, STR_ARG(tenant), capability.n, STR_ARG(capability),
             key.n, STR_ARG(key));
  hash_into(i, out);
}

void claim_letter_id(str id, char out[]) {
  enum { SHOWN = DEAD_LETTER_ID_SIZE - 4 };
  ASSERT(id.n >= SHOWN);
  memcpy(out, "dl_", 3);
  memcpy(out + 3, id.p, SHOWN);
  out[3 + SHOWN] = 0;
}

// ---- texts

static void put_text(struct json_writer *w, const char *key, str text) {
  if (text.p) json_member_str(w, str_of(key), text);
}

static void put_raw(struct json_writer *w, const char *key, str raw) {
  if (raw.p) json_member_raw(w, str_of(key), raw);
}

static void put_flag(struct json_writer *w, const char *key, bool set) {
  if (set) json_member_bool(w, str_of(key), true);
}

void claim_put(struct buf *out, const struct claim_record *r) {
  struct json_writer w = json_writer(out);
  ASSERT((size_t)r->state < sizeof states / sizeof *states);
  json_begin_object(&w);
  json_member_int(&w, STR("v"), 1);
  json_member_str(&w, STR("state"), str_of(states[r->state]));
  put_text(&w, "fingerprint", r->fingerprint);
  put_text(&w, "owner", r->owner);
  put_text(&w, "gateway", r->gateway);
  put_text(&w, "reason", r->reason);
  json_member_int(&w, STR("at"), r->at);
  if (r->until) json_member_int(&w, STR("until"), r->until);
  put_raw(&w, "call", r->call);
  put_text(&w, "hash", r->hash);
  put_flag(&w, "failed", r->failed);
  put_flag(&w, "stateless", r->stateless);
  put_flag(&w, "as_task", r->as_task);
  put_raw(&w, "result", r->result);
  put_raw(&w, "error", r->error);
  put_raw(&w, "answer", r->answer);
  json_end_object(&w);
}

static str raw_of(const struct json *v, const char *key) {
  const struct json *member = json_get(v, str_of(key));
  return member ? json_span(member) : STR_NONE;
}

static bool read_state(const struct json *v, enum claim_state *out) {
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    if (json_equals_str(v, str_of(states[i]))) {
      *out = (enum claim_state)i;
      return true;
    }
  return false;
}

bool claim_read(str text, struct arena *a, struct claim_record *out) {
  static const struct json_limits limits = {SHARED_BYTES, JSON_DEEPEST, 0};
  struct fault f;
  int64_t version = 0;
  const struct json *v = json_parse(a, text, &limits, &f);
  *out = (struct claim_record){.state = CLAIM_UNKNOWN};
  bool ok = json_int(json_get(v, STR("v")), &version) && version == 1 &&
            read_state(json_get(v, STR("state")), &out->state) &&
            json_string(json_get(v, STR("fingerprint")), a, &out->fingerprint) &&
            json_string(json_get(v, STR("owner")), a, &out->owner);
  if (!ok) {
    *out = (struct claim_record){.state = CLAIM_UNKNOWN};
    return false;
  }
  json_string(json_get(v, STR("gateway")), a, &out->gateway);
  json_string(json_get(v, STR("reason")), a, &out->reason);
  json_string(json_get(v, STR("hash")), a, &out->hash);
  json_int(json_get(v, STR("at")), &out->at);
  json_int(json_get(v, STR("until")), &out->until);
  json_bool(json_get(v, STR("failed")), &out->failed);
  json_bool(json_get(v, STR("stateless")), &out->stateless);
  json_bool(json_get(v, STR("as_task")), &out->as_task);
  out->call = raw_of(v, "call");
  out->result = raw_of(v, "result");
  out->error = raw_of(v, "error");
  out->answer = raw_of(v, "answer");
  json_string(json_get(json_get(v, STR("call")), STR("tool_call_id")), a, &out->tool_call_id);
  return true;
}

bool claim_is_orphan(const struct claim_record *r, const struct gateways *g) {
  return r->state == CLAIM_IN_FLIGHT && !gateways_live(g, r->gateway);
}

void claim_put_letter(struct store *s, str id, const struct claim_record *r) {
  char letter_id[DEAD_LETTER_ID_SIZE];
  claim_letter_id(id, letter_id);
  struct dead_letter l = {
      .id = str_of(letter_id),
      .kind = STR("call"),
      .reason = r->reason,
      .at = r->at,
      .entry = id,
      .body = r->call.p ? r->call : STR("{}"),
  };
  dead_letter_put(s, &l, NULL);
}

// ---- reading one entry

// If the store answers later, nobody waits any more, and this struct is freed then.
struct loading {
  struct entry_search search;
  struct arena *arena;
  struct claim_entry entry;
  bool left;
  char id[CLAIM_HEX];
};

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct loading *l = ctx;
  if (!l->left) l->entry = (struct claim_entry){arena_str(l->arena, e->bytes), e->version};
  return false;
}

static void on_loaded(struct store_read *read) {
  struct loading *l = CONTAINER_OF(CONTAINER_OF(read, struct entry_search, read), struct loading, search);
  if (l->left) mem_free(l);
}

bool claim_load(struct store *s, str id, struct arena *a, struct claim_entry *out) {
  struct loading *l = MEM_NEW(struct loading);
  ASSERT(id.n < CLAIM_HEX);
  memcpy(l->id, id.p, id.n);
  l->arena = a;
  l->search =
      (struct entry_search){.read.done = on_loaded, .id = str_of(l->id), .limit = 1, .each = on_entry, .ctx = l};
  entry_find(s, CLAIM_KIND, &l->search);
  *out = l->entry;
  bool ok = l->search.read.over && l->search.read.ok;
  if (l->search.read.over) mem_free(l);
  else l->left = true;
  return ok;
}

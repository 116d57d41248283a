// SPDX-License-Identifier: Apache-2.0
#include "govern/run.h"

#include "base/assert.h"
#include "base/mem.h"
#include "schema/exact.h"
#include "json/canon.h"
#include "json/pointer.h"
#include "json/write.h"

enum {
  RUN_MAGIC = 0x72756e63,
  IDLE_RUNS = 1024,  // maximum number of contexts that stay valid without a reference
  CLAIM_BYTES = 4096,
  EDITS = GOVERNANCE_CLAIMS_MAX + 8,
};

// The context while it is made.
struct making {
  const struct governance *governance;
  const struct run_source *source;
  const struct governance_agent *base;
  const struct json *claims;  // NULL without a JSON Web Token
  struct json_edit edits[EDITS];
  size_t edit_count;
  struct arena *arena;
  struct fault *fault;
};

static bool invalid(struct making *m, enum fault_code code, const char *what) {
  fault_set(m->fault, code, "%s", what);
  return false;
}

static void edit(struct making *m, str key, str raw) {
  for (size_t i = 0; i < m->edit_count; i++)
    if (str_eq(m->edits[i].key, key)) {
      m->edits[i].raw = raw;
      return;
    }
  ASSERT(m->edit_count < EDITS);
  m->edits[m->edit_count++] = (struct json_edit){key, raw};
}

// ---- claims of the token

// Returns a member of `claims`, by its name or JSON Pointer, or NULL if it is absent or null.
static const struct json *claim_in(const struct json *claims, str name) {
  if (!claims) return NULL;
  const struct json *v =
      str_starts(name, STR("/")) ? json_pointer_find((struct json *)claims, name) : json_get(claims, name);
  return json_is(v, JSON_NULL) ? NULL : v;
}

static const struct json *find_claim(const struct making *m, str name) {
  return claim_in(m->claims, name);
}

static bool take_mode(struct making *m, const struct json *v) {
  for (int mode = 0; mode < APPROVAL_NONE; mode++) {
    if (!json_equals_str(v, str_of(approval_mode_name((enum approval_mode)mode)))) continue;
    if ((enum approval_mode)mode < m->base->safety) edit(m, STR("safety_mode"), json_span(v));
    return true;
  }
  return invalid(m, FAULT_IDENTITY_INVALID, "the token's claim for safety_mode is not an approval mode");
}

static bool take_tenant(struct making *m, const struct json *v) {
  str tenant;
  if (!json_string(v, m->arena, &tenant) || !governance_is_id(tenant))
    return invalid(m, FAULT_IDENTITY_INVALID, "the token's claim for tenant is not a name");
  if (m->base->subject.tenant.p && !str_eq(tenant, m->base->subject.tenant))
    return invalid(m, FAULT_TENANT_MISMATCH, "the token is for another tenant than the agent");
  edit(m, STR("tenant"), json_span(v));
  return true;
}

static void lower_count(uint64_t *limit, uint64_t by) {
  if (by && (!*limit || by < *limit)) *limit = by;
}

static void put_limit(struct json_writer *w, str key, uint64_t n) {
  if (n) json_member_u64(w, key, n);
}

static str budget_text(struct arena *a, const struct run_budget *b) {
  struct buf out;
  buf_init(&out, 512);
  struct json_writer w = json_writer(&out);
  json_begin_object(&w);
  put_limit(&w, STR("max_calls"), b->max_calls);
  put_limit(&w, STR("max_wall_ms"), b->max_wall_ms);
  put_limit(&w, STR("max_call_ms"), b->max_call_ms);
  if (b->max_cost >= 0) {
    json_put_key(&w, STR("max_cost"));
    buf_printf(&out, "%.17g", b->max_cost);
    w.comma = true;
  }
  json_end_object(&w);
  str text = arena_str(a, buf_view(&out));
  buf_done(&out);
  return text;
}

static bool take_budget(struct making *m, const struct json *v) {
  struct run_budget own, limit;
  if (!run_budget_read(v, &own)) return invalid(m, FAULT_IDENTITY_INVALID, "the token's claim for budget is malformed");
  run_budget_read(json_get(m->base->context, STR("budget")), &limit);
  lower_count(&limit.max_calls, own.max_calls);
  lower_count(&limit.max_wall_ms, own.max_wall_ms);
  lower_count(&limit.max_call_ms, own.max_call_ms);
  if (own.max_cost >= 0 && (limit.max_cost < 0 || own.max_cost < limit.max_cost)) limit.max_cost = own.max_cost;
  edit(m, STR("budget"), budget_text(m->arena, &limit));
  return true;
}

static bool take_claim(struct making *m, const struct governance_claim *claim) {
  const struct json *v = find_claim(m, claim->name);
  if (!v) return true;
  if (json_is_folded(v) || v->n > CLAIM_BYTES)
    return invalid(m, FAULT_IDENTITY_INVALID, "a claim of the token is larger than 4096 bytes");
  if (str_eq(claim->member, STR("safety_mode"))) return take_mode(m, v);
  if (str_eq(claim->member, STR("tenant"))) return take_tenant(m, v);
  if (str_eq(claim->member, STR("budget"))) return take_budget(m, v);
  if (!str_eq(claim->member, STR("scopes"))) edit(m, claim->member, json_span(v));
  return true;
}

// ---- scopes

struct scopes {
  bool stated;  // the token or the actor has a claim with scopes
  str *list;
  size_t count;
};

// Finds the claim with the scopes: the configured claim, or else `scope` or `scp`.
static const struct json *find_scopes(const struct making *m, const struct json *claims) {
  for (size_t i = 0; i < m->governance->claim_count; i++)
    if (str_eq(m->governance->claims[i].member, STR("scopes"))) return claim_in(claims, m->governance->claims[i].name);
  const struct json *scope = claim_in(claims, STR("scope"));
  return scope ? scope : claim_in(claims, STR("scp"));
}

static void split_words(struct making *m, str words, struct scopes *out) {
  str word;
  out->list = ARENA_ARRAY(m->arena, str, words.n / 2 + 1);
  for (bool more = true; more;) {
    more = str_cut(words, ' ', &word, &words);
    if (word.n) out->list[out->count++] = word;
  }
}

// Reads the scopes of a token or an actor: words separated by blanks, or a list of strings.
static bool read_scopes(struct making *m, const struct json *claims, struct scopes *out) {
  const struct json *v = find_scopes(m, claims);
  str words;
  *out = (struct scopes){.stated = v};
  if (!v) return true;
  if (json_is_folded(v) || v->n > CLAIM_BYTES)
    return invalid(m, FAULT_IDENTITY_INVALID, "the scopes of the token are larger than 4096 bytes");
  if (json_string(v, m->arena, &words)) {
    split_words(m, words, out);
    return true;
  }
  if (json_is(v, JSON_ARRAY)) {
    out->list = ARENA_ARRAY(m->arena, str, v->count);
    JSON_EACH(it, v)
      if (json_string(it, m->arena, &out->list[out->count])) out->count++;
    if (out->count == v->count) return true;
  }
  return invalid(m, FAULT_IDENTITY_INVALID, "the scopes of the token are neither words nor a list of strings");
}

static bool has_scope(const struct scopes *s, str scope) {
  for (size_t i = 0; i < s->count; i++)
    if (str_eq(s->list[i], scope)) return true;
  return false;
}

static bool scopes_within(const struct scopes *child, const struct scopes *parent) {
  for (size_t i = 0; i < child->count; i++)
    if (!has_scope(parent, child->list[i])) return false;
  return true;
}

// Sets the member `scopes`. Only the token can give scopes to a client with a token; without a token, the scopes are
// those of the governance file.
static bool take_scopes(struct making *m) {
  const struct json *of_file = json_get(m->base->context, STR("scopes"));
  struct scopes own = {0};
  struct buf b;
  if (!m->claims && json_is(of_file, JSON_ARRAY)) return true;
  if (m->claims && !read_scopes(m, m->claims, &own)) return false;
  buf_init(&b, 4 * CLAIM_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (size_t i = 0; i < own.count; i++) json_put_str(&w, own.list[i]);
  json_end_array(&w);
  edit(m, STR("scopes"), arena_str(m->arena, buf_view(&b)));
  buf_done(&b);
  return true;
}

// ---- principals

static void put_principal(struct json_writer *w, const char *kind, str id, str tenant, str workload) {
  json_begin_object(w);
  json_member_str(w, STR("kind"), str_of(kind));
  json_member_str(w, STR("id"), id);
  if (tenant.p) json_member_str(w, STR("tenant_id"), tenant);
  if (workload.p) json_member_str(w, STR("workload"), workload);
  json_end_object(w);
}

struct actors {
  str ids[RUN_PRINCIPALS_MAX];  // from the last actor to the first
  size_t count;
};

// Reads the nested claims `act`: the outermost one is the current actor, and each contains the actor before it.
static bool read_actors(struct making *m, str tenant, struct actors *out) {
  str claim = governance_tenant_claim(m->governance);
  struct scopes child, own;
  if (!read_scopes(m, m->claims, &child)) return false;
  for (const struct json *act = json_get(m->claims, STR("act")); act; act = json_get(act, STR("act"))) {
    str id, of = STR_NONE;
    if (!json_is(act, JSON_OBJECT) || !json_string(json_get(act, STR("sub")), m->arena, &id) || !governance_is_id(id))
      return invalid(m, FAULT_IDENTITY_INVALID, "an actor (act) of the token has no subject (sub)");
    if (out->count == RUN_PRINCIPALS_MAX - 2)
      return invalid(m, FAULT_IDENTITY_INVALID, "the token has more than 6 actors (act)");
    for (size_t i = 0; i < out->count; i++)
      if (str_eq(out->ids[i], id))
        return invalid(m, FAULT_IDENTITY_INVALID, "the same agent acts twice in the token (act)");
    const struct json *stated = claim.p ? claim_in(act, claim) : NULL;
    if (stated && !(json_string(stated, m->arena, &of) && tenant.p && str_eq(of, tenant)))
      return invalid(m, FAULT_TENANT_MISMATCH, "an actor (act) of the token belongs to another tenant");
    if (!read_scopes(m, act, &own)) return false;
    if (own.stated && child.stated && !scopes_within(&child, &own))
      return invalid(m, FAULT_IDENTITY_INVALID, "an actor of the token has wider scopes than the actor before it");
    if (own.stated) child = own;
    out->ids[out->count++] = id;
  }
  return true;
}

// Returns whether a client got the token for itself: its subject is the client, or a claim that a common authorization
// server sets only in such tokens says so.
static bool is_of_service(const struct making *m, str subject) {
  static const struct {
    str claim, value;
  } marks[] = {{STR("gty"), STR("client-credentials")}, {STR("idtyp"), STR("app")}};
  static const str clients[] = {STR("client_id"), STR("azp"), STR("cid")};
  str account;
  for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
    if (json_equals_str(json_get(m->claims, clients[i]), subject)) return true;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (json_equals_str(json_get(m->claims, marks[i].claim), marks[i].value)) return true;
  return json_string(json_get(m->claims, STR("preferred_username")), m->arena, &account) &&
         str_starts(account, STR("service-account-"));
}

// Returns the id of the user or service from which the requests come. Sets *out_user to whether this is a user.
static str origin_of(const struct making *m, bool *out_user) {
  str id = STR_NONE;
  const struct json *user = json_get(m->base->context, STR("user"));
  *out_user = true;
  if (m->claims) {
    json_string(json_get(m->claims, STR("sub")), m->arena, &id);
    *out_user = !is_of_service(m, id);
    return id;
  }
  if (json_string(json_get(user, STR("id")), m->arena, &id) ||
      json_string(json_get(user, STR("user_id")), m->arena, &id))
    return id;
  *out_user = !m->source->credential.p;
  return m->source->credential.p ? m->source->credential : STR("local");
}

// Returns a member of the context that is a string, or STR_NONE.
static str member_of(const struct making *m, str key) {
  str text = STR_NONE;
  const struct json *v = json_get(m->base->context, key);
  struct fault f;
  for (size_t i = 0; i < m->edit_count; i++)
    if (str_eq(m->edits[i].key, key)) v = json_parse(m->arena, m->edits[i].raw, &json_default_limits, &f);
  json_string(v, m->arena, &text);
  return text;
}

static str object_with_id(struct making *m, str id) {
  return arena_printf(m->arena, "{\"id\":%.*s}", STR_ARG(json_escaped(m->arena, id)));
}

static bool put_principals(struct making *m) {
  struct actors actors = {0};
  str tenant = member_of(m, STR("tenant")), agent = m->source->agent, workload = m->source->workload;
  bool user;
  if (m->claims && !read_actors(m, tenant, &actors)) return false;
  for (size_t i = 1; i < actors.count; i++)
    if (str_eq(actors.ids[i], agent))
      return invalid(m, FAULT_IDENTITY_INVALID, "the agent of the token has acted before (act)");
  struct buf b;
  buf_init(&b, 64 << 10);
  struct json_writer w = json_writer(&b);
  str origin = origin_of(m, &user);
  json_begin_array(&w);
  bool acts = agent.n && !(actors.count && str_eq(actors.ids[0], agent));
  // Number of principals that follow the next one; only the last principal gets the workload.
  size_t left = actors.count + acts;
  put_principal(&w, user ? "user" : "service", origin, tenant, left ? STR_NONE : workload);
  for (size_t i = actors.count; i-- > 0;)
    put_principal(&w, "agent", actors.ids[i], tenant, --left ? STR_NONE : workload);
  if (acts) put_principal(&w, "agent", agent, tenant, workload);
  json_end_array(&w);
  edit(m, STR("principals"), arena_str(m->arena, buf_view(&b)));
  buf_done(&b);
  // The user of the governance file is not the origin of a token.
  if (m->claims) edit(m, STR("user"), user ? object_with_id(m, origin) : STR_NONE);
  return true;
}

// ---- the context

// Writes the run context to *out, as JSON. Returns false if the token makes it invalid.
static bool make(struct making *m, str *out) {
  struct fault f;
  if (m->source->claims.p) {
    m->claims = json_parse(m->arena, m->source->claims, &json_default_limits, &f);
    ASSERT(m->claims);  // valid JSON, because the claims were parsed when the token was verified
    for (size_t i = 0; i < m->governance->claim_count; i++)
      if (!take_claim(m, &m->governance->claims[i])) return false;
  }
  if (!take_scopes(m) || !put_principals(m)) return false;
  str run = member_of(m, STR("run_id"));
  if (run.p) edit(m, STR("run"), object_with_id(m, run));
  edit(m, STR("agent"), json_escaped(m->arena, m->source->agent));
  // Without a workload token, removes `workload`, so that only a verified token can set this member.
  edit(m, STR("workload"), m->source->workload.p ? json_escaped(m->arena, m->source->workload) : STR_NONE);
  *out = json_edited(m->arena, m->base->context, m->edits, m->edit_count);
  return true;
}

static void free_run(struct governance *g, struct run_context *r) {
  ASSERT(!r->refs);
  ASSERT(map_remove(&g->runs, r->key) == r);
  list_remove(&r->idle);
  r->magic = 0;
  arena_done(&r->arena);
  mem_free(r);
}

static struct run_context *find(struct governance *g, str key) {
  struct run_context *r = map_find(&g->runs, key);
  if (!r) return NULL;
  ASSERT_MAGIC(r, RUN_MAGIC);
  if (r->refs) return r;
  list_remove(&r->idle);
  list_push(&g->idle_runs, &r->idle);
  return r;
}

static str canonical_of(const struct json *v, struct arena *a) {
  struct buf b;
  struct fault f;
  buf_init(&b, SIZE_MAX / 2);
  str text = json_canon(&b, v, JSON_CANON_JCS, &f) ? arena_str(a, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return text;
}

// The gateway keeps the ids of many runs, so an id must be short.
static bool read_run_id(const struct json *context, struct arena *a, str *out, struct fault *why) {
  if (!json_string(json_get(context, STR("run_id")), a, out) || governance_is_id(*out)) return true;
  fault_set(why, FAULT_INVALID, "run_id must have 1 to %d bytes and no control characters", GOVERNANCE_ID_MAX);
  return false;
}

static struct run_context *create(struct governance *g, str text, str agent, struct fault *f) {
  struct run_context *r = MEM_NEW(struct run_context);
  r->magic = RUN_MAGIC;
  r->governance = g;
  arena_init(&r->arena);
  r->key = arena_str(&r->arena, text);
  const struct json *context = json_parse(&r->arena, r->key, &json_default_limits, f);
  struct fault why;
  if (!context || !governance_check_context(context, &why) || !read_run_id(context, &r->arena, &r->id, &why)) {
    fault_set(f, FAULT_IDENTITY_INVALID, "the claims of the token make an invalid context: %s",
              context ? why.message : "it is not JSON");
    arena_done(&r->arena);
    mem_free(r);
    return NULL;
  }
  governance_agent_settle(&r->governed, context, &r->arena);
  governance_agent_look(g, &r->governed, &r->arena);
  r->canonical = canonical_of(context, &r->arena);
  run_budget_read(json_get(context, STR("budget")), &r->budget);
  json_bool(json_get(context, STR("evidence_required")), &r->wants_evidence);
  r->agent = arena_str(&r->arena, agent);
  str tenant = r->governed.subject.tenant;
  if (agent.n) r->owner = arena_printf(&r->arena, "%zu %.*s %.*s", tenant.n, STR_ARG(tenant), STR_ARG(agent));
  list_init(&r->idle);
  list_push(&g->idle_runs, &r->idle);
  ASSERT(map_add(&g->runs, r->key, r));
  // The most recently used contexts stay valid for callers without a reference. Free the least recently used one.
  if (map_count(&g->runs) > IDLE_RUNS && g->idle_runs.next->next != &g->idle_runs) {
    struct run_context *oldest = CONTAINER_OF(g->idle_runs.next, struct run_context, idle);
    if (oldest != r) free_run(g, oldest);
  }
  return r;
}

struct run_context *run_context_get(struct governance *g, const struct run_source *s, struct fault *f) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  struct arena a;
  arena_init(&a);
  if (!g->runs_ready) {
    map_init(&g->runs, s->seed);
    list_init(&g->idle_runs);
    g->runs_ready = true;
  }
  struct making m = {.governance = g, .source = s, .base = governance_agent_get(g, s->agent), .arena = &a, .fault = f};
  str text;
  struct run_context *r = NULL;
  if (make(&m, &text)) {
    r = find(g, text);
    if (!r) r = create(g, text, s->agent, f);
  }
  arena_done(&a);
  return r;
}

struct run_context *run_context_ref(struct run_context *r) {
  ASSERT_MAGIC(r, RUN_MAGIC);
  if (!r->refs++) {
    list_remove(&r->idle);
    governance_ref(r->governance);
  }
  return r;
}

void run_context_unref(struct run_context **run) {
  struct run_context *r = *run;
  *run = NULL;
  if (!r) return;
  ASSERT_MAGIC(r, RUN_MAGIC);
  ASSERT(r->refs > 0);
  if (--r->refs) return;
  struct governance *g = r->governance;
  list_push(&g->idle_runs, &r->idle);
  governance_unref(&g);  // frees r if this was the last reference
}

void run_contexts_free(struct governance *g) {
  if (!g->runs_ready) return;
  while (!list_empty(&g->idle_runs)) free_run(g, CONTAINER_OF(g->idle_runs.next, struct run_context, idle));
  ASSERT(!map_count(&g->runs));  // a context with references has a reference to the governance
  map_done(&g->runs);
}

// ---- budgets

static bool read_limit(const struct json *v, const char *key, uint64_t *out) {
  const struct json *n = json_get(v, str_of(key));
  return !n || json_is(n, JSON_NULL) || (exact_count(n, out) && *out > 0);
}

bool run_budget_read(const struct json *v, struct run_budget *out) {
  static const str known[] = {STR("max_calls"), STR("max_wall_ms"), STR("max_call_ms"), STR("max_cost")};
  *out = (struct run_budget){.max_cost = -1};
  if (!v || json_is(v, JSON_NULL)) return true;
  if (!json_is(v, JSON_OBJECT)) return false;
  JSON_EACH(it, v)
    if (!json_key_in(it, known, sizeof known / sizeof *known)) return false;
  const struct json *cost = json_get(v, STR("max_cost"));
  if (cost && !json_is(cost, JSON_NULL) && !(json_double(cost, &out->max_cost) && out->max_cost >= 0)) return false;
  return read_limit(v, "max_calls", &out->max_calls) && read_limit(v, "max_wall_ms", &out->max_wall_ms) &&
         read_limit(v, "max_call_ms", &out->max_call_ms);
}

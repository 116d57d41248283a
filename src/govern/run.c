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
  EDITS = GOVERNANCE_CLAIMS_MAX + 6,
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

static str list_of_words(struct arena *a, const struct json *v) {
  struct buf b;
  str name, rest;
  buf_init(&b, 4 * CLAIM_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  if (json_string(v, a, &rest))
    for (bool more = true; more;) {
      more = str_cut(rest, ' ', &name, &rest);
      if (name.n) json_put_str(&w, name);
    }
  json_end_array(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static bool take_claim(struct making *m, const struct governance_claim *claim) {
  const struct json *v = find_claim(m, claim->name);
  if (!v) return true;
  if (json_is_folded(v) || v->n > CLAIM_BYTES)
    return invalid(m, FAULT_IDENTITY_INVALID, "a claim of the token is larger than 4096 bytes");
  if (str_eq(claim->member, STR("safety_mode"))) return take_mode(m, v);
  if (str_eq(claim->member, STR("tenant"))) return take_tenant(m, v);
  if (str_eq(claim->member, STR("budget"))) return take_budget(m, v);
  if (str_eq(claim->member, STR("scopes")) && json_is(v, JSON_STRING))
    edit(m, claim->member, list_of_words(m->arena, v));
  else edit(m, claim->member, json_span(v));
  return true;
}

// By default, the scopes are those of the claim `scope` or `scp`.
static void take_scopes(struct making *m) {
  const struct json *scope = find_claim(m, STR("scope")), *list = find_claim(m, STR("scp"));
  if (scope && scope->n > CLAIM_BYTES) return;
  if (json_is(scope, JSON_STRING)) edit(m, STR("scopes"), list_of_words(m->arena, scope));
  else if (json_is(list, JSON_STRING)) edit(m, STR("scopes"), list_of_words(m->arena, list));
  else if (json_is(list, JSON_ARRAY)) edit(m, STR("scopes"), json_span(list));
  else edit(m, STR("scopes"), STR("[]"));
}

// ---- principals

// Returns whether every word of `child` is in `parent`. Both are lists of words separated by blanks.
static bool scopes_within(str child, str parent) {
  str word, rest = child;
  for (bool more = true; more;) {
    more = str_cut(rest, ' ', &word, &rest);
    if (!word.n) continue;
    str other, others = parent;
    bool found = false;
    for (bool left = true; left && !found;) {
      left = str_cut(others, ' ', &other, &others);
      found = str_eq(word, other);
    }
    if (!found) return false;
  }
  return true;
}

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
  str claim = governance_tenant_claim(m->governance), scope, child = STR_NONE;
  json_string(json_get(m->claims, STR("scope")), m->arena, &child);
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
    if (json_string(json_get(act, STR("scope")), m->arena, &scope)) {
      if (child.p && !scopes_within(child, scope))
        return invalid(m, FAULT_IDENTITY_INVALID, "an actor of the token has wider scopes than the actor before it");
      child = scope;
    }
    out->ids[out->count++] = id;
  }
  return true;
}

// Returns the id of the user or service from which the requests come. Sets *out_user to whether this is a user.
static str origin_of(const struct making *m, bool *out_user) {
  str id = STR_NONE, client = STR_NONE;
  const struct json *user = json_get(m->base->context, STR("user"));
  *out_user = true;
  if (m->claims) {
    json_string(json_get(m->claims, STR("sub")), m->arena, &id);
    const struct json *by = json_get(m->claims, STR("client_id"));
    json_string(by ? by : json_get(m->claims, STR("azp")), m->arena, &client);
    *out_user = !(client.p && str_eq(id, client));
    return id;
  }
  if (json_string(json_get(user, STR("id")), m->arena, &id) ||
      json_string(json_get(user, STR("user_id")), m->arena, &id))
    return id;
  *out_user = !m->source->credential.p;
  return m->source->credential.p ? m->source->credential : STR("local");
}

static str tenant_of(const struct making *m) {
  str tenant = m->base->subject.tenant;
  for (size_t i = 0; i < m->edit_count; i++)
    if (str_eq(m->edits[i].key, STR("tenant"))) {
      struct fault f;
      json_string(json_parse(m->arena, m->edits[i].raw, &json_default_limits, &f), m->arena, &tenant);
    }
  return tenant;
}

static bool put_principals(struct making *m) {
  struct actors actors = {0};
  str tenant = tenant_of(m), agent = m->source->agent, workload = m->source->workload;
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
  if (m->claims && user)
    edit(m, STR("user"), arena_printf(m->arena, "{\"id\":%.*s}", STR_ARG(json_escaped(m->arena, origin))));
  return true;
}

// ---- the context

// Writes the run context to *out, as JSON. Returns false if the token makes it invalid.
static bool make(struct making *m, str *out) {
  struct fault f;
  if (m->source->claims.p) {
    m->claims = json_parse(m->arena, m->source->claims, &json_default_limits, &f);
    ASSERT(m->claims);  // valid JSON, because the claims were parsed when the token was verified
    take_scopes(m);
    for (size_t i = 0; i < m->governance->claim_count; i++)
      if (!take_claim(m, &m->governance->claims[i])) return false;
  }
  if (!put_principals(m)) return false;
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

static struct run_context *create(struct governance *g, str text, str agent, struct fault *f) {
  struct run_context *r = MEM_NEW(struct run_context);
  r->magic = RUN_MAGIC;
  r->governance = g;
  arena_init(&r->arena);
  r->key = arena_str(&r->arena, text);
  const struct json *context = json_parse(&r->arena, r->key, &json_default_limits, f);
  struct fault why;
  if (!context || !governance_check_context(context, &why)) {
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
  json_string(json_get(context, STR("run_id")), &r->arena, &r->id);
  json_bool(json_get(context, STR("evidence_required")), &r->wants_evidence);
  r->agent = arena_str(&r->arena, agent);
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

// SPDX-License-Identifier: Apache-2.0
// Reads the adapters of a governance file and their capabilities.
#include "base/ascii.h"
#include "base/assert.h"
#include "govern/govern_impl.h"
#include "govern/versions.h"
#include "schema/exact.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const types[] = {"MCP", "A2A", "OPENAPI", "FUNCTION", "CUSTOM", NULL};
static const char *const idempotencies[] = {"required", "native", NULL};
static const char *const classes[] = {"observe", "recall", "think_support", "act", "verify", NULL};

const char *const governance_outputs[] = {"off", "warn", "enforce", NULL};

// ---- retry, risk, schemas

static void read_attempts(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  uint64_t n = 0;
  if (exact_count(v, &n) && n >= 1 && n <= GOVERNANCE_ATTEMPTS_MAX) *(uint64_t *)to = n;
  else governance_report(r, pointer, "must be a whole number from 1 to %d", GOVERNANCE_ATTEMPTS_MAX);
}

static void read_retry(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  static const struct governance_field fields[] = {
      {"max_attempts", read_attempts, offsetof(struct governance_retry, max_attempts), true, NULL},
      {"base_delay", governance_seconds, offsetof(struct governance_retry, base_delay), false, NULL},
      {"max_delay", governance_seconds, offsetof(struct governance_retry, max_delay), false, NULL},
  };
  struct governance_retry *retry = to;
  *retry = (struct governance_retry){.set = true, .max_attempts = 1, .base_delay = -1, .max_delay = -1};
  governance_read_members(r, pointer, v, fields, COUNT(fields), retry);
}

// Allowed values of each dimension. The first value, "", stands for an absent dimension.
static const char *const effects[] = {"", "none", "local_state", "external_state", "physical_world", NULL};
static const char *const authorities[] = {"", "agent", "service", "user_delegated", "human_approved", NULL};
static const char *const reversibilities[] = {"", "read_only", "reversible", "compensatable", "irreversible", NULL};
static const char *const interactions[] = {"", "api", "browser", "computer", "agent_to_agent", "human_handoff", NULL};
static const char *const data_scopes[] = {"", "public", "internal", "confidential", "restricted", NULL};

static void read_dimension(struct governance_reader *r, str pointer, const struct json *v,
                           const struct governance_field *f, void *to) {
  struct governance_field from_first = *f;
  from_first.words = f->words + 1;
  governance_choice(r, pointer, v, &from_first, to);
  ++*(uint8_t *)to;
}

static void read_risk(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                      void *to) {
  static const struct governance_field fields[] = {
      {"effect", read_dimension, offsetof(struct governance_risk, effect), false, effects},
      {"authority", read_dimension, offsetof(struct governance_risk, authority), false, authorities},
      {"reversibility", read_dimension, offsetof(struct governance_risk, reversibility), false, reversibilities},
      {"interaction", read_dimension, offsetof(struct governance_risk, interaction), false, interactions},
      {"data_scope", read_dimension, offsetof(struct governance_risk, data_scope), false, data_scopes},
  };
  governance_read_members(r, pointer, v, fields, COUNT(fields), to);
}

// Reads the pin of a schema: "sha256:" and 64 hexadecimal digits.
static void read_pin(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                     void *to) {
  str text = STR(""), prefix = STR("sha256:");
  json_string(v, r->arena, &text);
  bool ok = str_starts(text, prefix) && text.n == prefix.n + 64;
  for (size_t i = prefix.n; ok && i < text.n; i++)
    ok = ascii_is_digit(text.p[i]) || (text.p[i] >= 'a' && text.p[i] <= 'f');
  if (ok) *(str *)to = text;
  else governance_report(r, pointer, "must be \"sha256:\" and 64 hexadecimal digits");
}

// ---- capabilities

#define AT(member) offsetof(struct governance_capability, member)
static const struct governance_field capability_fields[] = {
    {"name", governance_id, AT(name), true, NULL},
    {"class", governance_choice, AT(class), true, classes},
    {"approval_mode", governance_mode, AT(mode), true, NULL},
    {"provisional", governance_flag, AT(provisional), false, NULL},
    {"scopes", governance_texts, AT(scopes), false, NULL},
    {"claims", governance_texts, AT(claims), false, NULL},
    {"evidence", governance_texts, AT(evidence), false, NULL},
    {"description", governance_text, AT(description), false, NULL},
    {"domain", governance_id, AT(domain), false, NULL},
    {"environment", governance_id, AT(environment), false, NULL},
    {"input_schema", read_pin, AT(input_schema), false, NULL},
    {"output_schema", read_pin, AT(output_schema), false, NULL},
    {"default_idempotency", governance_choice, AT(idempotency), false, idempotencies},
    {"timeout_ms", governance_count, AT(timeout_ms), false, NULL},
    {"cost", governance_cost, AT(cost), false, NULL},
    {"retry", read_retry, AT(retry), false, NULL},
    {"risk", read_risk, AT(risk), false, NULL},
    {"flow", governance_read_marks, AT(flow), false, NULL},
};
#undef AT

static void read_capability(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct governance_capability *c = into;
  c->pointer = pointer;
  c->idempotency = IDEMPOTENCY_OF_ADAPTER;
  c->class = CLASS_NONE;
  c->mode = APPROVAL_NONE;
  governance_read_members(r, pointer, v, capability_fields, COUNT(capability_fields), c);
  if (c->flow) c->flow_pointer = arena_printf(r->arena, "%.*s/flow", STR_ARG(pointer));
  if (c->class != CLASS_NONE && c->mode != APPROVAL_NONE && !approval_mode_fits(c->class, c->mode))
    governance_report(r, pointer, "CLASS_MODE_CONFLICT: a capability of class %s cannot have the approval mode %s",
                      capability_class_name(c->class), approval_mode_name(c->mode));
  // A hint of the server cannot lower the mode of a capability that has an effect.
  if (c->provisional && c->class == CLASS_ACT) c->mode = APPROVAL_DESTRUCTIVE;
}

// The capabilities of one adapter. gather_capabilities later joins the lists of all adapters.
struct adapter_capabilities {
  struct governance_capability *list;
  size_t count;
};

static void read_capabilities(struct governance_reader *r, str pointer, const struct json *v,
                              const struct governance_field *f, void *to) {
  struct adapter_capabilities *own = to;
  own->list = governance_read_list(r, pointer, v, sizeof(struct governance_capability), read_capability, &own->count);
}

// ---- adapters

struct adapter_entry {
  struct governance_adapter adapter;
  struct adapter_capabilities capabilities;
};

#define AT(member) offsetof(struct adapter_entry, member)
static const struct governance_field adapter_fields[] = {
    {"adapter_id", governance_id, AT(adapter.adapter_id), true, NULL},
    {"type", governance_choice, AT(adapter.type), true, types},
    {"server", governance_id, AT(adapter.server), false, NULL},
    {"owner", governance_id, AT(adapter.owner), false, NULL},
    {"description", governance_text, AT(adapter.description), false, NULL},
    {"endpoint_ref", governance_id, AT(adapter.endpoint_ref), false, NULL},
    {"domain", governance_id, AT(adapter.domain), false, NULL},
    {"environment", governance_id, AT(adapter.environment), false, NULL},
    {"version", governance_id, AT(adapter.version), false, NULL},
    {"protocol", governance_id, AT(adapter.protocol), false, NULL},
    {"protocol_version", governance_id, AT(adapter.protocol_version), false, NULL},
    {"transport", governance_id, AT(adapter.transport), false, NULL},
    {"default_idempotency", governance_choice, AT(adapter.idempotency), false, idempotencies},
    {"timeout_ms", governance_count, AT(adapter.timeout_ms), false, NULL},
    {"output_schemas", governance_choice, AT(adapter.output_schemas), false, governance_outputs},
    {"retry", read_retry, AT(adapter.retry), false, NULL},
    {"sign_metadata", governance_flag, AT(adapter.signs), false, NULL},
    {"versions", governance_read_versions, AT(adapter.versions), false, NULL},
    {"capabilities", read_capabilities, AT(capabilities), true, NULL},
};
#undef AT

static void read_adapter(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  struct adapter_entry *e = into;
  e->adapter.pointer = pointer;
  e->adapter.output_schemas = OUTPUT_OF_FILE;
  governance_read_members(r, pointer, v, adapter_fields, COUNT(adapter_fields), e);
  // A capability's id is adapter_id.name. If adapter_id had a dot, two capabilities could have the same id.
  if (e->adapter.adapter_id.n && memchr(e->adapter.adapter_id.p, '.', e->adapter.adapter_id.n))
    governance_report(r, pointer, "adapter_id must not contain a dot");
}

// Makes the index of the servers. Checks that every server belongs to one adapter or version only, and that versions of
// an adapter differ.
static void index_servers(struct governance_reader *r) {
  struct governance *g = r->governance;
  size_t total = g->adapter_count, count = 0;
  for (size_t i = 0; i < g->adapter_count; i++) total += g->adapters[i].versions.count;
  struct governance_named *servers = ARENA_ARRAY(r->arena, struct governance_named, total);
  for (size_t i = 0; i < g->adapter_count; i++) {
    const struct governance_adapter *a = &g->adapters[i];
    if (a->server.p) servers[count++] = (struct governance_named){a->server, a->pointer, &g->adapters[i], 0};
    else if (a->versions.count) governance_report(r, a->pointer, "needs the member \"server\" to have versions");
    g->versioned |= a->versions.count > 0;
    for (size_t k = 0; k < a->versions.count; k++) {
      const struct governance_version *v = &a->versions.list[k];
      servers[count++] = (struct governance_named){v->server, v->pointer, &g->adapters[i], 0};
      bool twice = a->version.p && str_eq(v->version, a->version);
      for (size_t n = 0; n < k; n++) twice |= str_eq(a->versions.list[n].version, v->version);
      if (twice) governance_report(r, v->pointer, "the version \"%.*s\" is used twice", STR_ARG(v->version));
    }
  }
  governance_sort_unique(r, servers, count, "server");
  g->servers = servers;
  g->server_count = count;
}

static void check_adapter_ids(struct governance_reader *r) {
  struct governance *g = r->governance;
  struct governance_named *ids = ARENA_ARRAY(r->arena, struct governance_named, g->adapter_count);
  for (size_t i = 0; i < g->adapter_count; i++)
    ids[i] = (struct governance_named){g->adapters[i].adapter_id, g->adapters[i].pointer, &g->adapters[i], 0};
  governance_sort_unique(r, ids, g->adapter_count, "adapter_id");
  index_servers(r);
}

// Collects the capabilities of all adapters in one list, sets the id of each capability, and sorts the list by id.
static void gather_capabilities(struct governance_reader *r, struct adapter_entry *entries) {
  struct governance *g = r->governance;
  size_t total = 0, n = 0;
  for (size_t i = 0; i < g->adapter_count; i++) total += entries[i].capabilities.count;
  struct governance_named *ids = ARENA_ARRAY(r->arena, struct governance_named, total);
  for (size_t i = 0; i < g->adapter_count; i++)
    for (size_t k = 0; k < entries[i].capabilities.count; k++) {
      struct governance_capability *c = &entries[i].capabilities.list[k];
      c->adapter = &g->adapters[i];
      if (c->idempotency == IDEMPOTENCY_OF_ADAPTER) c->idempotency = c->adapter->idempotency;
      if (!c->environment.p) c->environment = c->adapter->environment;
      if (!c->retry.set) c->retry = c->adapter->retry;
      c->id = arena_printf(r->arena, "%.*s.%.*s", STR_ARG(c->adapter->adapter_id), STR_ARG(c->name));
      c->id_json = json_escaped(r->arena, c->id);
      ids[n++] = (struct governance_named){c->id, c->pointer, c, 0};
    }
  ASSERT(n == total);
  governance_sort_unique(r, ids, total, "capability");
  g->capabilities = ARENA_ARRAY(r->arena, struct governance_capability, total);
  g->capability_count = total;
  for (size_t i = 0; i < total; i++) g->capabilities[i] = *(struct governance_capability *)ids[i].object;
}

// Returns the adapters of a list and, after these, the adapters of an object.
static struct adapter_entry *read_entries(struct governance_reader *r, const struct json *adapters,
                                          const struct json *manifests, size_t *out_count) {
  size_t more = json_is(manifests, JSON_OBJECT) ? manifests->count : 0, count = 0;
  struct adapter_entry *listed = NULL;
  if (adapters) listed = governance_read_list(r, STR("/adapters"), adapters, sizeof *listed, read_adapter, &count);
  if (manifests && !json_is(manifests, JSON_OBJECT))
    governance_report(r, STR("/manifests"), "must be a list of files, which cannot be read here, or an object");
  struct adapter_entry *all = arena_zero(r->arena, sizeof *all * (count + more));
  if (count) memcpy(all, listed, sizeof *all * count);
  if (more)
    JSON_EACH(it, manifests) read_adapter(r, governance_below(r, STR("/manifests"), it), it, &all[count++]);
  *out_count = count;
  return all;
}

void governance_read_adapters(struct governance_reader *r, const struct json *adapters, const struct json *manifests) {
  struct governance *g = r->governance;
  struct adapter_entry *entries = read_entries(r, adapters, manifests, &g->adapter_count);
  g->adapters = ARENA_ARRAY(r->arena, struct governance_adapter, g->adapter_count);
  for (size_t i = 0; i < g->adapter_count; i++) g->adapters[i] = entries[i].adapter;
  check_adapter_ids(r);
  gather_capabilities(r, entries);
}

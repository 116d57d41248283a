// SPDX-License-Identifier: Apache-2.0
#include "govern/versions.h"

#include "base/assert.h"
#include "base/buf.h"
#include "govern/govern_impl.h"

enum { VERSIONS_MAX = 16, SHARES = 1000000 };

// ---- reading

static void read_share(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  double share;
  if (json_double(v, &share) && share > 0 && share <= 100) *(double *)to = share;
  else governance_report(r, pointer, "must be a percentage above 0 and of at most 100");
}

#define AT(member) offsetof(struct governance_version, member)
static void read_version(struct governance_reader *r, str pointer, const struct json *v, void *into) {
  static const struct governance_field fields[] = {
      {"version", governance_id, AT(version), true, NULL},
      {"server", governance_id, AT(server), true, NULL},
      {"environments", governance_texts, AT(environments), false, NULL},
      {"tenants", governance_texts, AT(tenants), false, NULL},
      {"share", read_share, AT(share), false, NULL},
  };
  struct governance_version *version = into;
  version->pointer = pointer;
  version->share = 100;
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, version);
}
#undef AT

void governance_read_versions(struct governance_reader *r, str pointer, const struct json *v,
                              const struct governance_field *f, void *to) {
  struct governance_versions *out = to;
  if (json_is(v, JSON_ARRAY) && v->count > VERSIONS_MAX) {
    governance_report(r, pointer, "must have at most %d versions", VERSIONS_MAX);
    return;
  }
  out->list = governance_read_list(r, pointer, v, sizeof *out->list, read_version, &out->count);
}

// ---- use

const struct governance_version *governance_version_of(const struct governance *g, str server) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  const struct governance_adapter *a = g->versioned ? governance_adapter_of(g, server) : NULL;
  for (size_t i = 0; a && i < a->versions.count; i++)
    if (str_eq(a->versions.list[i].server, server)) return &a->versions.list[i];
  return NULL;
}

const struct governance_adapter *governance_versioned(const struct governance *g, str server) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  const struct governance_adapter *a = g->versioned ? governance_adapter_of(g, server) : NULL;
  return a && a->versions.count ? a : NULL;
}

static bool names_have(const struct governance_names *names, str name) {
  if (!names->list) return true;
  for (size_t i = 0; name.p && i < names->count; i++)
    if (str_eq(names->list[i], name)) return true;
  return false;
}

// Returns whether a run is in the version's share of all runs. The key of the hash is constant, so that a run keeps its
// version after a restart and in other gateways.
static bool in_share(const struct governance_adapter *a, const struct governance_version *v, str run) {
  static const struct hash_key key = {UINT64_C(0x76657273696f6e73), UINT64_C(0x63616e617279)};
  struct buf b;
  if (v->share >= 100) return true;
  buf_init(&b, a->adapter_id.n + v->version.n + run.n + 64);
  buf_printf(&b, "%zu %.*s %zu %.*s %.*s", a->adapter_id.n, STR_ARG(a->adapter_id), v->version.n, STR_ARG(v->version),
             STR_ARG(run));
  uint64_t place = hash_sip(&key, buf_view(&b)) % SHARES;
  buf_done(&b);
  return (double)place * 100 < v->share * SHARES;
}

const struct governance_version *governance_choose_version(const struct governance_adapter *a, str environment,
                                                           str tenant, str run, size_t from) {
  for (size_t i = from; i < a->versions.count; i++) {
    const struct governance_version *v = &a->versions.list[i];
    if (names_have(&v->environments, environment) && names_have(&v->tenants, tenant) && in_share(a, v, run)) return v;
  }
  return NULL;
}

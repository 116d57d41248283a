// SPDX-License-Identifier: Apache-2.0
// The governance file, YAML or JSON: reads it, and compares it with the configured servers.
#include "app/config/config_load.h"
#include "app/config/config_manifests.h"
#include "base/assert.h"
#include "govern/run.h"
#include "govern/signing.h"
#include "govern/versions.h"

struct governance_reading {
  struct config_loader *loader;
  str file;
  struct manifests manifests;
};

static void on_problem(void *ctx, str pointer, const char *message) {
  struct governance_reading *r = ctx;
  struct config_place at = config_manifests_place(&r->manifests, r->file, pointer);
  config_error(r->loader, &at, "%s", message);
}

// Reads the keys that sign decisions. Relative paths refer to the folder of the governance file.
static bool read_keys(struct config_loader *l, struct governance *g, str file, str folder) {
  bool ok = true;
  for (size_t i = 0; i < governance_key_count(g); i++) {
    struct config_document d;
    struct fault f;
    str pointer, name = governance_key_file(g, i, &pointer);
    str by = arena_printf(&l->work, "%.*s:%.*s", STR_ARG(file), STR_ARG(pointer));
    bool open = config_file_open(l, config_path(l, name, folder, &l->work), by, &d), set = false;
    if (open) {
      struct config_place at = {d.file, STR_NONE};
      set = governance_key_set(g, i, (str){d.text, d.text_n}, &f);
      if (!set) config_error(l, &at, "%s (%.*s)", f.message, STR_ARG(by));
      else if (d.world_readable && governance_key_signs(g, i))
        config_warn(l, &at, "every user of this machine can read this key, and sign with it: chmod o-r");
      config_document_done(&d);
    }
    ok = ok && set;
  }
  return ok;
}

static void check_servers(struct governance_reading *r, const struct governance *g);

// Reads a governance file with its manifests, with the adapters of `config` (the configuration file, or NULL) and, if
// `with_keys` is set, with the keys that it names. If a file cannot be read or has an error, reports the problems and
// returns NULL.
static struct governance *read_document(struct config_loader *l, const struct config_document *d,
                                        const struct config_document *config, bool with_keys) {
  struct governance *g = NULL;
  struct governance_reading r = {.loader = l, .file = d->file};
  l->max_file = GOVERNANCE_BYTES_MAX;
  const struct json *joined = config_manifests_join(l, d, config, &r.manifests);
  if (joined) g = governance_read(joined, on_problem, &r);
  if (g && with_keys && !read_keys(l, g, d->file, d->folder)) governance_unref(&g);
  if (g && !config_webhooks_read(l, g, d, l->config != NULL)) governance_unref(&g);
  if (g) config_skills_read(l, g, d);
  if (g && l->config && !l->opt->serverless) check_servers(&r, g);
  l->max_file = 0;
  return g;
}

static struct governance *read_file(struct config_loader *l, str path, str named_by,
                                    const struct config_document *config, bool with_keys) {
  struct config_document d;
  struct governance *g = NULL;
  l->max_file = GOVERNANCE_BYTES_MAX;
  if (config_document_open(l, path, named_by, &d)) {
    g = read_document(l, &d, config, with_keys);
    config_document_done(&d);
  }
  l->max_file = 0;
  return g;
}

// Returns the governance file that a configuration file names, or STR_NONE if `d` is no such file.
static str named_file(struct config_loader *l, const struct config_document *d) {
  str text = STR_NONE;
  if (!json_is(d->root, JSON_OBJECT) || !json_string(json_get(d->root, STR("governance")), &l->work, &text))
    return STR_NONE;
  return config_path(l, text, d->folder, &l->work);
}

// Reads the governance file `path`, or the one that the configuration file `path` names.
static struct governance *load_alone(const char *path, str named_by, bool with_keys, const char *skill,
                                     struct config_problems *problems) {
  struct config_options opt = {.skill = skill};
  struct config_loader l = {.problems = problems, .opt = &opt};
  struct config_document d;
  struct governance *g = NULL;
  arena_init(&l.work);
  l.max_file = GOVERNANCE_BYTES_MAX;
  if (config_document_open(&l, str_of(path), named_by, &d)) {
    str named = named_file(&l, &d), by = arena_printf(&l.work, "%.*s:/governance", STR_ARG(d.file));
    g = named.n ? read_file(&l, named, by, &d, with_keys) : read_document(&l, &d, NULL, with_keys);
    config_document_done(&d);
  }
  arena_done(&l.work);
  return g;
}

str config_governance_path(const char *path, struct arena *a) {
  struct config_problems ignored;
  struct config_options opt = {0};
  struct config_loader l = {.problems = &ignored, .opt = &opt, .max_file = GOVERNANCE_BYTES_MAX};
  struct config_document d;
  str named = STR_NONE;
  config_problems_init(&ignored);
  arena_init(&l.work);
  if (config_document_open(&l, str_of(path), STR("the command line"), &d)) {
    named = arena_str(a, named_file(&l, &d));
    config_document_done(&d);
  }
  arena_done(&l.work);
  config_problems_done(&ignored);
  return named.n ? named : str_of(path);
}

struct governance *config_load_governance(const char *path, str named_by, struct config_problems *problems) {
  return load_alone(path, named_by, false, NULL, problems);
}

struct governance *config_load_skill(const char *path, str named_by, const char *skill,
                                     struct config_problems *problems) {
  return load_alone(path, named_by, false, skill, problems);
}

struct governance *config_load_signing(const char *path, str named_by, struct config_problems *problems) {
  return load_alone(path, named_by, true, NULL, problems);
}

static void warn_unknown(struct governance_reading *r, str pointer, str server) {
  struct config_place at = config_manifests_place(&r->manifests, r->file, pointer);
  if (!config_has_server(r->loader->config, server))
    config_warn(r->loader, &at, "there is no server \"%.*s\"", STR_ARG(server));
}

// Warns about each adapter whose server is not configured, and about each configured server without an adapter.
static void check_servers(struct governance_reading *r, const struct governance *g) {
  const struct config *c = r->loader->config;
  for (size_t i = 0; i < governance_adapter_count(g); i++) {
    const struct governance_adapter *a = governance_adapter_at(g, i);
    if (a->server.p) warn_unknown(r, a->pointer, a->server);
    for (size_t k = 0; k < a->versions.count; k++)
      warn_unknown(r, a->versions.list[k].pointer, a->versions.list[k].server);
  }
  for (size_t i = 0; i < c->upstream_count; i++)
    if (!governance_governs(g, c->upstreams[i].name))
      config_warn(r->loader, &(struct config_place){r->file, STR("/adapters")},
                  governance_unlisted(g) == UNLISTED_DENY
                      ? "no adapter governs the server \"%.*s\": agents cannot use it"
                  : governance_unlisted(g) == UNLISTED_ALLOW
                      ? "no adapter governs the server \"%.*s\": its tools are not governed"
                      : "no adapter governs the server \"%.*s\": the modes of its tools are provisional",
                  STR_ARG(c->upstreams[i].name));
}

// Reports adapters in the configuration file if it names no governance file: without permissions, agents could not use
// the tools of these servers, so the adapters are probably a mistake.
static void refuse_adapters(struct config_loader *l, const struct config_document *d) {
  struct config_place all = {d->file, STR("/servers")};
  const struct json *servers = json_get(d->root, STR("servers"));
  if (json_is(servers, JSON_OBJECT))
    JSON_EACH(it, servers) {
      struct config_place entry = config_below(l, &all, json_key(it, &l->work));
      struct config_place at = config_below(l, &entry, STR("adapter"));
      if (config_server_adapter(it))
        config_error(l, &at, "needs the key \"governance\": name a governance file, which has the permissions");
    }
}

void config_governance_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  const struct config *before = l->opt->before;
  ASSERT(!c->governance);
  if (json_get(d->root, STR("governance"))) {
    str named_by = arena_printf(&l->work, "%.*s:/governance", STR_ARG(d->file));
    c->governance_file = arena_str(&c->arena, config_path(l, c->governance_file, d->folder, &l->work));
    c->governance = read_file(l, c->governance_file, named_by, d, true);
    if (c->governance) {
      str tenant = governance_tenant_claim(c->governance);
      c->jwt.tenant = tenant.p ? arena_str(&c->arena, tenant) : STR_NONE;
      c->jwt.keep_claims = true;
      if (governance_key_count(c->governance) && c->resource.n) governance_issuer_set(c->governance, c->resource);
    }
    return;
  }
  refuse_adapters(l, d);
  if (before && before->governance) {
    // Removing the key `governance` must not switch governance off while the gateway runs.
    config_error(l, &(struct config_place){before->config_file, STR("/governance")},
                 "the key was removed: the previous governance file stays in force; restart to serve without it");
  }
}

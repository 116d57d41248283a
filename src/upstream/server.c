// SPDX-License-Identifier: Apache-2.0
// One upstream by itself: what the configuration says of it, copied, and as the lower layers want it.
#include "base/assert.h"
#include "base/mem.h"
#include "io/proxy.h"
#include "io/tls.h"
#include "mcp/chain.h"
#include "upstream/snapshot.h"
#include "upstream/upstream_impl.h"

enum {
  HEADERS_MAX = 1 << 20,  // more than the configuration lets through
  MAX_OUT_CONNECTIONS = 4096,
};

// Identity, paths and locale; proxies and certificates.
static const char *const handed_on[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
};

static bool is_handed_on(const char *variable) {
  for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
    size_t n = strlen(handed_on[i]);
    if (strncmp(variable, handed_on[i], n) == 0 && variable[n] == '=') return true;
  }
  return false;
}

static bool overridden(const struct upstream_spec *spec, const char *variable) {
  str name, value;
  str_cut(str_of(variable), '=', &name, &value);
  for (size_t i = 0; i < spec->env_count; i++)
    if (str_eq(spec->env[i].name, name)) return true;
  return false;
}

// The minimal environment, and what is configured.
static const char **make_env(struct upstream *u) {
  const struct upstream_spec *spec = u->spec;
  size_t n = 0;
  size_t most = sizeof handed_on / sizeof *handed_on + spec->env_count + 2;
  const char **env = ARENA_ARRAY(&u->arena, const char *, most);
  for (char *const *e = u->all->opt.env; e && *e; e++)
    if (is_handed_on(*e) && !overridden(spec, *e)) env[n++] = *e;
  const struct chain *chain = u->all->opt.chain;
  if (chain) env[n++] = chain_variable(chain, &u->arena).p;
  for (size_t i = 0; i < spec->env_count; i++)
    if (!chain || !str_eq(spec->env[i].name, STR(CHAIN_VARIABLE)))
      env[n++] = arena_printf(&u->arena, "%.*s=%.*s", STR_ARG(spec->env[i].name), STR_ARG(spec->env[i].value)).p;
  return env;
}

static void prepare_child(struct upstream *u) {
  const struct upstream_spec *spec = u->spec;
  const char **argv = ARENA_ARRAY(&u->arena, const char *, spec->arg_count + 2);
  argv[0] = arena_cstr(&u->arena, spec->command);
  for (size_t i = 0; i < spec->arg_count; i++) argv[i + 1] = arena_cstr(&u->arena, spec->args[i]);
  u->child = (struct child_spec){
      .file = argv[0],
      .argv = argv,
      .envp = make_env(u),
      .cwd = spec->cwd.n ? arena_cstr(&u->arena, spec->cwd) : NULL,
  };
  install_prepare(u);
}

static bool prepare_http(struct upstream *u, struct fault *f) {
  struct upstreams *all = u->all;
  const struct upstream_spec *spec = u->spec;
  if (!http_url_parse(spec->url, &u->url)) {
    fault_set(f, FAULT_INVALID, "%.*s: not an http or https URL", STR_ARG(spec->name));
    return false;
  }
  if (u->url.tls && !all->tls) all->tls = tls_client_new(f);
  if (u->url.tls && !all->tls) return false;
  struct buf b;
  buf_init(&b, HEADERS_MAX);
  for (size_t i = 0; i < spec->header_count; i++)
    buf_printf(&b, "%.*s: %.*s\r\n", STR_ARG(spec->headers[i].name), STR_ARG(spec->headers[i].value));
  u->headers = arena_str(&u->arena, buf_view(&b));
  buf_done(&b);
  struct http_origin_options opt = {.max_connections = MAX_OUT_CONNECTIONS};
  if (!proxies_choose(all->opt.loop->proxies, &u->url, &opt.proxy, f)) return false;
  u->origin = http_origin_new(all->opt.loop, &u->url, u->url.tls ? all->tls : NULL, &opt);
  return true;
}

static bool prepare(struct upstream *u, struct fault *f) {
  switch (u->spec->transport) {
  case UPSTREAM_STDIO: prepare_child(u); return true;
  case UPSTREAM_SNAPSHOT: return true;
  case UPSTREAM_HTTP:
  case UPSTREAM_SSE:
  case UPSTREAM_HTTP_AUTO: break;
  }
  return prepare_http(u, f);
}

struct upstream *upstream_new(struct upstreams *all, unsigned index, const struct upstream_spec *spec,
                              struct fault *f) {
  struct upstream *u = MEM_NEW(struct upstream);
  u->all = all;
  u->index = index;
  arena_init(&u->arena);
  list_init(&u->lanes);
  for (int scope = 0; scope < LANE_SCOPES; scope++) map_init(&u->by_owner[scope], &all->opt.loop->seed);
  shares_init(&u->own, &all->opt.loop->seed, all->opt.max_own_lanes);
  struct upstream_spec *own = ARENA_ARRAY(&u->arena, struct upstream_spec, 1);
  spec_copy(own, spec, &u->arena);
  u->spec = own;
  if (spec->transport == UPSTREAM_STDIO) u->tail = tail_new();
  if (prepare(u, f)) return u;
  upstream_free(&u);
  return NULL;
}

void upstream_close(struct upstream *u) {
  while (!list_empty(&u->lanes)) {
    struct lane *lane = CONTAINER_OF(u->lanes.next, struct lane, node);
    lane_free(&lane);
  }
}

void upstream_free(struct upstream **upstream) {
  struct upstream *u = *upstream;
  if (!u) return;
  *upstream = NULL;
  ASSERT(list_empty(&u->lanes));
  for (int scope = 0; scope < LANE_SCOPES; scope++) map_done(&u->by_owner[scope]);
  shares_done(&u->own);
  profiles_forget(u);
  http_origin_free(&u->origin);
  tail_free(&u->tail);
  struct snapshot *file = u->spec->snapshot;
  snapshot_unref(&file);
  arena_done(&u->arena);
  mem_free(u);
}

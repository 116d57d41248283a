// SPDX-License-Identifier: Apache-2.0
#include "upstream/upstream.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/glob.h"
#include "base/mem.h"
#include "io/tls.h"
#include "upstream/upstream_impl.h"

enum {
  STOP_MS = 1000,
  STOP_TICK_MS = 10,
  HEADERS_MAX = 1 << 20,  // more than the configuration lets through
  MAX_OUT_CONNECTIONS = 4096,
};

// ---- what the configuration says, as the lower layers want it

static const char *const handed_on[] = {"PATH", "HOME",   "USER", "LOGNAME", "SHELL",
                                        "TERM", "TMPDIR", "TZ",   "LANG",    "LC_ALL"};

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
static const char **make_env(struct upstreams *all, const struct upstream_spec *spec) {
  size_t n = 0;
  const char **env = ARENA_ARRAY(&all->arena, const char *, sizeof handed_on / sizeof *handed_on + spec->env_count + 1);
  for (char *const *e = all->opt.env; e && *e; e++)
    if (is_handed_on(*e) && !overridden(spec, *e)) env[n++] = *e;
  for (size_t i = 0; i < spec->env_count; i++)
    env[n++] = arena_printf(&all->arena, "%.*s=%.*s", STR_ARG(spec->env[i].name), STR_ARG(spec->env[i].value)).p;
  return env;
}

static void prepare_child(struct upstreams *all, struct upstream *u) {
  const struct upstream_spec *spec = u->spec;
  const char **argv = ARENA_ARRAY(&all->arena, const char *, spec->arg_count + 2);
  argv[0] = arena_cstr(&all->arena, spec->command);
  for (size_t i = 0; i < spec->arg_count; i++) argv[i + 1] = arena_cstr(&all->arena, spec->args[i]);
  u->child = (struct child_spec){
      .file = argv[0],
      .argv = argv,
      .envp = make_env(all, spec),
      .cwd = spec->cwd.n ? arena_cstr(&all->arena, spec->cwd) : NULL,
  };
}

static bool prepare_http(struct upstreams *all, struct upstream *u, struct fault *f) {
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
  u->headers = arena_str(&all->arena, buf_view(&b));
  buf_done(&b);
  struct http_origin_options opt = {.max_connections = MAX_OUT_CONNECTIONS};
  u->origin = http_origin_new(all->opt.loop, &u->url, u->url.tls ? all->tls : NULL, &opt);
  return true;
}

static bool prepare(struct upstreams *all, struct upstream *u, struct fault *f) {
  switch (u->spec->transport) {
  case UPSTREAM_STDIO: prepare_child(all, u); return true;
  case UPSTREAM_SNAPSHOT: return true;
  case UPSTREAM_HTTP:
  case UPSTREAM_SSE:
  case UPSTREAM_HTTP_AUTO: break;
  }
  return prepare_http(all, u, f);
}

// ---- all of them

struct upstreams *upstreams_new(const struct upstreams_options *opt, const struct upstream_spec *specs, size_t count,
                                const struct upstreams_events *ev, void *ctx, struct fault *f) {
  struct upstreams *all = MEM_NEW(struct upstreams);
  all->opt = *opt;
  all->ev = ev;
  all->ctx = ctx;
  all->count = count;
  all->list = mem_zero(sizeof *all->list * (count + 1));
  arena_init(&all->arena);
  buf_init(&all->scratch, opt->max_message + 65536);
  bool ok = true;
  for (unsigned i = 0; i < count; i++) {
    struct upstream *u = &all->list[i];
    u->all = all;
    u->index = i;
    u->spec = &specs[i];
    list_init(&u->lanes);
    ok = ok && prepare(all, u, f);
  }
  profiles_init(all);
  if (!ok) upstreams_free(&all);
  return all;
}

static void free_lanes(struct upstreams *all);

static bool all_quiet(const struct upstreams *all) {
  for (size_t i = 0; i < all->count; i++)
    if (all->list[i].origin && !http_origin_quiet(all->list[i].origin)) return false;
  return true;
}

static void on_stop_tick(struct timer *t) {
  struct upstreams *all = CONTAINER_OF(t, struct upstreams, stop_timer);
  if (!all_quiet(all) && loop_now(all->opt.loop) < all->stop_at) {
    timer_start(all->opt.loop, t, STOP_TICK_MS);
    return;
  }
  all->stopped(all->stopped_ctx);
}

void upstreams_stop(struct upstreams *all, void (*stopped)(void *ctx), void *ctx) {
  all->stopping = true;
  all->stopped = stopped;
  all->stopped_ctx = ctx;
  all->stop_at = loop_now(all->opt.loop) + STOP_MS;
  profiles_keep(all);
  free_lanes(all);
  timer_init(&all->stop_timer, on_stop_tick);
  timer_start(all->opt.loop, &all->stop_timer, 0);
}

void upstreams_free(struct upstreams **upstreams) {
  struct upstreams *all = *upstreams;
  if (!all) return;
  *upstreams = NULL;
  all->stopping = true;
  if (all->stopped) timer_stop(&all->stop_timer);
  free_lanes(all);
  for (size_t i = 0; i < all->count; i++) http_origin_free(&all->list[i].origin);
  tls_client_free(&all->tls);
  profiles_done(all);
  buf_done(&all->scratch);
  arena_done(&all->arena);
  mem_free(all->list);
  mem_free(all);
}

size_t upstreams_count(const struct upstreams *all) {
  return all->count;
}
str upstreams_name(const struct upstreams *all, unsigned index) {
  return all->list[index].spec->name;
}
uint64_t upstreams_timeout(const struct upstreams *all, unsigned index) {
  uint64_t own = all->list[index].spec->timeout_ms;
  return own ? own : all->opt.request_ms;
}
uint64_t upstreams_tool_timeout(const struct upstreams *all, unsigned index, str tool) {
  const struct upstream_spec *spec = all->list[index].spec;
  for (size_t i = 0; i < spec->tool_timeout_count; i++)
    if (glob_match(spec->tool_timeouts[i].tool, tool)) return spec->tool_timeouts[i].ms;
  return upstreams_timeout(all, index);
}
uint64_t upstreams_timeout_max(const struct upstreams *all) {
  return all->opt.request_max_ms;
}

str upstreams_capability(const struct upstreams *all, str name) {
  for (size_t i = 0; i < all->count; i++)
    LIST_EACH(it, &all->list[i].lanes) {
      const struct lane *lane = CONTAINER_OF(it, struct lane, node);
      const struct json *found = link_ready(lane->link) ? json_get(link_server_capabilities(lane->link), name) : NULL;
      if (found && found->type == JSON_OBJECT) return json_span(found);
    }
  return STR_NONE;
}

bool upstreams_extension(const struct upstreams *all, str name) {
  for (size_t i = 0; i < all->count; i++)
    LIST_EACH(it, &all->list[i].lanes) {
      const struct lane *lane = CONTAINER_OF(it, struct lane, node);
      if (!link_ready(lane->link)) continue;
      const struct json *extensions = json_get(link_server_capabilities(lane->link), STR("extensions"));
      if (json_is(json_get(extensions, name), JSON_OBJECT)) return true;
    }
  return false;
}

// As its lanes say that are ready, else as it was said when its definitions were listed.
static str current_instructions(const struct upstream *u) {
  LIST_EACH(it, &u->lanes) {
    const struct lane *lane = CONTAINER_OF(it, struct lane, node);
    str text = link_ready(lane->link) ? link_instructions(lane->link) : STR_NONE;
    if (text.n) return text;
  }
  return upstream_instructions(u);
}

void upstreams_each_instructions(const struct upstreams *all, void (*fn)(void *ctx, str server, str text), void *ctx) {
  for (size_t i = 0; i < all->count; i++) {
    str text = current_instructions(&all->list[i]);
    if (text.n) fn(ctx, all->list[i].spec->name, text);
  }
}

static void free_lanes(struct upstreams *all) {
  for (size_t i = 0; i < all->count; i++)
    while (!list_empty(&all->list[i].lanes)) {
      struct lane *lane = CONTAINER_OF(all->list[i].lanes.next, struct lane, node);
      lane_free(&lane);
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "upstream/upstream.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "io/stream/tls.h"
#include "upstream/upstream_impl.h"

enum {
  STOP_MS = 1000,
  STOP_TICK_MS = 10,
};

// ---- the set of upstreams

struct upstreams *upstreams_new(const struct upstreams_options *opt, const struct upstream_spec *specs, size_t count,
                                const struct upstreams_events *ev, void *ctx, struct fault *f) {
  struct upstreams *all = MEM_NEW(struct upstreams);
  all->opt = *opt;
  all->ev = ev;
  all->ctx = ctx;
  all->list = mem_zero(sizeof *all->list * (count + 1));
  buf_init(&all->scratch, opt->max_message + 65536);
  replace_init(all);
  installs_init(all);
  bool ok = true;
  for (unsigned i = 0; i < count && ok; i++) {
    all->list[i] = upstream_new(all, i, &specs[i], f);
    ok = all->list[i] != NULL;
    if (ok) all->count++;
  }
  profiles_init(all);
  if (!ok) upstreams_free(&all);
  return all;
}

static void free_lanes(struct upstreams *all) {
  for (size_t i = 0; i < all->count; i++) upstream_close(all->list[i]);
  replace_stop(all);
}

static bool all_quiet(const struct upstreams *all) {
  for (size_t i = 0; i < all->count; i++)
    if (all->list[i]->origin && !http_origin_quiet(all->list[i]->origin)) return false;
  LIST_EACH(it, &all->leaving) {
    const struct upstream *u = CONTAINER_OF(it, struct upstream, node);
    if (u->origin && !http_origin_quiet(u->origin)) return false;
  }
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
  installs_stop(all);
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
  installs_stop(all);
  if (all->stopped) timer_stop(&all->stop_timer);
  free_lanes(all);
  profiles_done(all);
  replace_done(all);
  for (size_t i = 0; i < all->count; i++) upstream_free(&all->list[i]);
  tls_client_free(&all->tls);
  mem_free((char *)all->client.p);
  buf_done(&all->scratch);
  mem_free(all->list);
  mem_free(all);
}

size_t upstreams_count(const struct upstreams *all) {
  return all->count;
}
bool upstreams_gone(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->gone;
}
str upstreams_name(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->spec->name;
}

str upstreams_reported(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->server_info;
}
const struct upstream_spec *upstreams_spec(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->spec;
}
bool upstreams_find(const struct upstreams *all, str name, unsigned *out_index) {
  for (unsigned i = 0; i < all->count; i++) {
    if (all->list[i]->gone || !str_eq(all->list[i]->spec->name, name)) continue;
    *out_index = i;
    return true;
  }
  return false;
}
uint64_t upstreams_timeout(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  uint64_t own = all->list[index]->spec->timeout_ms;
  return own ? own : all->opt.request_ms;
}
uint64_t upstreams_tool_timeout(const struct upstreams *all, unsigned index, str tool) {
  ASSERT(index < all->count);
  const struct upstream_spec *spec = all->list[index]->spec;
  for (size_t i = 0; i < spec->tool_timeout_count; i++)
    if (glob_match(spec->tool_timeouts[i].tool, tool)) return spec->tool_timeouts[i].ms;
  return upstreams_timeout(all, index);
}
const char *upstreams_timeout_name(const struct upstreams *all, unsigned index, str tool) {
  ASSERT(index < all->count);
  const struct upstream_spec *spec = all->list[index]->spec;
  for (size_t i = 0; tool.p && i < spec->tool_timeout_count; i++)
    if (glob_match(spec->tool_timeouts[i].tool, tool)) return "the server's toolTimeouts";
  return spec->timeout_ms ? "the server's timeout" : "timeouts.request";
}
size_t upstreams_result_budget(const struct upstreams *all, unsigned index, str tool) {
  ASSERT(index < all->count);
  const struct upstream_spec *spec = all->list[index]->spec;
  for (size_t i = 0; tool.p && i < spec->tool_budget_count; i++)
    if (glob_match(spec->tool_budgets[i].tool, tool)) return spec->tool_budgets[i].tokens;
  return spec->result_tokens;
}
uint64_t upstreams_timeout_max(const struct upstreams *all) {
  return all->opt.request_max_ms;
}

bool upstreams_capability(const struct upstreams *all, unsigned index, str name) {
  ASSERT(index < all->count);
  LIST_EACH(it, &all->list[index]->lanes) {
    const struct link *link = CONTAINER_OF(it, struct lane, node)->link;
    if (link_ready(link) && json_is(json_get(link_server_capabilities(link), name), JSON_OBJECT)) return true;
  }
  return false;
}

bool upstreams_extension(const struct upstreams *all, unsigned index, str name) {
  ASSERT(index < all->count);
  LIST_EACH(it, &all->list[index]->lanes) {
    const struct link *link = CONTAINER_OF(it, struct lane, node)->link;
    const struct json *extensions =
        link_ready(link) ? json_get(link_server_capabilities(link), STR("extensions")) : NULL;
    if (json_is(json_get(extensions, name), JSON_OBJECT)) return true;
  }
  return false;
}

// Returns the instructions that the server sent on the user's lane. If this lane is not ready, returns instructions
// that the server sent on another lane, or that were stored on disk.
static str instructions_for(struct upstream *u, const struct lane_user *who) {
  const struct lane *lane = lanes_find(u, who);
  str text = lane && link_ready(lane->link) ? link_instructions(lane->link) : STR_NONE;
  const struct profile *p = profile_seen(u, who);
  return text.n ? text : p ? p->instructions : upstream_instructions(u);
}

str upstreams_instructions(const struct upstreams *all, unsigned index, const struct lane_user *who) {
  ASSERT(index < all->count);
  return instructions_for(all->list[index], who);
}

void upstreams_each_instructions(const struct upstreams *all, const struct session *s,
                                 void (*fn)(void *ctx, str server, str text), void *ctx) {
  struct lane_user who = lanes_user(all, s);
  for (size_t i = 0; i < all->count; i++) {
    str text = instructions_for(all->list[i], &who);
    if (text.n && !all->list[i]->gone) fn(ctx, all->list[i]->spec->name, text);
  }
}

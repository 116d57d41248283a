// SPDX-License-Identifier: Apache-2.0
#include "upstream/lane/upstream_status.h"

#include "base/assert.h"
#include "catalog/definitions_json.h"
#include "upstream/lane/turns.h"
#include "upstream/upstream_impl.h"

// Returns a number that is larger for a better state.
static int rank(enum lane_state state) {
  static const int ranks[] = {[LANE_DOWN] = 0, [LANE_IDLE] = 1, [LANE_STARTING] = 2, [LANE_READY] = 3};
  return ranks[state];
}

// Returns the state to show for a lane. A lane that is ready but could not list its tools is shown as down.
static enum lane_state state_of(const struct lane *lane) {
  return lane->state == LANE_READY && lane->refusal.message[0] ? LANE_DOWN : lane->state;
}

static void add(struct upstream_status *g, const struct lane *lane, bool first) {
  enum lane_state state = state_of(lane);
  g->open += lane->state == LANE_READY;
  g->in_flight += lane->busy;
  g->waiting += turns_waiting(lane);
  if (!first && rank(state) <= rank(g->state)) return;
  g->state = state;
  g->why = lane->state == LANE_DOWN ? lane->why.message : state == LANE_DOWN ? lane->refusal.message : NULL;
}

struct upstream_status upstreams_status(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  const struct upstream *u = all->list[index];
  struct upstream_status g = {
      .name = u->spec->name, .state = LANE_IDLE, .starts = u->starts, .restarts = u->restarts, .losses = u->losses};
  bool first = true;
  LIST_EACH(n, &u->lanes) {
    add(&g, CONTAINER_OF(n, struct lane, node), first);
    first = false;
  }
  return g;
}

static const char *state_name(enum lane_state state, const char *progress) {
  static const char *const names[] = {
      [LANE_IDLE] = "idle", [LANE_STARTING] = "starting", [LANE_READY] = "ready", [LANE_DOWN] = "down"};
  if (state != LANE_STARTING || !*progress) return names[state];
  return str_starts(str_of(progress), STR("installing")) ? "installing" : "waiting";
}

struct upstream_detail upstreams_detail(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  const struct upstream *u = all->list[index];
  struct upstream_detail d = {.ready_ms = -1};
  uint64_t now = loop_now(all->opt.loop);
  LIST_EACH(n, &u->lanes) {
    const struct lane *lane = CONTAINER_OF(n, struct lane, node);
    int pid = lane->link ? link_pid(lane->link) : 0;
    if (pid && d.pid_count < STATUS_PIDS) d.pids[d.pid_count++] = pid;
    if (lane->why.message[0]) {
      d.last_error = lane->why.message;
      d.said = lane->said;
    }
    if (lane->state == LANE_STARTING) lane_progress(lane, d.progress);
    int64_t ready = lane->state == LANE_READY ? (int64_t)(now - lane->ready_at) : -1;
    if (ready > d.ready_ms) d.ready_ms = ready;
  }
  d.state = state_name(upstreams_status(all, index).state, d.progress);
  return d;
}

const struct tail *upstreams_tail(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->tail;
}

void upstreams_put_definitions(const struct upstreams *all, unsigned index, struct json_writer *w) {
  ASSERT(index < all->count);
  const struct upstream *u = all->list[index];
  json_member_str(w, STR("instructions"), upstream_instructions(u));
  json_member_bool(w, STR("anonymous"), u->spec->anonymous);
  json_member_u64(w, STR("order"), u->order);
  json_put_key(w, STR("definitions"));
  json_begin_array(w);
  for (size_t i = 0; i < MAX_PROFILES; i++) {
    if (!u->profiles[i].definitions) continue;
    json_begin_object(w);
    definitions_put(w, u->profiles[i].definitions, upstream_serves, u->spec);
    json_end_object(w);
  }
  json_end_array(w);
}

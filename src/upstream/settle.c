// SPDX-License-Identifier: Apache-2.0
// Prepares servers for use: opens lanes in advance, waits until servers have listed their definitions, and selects the
// definitions that a client sees.
#include "base/assert.h"
#include "upstream/upstream_impl.h"

enum { STARTING_RETRY_MS = 2000 };  // time after which a client may repeat a call to a server that is starting

// Returns whether `u` has listed its definitions since the gateway was started. Definitions from the disk do not count.
static bool is_listed(struct upstream *u) {
  return u->profile_count && !profile_kept(u);
}

// Returns whether `u` needs no lane that is opened in advance, because it was listed, or because clients have opened
// lanes already.
static bool was_started(struct upstream *u) {
  return is_listed(u) || (!u->common && !list_empty(&u->lanes));
}

void upstreams_start(struct upstreams *all) {
  all->ahead = true;
  for (size_t i = 0; i < all->count; i++) {
    struct upstream *u = all->list[i];
    if (u->gone || was_started(u)) continue;
    bool there = u->common;
    struct lane *lane = lanes_common(u);
    if (!there) lane_speak_ahead(lane, all->client);
    if (lane->state == LANE_IDLE) lane_start(lane);
  }
}

static bool may_use(const struct upstreams *all, const struct session *s, unsigned index) {
  return !all->ev->may_use || all->ev->may_use(all->ctx, s, index);
}

static void list_again(struct upstream *u) {
  LIST_EACH(it, &u->lanes) {
    struct lane *lane = CONTAINER_OF(it, struct lane, node);
    if (lane->state != LANE_READY) continue;
    // Also cancel and repeat list requests in flight, because gateways in a loop may be waiting for each other's lists.
    lane->recheck = true;
    for (int kind = 0; kind < ITEM_KINDS; kind++) lane->stale[kind] = true;
    lane_refresh_soon(lane);
  }
}

void upstreams_note_marks(struct upstreams *all, const struct session *s, str marks) {
  uint64_t now = loop_now(all->opt.loop);
  for (unsigned i = 0; all->opt.chain && i < all->count; i++) {
    struct upstream *u = all->list[i];
    if (u->gone || !u->spec->kind->remote || !may_use(all, s, i)) continue;
    if (chain_note(&u->marks, all->opt.chain, marks, now)) list_again(u);
  }
}

uint32_t upstreams_view_for(const struct upstreams *all, unsigned index, const struct lane_user *who) {
  ASSERT(index < all->count);
  struct upstream *u = all->list[index];
  const struct profile *p = profile_seen(u, who);
  return p ? 1u << (p - u->profiles) : UINT32_MAX;
}

uint32_t upstreams_view(const struct upstreams *all, unsigned index, const struct session *s) {
  struct lane_user who = lanes_user(all, s);
  return upstreams_view_for(all, index, &who);
}

// Returns whether a lane has failed and the delay before its next attempt has ended, so that the next call opens the
// lane.
static bool waits_for_use(const struct lane *lane) {
  return lane->state == LANE_DOWN && !timer_running(&lane->retry) &&
         loop_now(lane->upstream->all->opt.loop) >= lane->retry_at;
}

bool upstreams_available(const struct upstreams *all, unsigned index, const struct session *s) {
  ASSERT(index < all->count);
  const struct upstream *u = all->list[index];
  const struct lane *lane = upstreams_lane_find(all, index, s);
  if (u->gone) return false;
  // If the client has no lane, use the state of the common lane, because a new lane would probably be in the same
  // state.
  if (!lane) lane = u->common;
  switch (lane ? lane->state : LANE_IDLE) {
  case LANE_IDLE: return true;
  case LANE_STARTING: return !lane->failures && is_listed(lane->upstream);
  case LANE_READY: return !lane->unreachable;
  case LANE_DOWN: break;
  }
  return waits_for_use(lane);
}

bool upstreams_listed(const struct upstreams *all, unsigned index) {
  ASSERT(index < all->count);
  return all->list[index]->profile_count > 0;
}

void upstreams_why(const struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f) {
  const struct lane *lane = upstreams_lane_seen_for(all, index, who);
  if (lane && lane->why.message[0] && lane->state != LANE_READY && !lane_starting(lane)) {
    lane_say_down(lane, f);
    return;
  }
  char progress[LANE_PROGRESS] = "";
  bool installs = lane && lane_progress(lane, progress);
  fault_set(f, FAULT_UPSTREAM_UNAVAILABLE, "server \"%.*s\" is still starting%s%s%s; try again in a few seconds",
            STR_ARG(upstreams_name(all, index)), installs ? " (" : "", progress, installs ? ")" : "");
  f->undone = true;
  f->after_ms = STARTING_RETRY_MS;
}

// Returns whether the upstream need not be started before its first call, because definitions from the disk are
// sufficient.
static bool can_stay_idle(const struct upstream *u, const struct lane *lane) {
  return u->all->opt.lazy && profile_kept((struct upstream *)u) && (!lane || lane->state == LANE_IDLE);
}

// Returns the lane whose definitions this user will see: the user's lane, otherwise the common lane, otherwise any lane
// that is starting or ready, otherwise NULL.
static struct lane *lane_to_list(const struct upstream *u, const struct lane_user *who) {
  struct lane *lane = lanes_find(u, who);
  if (lane || u->common) return lane ? lane : u->common;
  LIST_EACH(it, &u->lanes) {
    lane = CONTAINER_OF(it, struct lane, node);
    if (lane->state == LANE_STARTING || lane->state == LANE_READY) return lane;
  }
  return NULL;
}

enum settling { SETTLE_KNOWN, SETTLE_LISTED, SETTLE_EXACTLY };

static bool settle_one(struct upstream *u, const struct lane_user *who, enum settling how) {
  str profile = lanes_profile(u, who->session);
  if (u->gone || profile_find(u, profile)) return true;
  struct fault f;
  struct lane *lane = lane_to_list(u, who);
  bool reopened = how == SETTLE_EXACTLY && lanes_suit(u, who->session);
  // If no lane will list the definitions for this client's capabilities, do not wait: the client sees an already known
  // list.
  if (is_listed(u) && !reopened && !(lane && str_eq(lane->profile, profile))) return true;
  if (can_stay_idle(u, lane)) return true;
  // If the client needs no lane of its own, it sees the definitions that the common lane lists, because they are the
  // same for all agents.
  if (!lane) lane = lanes_have_own(u, who->session) ? lanes_get(u, who, &f) : lanes_common(u);
  if (!lane) return true;
  if (lane->state == LANE_IDLE || waits_for_use(lane)) lane_start(lane);
  const struct session_operator *terms = who->session->as_operator;
  if (terms && terms->skips_installs && lane->installs != INSTALL_NO) return true;
  bool waits = lane->state == LANE_STARTING ? !lane->tried : lane->state == LANE_READY && !lane->listed;
  return !waits || (how == SETTLE_KNOWN && u->profile_count);
}

static bool settle(struct upstreams *all, struct session *s, enum settling how) {
  struct lane_user who = lanes_user(all, s);
  bool done = true;
  // Skip servers that the client may not use: they must not be started for the client, and must not get its
  // capabilities.
  for (unsigned i = 0; i < all->count; i++)
    if (may_use(all, s, i)) done &= settle_one(all->list[i], &who, how);
  if (done) catalog_report(all);  // clients must be notified of a change before they read the new catalog
  return done;
}

bool upstreams_settle_one(struct upstreams *all, unsigned index, const struct lane_user *who) {
  ASSERT(index < all->count);
  return settle_one(all->list[index], who, SETTLE_LISTED);
}

bool upstreams_settle(struct upstreams *all, struct session *s) {
  return settle(all, s, SETTLE_LISTED);
}

bool upstreams_settle_exactly(struct upstreams *all, struct session *s) {
  return settle(all, s, SETTLE_EXACTLY);
}

bool upstreams_known(struct upstreams *all, struct session *s) {
  return settle(all, s, SETTLE_KNOWN);
}

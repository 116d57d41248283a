// SPDX-License-Identifier: Apache-2.0
// Handles a lost connection of a lane: fails the waiting calls, and reopens the lane after a delay. The delay doubles
// with each failure.
#include <stdio.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "upstream/upstream_impl.h"

enum {
  BACKOFF_FIRST_MS = 250,
  BACKOFF_MAX_MS = 30000,
  INSTALL_BACKOFF_FIRST_MS = 60 * 1000,  // long, because each installation is slow and delays other lanes
  INSTALL_BACKOFF_MAX_MS = 30 * 60 * 1000,
  STABLE_MS = 30000,  // a lane that was ready for this long is reopened after the shortest delay
};

static uint64_t back_off(unsigned failures, uint64_t first_ms, uint64_t max_ms) {
  uint64_t ms = first_ms;
  for (unsigned i = 1; i < failures && ms < max_ms; i++) ms *= 2;
  return ms < max_ms ? ms : max_ms;
}

void lane_settled(struct upstreams *all) {
  if (!all->stopping) all->ev->lane_settled(all->ctx);
}

// Returns whether to reopen a lane even if no call needs it. This is the case for the common lane, for a lane with a
// subscription, and for a lane whose definitions are not known yet.
static bool restarts_unused(const struct lane *lane) {
  if (lane->session || lane->spare) return false;
  return lane == lane->upstream->common || watches_wanted(lane) || !profile_find(lane->upstream, lane->profile);
}

void lane_down(struct lane *lane, const struct fault *f, str said, bool installing) {
  struct upstreams *all = lane->upstream->all;
  struct loop *loop = all->opt.loop;
  uint64_t now = loop_now(loop);
  if (lane->state == LANE_READY && now - lane->ready_at > STABLE_MS) lane->failures = 0;
  lane->failures++;
  lane->upstream->losses++;
  if (installing) lane->upstream->install_failures++;
  uint64_t wait = installing
                      ? back_off(lane->upstream->install_failures, INSTALL_BACKOFF_FIRST_MS, INSTALL_BACKOFF_MAX_MS)
                      : back_off(lane->failures, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
  lane->retry_at = now + wait;
  // A failure that repeats is logged as a warning only once, then as a debug message.
  bool news = lane->state == LANE_READY || strcmp(lane->why.message, f->message) != 0;
  lane->state = LANE_DOWN;
  lane->tried = true;
  lane->announced = false;
  lane->why = *f;
  struct arena a;
  arena_init(&a);
  said = secrets_mask(&a, said, &lane->upstream->spec->secrets);
  str kept = utf8_cut(said, sizeof lane->said - 1);
  snprintf(lane->said, sizeof lane->said, "%.*s", STR_ARG(kept));
  str_mask_controls(lane->said, kept.n);
  bool again = restarts_unused(lane) && !lane->upstream->left && !all->opt.once;
  str why = secrets_mask(&a, str_of(f->message), &lane->upstream->spec->secrets);
  log_line(loop->log, news ? LOG_WARN : LOG_DEBUG, "%.*s: %.*s%s%s%.*s", STR_ARG(lane_name(lane)), STR_ARG(why),
           again ? "; will try again" : "", said.n ? "; it said: " : "", STR_ARG(said));
  arena_done(&a);
  if (again && !all->stopping) timer_start(loop, &lane->retry, wait);
  struct fault waited = *f;
  waited.undone = true;
  waited.after_ms = wait;
  lane_release_waiters(lane, &waited);
  turns_fail(lane, &waited);
  watches_fail(lane, f);
  // Frees the lane later, because a calling function may still use its link.
  if (lane->spare) timer_start(loop, &lane->idle, 0);
  lane_settled(all);  // must be the last statement, because the callback may free this lane
}

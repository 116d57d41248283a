// SPDX-License-Identifier: Apache-2.0
// A lane manages one connection to an upstream: opens it when it is needed, reopens it after failures, and keeps the
// upstream's definitions up to date.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "upstream/upstream_impl.h"

enum {
  FORGET_MS = 1000,     // a session lost within this time after the handshake counts as a failure
  REFRESH_MS = 20,      // list changes within this time are fetched together
  REFRESH_SLOWEST = 6,  // maximum number of times that REFRESH_MS is doubled
  REFRESH_CALM_MS = 3000,
  VERDICT_MS = 3600 * 1000,
};

// The capabilities of lanes that all clients share. They declare every client capability, because any of the clients
// may need it.
#define EVERYTHING \
  "\"roots\":{\"listChanged\":true},\"sampling\":{\"tools\":{},\"context\":{}},\"elicitation\":{\"form\":{},\"url\":{}}"

static const str everything = STR("{" EVERYTHING "}");
// The capabilities that the gateway's own requests to a stateless server declare. All capabilities are declared, so
// that the server lists all of its definitions.
static const str everything_stateless = STR("{" EVERYTHING ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");

unsigned lane_index(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->upstream->index;
}
const struct upstream_spec *lane_spec(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->upstream->spec;
}

str lane_name(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->upstream->spec->name;
}

bool lane_stateless(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->state == LANE_READY && link_revision(lane->link)->stateless;
}

bool lane_starting(const struct lane *lane) {
  if (!lane) return false;
  return lane->state == LANE_STARTING ? !lane->failures : lane->state == LANE_READY && !lane->listed;
}

const char *lane_missing(const struct lane *lane) {
  if (!lane || lane->state == LANE_IDLE) return "was not started";
  if (lane_starting(lane)) return "is still starting; try again in a few seconds";
  if (lane->state != LANE_READY) return lane->why.message;
  if (lane->refusal.message[0]) return lane->refusal.message;
  return lane->unreachable ? "cannot be reached" : NULL;
}

static struct loop *loop_of(const struct lane *lane) {
  return lane->upstream->all->opt.loop;
}

// ---- creation and destruction

static void on_retry(struct timer *t) {
  lane_start(CONTAINER_OF(t, struct lane, retry));
}

static void on_refresh(struct timer *t) {
  struct lane *lane = CONTAINER_OF(t, struct lane, refresh);
  if (lane->recheck) listing_free(lane);
  lane->recheck = false;
  if (lane->state == LANE_READY && !lane->listing) listing_start(lane);
}

str lane_shared_profile(const struct upstream *u) {
  return u->spec->isolation == UPSTREAM_ISOLATE_SHARED ? everything : STR("{}");
}

void lane_speak_for(struct lane *lane, struct session *s) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  lane->session = s;
  lane->capabilities = s ? s->capabilities : lane_shared_profile(lane->upstream);
  lane->profile = s ? s->profile : lane->capabilities;
  mem_free(lane->ahead);
  lane->ahead = NULL;
}

void lane_speak_ahead(struct lane *lane, str capabilities) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (lane->upstream->spec->isolation == UPSTREAM_ISOLATE_SHARED || !capabilities.n) return;
  str own = upstream_copy(capabilities);
  mem_free(lane->ahead);
  lane->ahead = (char *)own.p;
  lane->capabilities = lane->profile = own;
}

struct lane *lane_new(struct upstream *u, struct session *s, const struct lane_owner *owner) {
  struct lane *lane = MEM_NEW(struct lane);
  lane->magic = LANE_MAGIC;
  lane->upstream = u;
  lane->kind = u->spec->kind;
  lanes_own(lane, owner);
  lane->number = ++u->all->lane_count;
  lane_speak_for(lane, s);
  list_init(&lane->calls);
  list_init(&lane->users);
  list_init(&lane->waiters);
  list_init(&lane->install);
  timer_init(&lane->retry, on_retry);
  timer_init(&lane->refresh, on_refresh);
  timer_init(&lane->idle, lanes_on_idle);
  list_push(&u->lanes, &lane->node);
  lanes_enter(lane);
  return lane;
}

void lane_release_waiters(struct lane *lane, const struct fault *f) {
  struct list waiting;  // the waiters so far; the callback `go` may add others to lane->waiters, which must wait
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&lane->waiters));) list_push(&waiting, n);
  for (struct list *n; (n = list_pop(&waiting));) {
    struct lane_waiter *w = CONTAINER_OF(n, struct lane_waiter, node);
    w->go(w, f);
  }
}

void lane_free(struct lane **l) {
  struct lane *lane = *l;
  if (!lane) return;
  *l = NULL;
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct fault f;
  fault_set(&f, FAULT_SHUTTING_DOWN, "%.*s: the connection is being closed", STR_ARG(lane_name(lane)));
  lane->why = f;
  lane->state = LANE_DOWN;
  lane_release_waiters(lane, &f);
  turns_fail(lane, &f);
  timer_stop(&lane->retry);
  timer_stop(&lane->refresh);
  timer_stop(&lane->idle);
  listing_free(lane);
  watches_free(lane);
  install_leave(lane);
  link_free(&lane->link);
  profile_leave(lane);
  turns_done(lane);
  lanes_leave(lane);
  list_remove(&lane->node);
  lanes_disown(lane);
  mem_free(lane->ahead);
  lane->magic = 0;
  mem_free(lane);
}

void lane_rest(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  timer_stop(&lane->refresh);
  install_leave(lane);
  listing_free(lane);
  watches_lost(lane);
  link_free(&lane->link);
  profile_leave(lane);
  lane->state = LANE_IDLE;
  lane->announced = false;
}

void lane_retire(struct lane *lane, const struct fault *f) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (lane->installs == INSTALL_WAITS) install_leave(lane);
  lane->why = *f;
  lane->kept_until = 0;  // the lane need not stay open: clients can no longer reach its tasks
  timer_stop(&lane->retry);
  timer_stop(&lane->refresh);
  listing_free(lane);
  lane_release_waiters(lane, f);
  watches_fail(lane, f);
  watches_free(lane);
  profile_leave(lane);
}

// ---- connecting and disconnecting

static void remember_era(struct lane *lane, enum link_era era) {
  lane->upstream->era = era;
  lane->upstream->era_at = loop_now(loop_of(lane));
}

// Returns the era of the protocol (handshake or stateless) with which to open the connection, or LINK_ERA_UNKNOWN to
// detect it. The stored result "handshake" expires after some time, because a server that was updated and is now
// stateless may still accept the handshake. The stored result "stateless" is not used, because the detection tries the
// stateless era first.
static enum link_era era_to_try(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  switch (u->spec->protocol) {
  case UPSTREAM_PROTOCOL_HANDSHAKE: return LINK_ERA_HANDSHAKE;
  case UPSTREAM_PROTOCOL_STATELESS: return LINK_ERA_STATELESS;
  case UPSTREAM_PROTOCOL_AUTO: break;
  }
  bool known = u->era == LINK_ERA_HANDSHAKE && loop_now(loop_of(lane)) - u->era_at < VERDICT_MS;
  return known || lane->kind->handshake ? LINK_ERA_HANDSHAKE : LINK_ERA_UNKNOWN;
}

static void on_closed(void *ctx, struct link *l, const struct fault *f) {
  struct lane *lane = ctx;
  const struct upstream_spec *spec = lane->upstream->spec;
  bool settled_in = lane->state == LANE_READY && loop_now(loop_of(lane)) - lane->ready_at > FORGET_MS;
  bool forgotten = f->code == FAULT_UPSTREAM_SESSION_LOST && settled_in;
  bool other_transport = lane->kind->other && spec->protocol != UPSTREAM_PROTOCOL_STATELESS && link_wrong_transport(l);
  bool by_probe = lane->probing && link_probe_failed(l);
  // FAULT_IO means that the launcher itself did not start. That takes little time, so it does not count as a failed
  // installation.
  bool installing = lane->installs == INSTALL_RUNS && f->code != FAULT_IO;
  listing_free(lane);
  watches_lost(lane);
  install_leave(lane);
  lane->link = NULL;
  if (other_transport) lane->kind = lane->kind->other;
  if (by_probe) remember_era(lane, LINK_ERA_HANDSHAKE);
  // Connecting failed. The stored era may be outdated, so the next attempt detects the era again.
  else if (lane->state == LANE_STARTING && lane->upstream->era == LINK_ERA_HANDSHAKE)
    remember_era(lane, LINK_ERA_UNKNOWN);
  // Open the lane again immediately if the server has lost the session, needs the other transport, or does not know
  // server/discover. These cases are not failures of the server.
  bool anew = (forgotten || other_transport || by_probe) && !lane->upstream->left;
  if (anew) lane_start(lane);
  else lane_down(lane, f, lane->state == LANE_STARTING ? link_last_words(l) : STR_NONE, installing);
}

// Moves the waiters and subscriptions of `lane` to `shared`, because one lane is sufficient for a stateless server.
// Frees `lane`, unless calls still use it.
static void join(struct lane *lane, struct lane *shared) {
  struct upstreams *all = lane->upstream->all;
  struct list waiting;
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&lane->waiters));) {
    CONTAINER_OF(n, struct lane_waiter, node)->lane = shared;
    list_push(&waiting, n);
  }
  watches_move(lane, shared);
  // If calls, or requests of the server, still refer to the lane, the lane is freed later, with its session.
  if (!lane->asks && list_empty(&lane->calls)) lane_free(&lane);
  // The server can be reached, so start the shared lane now, without waiting for its next retry.
  if (shared->state == LANE_DOWN || shared->state == LANE_IDLE) lane_start(shared);
  for (struct list *n; (n = list_pop(&waiting));) lane_await(shared, CONTAINER_OF(n, struct lane_waiter, node));
  lane_settled(all);
}

// Called when a lane is ready. If the server is stateless, a session's own lane becomes a lane that all clients of its
// owner share. If the owner already has such a lane, joins both lanes and returns false; `lane` must not be used
// afterwards.
static bool keep_lane(struct lane *lane) {
  struct upstream *u = lane->upstream;
  if (!lane_stateless(lane) || u->spec->isolation == UPSTREAM_ISOLATE_SESSION) return true;
  if (lane->ahead) lane_speak_for(lane, NULL);  // the server is stateless, so any client can use the lane
  if (!lane->session) return true;
  struct lane *shared = lanes_shared(u, &lane->owner);
  if (shared) {
    join(lane, shared);
    return false;
  }
  lanes_leave(lane);
  lane_speak_for(lane, NULL);
  lanes_enter(lane);
  return true;
}

static void on_ready(void *ctx, struct link *l) {
  struct lane *lane = ctx;
  struct upstreams *all = lane->upstream->all;
  lane->state = LANE_READY;
  lane->tried = true;
  lane->ready_at = loop_now(loop_of(lane));
  lane->probing = false;
  remember_era(lane, link_revision(l)->stateless ? LINK_ERA_STATELESS : LINK_ERA_HANDSHAKE);
  if (!keep_lane(lane)) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++) lane->stale[kind] = true;
  lanes_idle_start(lane);
  all->ev->lane_ready(all->ctx, lane);
  watches_ready(lane);
  lane_release_waiters(lane, NULL);
  // List the definitions even if other lanes have listed them, because some servers show different definitions on each
  // connection.
  if (lane->state == LANE_READY) listing_start(lane);
}

// Requests changed lists again after a delay. The delay grows while a server reports changes without a pause, because
// every client must process each new list.
void lane_refresh_soon(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  uint64_t now = loop_now(loop_of(lane));
  if (timer_running(&lane->refresh) || lane->upstream->left) return;
  if (now - lane->refresh_at > REFRESH_CALM_MS) lane->refreshes = 0;
  lane->refresh_at = now;
  timer_start(loop_of(lane), &lane->refresh, (uint64_t)REFRESH_MS << lane->refreshes);
  if (lane->refreshes < REFRESH_SLOWEST) lane->refreshes++;
}

static const char *owner_text(const struct lane *lane) {
  if (lane->session) return " (own connection)";
  return lane->owner.scope == LANE_OF_ALL ? "" : " (an agent's connection)";
}

void lane_listed(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct loop *loop = loop_of(lane);
  struct profile *p = profile_of(lane);
  if (!lane->announced && p && lane->refusal.message[0])
    log_warn(loop->log, "%.*s: the server has started, but it %s%s", STR_ARG(lane_name(lane)), lane->refusal.message,
             owner_text(lane));
  else if (!lane->announced && p)
    log_info(loop->log, "%.*s: ready in %llu ms, MCP %s: %zu tools, %zu resources, %zu templates, %zu prompts%s",
             STR_ARG(lane_name(lane)), (unsigned long long)(loop_now(loop) - lane->started_at),
             link_revision(lane->link)->name, p->definitions->count[ITEM_TOOL], p->definitions->count[ITEM_RESOURCE],
             p->definitions->count[ITEM_TEMPLATE], p->definitions->count[ITEM_PROMPT], owner_text(lane));
  if (p && p->definitions->skipped)
    log_warn(loop->log, "%.*s: left out %zu definitions without a usable name", STR_ARG(lane_name(lane)),
             p->definitions->skipped);
  if (p && p->definitions->refused)
    log_warn(loop->log, "%.*s: left out %zu tools that cannot be called; the first is %s", STR_ARG(lane_name(lane)),
             p->definitions->refused, p->definitions->refused_why);
  if (p && (p->definitions->cleaned.hidden || p->definitions->cleaned.cut))
    log_warn(loop->log,
             "%.*s: removed hidden characters from %zu texts of its definitions, and shortened %zu texts "
             "(limits.description)",
             STR_ARG(lane_name(lane)), p->definitions->cleaned.hidden, p->definitions->cleaned.cut);
  lane->listed = lane->announced = true;
  bool again = false;
  for (int kind = 0; kind < ITEM_KINDS; kind++) again |= lane->stale[kind];
  if (again) lane_refresh_soon(lane);
  if (lane->spare) timer_start(loop, &lane->idle, 0);
  lane_settled(lane->upstream->all);  // must be the last statement, because the callback may free this lane
}

void lane_refresh(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  for (int kind = 0; kind < ITEM_KINDS; kind++) lane->stale[kind] = true;
  if (!lane->listing) lane_refresh_soon(lane);
}

static void on_request(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m) {
  struct lane *lane = ctx;
  if (!lane->used && !lane->session) lane->asked = true;
  lane->upstream->all->ev->request(lane->upstream->all->ctx, lane, via, m);
}

static void on_notification(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m) {
  struct lane *lane = ctx;
  bool changed = false;
  if (watches_receive(lane, &via, m)) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    if (str_eq(m->method, str_of(item_kind_rules[kind].changed))) changed = lane->stale[kind] = true;
  // Requests the changed list first. Clients are notified when the catalog contains the new list.
  if (changed && !lane->listing) lane_refresh_soon(lane);
  if (!changed) lane->upstream->all->ev->notification(lane->upstream->all->ctx, lane, via, m);
}

static void on_reachable(void *ctx, struct link *l, const struct fault *f) {
  struct lane *lane = ctx;
  lane->unreachable = f != NULL;
  if (f) log_warn(loop_of(lane)->log, "%.*s: %s", STR_ARG(lane_name(lane)), f->message);
  else log_info(loop_of(lane)->log, "%.*s: the server can be reached again", STR_ARG(lane_name(lane)));
  // List again, because the server may have been restarted with other definitions. A server with sessions needs no such
  // check: after a restart, it would have rejected the old session.
  if (!f && lane_stateless(lane)) lane_refresh(lane);
}

static void on_installed(void *ctx, struct link *l) {
  struct lane *lane = ctx;
  lane->upstream->installed = true;
  lane->upstream->install_failures = 0;
  install_leave(lane);
}

void lane_start(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  timer_stop(&lane->retry);
  lane->state = LANE_STARTING;
  lane->started_at = loop_now(loop_of(lane));
  if (install_enter(lane)) lane_begin(lane);
}

void lane_begin(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  static const struct link_events events = {on_ready,   on_closed,       on_reachable,
                                            on_request, on_notification, on_installed};
  struct upstream *u = lane->upstream;
  const struct upstreams_options *opt = &u->all->opt;
  // With this isolation, only the session uses the lane, even if the server is stateless.
  bool own = lane->session && u->spec->isolation == UPSTREAM_ISOLATE_SESSION;
  struct link_options link = {
      .loop = opt->loop,
      .scratch = &u->all->scratch,
      .name = u->spec->name,
      .capabilities = lane->capabilities,
      .stateless_capabilities = own ? STR_NONE : everything_stateless,
      .start_ms = u->spec->start_timeout_ms ? u->spec->start_timeout_ms : opt->start_ms,
      .start_key = u->spec->start_timeout_ms ? "startTimeout" : "timeouts.start",
      .install_ms = u->launcher ? opt->install_ms : 0,
      .max_message = opt->max_message,
      .max_values = opt->max_values,
      .max_instructions = opt->description_max,
      .era = era_to_try(lane),
      .tail = u->tail,
      .secrets = &u->spec->secrets,
      .chain = opt->chain,
      .marks = &u->marks,
  };
  lane->refusal.message[0] = 0;
  lane->unreachable = lane->mixed = lane->greeted = lane->rooted = lane->asked = false;
  lane->probing = link.era == LINK_ERA_UNKNOWN;
  lane->fresh = true;
  lane->user[0] = 0;
  lane->started_at = loop_now(opt->loop);
  u->starts++;
  if (lane->failures) u->restarts++;
  lane->link = lane->kind->open(u, &link, &events, lane);
  link_open(lane->link);
}

// ---- public interface

void lane_say_down(const struct lane *lane, struct fault *f) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  uint64_t now = loop_now(loop_of(lane));
  fault_set(f, FAULT_UPSTREAM_UNAVAILABLE, "server \"%.*s\" is not available: it %s; try again later",
            STR_ARG(lane_name(lane)), lane->why.message[0] ? lane->why.message : "is stopping");
  f->undone = true;
  f->after_ms = lane->state == LANE_DOWN && lane->retry_at > now ? lane->retry_at - now : 0;
}

void lane_await(struct lane *lane, struct lane_waiter *w) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct fault f;
  list_init(&w->node);
  w->lane = lane;
  if (lane->state == LANE_READY) {
    w->go(w, NULL);
    return;
  }
  bool down = lane->state == LANE_DOWN && loop_now(loop_of(lane)) < lane->retry_at;
  if (down || lane->upstream->all->stopping) {
    lane_say_down(lane, &f);
    w->go(w, &f);
    return;
  }
  list_push(&lane->waiters, &w->node);
  if (lane->state != LANE_STARTING) lane_start(lane);
}

void lane_asks(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  lane->asks++;
  turns_kick(lane);
}

void lane_unwait(struct lane_waiter *w) {
  if (w->node.next) list_remove(&w->node);
}

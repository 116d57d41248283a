// SPDX-License-Identifier: Apache-2.0
// Finds or creates the lane of an agent, a principal, a session, or all clients. Limits the number of lanes, and closes
// idle lanes to make room for new ones.
#include "base/assert.h"
#include "base/mem.h"
#include "upstream/lane/turns.h"
#include "upstream/upstream_impl.h"

enum {
  FULL_RETRY_MS = 1000,  // time after which a client may repeat a call that got no lane
  MAX_NAME = 1024,       // maximum bytes of an agent's name, because clients may choose any name if there are no rules
};

// ---- owners

struct lane_user lanes_user(const struct upstreams *all, const struct session *s) {
  return (struct lane_user){(struct session *)s, all->ev->agent_of ? all->ev->agent_of(all->ctx, s) : STR_NONE};
}

static struct lane_owner owner_of(const struct upstream *u, const struct lane_user *who) {
  const struct session *s = who->session;
  str payer = s->principal >= 0 ? session_principal(s) : STR_NONE;
  if (u->spec->isolation == UPSTREAM_ISOLATE_SHARED) return (struct lane_owner){LANE_OF_ALL, STR_NONE, payer};
  if (who->agent.n) return (struct lane_owner){LANE_OF_AGENT, who->agent, payer};
  if (payer.n) return (struct lane_owner){LANE_OF_PRINCIPAL, payer, payer};
  return (struct lane_owner){LANE_OF_ALL, STR_NONE, payer};
}

void lanes_own(struct lane *lane, const struct lane_owner *owner) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  lane->owner = (struct lane_owner){owner->scope, upstream_copy(owner->name), upstream_copy(owner->payer)};
}

void lanes_disown(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  mem_free((char *)lane->owner.name.p);
  mem_free((char *)lane->owner.payer.p);
}

static bool known_stateless(const struct upstream *u) {
  if (u->spec->protocol != UPSTREAM_PROTOCOL_AUTO) return u->spec->protocol == UPSTREAM_PROTOCOL_STATELESS;
  return u->era == LINK_ERA_STATELESS;
}

bool lanes_have_own(const struct upstream *u, const struct session *s) {
  switch (u->spec->isolation) {
  case UPSTREAM_ISOLATE_SESSION: return true;
  case UPSTREAM_ISOLATE_SHARED: return false;
  case UPSTREAM_ISOLATE_AGENT: break;
  }
  return session_askable(s) && !known_stateless(u);
}

str lanes_profile(const struct upstream *u, const struct session *s) {
  return lanes_have_own(u, s) ? s->profile : lane_shared_profile(u);
}

// ---- finding

void lanes_enter(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct upstream *u = lane->upstream;
  bool common = !lane->session && lane->owner.scope == LANE_OF_ALL;
  if (common) u->common = lane;
  else lane->share = shares_take(&u->own, lane->owner.payer);
  if (lane->session) lane->session->has_lanes = true;
  else if (!common) map_add(&u->by_owner[lane->owner.scope], lane->owner.name, lane);
}

void lanes_leave(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct upstream *u = lane->upstream;
  bool common = !lane->session && lane->owner.scope == LANE_OF_ALL;
  if (!common) shares_drop(&u->own, &lane->share);
  else if (u->common == lane) u->common = NULL;
  if (!lane->session && !common) map_remove(&u->by_owner[lane->owner.scope], lane->owner.name);
}

struct lane *lanes_shared(const struct upstream *u, const struct lane_owner *owner) {
  return owner->scope == LANE_OF_ALL ? u->common : map_find(&u->by_owner[owner->scope], owner->name);
}

static struct lane *find_own(const struct upstream *u, const struct session *s, const struct lane_owner *owner) {
  if (!s->has_lanes) return NULL;
  LIST_EACH(it, &u->lanes) {
    struct lane *lane = CONTAINER_OF(it, struct lane, node);
    if (lane->session != s || lane->owner.scope != owner->scope) continue;
    if (str_eq(lane->owner.name, owner->name)) return lane;
  }
  return NULL;
}

struct lane *lanes_find(const struct upstream *u, const struct lane_user *who) {
  struct lane_owner owner = owner_of(u, who);
  return lanes_have_own(u, who->session) ? find_own(u, who->session, &owner) : lanes_shared(u, &owner);
}

// ---- creating

struct lane *lanes_common(struct upstream *u) {
  static const struct lane_owner everybody = {.scope = LANE_OF_ALL};
  return u->common ? u->common : lane_new(u, NULL, &everybody);
}

bool lane_is_idle(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  bool in_use = lane->busy || turns_waiting(lane) || !list_empty(&lane->users) || !list_empty(&lane->calls);
  return !in_use && list_empty(&lane->waiters) && !lane->asks && !watches_wanted(lane) &&
         loop_now(lane->upstream->all->opt.loop) >= lane->kept_until;
}

// ---- idle lanes

// Returns the idle time after which a lane closes, or 0 if it does not close. By default, a session's own lane closes
// only with the session, and the common lane (for clients without an agent and a credential) stays open. But if no
// client has used the common lane and there are other lanes, it closes.
static uint64_t idle_ms(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  bool ahead = lane == u->common && !lane->used && u->own.total;
  if (u->spec->has_idle) return u->spec->idle_ms;
  return !lane->session && (lane->owner.scope != LANE_OF_ALL || ahead) ? u->all->opt.idle_ms : 0;
}

void lanes_idle_start(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  uint64_t ms = lane->upstream->spec->has_idle ? lane->upstream->spec->idle_ms : lane->upstream->all->opt.idle_ms;
  if (ms) timer_start(lane->upstream->all->opt.loop, &lane->idle, ms);
}

// Closes the connection of an idle lane. Also frees the lane if it belongs to an agent or a principal, because its
// owner may never use it again.
static void put_to_rest(struct lane *lane, uint64_t ms) {
  log_info(lane->upstream->all->opt.loop->log, "%.*s: closing a connection that was idle for %llu s",
           STR_ARG(lane_name(lane)), (unsigned long long)ms / 1000);
  if (!lane->session && lane->owner.scope != LANE_OF_ALL) lane_free(&lane);
  else lane_rest(lane);
}

void lanes_on_idle(struct timer *t) {
  struct lane *lane = CONTAINER_OF(t, struct lane, idle);
  struct loop *loop = lane->upstream->all->opt.loop;
  uint64_t ms = idle_ms(lane), last = lane->used_at > lane->ready_at ? lane->used_at : lane->ready_at;
  uint64_t since = loop_now(loop) - last;
  if (lane->spare) {
    lane_free(&lane);
    return;
  }
  if (lane->state != LANE_READY) return;  // on_ready starts the timer when the lane is ready
  if (ms && since >= ms && lane_is_idle(lane)) put_to_rest(lane, ms);
  else if (ms && since < ms) timer_start(loop, t, ms - since);
  else lanes_idle_start(lane);
}

// ---- room for new lanes

// The idle lanes of one principal, or of all principals, that may be closed.
struct spare {
  struct lane *idlest;
  size_t count;
};

// Returns whether a lane may be closed to make room for another. The own lane of a session must stay while the client
// is connected, because the server may hold state for the session.
static bool may_go(const struct lane *lane) {
  bool left = lane->session ? lane->session->stream_closed : lane->share && lane->state != LANE_STARTING;
  return left && lane_is_idle(lane);
}

static void add_spare(struct spare *to, struct lane *lane) {
  const struct lane *best = to->idlest;
  to->count++;
  // Close a lane of the principal with the most lanes first, and of these the least recently used one.
  size_t most = best ? best->share->count : 0, has = lane->share->count;
  if (!best || has > most || (has == most && lane->used_at < best->used_at)) to->idlest = lane;
}

static void close_spare(const struct upstream *u, struct lane *lane) {
  log_info(u->all->opt.loop->log, "%.*s: closing an idle connection to make room for another (limits.own_connections)",
           STR_ARG(u->spec->name));
  lane_free(&lane);
}

// Closes an idle lane if there is no room for one more lane of the principal `payer`. If this principal has fewer lanes
// than its share, a lane of any principal may be closed, otherwise only one of its own. Returns false if there is still
// no room.
static bool make_room(struct upstream *u, str payer) {
  struct spare any = {0}, own = {0};
  if (shares_allow(&u->own, payer, 0)) return true;
  LIST_EACH(it, &u->lanes) {
    struct lane *lane = CONTAINER_OF(it, struct lane, node);
    if (!may_go(lane)) continue;
    add_spare(&any, lane);
    if (str_eq(lane->owner.payer, payer)) add_spare(&own, lane);
  }
  if (shares_allow(&u->own, payer, any.count - own.count)) {
    if (!shares_free(&u->own)) close_spare(u, any.idlest);
    return true;
  }
  if (own.idlest) close_spare(u, own.idlest);
  return own.idlest != NULL;
}

static void say_full(const struct upstream *u, str payer, struct fault *f) {
  size_t has = payer.n ? shares_count(&u->own, payer) : 0;
  if (has)
    fault_set(f, FAULT_RATE_LIMITED,
              "this principal has %zu connections to server \"%.*s\"; the remaining connections are reserved for other "
              "principals (limits.own_connections is %zu)",
              has, STR_ARG(u->spec->name), u->own.max);
  else
    fault_set(f, FAULT_UPSTREAM_UNAVAILABLE,
              "server \"%.*s\" has no free connection for this client (limits.own_connections is %zu); try again later",
              STR_ARG(u->spec->name), u->own.max);
  f->undone = true;
  f->after_ms = FULL_RETRY_MS;
}

// ---- lanes opened in advance

// Returns the lane that all clients share, if no client has used it yet; otherwise NULL.
static struct lane *opened_ahead(const struct upstream *u) {
  struct lane *lane = u->common;
  return lane && !lane->used && lane_is_idle(lane) ? lane : NULL;
}

// Returns whether the client can take over this unused lane. The lane must have declared the client's capabilities, and
// no request of the server may have been refused on it, because the client might have answered the request.
static bool suits(const struct lane *lane, const struct session *s) {
  const struct upstream *u = lane->upstream;
  if (!str_eq(lane->profile, lanes_profile(u, s))) return false;
  if (!lanes_have_own(u, s)) return true;
  // A stateless client with roots needs a new lane, which declares that the roots can change (callers.c). With
  // isolation "session", the lane of a stateless server cannot be taken over either, because the capabilities in its
  // requests were fixed when it was opened.
  bool promises = s->revision->stateless && s->can_list_roots;
  bool has_session = lane->state == LANE_READY && !lane_stateless(lane);
  return !lane->asked && !promises && (u->spec->isolation != UPSTREAM_ISOLATE_SESSION || has_session);
}

static struct lane *adopt(struct lane *lane, struct session *s, const struct lane_owner *owner) {
  struct upstreams *all = lane->upstream->all;
  lanes_leave(lane);
  lanes_disown(lane);
  lanes_own(lane, owner);
  lane_speak_for(lane, s);
  lanes_enter(lane);
  if (lane->state == LANE_READY) all->ev->lane_ready(all->ctx, lane);
  return lane;
}

// Closes an unused lane that its first client cannot take over. A lane that is starting closes later, because the
// launcher may be installing the program.
static void give_up(struct lane *lane) {
  log_debug(lane->upstream->all->opt.loop->log,
            "%.*s: replacing the connection that was opened in advance, because its first client cannot use it",
            STR_ARG(lane_name(lane)));
  if (lane->state != LANE_STARTING) {
    lane_free(&lane);
    return;
  }
  lane->spare = true;
  lane->upstream->common = NULL;
}

bool lanes_suit(struct upstream *u, const struct session *s) {
  struct lane *lane = opened_ahead(u);
  str wanted = lanes_profile(u, s);
  bool ready = lane && lane->state == LANE_READY && lane->listed && !lane_stateless(lane);
  if (!ready || str_eq(lane->profile, wanted) || profile_find(u, wanted) || profiles_alike(u)) return false;
  lane_rest(lane);
  lane_speak_ahead(lane, wanted);
  lane->listed = lane->tried = false;
  lane_start(lane);
  return true;
}

struct lane *lanes_get(struct upstream *u, const struct lane_user *who, struct fault *f) {
  if (u->gone) {
    fault_set(f, FAULT_NOT_FOUND, "server \"%.*s\" was removed from the configuration", STR_ARG(u->spec->name));
    f->undone = true;
    return NULL;
  }
  // A command of the operator must not take over or close a lane that was opened in advance, because a client will use
  // the lane later.
  bool passes_by = who->session->as_operator;
  struct lane *lane = lanes_find(u, who), *ahead = opened_ahead(u);
  if (lane && (lane != ahead || passes_by || suits(lane, who->session))) return lane;
  struct lane_owner owner = owner_of(u, who);
  if (owner.name.n > MAX_NAME) {
    fault_set(f, FAULT_INVALID_AGENT_ID, "the agent name is longer than %d bytes", MAX_NAME);
    return NULL;
  }
  bool own = lanes_have_own(u, who->session), common = !own && owner.scope == LANE_OF_ALL;
  if (!common && !make_room(u, owner.payer)) {
    say_full(u, owner.payer, f);
    return NULL;
  }
  struct session *s = own ? who->session : NULL;
  if (ahead && suits(ahead, who->session)) return adopt(ahead, s, &owner);
  if (ahead && !passes_by) give_up(ahead);
  return common ? lanes_common(u) : lane_new(u, s, &owner);
}

// ---- public interface

bool upstreams_has_own(const struct upstreams *all, unsigned index, const struct session *s) {
  ASSERT(index < all->count);
  return lanes_have_own(all->list[index], s);
}

struct lane *upstreams_lane_find_for(const struct upstreams *all, unsigned index, const struct lane_user *who) {
  ASSERT(index < all->count);
  return lanes_find(all->list[index], who);
}

struct lane *upstreams_lane_find(const struct upstreams *all, unsigned index, const struct session *s) {
  ASSERT(index < all->count);
  struct lane_user who = lanes_user(all, s);
  return lanes_find(all->list[index], &who);
}

const struct lane *upstreams_lane_seen(const struct upstreams *all, unsigned index, const struct session *s) {
  struct lane_user who = lanes_user(all, s);
  return upstreams_lane_seen_for(all, index, &who);
}

const struct lane *upstreams_lane_seen_for(const struct upstreams *all, unsigned index, const struct lane_user *who) {
  ASSERT(index < all->count);
  const struct upstream *u = all->list[index];
  const struct lane *lane = lanes_find(u, who);
  if (lane) return lane;
  if (u->common) return u->common;
  LIST_EACH(it, &u->lanes) {
    lane = CONTAINER_OF(it, struct lane, node);
    if ((!lane->session || who->session->as_operator) && lane->listed) return lane;
  }
  return NULL;
}

struct lane *upstreams_lane_for(struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f) {
  ASSERT(index < all->count);
  struct lane *lane = lanes_get(all->list[index], who, f);
  if (!lane) return NULL;
  if (!lane->used) profiles_note_client(all, who);
  if (!who->session->as_operator) lane->used = true;
  lane->used_at = loop_now(all->opt.loop);
  return lane;
}

struct lane *upstreams_lane(struct upstreams *all, unsigned index, struct session *s, struct fault *f) {
  struct lane_user who = lanes_user(all, s);
  return upstreams_lane_for(all, index, &who, f);
}

static void forget(struct upstream *u, const struct session *s) {
  LIST_EACH(it, &u->lanes) {
    struct lane *lane = CONTAINER_OF(it, struct lane, node);
    if (lane->session == s) lane_free(&lane);
  }
}

void upstreams_forget(struct upstreams *all, struct session *s) {
  for (size_t i = 0; i < all->count; i++) forget(all->list[i], s);
  LIST_EACH(it, &all->leaving) forget(CONTAINER_OF(it, struct upstream, node), s);
}

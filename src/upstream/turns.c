// SPDX-License-Identifier: Apache-2.0
#include "upstream/turns.h"

#include "base/map.h"
#include "base/mem.h"
#include "upstream/upstream_impl.h"

enum { RETRY_MS = 1000 };  // when it may be worth to ask again, for whom there was no room

// Those of one caller that wait. There is none that is empty.
struct turn_line {
  struct list node;  // in the ring
  struct list turns;
  size_t count;
  str caller;
  char text[];
};

// Of a lane on which somebody had to wait. Lives on without it while callbacks run.
struct turns {
  struct lane *lane;  // NULL: it is gone
  struct list ring;   // struct turn_line: the first is next
  struct map by_caller;
  struct list called;
  size_t waiting;
  struct deferred kick;
  unsigned busy;
};

static void on_kick(struct deferred *d);

static struct turns *turns_of(struct lane *lane) {
  if (lane->turns) return lane->turns;
  struct loop *loop = lane->upstream->all->opt.loop;
  struct turns *home = MEM_NEW(struct turns);
  home->lane = lane;
  list_init(&home->ring);
  list_init(&home->called);
  map_init(&home->by_caller, &loop->seed);
  deferred_init(&home->kick, on_kick);
  lane->turns = home;
  return home;
}

size_t turns_waiting(const struct lane *lane) {
  return lane->turns ? lane->turns->waiting : 0;
}

static void destroy(struct turns *home) {
  map_done(&home->by_caller);
  mem_free(home);
}

static void leave(struct turns *home) {
  if (--home->busy == 0 && !home->lane) destroy(home);
}

// ---- lines

static struct turn_line *line_of(struct turns *home, str caller) {
  struct turn_line *line = map_find(&home->by_caller, caller);
  if (line) return line;
  line = mem_zero(sizeof *line + caller.n + 1);
  if (caller.n) memcpy(line->text, caller.p, caller.n);
  line->caller = (str){line->text, caller.n};
  list_init(&line->turns);
  list_push(&home->ring, &line->node);
  map_add(&home->by_caller, line->caller, line);
  return line;
}

static void line_shrunk(struct turns *home, struct turn_line *line) {
  home->waiting--;
  if (--line->count) return;
  map_remove(&home->by_caller, line->caller);
  list_remove(&line->node);
  mem_free(line);
}

static struct turn_line *longest_line(const struct turns *home) {
  struct turn_line *longest = NULL;
  LIST_EACH(it, &home->ring) {
    struct turn_line *line = CONTAINER_OF(it, struct turn_line, node);
    if (!longest || line->count > longest->count) longest = line;
  }
  return longest;
}

// ---- how many

static uint64_t most(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  uint64_t configured = u->spec->max_in_flight ? u->spec->max_in_flight : u->all->opt.max_in_flight;
  // What waits for a client's answer keeps nobody from working, and that client may have to call something first.
  return configured ? configured + lane->asks : UINT64_MAX;
}

static void say_full(const struct lane *lane, struct fault *f) {
  fault_set(f, FAULT_RATE_LIMITED,
            "has %u calls under way and %zu that wait: this one is too many (limits.server_queue)", lane->busy,
            lane->turns ? lane->turns->waiting : 0);
  f->undone = true;
  f->after_ms = RETRY_MS;
}

// ---- whose turn it is

static void call_next(struct turns *home) {
  struct turn_line *line = CONTAINER_OF(home->ring.next, struct turn_line, node);
  struct turn *t = CONTAINER_OF(list_pop(&line->turns), struct turn, node);
  list_remove(&line->node);  // to the end: it has had its turn
  list_push(&home->ring, &line->node);
  line_shrunk(home, line);
  t->line = NULL;
  t->state = TURN_CALLED;
  list_push(&home->called, &t->node);
  home->lane->busy++;
}

static void tell_called(struct turns *home) {
  for (struct list *n; home->lane && (n = list_pop(&home->called));) {
    struct turn *t = CONTAINER_OF(n, struct turn, node);
    t->state = TURN_RUNS;
    list_push(&t->lane->users, &t->node);
    t->go(t, NULL);
  }
}

static void on_kick(struct deferred *d) {
  struct turns *home = CONTAINER_OF(d, struct turns, kick);
  home->busy++;
  while (home->waiting && home->lane->busy < most(home->lane)) call_next(home);
  tell_called(home);
  leave(home);
}

// Not at once: whoever ended may be in the middle of something.
void turns_kick(struct lane *lane) {
  struct turns *home = lane->turns;
  if (home && home->waiting && lane->busy < most(lane)) loop_defer(lane->upstream->all->opt.loop, &home->kick);
}

// ---- for calls

void turn_init(struct turn *t) {
  *t = (struct turn){.state = TURN_NONE};
  list_init(&t->node);
}

void turn_hold(struct turn *t, struct lane *lane) {
  if (t->state == TURN_HOLDS && t->lane == lane) return;
  turn_leave(t);
  t->lane = lane;
  t->state = TURN_HOLDS;
  list_push(&lane->users, &t->node);
}

// One of the longest line makes room for a caller who has fewer waiting. False: there is none.
static bool make_room(struct turns *home, str caller) {
  struct turn_line *longest = longest_line(home), *own = map_find(&home->by_caller, caller);
  if (!longest || longest->count <= (own ? own->count : 0) + 1) return false;
  struct turn *last = CONTAINER_OF(longest->turns.prev, struct turn, node);
  struct fault f;
  say_full(home->lane, &f);
  turn_leave(last);
  last->go(last, &f);
  return true;
}

static bool wait_in_line(struct turn *t, str caller) {
  struct lane *lane = t->lane;
  struct turns *home = turns_of(lane);
  home->busy++;
  bool room = home->waiting < lane->upstream->all->opt.max_waiting || make_room(home, caller);
  if (room && home->lane && t->lane) {
    t->line = line_of(home, caller);
    list_remove(&t->node);
    list_push(&t->line->turns, &t->node);
    t->line->count++;
    home->waiting++;
    t->state = TURN_WAITS;
  }
  leave(home);
  return t->state == TURN_WAITS;
}

int turn_take(struct turn *t, str caller, struct fault *f) {
  struct lane *lane = t->lane;
  if (t->state == TURN_RUNS) return TURN_RUNS;
  if (lane->busy < most(lane) && !(lane->turns && lane->turns->waiting)) {
    lane->busy++;
    t->state = TURN_RUNS;
    return TURN_RUNS;
  }
  say_full(lane, f);
  if (wait_in_line(t, caller)) return TURN_WAITS;
  turn_leave(t);
  return TURN_NONE;
}

void turn_end(struct turn *t) {
  if (t->state != TURN_RUNS) return;
  t->state = TURN_HOLDS;
  t->lane->busy--;
  t->lane->used_at = loop_now(t->lane->upstream->all->opt.loop);
  turns_kick(t->lane);
}

void turn_leave(struct turn *t) {
  struct lane *lane = t->lane;
  if (t->state == TURN_NONE) return;
  list_remove(&t->node);
  if (t->state == TURN_WAITS) line_shrunk(lane->turns, t->line);
  if (t->state == TURN_RUNS || t->state == TURN_CALLED) lane->busy--;
  t->state = TURN_NONE;
  t->lane = NULL;
  t->line = NULL;
  lane->used_at = loop_now(lane->upstream->all->opt.loop);
  turns_kick(lane);
}

// ---- for lanes

static struct turn *first_waiting(struct turns *home) {
  if (!list_empty(&home->called)) return CONTAINER_OF(home->called.next, struct turn, node);
  if (list_empty(&home->ring)) return NULL;
  struct turn_line *line = CONTAINER_OF(home->ring.next, struct turn_line, node);
  return CONTAINER_OF(line->turns.next, struct turn, node);
}

void turns_fail(struct lane *lane, const struct fault *f) {
  struct turns *home = lane->turns;
  if (!home) return;
  home->busy++;
  for (struct turn *t; home->lane && (t = first_waiting(home));) {
    turn_leave(t);
    t->go(t, f);
  }
  leave(home);
}

void turns_done(struct lane *lane) {
  struct turns *home = lane->turns;
  for (struct list *n; (n = list_pop(&lane->users));) {
    struct turn *t = CONTAINER_OF(n, struct turn, node);
    t->state = TURN_NONE;
    t->lane = NULL;
  }
  if (!home) return;
  deferred_cancel(&home->kick);
  lane->turns = NULL;
  home->lane = NULL;
  home->busy++;
  leave(home);
}

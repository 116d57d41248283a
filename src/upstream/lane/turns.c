// SPDX-License-Identifier: Apache-2.0
#include "upstream/lane/turns.h"

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "upstream/upstream_impl.h"

enum { RETRY_MS = 1000 };  // time after which a client may repeat a call that was rejected

// The waiting calls of one principal on a lane, with one line (queue) for each caller. Freed when no call of the
// principal waits.
struct principal_queue {
  struct list node;   // in turns.ring
  struct list lines;  // list of struct turn_line; the first line has the next turn
  struct map by_caller;
  size_t count;  // number of waiting calls in all lines
  str principal;
  char text[];
};

struct turn_line {
  struct list node;  // in principal_queue.lines
  struct principal_queue *queue;
  struct list turns;
  size_t count;
  str caller;
  char text[];
};

// The waiting calls of a lane. While callbacks run, this struct may still exist after the lane was freed.
struct turns {
  struct lane *lane;  // NULL after the lane has closed
  struct list ring;   // list of struct principal_queue; the first one has the next turn
  struct map by_principal;
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
  map_init(&home->by_principal, &loop->seed);
  deferred_init(&home->kick, on_kick);
  lane->turns = home;
  return home;
}

size_t turns_waiting(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->turns ? lane->turns->waiting : 0;
}

static void leave(struct turns *home) {
  ASSERT(home->busy > 0);
  if (--home->busy > 0 || home->lane) return;
  map_done(&home->by_principal);
  mem_free(home);
}

// ---- lines

static str copy(char *to, str text) {
  if (text.n) memcpy(to, text.p, text.n);
  return (str){to, text.n};
}

static struct principal_queue *queue_of(struct turns *home, str principal) {
  struct principal_queue *queue = map_find(&home->by_principal, principal);
  if (queue) return queue;
  queue = mem_zero(sizeof *queue + principal.n + 1);
  queue->principal = copy(queue->text, principal);
  list_init(&queue->lines);
  map_init(&queue->by_caller, &home->by_principal.seed);
  list_push(&home->ring, &queue->node);
  map_add(&home->by_principal, queue->principal, queue);
  return queue;
}

static struct turn_line *line_of(struct turns *home, const struct turn_caller *who) {
  struct principal_queue *queue = queue_of(home, who->principal);
  struct turn_line *line = map_find(&queue->by_caller, who->name);
  if (line) return line;
  line = mem_zero(sizeof *line + who->name.n + 1);
  line->caller = copy(line->text, who->name);
  line->queue = queue;
  list_init(&line->turns);
  list_push(&queue->lines, &line->node);
  map_add(&queue->by_caller, line->caller, line);
  return line;
}

static void shrunk(struct turns *home, struct turn_line *line) {
  struct principal_queue *queue = line->queue;
  ASSERT(home->waiting > 0 && line->count > 0 && queue->count >= line->count);
  home->waiting--;
  if (--line->count == 0) {
    map_remove(&queue->by_caller, line->caller);
    list_remove(&line->node);
    mem_free(line);
  }
  if (--queue->count) return;
  map_remove(&home->by_principal, queue->principal);
  map_done(&queue->by_caller);
  list_remove(&queue->node);
  mem_free(queue);
}

static struct principal_queue *fullest(const struct turns *home) {
  struct principal_queue *found = NULL;
  LIST_EACH(it, &home->ring) {
    struct principal_queue *queue = CONTAINER_OF(it, struct principal_queue, node);
    if (!found || queue->count > found->count) found = queue;
  }
  return found;
}

// Returns the longest line; if several are equally long, the last of them.
static struct turn_line *longest(const struct principal_queue *queue) {
  struct turn_line *found = NULL;
  LIST_EACH(it, &queue->lines) {
    struct turn_line *line = CONTAINER_OF(it, struct turn_line, node);
    if (!found || line->count >= found->count) found = line;
  }
  return found;
}

// ---- limits

static uint64_t most(const struct lane *lane) {
  const struct upstream *u = lane->upstream;
  uint64_t configured = u->spec->max_in_flight ? u->spec->max_in_flight : u->all->opt.max_in_flight;
  // A call during which the server waits for an answer of the client does not count. The client may have to make
  // another call before it can answer.
  return configured ? configured + lane->asks : UINT64_MAX;
}

static void say_full(const struct lane *lane, struct fault *f) {
  fault_set(f, FAULT_RATE_LIMITED, "has too many calls: %u in flight and %zu waiting (limits.server_queue)", lane->busy,
            lane->turns ? lane->turns->waiting : 0);
  f->undone = true;
  f->after_ms = RETRY_MS;
}

// ---- the next turn

// Moves a line of calls, or a principal, to the end of its list after its turn.
static void step_back(struct list *ring, struct list *node) {
  list_remove(node);
  list_push(ring, node);
}

static struct turn_line *next_line(const struct turns *home) {
  struct principal_queue *queue = CONTAINER_OF(home->ring.next, struct principal_queue, node);
  return CONTAINER_OF(queue->lines.next, struct turn_line, node);
}

static void call_next(struct turns *home) {
  struct turn_line *line = next_line(home);
  struct turn *t = CONTAINER_OF(list_pop(&line->turns), struct turn, node);
  step_back(&line->queue->lines, &line->node);
  step_back(&home->ring, &line->queue->node);
  shrunk(home, line);
  t->line = NULL;
  t->state = TURN_CALLED;
  list_push(&home->called, &t->node);
  home->lane->busy++;
}

static void on_kick(struct deferred *d) {
  struct turns *home = CONTAINER_OF(d, struct turns, kick);
  home->busy++;
  while (home->waiting && home->lane->busy < most(home->lane)) call_next(home);
  for (struct list *n; home->lane && (n = list_pop(&home->called));) {
    struct turn *t = CONTAINER_OF(n, struct turn, node);
    ASSERT(t->state == TURN_CALLED);
    t->state = TURN_RUNS;
    list_push(&t->lane->users, &t->node);
    t->go(t, NULL);
  }
  leave(home);
}

// Starts waiting calls if there is room. Runs later, because the calling function may be changing the lane.
void turns_kick(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct turns *home = lane->turns;
  if (home && home->waiting && lane->busy < most(lane)) loop_defer(lane->upstream->all->opt.loop, &home->kick);
}

// ---- interface of calls

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

// Called if too many calls wait. Returns the line whose last call must be rejected to make room for a call of `who`. If
// some principal has more waiting calls than the principal of `who`, this is the longest line of the principal with the
// most waiting calls. Otherwise it is another line of the same principal, if it is longer than the line of `who`.
// Returns NULL if there is no such line.
static struct turn_line *to_shorten(const struct turns *home, const struct turn_caller *who) {
  struct principal_queue *most = fullest(home), *own = map_find(&home->by_principal, who->principal);
  if (!most) return NULL;
  if (most->count > (own ? own->count : 0) + 1) return longest(most);
  if (!own) return NULL;
  struct turn_line *line = longest(own), *mine = map_find(&own->by_caller, who->name);
  return line->count > (mine ? mine->count : 0) + 1 ? line : NULL;
}

static bool make_room(struct turns *home, const struct turn_caller *who) {
  struct turn_line *line = to_shorten(home, who);
  if (!line) return false;
  struct turn *last = CONTAINER_OF(line->turns.prev, struct turn, node);
  struct fault f;
  say_full(home->lane, &f);
  turn_leave(last);
  last->go(last, &f);
  return true;
}

static bool wait_in_line(struct turn *t, const struct turn_caller *who) {
  struct lane *lane = t->lane;
  struct turns *home = turns_of(lane);
  home->busy++;
  bool room = home->waiting < lane->upstream->all->opt.max_waiting || make_room(home, who);
  if (room && home->lane && t->lane) {
    t->line = line_of(home, who);
    list_remove(&t->node);
    list_push(&t->line->turns, &t->node);
    home->waiting++;
    t->line->queue->count++;
    t->line->count++;
    t->state = TURN_WAITS;
  }
  leave(home);
  return t->state == TURN_WAITS;
}

int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f) {
  struct lane *lane = t->lane;
  if (t->state == TURN_RUNS) return TURN_RUNS;
  ASSERT(t->state == TURN_HOLDS);
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (lane->busy < most(lane) && !(lane->turns && lane->turns->waiting)) {
    lane->busy++;
    t->state = TURN_RUNS;
    return TURN_RUNS;
  }
  say_full(lane, f);
  if (wait_in_line(t, who)) return TURN_WAITS;
  turn_leave(t);
  return TURN_NONE;
}

void turn_end(struct turn *t) {
  if (t->state != TURN_RUNS) return;
  t->state = TURN_HOLDS;
  ASSERT(t->lane->busy > 0);
  t->lane->busy--;
  t->lane->used_at = loop_now(t->lane->upstream->all->opt.loop);
  turns_kick(t->lane);
}

void turn_leave(struct turn *t) {
  struct lane *lane = t->lane;
  if (t->state == TURN_NONE) return;
  ASSERT_MAGIC(lane, LANE_MAGIC);
  list_remove(&t->node);
  if (t->state == TURN_WAITS) shrunk(lane->turns, t->line);
  if (t->state == TURN_RUNS || t->state == TURN_CALLED) lane->busy--;
  t->state = TURN_NONE;
  t->lane = NULL;
  t->line = NULL;
  lane->used_at = loop_now(lane->upstream->all->opt.loop);
  turns_kick(lane);
}

// ---- interface of lanes

static struct turn *first_waiting(struct turns *home) {
  if (!list_empty(&home->called)) return CONTAINER_OF(home->called.next, struct turn, node);
  return list_empty(&home->ring) ? NULL : CONTAINER_OF(next_line(home)->turns.next, struct turn, node);
}

void turns_fail(struct lane *lane, const struct fault *f) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
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
  ASSERT_MAGIC(lane, LANE_MAGIC);
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

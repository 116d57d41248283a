// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "context/pack_facts.h"
#include "context/pack_impl.h"
#include "result/summary/summary.h"
#include "result/text_cut.h"
#include "text/secrets.h"
#include "text/tokens.h"

#define SEPARATOR "\n\n"

enum { FACTS_SHARE = 4 };  // facts take at most 1/FACTS_SHARE of the prompt's tokens that header and footer leave free

// ---- phases

#define BIT(kind) (1u << EVENT_##kind)

static const struct {
  const char *name;
  size_t budget;
  unsigned kinds;
} phases[PACK_PHASES] = {
    [PACK_ROUTE] = {"route", 2000, BIT(USER_TURN) | BIT(PLAN_STATE) | BIT(POLICY)},
    [PACK_CALL] = {"call", 3000, BIT(USER_TURN) | BIT(AGENT_MSG) | BIT(TOOL_CALL) | BIT(PLAN_STATE) | BIT(POLICY)},
    [PACK_INTERPRET] = {"interpret", 4000, ~0u},
    [PACK_ANSWER] = {"answer", 6000, ~0u},
};

static bool phase_has(enum pack_phase phase, enum event_kind kind) {
  return phases[phase].kinds >> kind & 1;
}

bool pack_phase_find(str name, enum pack_phase *out) {
  for (int i = 0; i < PACK_PHASES; i++) {
    if (!str_eq(name, str_of(phases[i].name))) continue;
    *out = (enum pack_phase)i;
    return true;
  }
  return false;
}

const char *pack_phase_name(enum pack_phase phase) {
  ASSERT(phase < PACK_PHASES);
  return phases[phase].name;
}

const char *pack_fate_name(enum pack_fate fate) {
  ASSERT(fate < PACK_FATES);
  static const char *const names[PACK_FATES] = {"included", "sensitivity", "dedup", "kind_limit", "budget"};
  return names[fate];
}

// ---- candidates and their parents

enum want { WANT_NOT, WANT_KIND, WANT_PARENT };

static unsigned char *choose(const struct pack_order *o, struct arena *scratch) {
  const struct event_log *log = o->log;
  unsigned char *wanted = arena_zero(scratch, log->count + 1);
  struct hash_key seed = rand_hash_key(&rand_system);
  struct map by_id;
  map_init(&by_id, &seed);
  for (size_t i = 0; i < log->count; i++) {
    map_add(&by_id, log->list[i].id, &log->list[i]);
    if (phase_has(o->phase, log->list[i].kind)) wanted[i] = WANT_KIND;
  }
  for (size_t i = 0; i < log->count; i++) {
    const struct event *e = &log->list[i], *parent;
    if (wanted[i] != WANT_KIND) continue;
    // Follows the parents of the event. Stops at an event that is already wanted, because its parents are handled
    // separately. This also ends cycles.
    for (; e->parent.p && (parent = map_find(&by_id, e->parent)) && !wanted[parent - log->list]; e = parent)
      wanted[parent - log->list] = WANT_PARENT;
  }
  map_done(&by_id);
  return wanted;
}

static void gather(const struct pack_order *o, struct pack *p, struct arena *a, struct arena *scratch) {
  const unsigned char *wanted = choose(o, scratch);
  size_t count = 0;
  for (size_t i = 0; i < o->log->count; i++) count += wanted[i] != WANT_NOT;
  p->items = ARENA_ARRAY(a, struct pack_item, count + 1);
  for (size_t i = 0; i < o->log->count; i++) {
    const struct event *e = &o->log->list[i];
    if (!wanted[i]) continue;
    p->items[p->count++] = (struct pack_item){.event = e, .place = i, .text = e->text, .artifact = e->artifact};
    if (wanted[i] == WANT_PARENT) p->closures++;
  }
}

// ---- sensitive events

static void keep_back(const struct pack_order *o, struct pack *p, struct arena *a) {
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i];
    if (o->redact) it->text = secrets_mask(a, it->text, NULL);
    if (it->event->level < o->floor) continue;
    if (!o->redact) it->fate = PACK_SENSITIVE;
    it->redacted = o->redact;
    it->text = arena_printf(a, "[REDACTED: %s]", event_level_name(it->event->level));
    it->artifact = STR_NONE;
  }
}

// ---- calls and their results

static void pair(struct pack *p) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct map calls;
  map_init(&calls, &seed);
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i];
    if (it->event->kind == EVENT_TOOL_CALL && it->fate == PACK_INCLUDED) map_add(&calls, it->event->id, it);
  }
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i], *call;
    if (it->event->kind != EVENT_TOOL_RESULT || it->fate != PACK_INCLUDED || !it->event->parent.p) continue;
    it->mate = call = map_find(&calls, it->event->parent);
    if (call && !call->mate) call->mate = it;
  }
  map_done(&calls);
}

// ---- long results

static str summarise(const struct summary *s, size_t tokens, struct arena *a) {
  struct buf out;
  buf_init(&out, tokens * MEASURE_TOKEN_BYTES + BRIEF_LINE_BYTES);
  struct brief brief = {.out = &out, .left = tokens};
  summary_write(s, &brief);
  while (out.n && out.p[out.n - 1] == '\n') out.n--;
  str text = arena_str(a, buf_view(&out));
  buf_done(&out);
  return text;
}

static void add_facts(struct pack *p, const str *facts, size_t count) {
  for (size_t i = 0; i < count && p->fact_count < PACK_FACTS; i++) {
    bool known = false;
    for (size_t j = 0; j < p->fact_count && !known; j++) known = str_eq(p->facts[j], facts[i]);
    if (!known) p->facts[p->fact_count++] = facts[i];
  }
}

// Replaces the text of a tool result with a summary. Unless `facts_of` is NULL, adds facts from the original text to
// `facts_of`.
static void shorten(struct pack_item *it, size_t tokens, struct pack *facts_of, struct arena *a) {
  struct summary summary;
  str found[FACTS_MOST];
  if (!it->summarised) it->whole = it->text;
  summary_look(it->whole, a, &summary);
  if (facts_of) add_facts(facts_of, found, facts_extract(it->whole, a, found, FACTS_MOST));
  if (facts_of) add_facts(facts_of, summary.facts, summary.fact_count);
  it->text = summarise(&summary, tokens, a);
  if (!it->artifact.p) it->artifact = arena_printf(a, "artifact:%.*s", STR_ARG(it->event->id));
  it->summarised = true;
}

static void firewall(struct pack *p, struct arena *a) {
  size_t bytes;
  p->facts = ARENA_ARRAY(a, str, PACK_FACTS);
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i];
    // Skips a result with an artifact: its text was already shortened when the result was recorded.
    if (it->event->kind != EVENT_TOOL_RESULT || it->fate != PACK_INCLUDED || it->redacted || it->artifact.p) continue;
    if (measure_chars(it->text, PACK_WHOLE_CHARS + 1, &bytes) > PACK_WHOLE_CHARS)
      shorten(it, PACK_SUMMARY_TOKENS, p, a);
  }
}

// ---- header and footer

struct pack_frame {
  str head, foot;  // head: header and facts; foot: footer
  size_t head_tokens,
      foot_tokens;  // tokens of `head` with the separator after it; tokens of `foot` alone
};

static str trim_lines(str s) {
  while (s.n && strchr(" \t\r\n", s.p[0])) s = str_from(s, 1);
  while (s.n && strchr(" \t\r\n", s.p[s.n - 1])) s.n--;
  return s;
}

static str join(struct arena *a, str first, str second) {
  if (!first.n || !second.n) return first.n ? first : second;
  return arena_printf(a, "%.*s" SEPARATOR "%.*s", STR_ARG(first), STR_ARG(second));
}

static bool make_frame(const struct pack_order *o, struct pack *p, struct arena *a, struct pack_frame *out,
                       struct fault *f) {
  str header = trim_lines(o->header);
  out->foot = trim_lines(o->footer);
  size_t least = tokens_count(join(a, header, out->foot));
  if (least > p->budget) {
    fault_set(f, FAULT_LIMIT,
              "header and footer have %zu tokens, but the prompt may have only %zu tokens; raise the budget", least,
              p->budget);
    return false;
  }
  size_t for_facts = (p->budget - least) / FACTS_SHARE;
  bool shown = phase_has(o->phase, EVENT_MEMORY_FACT);
  str facts = shown ? pack_render_facts(p->facts, p->fact_count, for_facts, a) : STR("");
  out->head = join(a, facts, header);
  out->head_tokens = out->head.n ? tokens_count(arena_printf(a, "%.*s" SEPARATOR, STR_ARG(out->head))) : 0;
  out->foot_tokens = tokens_count(out->foot);
  return true;
}

// ---- choosing

// The token count of several blocks of the prompt. The sum is exact, because no token spans the end of a block and the
// label at the start of the next.
struct sum {
  size_t tokens;
  const struct pack_item *last;  // the item of this sum that comes last in the session
};

static size_t total(const struct sum *s, const struct pack_frame *frame) {
  size_t tokens = s->tokens + frame->head_tokens + frame->foot_tokens;
  return s->last && !frame->foot.n ? tokens - s->last->tokens + s->last->alone : tokens;
}

static struct sum with(struct sum s, const struct pack_item *it) {
  s.tokens += it->tokens;
  if (!s.last || it->place > s.last->place) s.last = it;
  return s;
}

enum { SHOWN_MOST = EVENT_KINDS * PACK_KIND_MOST, LOOKS_MOST = 256 };

struct pack_choice {
  const struct pack_frame *frame;
  size_t budget;
  struct arena *a;
  struct sum sum;
  size_t kinds[EVENT_KINDS];
  const struct pack_item *shown[SHOWN_MOST];
  size_t count;
  size_t looks;  // number of attempts to shorten results, limited by LOOKS_MOST
};

// Returns whether an item that is already in the prompt has nearly the same words as `it`. A call and a result are
// never duplicates of each other.
static bool is_said(const struct pack_choice *c, const struct pack_item *it) {
  for (size_t i = 0; i < c->count; i++) {
    const struct pack_item *other = c->shown[i];
    enum event_kind a = it->event->kind, b = other->event->kind;
    bool crossed = (a == EVENT_TOOL_CALL && b == EVENT_TOOL_RESULT) || (a == EVENT_TOOL_RESULT && b == EVENT_TOOL_CALL);
    if (crossed || it->redacted || other->redacted) continue;
    if (pack_same_words(&other->words, &it->words)) return true;
  }
  return false;
}

static bool is_full(const struct pack_choice *c, const struct pack_item *it) {
  return c->kinds[it->event->kind] == PACK_KIND_MOST;
}

// Decides whether `it` can be added to the prompt, together with `mate`, the call or result that belongs to it (may be
// NULL). A pair is rejected as a duplicate only if both items are duplicates: two different calls with the same result
// are shown, and so are two equal calls with different results.
static enum pack_fate fate_of(const struct pack_choice *c, const struct pack_item *it, const struct pack_item *mate) {
  struct sum more = with(c->sum, it);
  if (mate) more = with(more, mate);
  if (is_said(c, it) && (!mate || is_said(c, mate))) return PACK_SAID_ALREADY;
  if (is_full(c, it) || (mate && is_full(c, mate))) return PACK_KIND_LIMIT;
  return total(&more, c->frame) > c->budget ? PACK_OVER_BUDGET : PACK_INCLUDED;
}

// Returns by how many tokens the prompt would exceed its budget if `it` and `mate` were added.
static size_t excess(const struct pack_choice *c, const struct pack_item *it, const struct pack_item *mate) {
  struct sum more = with(c->sum, it);
  if (mate) more = with(more, mate);
  size_t all = total(&more, c->frame);
  return all > c->budget ? all - c->budget : 0;
}

// Returns the maximum tokens for the text of `result`, which is `it` or `mate`, so that both items fit into the prompt.
static size_t room_for(const struct pack_choice *c, const struct pack_item *it, const struct pack_item *mate,
                       const struct pack_item *result) {
  size_t has = tokens_count(result->text), over = excess(c, it, mate);
  return has > over ? has - over : 0;
}

// Shortens the tool result among `it` and `mate` until both items fit into the prompt. Returns PACK_OVER_BUDGET if they
// do not fit.
static enum pack_fate fate_of_short(struct pack_choice *c, struct pack_item *it, struct pack_item *mate) {
  struct pack_item *result = mate && mate->event->kind == EVENT_TOOL_RESULT ? mate : it;
  struct pack_item whole = *result;
  bool can = result->event->kind == EVENT_TOOL_RESULT && !result->redacted;
  if (!can || result->alone < excess(c, it, mate) + PACK_SHORTEST_TOKENS) return PACK_OVER_BUDGET;
  enum pack_fate fate = PACK_OVER_BUDGET;
  size_t room = result->summarised ? room_for(c, it, mate, result) : PACK_SUMMARY_TOKENS;
  while (fate == PACK_OVER_BUDGET && room >= PACK_SHORTEST_TOKENS && c->looks++ < LOOKS_MOST) {
    shorten(result, room, NULL, c->a);
    pack_render(result, c->a);
    fate = fate_of(c, it, mate);
    size_t left = room_for(c, it, mate, result);
    room = left < room ? left : 0;
  }
  if (fate != PACK_INCLUDED) *result = whole;
  return fate;
}

static void settle(struct pack_choice *c, struct pack_item *it, enum pack_fate fate) {
  ASSERT(!it->settled);
  it->settled = true;
  it->fate = fate;
  if (fate != PACK_INCLUDED) return;
  ASSERT(c->count < SHOWN_MOST);
  c->sum = with(c->sum, it);
  c->kinds[it->event->kind]++;
  c->shown[c->count++] = it;
}

static void select_best(struct pack *p, const struct pack_frame *frame, struct pack_item *const *ranked,
                        struct arena *a) {
  struct pack_choice c = {.frame = frame, .budget = p->budget, .a = a};
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = ranked[i], *mate = it->mate && !it->mate->settled ? it->mate : NULL;
    if (it->fate != PACK_INCLUDED || it->settled) continue;
    // If the call of this result has already been left out of the prompt, the result is left out, too.
    bool alone = it->mate && it->mate->settled && it->mate->fate != PACK_INCLUDED;
    enum pack_fate fate = alone ? it->mate->fate : fate_of(&c, it, mate);
    if (fate == PACK_OVER_BUDGET && !alone) fate = fate_of_short(&c, it, mate);
    settle(&c, it, fate);
    if (mate) settle(&c, mate, fate);
  }
}

// ---- the prompt

static void add_block(struct buf *b, str block) {
  if (!block.n) return;
  if (b->n) buf_str(b, STR(SEPARATOR));
  buf_str(b, block);
}

static void write_prompt(struct pack *p, const struct pack_frame *frame, struct arena *a) {
  size_t room = frame->head.n + frame->foot.n + 4;
  for (size_t i = 0; i < p->count; i++) room += p->items[i].block.n + 2;
  struct buf b;
  buf_init(&b, room);
  add_block(&b, frame->head);
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i].fate == PACK_INCLUDED) add_block(&b, p->items[i].block);
  add_block(&b, frame->foot);
  p->prompt = arena_str(a, buf_view(&b));
  p->tokens = tokens_count(p->prompt);
  buf_done(&b);
}

static struct pack_item *worst_included(const struct pack *p, struct pack_item *const *ranked) {
  for (size_t i = p->count; i > 0; i--)
    if (ranked[i - 1]->fate == PACK_INCLUDED) return ranked[i - 1];
  return NULL;
}

// Removes an item from the prompt. Removing a call removes all its results. Removing the last shown result of a call
// removes the call.
static void leave_out(struct pack *p, struct pack_item *it) {
  struct pack_item *call = it->event->kind == EVENT_TOOL_RESULT ? it->mate : it;
  it->fate = PACK_OVER_BUDGET;
  if (!call) return;
  for (size_t i = 0; i < p->count; i++) {
    if (p->items[i].mate != call || p->items[i].fate != PACK_INCLUDED) continue;
    if (call != it) return;
    p->items[i].fate = PACK_OVER_BUDGET;
  }
  call->fate = PACK_OVER_BUDGET;
}

static void count(struct pack *p, const struct pack_frame *frame) {
  const struct pack_item *last = NULL;
  size_t blocks = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = &p->items[i];
    p->fates[it->fate]++;
    if (it->fate != PACK_INCLUDED) continue;
    p->kind_tokens[it->event->kind] += it->tokens;
    blocks += it->tokens;
    last = it;
  }
  if (last && !frame->foot.n) {
    p->kind_tokens[last->event->kind] -= last->tokens - last->alone;
    blocks -= last->tokens - last->alone;
  }
  ASSERT(blocks <= p->tokens);
  p->frame_tokens = p->tokens - blocks;
}

bool pack_build(const struct pack_order *order, struct arena *a, struct pack *out, struct fault *f) {
  ASSERT(order->phase < PACK_PHASES && order->floor <= LEVEL_COUNT);
  struct pack p = {.budget = order->budget ? order->budget : phases[order->phase].budget};
  struct pack_frame frame;
  struct arena scratch;
  arena_init(&scratch);
  gather(order, &p, a, &scratch);
  keep_back(order, &p, a);
  pair(&p);
  firewall(&p, a);
  bool ok = make_frame(order, &p, a, &frame, f);
  if (ok) {
    for (size_t i = 0; i < p.count; i++)
      if (p.items[i].fate == PACK_INCLUDED) pack_render(&p.items[i], a);
    pack_score(order, &p, &scratch);
    struct pack_item **ranked = pack_ranked(&p, &scratch);
    select_best(&p, &frame, ranked, a);
    write_prompt(&p, &frame, a);
    // The prompt may have more tokens than the sum of its blocks, because the start of the footer may form a token with
    // the separator before it. Removes the worst items until the prompt fits.
    for (struct pack_item *it; p.tokens > p.budget && (it = worst_included(&p, ranked)); write_prompt(&p, &frame, a))
      leave_out(&p, it);
    count(&p, &frame);
    *out = p;
  }
  arena_done(&scratch);
  return ok;
}

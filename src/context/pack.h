// SPDX-License-Identifier: Apache-2.0
// A prompt made from the events of a session: what matters for the phase and the query, within an exact number of
// tokens. What is shown is in the order of the session. The same input gives the same bytes.
//
// How it is made, in this order: events of the kinds that the phase shows; the events that these follow from (parents,
// of whatever kind); without what is too sensitive; large tool results summarised; scored; the best ones that fit,
// without what says the same as a better one that is shown. A call and its result are of use together: they are scored
// by what the query has in common with the one or the other, and one is not shown without the other. docs/reference/context.md
// has the numbers.
#pragma once
#include "context/session_events.h"
#include "json/write.h"

enum pack_phase { PACK_ROUTE, PACK_CALL, PACK_INTERPRET, PACK_ANSWER, PACK_PHASES };

enum {
  PACK_BUDGET_MAX = 1 << 20,
  PACK_KIND_MOST = 50,        // events of one kind
  PACK_WHOLE_CHARS = 2000,    // a longer tool result is summarised
  PACK_SUMMARY_TOKENS = 200,  // in so many tokens
  PACK_SHORTEST_TOKENS = 20,  // where there is less room, in fewer, but not in fewer than these
  PACK_FACTS = 64,            // of all summarised results, in as many lines
  PACK_FACTS_BYTES = 2000,
};

struct pack_order {
  const struct event_log *log;
  enum pack_phase phase;
  str query;
  const str *tags;  // of the query: with any, events are compared by their tags, not by their words
  size_t tag_count;
  str header, footer;      // around it; blanks and line ends at their ends do not count
  size_t budget;           // tokens of the whole prompt; 0: the phase's
  enum event_level floor;  // from this level on an event is not shown; LEVEL_COUNT: all are
  bool redact;             // it leaves a mark in its place; and secrets (text/secrets.h) are masked
};

enum pack_fate { PACK_INCLUDED, PACK_SENSITIVE, PACK_SAID_ALREADY, PACK_KIND_LIMIT, PACK_OVER_BUDGET, PACK_FATES };

// The words of a text, as ascending numbers; each once, without those that are grammar only.
struct pack_words {
  uint32_t *numbers;
  uint32_t count;
};

struct pack_item {
  const struct event *event;
  size_t place;  // in the session
  enum pack_fate fate;
  bool redacted, summarised;
  str text;                 // what is shown of it
  str whole;                // the same, before it was summarised
  str artifact;             // handle of all of it; STR_NONE: none
  str block;                // with its label, as in the prompt
  size_t tokens;            // of the block with what separates it from the next one
  size_t alone;             // without
  struct pack_words words;  // while it is being chosen
  struct pack_item *mate;   // of a call its first result that may be shown, of a result its call; NULL: none
  bool settled;             // its fate is its last
  double recency, similarity, priority, brevity, score;
};

struct pack {
  str prompt;
  size_t tokens, budget;
  size_t frame_tokens;  // of header, facts and footer
  size_t kind_tokens[EVENT_KINDS];
  size_t fates[PACK_FATES];  // how many items have each
  struct pack_item *items;   // all candidates, in the order of the session
  size_t count;
  size_t closures;  // that are there as somebody's parent only
  str *facts;
  size_t fact_count;
};

// Everything lives in the arena, or in the session. False: header and footer alone are over the budget.
bool pack_build(const struct pack_order *order, struct arena *a, struct pack *out, struct fault *f);

bool pack_phase_find(str name, enum pack_phase *out);
const char *pack_phase_name(enum pack_phase phase);
const char *pack_fate_name(enum pack_fate fate);

// As an object; `explain`: with the parts of every score.
void pack_put(struct json_writer *w, const struct pack_order *order, const struct pack *p, bool explain);

// The scores as a table, best first.
void pack_put_table(struct buf *out, const struct pack *p, struct arena *a);

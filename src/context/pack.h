// SPDX-License-Identifier: Apache-2.0
// Builds a prompt of limited size from the events of a session. Chooses the events that matter for a phase of the
// agent's work (such as choosing a tool, or answering) and for a query. Events keep the order of the session. The same
// input gives the same bytes.
//
// Steps: select the events of the kinds that the phase shows, and their parents of any kind; remove sensitive events;
// summarise large tool results; score all events; choose the best events that fit, without near-duplicates. A call and
// its result are shown together or not at all. Both get the higher of their two similarities to the query.
// docs/reference/context.md has the weights and limits.
#pragma once
#include "context/session_events.h"
#include "json/write.h"

enum pack_phase { PACK_ROUTE, PACK_CALL, PACK_INTERPRET, PACK_ANSWER, PACK_PHASES };

enum {
  PACK_BUDGET_MAX = 1 << 20,
  PACK_KIND_MOST = 50,        // maximum number of events of one kind
  PACK_WHOLE_CHARS = 2000,    // tool results with more characters are summarised
  PACK_SUMMARY_TOKENS = 200,  // maximum tokens of a summary
  PACK_SHORTEST_TOKENS = 20,  // minimum tokens of a summary
  PACK_FACTS = 64,            // maximum number of facts, taken from all summarised results together
  PACK_FACTS_BYTES = 2000,
};

struct pack_order {
  const struct event_log *log;
  enum pack_phase phase;
  str query;
  const str *tags;  // tags of the query; if there are any, events are compared by tags instead of words
  size_t tag_count;
  str header, footer;      // white space at both ends is removed
  size_t budget;           // maximum tokens of the whole prompt; 0 for the default of the phase
  enum event_level floor;  // events of this or a higher sensitivity are left out; LEVEL_COUNT: none is left out
  // Instead of leaving out sensitive events, show "[REDACTED: …]" as their text; also mask secrets (text/secrets.h).
  bool redact;
};

enum pack_fate { PACK_INCLUDED, PACK_SENSITIVE, PACK_SAID_ALREADY, PACK_KIND_LIMIT, PACK_OVER_BUDGET, PACK_FATES };

// The set of words in a text, without function words. Each word is represented by a number. `numbers` is sorted.
struct pack_words {
  uint32_t *numbers;
  uint32_t count;
};

struct pack_item {
  const struct event *event;
  size_t place;  // index of the event in the session
  enum pack_fate fate;
  bool redacted, summarised;
  str text;                 // text to show
  str whole;                // text before it was summarised
  str artifact;             // handle of the whole result, or STR_NONE
  str block;                // label and text of the event, as the prompt shows them
  size_t tokens;            // tokens of `block` with the separator that follows it
  size_t alone;             // tokens of `block` alone
  struct pack_words words;  // set of words in `text`, to find items with nearly the same words
  struct pack_item *mate;   // for a call, its first shown result; for a result, its call; may be NULL
  bool settled;             // `fate` is final
  double recency, similarity, priority, brevity, score;
};

struct pack {
  str prompt;
  size_t tokens, budget;
  size_t frame_tokens;  // tokens of header, facts and footer
  size_t kind_tokens[EVENT_KINDS];
  size_t fates[PACK_FATES];  // number of items for each value of enum pack_fate
  struct pack_item *items;   // all candidates, in the order of the session
  size_t count;
  size_t closures;  // number of candidates that were selected only as parents of other candidates
  str *facts;
  size_t fact_count;
};

// Builds the prompt. The strings of *out are in the arena or in the session. Fails if header and footer alone exceed
// the budget.
bool pack_build(const struct pack_order *order, struct arena *a, struct pack *out, struct fault *f);

bool pack_phase_find(str name, enum pack_phase *out);
const char *pack_phase_name(enum pack_phase phase);
const char *pack_fate_name(enum pack_fate fate);

// Writes the prompt and its statistics as a JSON object. If `explain` is set, the object includes the components of
// every score.
void pack_put(struct json_writer *w, const struct pack_order *order, const struct pack *p, bool explain);

// Writes the scores of all candidates as a table, with the best score first.
void pack_put_table(struct buf *out, const struct pack *p, struct arena *a);

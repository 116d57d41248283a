// SPDX-License-Identifier: Apache-2.0
// Cards: bounded descriptions of items that an agent browses, without schemas.
//
//   [2/5] github:create_issue@1.4.0 (tool, side effects, cost 0.5) — Create an issue. [mcp] args: repo, title, body?
//
// The line ends with the signature: the names of the parameters, required ones first, "?" after optional ones, "…" for
// those without room. The line, with its newline, has at most CARD_TARGET tokens (cl100k_base): the description is cut,
// then optional parameters are left out. Where the id, the tags and the required parameters leave too little room for
// that, it has at most CARD_HARD. All text is on one line (text/oneline.h).
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum {
  CARD_TARGET = 60,
  CARD_HARD = 80,
  CARD_PREAMBLE = 32,  // tokens of the line before the cards of an answer
  CARD_TAGS = 5,
  CARD_TAG_MAX = 24,    // characters
  CARD_NAME_MAX = 64,   // characters
  CARD_PARAMS = 32,     // parameters of a signature
  CARD_PARAM_MAX = 64,  // bytes of a parameter's name
  CARD_MOST = 999,      // cards in one answer, so that their numbers always have the same size
};

enum card_kind { CARD_TOOL, CARD_RESOURCE, CARD_PROMPT, CARD_AGENT, CARD_SKILL, CARD_INTERNAL };
enum card_safety { CARD_UNKNOWN, CARD_READ_ONLY, CARD_DESTRUCTIVE };

// The data of a card. The tags "destructive" and "read-only" (or "read_only", ignoring case) state the same as safety:
// the more dangerous of the two counts.
struct card_source {
  str id;           // of an item, or the path of a node, with CARD_INTERNAL
  str name;         // for people
  str description;  // if it is empty, the name or the id replaces it
  const str *tags;
  size_t tag_count;
  enum card_kind kind;
  str namespace;
  bool side_effects;
  enum card_safety safety;
  double cost_hint;
  bool unavailable;                  // its server is not connected now
  const struct card_params *params;  // NULL: unknown
};

// The parameters of a tool or prompt. A resource template has its URI template as the only name.
struct card_params {
  const str *names;  // required ones first
  size_t count, required;
  bool more;  // there are more than `count`
};

struct card {
  str id;
  str name;
  str description;
  str signature;        // as in the line; empty: unknown, or no room
  str tags[CARD_TAGS];  // sorted; tags that state the safety are preferred to others
  size_t tag_count;
  enum card_kind kind;
  str namespace;
  double cost_hint;
  bool side_effects;
  enum card_safety safety;
  bool unavailable;
  bool has_score;
  double score;
};

// Makes a card without a score; its slices are in the source or in the arena. Returns false with FAULT_LIMIT if the id
// alone is too long, which cannot happen to an id that card_id_fits accepts. dropped gets the names of the tags without
// room, on one line; it may be NULL.
bool card_make(const struct card_source *source, struct arena *a, struct card *out, struct buf *dropped,
               struct fault *f);

// Returns whether every card with this id fits. For identify_rules.fits.
bool card_id_fits(str id);

// Returns the tokens of the line of a card, including its newline.
size_t card_tokens(const struct card *c);

// Writes the line of the index-th (from 1) of `count` cards, without newline; count 0: without a number.
void card_render(const struct card *c, size_t index, size_t count, struct buf *out);

// Writes a whole answer: a line about the use of the cards, then their lines. `browsed` is the kind of the list.
// Cards without numbers look the same in every answer.
void card_render_answer(enum card_kind browsed, const struct card *cards, size_t count, bool numbered, struct buf *out);

// Returns the first line of an answer; empty only for kinds that cannot be browsed.
str card_preamble(enum card_kind browsed, const struct card *cards, size_t count);

// Writes a card as JSON for programs: empty members are left out; score, to three decimals, comes last.
void card_write(struct json_writer *w, const struct card *c);

const char *card_safety_name(enum card_safety safety);  // "", "read_only", "destructive"

// Returns the text itself if it has at most `max` tokens; else the longest beginning that fits and ends with a
// sentence; else the longest beginning that fits with an ellipsis. Reads a bounded part of the text only.
str card_truncate(struct arena *a, str text, size_t max);

// SPDX-License-Identifier: Apache-2.0
// What an agent is shown of an item while it browses: bounded, and never with a schema.
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
  CARD_MOST = 999,      // cards in one answer: what their numbers take is then always the same
};

enum card_kind { CARD_TOOL, CARD_RESOURCE, CARD_PROMPT, CARD_AGENT, CARD_SKILL, CARD_INTERNAL };
enum card_safety { CARD_UNKNOWN, CARD_READ_ONLY, CARD_DESTRUCTIVE };

// What a card is made from. The tags "destructive" and "read-only" (or "read_only", in any case) say the same as
// safety: the graver of the two counts.
struct card_source {
  str id;           // of an item, or the path of a node, with CARD_INTERNAL
  str name;         // for people
  str description;  // where it is empty, the name or the id stands for it
  const str *tags;
  size_t tag_count;
  enum card_kind kind;
  str namespace;
  bool side_effects;
  enum card_safety safety;
  double cost_hint;
  bool unavailable;                  // its server is not connected now
  const struct card_params *params;  // NULL: what it takes is not known
};

// What a tool or prompt takes. A resource template has its URI template as the only name.
struct card_params {
  const str *names;  // required ones first
  size_t count, required;
  bool more;  // there are more than `count`
};

struct card {
  str id;
  str name;
  str description;
  str signature;        // as the line has it; empty: it is not known, or has no room
  str tags[CARD_TAGS];  // sorted; tags that tell the safety are kept before others
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

// Makes a card without a score; its slices live in the source or in the arena. False, with FAULT_LIMIT: the id alone is
// too long. That cannot happen to an id that card_id_fits. dropped gets the names of the tags that did not fit, in
// one line; it may be NULL.
bool card_make(const struct card_source *source, struct arena *a, struct card *out, struct buf *dropped,
               struct fault *f);

// Does every card with this id fit? For identify_rules.fits.
bool card_id_fits(str id);

// Tokens of the line of a card, with its newline.
size_t card_tokens(const struct card *c);

// The line of the index-th (from 1) of `count` cards, without newline; count 0: without a number.
void card_render(const struct card *c, size_t index, size_t count, struct buf *out);

// Writes a whole answer: a line about the use of the cards, then their lines. `browsed` is the kind of the list.
// Cards without numbers look the same in every answer.
void card_render_answer(enum card_kind browsed, const struct card *cards, size_t count, bool numbered, struct buf *out);

// That first line; empty only for kinds that cannot be browsed.
str card_preamble(enum card_kind browsed, const struct card *cards, size_t count);

// As JSON for programs: members that say nothing are left out; score, to three decimals, comes last.
void card_write(struct json_writer *w, const struct card *c);

const char *card_safety_name(enum card_safety safety);  // "", "read_only", "destructive"

// The text itself when it has at most `max` tokens; else the longest beginning that fits and ends with a sentence; else
// what fits in front of an ellipsis. Looks at a bounded part of the text only.
str card_truncate(struct arena *a, str text, size_t max);

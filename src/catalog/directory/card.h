// SPDX-License-Identifier: Apache-2.0
// Cards: short descriptions, without schemas, of the items that an agent browses.
//
//   [2/5] github:create_issue@1.4.0 (tool, side effects, cost 0.5) — Create an issue. [mcp] args: repo, title, body?
//
// The line ends with the signature: the names of the parameters, required ones first, "?" after optional ones, "…" if
// some are left out. With its newline, the line has at most CARD_TARGET tokens (cl100k_base): the description is
// shortened, then optional parameters are left out. If the id, the tags and the required parameters are too long for
// that, the line has at most CARD_HARD tokens. A card has no line breaks (text/oneline.h).
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum {
  CARD_TARGET = 60,
  CARD_HARD = 80,
  CARD_PREAMBLE = 32,  // tokens of the line that precedes the cards of an answer
  CARD_TAGS = 5,
  CARD_TAG_MAX = 24,    // characters
  CARD_NAME_MAX = 64,   // characters
  CARD_PARAMS = 32,     // parameters of a signature
  CARD_PARAM_MAX = 64,  // bytes of a parameter's name
  CARD_MOST = 999,      // maximum number of cards in one answer, so that their numbers have at most three digits
};

enum card_kind { CARD_TOOL, CARD_RESOURCE, CARD_PROMPT, CARD_AGENT, CARD_SKILL, CARD_INTERNAL };
enum card_safety { CARD_UNKNOWN, CARD_READ_ONLY, CARD_DESTRUCTIVE };

// The data of a card. The tags "destructive" and "read-only" (or "read_only", ignoring case) declare the safety like
// `safety`: the more dangerous declaration counts.
struct card_source {
  str id;           // id of an item, or path of a node (CARD_INTERNAL)
  str name;         // name for people
  str description;  // if empty, the name or the id is shown instead
  const str *tags;
  size_t tag_count;
  enum card_kind kind;
  str namespace;
  bool side_effects;
  enum card_safety safety;
  double cost_hint;
  bool unavailable;                  // the server is not connected now
  const struct card_params *params;  // NULL if unknown
};

// The parameters of a tool or prompt. For a resource template, the URI template is the only name.
struct card_params {
  const str *names;  // required ones first
  size_t count, required;
  bool more;  // there are more parameters than `count`
};

struct card {
  str id;
  str name;
  str description;
  str signature;        // the signature in the line; empty: unknown, or no space for it
  str tags[CARD_TAGS];  // sorted; tags that declare the safety are preferred to others
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

// Makes a card without a score; its slices point into the source or the arena. Returns false with FAULT_LIMIT if the id
// alone is too long, which cannot happen to an id that card_id_fits accepts. Writes the tags that had no space to
// `dropped`, on one line; `dropped` may be NULL.
bool card_make(const struct card_source *source, struct arena *a, struct card *out, struct buf *dropped,
               struct fault *f);

// Returns whether every card with this id fits into CARD_HARD tokens. Used as identify_rules.fits.
bool card_id_fits(str id);

// Returns the number of tokens in a card's line, including its newline.
size_t card_tokens(const struct card *c);

// Writes the line of a card without newline. The line starts with [index/count], counted from 1, or without a number if
// count is 0.
void card_render(const struct card *c, size_t index, size_t count, struct buf *out);

// Writes a whole answer: a line that explains how to use the cards, then the lines of the cards. `browsed` is the kind
// of the list. `numbered` false makes a card look the same in every answer.
void card_render_answer(enum card_kind browsed, const struct card *cards, size_t count, bool numbered, struct buf *out);

// Returns the first line of an answer; empty only for kinds that cannot be browsed.
str card_preamble(enum card_kind browsed, const struct card *cards, size_t count);

// Writes a card as JSON for programs. Empty members are left out. The last member is the score, with three decimals.
void card_write(struct json_writer *w, const struct card *c);

const char *card_safety_name(enum card_safety safety);  // "", "read_only", "destructive"

// Returns the text itself if it has at most `max` tokens; else the longest prefix that fits and ends with a sentence;
// else the longest prefix that fits together with an ellipsis. Reads only a bounded part of the text.
str card_truncate(struct arena *a, str text, size_t max);

// SPDX-License-Identifier: Apache-2.0
// Cards: short descriptions, without schemas, of the items that an agent browses.
//
// [2/5] github:create_issue@1.4.0 (tool, side effects, cost 0.5) — Create an issue. [mcp] args: repo, title, body?
//
// The line ends with the signature: the names of the required parameters, then of the optional ones with "?", then "…"
// if some are left out. With its newline, the line should have at most CARD_TARGET tokens (cl100k_base). If it is
// longer, first the description is shortened, then optional parameters are left out. If the id, the tags and the
// required parameters alone are longer, the line may have CARD_HARD tokens. A card has no line breaks (text/oneline.h).
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "json/write.h"

enum {
  CARD_TARGET = 60,
  CARD_HARD = 80,
  CARD_PREAMBLE = 32,  // maximum tokens of the first line of an answer, which precedes the cards
  CARD_TAGS = 5,
  CARD_TAG_MAX = 24,    // characters
  CARD_NAME_MAX = 64,   // characters
  CARD_PARAMS = 32,     // maximum number of parameters in a signature
  CARD_PARAM_MAX = 64,  // maximum bytes of a parameter's name
  CARD_MOST = 999,      // maximum number of cards in one answer, so that their numbers have at most three digits
};

enum card_kind { CARD_TOOL, CARD_RESOURCE, CARD_PROMPT, CARD_AGENT, CARD_SKILL, CARD_INTERNAL };
enum card_safety { CARD_UNKNOWN, CARD_READ_ONLY, CARD_DESTRUCTIVE };

// The data of a card. The tags "destructive" and "read-only" (or "read_only", ignoring case) declare the safety, too:
// if a tag contradicts `safety`, the more dangerous declaration counts.
struct card_source {
  str id;           // id of an item, or path of a node (CARD_INTERNAL)
  str name;         // name for people
  str description;  // if empty, the card shows the name or the id instead
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

// The parameters of a tool or prompt. For a resource template, `names` contains only its URI template.
struct card_params {
  const str *names;  // required ones first
  size_t count, required;
  bool more;  // there are more parameters than `names` contains
};

struct card {
  str id;
  str name;
  str description;
  str signature;        // names of the parameters; empty if they are unknown or do not fit
  str tags[CARD_TAGS];  // sorted; if there are too many tags, those that declare the safety are preferred
  size_t tag_count;
  enum card_kind kind;
  str namespace;
  double cost_hint;
  bool side_effects;
  enum card_safety safety;
  bool unavailable;
  bool has_score;
  double score;
  bool provisional;                     // class and mode of the capability are only derived from hints of the server
  str capability, class, mode, domain;  // of the governed capability; STR_NONE if the tool is not governed
};

// Makes a card without a score. The card's strings are parts of the source's strings, or are in the arena. Returns
// false with FAULT_LIMIT if the id alone is too long; this cannot happen if card_id_fits accepts the id. Appends tags
// that did not fit to `dropped`, on one line; `dropped` may be NULL.
bool card_make(const struct card_source *source, struct arena *a, struct card *out, struct buf *dropped,
               struct fault *f);

// Returns whether every card with this id fits into CARD_HARD tokens. Used as identify_rules.fits.
bool card_id_fits(str id);

// Returns the number of tokens in a card's line, including its newline.
size_t card_tokens(const struct card *c);

// Writes the line of a card without newline. The line starts with the card's number, [index/count], counted from 1; if
// count is 0, the line has no number.
void card_render(const struct card *c, size_t index, size_t count, struct buf *out);

// Writes a whole answer: a line that explains how to use the cards, then the lines of the cards. `browsed` is the kind
// of the items. If `numbered` is false, the lines have no numbers, so that a card looks the same in every answer.
void card_render_answer(enum card_kind browsed, const struct card *cards, size_t count, bool numbered, struct buf *out);

// Returns the first line of an answer, or an empty text if items of the kind `browsed` cannot be browsed.
str card_preamble(enum card_kind browsed, const struct card *cards, size_t count);

// Writes a card as JSON for programs. Empty members are left out. The last member is the score with three decimals.
void card_write(struct json_writer *w, const struct card *c);

const char *card_safety_name(enum card_safety safety);  // "", "read_only", "destructive"

// Returns the text itself if it has at most `max` tokens; else the longest prefix that fits and ends with a sentence;
// else the longest prefix that fits with an ellipsis after it. Reads only the start of a long text.
str card_truncate(struct arena *a, str text, size_t max);

// SPDX-License-Identifier: Apache-2.0
// Declarations for the files that implement envelope.h.
#pragma once
#include "result/envelope/envelope.h"
#include "result/envelope/parts.h"
#include "result/envelope/result_facts.h"
#include "result/summary/summary.h"
#include "json/write.h"

enum {
  ENVELOPE_META_BYTES = 1 << 10,
  ENVELOPE_LABEL_BYTES = 256,           // maximum bytes of a label or a media type
  ENVELOPE_ANNOTATION_BYTES = 1 << 10,  // maximum bytes of one part's annotations
  ENVELOPE_ANNOTATIONS = 32,
};

struct envelope_piece {
  struct artifact artifact;
  char *block;  // heap memory with the bytes of a large artifact, which the store can take over; or NULL
  struct artifact_name name;
  bool held;
};

// A section of the summary. sections[0] summarises the text, sections[1] the structured content.
struct envelope_section {
  struct summary summary;
  str text;                            // empty if the result has no such section
  const struct envelope_piece *piece;  // the stored piece that contains the text, or NULL
};

struct envelope {
  const struct envelope_order *order;
  struct arena *a;
  size_t budget;
  str mark;
  bool imitates;  // the server's result imitates the gateway (lookalike.h)
  struct parts parts;
  bool *kept;          // for each part: whether the part stays unchanged
  size_t kept_tokens;  // number of tokens of the parts that stay in the result
  bool rest_kept;      // _meta stays, and so do members other than content and structuredContent
  bool whole;          // all data that the model can read stays in the result
  bool said;           // a text repeats the structured content
  struct envelope_piece *pieces;
  size_t count, room;  // number of pieces, and capacity of the array
  struct envelope_section sections[2];
};

// ---- envelope_fit.c: parts that stay

// Sets e->kept for each image and sound. Returns whether all text for the model fits the budget.
bool envelope_fits(struct envelope *e);

// Returns whether a text repeats the structured content.
bool envelope_text_says(const struct envelope *e);

// Chooses the parts and members that stay in the result: sets e->kept, e->rest_kept and e->kept_tokens. If the result
// exceeds the budget, these parts and members take at most a quarter of the budget.
void envelope_choose(struct envelope *e);

// Writes edits that remove each member of the result that does not stay, except _meta. Returns the number of edits, at
// most one per member.
size_t envelope_drop_rest(const struct envelope *e, struct json_edit *edits);

// Returns whether the string is STR_NONE or a MIME type without parameters; parameters could hide other text.
bool envelope_is_media_type(str s);

// Returns whether a part is invalid. A part of an unknown type is valid, because a future protocol revision may define
// it.
bool part_is_broken(const struct part *p);

// Returns whether content is not a valid list of parts.
bool envelope_content_broken(const struct envelope *e);

// ---- envelope_pieces.c: stored pieces

// Stores as pieces the data that does not stay in the result. Adds the pieces to the batch of store writes in this
// order: parts, structured content, text. The bytes of the pieces must stay valid until the batch is stored.
void envelope_keep(struct envelope *e);
void envelope_free_blocks(struct envelope *e);

// ---- envelope_text.c: text for the model

// Writes the summary of all sections in at most `tokens` tokens. Returns how many bytes of the first section the
// summary shows unchanged.
size_t envelope_summarise(const struct envelope *e, size_t tokens, struct buf *out);

// Returns the text for the model: the summary, and lines that say how to view the rest. Only the lines with handles may
// exceed the budget.
str envelope_text(const struct envelope *e);

// ---- envelope_json.c: JSON for programs

// Returns the envelope as JSON, which exceeds the budget only if the handles alone exceed it.
str envelope_json(const struct envelope *e);

// Writes the short envelope for _meta: without a summary, and with at most ENVELOPE_META_BYTES of facts.
void envelope_put_meta(const struct envelope *e, struct buf *out);

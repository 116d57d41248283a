// SPDX-License-Identifier: Apache-2.0
// What the files of the envelope share.
#pragma once
#include "result/envelope.h"
#include "result/facts.h"
#include "result/parts.h"
#include "result/summary.h"

enum {
  ENVELOPE_LABEL_BYTES = 256,           // of a label or a media type
  ENVELOPE_ANNOTATION_BYTES = 1 << 10,  // of one part's annotations
  ENVELOPE_ANNOTATIONS = 32,
};

struct envelope_piece {
  struct artifact artifact;
  char *block;  // heap memory that its bytes lie in, if they are large: handed on with it
  struct artifact_name name;
  bool held;
};

// Something that is told in the summary: the text, the structured content.
struct envelope_section {
  struct summary summary;
  str text;                            // empty: there is no such section
  const struct envelope_piece *piece;  // that holds it; NULL: none does
};

struct envelope {
  const struct envelope_order *order;
  struct arena *a;
  size_t budget;
  struct parts parts;
  bool *kept;          // for each part: stays as it is
  size_t kept_tokens;  // what the model reads of those
  bool whole;          // everything that can be read is there as it is
  bool said;           // the text says the same as the structured content
  struct envelope_piece *pieces;
  size_t count;
  struct envelope_section sections[2];
};

// ---- envelope_pieces.c: what is kept

// Plans the pieces and adds them to the batch, in their order: parts, structured content, text. Their bytes stay where
// they are until the batch is put.
void envelope_keep(struct envelope *e);
void envelope_free_blocks(struct envelope *e);

// ---- envelope_text.c: what the model reads

// The summary of all sections within a budget of tokens. Gives how much of the first section it shows as it is.
size_t envelope_summarise(const struct envelope *e, size_t tokens, struct buf *out);

// The text part, within the budget: the summary and where the rest is.
str envelope_text(const struct envelope *e);

// ---- envelope_json.c: what programs read

// The envelope as JSON, within the budget.
str envelope_json(const struct envelope *e);

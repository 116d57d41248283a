// SPDX-License-Identifier: Apache-2.0
// What the files of the envelope share.
#pragma once
#include "result/envelope/envelope.h"
#include "result/envelope/parts.h"
#include "result/envelope/result_facts.h"
#include "result/summary/summary.h"
#include "json/write.h"

enum {
  ENVELOPE_META_BYTES = 1 << 10,
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
  str mark;
  bool imitates;  // a part that is passed on imitates us
  struct parts parts;
  bool *kept;          // for each part: stays as it is
  size_t kept_tokens;  // what the model reads of those
  bool rest_kept;      // so do the members beside content and structuredContent, _meta among them
  bool whole;          // everything that can be read is there as it is
  bool said;           // the text says the same as the structured content
  struct envelope_piece *pieces;
  size_t count;
  struct envelope_section sections[2];
};

// ---- envelope_fit.c: what may stay as it is

// Sets e->kept of pictures and sounds. True when all that the model would read is within the budget.
bool envelope_fits(struct envelope *e);

// Is the structured content also there as a text?
bool envelope_text_says(const struct envelope *e);

// Sets e->kept, e->rest_kept and e->kept_tokens: beside a text that is longer than the budget, what else is read may
// have a quarter of it.
void envelope_choose(struct envelope *e);

// The members of the result that do not stay, but for _meta, as edits: as many as there are members at the most.
size_t envelope_drop_rest(const struct envelope *e, struct json_edit *edits);

// A type as MIME has it, without parameters: nothing else can be said in it. STR_NONE counts.
bool envelope_is_media_type(str s);

// It is neither a part that MCP knows nor one of a type to come.
bool part_is_broken(const struct part *p);

// content is no list, or not of parts.
bool envelope_content_broken(const struct envelope *e);

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

// What _meta has under ENVELOPE_META: at most ENVELOPE_META_BYTES of facts, and no summary.
void envelope_put_meta(const struct envelope *e, struct buf *out);

// SPDX-License-Identifier: Apache-2.0
// What a result becomes before an agent gets it: something that fits its context window, with the rest kept at hand
// (result/artifacts.h) and handles that lead to it (result/view/view.h).
//
// A tool's result that is small enough is passed on byte for byte. Of a larger one
//   - all text becomes one text part: a summary of it (result/summary/summary.h), and a line for each kept piece that
//     says how to see it;
//   - images and audio stay as they are, or are kept as pieces when they are large or many; so do blobs, links and what
//     is not understood when they are more than a few words;
//   - structuredContent becomes an envelope:
//       {"status": "ok" | "error", "summary", "facts": [],
//        "artifacts": [{"handle", "media_type", "size_bytes", "label", "content_hash"}],
//        "views": [{"label", "selector", "artifact_ref"}],
//        "provenance": {"tool_id", "protocol", "content_annotations"}}
//   - isError stays; _meta and all other members do while they are short, else the piece of the whole result has them.
// A result that fits is complete for its client (`reads`): structuredContent that no text repeats is added as text if
// the model would not see it, and left out if the client would show it instead of the text, or besides the same text.
// What is no right result (content that is no list of parts, isError that is no boolean) becomes one, and no member of
// _meta that begins with toolgate/ or io.toolgate/ is taken from a server.
// The _meta of either has a short envelope as "io.toolgate/envelope": status, tool_id, facts, artifacts, provenance.
//
// Each line of ours in the text begins with the mark. Server text that imitates us (result/envelope/lookalike.h) gets
// a notice in front, and is no fact; a result that repeats the mark itself is masked as with `scrub`.
// What was read of a resource, and a prompt, always get an envelope: every part is kept and listed; while it is small
// it is there as well.
//
// Budgets hold for what is sent: the text has at most so many tokens, and so has the envelope by itself. When there is
// not enough room, summary and facts get shorter, then labels, hashes and notes leave; the handles always stay, even
// when they alone are more than the budget. The first lines of an error are always shown.
//
// Nothing gets lost: what has no place in this form is kept as a piece that holds the whole result as JSON. What the
// store cannot hold is said to be too large.
//
// With `scrub`, all of this is made of a result whose secrets are masked, which takes one more copy of it; one that
// cannot be looked at as a whole becomes an error instead. So is a tool's error in which its server says what it was
// configured with.
//
// A result that is passed on whatever its size (`whole`) gets no envelope: what the caller wants to tell of its
// provenance is in its _meta, as "toolgate/provenance".
#pragma once
#define ENVELOPE_META "io.toolgate/envelope"
#include "base/buf.h"
#include "mcp/server/clients.h"
#include "result/artifacts.h"
#include "text/secrets.h"
#include "json/json.h"

enum {
  ENVELOPE_TOKENS = 2000,            // the usual budget
  ENVELOPE_TOKENS_MIN = 20,          // a lower one counts as this
  ENVELOPE_TOKENS_MAX = 1 << 20,     // a higher one as this
  ENVELOPE_PART_BYTES = 64 << 10,    // up to here an image or a sound stays as it is
  ENVELOPE_PARTS_BYTES = 256 << 10,  // and so many bytes of them in all
  ENVELOPE_PIECES = 32,              // parts that are kept one by one; of more the whole result is kept
  ENVELOPE_PIECES_TEXT_ONLY = 4,     // the same when only text can name them
};

enum envelope_kind {
  ENVELOPE_TOOL,
  ENVELOPE_RESOURCE,
  ENVELOPE_PROMPT,
  ENVELOPE_ANY,  // of any method: it is passed on, and only scrubbed. Nothing is appended if that is impossible.
};

struct envelope_order {
  const struct json *result;   // what the server answered to tools/call, resources/read or prompts/get
  str tool_id;                 // or that of the resource or the prompt
  str owner;                   // who may look at the pieces later
  struct piece_origin origin;  // as long as it may use this
  struct store *store;
  struct piece_batch **batch;  // made when something is kept, unless it is there: the caller's, to be put or freed
  size_t budget;               // tokens; 0: the usual
  bool text_only;              // no structuredContent of ours
  enum client_reads reads;     // a result that fits is arranged for this; UNKNOWN: it stays as it came
  str mark;                    // begins our own lines; empty: "…", and imitations are not looked for
  str provenance;              // further members of provenance, raw: "a":1,"b":[2]; or STR_NONE
  enum envelope_kind kind;
  bool whole;        // it is passed on whatever its size
  bool apart;        // of one that is passed on, *out gets the new _meta alone, or nothing if that stays as it was
  bool keep_hidden;  // hidden characters (base/text/plain.h) stay in texts that are made of the result
  bool scrub;        // what looks like a secret (text/secrets.h) is masked first: nothing else is told or kept
  struct secrets_known hidden;  // masked too: secrets with `scrub`, secrets and addresses in every error
};

// Appends the result as JSON; running over the buffer's maximum is seen there (out->over). Returns true if the result
// is passed on byte for byte, except for `_meta` if the order has `apart`. The arena holds temporary data; besides it,
// text that has escapes, and decoded data, are once in memory.
bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out);

// Does a result tell an error: isError of a tool, or a task that failed or whose result has isError?
bool envelope_tells_error(const struct json *result);

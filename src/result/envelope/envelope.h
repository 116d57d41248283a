// SPDX-License-Identifier: Apache-2.0
// Turns a result into one that fits the context window of an agent. The rest is stored as pieces (result/artifacts.h),
// and handles lead to it (result/view/view.h).
//
// A small result of a tool is passed on byte for byte. In a larger one
//   - all text becomes one text part: a summary (result/summary/summary.h), and a line for each stored piece that says
//     how to view it;
//   - images and audio stay, or are stored as pieces if they are large or many; so are blobs, links and unknown parts
//     of more than a few words;
//   - structuredContent becomes an envelope:
//       {"status": "ok" | "error", "summary", "facts": [],
//        "artifacts": [{"handle", "media_type", "size_bytes", "label", "content_hash"}],
//        "views": [{"label", "selector", "artifact_ref"}],
//        "provenance": {"tool_id", "protocol", "content_annotations"}}
//   - isError stays; _meta and other members stay if they are short, else they are in the piece of the whole result.
// A result that fits is complete for its client (`reads`): structuredContent that no text repeats is added as text if
// the model would not see it, and left out if the client would show it instead of the text or in addition to it. An
// invalid result (content that is not a list of parts, isError that is not a boolean) becomes a valid one. Members of
// _meta that start with toolgate/ or io.toolgate/ are never taken from a server. The _meta of either has a short
// envelope as "io.toolgate/envelope": status, tool_id, facts, artifacts, provenance.
//
// Each line of the gateway in the text starts with the mark. Server text that imitates the gateway
// (result/envelope/lookalike.h) gets a notice in front, and gives no facts. A result with the mark itself is masked as
// with `scrub`.
// Results of resources and prompts always get an envelope: every part is stored and listed; small parts stay as well.
//
// The budget limits the tokens of the text, and those of the envelope. Without enough room, summary and facts get
// shorter, then labels, hashes and notes are left out; handles always stay, even if they exceed the budget. The first
// lines of an error are always shown.
//
// Nothing is lost: data without a place in this form is in a piece with the whole result as JSON. Pieces that the store
// cannot hold are reported as too large.
//
// With `scrub`, the result is masked first, in one more copy; a result that cannot be masked as a whole becomes an
// error. An error of a tool that repeats the server's configuration is masked, too.
//
// A result that is passed on at any size (`whole`) gets no envelope; its _meta has the caller's provenance as
// "toolgate/provenance".
#pragma once
#define ENVELOPE_META "io.toolgate/envelope"
#include "base/buf.h"
#include "mcp/server/clients.h"
#include "result/artifacts.h"
#include "text/secrets.h"
#include "json/json.h"

enum {
  ENVELOPE_TOKENS = 2000,            // default budget
  ENVELOPE_TOKENS_MIN = 20,          // smaller budgets are raised to this
  ENVELOPE_TOKENS_MAX = 1 << 20,     // larger budgets are lowered to this
  ENVELOPE_PART_BYTES = 64 << 10,    // largest image or audio that stays
  ENVELOPE_PARTS_BYTES = 256 << 10,  // limit of these in total
  ENVELOPE_PIECES = 32,              // parts stored separately; more are stored as the whole result
  ENVELOPE_PIECES_TEXT_ONLY = 4,     // the same if only text can name them
};

enum envelope_kind {
  ENVELOPE_TOOL,
  ENVELOPE_RESOURCE,
  ENVELOPE_PROMPT,
  ENVELOPE_ANY,  // of any method: passed on and only scrubbed. Nothing is appended if that is impossible.
};

struct envelope_order {
  const struct json *result;   // what the server answered to tools/call, resources/read or prompts/get
  str tool_id;                 // of the tool, the resource or the prompt
  str owner;                   // owner of the pieces
  struct piece_origin origin;  // pieces are visible while the owner may use this
  struct store *store;
  struct piece_batch **batch;  // created for the first piece; the caller puts or frees it
  size_t budget;               // tokens; 0: the default
  bool text_only;              // without structuredContent of the gateway
  enum client_reads reads;     // a result that fits is arranged for this; UNKNOWN: unchanged
  str mark;                    // prefix of the gateway's lines; empty: "…", and imitations are not detected
  str provenance;              // more members of provenance, raw: "a":1,"b":[2]; or STR_NONE
  enum envelope_kind kind;
  bool whole;                   // is passed on at any size
  bool apart;                   // if passed on, *out gets only the new _meta, or nothing if it is unchanged
  bool keep_hidden;             // hidden characters (base/text/plain.h) stay in texts made from the result
  bool scrub;                   // secrets (text/secrets.h) are masked first, also in stored pieces
  struct secrets_known hidden;  // masked as well: secrets with `scrub`, secrets and addresses in every error
};

// Appends the result as JSON; check out->over. Returns true if the result is passed on byte for byte, except for
// `_meta` if the order has `apart`. The arena holds temporary data; unescaped text and decoded data are once in memory
// in addition.
bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out);

// Returns whether a result is an error: isError of a tool, or a task that failed or whose result has isError.
bool envelope_tells_error(const struct json *result);

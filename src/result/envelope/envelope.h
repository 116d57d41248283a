// SPDX-License-Identifier: Apache-2.0
// Turns a result into one that fits the context window of an agent. The rest is stored as pieces (result/artifacts.h),
// which agents view by their handles (result/view/view.h).
//
// A small result of a tool is passed on byte for byte. In a larger one
//   - all text becomes one text part: a summary (result/summary/summary.h), and a line for each stored piece that says
//     how to view it;
//   - images and audio stay, or are stored as pieces if they are large or many; blobs, links and unknown parts of more
//     than a few words are stored as pieces;
//   - structuredContent becomes an envelope:
//       {"status": "ok" | "error", "summary", "facts": [],
//        "artifacts": [{"handle", "media_type", "size_bytes", "label", "content_hash"}],
//        "views": [{"label", "selector", "artifact_ref"}],
//        "provenance": {"tool_id", "protocol", "content_annotations"}}
//   - isError stays; _meta and other members stay if they are short; otherwise only the piece of the whole result has
//     them.
// A result that fits is arranged for its client (`reads`), so that the model sees all of it once: structuredContent
// that no text repeats is added as text if the model would not see structuredContent, and left out if the client would
// show structuredContent instead of the text or in addition to it. An invalid result (content that is not a list of
// parts, isError that is not a boolean) becomes a valid one. Members of a server's _meta that start with toolgate/ or
// io.toolgate/ are removed. The _meta of every such result has a short envelope as "io.toolgate/envelope": status,
// tool_id, facts, artifacts, provenance.
//
// Each line that the gateway adds to the text starts with the mark. Server text that imitates the gateway
// (result/envelope/lookalike.h) gets a notice in front, and no facts are taken from it. A server's result that contains
// the mark itself is masked as with `scrub`. Results of resources and prompts always get an envelope: every part is
// stored and listed; small parts also stay in the result.
//
// The budget limits the tokens of the text and, separately, the tokens of the envelope. If it is too small, summary and
// facts get shorter, then labels, hashes and notes are left out; handles always stay, even if they exceed the budget.
// The first lines of an error are always shown.
//
// Nothing is lost: if data has no place in this form, the whole result is stored as a JSON piece. Pieces that the store
// cannot hold are reported as too large.
//
// With `scrub`, a copy of the result is masked first; a result that cannot be masked as a whole becomes an error. An
// error of a tool that repeats secrets or addresses of the server's configuration is always masked.
//
// With `whole`, a result of any size is passed on without an envelope; its _meta has the order's provenance as
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
  ENVELOPE_PARTS_BYTES = 256 << 10,  // maximum size of all images and audio that stay
  ENVELOPE_PIECES = 32,              // maximum of separate pieces; beyond it, the whole result is one piece
  ENVELOPE_PIECES_TEXT_ONLY = 4,     // the same for `text_only`: only the text names the pieces
};

enum envelope_kind {
  ENVELOPE_TOOL,
  ENVELOPE_RESOURCE,
  ENVELOPE_PROMPT,
  ENVELOPE_ANY,  // result of any method: masked and passed on; nothing is appended if it cannot be masked
};

struct envelope_order {
  const struct json *result;   // what the server answered to tools/call, resources/read or prompts/get
  str tool_id;                 // id of the tool, the resource or the prompt
  str owner;                   // owner of the pieces
  struct piece_origin origin;  // pieces are visible while the owner may use this origin
  struct store *store;
  struct piece_batch **batch;  // *batch is created for the first piece; the caller must put or free it
  size_t budget;               // tokens; 0: the default
  bool text_only;              // omits the gateway's structuredContent
  enum client_reads reads;     // what the client shows its model; a result that fits is arranged for it, unless UNKNOWN
  str mark;                    // prefix of the gateway's lines; empty: "…", and imitations are not detected
  str provenance;              // further members of provenance as raw JSON: "a":1,"b":[2]; or STR_NONE
  enum envelope_kind kind;
  bool whole;        // passes the result on at any size
  bool apart;        // for a result that is passed on, *out gets only the new _meta; nothing if _meta is unchanged
  bool keep_hidden;  // hidden characters (base/text/plain.h) stay in texts made from the result
  bool scrub;        // secrets (text/secrets.h) are masked first, also in stored pieces
  struct secrets_known hidden;  // values to mask: secrets with `scrub`; secrets and addresses in every error
};

// Appends the result as JSON; the caller must check out->over. Returns true if the result is passed on byte for byte,
// except for `_meta` if the order has `apart`. The arena holds temporary data, including one copy of unescaped text and
// decoded data.
bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out);

// Returns whether a result is an error: a tool's isError is true, or it is a task that failed or whose result has
// isError.
bool envelope_tells_error(const struct json *result);

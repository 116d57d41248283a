// SPDX-License-Identifier: Apache-2.0
// Turns a result into one that fits the context window of an agent. Data that does not fit is stored as pieces
// (result/artifacts.h), which agents view by their handles (result/view/view.h).
//
// A small result of a tool is passed on byte for byte. A larger result is changed:
//   - all text becomes one text part: a summary (result/summary/summary.h), and a line for each stored piece that says
//     how to view it;
//   - images and audio stay in the result, up to a maximum number; large or further ones are stored as pieces;
//   - blobs, links, and unknown parts of more than a few words are stored as pieces;
//   - structuredContent becomes an envelope:
//       {"status": "ok" | "error", "summary", "facts": [],
//        "artifacts": [{"handle", "media_type", "size_bytes", "label", "content_hash"}],
//        "views": [{"label", "selector", "artifact_ref"}],
//        "provenance": {"tool_id", "protocol", "content_annotations"}}
//   - isError stays. _meta and other members stay if they are short; otherwise only the piece with the whole result has
//     them.
// A result that fits the budget is adapted to what the client shows to its model (`reads`), so that the model sees all
// of the result once. structuredContent is removed if the client would show it instead of other parts, or in addition
// to a text that repeats it. It is added as text if the model would not see it otherwise and no text repeats it. An
// invalid result (content that is not a list of parts, isError that is not a boolean) becomes a valid one. Members of a
// server's _meta that start with toolgate/ or io.toolgate/ are removed. A short envelope is added to _meta as
// "io.toolgate/envelope": status, tool_id, facts, artifacts, provenance.
//
// Each line that the gateway adds to the text starts with the session's mark (mcp/server/session.h). If a server's text
// imitates the gateway (result/envelope/lookalike.h), a notice precedes this text, and no facts are taken from it. A
// server's result that contains the mark itself is masked as if `scrub` were set. A result of a resource or prompt
// always gets an envelope: every part is stored and listed; small parts also stay in the result.
//
// The budget limits the tokens of the text and, separately, the tokens of the envelope. If the budget is too small,
// first the summary and the facts get shorter, then labels, hashes and notes are left out. Handles always stay, even if
// they exceed the budget. The first lines of an error are always shown.
//
// Nothing is lost: if some data is neither in the text, nor in the envelope, nor in a piece, the whole result is stored
// as a JSON piece. A piece that the store cannot hold is reported as too large.
//
// If `scrub` is set, a copy of the result is masked first; a result that cannot be masked as a whole becomes an error.
// An error of a tool that repeats secrets or addresses of the server's configuration is always masked.
//
// If `whole` is set, a result of any size is passed on without an envelope; its _meta has the `provenance` of the order
// as "toolgate/provenance".
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
  ENVELOPE_PART_BYTES = 64 << 10,    // maximum size of an image or a sound that stays in the result
  ENVELOPE_PARTS_BYTES = 256 << 10,  // maximum total size of the images and sounds that stay in the result
  ENVELOPE_PIECES = 32,              // maximum number of pieces; if more are needed, the whole result is one piece
  ENVELOPE_PIECES_TEXT_ONLY = 4,     // maximum number of pieces if the text must name all of them (`text_only`)
};

enum envelope_kind {
  ENVELOPE_TOOL,
  ENVELOPE_RESOURCE,
  ENVELOPE_PROMPT,
  ENVELOPE_ANY,  // a result of any method: passed on, and masked if necessary; if masking fails, nothing is written
};

struct envelope_order {
  const struct json *result;   // result of tools/call, resources/read or prompts/get
  str tool_id;                 // id of the tool, the resource or the prompt
  str owner;                   // owner of the pieces
  struct piece_origin origin;  // server and tool of the result; an agent without access to them cannot view the pieces
  struct store *store;
  struct piece_batch **batch;  // created for the first piece; the caller must store the batch (pieces_put) or free it
  size_t budget;               // tokens; 0: the default
  bool text_only;              // do not add structuredContent to the result
  enum client_reads reads;     // what the client shows to its model; a result that fits the budget is adapted to this
  str mark;                    // start of the gateway's lines; empty: use "…", and do not detect imitations
  str provenance;              // raw JSON of further members of `provenance`, such as "a":1,"b":[2]; or STR_NONE
  enum envelope_kind kind;
  bool whole;        // pass the result on, whatever its size
  bool apart;        // write only the new _meta to *out if the result is passed on; write nothing if _meta is unchanged
  bool keep_hidden;  // keep hidden characters (base/text/plain.h) in texts that are made from the result
  bool scrub;        // first mask secrets (text/secrets.h), also in stored pieces
  struct secrets_known hidden;  // known values to mask: secrets if `scrub` is set; secrets and addresses in every error
};

// Appends the new result as JSON; the caller must check out->over. Returns true if the result is passed on without
// changes. If `apart` is set, changes of _meta do not count: if only _meta changes, appends the new _meta alone and
// returns true. The arena is used for temporary data, including one copy of unescaped text and decoded data.
bool envelope_make(const struct envelope_order *order, struct arena *a, struct buf *out);

// Returns whether a result is an error: isError is true, or the result is a task that failed, or a task whose result
// has isError.
bool envelope_is_error(const struct json *result);

// SPDX-License-Identifier: Apache-2.0
// A journal: JSON lines that another thread appends to the files of one folder. A file is named after the time when it
// was created, so that the order of the names is the order of the lines:
//
//   FOLDER/000001795059319123-3f9c01ab.jsonl
//
// Each gateway locks the file to which it appends, so that several gateways can use one folder. A file that reaches its
// size limit is followed by a new one. The oldest files are removed when all files together exceed max_bytes, or when
// they are older than keep_ms. A crash can leave an incomplete line at the end of a file: readers ignore it, and the
// next writer removes it.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "io/loop.h"

struct journal;

enum {
  JOURNAL_LINE_MAX = 1 << 20,      // maximum bytes of a line
  JOURNAL_PENDING_MAX = 16 << 20,  // maximum bytes of lines that wait to be written; further lines are lost
  JOURNAL_RETRY_MS = 1000,
};

struct journal_limits {
  uint64_t max_bytes, keep_ms;  // of all files together
};

// Creates a journal without accessing the disk. Copies `folder`.
struct journal *journal_new(struct loop *loop, str folder, const struct journal_limits *limits);
// Writes the remaining lines, and frees the journal when they are written. The loop must still run.
void journal_free(struct journal **j);
// Sets the limits that apply from the next file on.
void journal_limit(struct journal *j, const struct journal_limits *limits);

// Adds a line, without its line end. Returns false, and counts the line as lost, if there is no room for it.
bool journal_add(struct journal *j, str line);

// The same without a copy: append the line to the buffer that journal_begin returns, then call journal_end at once. Line
// ends within the line, which JSON text may contain between its tokens, become blanks.
struct buf *journal_begin(struct journal *j);
bool journal_end(struct journal *j);

// Returns whether lines can probably be written: the last write has succeeded or, before the first write, the folder is
// writable. On failure, sets *out_why to the reason.
bool journal_works(struct journal *j, const char **out_why);
uint64_t journal_lost(const struct journal *j);  // returns the number of lines lost since the journal was created

// ---- reading

// Receives a line without its line end. Returns false to stop.
typedef bool journal_line(void *ctx, str line);

// Calls `line` for each complete line, in the order of the files. Files that were last written before since_ms (wall
// clock) are skipped. Works while a gateway appends lines. Returns false if the folder or a file cannot be read; a
// folder that does not exist has no lines.
bool journal_read(str folder, int64_t since_ms, journal_line *line, void *ctx, struct fault *f);

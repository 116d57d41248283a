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
#include "base/fault.h"
#include "base/list.h"
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
void journal_lose(struct journal *j);  // counts a line as lost that could not be made

// Waits until all lines that were added so far are written: then they survive the end of this process. The wait must be
// cancelled before its memory is freed.
struct journal_wait;
typedef void journal_done(struct journal_wait *w, bool written);
struct journal_wait {
  struct list node;
  uint64_t line;  // number of the line that must be written
  journal_done *done;
};
void journal_wait_init(struct journal_wait *w, journal_done *done);
void journal_wait_cancel(struct journal_wait *w);

// JOURNAL_WAITS: w->done will be called once, on the loop. JOURNAL_WRITTEN: there is nothing to wait for.
// JOURNAL_FAILS: lines cannot be written now.
enum journal_state { JOURNAL_WRITTEN, JOURNAL_WAITS, JOURNAL_FAILS };
enum journal_state journal_wait(struct journal *j, struct journal_wait *w);

// Returns whether lines can probably be written: the last write has succeeded or, before the first write, the folder is
// writable. On failure, sets *out_why to the reason.
bool journal_works(struct journal *j, const char **out_why);
bool journal_failing(const struct journal *j);   // the last write failed
uint64_t journal_lost(const struct journal *j);  // returns the number of lines lost since the journal was created

// ---- reading

// Receives a line without its line end. Returns false to stop.
typedef bool journal_line(void *ctx, str line);

// Calls `line` for each complete line, in the order of the files. Files that were last written before since_ms (wall
// clock) are skipped. A damaged file may have lines that no journal has written; of a line that is longer than the
// limit, only the beginning is reported. Works while a gateway appends lines. Returns false if the folder or a file
// cannot be read; a folder that does not exist has no lines.
bool journal_read(str folder, int64_t since_ms, journal_line *line, void *ctx, struct fault *f);

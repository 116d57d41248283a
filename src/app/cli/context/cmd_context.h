// SPDX-License-Identifier: Apache-2.0
// Shared code of the subcommands of `toolgate context`.
#pragma once
#include "app/cli/command.h"
#include "base/buf.h"
#include "context/conversation.h"
#include "context/session_events.h"

// argv[0] is "toolgate context NAME".
command_run context_build, context_messages;
command_run context_view, context_sessions, context_export;
command_run context_trim, context_save, context_load, context_swap, context_saved, context_archive;

enum { CONTEXT_FILE_BYTES = 64 << 20 };

// All of a file, or of standard input when the path is "-". False: why not was said on stderr.
bool context_read(const char *path, struct buf *out);

// The same for a text that stands around others: what is no UTF-8 is replaced. No path: empty.
bool context_read_text(const char *path, struct buf *out);

// The lines of --session: a file, or a session that was recorded. Gives the exit code: what is wrong was said.
int context_read_session(const struct arguments *args, struct buf *out);

// --floor; LEVEL_COUNT: none.
#define CONTEXT_FLOOR_WRONG "--floor is public, internal, confidential, restricted or none"
bool context_floor(const char *said, enum event_level *out);

// The configured store, for commands that only read and write it.
struct context_place {
  struct config config;
  struct log log;
  struct store *store;
};

// False: why not was said on stderr, *out_status is the exit code, and there is nothing to be closed.
bool context_open(struct context_place *p, const struct config_options *opt, int *out_status);
void context_close(struct context_place *p);

// The events of a recorded session, by its id or the beginning of it, if no other begins so.
bool context_export_session(struct context_place *p, str session, struct buf *out, struct fault *f);

// Says what is wrong, on stderr. Gives the exit code: EXIT_NO when it is what was asked for, EXIT_CANNOT otherwise.
int context_failed(const struct fault *f);

// "2026-01-31T12:00:00.000Z"
struct context_time {
  char text[32];
};
struct context_time context_time(int64_t ms);

// Returns whether this is an id of a conversation. False: the error is printed, and *out_status is EXIT_USAGE.
bool context_id(const char *name, const char *id, str *out, int *out_status);

// A file, or standard input (no path, or "-"), that holds a conversation; everything is in the arena. False: said.
bool context_read_conversation(const char *path, struct arena *a, struct conversation *out, str *out_text,
                               int *out_status);

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

// Reads a whole file, or standard input if the path is "-". On failure prints the reason on stderr and returns false.
bool context_read(const char *path, struct buf *out);

// Reads the header or footer of a prompt like context_read, and replaces invalid UTF-8. Without a path the text is
// empty.
bool context_read_text(const char *path, struct buf *out);

// Reads the events of --session: a file, or a recorded session. Prints errors and returns the exit code.
int context_read_session(const struct arguments *args, struct buf *out);

#define CONTEXT_FLOOR_WRONG "--floor must be public, internal, confidential, restricted or none"
// Parses the value of --floor; for "none", sets *out to LEVEL_COUNT. Returns false if the value is invalid.
bool context_floor(const char *said, enum event_level *out);

// The configured store, for commands that need no servers.
struct context_place {
  struct config config;
  struct log log;
  struct store *store;
};

// Opens the store. On failure prints the reason on stderr, sets *out_status to the exit code and returns false;
// context_close must then not be called.
bool context_open(struct context_place *p, const struct config_options *opt, int *out_status);
void context_close(struct context_place *p);

// Appends the events of a recorded session. `session` is its id, or a unique beginning of the id.
bool context_export_session(struct context_place *p, str session, struct buf *out, struct fault *f);

// Prints the fault on stderr and returns the exit code: EXIT_CANNOT for FAULT_IO, EXIT_NO for other faults.
int context_failed(const struct fault *f);

// A time as text: "2026-01-31T12:00:00.000Z".
struct context_time {
  char text[32];
};
struct context_time context_time(int64_t ms);

// Checks the id of a conversation. If it is invalid, prints the error, sets *out_status to EXIT_USAGE and returns
// false.
bool context_id(const char *name, const char *id, str *out, int *out_status);

// Reads a conversation from a file, or from standard input if the path is NULL or "-". Allocates in the arena. On
// failure prints the reason and returns false.
bool context_read_conversation(const char *path, struct arena *a, struct conversation *out, str *out_text,
                               int *out_status);

// SPDX-License-Identifier: Apache-2.0
// Records calls through the gateway as events of their session (context/session_events.h), so that a prompt can be
// built of them later. They are records of the archive: bounded there in all, and here for each session.
//
// Secrets (text/secrets.h) are masked. Nothing waits for it: what cannot be written is
// said in the log, once, and the calls go on.
#pragma once
#include "context/session_events.h"
#include "store/archive.h"
#include "text/secrets.h"

#define RECORDER_OWNER "sessions"   // of everything in the store
#define RECORDER_EVENT "event"      // kind of a record: its text is one line of a session
#define RECORDER_SESSION "session"  // the first record of a session: {"session", "client", "principal", "time"}

enum { RECORDER_TEXT_BYTES = 64 << 10 };  // of arguments or of a result; what is longer is cut

struct recorder;

struct recorder *recorder_new(struct store *s, const struct log *log, const struct clock *clock,
                              uint64_t session_bytes);
void recorder_free(struct recorder **r);  // before the store

struct recorded_call {
  str session, client, principal;
  str name;       // what was called: a tool's id or name, a URI, a prompt
  str arguments;  // raw; STR_NONE: none
  bool failed;
  str text;              // what the caller was told
  const str *artifacts;  // handles of what is kept of it
  size_t artifact_count;
  struct secrets_known secrets;  // of the server: masked too
};

// *recorded: bytes that were written of the session so far, kept by whoever has it; 0 at first.
void recorder_add(struct recorder *r, const struct recorded_call *call, uint64_t *recorded);

// The lines of a session that was recorded. FAULT_NOT_FOUND: there is none.
bool recorder_export(struct store *s, str session, struct buf *out, struct fault *f);

struct recorded_session {
  str session, client, principal;
  int64_t began_ms, last_ms;
  size_t calls;
};

// Those that there are, in the order in which they began; in the arena.
bool recorder_list(struct store *s, struct arena *a, struct recorded_session **out, size_t *out_count, struct fault *f);

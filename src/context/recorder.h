// SPDX-License-Identifier: Apache-2.0
// Records calls through the gateway as events of their session (context/session_events.h), for prompts that are built
// later. Events are records of the archive, whose size is limited there in total and here for each session.
//
// Secrets (text/secrets.h) are masked. Calls do not wait for the writes; the first failed write is logged.
#pragma once
#include "context/session_events.h"
#include "store/archive.h"
#include "text/secrets.h"

#define RECORDER_OWNER "sessions"   // owner in the store
#define RECORDER_EVENT "event"      // kind of a record: its text is one line of a session
#define RECORDER_SESSION "session"  // the first record of a session: {"session", "client", "principal", "time"}

enum { RECORDER_TEXT_BYTES = 64 << 10 };  // of arguments or of a result; longer texts are cut

struct recorder;

struct recorder *recorder_new(struct store *s, const struct log *log, const struct clock *clock,
                              uint64_t session_bytes);
void recorder_free(struct recorder **r);  // before the store

struct recorded_call {
  str session, client, principal;
  str name;       // id or name of a tool, a URI, or a prompt
  str arguments;  // raw, or STR_NONE
  bool failed;
  str text;              // the answer
  const str *artifacts;  // handles of its stored pieces
  size_t artifact_count;
  struct secrets_known secrets;  // of the server, masked as well
};

// *recorded counts the bytes written for the session; the caller stores it, initially 0.
void recorder_add(struct recorder *r, const struct recorded_call *call, uint64_t *recorded);

// Writes the lines of a recorded session. Fails with FAULT_NOT_FOUND if there is no such session.
bool recorder_export(struct store *s, str session, struct buf *out, struct fault *f);

struct recorded_session {
  str session, client, principal;
  int64_t began_ms, last_ms;
  size_t calls;
};

// Lists recorded sessions by their start; in the arena.
bool recorder_list(struct store *s, struct arena *a, struct recorded_session **out, size_t *out_count, struct fault *f);

// SPDX-License-Identifier: Apache-2.0
// Records calls through the gateway as events of their session (context/session_events.h), for prompts that are built
// later. Each event is a record of the archive. The archive limits the total size of all events; the recorder limits
// the size of each session.
//
// Secrets (text/secrets.h) are masked. Calls do not wait for the writes; the first failed write is logged.
#pragma once
#include "context/session_events.h"
#include "store/archive.h"
#include "text/secrets.h"

#define RECORDER_OWNER "sessions"  // owner of these records in the store
#define RECORDER_EVENT "event"     // kind of records that hold one event, as a line of JSON
// Kind of the first record of a session: {"session", "client", "principal", "timestamp"}.
#define RECORDER_SESSION "session"

enum { RECORDER_TEXT_BYTES = 64 << 10 };  // maximum size of recorded arguments, and of a recorded result

struct recorder;

struct recorder *recorder_new(struct store *s, const struct log *log, const struct clock *clock,
                              uint64_t session_bytes);
void recorder_free(struct recorder **r);  // must be called before the store `s` of recorder_new is freed

struct recorded_call {
  str session, client, principal;
  str name;       // the tool's id or name, the resource's URI, or the prompt's name
  str arguments;  // raw JSON, or STR_NONE
  bool failed;
  str text;              // text of the result
  const str *artifacts;  // handles of the stored pieces of the result
  size_t artifact_count;
  struct secrets_known secrets;  // known secrets of the server, which are masked, too
};

// Records a call. *recorded is the number of bytes written for the session. The caller keeps this number for each
// session; its initial value is 0.
void recorder_add(struct recorder *r, const struct recorded_call *call, uint64_t *recorded);

// Writes the events of a recorded session, one line of JSON for each event. Fails with FAULT_NOT_FOUND if there is no
// such session.
bool recorder_export(struct store *s, str session, struct buf *out, struct fault *f);

struct recorded_session {
  str session, client, principal;
  int64_t began_ms, last_ms;
  size_t calls;
};

// Lists the recorded sessions, sorted by start time. The list is in the arena.
bool recorder_list(struct store *s, struct arena *a, struct recorded_session **out, size_t *out_count, struct fault *f);

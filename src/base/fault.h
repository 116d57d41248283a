// SPDX-License-Identifier: Apache-2.0
// A typed error: what happened, where, and whether trying again can help.
// A function that can fail takes a `struct fault *` last and fills it when it returns failure;
// the caller that decides what to do about it logs it, once.
#pragma once
#include <stdbool.h>

#include "base/str.h"

// name, retryable
#define FAULT_TABLE(X) \
  X(INVALID, false)              /* the input does not say what it must */ \
  X(LIMIT, false)                /* the input is larger than a configured limit */ \
  X(IO, false)                   /* the system refused: file, socket, process */ \
  X(PROTOCOL, false)             /* the peer broke the protocol */ \
  X(NOT_FOUND, false)            /* no such tool, resource, prompt */ \
  X(UPSTREAM_UNAVAILABLE, true)  /* not connected, or lost */ \
  X(UPSTREAM_SESSION_LOST, true) /* it forgot our session; the request was not carried out */ \
  X(UPSTREAM_TIMEOUT, true)      /* no answer in time */ \
  X(UPSTREAM_ERROR, false)       /* answered, but not with what was asked for */ \
  X(AUTH_FAILED, false)          /* the upstream does not accept who we say we are */ \
  X(PERMISSION_DENIED, false)    /* it does, but not what is asked for */ \
  X(CANCELLED, false)            /* the caller gave up */ \
  X(RATE_LIMITED, true)          /* too often: by us, or by an upstream */ \
  X(ARGS_INVALID, false)         /* arguments of a meta-tool, or of the tool it calls */ \
  X(SCHEMA_INVALID, false)       /* what a tool says it takes is no schema that can be used */ \
  X(PATH_INVALID, false)         /* not a path at all */ \
  X(PATH_NOT_FOUND, false)       /* a path to nothing */ \
  X(HYDRATE_FAILED, false)       /* no such tool for this caller */ \
  X(TOOL_NOT_FOUND, false)       /* the same, and the id had neither version nor hash */ \
  X(RESOURCE_NOT_FOUND, false)   /* no such resource */ \
  X(PROMPT_NOT_FOUND, false)     /* no such prompt */ \
  X(VIEW_FAILED, false)          /* no such artifact for this caller, or not that slice of it */ \
  X(INVALID_AGENT_ID, false)     /* no agent is named, or one that no rule knows */ \
  X(FALLBACK_AGENT_NOT_IN_RULES, false) \
  X(NO_FALLBACK_CONFIGURED, false) \
  X(DENIED_BY_POLICY, false) /* a rule says no */ \
  X(AUDIT_UNAVAILABLE, true) /* the log of what is done cannot be written, and must be */ \
  X(SHUTTING_DOWN, true)

enum fault_code {
  FAULT_NONE,
#define X(name, retryable) FAULT_##name,
  FAULT_TABLE(X)
#undef X
      FAULT_COUNT
};

// The limit that a text exceeds, in a FAULT_LIMIT of json_parse; LIMIT_OTHER in other faults.
enum fault_limit { LIMIT_OTHER, LIMIT_BYTES, LIMIT_DEPTH, LIMIT_VALUES };

enum { FAULT_CHARS = 256, FAULT_TEXT = 4 * FAULT_CHARS + 1, FAULT_PATH = 256 };

struct fault {
  enum fault_code code;
  enum fault_limit limit;
  char message[FAULT_TEXT];  // one line of at most FAULT_CHARS characters, with "…" at the end when it was cut
  char path[FAULT_PATH];     // JSON Pointer, "line N", an id, or empty
  uint64_t after_ms;         // to try again earlier is of no use; 0: it is not known
  bool undone;               // of a request: it was certainly not carried out
  bool again;                // what was to be used was replaced meanwhile: it is to be asked for once more
  bool passes;               // trying again can help, whatever its kind says
};

// Sets code and message, clears everything else. Of the arguments, terminal sequences are left out, and white space and
// control characters become one blank (base/text/plain.h).
void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void fault_set_path(struct fault *f, str path);

const char *fault_name(enum fault_code code);  // "UPSTREAM_TIMEOUT"
bool fault_retryable(enum fault_code code);

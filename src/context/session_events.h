// SPDX-License-Identifier: Apache-2.0
// Reads a conversation as a list of events from lines of JSON. Each line is an object:
//
//   {"id": "tr1", "type": "tool_result", "text": "…", "parent_id": "tc1", "sensitivity": "internal",
//    "artifact_ref": {"handle": "…"}, "token_estimate": 12, "metadata": {"tags": ["billing"], "function_name": "…"}}
//
// All members are optional: the default id is `mcp-line-N`, the type user_turn, the sensitivity public. If `text` is
// missing or empty, the member `content` is used instead. Other members are ignored; blank lines are skipped.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "json/json.h"

// The kinds of events: X(constant, name, label in a prompt, priority in hundredths)
#define EVENT_TABLE(X) \
  X(USER_TURN, "user_turn", "USER", 85) \
  X(AGENT_MSG, "agent_msg", "ASSISTANT", 70) \
  X(TOOL_CALL, "tool_call", "TOOL CALL", 60) \
  X(TOOL_RESULT, "tool_result", "TOOL RESULT", 55) \
  X(DOC_SNIPPET, "doc_snippet", "DOCUMENT", 40) \
  X(RETRIEVED_DOC, "retrieved_doc", "RETRIEVED", 45) \
  X(MEMORY_FACT, "memory_fact", "FACT", 50) \
  X(PLAN_STATE, "plan_state", "PLAN", 90) \
  X(POLICY, "policy", "POLICY", 100)

enum event_kind {
#define X(name, text, label, priority) EVENT_##name,
  EVENT_TABLE(X)
#undef X
      EVENT_KINDS,
};

// Sensitivity of an event, in ascending order.
enum event_level { LEVEL_PUBLIC, LEVEL_INTERNAL, LEVEL_CONFIDENTIAL, LEVEL_RESTRICTED, LEVEL_COUNT };

struct event {
  str id;
  enum event_kind kind;
  enum event_level level;
  str text;
  str parent;         // id of another event, or STR_NONE
  str artifact;       // handle of the whole text, or STR_NONE
  str function_name;  // metadata.function_name, or STR_NONE
  str section;        // metadata.section, which replaces the label of the kind, or STR_NONE
  str *tags;          // metadata.tags
  size_t tag_count;
  uint64_t token_estimate;  // 0 if the line has no token_estimate
  size_t line;              // line number, from 1
};

struct event_log {
  struct event *list;
  size_t count;
};

struct session_limits {
  size_t bytes, line_bytes, events;
};

extern const struct session_limits session_default_limits;  // 64 MiB in total, 16 MiB per line, 100 000 events

// Reads the lines of `text`. The events are in the arena; `text` must outlive the events. Fails at the first line that
// is not a JSON object, or that has a member with a wrong type, an unknown event type or a duplicate id. The fault
// names the line and the problem.
bool session_read(struct arena *a, str text, const struct session_limits *limits, struct event_log *out,
                  struct fault *f);

const char *event_kind_name(enum event_kind kind);
const char *event_kind_label(enum event_kind kind);
double event_kind_priority(enum event_kind kind);
const char *event_level_name(enum event_level level);
bool event_level_find(str name, enum event_level *out);

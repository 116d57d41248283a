// SPDX-License-Identifier: Apache-2.0
// Internals of the governance file, shared by govern*.c only.
#pragma once
#include "govern/agents.h"
#include "govern/logic.h"

enum { GOVERNANCE_MAGIC = 0x676f7631 };

struct governance_permission {
  str permission_id, pointer, adapter_id, name, description, decision_binding;
  bool allow;
  uint8_t mode;  // enum approval_mode; APPROVAL_NONE: no ceiling
  struct governance_names roles, intents, environments, tenants;
  struct constraints constraints;
};

struct governance_rule {
  str rule_id, pointer, description, rationale, decision_binding;
  str intent;                     // STR_NONE: any
  const struct logic *condition;  // NULL: always
  bool allow, non_enforcing;
  uint8_t mode;   // enum approval_mode; APPROVAL_NONE: the rule names no mode
  str gate_name;  // STR_NONE: no gate
  const struct governance_gate *gate;
  struct constraints constraints;
};

struct governance_bundle {
  str bundle_id, pointer, description;
  int64_t priority;
  size_t index;  // in the file
  struct governance_rule *rules;
  size_t rule_count;
  struct governance_gate *gates;
  size_t gate_count;
};

// The members of a context that permissions and rules name; STR_NONE if absent.
struct governance_subject {
  str role, intent, environment, tenant;
};

struct governance_agent {
  str id;
  const struct json *context;  // an object that governance_check_context accepts
  struct governance_subject subject;
  enum approval_mode safety;
};

struct governance {
  uint32_t magic;
  unsigned refs;
  struct arena arena;  // everything below, and a copy of the file
  struct governance_adapter *adapters;
  size_t adapter_count;
  struct governance_capability *capabilities;  // by id
  size_t capability_count;
  struct governance_permission *permissions;  // as in the file
  size_t permission_count;
  struct governance_bundle *bundles;  // by priority, then as in the file
  size_t bundle_count;
  struct governance_agent *agents;  // by id
  size_t agent_count;
  struct governance_agent others;  // agents that are not listed
  bool allows_unlisted;            // servers without an adapter
};

// ---- govern_fields.c: readers of members

struct governance_reader {
  struct governance *governance;
  struct arena *arena;  // of the governance
  governance_problem *problem;
  void *ctx;
  bool failed;
};

// A known member of an object, and where its value goes: `at` bytes into the struct that is read.
struct governance_field {
  const char *key;
  void (*read)(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
               void *to);
  size_t at;
  bool required;
  const char *const *words;  // of a choice, ends with NULL
};

typedef void governance_read_field(struct governance_reader *r, str pointer, const struct json *v,
                                   const struct governance_field *f, void *to);

void governance_report(struct governance_reader *r, str pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
str governance_below(struct governance_reader *r, str pointer, const struct json *member);
str governance_below_index(struct governance_reader *r, str pointer, size_t index);

// Reads the members of an object into a struct. Unknown and missing members are problems.
void governance_read_members(struct governance_reader *r, str pointer, const struct json *v,
                             const struct governance_field *fields, size_t count, void *into);

// Reads each element of a list with `read`, into consecutive structs of `size` bytes, cleared. Returns the structs.
void *governance_read_list(struct governance_reader *r, str pointer, const struct json *v, size_t size,
                           void (*read)(struct governance_reader *r, str pointer, const struct json *v, void *into),
                           size_t *out_count);

governance_read_field governance_id;           // str: at most GOVERNANCE_ID_MAX bytes, without control characters
governance_read_field governance_text;         // str
governance_read_field governance_texts;        // struct governance_names of ids
governance_read_field governance_flag;         // bool
governance_read_field governance_count;        // uint64_t: 1 to 1e9
governance_read_field governance_integer;      // int64_t
governance_read_field governance_seconds;      // double: 0 to 1e6
governance_read_field governance_mode;         // uint8_t, enum approval_mode
governance_read_field governance_choice;       // uint8_t, index of a word
governance_read_field governance_logic;        // const struct logic *
governance_read_field governance_constraints;  // struct constraints

// An id and where it stands.
struct governance_named {
  str id, pointer;
  void *object;
  size_t order;  // set by governance_sort_unique
};
// Sorts by id, then as given. Reports every id that is there twice.
void governance_sort_unique(struct governance_reader *r, struct governance_named *list, size_t count, const char *what);

// ---- govern_manifest.c

void governance_read_adapters(struct governance_reader *r, str pointer, const struct json *v);

// ---- govern.c

bool governance_permits(const struct governance_permission *p, const struct governance_subject *who);

// ---- agents.c

void governance_read_context(struct governance_reader *r, str pointer, const struct json *v);  // v: NULL if absent

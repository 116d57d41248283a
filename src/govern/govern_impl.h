// SPDX-License-Identifier: Apache-2.0
// Internals of the governance file, shared by govern*.c only.
#pragma once
#include "base/crypto/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "govern/agents.h"
#include "govern/aliases.h"
#include "govern/flow.h"
#include "govern/logic.h"
#include "govern/records.h"

enum { GOVERNANCE_MAGIC = 0x676f7631, GOVERNANCE_CLAIMS_MAX = 32 };

struct governance_permission {
  struct governance_match match;
  str adapter_id, name, description, decision_binding;
  bool allow;
  uint8_t mode;  // enum approval_mode: the ceiling; APPROVAL_NONE if there is no ceiling
  struct governance_names roles, intents, environments, tenants;
};

struct governance_rule {
  struct governance_match match;
  str description, rationale, decision_binding;
  str intent;                     // STR_NONE if the rule applies to every intent
  const struct logic *condition;  // NULL if the rule has no condition
  bool allow, non_enforcing;
  uint8_t mode;   // enum approval_mode; APPROVAL_NONE if the rule sets no mode
  str gate_name;  // STR_NONE if the rule names no gate
  const struct governance_gate *gate;
};

struct governance_bundle {
  str bundle_id, pointer, description;
  int64_t priority;
  size_t index;  // position in the file
  struct governance_rule *rules;
  size_t rule_count;
  struct governance_gate *gates;
  size_t gate_count;
};

struct governance_agent {
  str id;
  const struct json *context;  // an object that governance_check_context accepts
  struct governance_subject subject;
  enum approval_mode safety;
};

// A claim of tokens, and the member of the context that gets its value.
struct governance_claim {
  str member;
  str name;  // name of the claim or, if it starts with a slash, JSON Pointer to the claim
};

struct governance_intent {
  str name, pointer;
  uint8_t classes;  // set of classes: a bit 1 << enum capability_class for each
};

struct governance_signing;

struct governance {
  uint32_t magic;
  unsigned refs;
  struct arena arena;  // owns all other members, and a copy of the file
  struct governance_adapter *adapters;
  size_t adapter_count;
  struct governance_named *servers;  // sorted by name; the object is the adapter
  size_t server_count;
  struct governance_capability *capabilities;  // sorted by id
  size_t capability_count;
  struct governance_permission *permissions;  // in the order of the file
  size_t permission_count;
  struct governance_bundle *bundles;  // sorted by priority, then in the order of the file
  size_t bundle_count;
  struct governance_intent *intents;  // sorted by name
  size_t intent_count;
  struct governance_agent *agents;  // sorted by id
  size_t agent_count;
  struct governance_agent others;  // context of all agents that are not in `agents`
  bool offers_plan_check;
  uint8_t output_schemas;  // enum governance_output, for servers without an adapter
  bool checks_output;      // the results of some server are validated
  uint8_t unlisted;        // enum governance_unlisted: servers without an adapter
  bool provisional_tools;  // tools that no adapter of their server lists are provisional capabilities
  // Whether the maps of tools with provisional capabilities exist (govern/provisional.h). Tools are added while the
  // governance is in use.
  bool notes_ready;
  size_t noted_count;
  struct map noted, noted_ids;  // known tools, by server and name, and by id of the capability
  uint8_t pins;                 // enum governance_pins
  struct governance_alias *aliases;
  size_t alias_count;
  struct governance_claim claims[GOVERNANCE_CLAIMS_MAX];
  size_t claim_count;
  struct governance_records records;
  char digest[7 + 2 * SHA256_SIZE + 1];  // see governance_digest
  struct governance_flow flow;
  bool versioned;                      // at least one adapter has versions
  struct governance_signing *signing;  // NULL if the file has no `signing`
  struct governance_names skill_files;
  struct governance_skill_key *skill_keys;
  size_t skill_key_count;
  struct skills *skills;  // owned; NULL if there are none
  void (*skills_free)(struct skills **skills);
  // Whether the map of run contexts exists (govern/run.h). Contexts are created and freed while the governance is in
  // use.
  bool runs_ready;
  struct map runs;        // run contexts by the text of the context
  struct list idle_runs;  // contexts without references; the most recently used one is last
};

// ---- govern_fields.c: readers of members

struct governance_reader {
  struct governance *governance;
  struct arena *arena;  // of the governance
  governance_problem *problem;
  void *ctx;
  bool failed;
};

// Describes a member of an object. `read` stores the value in a struct, `at` bytes after the start of the struct.
struct governance_field {
  const char *key;
  void (*read)(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
               void *to);
  size_t at;
  bool required;
  const char *const *words;  // allowed values of governance_choice, ends with NULL
};

typedef void governance_read_field(struct governance_reader *r, str pointer, const struct json *v,
                                   const struct governance_field *f, void *to);

void governance_report(struct governance_reader *r, str pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
str governance_below(struct governance_reader *r, str pointer, const struct json *member);
str governance_below_index(struct governance_reader *r, str pointer, size_t index);

// Reads the members of an object and stores their values in the struct `into`. Reports unknown members, and required
// members that are missing.
void governance_read_members(struct governance_reader *r, str pointer, const struct json *v,
                             const struct governance_field *fields, size_t count, void *into);

// Reads a list. Calls `read` for each element with a zeroed struct of `size` bytes, and returns the array of these
// structs.
void *governance_read_list(struct governance_reader *r, str pointer, const struct json *v, size_t size,
                           void (*read)(struct governance_reader *r, str pointer, const struct json *v, void *into),
                           size_t *out_count);

governance_read_field governance_id;       // str: an id or name (see governance_is_id)
governance_read_field governance_text;     // str
governance_read_field governance_texts;    // struct governance_names: a list of ids or names
governance_read_field governance_flag;     // bool
governance_read_field governance_count;    // uint64_t: 1 to 1e9
governance_read_field governance_integer;  // int64_t
governance_read_field governance_seconds;  // double: 0 to 1e6
governance_read_field governance_cost;     // double: 0 to 1e9
governance_read_field governance_mode;     // uint8_t, enum approval_mode
governance_read_field governance_choice;   // uint8_t, index into `words`
// Allowed values of output_schemas.
extern const char *const governance_outputs[];

governance_read_field governance_logic;        // const struct logic *
governance_read_field governance_constraints;  // struct constraints

// An id and its place in the file.
struct governance_named {
  str id, pointer;
  void *object;
  size_t order;  // set by governance_sort_unique
};
// Sorts by id, then by position in the list. Reports ids that occur more than once.
void governance_sort_unique(struct governance_reader *r, struct governance_named *list, size_t count, const char *what);

// ---- govern_manifest.c

// Reads the members `adapters` and `manifests` of the file; each is NULL if absent.
void governance_read_adapters(struct governance_reader *r, const struct json *adapters, const struct json *manifests);

// ---- govern_records.c

void governance_read_records(struct governance_reader *r, str pointer, const struct json *v);  // v: NULL if absent

// ---- versions.c

governance_read_field governance_read_versions;  // struct governance_versions

// ---- govern_flow.c

governance_read_field governance_read_marks;  // reads marks of the flow guard into a uint8_t, one bit for each
void governance_read_flow(struct governance_reader *r, str pointer, const struct json *v);  // v: NULL if absent

// ---- aliases.c

void governance_read_aliases(struct governance_reader *r, str pointer, const struct json *v);

// ---- govern_signing.c

void governance_read_signing(struct governance_reader *r, str pointer, const struct json *v);  // v: NULL if absent
void governance_signing_done(struct governance *g);

// ---- provisional.c

// Returns the provisional capability of a noted tool, or NULL.
const struct governance_capability *governance_noted(const struct governance *g, str server, str tool);
// Returns the provisional capability with this id. If its tool is not known yet, makes the capability in the arena from
// the tool's `annotations` (NULL: no hints). Returns NULL if the id names no known adapter or server, or if the tools
// of the server are not provisional.
const struct governance_capability *governance_provisional_find(const struct governance *g, str id,
                                                                const struct json *annotations, struct arena *a);
void governance_forget_tool(struct governance *g, str server, str tool);
void governance_notes_free(struct governance *g);

// ---- govern.c

bool governance_permits(const struct governance_permission *p, const struct governance_subject *who);
// Returns whether the capability may be used in the environment of the context.
bool governance_is_in(const struct governance_capability *c, const struct governance_subject *who);
// Returns whether the context has the scopes and claims that the capability requires; otherwise sets *out to the code
// of the denial.
bool governance_has_identity(const struct governance_capability *c, const struct json *context,
                             enum governance_code *out);

// ---- intents.c

void governance_read_intents(struct governance_reader *r, str pointer, const struct json *v);
// Returns whether runs with this intent may use capabilities of a class. If not, sets *out_pointer to the place in the
// file that excludes the class. `intent` is STR_NONE if the context has none.
bool governance_intent_allows(const struct governance *g, str intent, enum capability_class class, str *out_pointer);

// ---- govern_skills.c

// Reads the members `skills` and `skill_keys`, each NULL if absent.
void governance_read_skills(struct governance_reader *r, const struct json *files, const struct json *keys);

// ---- agents.c

void governance_read_context(struct governance_reader *r, str pointer, const struct json *v);  // v: NULL if absent
// Sets the members of `p` that decisions use, from `context`. The strings are in the arena or in the text of `context`.
void governance_agent_settle(struct governance_agent *p, const struct json *context, struct arena *a);

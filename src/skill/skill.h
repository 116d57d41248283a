// SPDX-License-Identifier: Apache-2.0
// A skill: a named, versioned and signed sequence of calls (steps) with conditions before and after, a prompt fragment,
// and a golden set (golden.h) that tests it. docs/reference/skills.md describes the file.
//
// A skill is immutable and belongs to its owner's arena.
#pragma once
#include "base/crypto/hash.h"
#include "govern/govern_impl.h"

enum {
  SKILL_BYTES_MAX = 256 << 10,    // of a skill file
  SKILL_FRAGMENT_MAX = 64 << 10,  // of a prompt fragment
  SKILL_GOLDEN_MAX = 1 << 20,     // of a golden set
  SKILL_ID_MAX = 100,
  SKILL_STEPS_MAX = 32,
  SKILL_CONDITIONS_MAX = 32,
  SKILL_CAPABILITIES_MAX = 64,
  SKILL_DEPTH_MAX = 3,           // skills within skills, counting the outermost
  SKILL_HASH = 2 * SHA256_SIZE,  // hexadecimal digits
};

// The limits with which all texts of skills are parsed.
extern const struct json_limits skill_limits;

struct skill_condition {
  const struct json *text;    // as in the file
  const struct logic *logic;  // NULL: the condition is prose, which is recorded only
};

struct skill_capability {
  str name;       // adapter_id.name
  uint8_t class;  // enum capability_class
};

// A step has a capability or a skill; the other is STR_NONE.
struct skill_step {
  str id, pointer, capability, skill;
  const struct json *args;  // template (govern/template.h), or NULL
};

struct skill {
  str skill_id, version, purpose, owner_role;
  struct skill_capability *capabilities;
  size_t capability_count;
  struct skill_condition *before, *after;  // preconditions, postconditions
  size_t before_count, after_count;
  struct skill_step *steps;
  size_t step_count;
  const struct json *inputs;        // JSON Schema of the arguments, or NULL
  const struct json *output;        // template of the result, or NULL
  struct governance_names tenants;  // who may see the skill; every tenant if the list is absent
  str fragment_ref, golden_ref;     // paths relative to the skill file; STR_NONE if absent
  str fragment_sha256, golden_sha256;
  const struct json *signatures;  // NULL if absent
  str canonical;                  // the file without `signatures`, as RFC 8785
  char digest[SKILL_HASH + 1];    // SHA-256 of `canonical`
};

// Reads the root of a skill file. Copies the contents to the arena. Reports every error; returns NULL if there is one.
const struct skill *skill_read(const struct json *root, struct arena *a, governance_problem *problem, void *ctx);

// Returns whether `id` has the form skill.DOMAIN.NAME.
bool skill_is_id(str id);

// SPDX-License-Identifier: Apache-2.0
// Random governance files and questions, for tests. Every run makes the same ones.
#pragma once
#include <stdint.h>

#include "governance_world.h"

static uint64_t random_state = 0x9e3779b97f4a7c15;

static inline unsigned roll(unsigned sides) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state >> 33) % sides);
}

#define PICK(words) words[roll(sizeof words / sizeof *words)]

// ---- random texts

static const char *const modes[] = {"read_only", "local_write", "network", "delegated", "destructive"};
// If set, expressions read no arguments, and none of them fails.
static bool without_arguments;

static const char *const paths[] = {"role",   "intent",   "capability", "safety_mode", "tenant", "args.n",
                                    "args.s", "args.o.k", "args.l",     "args.l.1",    "args.n", "args.s"};
enum { PATHS_OF_CONTEXT = 5 };  // the first of the paths
static const char *const scalars[] = {"0",     "1",    "2",       "3",    "-1",    "2.5",  "\"1\"",
                                      "\"x\"", "\"\"", "\"ops\"", "true", "false", "null", "\"a.c0\""};

static inline void put_expression(struct buf *b, unsigned depth) {
  static const char *const two[] = {"==", "===", "!=", "!==", "<", "<=", ">", ">=", "-", "in", "+", "*"};
  static const char *const many[] = {"and", "or", "if", "cat", "max", "merge"};
  static const char *const loops[] = {"some", "all", "none"};
  unsigned kind = depth ? roll(10) : roll(3);
  if (kind < 2) {
    buf_printf(b, "{\"var\":\"%s\"}", without_arguments ? paths[roll(PATHS_OF_CONTEXT)] : PICK(paths));
  } else if (kind == 2) {
    buf_printf(b, "%s", PICK(scalars));
  } else if (kind < 6) {
    buf_printf(b, "{\"%s\":[", PICK(two));
    put_expression(b, depth - 1);
    buf_char(b, ',');
    put_expression(b, depth - 1);
    buf_str(b, STR("]}"));
  } else if (kind < 8) {
    buf_printf(b, "{\"%s\":[", PICK(many));
    for (unsigned i = 0, n = 1 + roll(3); i < n; i++) {
      if (i) buf_char(b, ',');
      put_expression(b, depth - 1);
    }
    buf_str(b, STR("]}"));
  } else if (kind == 8) {
    buf_printf(b, "{\"%s\":[{\"var\":\"%s\"},{\"%s\":[{\"var\":\"\"},%s]}]}", PICK(loops),
               without_arguments ? "scopes" : "args.l", PICK(two), PICK(scalars));
  } else {
    buf_str(b, roll(2) ? STR("{\"!\":[") : STR("{\"!!\":["));
    put_expression(b, depth - 1);
    buf_str(b, STR("]}"));
  }
}

// An expression that fails whenever it is evaluated.
#define FAILING "{\"missing\":[[[1]]]}"

static inline void put_condition(struct buf *b, unsigned depth) {
  if (without_arguments || roll(40)) put_expression(b, depth);
  else buf_str(b, STR(FAILING));
}

static inline void put_constraints(struct buf *b) {
  static const char *const keywords[] = {"\"min\":1",          "\"max\":2",           "\"enum\":[1,\"x\",null]",
                                         "\"const\":\"1\"",    "\"pattern\":\"x|1\"", "\"minLength\":1",
                                         "\"maxLength\":0",    "\"maxItems\":2",      "\"required\":true",
                                         "\"required\":false", "\"format\":\"date\""};
  static const char *const keys[] = {"n", "s", "o.k", "l", "l[1]", "o"};
  buf_char(b, '{');
  unsigned from = roll(6);
  for (unsigned i = from; i < 6 && i < from + 2; i++) {
    unsigned at = roll(10);
    buf_printf(b, "%s\"%s\":{%s", i > from ? "," : "", keys[i], keywords[at]);
    if (roll(2)) buf_printf(b, ",%s", keywords[at == 8 ? 10 : at + 1 == 9 ? 0 : at + 1]);
    if (!roll(4)) buf_str(b, STR(",\"unless_approved\":true"));
    buf_char(b, '}');
  }
  buf_char(b, '}');
}

static inline void put_words(struct buf *b, const char *key, const char *const *words, unsigned count) {
  if (roll(3)) return;
  buf_printf(b, ",\"%s\":[\"%s\"", key, words[roll(count)]);
  if (roll(2)) buf_printf(b, ",\"%s\"", words[roll(count)]);
  buf_char(b, ']');
}

static const char *const roles[] = {"ops", "dev"};
static const char *const intents[] = {"i", "j", "read_only"};
static const char *const class_words[] = {"observe", "act", "verify", "recall"};
static const unsigned highest[] = {4, 3, 0, 2, 1};  // modes of c0 to c4

static inline void put_permission(struct buf *b, unsigned i) {
  unsigned c = roll(5);
  buf_printf(b, "%s{\"permission_id\":\"p%u\",\"adapter_id\":\"a\",\"capability\":\"c%u\",\"allow\":%s", i ? "," : "",
             i, c, roll(12) ? "true" : "false");
  if (roll(2)) buf_printf(b, ",\"approval_mode\":\"%s\"", modes[highest[c] - (highest[c] && !roll(3) ? 1 : 0)]);
  put_words(b, "roles", roles, 2);
  put_words(b, "intents", intents, 3);
  put_words(b, "environments", intents, 2);
  put_words(b, "tenants", roles, 2);
  if (!roll(3)) {
    buf_str(b, STR(",\"arg_constraints\":"));
    put_constraints(b);
  }
  buf_char(b, '}');
}

static inline void put_rule(struct buf *b, unsigned bundle, unsigned i) {
  buf_printf(b, "%s{\"rule_id\":\"r%u_%u\"", i ? "," : "", bundle, i);
  if (!roll(3)) buf_printf(b, ",\"applies_to\":{\"intent\":\"%s\"}", PICK(intents));
  if (roll(4)) {
    buf_str(b, STR(",\"if\":"));
    put_condition(b, 3);
  }
  if (!roll(4)) buf_str(b, STR(",\"non_enforcing\":true"));
  buf_printf(b, ",\"then\":{\"allow\":%s", roll(10) ? "true" : "false");
  if (!roll(3)) buf_printf(b, ",\"approval_mode\":\"%s\"", modes[roll(5)]);
  if (!roll(5)) buf_printf(b, ",\"requires_approval_gate\":\"G%u\"", roll(2));
  if (!roll(5)) {
    buf_str(b, STR(",\"arg_constraints\":"));
    put_constraints(b);
  }
  buf_str(b, STR("}}"));
}

static inline void put_bundles(struct buf *b) {
  for (unsigned i = 0; i < 2; i++) {
    buf_printf(b, "%s{\"bundle_id\":\"b%u\",\"priority\":%u,\"policy_dsl\":{\"language\":\"jsonlogic\",\"rules\":[",
               i ? "," : "", i, roll(3));
    for (unsigned k = 0, n = roll(4); k < n; k++) put_rule(b, i, k);
    buf_printf(b, "]},\"approval_gates\":[{\"gate_id\":\"G%u\",\"required_approver_role\":\"boss\"", i);
    if (roll(2)) {
      buf_str(b, STR(",\"when\":"));
      put_condition(b, 2);
    }
    buf_str(b, STR("}]}"));
  }
}

static const char *const mark_words[] = {"reads_private", "untrusted_input", "sends_out"};

// Writes a list of marks of the flow guard, or nothing.
static inline void put_marks(struct buf *b, const char *key) {
  if (roll(3)) return;
  buf_printf(b, ",\"%s\":[", key);
  for (unsigned i = 0, from = roll(3), n = 1 + roll(3); i < n; i++)
    buf_printf(b, "%s\"%s\"", i ? "," : "", mark_words[(from + i) % 3]);
  buf_char(b, ']');
}

static inline void put_capability(struct buf *b, unsigned i, const char *class, bool provisional) {
  buf_printf(b, "%s{\"name\":\"c%u\",\"class\":\"%s\",\"approval_mode\":\"%s\"", i ? "," : "", i, class,
             modes[highest[i]]);
  if (provisional) buf_str(b, STR(",\"provisional\":true"));
  if (i == 0 && !roll(3)) buf_printf(b, ",\"scopes\":[\"w\"%s]", roll(2) ? ",\"x\"" : "");
  if (i == 1 && !roll(3)) buf_str(b, STR(",\"claims\":[\"level\"]"));
  if (!roll(6)) buf_printf(b, ",\"environment\":\"%s\"", intents[roll(2)]);
  put_marks(b, "flow");
  buf_char(b, '}');
}

static inline void put_parts(struct buf *b) {
  static const char *const flows[] = {"off", "warn", "enforce"};
  buf_str(b, STR(",\"intents\":{"));
  if (!roll(3)) buf_printf(b, "\"i\":{\"classes\":[\"%s\",\"%s\"]}", PICK(class_words), PICK(class_words));
  buf_str(b, STR("},\"context\":{"));
  if (roll(2)) buf_str(b, STR("\"unlisted_tools\":\"provisional\","));
  buf_printf(b, "\"unlisted_servers\":\"%s\"}", roll(2) ? "provisional" : "deny");
  if (roll(3)) buf_printf(b, ",\"flow\":{\"mode\":\"%s\"}", PICK(flows));
}

static inline void put_file(struct buf *b) {
  buf_str(b, STR("{\"adapters\":[{\"adapter_id\":\"a\",\"type\":\"MCP\",\"server\":\"s\",\"capabilities\":["));
  put_capability(b, 0, "act", false);
  put_capability(b, 1, "act", !roll(4));
  put_capability(b, 2, "observe", !roll(4));
  put_capability(b, 3, "verify", false);
  put_capability(b, 4, "act", false);
  buf_str(b, STR("]}],\"permissions\":["));
  for (unsigned i = 0, n = 3 + roll(6); i < n; i++) put_permission(b, i);
  buf_str(b, STR("],\"bundles\":["));
  if (roll(4)) put_bundles(b);
  buf_char(b, ']');
  put_parts(b);
  buf_char(b, '}');
}

static inline void put_member(struct buf *b, const char *key, const char *const *words, unsigned count) {
  if (roll(4)) buf_printf(b, "%s\"%s\":\"%s\"", b->p[b->n - 1] == '{' ? "" : ",", key, words[roll(count)]);
}

static inline void put_context(struct buf *b) {
  buf_char(b, '{');
  put_member(b, "role", roles, 2);
  put_member(b, "intent", intents, roll(3) ? 2 : 3);
  put_member(b, "environment", intents, 2);
  put_member(b, "tenant", roles, 2);
  if (!roll(4)) put_member(b, "safety_mode", modes, 5);
  const char *comma = b->p[b->n - 1] == '{' ? "" : ",";
  buf_printf(b, "%s\"delegation_expires\":%u", comma, roll(2) ? 100 + roll(20) : 200);
  if (roll(4)) buf_printf(b, ",\"scopes\":[%s%s]", roll(4) ? "\"w\"" : "\"v\"", roll(2) ? ",\"x\"" : "");
  if (roll(2)) buf_printf(b, ",\"level\":%s", roll(3) ? "2" : "null");
  if (roll(2)) buf_printf(b, ",\"principals\":[{\"kind\":\"%s\",\"id\":\"u\"}]", roll(3) ? "user" : "service");
  buf_char(b, '}');
}

static inline void put_arguments(struct buf *b) {
  buf_char(b, '{');
  if (roll(3)) buf_printf(b, "\"n\":%s,", PICK(scalars));
  if (roll(3)) buf_printf(b, "\"s\":%s,", PICK(scalars));
  if (roll(3)) buf_printf(b, "\"o\":{\"k\":%s},", PICK(scalars));
  if (roll(2)) buf_printf(b, "\"l\":[%s,%s],", PICK(scalars), PICK(scalars));
  buf_str(b, STR("\"end\":0}"));
}

// A question. Its members `ceiling` and `partial` are read by tests only.
static inline void put_question(struct buf *b) {
  static const char *const unlisted[] = {"a.c9", "mcp_t.x", "mcp_s.x", "c0"};
  if (roll(10)) buf_printf(b, "{\"capability\":\"a.c%u\"", roll(5));
  else buf_printf(b, "{\"capability\":\"%s\"", PICK(unlisted));
  buf_str(b, STR(",\"context\":"));
  put_context(b);
  buf_str(b, STR(",\"args\":"));
  put_arguments(b);
  if (roll(2)) buf_printf(b, ",\"now\":%u", 100 + roll(20));
  if (!roll(3)) buf_printf(b, ",\"mode\":\"%s\"", roll(9) ? modes[roll(5)] : "admin");
  if (!roll(6)) buf_printf(b, ",\"ceiling\":\"%s\"", modes[roll(5)]);
  if (!roll(6)) buf_str(b, STR(",\"partial\":true"));
  if (roll(2))
    buf_printf(b, ",\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":%s}", roll(2) ? "true" : "false");
  put_marks(b, "flow");
  buf_char(b, '}');
}

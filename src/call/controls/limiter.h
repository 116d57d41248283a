// SPDX-License-Identifier: Apache-2.0
// How often something may be called: within any 60 seconds, and in all, by one session.
//
// A rule is a bucket that every session has for itself. It is for a meta-tool ("tool_execute"), or for the tools whose
// ids match its pattern, together. A use that falls into several buckets is allowed by all of them and counted in all
// of them, or in none.
//
// Memory is bounded: a bucket remembers at most LIMITER_TIMES times (of a limit above that, calls within a quarter of a
// second count as made at its end), and there are at most `max_books` books. The book of a session is kept until the
// session ends; any other is forgotten after `idle_ms` without a use.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

enum { LIMITER_WINDOW_MS = 60000, LIMITER_TIMES = 240, LIMITER_SCOPE = 320, LIMITER_MOST_RULES = 512 };

struct limiter_rule {
  str name;              // of a meta-tool, or a pattern (base/text/glob.h) for ids of tools
  bool tools;            // the latter
  uint32_t per_minute;   // 0: any number
  uint32_t per_session;  // 0: any number
};

struct limiter_options {
  const struct limiter_rule *rules;  // outlive the limiter
  size_t count;                      // at most LIMITER_MOST_RULES
  size_t max_books;
  uint64_t idle_ms;
  struct hash_key seed;
};

struct limiter;

struct limiter *limiter_new(const struct limiter_options *opt);
void limiter_free(struct limiter **l);

struct limiter_use {
  str book;      // whose: a session, or whatever counts as one
  bool session;  // the book is a session's, which ends with limiter_forget
  str meta;      // the meta-tool that it is a use of
  str tool;      // the id of the tool that is called; STR_NONE: none
  str safe;      // its client-safe name, which a rule may have too
};

struct limiter_breach {
  char scope[LIMITER_SCOPE];  // "tool_execute/minute", "tool:github:*/session"
  uint32_t limit;             // so many calls
  bool passes;                // it will be allowed again,
  uint64_t after_ms;          // after so long; else 0
};

// Is it allowed now (milliseconds that never go back)? `count` it if so. False: *out says what stands against it, and
// nothing was counted.
bool limiter_take(struct limiter *l, const struct limiter_use *use, uint64_t now, bool count,
                  struct limiter_breach *out);

// The session is over.
void limiter_forget(struct limiter *l, str book);

size_t limiter_books(const struct limiter *l);

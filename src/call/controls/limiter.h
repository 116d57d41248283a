// SPDX-License-Identifier: Apache-2.0
// Rate limits of sessions: calls within 60 seconds, and calls in the whole session.
//
// Every session has a book, which counts its uses. A book has a bucket for each rule. A rule limits a meta-tool
// ("tool_execute"), or all tools together whose ids match a pattern. A use is counted in the buckets of all rules that
// apply to it, but only if all these rules allow it. Clients without a session share one book for each principal.
//
// Memory is bounded: there are at most `max_books` books, and a bucket stores the times of at most LIMITER_TIMES calls.
// If a rule allows more calls in a minute, all calls within a quarter of a second are stored as one time. The book of a
// session lives until the session ends; other books are dropped after `idle_ms` without a use.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

enum { LIMITER_WINDOW_MS = 60000, LIMITER_TIMES = 240, LIMITER_SCOPE = 320, LIMITER_MOST_RULES = 512 };

struct limiter_rule {
  str name;              // a meta-tool, or a pattern (base/text/glob.h) for tool ids
  bool tools;            // `name` is a pattern
  uint32_t per_minute;   // 0: no limit
  uint32_t per_session;  // 0: no limit
};

struct limiter_options {
  const struct limiter_rule *rules;  // must outlive the limiter
  size_t count;                      // at most LIMITER_MOST_RULES
  size_t max_books;
  uint64_t idle_ms;
  struct hash_key seed;
};

struct limiter;

struct limiter *limiter_new(const struct limiter_options *opt);
void limiter_free(struct limiter **l);

struct limiter_use {
  str book;      // key of the book: a session id or a principal
  bool session;  // whether the book belongs to a session; limiter_forget then drops it
  str meta;      // the meta-tool that is used
  str tool;      // the id of the tool that is called, or STR_NONE
  str safe;      // client-safe name of the tool, to which patterns apply too
};

struct limiter_breach {
  char scope[LIMITER_SCOPE];  // "tool_execute/minute", "tool:github:*/session"
  uint32_t limit;             // calls
  bool passes;                // the use will be allowed after `after_ms`
  uint64_t after_ms;          // 0 if waiting does not help
};

// Returns whether a use is allowed at `now` (in milliseconds; must never decrease). Counts the use if it is allowed and
// `count` is set. If the use is not allowed, *out describes the limit that was reached.
bool limiter_take(struct limiter *l, const struct limiter_use *use, uint64_t now, bool count,
                  struct limiter_breach *out);

// Drops the book of a session that has ended.
void limiter_forget(struct limiter *l, str book);

size_t limiter_books(const struct limiter *l);

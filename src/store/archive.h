// SPDX-License-Identifier: Apache-2.0
// Records that are only added (events of sessions, turns removed from a conversation), and documents that are replaced
// as a whole. Both belong to an owner; only that owner finds them.
//
// Records are numbered in the order in which they were added, and dropped when they are older than archive_ms. When
// archive_bytes are in use, further writes are refused (STORE_LOST): archived data is never dropped to make room.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "store/store.h"

enum {
  ARCHIVE_TEXT_BYTES = 64 << 20,  // limit of one record or document
  ARCHIVE_NAME_BYTES = 1 << 10,   // limit of an owner, a context, a kind, a message id, a document's name
  ARCHIVE_FIND_MAX = 10000,       // records that one search returns
};

struct archive_record {
  str context;      // conversation or session of the record
  str kind;         // the writer's own word: "message", "event"
  str message_id;   // the writer's own; may be empty
  str text;         // JSON, unchanged
  int64_t time_ms;  // wall clock; 0 in archive_add: now
  uint64_t number;  // given by archive_add; the first of a store is 1
};

// Adds copies of all records or none. Calls w->done when they are durable; w may be NULL.
// STORE_PASSING: they are in memory only. STORE_LOST: they are not stored.
void archive_add(struct store *s, str owner, const struct archive_record *records, size_t count, struct store_wait *w);

struct archive_query {
  str context;       // empty: of all contexts
  str kind;          // empty: of any
  str message_id;    // empty: with any
  str contains;      // bytes in its text, ASCII letters in either case; empty: any
  int64_t from_ms;   // not before; 0: from the beginning
  int64_t until_ms;  // before this; 0: to the end
  uint64_t after;    // only records with a higher number
  bool newest_first;
  size_t limit;  // 0: ARCHIVE_FIND_MAX
};

struct archive_search {
  struct store_read read;
  struct archive_query query;
  bool (*each)(void *ctx, const struct archive_record *r);
  void *ctx;
  str owner;
  size_t left;  // private, as is the rest
  bool stopped;
};

// Calls `each` for every record that matches, oldest first unless newest_first. The record is valid during the call,
// which must not use the store and returns false to stop. The caller sets query, each and ctx.
void archive_find(struct store *s, str owner, struct archive_search *x);

// Documents: a text under a name ("contexts/abc"), replaced as a whole. `text` of STR_NONE removes it.
void archive_save(struct store *s, str owner, str name, str text, struct store_wait *w);

struct archive_loading {
  struct store_read read;  // FAULT_NOT_FOUND: no such document
  str owner, name;
  struct arena *arena;
  str text;  // in the arena
};
void archive_load(struct store *s, str owner, str name, struct arena *a, struct archive_loading *x);

struct names_found {
  struct arena *arena;
  str *list;  // sorted by bytes, each name once; in the arena
  size_t count, max;
};

struct archive_listing {
  struct store_read read;
  str owner, prefix;
  struct names_found names;
};

// Lists the names of documents that begin with `prefix`, at most `max`.
void archive_names(struct store *s, str owner, str prefix, size_t max, struct arena *a, struct archive_listing *x);

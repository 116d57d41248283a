// SPDX-License-Identifier: Apache-2.0
// Stores records and documents. Records, such as events of sessions or messages removed from a conversation, are added
// and never changed. Documents are replaced as a whole. Only the owner of a record or document can find it.
//
// Records are numbered in the order in which they were added, and are dropped when they are older than archive_ms. If a
// write would exceed archive_bytes, the write is rejected (STORE_LOST): archived data is never dropped to make room.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "store/store.h"

enum {
  ARCHIVE_TEXT_BYTES = 64 << 20,  // maximum size of one record or document
  ARCHIVE_NAME_BYTES = 1 << 10,   // maximum size of an owner, a context, a kind, a message id, or a document's name
  ARCHIVE_FIND_MAX = 10000,       // maximum number of records that one search returns
};

struct archive_record {
  str context;     // conversation or session of the record
  str kind;        // word chosen by the writer, such as "message" or "event"
  str message_id;  // chosen by the writer; may be empty
  str text;        // JSON text, stored unchanged
  // Time of the record by the wall clock, in milliseconds; archive_add replaces 0 with the current time.
  int64_t time_ms;
  uint64_t number;  // number of the record, set by archive_add; the first record of a store has 1
};

// Adds copies of all records, or of none, then calls w->done. STORE_KEPT means that the records are durable,
// STORE_PASSING that they are in memory only, STORE_LOST that they are not stored. `w` may be NULL.
void archive_add(struct store *s, str owner, const struct archive_record *records, size_t count, struct store_wait *w);

struct archive_query {
  str context;       // empty: records of all contexts
  str kind;          // empty: records of any kind
  str message_id;    // empty: records with any message id
  str contains;      // text that a record must contain, ignoring the case of ASCII letters; empty: any text
  int64_t from_ms;   // only records of this time or later; 0: no limit
  int64_t until_ms;  // finds only records before this time; 0 if there is no limit
  uint64_t after;    // only records with a higher number
  bool newest_first;
  size_t limit;  // maximum number of records; 0 means ARCHIVE_FIND_MAX
};

struct archive_search {
  struct store_read read;
  struct archive_query query;
  bool (*each)(void *ctx, const struct archive_record *r);
  void *ctx;
  str owner;
  size_t left;  // this member and the following ones are private
  bool stopped;
};

// Calls `each` for every record that matches, oldest first unless newest_first is set. The record is valid during the
// call. `each` must not use the store, and returns false to stop the search. The caller sets `query`, `each` and `ctx`.
void archive_find(struct store *s, str owner, struct archive_search *x);

// Stores a document: a text with a name such as "contexts/abc". Replaces an existing document of this name. If `text`
// is STR_NONE, removes the document.
void archive_save(struct store *s, str owner, str name, str text, struct store_wait *w);

struct archive_loading {
  struct store_read read;  // the read operation; fails with FAULT_NOT_FOUND if there is no document of this name
  str owner, name;
  struct arena *arena;
  str text;  // in the arena
};
void archive_load(struct store *s, str owner, str name, struct arena *a, struct archive_loading *x);

struct names_found {
  struct arena *arena;
  str *list;  // the names, sorted by bytes, without duplicates; in the arena
  size_t count, max;
};

struct archive_listing {
  struct store_read read;
  str owner, prefix;
  struct names_found names;
};

// Lists at most `max` names of documents that begin with `prefix`.
void archive_names(struct store *s, str owner, str prefix, size_t max, struct arena *a, struct archive_listing *x);

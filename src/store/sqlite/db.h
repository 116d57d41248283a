// SPDX-License-Identifier: Apache-2.0
// An SQLite connection: opens the database with the tables of this version, and prepares each statement once. Only one
// thread may use a connection at a time. Private to src/store/sqlite/.
#pragma once
#include <sqlite3.h>

#include "base/fault.h"
#include "base/str.h"

// The name and SQL text of every statement. Triggers update the tables `usage` and `doomed` when rows are added or
// deleted (tables.c).
#define DB_STATEMENTS(X) \
  X(BEGIN, "BEGIN IMMEDIATE") \
  X(COMMIT, "COMMIT") \
  X(ROLLBACK, "ROLLBACK") \
  X(SYNC_COMMITS, "PRAGMA synchronous = FULL") \
  X(TRUST_THE_SYSTEM, "PRAGMA synchronous = NORMAL") \
  X(USAGE, "SELECT count, bytes FROM usage WHERE name = ?1") \
  X(PIECE_FIND, "SELECT kind, tool_id, media_type, label, hash, size, bytes, server, tool FROM pieces " \
                "WHERE owner = ?1 AND handle = ?2 AND put_at > ?3") \
  X(PIECE_ADD, \
    "INSERT INTO pieces (owner, handle, kind, tool_id, media_type, label, hash, size, cost, bytes, put_at, " \
    "server, tool, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, " \
    "1 + ifnull((SELECT max(used) FROM pieces), 0))") \
  X(PIECE_RENEW, "UPDATE pieces SET put_at = ?4, media_type = ?5, label = ?6, server = ?7, tool = ?8, " \
                 "used = 1 + (SELECT max(used) FROM pieces) WHERE owner = ?1 AND handle = ?2 AND hash = ?3") \
  X(PIECE_DROP, "DELETE FROM pieces WHERE owner = ?1 AND handle = ?2") \
  X(PIECE_DROP_OLD, "DELETE FROM pieces WHERE put_at <= ?1") \
  X(PIECE_DROP_UNUSED_OF, \
    "DELETE FROM pieces WHERE id = (SELECT id FROM pieces WHERE owner = ?1 ORDER BY used LIMIT 1)") \
  X(PIECE_DROP_UNUSED, "DELETE FROM pieces WHERE id = (SELECT id FROM pieces ORDER BY used LIMIT 1)") \
  X(PIECE_USED, "UPDATE pieces SET used = 1 + (SELECT max(used) FROM pieces) " \
                "WHERE owner = ?1 AND handle = ?2 AND used < (SELECT max(used) FROM pieces)") \
  X(PIECE_NAMES_FILE, "SELECT 1 FROM pieces WHERE hash = ?1 AND bytes IS NULL LIMIT 1") \
  X(DOOMED_NEXT, "SELECT hash FROM doomed ORDER BY hash LIMIT 1") \
  X(DOOMED_DROP, "DELETE FROM doomed WHERE hash = ?1") \
  X(RECORD_ADD, \
    "INSERT INTO records (owner, context, kind, message_id, time, added, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)") \
  X(RECORD_DROP_OLD, "DELETE FROM records WHERE added <= ?1") \
  X(RECORD_FIND, RECORD_FIND_TEXT "ORDER BY number LIMIT ?9") \
  X(RECORD_FIND_BACK, RECORD_FIND_TEXT "ORDER BY number DESC LIMIT ?9") \
  X(RECORD_FIND_IN, RECORD_FIND_IN_TEXT "ORDER BY number LIMIT ?9") \
  X(RECORD_FIND_IN_BACK, RECORD_FIND_IN_TEXT "ORDER BY number DESC LIMIT ?9") \
  X(DOCUMENT_ADD, "INSERT INTO documents (owner, name, text) VALUES (?1, ?2, ?3)") \
  X(DOCUMENT_DROP, "DELETE FROM documents WHERE owner = ?1 AND name = ?2") \
  X(DOCUMENT_LOAD, "SELECT text FROM documents WHERE owner = ?1 AND name = ?2") \
  X(DOCUMENT_NAMES, "SELECT name FROM documents WHERE owner = ?1 AND name >= ?2 AND substr(name, 1, length(?2)) = ?2 " \
                    "ORDER BY name LIMIT ?3") \
  X(NOTE_FIND, NOTE_HEAD "space = ?1 AND id = ?4 AND until > ?2 AND number > ?3 LIMIT ?5") \
  X(NOTE_LIST, NOTE_HEAD "space = ?1 AND until > ?2 AND number > ?3 ORDER BY number LIMIT ?5") \
  X(NOTE_PUT, "INSERT INTO notes (space, id, text, value, until) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (space, id) " \
              "DO UPDATE SET text = excluded.text, value = excluded.value, until = excluded.until") \
  X(NOTE_DROP, "DELETE FROM notes WHERE number = ?1") \
  X(NOTE_DROP_OLD, "DELETE FROM notes WHERE until <= ?1")

#define NOTE_HEAD "SELECT number, id, text, value, until FROM notes WHERE "
#define RECORD_FIND_TEXT RECORD_FIND_HEAD "owner = ?1 AND " RECORD_FIND_TAIL
#define RECORD_FIND_IN_TEXT RECORD_FIND_HEAD "owner = ?1 AND context = ?2 AND " RECORD_FIND_TAIL
#define RECORD_FIND_HEAD "SELECT number, context, kind, message_id, time, text FROM records WHERE "
#define RECORD_FIND_TAIL \
  "(?3 = '' OR kind = ?3) AND (?4 = '' OR message_id = ?4) AND (?5 = '' OR instr(lower(text), lower(?5))) " \
  "AND time >= ?6 AND time < ?7 AND number > ?8 AND added > ?10 "

enum db_statement {
#define X(name, text) DB_##name,
  DB_STATEMENTS(X)
#undef X
      DB_STATEMENT_COUNT
};

// fault.after_ms has this value if the fault was caused by another process's lock, and is otherwise 0.
enum { DB_LOCKED_MS = 1000 };

struct db {
  sqlite3 *handle;  // NULL if the database is not open
  bool lost;        // the shared memory was truncated: all connections of this process must be closed with db_abandon
  sqlite3_stmt *statements[DB_STATEMENT_COUNT];
};

// Opens the database; creates missing files and tables, and upgrades older tables. This call and later statements wait
// at most patience_ms for the lock of another process. On failure, db_explain sets `f`, and d->lost may be true.
bool db_open(struct db *d, const char *path, int patience_ms, struct fault *f);
void db_close(struct db *d);
// Closes the database without a checkpoint, because a checkpoint would use damaged shared memory.
void db_abandon(struct db *d);

// Returns whether, after the database was opened, another process truncated it to 0 bytes. If so, sets `f`.
bool db_emptied(const struct db *d, struct fault *f);

// Returns a prepared statement, or NULL on failure. The caller may pass NULL to db_run or db_next, which then report
// the failure.
sqlite3_stmt *db_statement(struct db *d, enum db_statement which);

// The db_bind functions bind a value to the parameter with the number `at` (from 1). The bytes must stay valid until
// the statement is run. `q` may be NULL.
void db_bind_text(sqlite3_stmt *q, int at, str s);
void db_bind_blob(sqlite3_stmt *q, int at, str s);  // STR_NONE binds NULL
void db_bind_int(sqlite3_stmt *q, int at, int64_t v);
// Returns the text of the column with the number `at` (from 0). The text is valid until `q` is stepped or reset.
str db_column(sqlite3_stmt *q, int at);

// Creates the table of notes (counters, leases, keys, entries) if it does not exist.
bool db_make_notes(struct db *d, struct fault *f);

// Runs a statement that returns no rows. Returns false on failure, with the reason in `f`.
bool db_run(struct db *d, sqlite3_stmt *q, struct fault *f);
bool db_do(struct db *d, enum db_statement which, struct fault *f);  // runs a statement without parameters
bool db_do_int(struct db *d, enum db_statement which, int64_t value, struct fault *f);  // with one number

// Steps to the next row. Returns 1 for a row, 0 if there are no more rows, or -1 on failure, with the reason in `f`.
// Resets the statement unless it returns 1.
int db_next(struct db *d, sqlite3_stmt *q, struct fault *f);

// Sets `f` to the reason of the last failure and says how to fix it. The code is FAULT_INVALID for a permanent failure,
// FAULT_LIMIT if the disk is full, and FAULT_IO for any other failure, which may be temporary.
void db_explain(const struct db *d, struct fault *f);

// The definitions of the tables (tables.c).
enum { DB_APPLICATION = 0x54476174 };      // marks a file as a database of Toolgate
extern const char *const db_migrations[];  // SQL texts; element N upgrades the tables from version N to N + 1
extern const int db_version;
extern const char db_notes[];  // SQL text that creates the table of notes when the first note is written

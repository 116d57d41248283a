// SPDX-License-Identifier: Apache-2.0
// The tables of each version. A released version must not change: add a new version at the end.
#include "store/sqlite/db.h"

// `usage` has the number of rows and bytes that count against the limits; its rows are "pieces" (all pieces), "pieces
// of O" (pieces of the owner O), "archive" and "notes of S" (notes of the space S). `doomed` lists files that perhaps
// no row names any more; a process that holds the lock checks this and removes such files. `used` orders pieces by
// their last use: each use of a piece sets its `used` to a new maximum. This is a number and not a time, because the
// clocks of several processes may differ.
static const char version_1[] =
    "CREATE TABLE usage (name TEXT PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE doomed (hash BLOB PRIMARY KEY) WITHOUT ROWID;"

    "CREATE TABLE pieces (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, handle TEXT NOT NULL, kind INTEGER NOT NULL,"
    " tool_id TEXT NOT NULL, media_type TEXT NOT NULL, label TEXT NOT NULL, hash BLOB NOT NULL, size INTEGER NOT NULL,"
    " cost INTEGER NOT NULL, put_at INTEGER NOT NULL, used INTEGER NOT NULL, bytes BLOB);"
    "CREATE UNIQUE INDEX pieces_by_handle ON pieces (owner, handle);"
    "CREATE INDEX pieces_by_use ON pieces (used);"
    "CREATE INDEX pieces_by_owner ON pieces (owner, used);"
    "CREATE INDEX pieces_by_age ON pieces (put_at);"
    "CREATE INDEX pieces_by_file ON pieces (hash) WHERE bytes IS NULL;"
    "CREATE TRIGGER piece_added AFTER INSERT ON pieces BEGIN"
    " INSERT INTO usage VALUES ('pieces', 1, new.cost), ('pieces of ' || new.owner, 1, new.cost)"
    " ON CONFLICT (name) DO UPDATE SET count = count + 1, bytes = bytes + new.cost;"
    "END;"
    "CREATE TRIGGER piece_dropped AFTER DELETE ON pieces BEGIN"
    " UPDATE usage SET count = count - 1, bytes = bytes - old.cost"
    " WHERE name IN ('pieces', 'pieces of ' || old.owner);"
    " DELETE FROM usage WHERE name = 'pieces of ' || old.owner AND count = 0;"
    " INSERT OR IGNORE INTO doomed SELECT old.hash WHERE old.bytes IS NULL;"
    "END;"

    "CREATE TABLE records (number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, context TEXT NOT NULL,"
    " kind TEXT NOT NULL, message_id TEXT NOT NULL, time INTEGER NOT NULL, added INTEGER NOT NULL,"
    " text TEXT NOT NULL);"
    "CREATE INDEX records_by_context ON records (owner, context, number);"
    "CREATE INDEX records_by_age ON records (added);"
    "CREATE TRIGGER record_added AFTER INSERT ON records BEGIN"
    " INSERT INTO usage VALUES ('archive', 1, length(CAST(new.text AS BLOB)) + 200)"
    " ON CONFLICT (name) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;"
    "END;"
    "CREATE TRIGGER record_dropped AFTER DELETE ON records BEGIN"
    " UPDATE usage SET count = count - 1, bytes = bytes - (length(CAST(old.text AS BLOB)) + 200)"
    " WHERE name = 'archive';"
    "END;"

    "CREATE TABLE documents (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE UNIQUE INDEX documents_by_name ON documents (owner, name);"
    "CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN"
    " INSERT INTO usage VALUES ('archive', 1, length(CAST(new.text AS BLOB)) + 200)"
    " ON CONFLICT (name) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;"
    "END;"
    "CREATE TRIGGER document_dropped AFTER DELETE ON documents BEGIN"
    " UPDATE usage SET count = count - 1, bytes = bytes - (length(CAST(old.text AS BLOB)) + 200)"
    " WHERE name = 'archive';"
    "END;";

// Adds the origin (server) of a piece, so that an agent that may no longer use the origin can no longer read the piece.
// Older pieces have no origin.
static const char version_2[] = "ALTER TABLE pieces ADD COLUMN server TEXT NOT NULL DEFAULT '';"
                                "ALTER TABLE pieces ADD COLUMN tool TEXT NOT NULL DEFAULT '';";

const char *const db_migrations[] = {version_1, version_2};
const int db_version = sizeof db_migrations / sizeof *db_migrations;

// The table of counters, leases, keys and entries. It needs no new version, because older versions of Toolgate ignore
// it.
const char db_notes[] =
    "CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, id TEXT NOT NULL,"
    " text BLOB NOT NULL, value INTEGER NOT NULL, until INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX IF NOT EXISTS notes_by_id ON notes (space, id);"
    "CREATE INDEX IF NOT EXISTS notes_by_number ON notes (space, number);"
    "CREATE INDEX IF NOT EXISTS notes_by_end ON notes (until);"
    // Older versions of Toolgate count all notes together.
    "DROP TRIGGER IF EXISTS note_added;"
    "DROP TRIGGER IF EXISTS note_dropped;"
    "DELETE FROM usage WHERE name = 'notes' OR name GLOB 'notes of *';"
    "INSERT INTO usage SELECT 'notes of ' || space, count(*), sum(length(text) + 200) FROM notes GROUP BY space;"
    "CREATE TRIGGER IF NOT EXISTS note_in AFTER INSERT ON notes BEGIN"
    " INSERT INTO usage VALUES ('notes of ' || new.space, 1, length(new.text) + 200)"
    " ON CONFLICT (name) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;"
    "END;"
    "CREATE TRIGGER IF NOT EXISTS note_changed AFTER UPDATE OF text ON notes BEGIN"
    " UPDATE usage SET bytes = bytes + length(new.text) - length(old.text) WHERE name = 'notes of ' || new.space;"
    "END;"
    "CREATE TRIGGER IF NOT EXISTS note_out AFTER DELETE ON notes BEGIN"
    " UPDATE usage SET count = count - 1, bytes = bytes - length(old.text) - 200"
    " WHERE name = 'notes of ' || old.space;"
    "END;";

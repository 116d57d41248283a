// SPDX-License-Identifier: Apache-2.0
// Reads the records of governed calls from state_dir. Works whether or not a gateway runs.
#pragma once
#include "app/cli/command.h"
#include "observe/journal.h"

// RECORDS_LIMIT: records that are listed without --limit. RECORDS_ALL: the most that a command reads.
enum { RECORDS_LIMIT = 50, RECORDS_ALL = 1000000 };

// Says which records to find. Members that are absent do not restrict the search.
struct records_query {
  const char *kind;   // "decision", "call" or "audit"
  str tenant, agent;  // only records of this tenant, of this agent
  str id;             // only the record with this id
  int64_t since_ms;   // only records from this time on
  bool lines;         // leave record.root NULL: the caller parses the lines itself
  size_t limit;       // maximum number of records; the latest are returned
};

struct record {
  str line;                 // the JSON text
  const struct json *root;  // `line`, parsed; NULL if records_query.lines is set
  str id, time;
};

// Records, ordered by time. All their data is in the arena.
struct records {
  struct record *list;
  size_t count;
  str digest;  // hash of the configured governance file, or STR_NONE
  str audit;   // the configured audit log; empty if there is none
  struct arena arena;
};

// Reads the options of a command into a query. Returns NULL, or an error message about an option.
const char *records_query(const struct record_arguments *said, const char *kind, struct records_query *out);

// Finds records in the configured state_dir. On failure prints the reason, sets *out_status and returns false;
// records_done must then not be called.
bool records_find(const struct config_options *opt, const struct records_query *q, struct records *out,
                  int *out_status);
void records_done(struct records *r);

// Returns the text of the member at `path`, a list of names separated by dots. Returns "-" if the member is absent or
// null.
str record_text(struct records *r, const struct json *v, const char *path);
const struct json *record_member(const struct json *v, const char *path);  // or NULL

// Returns " (provisional)" if the object has `provisional: true`, otherwise "".
const char *record_provisional(const struct json *v);

// Writes one record in a form for people.
typedef void records_put(struct records *r, const struct record *it, struct buf *out);

// records_list runs a command that lists records of a kind; records_show runs one that shows the record whose id is its
// operand. `put` writes a record; with --json, the JSON of the record is printed instead.
int records_list(const struct command *c, const char *kind, records_put *put, int argc, char **argv);
int records_show(const struct command *c, const char *kind, records_put *put, int argc, char **argv);

// Writes a line "NAME VALUE", where the value is the text of the member at `path`.
void records_put_member(struct records *r, const struct json *v, const char *name, const char *path, struct buf *out);
// Writes a line for each element of a list, with two members of the element.
void records_put_each(struct records *r, const struct json *all, const char *name, const char *first,
                      const char *second, struct buf *out);

// Subcommands that have their own source files: those of `toolgate decisions`, and those of `toolgate audit`.
command_run decisions_explain, decisions_replay;
command_run audit_prove, audit_check_proof;

// ---- cmd_calls_audit.c

int calls_audit(int argc, char **argv);
// Finds the statements of operators about the call whose id is the operand. Returns false, with the exit code in
// *out_status, if the records cannot be read.
bool calls_find_audits(const struct arguments *args, struct records *out, int *out_status);

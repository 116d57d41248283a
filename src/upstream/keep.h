// SPDX-License-Identifier: Apache-2.0
// What upstreams offered in the last run, kept on disk, so that a restart can list before its upstreams are up.
//
// A folder for its owner alone (0700), with a file (0600) for each upstream: its definitions as it gave them, what it
// said of itself, and a fingerprint of how the configuration says to reach it. Another command, argument, variable,
// folder, URL or header is another upstream: what was kept of the one before is not believed. Nothing of these is in
// the file: the fingerprint is a SHA-256 over them and over 32 random bytes, the folder's file `salt`, without which
// nobody can find out by guessing, from a file alone, what an argument or a token was.
//
// One more file, `last-client.json`, holds what the last client said it can do: connections that are opened before any
// client comes are opened with these capabilities, so that the same client can take them over.
//
// A file that cannot be read, is cut, or is none of ours is ignored with one line in the log. Files that no run needed
// for thirty days are removed. Several gateways may use one folder: files are replaced as a whole.
#pragma once
#include "catalog/definitions.h"
#include "io/loop.h"
#include "upstream/spec.h"

struct keep;

enum { KEEP_MAX_FILE = 32 << 20, KEEP_DAYS = 30 };

// Makes the folder if need be. NULL: it cannot be used, the log says why.
struct keep *keep_open(struct loop *loop, str folder);
// What is still to be written is written by the loop, which ends after that.
void keep_close(struct keep **k);

// NULL: there is nothing to believe. The instructions are put into the arena.
struct definitions *keep_load(struct keep *k, const struct upstream_spec *spec, struct arena *a, str *out_instructions);

// The capabilities that the last client declared, as canonical JSON in the arena. STR_NONE: none are known.
str keep_load_client(struct keep *k, struct arena *a);
void keep_save_client(struct keep *k, str capabilities);

// Copies what it is given and writes it on libuv's pool, one file after the other. What would be larger than
// KEEP_MAX_FILE is not kept.
void keep_save(struct keep *k, const struct upstream_spec *spec, const struct definitions *r, str instructions);

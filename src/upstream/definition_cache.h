// SPDX-License-Identifier: Apache-2.0
// Definitions of upstreams on disk, so that a restarted gateway can list them before its upstreams are up.
//
// The folder belongs to its owner alone (0700) and has one file (0600) for each upstream: its definitions as it sent
// them, its instructions, and a fingerprint of the configuration that says how to reach it. A different command,
// argument, variable, folder, URL or header is a different upstream, and its file is not used. The file contains none
// of these values: the fingerprint is a SHA-256 over them and over the 32 random bytes of the file `salt`, so that
// nobody can guess an argument or a token from a file alone.
//
// The file `last-client.json` holds the capabilities of the last client. Connections that are opened before a client
// comes declare these capabilities, so that the same client can take them over.
//
// A file that is unreadable, truncated or foreign is ignored with one line in the log. Files that no run has used for
// thirty days are removed. Several gateways may use one folder: files are replaced as a whole.
#pragma once
#include "catalog/definitions.h"
#include "io/loop.h"
#include "upstream/spec.h"

struct definition_cache;

enum { DEFINITION_CACHE_MAX_FILE = 32 << 20, DEFINITION_CACHE_DAYS = 30 };

// Creates the folder if necessary. Returns NULL, after logging why, if the folder cannot be used.
struct definition_cache *definition_cache_open(struct loop *loop, str folder);
// Pending writes finish on the loop, which runs until then.
void definition_cache_close(struct definition_cache **handle);

// Returns NULL if there is no file for this spec. The instructions are in the arena.
struct definitions *definition_cache_load(struct definition_cache *cache, const struct upstream_spec *spec,
                                          struct arena *a, str *out_instructions);

// Returns the capabilities of the last client as canonical JSON in the arena, or STR_NONE.
str definition_cache_load_client(struct definition_cache *cache, struct arena *a);
void definition_cache_save_client(struct definition_cache *cache, str capabilities);

// Copies its arguments and writes the file on libuv's pool, one file at a time. A file larger than
// DEFINITION_CACHE_MAX_FILE is not written.
void definition_cache_save(struct definition_cache *cache, const struct upstream_spec *spec,
                           const struct definitions *r, str instructions);

// SPDX-License-Identifier: Apache-2.0
// Stores the definitions of upstreams on disk, so that a restarted gateway can list them before its upstreams have
// started.
//
// Only the owner can access the folder (0700). It contains one file (0600) for each upstream, with the upstream's
// definitions and instructions, and a fingerprint of its configuration: command, arguments, variables, folder, URL and
// headers. A file with another fingerprint is not used. The fingerprint is a SHA-256 over these values and the 32
// random bytes of the file `salt`, so nobody can guess an argument or a token from a definition file alone.
//
// The file `last-client.json` holds the capabilities of the last client. Connections that the gateway opens before a
// client connects declare these capabilities, so that the same client can use the connections when it connects again.
//
// A file that is unreadable, truncated or from another program is ignored, with one line in the log. Files that were
// not used for thirty days are removed. Several gateways may use one folder: a file is always replaced as a whole.
#pragma once
#include "catalog/definitions.h"
#include "io/loop.h"
#include "upstream/spec.h"

struct definition_cache;

enum { DEFINITION_CACHE_MAX_FILE = 32 << 20, DEFINITION_CACHE_DAYS = 30 };

// Creates the folder if necessary. If the folder cannot be used, logs the reason and returns NULL.
struct definition_cache *definition_cache_open(struct loop *loop, str folder);
// Returns immediately. Pending writes continue, and the cache is freed after the last one, so the loop must keep
// running.
void definition_cache_close(struct definition_cache **handle);

// Returns the stored definitions for this spec, or NULL if there is no usable file. Sets *out_instructions to the
// server's instructions, allocated in `a`.
struct definitions *definition_cache_load(struct definition_cache *cache, const struct upstream_spec *spec,
                                          struct arena *a, str *out_instructions);

// Returns the capabilities of the last client as canonical JSON, allocated in `a`, or STR_NONE.
str definition_cache_load_client(struct definition_cache *cache, struct arena *a);
void definition_cache_save_client(struct definition_cache *cache, str capabilities);

// Stores the definitions and instructions of a server. Copies its arguments; the file is written on another thread
// later. A file larger than DEFINITION_CACHE_MAX_FILE is not written.
void definition_cache_save(struct definition_cache *cache, const struct upstream_spec *spec,
                           const struct definitions *r, str instructions);

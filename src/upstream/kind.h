// SPDX-License-Identifier: Apache-2.0
// The kinds of upstream servers, such as stdio and http. A kind is one file in upstream/kinds/ and one row of
// UPSTREAM_KINDS. Other code uses the properties and operations of spec->kind, and does not name a kind
// (docs/internals/extending.md).
#pragma once
#include "mcp/client/link.h"
#include "upstream/spec.h"

struct upstream;

// The environment variables or HTTP headers that a server's configuration sets.
struct upstream_names {
  const char *label, *key;  // names of this list: `label` in text output, `key` in JSON output
  const struct upstream_pair *pairs;
  size_t count;
};

enum { KIND_WORDS = 3, KIND_KEYS = 8, KIND_FILE_MAX = 64 << 20 };

typedef void kind_take(void *ctx, str text);  // callback that receives one string

// Callback that reports a problem of a file. `pointer` is the JSON pointer of the place in the file. If `fatal` is
// false, the part at this place is ignored and the rest is used.
typedef void kind_report(void *ctx, bool fatal, str pointer, const char *message);

struct upstream_kind {
  const char *name;    // name in the output of `check`; must be unique and stable: fingerprints on disk contain it
  const char *status;  // name of the kind in the output of `status`
  const char *brief;   // text for agents (list_servers)
  const char *words[KIND_WORDS];  // the values of "transport" and "type" that select this kind; ends with NULL
  const char *alias;              // another value of "transport" and "type", omitted in error messages; may be NULL
  const char *place;              // the configuration key that says where the server is, such as "url"
  // The keys of a server entry that have an effect on this kind but not on all kinds. Ends with NULL.
  const char *keys[KIND_KEYS];
  bool implied;    // default kind of entries with the key `place`; only one kind of each `place` may set it
  bool process;    // the server is a program on this machine, so it has a working folder and may be a launcher
  bool remote;     // the server is reached at spec.url
  bool local;      // answers in this process and sends no requests: isolation and protocol have no effect
  bool kept;       // its definitions are stored on disk for the next start
  bool handshake;  // servers of this kind support only revisions with a handshake
  // Kind to try next if the server uses another transport (link_wrong_transport), or NULL.
  const struct upstream_kind *other;

  // Operations. Only `open` is required; the others may be NULL.

  // Parses `place`, the part of the configuration that says where the server is, into spec.own and spec.shown. On
  // failure, returns false and leaves spec.own NULL. If this operation is NULL, app/config/config_servers.c reads the
  // key.
  bool (*parse)(struct upstream_spec *s, const struct json *place, struct arena *a, struct fault *f);
  // Used instead of `parse` if the value of the key `place` is the path of a file. `text` is the content of the file;
  // the function takes ownership of it, even on failure. Returns the value for spec.own with one reference, or NULL
  // after reporting the problems.
  struct upstream_own *(*parse_file)(struct buf *text, const struct hash_key *seed, kind_report *report, void *ctx);
  str (*own_name)(const struct upstream_own *own);  // name of the server in the file, or STR_NONE
  // Required if the kind sets spec.own. own_free frees spec.own when the last reference is released. own_same returns
  // whether both values describe the same server, so that a reload can keep its connections.
  void (*own_free)(struct upstream_own *own);
  bool (*own_same)(const struct upstream_own *a, const struct upstream_own *b);
  // Calls `take` with each secret in spec.own. Secrets of SECRETS_LEAST bytes or more are masked in logs and in texts
  // for agents.
  void (*secrets)(const struct upstream_own *own, kind_take *take, void *ctx);
  // Calls `take` with each string in spec.own on which the server's definitions depend. Required if the kind sets both
  // `kept` and spec.own.
  void (*fingerprint)(const struct upstream_own *own, kind_take *take, void *ctx);
  struct upstream_names (*names)(const struct upstream_spec *s);
  str (*public_place)(const struct upstream_spec *s);  // the part of the server's address that agents may read
  // Removes the server's address from an error message of the gateway. Returns `text` itself, or a copy in the arena.
  str (*redact)(const struct upstream_spec *s, struct arena *a, str text);
  bool (*prepare)(struct upstream *u, struct fault *f);  // prepares an upstream; called once, before `open`
  struct link *(*open)(struct upstream *u, const struct link_options *opt, const struct link_events *ev, void *ctx);
};

#define UPSTREAM_KINDS(ROW) ROW(stdio) ROW(http) ROW(sse) ROW(http_auto) ROW(snapshot)

#define DECLARE_KIND(name) extern const struct upstream_kind upstream_##name;
UPSTREAM_KINDS(DECLARE_KIND)
#undef DECLARE_KIND

#define COUNT_KIND(name) +1
enum { UPSTREAM_KIND_COUNT = 0 UPSTREAM_KINDS(COUNT_KIND) };
#undef COUNT_KIND
extern const struct upstream_kind *const upstream_kinds[UPSTREAM_KIND_COUNT];

unsigned kind_number(const struct upstream_kind *k);                // index in the table of kinds
const struct upstream_kind *kind_of_word(const struct json *word);  // returns NULL if `word` names no kind
const char *kind_words(struct arena *a);                 // list of words for error messages: "stdio, http, …"
const struct upstream_kind *kind_of_place(str key);      // returns the kind with `implied` set, or NULL
bool kind_uses(const struct upstream_kind *k, str key);  // returns whether a key of an entry has an effect on this kind
void kinds_check(void);                                  // asserts that the table of kinds is complete

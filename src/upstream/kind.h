// SPDX-License-Identifier: Apache-2.0
// The kinds of upstream servers. A kind is one file in upstream/kinds/ and one row of UPSTREAM_KINDS; all other code
// asks the kind of a spec for its properties and operations (docs/internals/extending.md).
#pragma once
#include "mcp/client/link.h"
#include "upstream/spec.h"

struct upstream;

// Variables or headers that an entry of the configuration sets.
struct upstream_names {
  const char *label, *key;  // for people; in JSON
  const struct upstream_pair *pairs;
  size_t count;
};

enum { KIND_WORDS = 3 };

typedef void kind_take(void *ctx, str text);  // gets one string of a kind's own data

struct upstream_kind {
  const char *name;               // for `check`; unique, and part of fingerprints on disk (definition_cache.c)
  const char *status;             // for `status`
  const char *brief;              // for agents (list_servers)
  const char *words[KIND_WORDS];  // the values of "transport" and "type" that mean this kind; NULL after the last
  const char *alias;              // another such value, which error messages do not offer; may be NULL
  const char *place;              // the key of an entry that says where the server is
  bool implied;    // the place without a transport means this kind; of the kinds that share a place, one has this
  bool process;    // a program on this machine: it may be a launcher, and starts in a folder
  bool remote;     // reached at spec.url
  bool local;      // answers in this process and asks nothing: isolation and protocol have no effect
  bool kept;       // its definitions are stored on disk for the next start
  bool handshake;  // has no stateless revision
  const struct upstream_kind *other;  // opened as this kind if link_wrong_transport says so; may be NULL

  // Operations. All but `open` may be NULL.

  // Reads the member `place` of an entry into spec.own and spec.shown. Returns false with spec.own NULL. Without this
  // operation app/config/config_servers.c reads the key.
  bool (*parse)(struct upstream_spec *s, const struct json *place, struct arena *a, struct fault *f);
  // For spec.own: frees it after its last reference; returns whether two are equal for a reload.
  void (*own_free)(struct upstream_own *own);
  bool (*own_same)(const struct upstream_own *a, const struct upstream_own *b);
  // Passes each secret in spec.own to `take`: it is masked in logs and for agents, if it has SECRETS_LEAST bytes.
  void (*secrets)(const struct upstream_own *own, kind_take *take, void *ctx);
  // Passes each string that the definitions depend on to `take`. Required of a kind that is `kept` and has spec.own.
  void (*fingerprint)(const struct upstream_own *own, kind_take *take, void *ctx);
  struct upstream_names (*names)(const struct upstream_spec *s);
  str (*public_place)(const struct upstream_spec *s);  // the part of its place that agents may read
  // Returns an error text of the gateway without the place: the text itself, or a copy in the arena.
  str (*redact)(const struct upstream_spec *s, struct arena *a, str text);
  bool (*prepare)(struct upstream *u, struct fault *f);  // once, before the first link
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

unsigned kind_number(const struct upstream_kind *k);                // its position in the table
const struct upstream_kind *kind_of_word(const struct json *word);  // or NULL
const char *kind_words(struct arena *a);                            // for error messages: "stdio, http, …"
const struct upstream_kind *kind_of_place(str key);                 // the implied kind, or NULL

// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of the configuration loader, and included by them only.
#pragma once
#include <sys/stat.h>

#include "app/config/config.h"
#include "base/text/nearest.h"
#include "io/http/proxy.h"
#include "json/json.h"

// The default of state_dir; what it means depends on the environment.
#define CONFIG_STATE_DIR "$XDG_STATE_HOME/toolgate"

struct config_loader {
  struct config *config;
  const struct config_options *opt;
  char *const *env;
  struct config_problems *problems;
  size_t dropped;  // servers whose entry is wrong
  struct proxies proxies;
  struct arena work;  // nodes, pointers, texts that are not kept; gone when the load is over
};

// Where a value stands.
struct config_place {
  str file, pointer;
};

void config_error(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_warn(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// A server that cannot work as it is configured: `serve` tries all the same, `check` fails.
void config_unworkable(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_report(struct config_loader *l, const struct config_place *at, bool warning, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

// Returns whether the list of problems is full, so that no more hints need to be found.
bool config_is_full(const struct config_loader *l);

// Reports that a server is left out. cause: the number of its first problem in the list, from 1.
void config_left_out(struct config_loader *l, const struct config_place *at, size_t cause);

// A file that is read, or would be if it were there.
void config_file_seen(struct config_loader *l, str path);

// The place of a member or element.
struct config_place config_below(struct config_loader *l, const struct config_place *at, str token);
struct config_place config_below_index(struct config_loader *l, const struct config_place *at, size_t index);

// A variable of the environment; STR_NONE when it is not set.
str config_env(const struct config_loader *l, str name);

// The text with ${NAME}, ${env:NAME} and ${NAME:-default} replaced, in the arena. False when a variable is not set, or
// the result is too long; *out_why then says so, in the work arena.
bool config_expand(struct config_loader *l, str text, struct arena *a, str *out, str *out_why);
// Returns the length of a reference of these forms at the start of s, or 0. *out_default: its default, or STR_NONE.
size_t config_reference(str s, str *out_name, str *out_default);
// Returns whether the text holds a ${...} of another form, which config_expand leaves unchanged.
bool config_has_odd_reference(str text);

// Returns a path with "~/" replaced by the home folder. A relative path starts at `folder`.
str config_path(struct config_loader *l, str path, str folder, struct arena *a);

bool config_is_digest(str s, unsigned char out[SHA256_SIZE]);      // a SHA-256 in hex
bool config_split_listen(str text, str *out_host, str *out_port);  // HOST:PORT, [ADDRESS]:PORT or :PORT
bool config_is_loopback(str host);                                 // 127.0.0.0/8, ::1, localhost
bool config_is_host(str host);                                     // an address or a name, without port

// "", or a question whether the nearest word was meant.
const char *config_nearest_hint(struct config_loader *l, const struct nearest *n);

// A file that was read. The text may hold secrets: config_document_done wipes it.
struct config_document {
  str file, folder;  // folder: absolute
  struct stat stat;  // of the file that was read
  bool world_readable, world_writable;
  char *text;
  size_t text_n;
  struct buf json;  // what YAML was turned into
  struct json *root;
};

// False, with the problem reported, when the file cannot be read or is not well-formed.
// By its name a file is YAML (.yaml, .yml) or JSON (all others). `named_by`: what names it; empty: nothing
// does, and it must not be foreign (foreign.h).
bool config_document_open(struct config_loader *l, str path, str named_by, struct config_document *out);
// The same for a document whose file and text are set.
bool config_document_parse(struct config_loader *l, struct config_document *d);
// Reads the text only, whatever it is, without a byte order mark.
bool config_file_open(struct config_loader *l, str path, str named_by, struct config_document *out);
void config_document_done(struct config_document *d);

// The keys of toolgate.yaml.
void config_keys_default(struct config_loader *l);
void config_keys_read(struct config_loader *l, const struct config_document *d);
// The same check for one key whose value comes from elsewhere; `key` must be in the table.
void config_key_set(struct config_loader *l, const struct config_place *at, str key, str value);

// After the keys are read: checks the address and the tokens of the admin pages.
void config_admin_check(struct config_loader *l, const struct config_document *d);

// After the keys are read: the audit log with its key, and traces. config_audit_try checks whether the log can be
// opened; only `check` calls it, because `serve` opens the log.
void config_audit_read(struct config_loader *l, const struct config_document *d);
void config_audit_try(struct config_loader *l);

// Adds the entries of an object of servers. `ours`: it stands in toolgate.yaml, where unknown keys are errors.
void config_servers_read(struct config_loader *l, const struct config_place *at, const struct json *servers, str folder,
                         bool ours);

// Makes room for `count` more servers. False, with the problem reported, if that is too many.
bool config_servers_room(struct config_loader *l, const struct config_place *at, size_t count);
// Returns the error in the name of a server, or NULL.
const char *config_name_wrong(str name);
bool config_same_name(str a, str b);  // equal in names of tools
bool config_has_control(str s);       // a control character other than a tab

// Reads the file of a server that is one. NULL: it cannot be used; what is wrong was reported, as warnings if `soft`.
struct snapshot *config_snapshot_open(struct config_loader *l, str path, str named_by, bool soft);
// --catalog, or the key. config_catalog_named returns whether one is set; config_catalog_read adds it as the last
// server.
bool config_catalog_named(const struct config_loader *l, const struct config_document *d);
void config_catalog_read(struct config_loader *l, const struct config_document *d);

// Where servers are looked for if nobody names a file, in this order. Paths may be relative, or empty.
enum { CONFIG_USUAL_FILES = 4 };
void config_usual_files(struct config_loader *l, str out[CONFIG_USUAL_FILES]);

// The file that a document of servers leads to, if all its servers are Toolgate as `toolgate connect` writes it;
// STR_NONE: it has servers of its own, or none. *out_named: an entry names the file; else it is the user's.
str config_connected_file(struct config_loader *l, const struct config_document *d, bool *out_named);

// The rules, and the agents that are configured.
void config_rules_read(struct config_loader *l, const struct config_document *d);

// Returns the program file that this command would start; empty: it is not found. folder: where relative paths start.
str config_program_find(struct config_loader *l, const struct upstream_spec *spec, str command, str folder);

// Returns why this server is the gateway that reads the configuration: the same program started with the file of the
// entry, or the address that the gateway listens on. NULL: it is another server.
const char *config_is_self(struct config_loader *l, const struct upstream_spec *spec, str file, str folder);

// Reports when the program of a server is not there or cannot be run, or its working folder cannot be entered.
// `at`: its entry; `command`: as it was written, variables expanded; `folder`: where relative paths start.
void config_program_check(struct config_loader *l, const struct config_place *at, const struct upstream_spec *spec,
                          str command, str folder);

// Warns when state_dir holds what cannot be read.
void config_state_check(struct config_loader *l);

// The command line or URL of a server entry for people; a URL without what may be secret in it.
void config_put_url(struct buf *out, str url);
str config_shown(struct config_loader *l, const struct json *entry, struct arena *a);
// Sets `secrets` and `hidden` of a server whose other members are read; its variables are set.
void config_secrets(struct config_loader *l, const struct json *entry, struct arena *a, struct upstream_spec *spec);

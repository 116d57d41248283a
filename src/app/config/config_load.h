// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the parts of the configuration loader. Other modules must not include this file.
#pragma once
#include <sys/stat.h>

#include "app/config/config.h"
#include "base/text/nearest.h"
#include "io/http/proxy.h"
#include "upstream/kind.h"
#include "json/json.h"

// Default of state_dir as the documentation shows it. The real path depends on the environment.
#define CONFIG_STATE_DIR "$XDG_STATE_HOME/toolgate"

struct skill_entry;
struct skills;

struct config_loader {
  struct config *config;
  const struct config_options *opt;
  char *const *env;
  struct config_problems *problems;
  size_t dropped;   // number of servers left out because of an invalid entry
  size_t max_file;  // largest size of a configuration file in bytes; 0 for CONFIG_MAX_FILE
  struct proxies proxies;
  struct arena work;  // temporary memory, freed at the end of the load
};

// Place of a value: a file and a JSON Pointer.
struct config_place {
  str file, pointer;
};

void config_error(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_warn(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// Reports a server that cannot work as it is configured: as a warning for `serve`, which starts the server anyway, and
// as an error for `check`.
void config_unworkable(struct config_loader *l, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_report(struct config_loader *l, const struct config_place *at, bool warning, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

// Returns whether the list of problems is full, so that no more hints need to be found.
bool config_is_full(const struct config_loader *l);

// Reports that a server is left out. `cause` is the position of the server's first problem in the list of problems,
// counted from 1.
void config_left_out(struct config_loader *l, const struct config_place *at, size_t cause);

// Adds a file to config.files, the list of files whose changes can change the configuration. The file need not exist.
void config_file_seen(struct config_loader *l, str path);

// Both functions return a place inside the value at `at`: the place of the member `token`, or of the element `index`.
struct config_place config_below(struct config_loader *l, const struct config_place *at, str token);
struct config_place config_below_index(struct config_loader *l, const struct config_place *at, size_t index);

// Returns an environment variable; STR_NONE if it is not set.
str config_env(const struct config_loader *l, str name);

// Sets *out to the text with ${NAME}, ${env:NAME} and ${NAME:-default} replaced. Returns false, with the reason in
// *out_why, if a variable is not set or the result is too long.
bool config_expand(struct config_loader *l, str text, struct arena *a, str *out, str *out_why);
// If `s` starts with a reference such as ${NAME}, returns its length, otherwise 0. Sets *out_default to the default in
// the reference, or to STR_NONE.
size_t config_reference(str s, str *out_name, str *out_default);
// Returns whether the text contains a ${...} that config_expand does not recognize and leaves unchanged.
bool config_has_odd_reference(str text);

// Returns a path with "~/" replaced by the home folder. A relative path refers to `folder`.
str config_path(struct config_loader *l, str path, str folder, struct arena *a);

bool config_is_digest(str s, unsigned char out[SHA256_SIZE]);      // parses a SHA-256 in hex
bool config_split_listen(str text, str *out_host, str *out_port);  // splits HOST:PORT, [ADDRESS]:PORT or :PORT
bool config_is_loopback(str host);  // returns whether the host is 127.0.0.0/8, ::1 or localhost
bool config_is_host(str host);      // returns whether the text is an address or a name, without port

// Returns "; did you mean …?" with the most similar word, or "" if no word is similar.
const char *config_nearest_hint(struct config_loader *l, const struct nearest *n);

// A file that was read. The text may hold secrets: config_document_done wipes it.
struct config_document {
  str file, folder;  // path of the file; absolute path of its folder
  struct stat stat;
  bool world_readable, world_writable;
  char *text;
  size_t text_n;
  struct buf json;  // the file converted from YAML to JSON
  struct json *root;
};

// Reads and parses a file: YAML if its name ends with .yaml or .yml, else JSON. Reports a problem and returns false if
// the file cannot be read or parsed. `named_by` is the option, variable or key that names the file; if it is empty, the
// file is in a default place and must not be foreign (foreign.h).
bool config_document_open(struct config_loader *l, str path, str named_by, struct config_document *out);
// Parses a document whose `file` and `text` are set.
bool config_document_parse(struct config_loader *l, struct config_document *d);
// Reads the text of a file without parsing it, and removes a byte order mark.
bool config_file_open(struct config_loader *l, str path, str named_by, struct config_document *out);
// Opens a file of at most `max` bytes, and parses it if `parsed` is set. Reports all problems as warnings only.
bool config_open_softly(struct config_loader *l, str path, str named_by, size_t max, bool parsed,
                        struct config_document *out);
void config_document_done(struct config_document *d);

// The keys of toolgate.yaml.
void config_keys_default(struct config_loader *l);
void config_keys_read(struct config_loader *l, const struct config_document *d);
// Checks and sets one key of the table from the environment or the command line.
void config_key_set(struct config_loader *l, const struct config_place *at, str key, str value);

// Checks the address and the tokens of the admin pages. Called after the keys of the configuration are read.
void config_admin_check(struct config_loader *l, const struct config_document *d);

// config_audit_read checks the audit log, its key, and the collectors; called after the keys of the configuration are
// read. config_audit_try checks whether the log can be opened. Only `check` needs it, because `serve` opens the log.
void config_audit_read(struct config_loader *l, const struct config_document *d);
void config_audit_try(struct config_loader *l);

// Adds the servers of an mcpServers object. `ours` is true if the object is in toolgate.yaml, where unknown keys are
// errors.
void config_servers_read(struct config_loader *l, const struct config_place *at, const struct json *servers, str folder,
                         bool ours);

// Makes room for `count` more servers. Reports a problem and returns false if there are too many.
bool config_servers_room(struct config_loader *l, const struct config_place *at, size_t count);
// Returns an error message if the name of a server is invalid, otherwise NULL.
const char *config_name_wrong(str name);
bool config_same_name(str a, str b);  // returns whether tools of these two servers would get the same name prefix
bool config_has_control(str s);       // returns whether `s` has a control character other than a tab

// Reads the file of a server whose kind has `parse_file`. If the file cannot be used, reports the problems and returns
// NULL. If `soft` is set, the problems are warnings.
struct upstream_own *config_catalog_open(struct config_loader *l, const struct upstream_kind *k, str path, str named_by,
                                         bool soft);
// config_catalog_named returns whether the option --catalog or the key catalog is set. config_catalog_read adds the
// file that it names as the last server.
bool config_catalog_named(const struct config_loader *l, const struct config_document *d);
void config_catalog_read(struct config_loader *l, const struct config_document *d);

enum { CONFIG_USUAL_FILES = 4 };
// Sets `out` to the default files with servers, in search order. Paths may be relative, or empty.
void config_usual_files(struct config_loader *l, str out[CONFIG_USUAL_FILES]);

// If every entry of the document is for Toolgate itself, as after `toolgate connect`, returns the file with servers to
// read instead. Otherwise returns STR_NONE. Sets *out_named to true if an entry names that file, or to false if it is
// the user's file.
str config_connected_file(struct config_loader *l, const struct config_document *d, bool *out_named);

// Reads the rules file and checks the configured agents.
void config_rules_read(struct config_loader *l, const struct config_document *d);

// Reads the governance file, if the configuration names one. If the file cannot be read, config_load fails.
void config_governance_read(struct config_loader *l, const struct config_document *d);

// Reads the skills that a governance file names, and passes them to `g`. `d` is the governance file.
void config_skills_read(struct config_loader *l, struct governance *g, const struct config_document *d);
// Reads one skill file with the files it refers to. Reports problems as warnings; returns NULL if there is an error.
struct skill_entry *config_skill_read(struct config_loader *l, struct skills *s, str path);

// Checks the URLs of the webhooks of the governance file `d` and, if `with_secrets` is set, reads their secrets.
// Returns false if a URL cannot be used. A secret that cannot be read is only a warning, so that it does not keep a new
// file from taking effect: this webhook then sends nothing.
bool config_webhooks_read(struct config_loader *l, struct governance *g, const struct config_document *d,
                          bool with_secrets);

// Returns the path of the program that this command would start; empty if no program is found. Relative paths refer to
// `folder`.
str config_program_find(struct config_loader *l, const struct upstream_spec *spec, str command, str folder);

// If this server is the gateway itself, returns what the server and the gateway have in common, for a message: the
// program with its files, or the address. Otherwise returns NULL.
const char *config_is_self(struct config_loader *l, const struct upstream_spec *spec, str file, str folder);

// Reports a problem if the program of a server does not exist or cannot be run, or if the server's working folder
// cannot be entered. `at` is the server's entry. `command` is the command of the entry with variables expanded.
// Relative paths refer to `folder`.
void config_program_check(struct config_loader *l, const struct config_place *at, const struct upstream_spec *spec,
                          str command, str folder);

// Warns if state_dir cannot be read or written.
void config_state_check(struct config_loader *l);

// config_put_url appends a URL, and config_shown returns the command line or the URL of a server entry. Both mask
// possible secrets, because people read the text.
void config_put_url(struct buf *out, str url);
str config_shown(struct config_loader *l, const struct json *entry, struct arena *a);
// Sets the members `secrets` and `hidden` of *spec. Must be called after the other members of *spec are set.
void config_secrets(struct config_loader *l, const struct json *entry, struct arena *a, struct upstream_spec *spec);

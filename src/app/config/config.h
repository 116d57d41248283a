// SPDX-License-Identifier: Apache-2.0
// The configuration: toolgate.yaml (or JSON), .mcp.json, environment and command line, read and checked as a whole.
//
// Every key is a row of the table in config_table.h; checks and docs/reference/configuration.md derive from it.
// Unknown keys, wrong types and values out of range are problems with file and place; all are reported.
#pragma once
#include "auth/jwt.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/crypto/hash.h"
#include "base/log.h"
#include "call/controls/controls.h"
#include "io/filewatch.h"
#include "mcp/server/clients.h"
#include "policy/policy.h"
#include "schema/schema.h"
#include "store/store.h"
#include "surface/mode.h"
#include "upstream/spec.h"

enum config_transport { CONFIG_STDIO, CONFIG_HTTP };
enum config_prefix { CONFIG_PREFIX_AUTO, CONFIG_PREFIX_ALWAYS };
enum config_reload { CONFIG_RELOAD_WATCH, CONFIG_RELOAD_SIGNAL, CONFIG_RELOAD_OFF };

struct config_token {
  unsigned char sha256[SHA256_SIZE];  // of the bearer token; the token itself is not kept
  str agent;                          // who has it; empty: it says nothing of that
  str name;                           // what it is called in logs; empty: nothing
};

struct config_file {
  str path;
  struct file_state state;  // before it was read
};

// JSON Web Tokens of one issuer.
struct config_jwt {
  str issuer;  // empty: tokens of issuers are not accepted
  str audience, claim;
  unsigned algorithms;  // bits
  uint64_t leeway_ms;
  str *scopes;  // that a token must have
  size_t scope_count;
  str jwks_url, key_file;  // where the keys are
  uint64_t keys_ms;        // how long they are good for at most, when they are fetched
  struct jwt_keys *keys;   // NULL: they are fetched
};

enum config_audit { CONFIG_AUDIT_AUTO, CONFIG_AUDIT_ON, CONFIG_AUDIT_OFF };

// The hash of a bearer token.
struct config_digest {
  bool set;
  unsigned char sha256[SHA256_SIZE];
};

// Names that a request may have as its Host.
struct config_hosts {
  str *names;
  size_t count;
};

struct config {
  struct arena arena;      // owns everything below
  enum surface_mode mode;  // of /mcp and of stdio
  unsigned modes;          // bits: the modes that HTTP serves, including `mode`
  bool trust_stated;       // an agent that a request names counts without a credential for it
  enum config_transport transport;
  enum config_transport usual_transport;  // as the file and the environment say it, whatever the command line says
  str host;
  uint16_t port;
  bool insecure_bind;                 // command line only
  struct config_hosts allowed_hosts;  // accepted in Host and Origin in addition to localhost and the bound address
  bool lazy;                          // init_strategy
  bool once;                          // a server that failed is not started again by itself: for commands that end
  enum config_reload reload;
  enum config_prefix prefix;
  enum log_level log_level;
  struct config_token *tokens;
  size_t token_count, configured_tokens;  // those of the configuration first, then those of token_file
  str token_file;                         // that was read; empty: none
  struct config_jwt jwt;
  str resource;  // the public URL of /mcp; empty: the one that is listened on

  uint64_t start_wait_ms;       // how long a list waits for upstreams that are starting
  uint64_t list_wait_ms;        // the same for the list of meta-tools in mode gateway
  uint64_t request_timeout_ms;  // default for an upstream request, renewed by progress
  uint64_t request_max_ms;      // hard end, whatever progress says
  uint64_t input_ms;            // for the answers of a stateless client
  uint64_t start_timeout_ms;    // default for connecting and the handshake
  uint64_t install_ms;          // for a launcher to install its program, before that
  size_t description_max;       // bytes of a title, a description, and of a server's instructions
  size_t cold_starts;           // launchers that install at once; 0: as many as there are processors
  uint64_t session_idle_ms;     // an HTTP session nobody uses ends after so long
  uint64_t session_away_ms;     // the same when its client has closed its event stream
  uint64_t drain_ms;            // how long a stop waits for calls in flight
  uint64_t keepalive_ms;        // between comments on a quiet event stream
  size_t max_request;           // bytes of a request body (or stdio line) from a client
  size_t max_values;            // of JSON in a message from a client
  size_t max_held;              // bytes of memory of all requests from clients
  size_t principal_held;        // the same of one principal
  size_t session_held;          // and of one session
  size_t max_message;           // bytes of one message from an upstream
  size_t message_values;        // of JSON in a message that is parsed as a whole
  size_t max_bulk;              // bytes of all large messages from upstreams that are under way
  size_t max_head;              // bytes of HTTP headers
  uint64_t http_head_ms, http_body_ms, http_idle_ms, http_write_ms;  // of inbound connections
  size_t max_connections, max_per_address;                           // inbound
  size_t max_sessions, principal_sessions;
  size_t max_in_flight;  // requests of one session
  size_t max_own_lanes;  // of one upstream
  uint64_t server_idle_ms;
  size_t max_server_in_flight, max_server_queue;  // of one connection
  size_t page_size;                               // entries of one page of a list; 0: all
  enum client_structured structured;              // when meta-tools answer with structuredContent too
  size_t definition_tokens;                       // of a definition that tool_browse returns
  size_t instructions_budget, instructions_each, instructions_browse;  // tokens
  bool cache_stable;
  bool list_ids;             // mode transparent
  bool strict_catalog;       // on_invalid: raise
  size_t result_tokens;      // of an answer of tool_execute
  size_t max_result_tokens;  // that a caller may ask for
  bool scrub;                // secrets in results are masked
  bool keep_hidden;          // hidden characters stay in results
  bool bounded;              // those of mode servers fit, too
  bool debug;
  struct schema_options schemas;  // what schemas of tools may be
  struct store_limits kept;
  struct controls controls;
  bool record;               // calls are written down as events of their session
  uint64_t session_bytes;    // of one session
  int audit_enabled;         // enum config_audit
  str audit_file;            // the audit log; empty: no audit log
  uint64_t audit_bytes;      // of one file of it; 0: any number
  uint64_t audit_total;      // of all its files; 0: any number
  unsigned audit_keep;       // files that were put aside
  unsigned audit_refusals;   // of one principal for one reason that have lines, in a minute; 0: all have
  unsigned audit_keep_days;  // younger ones stay, however many
  bool audit_required;       // nothing is done while it cannot be written
  str traces;                // the collector's URL; empty: no collector
  str logs;                  // the same of the one for log records
  unsigned trace_permille;   // of the traces that begin here
  str admin_listen, admin_digest, admin_operator_digest;  // as they were written
  str admin_host;                                         // if admin_listen is there
  uint16_t admin_port;
  struct config_hosts admin_hosts;      // accepted in Host there in addition to allowed_hosts
  struct config_digest admin_reader;    // the token of readers; not set: everyone who reaches the listener is one
  struct config_digest admin_operator;  // the token of operators; not set: no operators
  bool audit_arguments;                 // it has their values
  str audit_key;                        // file with the key that its head is signed with; empty: it is not
  str audit_secret;                     // the key itself

  struct upstream_spec *upstreams;  // at most CONFIG_MAX_SERVERS
  size_t upstream_count;
  str *disabled;  // names of servers that are switched off, on one line each
  size_t disabled_count;
  bool broken;                           // config_load failed only because files have errors
  str config_file;                       // what was read; empty: none
  str mcp_config;                        // the file with mcpServers that was read, or cannot be; empty: none
  str catalog;                           // the file that is served as a server of its own; empty: none
  str rules_file;                        // the file with rules that was read; empty: none
  bool rules_by_config;                  // the configuration file names it
  char rules_hash[2 * SHA256_SIZE + 1];  // SHA-256 of its text in hex; "": no rules, or they cannot be read
  struct policy *policy;                 // what it says; NULL: everybody may use everything
  str default_agent;                     // who is meant when nobody is named; empty: nobody
  str agent;                             // who clients without a credential are; empty: that is to be found out
  struct config_file *files;             // that were read or looked for: a change of one may be another configuration
  size_t file_count;
  str state_dir;  // where everything is kept that outlives the process; absolute; empty: nowhere
};

enum { CONFIG_MIN_BUDGET = 50, CONFIG_MAX_BUDGET = 1000000 };  // tokens of a result

enum { CONFIG_MAX_SERVERS = 256, CONFIG_MAX_ARGS = 256, CONFIG_MAX_FILE = 1 << 20, CONFIG_MIN_TOKEN = 16 };
enum { CONFIG_MAX_TOKENS = 1024 };  // of auth.token_file

// The command line; NULL or empty: the option is absent.
struct config_options {
  const char *config, *mcp_config, *rules, *agent, *catalog, *mode, *transport, *listen, *log_level;
  bool insecure_bind, debug;
  bool bounded;           // for `call`: results are cut as they are for agents; other commands see all of them
  bool serverless;        // servers are not looked for: nobody will talk to one
  bool servers_optional;  // for status, top and logs: the files only name a running gateway
  // For `check`: a server whose entry is wrong is fatal (else it is left out, with a warning), and a program that is
  // not there is a warning.
  bool strict;
  bool audits;  // the command writes the audit log, so it creates the key (audit.key_file) if it is missing
  bool told;    // what is wrong with the configuration was said already
  bool fresh;   // for commands that ask a gateway: start one, even if one runs
  // For a gateway that runs: what is in force. That a file of it is gone which nobody names is an error.
  const struct config *before;
};

struct config_problem {
  str file, pointer;  // a JSON Pointer, or empty; or "environment" and a variable, "command line" and an option
  str message;        // what is wrong and what to do; one line, as are the others
  bool warning;       // it works, but the operator should know
  bool left_out;      // a warning: the server at this place is not there
  bool unworkable;    // a warning for `serve`, an error for `check`: this server cannot work, the others can
  size_t cause;       // of that: its place in the list, from 1; 0: not known
};

struct config_problems {
  struct arena arena;
  struct config_problem *list;
  size_t count, cap;
  bool usage;  // the value of an option is wrong
};

void config_problems_init(struct config_problems *p);
void config_problems_done(struct config_problems *p);
bool config_problems_fatal(const struct config_problems *p);  // any that is no warning
// The exit code: 0 none is fatal, 1 the configuration is not usable, 2 the command line is wrong.
int config_problems_status(const struct config_problems *p);

// Reads everything. Never stops at the first problem. `env` is the environment (name=value, NULL at the end).
// False when a problem is fatal; *out is then not usable (but config_done works), except to ask a running gateway if it
// is `broken` (app/gateway_client/control_client.h).
bool config_load(struct config *out, const struct config_options *opt, char *const *env,
                 struct config_problems *problems);
void config_done(struct config *c);

// Loads the configuration without servers, for commands that need the rules only; without rules it fails. True:
// out->policy holds the rules that `serve` would use, out->rules_file their file. False: nothing is to be freed.
bool config_load_rules(struct config *out, const struct config_options *given, char *const *env,
                       struct config_problems *problems);

// A file of Toolgate in the user's folder of configurations: $XDG_CONFIG_HOME/toolgate/NAME, or
// ~/.config/toolgate/NAME. STR_NONE: HOME is not set.
str config_user_file(char *const *env, const char *name, struct arena *a);

// The file of servers that these options lead to, for commands that change it; it may not exist yet. In the arena.
// False, with the problem reported, when the servers are in the configuration file itself, or that cannot be read.
bool config_servers_file(const struct config_options *opt, char *const *env, struct arena *a,
                         struct config_problems *problems, str *out);

// The same for the file of tokens that `toolgate token` changes.
bool config_token_file(const struct config_options *opt, char *const *env, struct arena *a,
                       struct config_problems *problems, str *out);

// The tokens that stay valid when a new configuration cannot be taken over, in *out, which config_done frees: those of
// the token file in force as it is now, and those of auth.tokens in `configured`. If the file cannot be read, which is
// a fatal problem, its tokens in force stay.
void config_tokens_left(struct config *out, const struct config *in_force, const struct config *configured,
                        char *const *env, struct config_problems *problems);

// Keys that are others in b than in a and count from the next start on only: their names, with commas. audit: the
// configuration that the audit log was opened with, which the keys of that group are compared with.
void config_put_restart_keys(const struct config *a, const struct config *audit, const struct config *b,
                             struct buf *out);

// A host as URLs have it: an IPv6 address in brackets.
str config_in_url(str host, struct arena *a);

// Returns whether both configurations authenticate HTTP clients in the same way, with the same keys.
bool config_same_auth(const struct config *a, const struct config *b);
static inline bool config_has_auth(const struct config *c) {
  return c->token_count || c->token_file.n || c->jwt.issuer.n;
}

// The rows of the table of keys in docs/reference/configuration.md, as Markdown.
void config_print_keys(struct buf *out);

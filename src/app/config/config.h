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
#include "govern/govern.h"
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
  unsigned char sha256[SHA256_SIZE];  // hash of the bearer token; the token itself is not stored
  str agent;                          // the only agent for which the token is valid, or empty
  str name;                           // name of the token in logs, or empty
};

struct config_file {
  str path;
  struct file_state state;  // state of the file before it was read
};

// Describes which JSON Web Tokens are accepted. All are from one issuer.
struct config_jwt {
  str issuer;  // empty if JSON Web Tokens are not accepted
  str audience, claim;
  unsigned algorithms;  // accepted algorithms, as bits (jwt_bit)
  uint64_t leeway_ms;
  str *scopes;  // required scopes
  size_t scope_count;
  str jwks_url, key_file;  // sources of the keys
  uint64_t keys_ms;        // maximum age of keys fetched from jwks_url
  struct jwt_keys *keys;   // NULL if the keys are fetched from jwks_url
  str tenant;              // claim that contains the tenant, from the governance file; or STR_NONE
  bool keep_claims;        // the governance file needs the claims of tokens
};

enum config_audit { CONFIG_AUDIT_AUTO, CONFIG_AUDIT_ON, CONFIG_AUDIT_OFF };

// The hash of a bearer token.
struct config_digest {
  bool set;
  unsigned char sha256[SHA256_SIZE];
};

// Accepted values of the Host header.
struct config_hosts {
  str *names;
  size_t count;
};

struct config {
  struct arena arena;      // owns everything below
  enum surface_mode mode;  // default mode, used for /mcp and for stdio
  unsigned modes;          // modes that HTTP serves, including `mode`, as bits
  bool trust_stated;       // accept the agent_id of a request whose credential names no agent
  enum config_transport transport;
  enum config_transport usual_transport;  // the transport according to file and environment, ignoring the command line
  str host;
  uint16_t port;
  bool insecure_bind;  // can only be set on the command line
  struct config_hosts
      allowed_hosts;  // names accepted in Host and Origin, in addition to localhost and the bound address
  bool lazy;          // starts servers on first use (init_strategy: lazy)
  bool once;          // for commands that end: failed servers are not restarted
  enum config_reload reload;
  enum config_prefix prefix;
  enum log_level log_level;
  struct config_token *tokens;
  size_t token_count, configured_tokens;  // number of all tokens; number of tokens from auth.tokens, which come first
  str token_file;                         // token file that was read, or empty
  struct config_jwt jwt;
  struct config_jwt workload;  // issuer of workload tokens
  bool needs_workload;         // every request must have a workload token
  str resource;                // public URL of /mcp; empty if clients use the URL of the listener

  uint64_t start_wait_ms;       // longest time that a list waits for starting upstreams
  uint64_t list_wait_ms;        // longest time that tools/list waits in gateway mode
  uint64_t request_timeout_ms;  // default time limit of an upstream request; progress restarts it
  uint64_t request_max_ms;      // time limit of an upstream request, regardless of its progress
  uint64_t input_ms;            // longest time that a call waits for a stateless client's answers
  uint64_t start_timeout_ms;    // default time limit for connecting and the handshake
  uint64_t install_ms;          // time limit for a launcher to install its program, before start_timeout_ms begins
  size_t description_max;       // maximum bytes of a title, description or instructions of a server
  size_t cold_starts;           // maximum number of launchers that install in parallel; 0: the number of processors
  uint64_t session_idle_ms;     // an HTTP session ends after this time without requests
  uint64_t session_away_ms;     // like session_idle_ms, for sessions whose client has closed the event stream
  uint64_t drain_ms;            // longest time that a stop waits for calls in flight
  uint64_t keepalive_ms;        // interval between comments on a quiet event stream
  size_t max_request;           // maximum bytes of a request body or stdio line from a client
  size_t max_values;            // maximum number of JSON values in a message from a client
  size_t max_held;              // maximum memory for the requests of all clients, in bytes
  size_t principal_held;        // maximum memory for the requests of one principal, in bytes
  size_t session_held;          // maximum memory for the requests of one session, in bytes
  size_t max_message;           // maximum bytes of a message from an upstream
  size_t message_values;        // maximum number of JSON values in an upstream's message that is parsed as a whole
  size_t max_bulk;              // maximum bytes of all large messages in flight from upstreams
  size_t max_head;              // maximum bytes of an HTTP head
  uint64_t http_head_ms, http_body_ms, http_idle_ms, http_write_ms;  // timeouts of connections from clients
  size_t max_connections, max_per_address;                           // maximum numbers of connections from clients
  size_t max_sessions, principal_sessions;
  size_t max_in_flight;  // maximum number of requests in flight of one session
  size_t max_own_lanes;  // maximum number of connections to one upstream that are not shared by all clients
  uint64_t server_idle_ms;
  size_t max_server_in_flight, max_server_queue;  // limits on one connection to an upstream
  size_t page_size;                               // entries in one page of a list; 0 for all entries
  enum client_structured structured;              // whether meta-tools also return structuredContent
  size_t definition_tokens;                       // maximum tokens of a definition that tool_browse returns
  size_t instructions_budget, instructions_each, instructions_browse;  // limits on instructions, in tokens
  bool cache_stable;
  bool list_ids;             // transparent mode lists tools by their ids
  bool strict_catalog;       // a catalog with an invalid definition is rejected (on_invalid: raise)
  size_t result_tokens;      // default token budget of a result of tool_execute
  size_t max_result_tokens;  // largest max_tokens that a caller can request
  bool scrub;                // mask secrets in results
  bool keep_hidden;          // leave hidden characters in results
  bool bounded;              // results in servers mode have a token budget (result.servers: bounded)
  bool debug;
  struct schema_options schemas;  // limits on the schemas of tools
  struct store_limits kept;
  struct controls controls;
  bool record;               // whether calls are recorded as events of their session
  uint64_t session_bytes;    // size limit for the events of one session
  int audit_enabled;         // whether the audit log is on: a value of enum config_audit
  str audit_file;            // path of the audit log; empty if there is no audit log
  uint64_t audit_bytes;      // size limit for one file of the audit log; 0 for no limit
  uint64_t audit_total;      // size limit for all files of the audit log; 0 for no limit
  unsigned audit_keep;       // number of rotated files that are kept regardless of their age
  unsigned audit_refusals;   // maximum refusals logged per minute, principal and reason; 0 for no maximum
  unsigned audit_keep_days;  // number of days for which every rotated file is kept
  bool audit_required;       // refuse requests while the audit log cannot be written
  str traces;                // URL of the collector of spans, or empty
  str logs;                  // URL of the collector of log records, or empty
  unsigned trace_permille;   // thousandths of the traces starting here that are collected
  str admin_listen, admin_digest, admin_operator_digest;  // as the configuration has them
  str admin_host;                                         // parsed from admin_listen
  uint16_t admin_port;
  struct config_hosts admin_hosts;      // accepted in Host by the admin listener in addition to allowed_hosts
  struct config_digest admin_reader;    // token of readers; if it is not set, anyone who can connect may read
  struct config_digest admin_operator;  // token of operators; if it is not set, there are no operators
  bool audit_arguments;                 // log the arguments of calls
  str audit_key;                        // file with the key that signs the audit log; empty if the log is unsigned
  str audit_secret;                     // the key itself
  int audit_receipts;                   // whether receipts can be made: a value of enum config_audit
  uint64_t audit_head_ms;               // time between two signed heads

  struct upstream_spec *upstreams;  // at most CONFIG_MAX_SERVERS
  size_t upstream_count;
  str *disabled;  // names of the disabled servers, without control characters
  size_t disabled_count;
  bool broken;                           // config_load failed only because files have errors
  str config_file;                       // file that was read, or empty
  str mcp_config;                        // file with mcpServers, even if it cannot be read, or empty
  str catalog;                           // catalog file that is served as a server, or empty
  str rules_file;                        // rules file that was read, or empty
  bool rules_by_config;                  // the configuration file names rules_file
  char rules_hash[2 * SHA256_SIZE + 1];  // SHA-256 of rules_file in hex; empty if there are no readable rules
  struct policy *policy;                 // content of rules_file; NULL if every client may use everything
  str governance_file;                   // governance file that was read, or empty
  struct governance *governance;         // content of governance_file; NULL if calls are not governed
  str default_agent;                     // agent of requests that name no agent; empty if it is not set
  str agent;                             // agent of clients without a credential; empty if it is not set
  struct config_file *files;  // files read or looked for; a change in any of these files can change the configuration
  size_t file_count;
  str state_dir;  // absolute path of the folder for durable state, or empty
};

enum { CONFIG_MIN_BUDGET = 50, CONFIG_MAX_BUDGET = 1000000 };  // limits on the token budget of a result

enum { CONFIG_MAX_SERVERS = 256, CONFIG_MAX_ARGS = 256, CONFIG_MAX_FILE = 1 << 20, CONFIG_MIN_TOKEN = 16 };
enum { CONFIG_MAX_TOKENS = 1024 };  // maximum number of tokens in auth.token_file

// The options of the command line. An absent option is NULL or empty.
struct config_options {
  const char *skill;  // a skill file to read in addition to those of the governance file, for `toolgate skill`
  const char *config, *mcp_config, *rules, *agent, *catalog, *mode, *transport, *listen, *log_level;
  bool insecure_bind, debug;
  bool bounded;           // for `call`: shorten results as for agents, instead of returning whole results
  bool serverless;        // do not read the servers: the command does not use them
  bool servers_optional;  // for status, top and logs: accept a configuration without servers
  // For `check`: an invalid server entry is an error (otherwise the server is left out, with a warning), and a missing
  // program is a warning.
  bool strict;
  bool audits;  // the command writes the audit log, so a missing key (audit.key_file) is created
  bool told;    // the problems of the configuration were already printed
  bool fresh;   // for commands that ask a gateway: start a new one even if one runs
  // If the command starts a gateway, this gateway has only these servers. NULL: all servers.
  const str *only;
  size_t only_count;
  // For a reload: the configuration in force. If it was read from files in default places, these files must still
  // exist.
  const struct config *before;
};

struct config_problem {
  str file, pointer;  // file and JSON Pointer, or "environment" and variable, or "command line" and option
  str message;        // the problem and its solution. `file`, `pointer` and `message` are single lines
  bool warning;       // not an error: the configuration can be used
  bool left_out;      // a warning that the server at this place is left out
  bool unworkable;    // this server cannot work, other servers can: a warning for `serve`, an error for `check`
  size_t cause;       // if left_out: number of the causing problem, counted from 1; 0 if unknown
};

struct config_problems {
  struct arena arena;
  struct config_problem *list;
  size_t count, cap;
  bool usage;  // a command-line option has an invalid value
};

void config_problems_init(struct config_problems *p);
void config_problems_done(struct config_problems *p);
bool config_problems_fatal(const struct config_problems *p);  // returns whether any problem is an error
// Returns the exit code: 0 for no fatal problem, 1 for an unusable configuration, 2 for a wrong command line.
int config_problems_status(const struct config_problems *p);

// Reads the whole configuration and reports all problems. `env` is the environment (name=value, NULL at the end).
// Returns false if a problem is fatal. The caller must then only pass *out to config_done or, if out->broken is set,
// use *out to find a running gateway (app/gateway_client/control_client.h).
bool config_load(struct config *out, const struct config_options *opt, char *const *env,
                 struct config_problems *problems);
void config_done(struct config *c);

bool config_has_server(const struct config *c, str name);  // returns whether this server is configured

// Loads the configuration without servers, for commands that need only the rules. If there are rules, returns true:
// out->policy holds the rules that `serve` would use, and out->rules_file is their file. Otherwise returns false, and
// config_done need not be called.
bool config_load_rules(struct config *out, const struct config_options *given, char *const *env,
                       struct config_problems *problems);

// Like config_load_rules, but the configuration need not have rules: out->policy is NULL without rules, and
// out->governance is NULL without a governance file. If `needs_one` is set, one of the two must exist.
bool config_load_access(struct config *out, const struct config_options *given, char *const *env,
                        struct config_problems *problems, bool needs_one);

struct governance;
// Reads a governance file (YAML or JSON). `path` can also be a configuration file with the key `governance`: then reads
// the file that this key names, with the adapters of the configured servers. If a file cannot be read or has an error,
// adds problems and returns NULL.
struct governance *config_load_governance(const char *path, str named_by, struct config_problems *problems);
// Returns the governance file that config_load_governance reads: `path`, or the file that the configuration file `path`
// names. The result may be in the arena.
str config_governance_path(const char *path, struct arena *a);
// Like config_load_governance, but also reads the signing keys that the governance file names (govern/signing.h).
struct governance *config_load_signing(const char *path, str named_by, struct config_problems *problems);

// File in state_dir with a line for each activation of a skill.
#define CONFIG_SKILLS_FILE "skills.jsonl"

// Like config_load_governance, but also reads the skill file `skill`.
struct governance *config_load_skill(const char *path, str named_by, const char *skill,
                                     struct config_problems *problems);

// Returns the path of a file in Toolgate's configuration folder of the user: $XDG_CONFIG_HOME/toolgate/NAME or
// ~/.config/toolgate/NAME. Returns STR_NONE if HOME is not set.
str config_user_file(char *const *env, const char *name, struct arena *a);

// For commands that change the servers: sets *out to the path of the file with the servers, which may not exist yet.
// Reports a problem and returns false if the configuration file cannot be read or contains the servers itself.
bool config_servers_file(const struct config_options *opt, char *const *env, struct arena *a,
                         struct config_problems *problems, str *out);

// Sets *out to the path of the token file that `toolgate token` changes. The file may not exist yet.
bool config_token_file(const struct config_options *opt, char *const *env, struct arena *a,
                       struct config_problems *problems, str *out);

// Fills *out with the tokens that stay valid if a new configuration is rejected: the tokens that the token file of
// `in_force` contains now, and auth.tokens of `configured`. *out must be freed with config_done. If the token file
// cannot be read, this is a fatal problem, and the tokens that were last read from the file stay valid.
void config_tokens_left(struct config *out, const struct config *in_force, const struct config *configured,
                        char *const *env, struct config_problems *problems);

// Appends the names, separated by commas, of the keys that differ between `a` and `b` and need a restart to take
// effect. Keys of the group `audit` are compared with `audit`, the configuration with which the audit log was opened,
// instead of `a`.
void config_put_restart_keys(const struct config *a, const struct config *audit, const struct config *b,
                             struct buf *out);

// Returns the host as it is written in a URL: an IPv6 address gets brackets.
str config_in_url(str host, struct arena *a);

// Returns whether both configurations authenticate HTTP clients in the same way, with the same keys.
bool config_same_auth(const struct config *a, const struct config *b);
static inline bool config_has_auth(const struct config *c) {
  return c->token_count || c->token_file.n || c->jwt.issuer.n;
}

// Appends the table rows of all keys for docs/reference/configuration.md, as Markdown.
void config_print_keys(struct buf *out);

// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys: checks, defaults and docs/reference/configuration.md derive from its rows.
// Included by config_keys.c and config_live.c only.
#pragma once
#include <stddef.h>

#include "app/config/config.h"

enum config_type {
  CONFIG_WORD,        // one of `words`
  CONFIG_TEXT,        // a string that is not empty
  CONFIG_COUNT,       // a whole number
  CONFIG_SECONDS,     // a number with decimals; stored in milliseconds
  CONFIG_SIZE,        // bytes, or a string such as "4MiB"
  CONFIG_HOST,        // an address to listen on
  CONFIG_HOSTS,       // a list of addresses and names
  CONFIG_TOKENS,      // a list of bearer tokens
  CONFIG_SERVERS,     // an object like mcpServers
  CONFIG_PART,        // a number from 0 to 1; stored in thousandths
  CONFIG_CODES,       // a list of fault codes; stored as bits
  CONFIG_IDS,         // a list of tool ids or patterns for them
  CONFIG_LIMIT,       // {max_calls_per_minute, max_calls_per_session}
  CONFIG_LIMITS,      // an object with a CONFIG_LIMIT for each tool id
  CONFIG_ALGORITHMS,  // a list of signature algorithms, stored as a bit set
  CONFIG_SCOPES,      // a list of OAuth scopes
  CONFIG_SECRET,      // the text of a secret key; ${VAR} is expanded
  CONFIG_MODES,       // a list of modes; stored as bits
};

struct config_word {
  const char *text;
  int value;
};

struct config_key {
  const char *path;  // group and key, separated by a dot
  enum config_type type;
  size_t offset, size;              // offset and size of the field in struct config
  uint64_t low, high;               // range of a number, in the unit in which it is stored
  const struct config_word *words;  // accepted words; the last element has no text
  const char *preset;               // default as text; NULL: an empty text, list or object
  const char *doc;
};

static const struct config_word mode_words[] = {
    {"gateway", MODE_GATEWAY},
    {"transparent", MODE_TRANSPARENT},
    {"direct", MODE_DIRECT},
    {"servers", MODE_SERVERS},
    {NULL, 0},
};
static const struct config_word transport_words[] = {
    {"stdio", CONFIG_STDIO}, {"http", CONFIG_HTTP}, {"sse", CONFIG_HTTP}, {NULL, 0}};
static const struct config_word switch_words[] = {{"true", true}, {"false", false}, {NULL, 0}};
static const struct config_word structured_words[] = {
    {"auto", CLIENT_STRUCTURED_AUTO},   {"always", CLIENT_STRUCTURED_ALWAYS}, {"never", CLIENT_STRUCTURED_NEVER},
    {"true", CLIENT_STRUCTURED_ALWAYS}, {"false", CLIENT_STRUCTURED_NEVER},   {NULL, 0}};
static const struct config_word invalid_words[] = {{"skip", false}, {"raise", true}, {NULL, 0}};
static const struct config_word audit_words[] = {
    {"auto", CONFIG_AUDIT_AUTO}, {"true", CONFIG_AUDIT_ON}, {"false", CONFIG_AUDIT_OFF}, {NULL, 0}};
static const struct config_word failure_words[] = {{"continue", false}, {"deny", true}, {"allow", false}, {NULL, 0}};
static const struct config_word reload_words[] = {
    {"watch", CONFIG_RELOAD_WATCH}, {"signal", CONFIG_RELOAD_SIGNAL}, {"off", CONFIG_RELOAD_OFF}, {NULL, 0}};
static const struct config_word init_words[] = {{"eager", false}, {"lazy", true}, {NULL, 0}};
static const struct config_word bounded_words[] = {{"whole", false}, {"bounded", true}, {NULL, 0}};
static const struct config_word hidden_words[] = {{"remove", false}, {"keep", true}, {NULL, 0}};
static const struct config_word names_words[] = {{"safe", false}, {"id", true}, {NULL, 0}};
static const struct config_word prefix_words[] = {
    {"auto", CONFIG_PREFIX_AUTO}, {"always", CONFIG_PREFIX_ALWAYS}, {NULL, 0}};
static const struct config_word level_words[] = {{"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"warn", LOG_WARN},
                                                 {"error", LOG_ERROR}, {"off", LOG_OFF},   {NULL, 0}};

#define FIELD(name) offsetof(struct config, name), sizeof(((struct config *)0)->name)
#define SECOND UINT64_C(1000)
#define HOUR (3600 * SECOND)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

// clang-format off
#define WORD(path, field, words, preset, doc) {path, CONFIG_WORD, FIELD(field), 0, 0, words, preset, doc}
#define TEXT(path, field, preset, doc) {path, CONFIG_TEXT, FIELD(field), 0, 0, NULL, preset, doc}
#define COUNT(path, field, low, high, preset, doc) {path, CONFIG_COUNT, FIELD(field), low, high, NULL, preset, doc}
#define SECONDS(path, field, low, high, preset, doc) {path, CONFIG_SECONDS, FIELD(field), low, high, NULL, preset, doc}
#define SIZE(path, field, low, high, preset, doc) {path, CONFIG_SIZE, FIELD(field), low, high, NULL, preset, doc}
#define PART(path, field, low, high, preset, doc) {path, CONFIG_PART, FIELD(field), low, high, NULL, preset, doc}
#define LIMIT(path, doc) {path, CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, doc}
#define LIST(path, type, doc) {path, type, 0, 0, 0, 0, NULL, NULL, doc}

static const struct config_key config_keys[] = {
  WORD("mode", mode, mode_words, "gateway",
   "Tools that clients see. `gateway`: three meta-tools. `transparent`: every tool, without its schema. `direct`: "
   "every tool, unchanged. `servers`: three meta-tools that name servers and list their tools."),
  {"modes", CONFIG_MODES, FIELD(modes), 0, 0, mode_words, NULL,
   "Modes that HTTP serves in addition to `mode`, each at `/mcp/MODE`."},
  WORD("transport", transport, transport_words, "stdio",
   "Transport for clients. `sse` is an alias of `http`."),
  {"host", CONFIG_HOST, FIELD(host), 0, 0, NULL, "127.0.0.1",
   "Address to listen on. An address other than loopback requires [credentials](../operate/auth.md)."},
  COUNT("port", port, 0, 65535, "8811",
   "Port to listen on. 0 selects a free port."),
  TEXT("mcp_config", mcp_config, ".mcp.json",
   "File with `mcpServers`. See [search order](../operate/configuration.md#the-servers)."),
  LIST("servers", CONFIG_SERVERS,
   "Servers in addition to those of `mcp_config`, in the same form."),
  TEXT("catalog", catalog, NULL,
   "File with tools, resources and prompts to serve. See "
   "[catalogs](../operate/configuration.md#a-server-that-is-a-file)."),
  TEXT("rules", rules_file, NULL,
   "File with the [access rules](../operate/policy.md)."),
  TEXT("governance", governance_file, NULL,
   "File with adapters, permissions and rules for calls. See [governance](governance.md)."),
  WORD("agents.trust_stated", trust_stated, switch_words, "true",
   "Trust the `agent_id` that a client states in `servers` mode if no credential names the "
   "[agent](../operate/policy.md#the-agent-of-a-request)."),
  WORD("init_strategy", lazy, init_words, "eager",
   "Start of the servers. `eager`: with the gateway. `lazy`: at their first use."),
  WORD("reload", reload, reload_words, "watch",
   "Trigger of a [reload](../operate/reload.md). `watch`: a changed file or SIGHUP. `signal`: SIGHUP."),
  WORD("gateway.structured", structured, structured_words, "auto",
   "When meta-tools send `structuredContent`. `auto`: to [clients](clients.md) that use it. `always`, `true`: to "
   "all. `never`, `false`: to none."),
  COUNT("gateway.definition_budget", definition_tokens, 200, 1000000, "2000",
   "Tokens of the definition that `tool_browse` with `tool_id` returns. A larger definition is pruned."),
  COUNT("instructions.budget", instructions_budget, 0, 100000, "400",
   "Tokens of the instructions of all servers in the answer to `initialize`. 0 omits them."),
  COUNT("instructions.per_server", instructions_each, 1, 100000, "80",
   "Tokens of one server's instructions in the answer to `initialize`."),
  COUNT("instructions.browse", instructions_browse, 1, 1000000, "2000",
   "Tokens of a server's instructions that `tool_browse` returns for the server's path."),
  WORD("cache_stable", cache_stable, switch_words, "false",
   "Return cards that a session has seen first and unchanged, which keeps prompt caches valid."),
  WORD("on_invalid", strict_catalog, invalid_words, "skip",
   "Treatment of invalid definitions. `skip`: omit a definition without a unique id; list a tool with an unusable "
   "schema, but refuse its calls. `raise`: reject the whole catalog."),
  WORD("tolerant_args", controls.tolerant_args, switch_words, "false",
   "Convert a string argument to the [type that the schema requires](calls.md#tolerant-arguments)."),
  COUNT("retry.max_attempts", controls.retry.max_attempts, 1, 100, "1",
   "Attempts for one call, including the first. 1 disables [retries](calls.md#retries)."),
  SECONDS("retry.base_delay", controls.retry.base_ms, 0, HOUR, "0.1",
   "Delay before the second attempt. It doubles for every further attempt."),
  SECONDS("retry.max_delay", controls.retry.max_ms, 0, HOUR, "5",
   "Longest delay between two attempts."),
  PART("retry.jitter", controls.retry.jitter_permille, 0, 1000, "0",
   "Largest fraction by which a delay is shortened at random."),
  {"retry.retryable_codes", CONFIG_CODES, FIELD(controls.retry.codes), 0, 0, NULL,
   "UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE",
   "Fault codes after which a call is retried."},
  WORD("retry.unsafe", controls.retry.unsafe, switch_words, "false",
   "Also retry calls that may already have run, for tools marked neither read-only nor destructive."),
  WORD("cache.read_only", controls.cache, switch_words, "false",
   "Answer a repeated call of a read-only tool from the [cache](calls.md#result-cache)."),
  SECONDS("cache.ttl", controls.cache_limits.ttl_ms, 0, 24 * HOUR, "60",
   "Lifetime of a cached result."),
  COUNT("cache.max_entries", controls.cache_limits.max_entries, 0, 1000000, "256",
   "Largest number of cached results."),
  SIZE("cache.max_bytes", controls.cache_limits.max_bytes, 0, 1024 * MIB, "16MiB",
   "Memory of all cached results. A larger result is not cached."),
  LIST("cache.allow", CONFIG_IDS,
   "Tools whose results are cached, by `tool_id`, client-safe name or pattern with `*`. Default: every read-only "
   "tool."),
  LIMIT("rate_limits.tool_browse",
   "Uses of `tool_browse` by one session. See [rate limits](calls.md#rate-limits)."),
  LIMIT("rate_limits.tool_hydrate",
   "Requests for the schema of a tool, in `transparent` mode."),
  LIMIT("rate_limits.tool_execute",
   "Calls of tools, in every mode."),
  LIMIT("rate_limits.tool_view",
   "Reads of stored results."),
  LIMIT("rate_limits.resource_browse",
   "Searches for resources."),
  LIMIT("rate_limits.resource_read",
   "Reads of resources, in every mode."),
  LIMIT("rate_limits.prompt_browse",
   "Searches for prompts."),
  LIMIT("rate_limits.prompt_get",
   "Requests for prompts, in every mode."),
  LIMIT("rate_limits.list_servers",
   "Lists of servers, in `servers` mode."),
  LIMIT("rate_limits.get_server_tools",
   "Lists of the tools of a server, in `servers` mode."),
  LIST("rate_limits.tools", CONFIG_LIMITS,
   "Limits on calls of single tools, by `tool_id` or client-safe name. A pattern with `*` is one limit for all "
   "matching tools."),
  COUNT("rate_limits.principal.max_in_flight", controls.principal.in_flight, 0, 1000000, "2048",
   "Requests in flight of one [principal](calls.md#limits-for-principals). 0: no limit."),
  COUNT("rate_limits.principal.max_requests_per_minute", controls.principal.requests, 0, 1000000000, "60000",
   "Requests of one principal in a minute. 0: no limit. This default, and those of the next two keys, apply only "
   "with `auth`."),
  SIZE("rate_limits.principal.max_bytes_per_minute", controls.principal.bytes, 0, 1024 * GIB, "1GiB",
   "Bytes of requests and answers of one principal in a minute. 0: no limit."),
  COUNT("rate_limits.principal.max_tokens_per_minute", controls.principal.tokens, 0, 1000000000, "250000000",
   "Tokens of answers to one principal in a minute. 0: no limit. Tokens are estimated while less than half of the "
   "limit is used, and beyond 64 KiB of an answer."),
  SIZE("schema_limits.max_bytes", schemas.max_bytes, 64, 16 * MIB, "64KiB",
   "Largest JSON Schema of a tool, without white space. A tool with a larger schema cannot be called."),
  COUNT("schema_limits.max_depth", schemas.max_depth, 1, 512, "32",
   "Levels of nested objects and arrays in a schema."),
  COUNT("schema_limits.max_properties", schemas.max_properties, 1, 1000000, "512",
   "Properties in a schema, over all levels."),
  WORD("schema.formats", schemas.assert_formats, switch_words, "false",
   "Validate `format` in the arguments of a call. If `false`, `format` is an annotation."),
  COUNT("result.budget", result_tokens, CONFIG_MIN_BUDGET, CONFIG_MAX_BUDGET, "2000",
   "Largest number of tokens in the answer of `tool_execute`. The rest is stored for `tool_view`. `resultBudget` and "
   "`toolResultBudgets` of a server override it."),
  COUNT("result.max_budget", max_result_tokens, CONFIG_MIN_BUDGET, CONFIG_MAX_BUDGET, "20000",
   "Largest `max_tokens` that a caller can request."),
  WORD("result.scrub", scrub, switch_words, "false",
   "Mask text that looks like a [secret](results.md#secrets) in results."),
  WORD("result.hidden_characters", keep_hidden, hidden_words, "remove",
   "Treatment of [hidden characters](results.md#hidden-characters) in results, errors and questions."),
  WORD("result.servers", bounded, bounded_words, "whole",
   "Answers of `execute_tool` in [servers mode](servers.md). `bounded`: at most `result.budget` tokens; the rest is "
   "stored for `tool_view`."),
  WORD("direct.prefix", prefix, prefix_words, "auto",
   "Use of the server's name as a prefix of [names](../operate/configuration.md#names-in-direct-mode). `auto`: only "
   "if names clash."),
  WORD("transparent.names", list_ids, names_words, "safe",
   "Names of tools in `transparent` mode. `safe`: letters, digits, `_` and `-`. `id`: the tool id. Calls accept both."),
  LIST("auth.tokens", CONFIG_TOKENS,
   "Bearer tokens: `\"${VAR}\"`, a string of 16 or more characters, or `{sha256: HEX, agent: NAME, name: TEXT}`."),
  TEXT("auth.token_file", token_file, NULL,
   "File of [`toolgate token`](../operate/auth.md#tokens-for-agents). Default: `~/.config/toolgate/tokens.json`, if "
   "it exists."),
  TEXT("auth.jwt.issuer", jwt.issuer, NULL,
   "Issuer (`iss`) of accepted [JSON Web Tokens](../operate/auth.md#json-web-tokens)."),
  TEXT("auth.jwt.audience", jwt.audience, NULL,
   "Required value of `aud`, or of one of its elements. Default: `auth.resource`, also with `/MODE` appended."),
  TEXT("auth.jwt.agent_claim", jwt.claim, "agent",
   "Claim that names the agent. It is required."),
  LIST("auth.jwt.algorithms", CONFIG_ALGORITHMS,
   "Accepted algorithms. Default: every algorithm the keys support; for keys from a URL, public-key algorithms only."),
  LIST("auth.jwt.scopes", CONFIG_SCOPES,
   "Scopes that a token must have."),
  SECONDS("auth.jwt.leeway", jwt.leeway_ms, 0, 600 * SECOND, "30",
   "Tolerated difference between the clocks of issuer and gateway."),
  TEXT("auth.jwt.jwks_url", jwt.jwks_url, NULL,
   "URL of the issuer's keys: `https`, or `http` on this machine. One of `jwks_url`, `key_file` and `secret` is "
   "required."),
  TEXT("auth.jwt.key_file", jwt.key_file, NULL,
   "File with the keys: a JWK set, or one public key in PEM."),
  LIST("auth.jwt.secret", CONFIG_SECRET,
   "Secret for HS256, 32 bytes or more (`${VAR}` is expanded)."),
  SECONDS("auth.jwt.keys_ttl", jwt.keys_ms, 60 * SECOND, 24 * HOUR, "3600",
   "Longest time between two fetches of the keys. `Cache-Control` can shorten it."),
  TEXT("auth.workload.issuer", workload.issuer, NULL,
   "Issuer (`iss`) of [workload tokens](../operate/auth.md#workload-tokens)."),
  TEXT("auth.workload.audience", workload.audience, NULL,
   "Required value of `aud`, or of one of its elements."),
  SECONDS("auth.workload.leeway", workload.leeway_ms, 0, 600 * SECOND, "30",
   "Tolerated difference between the clocks of issuer and gateway."),
  TEXT("auth.workload.jwks_url", workload.jwks_url, NULL,
   "URL of the issuer's keys: `https`, or `http` on this machine. One of `jwks_url` and `key_file` is required."),
  TEXT("auth.workload.key_file", workload.key_file, NULL,
   "File with the keys: a JWK set, or one public key in PEM."),
  SECONDS("auth.workload.keys_ttl", workload.keys_ms, 60 * SECOND, 24 * HOUR, "3600",
   "Longest time between two fetches of the keys. `Cache-Control` can shorten it."),
  WORD("auth.workload.required", needs_workload, switch_words, "false",
   "Refuse requests without a workload token."),
  TEXT("auth.resource", resource, NULL,
   "Public URL of `/mcp`, for OAuth. Default: the URL of the listener."),
  TEXT("state_dir", state_dir, CONFIG_STATE_DIR,
   "Folder for [durable state](../operate/storage.md). `none` stores nothing."),
  SIZE("artifacts.max_bytes", kept.piece_bytes, MIB, 1024 * GIB, "1GiB",
   "Size of all stored results. The least recently used are deleted first."),
  SIZE("artifacts.max_owner_bytes", kept.piece_owner_bytes, MIB, 1024 * GIB, "512MiB",
   "Size of the stored results of one agent (one token), at most `artifacts.max_bytes`."),
  COUNT("artifacts.max_count", kept.piece_count, 1, 1000000, "4096",
   "Stored pieces of results of one agent."),
  SIZE("artifacts.max_memory", kept.memory_bytes, MIB, 64 * GIB, "256MiB",
   "Size of results in memory: without `state_dir`, or while the disk cannot be written."),
  SECONDS("artifacts.ttl", kept.piece_ms, SECOND, 8760 * HOUR, "86400",
   "Lifetime of a stored piece."),
  SIZE("archive.max_bytes", kept.archive_bytes, MIB, 1024 * GIB, "1GiB",
   "Size of all archived messages and events. A full archive accepts no more."),
  SECONDS("archive.ttl", kept.archive_ms, SECOND, 87600 * HOUR, "2592000",
   "Lifetime of an archived message."),
  SIZE("effects.max_bytes", kept.kind_bytes, MIB, 1024 * GIB, "512MiB",
   "Size of each kind of state about calls with effects, such as [requests for approval](governance.md#approvals). "
   "Calls whose state does not fit are refused."),
  WORD("context.record", record, switch_words, "false",
   "[Record](context.md) every call with its arguments and its answer."),
  SIZE("context.session_bytes", session_bytes, KIB, GIB, "16MiB",
   "Size of the recorded events of one session. Later events are not recorded."),
  WORD("audit.enabled", audit_enabled, audit_words, "auto",
   "Use of an [audit log](../operate/audit.md). `auto`: if there is a rules file or `audit.file` is set."),
  TEXT("audit.file", audit_file, NULL,
   "File of the audit log. Default: `audit.jsonl` in `state_dir`."),
  WORD("audit.on_failure", audit_required, failure_words, "continue",
   "Action if the log cannot be written. `continue`, `allow`: serve requests. `deny`: refuse them."),
  SIZE("audit.max_bytes", audit_bytes, 0, 1024 * GIB, "64MiB",
   "Size at which the file is renamed to `FILE.1` and a new one is started. 0: no limit."),
  COUNT("audit.keep", audit_keep, 0, 1000, "9",
   "Rotated files that are kept regardless of their age."),
  COUNT("audit.keep_days", audit_keep_days, 0, 36500, "7",
   "Days for which every rotated file is kept. 0: only the last `audit.keep` files are kept."),
  SIZE("audit.max_total", audit_total, 0, 1024 * GIB, "4GiB",
   "Largest size of all files of the audit log together. If no file is old enough to be removed, `audit.on_failure` "
   "applies. 0: no limit."),
  TEXT("audit.key_file", audit_key, NULL,
   "File with a secret of 16 or more bytes that signs the audit log. A missing file is created with a new log."),
  WORD("audit.receipts", audit_receipts, audit_words, "auto",
   "Make [receipts](../operate/audit.md#receipts) for governed calls. `auto`: if there is a governance file."),
  SECONDS("audit.head_interval", audit_head_ms, SECOND, 24 * HOUR, "60",
   "Time between two signed heads of the audit log. A receipt needs a head that was signed after the call."),
  COUNT("audit.refusals_per_minute", audit_refusals, 0, 1000000, "60",
   "Refusals in a minute that get their own line, for each principal and reason. 0: no limit."),
  WORD("audit.arguments", audit_arguments, switch_words, "false",
   "Log the arguments of calls, with secrets masked."),
  TEXT("admin.listen", admin_listen, NULL,
   "`HOST:PORT` of the [admin pages](../operate/metrics.md)."),
  TEXT("admin.token_sha256", admin_digest, NULL,
   "SHA-256 in hex of the bearer token of readers. Required if `admin.listen` is not loopback."),
  TEXT("admin.operator_token_sha256", admin_operator_digest, NULL,
   "SHA-256 in hex of the bearer token of operators (`POST /reload`). Default: no operators."),
  {"admin.allowed_hosts", CONFIG_HOSTS, FIELD(admin_hosts), 0, 0, NULL, NULL,
   "Values of `Host` that [`admin.listen`](../operate/metrics.md#access) accepts in addition to `allowed_hosts` and "
   "the addresses of this machine."},
  TEXT("traces.endpoint", traces, NULL,
   "URL of a collector of [spans](../operate/metrics.md#traces) (OTLP over HTTP, JSON), such as "
   "`http://127.0.0.1:4318/v1/traces`."),
  TEXT("logs.endpoint", logs, NULL,
   "URL of a collector of [log records](../operate/metrics.md#events), such as `http://127.0.0.1:4318/v1/logs`."),
  PART("traces.sample", trace_permille, 0, 1000, "1",
   "Fraction of the traces starting in this gateway that is collected."),
  {"allowed_hosts", CONFIG_HOSTS, FIELD(allowed_hosts), 0, 0, NULL, NULL,
   "Names accepted in [`Host` and `Origin`](../operate/configuration.md#http-endpoints) in addition to localhost and "
   "the listening address: `NAME` with any port, or `NAME:PORT`."},
  WORD("debug", debug, switch_words, "false",
   "Offer `get_gateway_status` in [servers mode](servers.md)."),
  WORD("log.level", log_level, level_words, "info",
   "Lowest severity of messages on stderr."),
  SECONDS("timeouts.start", start_timeout_ms, SECOND / 10, HOUR, "30",
   "Limit for connecting to a server and its handshake."),
  SECONDS("timeouts.install", install_ms, SECOND, 24 * HOUR, "600",
   "Limit for a [launcher](../operate/configuration.md#launchers) (`npx`, `uvx`, `docker run`, …) to install its "
   "program. `timeouts.start` begins after it."),
  SECONDS("timeouts.start_wait", start_wait_ms, 0, HOUR, "3",
   "Longest time that a list waits for starting servers."),
  SECONDS("timeouts.list_wait", list_wait_ms, 0, HOUR, "0.3",
   "Longest time that `tools/list` waits for starting servers in `gateway` mode, at most `timeouts.start_wait`."),
  SECONDS("timeouts.request", request_timeout_ms, SECOND / 10, 24 * HOUR, "60",
   "Limit for one request to a server. A progress notification restarts it."),
  SECONDS("timeouts.request_max", request_max_ms, SECOND / 10, 24 * HOUR, "600",
   "Limit for one request to a server regardless of its progress."),
  SECONDS("timeouts.input", input_ms, SECOND / 10, 24 * HOUR, "300",
   "Longest time that a call waits for a stateless client's answers to a server's questions."),
  SECONDS("timeouts.session_idle", session_idle_ms, SECOND, 720 * HOUR, "1800",
   "Closes an HTTP session after this time without requests."),
  SECONDS("timeouts.session_away", session_away_ms, SECOND, 720 * HOUR, "300",
   "Closes an HTTP session after this time without requests if its client has closed the event stream."),
  SECONDS("timeouts.server_idle", server_idle_ms, 0, 720 * HOUR, "1800",
   "Closes an agent's connection to a server (for a stdio server: its process) when idle for this time. 0: never."),
  SECONDS("timeouts.drain", drain_ms, 0, HOUR, "10",
   "Longest time that a stop waits for calls in flight."),
  SECONDS("timeouts.http_head", http_head_ms, SECOND / 10, HOUR, "10",
   "Longest time to receive the head of an HTTP request. It begins with the connection or, for later requests, with "
   "the first byte."),
  SECONDS("timeouts.http_body", http_body_ms, SECOND / 10, HOUR, "60",
   "Limit for a whole HTTP request."),
  SECONDS("timeouts.http_idle", http_idle_ms, SECOND / 10, HOUR, "75",
   "Closes a connection without a request in flight after this time since its last answer."),
  SECONDS("timeouts.http_write", http_write_ms, SECOND / 10, HOUR, "60",
   "Closes a connection whose client does not read its answer for this time."),
  SECONDS("timeouts.keepalive", keepalive_ms, SECOND, HOUR, "15",
   "Interval between comments on a quiet event stream."),
  SIZE("limits.request", max_request, KIB, 1024 * MIB, "4MiB",
   "Largest message from a client."),
  COUNT("limits.request_values", max_values, 256, 8388608, "65536",
   "JSON values (strings, numbers, objects, …) in one message from a client, 48 bytes of memory each."),
  SIZE("limits.held_bytes", max_held, MIB, 1024 * 1024 * MIB, "512MiB",
   "Memory of all [client requests](../operate/configuration.md#memory-of-requests) in progress."),
  SIZE("limits.principal_held_bytes", principal_held, MIB, 1024 * 1024 * MIB, "128MiB",
   "Memory of the requests of one principal."),
  SIZE("limits.session_held_bytes", session_held, MIB, 1024 * 1024 * MIB, "64MiB",
   "Memory of the requests of one session or, on stdio, of the connection."),
  SIZE("limits.message", max_message, KIB, 1024 * MIB, "64MiB",
   "Largest message from a server."),
  COUNT("limits.message_values", message_values, 65536, 8388608, "1048576",
   "JSON values in one message from a server, except results of 1 MiB or more."),
  SIZE("limits.description", description_max, 256, MIB, "64KiB",
   "Longest title, description or instructions of a server. Longer text is cut and reported in the log."),
  SIZE("limits.in_flight_bytes", max_bulk, MIB, 1024 * 1024 * MIB, "256MiB",
   "Total size of large messages (1 MiB or more) from servers and of answers that clients have not read. Above it, "
   "Toolgate reads further messages [later](../operate/configuration.md#memory-of-requests)."),
  SIZE("limits.head", max_head, KIB, MIB, "16KiB",
   "Largest HTTP head (start line and headers)."),
  COUNT("limits.connections", max_connections, 1, 1000000, "4096",
   "Open [connections from clients](../operate/configuration.md#sessions-and-connections). Lowered if the process "
   "cannot open enough files (`ulimit -n`)."),
  COUNT("limits.connections_per_address", max_per_address, 0, 1000000, "1024",
   "Largest number of connections from one client address (IPv6: one /64 network). 0: no limit. Raise it if all "
   "clients connect through one proxy."),
  COUNT("limits.sessions", max_sessions, 1, 1000000, "10000",
   "Open HTTP sessions."),
  COUNT("limits.principal_sessions", principal_sessions, 0, 1000000, "0",
   "Open HTTP sessions of one principal. 0: its share of `limits.sessions`."),
  COUNT("limits.in_flight", max_in_flight, 1, 1000000, "1024",
   "Requests in flight of one session."),
  COUNT("limits.own_connections", max_own_lanes, 1, 100000, "64",
   "Agents and clients with their [own connection](../operate/isolation.md) to one server."),
  COUNT("limits.server_in_flight", max_server_in_flight, 1, 1000000, "256",
   "Calls in flight on one connection to a server. Further calls [wait](../operate/isolation.md#taking-turns)."),
  COUNT("limits.server_queue", max_server_queue, 0, 1000000, "1024",
   "Calls that wait for a place on one connection to a server."),
  COUNT("limits.cold_starts", cold_starts, 0, 1000, "0",
   "[Launchers](../operate/configuration.md#launchers) that install at the same time. 0: the number of processors."),
  COUNT("limits.page_size", page_size, 0, 100000, "500",
   "Entries in one page of a list. 0: all entries."),
};
// clang-format on

enum { CONFIG_KEY_COUNT = sizeof config_keys / sizeof *config_keys };

// Keys and groups of keys that a reload applies. Changes to all other keys take effect at the next start.
static const char *const config_live_keys[] = {
    "mcp_config", "servers", "catalog", "rules", "governance", "agents", "log.level", "auth", "rate_limits.principal",
    NULL,
};

// Keys of later versions that restrict or protect something. This version rejects them: to ignore them would be unsafe.
static const char *const config_later_keys[] = {
    NULL,
};

#undef FIELD
#undef WORD
#undef TEXT
#undef COUNT
#undef SECONDS
#undef SIZE
#undef PART
#undef LIMIT
#undef LIST

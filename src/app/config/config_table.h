// SPDX-License-Identifier: Apache-2.0
// Every key of toolgate.yaml is one row here: the checks, the defaults and docs/configuration.md are made from it.
// Included by config_keys.c and config_live.c only.
#pragma once
#include <stddef.h>

#include "app/config/config.h"

enum config_type {
  CONFIG_WORD,        // one of `words`
  CONFIG_TEXT,        // any text that is not empty
  CONFIG_COUNT,       // a whole number
  CONFIG_SECONDS,     // a number with decimals; kept in milliseconds
  CONFIG_SIZE,        // bytes, or text such as "4MiB"
  CONFIG_HOST,        // an address to listen on
  CONFIG_HOSTS,       // a list of addresses and names
  CONFIG_TOKENS,      // a list of bearer tokens
  CONFIG_SERVERS,     // an object as mcpServers
  CONFIG_PART,        // a number from 0 to 1; kept in thousandths
  CONFIG_CODES,       // a list of codes of faults; kept as bits
  CONFIG_IDS,         // a list of ids of tools, or patterns for them
  CONFIG_LIMIT,       // {max_calls_per_minute, max_calls_per_session}
  CONFIG_LIMITS,      // an object of such, by ids of tools
  CONFIG_ALGORITHMS,  // a list of algorithms of tokens; kept as bits
  CONFIG_SCOPES,      // a list of OAuth scopes
  CONFIG_SECRET,      // a text with variables, from which a key is made
  CONFIG_MODES,       // a list of modes; kept as bits
};

struct config_word {
  const char *text;
  int value;
};

struct config_key {
  const char *path;  // group and key, with a dot
  enum config_type type;
  size_t offset, size;              // of the field in struct config
  uint64_t low, high;               // numbers: the range, in milliseconds, bytes or as it is
  const struct config_word *words;  // a word: up to one without text
  const char *preset;               // the default as text; NULL: a list or an object that is empty
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
static const struct config_key config_keys[] = {
  {"mode", CONFIG_WORD, FIELD(mode), 0, 0, mode_words, "gateway",
   "What an agent sees: `gateway` three meta-tools, `transparent` every tool without its schema, `servers` three that "
   "name servers and show their tools, `direct` everything."},
  {"modes", CONFIG_MODES, FIELD(modes), 0, 0, mode_words, NULL,
   "Modes that HTTP serves besides `mode`, each at `/mcp/MODE`. Other modes answer 404."},
  {"transport", CONFIG_WORD, FIELD(transport), 0, 0, transport_words, "stdio",
   "How agents connect. `sse` means `http`."},
  {"host", CONFIG_HOST, FIELD(host), 0, 0, NULL, "127.0.0.1",
   "Address to listen on. Other than loopback it needs `auth.tokens` or `auth.jwt`."},
  {"port", CONFIG_COUNT, FIELD(port), 0, 65535, NULL, "8811",
   "Port to listen on; 0 takes any free one."},
  {"mcp_config", CONFIG_TEXT, FIELD(mcp_config), 0, 0, NULL, ".mcp.json",
   "File with `mcpServers`, relative to the folder of this file. The default is in the current folder: see below."},
  {"servers", CONFIG_SERVERS, 0, 0, 0, 0, NULL, NULL,
   "Servers written here instead, or besides; entries as in `mcpServers`."},
  {"catalog", CONFIG_TEXT, FIELD(catalog), 0, 0, NULL, NULL,
   "File with tools, resources and prompts to serve as they are written there, relative to the folder of this file."},
  {"rules", CONFIG_TEXT, FIELD(rules_file), 0, 0, NULL, NULL,
   "File that says which agent may use what, relative to the folder of this file. See [policy.md](policy.md)."},
  {"agents.trust_stated", CONFIG_WORD, FIELD(trust_stated), 0, 0, switch_words, "true",
   "Whether an `agent_id` that a client states in mode `servers` counts where no credential names the agent. See "
   "[policy.md](policy.md)."},
  {"init_strategy", CONFIG_WORD, FIELD(lazy), 0, 0, init_words, "eager",
   "Start the servers at once, or when they are first needed."},
  {"reload", CONFIG_WORD, FIELD(reload), 0, 0, reload_words, "watch",
   "When the files are read again: when one changes or SIGHUP comes, then only, or never. See [reload.md](reload.md)."},
  {"gateway.structured", CONFIG_WORD, FIELD(structured), 0, 0, structured_words, "auto",
   "When meta-tools send JSON in `structuredContent` besides the text: `auto` to clients that want it or ask for it, "
   "`always` (`true`) or `never` (`false`). See [clients.md](clients.md)."},
  {"gateway.definition_budget", CONFIG_COUNT, FIELD(definition_tokens), 200, 1000000, NULL, "2000",
   "Tokens of the definition that `tool_browse` with `tool_id` returns. A larger one is pruned, and says what is "
   "missing."},
  {"instructions.budget", CONFIG_COUNT, FIELD(instructions_budget), 0, 100000, NULL, "400",
   "Tokens of server instructions in the answer to `initialize`, of all servers together. 0 leaves them out."},
  {"instructions.per_server", CONFIG_COUNT, FIELD(instructions_each), 1, 100000, NULL, "80",
   "Tokens of one server's instructions there."},
  {"instructions.browse", CONFIG_COUNT, FIELD(instructions_browse), 1, 1000000, NULL, "2000",
   "Tokens of a server's instructions that `tool_browse` of its path returns, as far as the answer has room for them."},
  {"cache_stable", CONFIG_WORD, FIELD(cache_stable), 0, 0, switch_words, "false",
   "Cards that a session has seen come first and unchanged, so that prompt caches keep them."},
  {"on_invalid", CONFIG_WORD, FIELD(strict_catalog), 0, 0, invalid_words, "skip",
   "What to do with a definition that gets no id of its own, or has a schema that cannot be used: leave the one out "
   "and keep the other, whose calls fail, or not take the whole catalog."},
  {"tolerant_args", CONFIG_WORD, FIELD(controls.tolerant_args), 0, 0, switch_words, "false",
   "Read text as the number, boolean, null or object that a tool's schema wants in its place."},
  {"retry.max_attempts", CONFIG_COUNT, FIELD(controls.retry.max_attempts), 1, 100, NULL, "1",
   "How often a call is tried in all, when its server cannot be reached or does not answer."},
  {"retry.base_delay", CONFIG_SECONDS, FIELD(controls.retry.base_ms), 0, HOUR, NULL, "0.1",
   "Before the second attempt; doubled for each further one."},
  {"retry.max_delay", CONFIG_SECONDS, FIELD(controls.retry.max_ms), 0, HOUR, NULL, "5",
   "Longest delay between two attempts."},
  {"retry.jitter", CONFIG_PART, FIELD(controls.retry.jitter_permille), 0, 1000, NULL, "0",
   "By up to this part a delay is shortened at random."},
  {"retry.retryable_codes", CONFIG_CODES, FIELD(controls.retry.codes), 0, 0, NULL,
   "UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE",
   "The faults after which there is another attempt."},
  {"retry.unsafe", CONFIG_WORD, FIELD(controls.retry.unsafe), 0, 0, switch_words, "false",
   "Also repeat what may have been carried out, of tools that say neither that they only read nor that they destroy."},
  {"cache.read_only", CONFIG_WORD, FIELD(controls.cache), 0, 0, switch_words, "false",
   "Answer a repeated call of a tool that says that it only reads with the result of the first."},
  {"cache.ttl", CONFIG_SECONDS, FIELD(controls.cache_limits.ttl_ms), 0, 24 * HOUR, NULL, "60",
   "How long a result is kept for that."},
  {"cache.max_entries", CONFIG_COUNT, FIELD(controls.cache_limits.max_entries), 0, 1000000, NULL, "256",
   "Results that are kept at once."},
  {"cache.max_bytes", CONFIG_SIZE, FIELD(controls.cache_limits.max_bytes), 0, 1024 * MIB, NULL, "16MiB",
   "Memory of all of them; a larger result is not kept."},
  {"cache.allow", CONFIG_IDS, 0, 0, 0, 0, NULL, NULL,
   "The only tools whose results are kept, by `tool_id`, by the client-safe name of mode transparent, or by a pattern "
   "with `*`; none: all that say they only read."},
  {"rate_limits.tool_browse", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL,
   "How often a session may use it; so for the others below."},
  {"rate_limits.tool_hydrate", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "The schema of a tool, in the mode transparent."},
  {"rate_limits.tool_execute", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Calls of tools, in every mode."},
  {"rate_limits.tool_view", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Reading on in a result that was cut."},
  {"rate_limits.resource_browse", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Finding resources."},
  {"rate_limits.resource_read", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Reading resources, in every mode."},
  {"rate_limits.prompt_browse", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Finding prompts."},
  {"rate_limits.prompt_get", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "Getting prompts, in every mode."},
  {"rate_limits.list_servers", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "The servers, in the mode servers."},
  {"rate_limits.get_server_tools", CONFIG_LIMIT, 0, 0, 0, 0, NULL, NULL, "The tools of a server, in the mode servers."},
  {"rate_limits.tools", CONFIG_LIMITS, 0, 0, 0, 0, NULL, NULL,
   "Calls of single tools, by `tool_id` or by the client-safe name of mode transparent; a pattern with `*` is one "
   "limit for all that it matches."},
  {"rate_limits.principal.max_in_flight", CONFIG_COUNT, FIELD(controls.principal.in_flight), 0, 1000000, NULL, "2048",
   "Requests of one principal (one token, one subject of an issuer) under way, over all its sessions; 0: any number."},
  {"rate_limits.principal.max_requests_per_minute", CONFIG_COUNT, FIELD(controls.principal.requests), 0, 1000000000,
   NULL, "60000", "Requests of one principal within a minute, of every kind; 0: any number. This default and the next "
   "two apply only where clients need a credential (`auth`)."},
  {"rate_limits.principal.max_bytes_per_minute", CONFIG_SIZE, FIELD(controls.principal.bytes), 0, 1024 * GIB, NULL,
   "1GiB", "Bytes of requests and answers."},
  {"rate_limits.principal.max_tokens_per_minute", CONFIG_COUNT, FIELD(controls.principal.tokens), 0, 1000000000, NULL,
   "250000000", "Tokens of answers; of the part of one beyond 64 KiB, and while less than half of the limit is used, a "
   "quarter of the bytes."},
  {"schema_limits.max_bytes", CONFIG_SIZE, FIELD(schemas.max_bytes), 64, 16 * MIB, NULL, "64KiB",
   "Largest JSON Schema of a tool, without white space. A tool with a larger one cannot be called."},
  {"schema_limits.max_depth", CONFIG_COUNT, FIELD(schemas.max_depth), 1, 512, NULL, "32",
   "How deep objects and arrays of a schema may be nested."},
  {"schema_limits.max_properties", CONFIG_COUNT, FIELD(schemas.max_properties), 1, 1000000, NULL, "512",
   "How many properties a schema may name, all in all."},
  {"schema.formats", CONFIG_WORD, FIELD(schemas.assert_formats), 0, 0, switch_words, "false",
   "Check `format` (dates, addresses, …) in the arguments of a call; otherwise it is a remark."},
  {"result.budget", CONFIG_COUNT, FIELD(result_tokens), CONFIG_MIN_BUDGET, CONFIG_MAX_BUDGET, NULL, "2000",
   "Tokens of what `tool_execute` answers; of a longer result the rest is kept for `tool_view`. `resultBudget` and "
   "`toolResultBudgets` of a server override it."},
  {"result.max_budget", CONFIG_COUNT, FIELD(max_result_tokens), CONFIG_MIN_BUDGET, CONFIG_MAX_BUDGET, NULL, "20000",
   "Most tokens that a caller can ask for with `max_tokens` of `tool_execute` and `tool_view`."},
  {"result.scrub", CONFIG_WORD, FIELD(scrub), 0, 0, switch_words, "false",
   "Mask what looks like a secret in results, before they are told or kept. See docs/results.md."},
  {"result.hidden_characters", CONFIG_WORD, FIELD(keep_hidden), 0, 0, hidden_words, "remove",
   "Remove hidden characters from the texts of results, errors and questions in every mode, or keep them byte for "
   "byte. See [results.md](results.md#hidden-characters)."},
  {"result.servers", CONFIG_WORD, FIELD(bounded), 0, 0, bounded_words, "whole",
   "What `execute_tool` of mode servers answers: the result as it is, or, `bounded`, what fits `result.budget`; the "
   "rest is kept, and there is `tool_view` in this mode too. See [servers.md](servers.md)."},
  {"direct.prefix", CONFIG_WORD, FIELD(prefix), 0, 0, prefix_words, "auto",
   "Put the server's name before a name only when two servers clash, or always."},
  {"transparent.names", CONFIG_WORD, FIELD(list_ids), 0, 0, names_words, "safe",
   "Names of tools in the mode `transparent`: `safe` has letters, digits, `_` and `-` only, `id` is the tool id. Both "
   "are accepted in calls."},
  {"auth.tokens", CONFIG_TOKENS, 0, 0, 0, 0, NULL, NULL,
   "Bearer tokens: each a text of 16 characters or more that cannot be guessed (`${VAR}` is expanded), or `{sha256: "
   "HEX, agent: NAME, name: TEXT}`."},
  {"auth.token_file", CONFIG_TEXT, FIELD(token_file), 0, 0, NULL, NULL,
   "File with further tokens, which `toolgate token` writes, relative to the folder of this file. When it is not set, "
   "`~/.config/toolgate/tokens.json` is read if it is there. See [auth.md](auth.md#tokens-for-agents)."},
  {"auth.jwt.issuer", CONFIG_TEXT, FIELD(jwt.issuer), 0, 0, NULL, NULL,
   "Who issues JSON Web Tokens that are accepted too: their `iss`. See [auth.md](auth.md) for these keys."},
  {"auth.jwt.audience", CONFIG_TEXT, FIELD(jwt.audience), 0, 0, NULL, NULL,
   "What their `aud` must be, or have among others; when it is not set, `auth.resource`, or that with `/MODE` behind "
   "it."},
  {"auth.jwt.agent_claim", CONFIG_TEXT, FIELD(jwt.claim), 0, 0, NULL, "agent",
   "The claim that names the agent. A token without it is refused."},
  {"auth.jwt.algorithms", CONFIG_ALGORITHMS, 0, 0, 0, 0, NULL, NULL,
   "The only ones that are accepted; none: all that the keys are for, of keys from a URL those with public keys."},
  {"auth.jwt.scopes", CONFIG_SCOPES, 0, 0, 0, 0, NULL, NULL,
   "Scopes that a token must have, all of them."},
  {"auth.jwt.leeway", CONFIG_SECONDS, FIELD(jwt.leeway_ms), 0, 600 * SECOND, NULL, "30",
   "How far the clocks of issuer and gateway may differ."},
  {"auth.jwt.jwks_url", CONFIG_TEXT, FIELD(jwt.jwks_url), 0, 0, NULL, NULL,
   "Where the issuer's keys are: `https`, or `http` on this machine. One of this and the next two is needed."},
  {"auth.jwt.key_file", CONFIG_TEXT, FIELD(jwt.key_file), 0, 0, NULL, NULL,
   "File with the keys, a JWK set or one public key in PEM, relative to the folder of this file."},
  {"auth.jwt.secret", CONFIG_SECRET, 0, 0, 0, 0, NULL, NULL,
   "Secret for HS256, 32 bytes or more (`${VAR}` is expanded)."},
  {"auth.jwt.keys_ttl", CONFIG_SECONDS, FIELD(jwt.keys_ms), 60 * SECOND, 24 * HOUR, NULL, "3600",
   "How long fetched keys are used at most before they are fetched again; `Cache-Control` may say less."},
  {"auth.resource", CONFIG_TEXT, FIELD(resource), 0, 0, NULL, NULL,
   "The URL of `/mcp` as clients know it, for OAuth; when it is not set, the one that is listened on."},
  {"state_dir", CONFIG_TEXT, FIELD(state_dir), 0, 0, NULL, CONFIG_STATE_DIR,
   "Folder for what outlives the process, relative to the folder of this file; `none` keeps nothing. See below."},
  {"artifacts.max_bytes", CONFIG_SIZE, FIELD(kept.piece_bytes), MIB, 1024 * GIB, NULL, "1GiB",
   "Of all that is kept of results for `tool_view`; what was not used for the longest time leaves first."},
  {"artifacts.max_owner_bytes", CONFIG_SIZE, FIELD(kept.piece_owner_bytes), MIB, 1024 * GIB, NULL, "512MiB",
   "The same for one agent (one token); at most `artifacts.max_bytes`."},
  {"artifacts.max_count", CONFIG_COUNT, FIELD(kept.piece_count), 1, 1000000, NULL, "4096",
   "Pieces of results that are kept for one agent."},
  {"artifacts.max_memory", CONFIG_SIZE, FIELD(kept.memory_bytes), MIB, 64 * GIB, NULL, "256MiB",
   "The same in memory, where they are without `state_dir` or when the disk does not take them."},
  {"artifacts.ttl", CONFIG_SECONDS, FIELD(kept.piece_ms), SECOND, 8760 * HOUR, NULL, "86400",
   "How long a piece of a result is kept."},
  {"archive.max_bytes", CONFIG_SIZE, FIELD(kept.archive_bytes), MIB, 1024 * GIB, NULL, "1GiB",
   "Of all archived messages and events; when it is full, no more are taken."},
  {"archive.ttl", CONFIG_SECONDS, FIELD(kept.archive_ms), SECOND, 87600 * HOUR, NULL, "2592000",
   "How long an archived message is kept."},
  {"context.record", CONFIG_WORD, FIELD(record), 0, 0, switch_words, "false",
   "Write every call down, with its arguments and what was told of it: [context.md](context.md) says what for."},
  {"context.session_bytes", CONFIG_SIZE, FIELD(session_bytes), KIB, GIB, NULL, "16MiB",
   "Events of one session that are recorded; then no more are."},
  {"audit.enabled", CONFIG_WORD, FIELD(audit_enabled), 0, 0, audit_words, "auto",
   "Whether there is an audit log: `auto` if there is a rules file or `audit.file` is set, `true`, or `false`. See "
   "[audit.md](audit.md)."},
  {"audit.file", CONFIG_TEXT, FIELD(audit_file), 0, 0, NULL, NULL,
   "File that gets a line for every operation, relative to the folder of this file. The default is `audit.jsonl` in "
   "`state_dir`."},
  {"audit.on_failure", CONFIG_WORD, FIELD(audit_required), 0, 0, failure_words, "continue",
   "When that file cannot be written: go on and keep the lines in memory, or `deny` everything until it can be."},
  {"audit.max_bytes", CONFIG_SIZE, FIELD(audit_bytes), 0, 1024 * GIB, NULL, "64MiB",
   "A file that would become larger is put aside as `FILE.1`, and a new one begun; 0: never."},
  {"audit.keep", CONFIG_COUNT, FIELD(audit_keep), 0, 1000, NULL, "9",
   "Rotated files that are kept whatever their age."},
  {"audit.keep_days", CONFIG_COUNT, FIELD(audit_keep_days), 0, 36500, NULL, "7",
   "Days for which every rotated file is kept, however many there are. 0: only the last `audit.keep` are kept."},
  {"audit.max_total", CONFIG_SIZE, FIELD(audit_total), 0, 1024 * GIB, NULL, "4GiB",
   "Size of all files of the log together. When nothing is old enough to be removed, the log cannot be written, and "
   "`audit.on_failure` decides. 0: no limit."},
  {"audit.key_file", CONFIG_TEXT, FIELD(audit_key), 0, 0, NULL, NULL,
   "File with a secret of 16 bytes or more that signs every line and `FILE.head`, relative to the folder of this file. "
   "It is created with a new log."},
  {"audit.refusals_per_minute", CONFIG_COUNT, FIELD(audit_refusals), 0, 1000000, NULL, "60",
   "Refusals of one principal for one reason that have a line of their own in a minute; the others are counted in one "
   "line. 0: each has its line."},
  {"audit.arguments", CONFIG_WORD, FIELD(audit_arguments), 0, 0, switch_words, "false",
   "Write the arguments of calls too, with what looks like a secret masked."},
  {"admin.listen", CONFIG_TEXT, FIELD(admin_listen), 0, 0, NULL, NULL,
   "`HOST:PORT` where `/readyz`, `/metrics` and `/status` tell of all servers, apart from the endpoint: "
   "[metrics.md](metrics.md)."},
  {"admin.token_sha256", CONFIG_TEXT, FIELD(admin_digest), 0, 0, NULL, NULL,
   "SHA-256 of the bearer token that readers need there, in hex. Needed when the address is not loopback."},
  {"admin.operator_token_sha256", CONFIG_TEXT, FIELD(admin_operator_digest), 0, 0, NULL, NULL,
   "SHA-256 of the bearer token of operators, who may also change things there (`POST /reload`), in hex. Without it "
   "nobody can."},
  {"admin.allowed_hosts", CONFIG_HOSTS, FIELD(admin_hosts), 0, 0, NULL, NULL,
   "Further names in `Host` there, besides those of `allowed_hosts` and the addresses of this machine: "
   "[metrics.md](metrics.md#who-may-read-them)."},
  {"traces.endpoint", CONFIG_TEXT, FIELD(traces), 0, 0, NULL, NULL,
   "URL of a collector that gets a span for every call (OTLP over HTTP, JSON), such as "
   "`http://127.0.0.1:4318/v1/traces`: [metrics.md](metrics.md#traces)."},
  {"logs.endpoint", CONFIG_TEXT, FIELD(logs), 0, 0, NULL, NULL,
   "URL of a collector that gets a log record for every tool call (OTLP over HTTP, JSON), such as "
   "`http://127.0.0.1:4318/v1/logs`: [metrics.md](metrics.md#events)."},
  {"traces.sample", CONFIG_PART, FIELD(trace_permille), 0, 1000, NULL, "1",
   "The part of the traces that begin here which is collected; of others, their caller decides."},
  {"allowed_hosts", CONFIG_HOSTS, FIELD(allowed_hosts), 0, 0, NULL, NULL,
   "Further names in `Host` and `Origin`, besides localhost and the address listened on. `NAME` is accepted with any "
   "port, `NAME:PORT` with this port only. See [below](#what-is-served-over-http)."},
  {"debug", CONFIG_WORD, FIELD(debug), 0, 0, switch_words, "false",
   "Mode servers has `get_gateway_status`, which tells an agent how the servers are that it may use."},
  {"log.level", CONFIG_WORD, FIELD(log_level), 0, 0, level_words, "info",
   "What goes to the log on stderr: this and what is more severe."},

  {"timeouts.start", CONFIG_SECONDS, FIELD(start_timeout_ms), SECOND / 10, HOUR, NULL, "30",
   "For connecting to a server and its handshake."},
  {"timeouts.install", CONFIG_SECONDS, FIELD(install_ms), SECOND, 24 * HOUR, NULL, "600",
   "For a launcher (`npx`, `uvx`, `docker run`, …) to install its program; `timeouts.start` begins after it. See "
   "below."},
  {"timeouts.start_wait", CONFIG_SECONDS, FIELD(start_wait_ms), 0, HOUR, NULL, "3",
   "How long a list waits for servers that are starting."},
  {"timeouts.list_wait", CONFIG_SECONDS, FIELD(list_wait_ms), 0, HOUR, NULL, "0.3",
   "How long `tools/list` waits for them in mode `gateway`; at most `timeouts.start_wait`. Some clients ask their "
   "model one second after their start, with the tools they know by then."},
  {"timeouts.request", CONFIG_SECONDS, FIELD(request_timeout_ms), SECOND / 10, 24 * HOUR, NULL, "60",
   "For one request to a server; progress renews it."},
  {"timeouts.request_max", CONFIG_SECONDS, FIELD(request_max_ms), SECOND / 10, 24 * HOUR, NULL, "600",
   "Hard end of a request, whatever its progress."},
  {"timeouts.input", CONFIG_SECONDS, FIELD(input_ms), SECOND / 10, 24 * HOUR, NULL, "300",
   "How long a call waits for the answers of a stateless client that was asked something."},
  {"timeouts.session_idle", CONFIG_SECONDS, FIELD(session_idle_ms), SECOND, 720 * HOUR, NULL, "1800",
   "An HTTP session that nobody uses ends after so long."},
  {"timeouts.session_away", CONFIG_SECONDS, FIELD(session_away_ms), SECOND, 720 * HOUR, NULL, "300",
   "An HTTP session whose client has closed its event stream and sends nothing ends after so long."},
  {"timeouts.server_idle", CONFIG_SECONDS, FIELD(server_idle_ms), 0, 720 * HOUR, NULL, "1800",
   "An agent's connection to a server (for a stdio server: its process) that nobody used for so long is closed; the "
   "next call opens it again. 0: never."},
  {"timeouts.drain", CONFIG_SECONDS, FIELD(drain_ms), 0, HOUR, NULL, "10",
   "How long a stop waits for calls in flight."},
  {"timeouts.http_head", CONFIG_SECONDS, FIELD(http_head_ms), SECOND / 10, HOUR, NULL, "10",
   "For the head of an HTTP request. On a new connection the time runs from the moment it is accepted, so that a "
   "silent connection is closed after it; later from the first byte of the request."},
  {"timeouts.http_body", CONFIG_SECONDS, FIELD(http_body_ms), SECOND / 10, HOUR, NULL, "60",
   "For a whole HTTP request, head and body."},
  {"timeouts.http_idle", CONFIG_SECONDS, FIELD(http_idle_ms), SECOND / 10, HOUR, NULL, "75",
   "Closes a connection that has no request under way, counted from its last answer."},
  {"timeouts.http_write", CONFIG_SECONDS, FIELD(http_write_ms), SECOND / 10, HOUR, NULL, "60",
   "Closes a connection whose client does not read its answer."},
  {"timeouts.keepalive", CONFIG_SECONDS, FIELD(keepalive_ms), SECOND, HOUR, NULL, "15",
   "Between comments on a quiet event stream."},

  {"limits.request", CONFIG_SIZE, FIELD(max_request), KIB, 1024 * MIB, NULL, "4MiB",
   "Largest message from an agent."},
  {"limits.request_values", CONFIG_COUNT, FIELD(max_values), 256, 8388608, NULL, "65536",
   "JSON values (strings, numbers, objects, …) in one message from an agent. Each value takes 48 bytes of memory."},
  {"limits.held_bytes", CONFIG_SIZE, FIELD(max_held), MIB, 1024 * 1024 * MIB, NULL, "512MiB",
   "Memory of all requests from agents, from their first bytes to their answer, with parsed JSON. See below."},
  {"limits.principal_held_bytes", CONFIG_SIZE, FIELD(principal_held), MIB, 1024 * 1024 * MIB, NULL, "128MiB",
   "The same for one principal (one token, one subject of an issuer; all agents without a credential)."},
  {"limits.session_held_bytes", CONFIG_SIZE, FIELD(session_held), MIB, 1024 * 1024 * MIB, NULL, "64MiB",
   "The same for one session; on stdio, for the connection."},
  {"limits.message", CONFIG_SIZE, FIELD(max_message), KIB, 1024 * MIB, NULL, "64MiB",
   "Largest message from a server."},
  {"limits.message_values", CONFIG_COUNT, FIELD(message_values), 65536, 8388608, NULL, "1048576",
   "JSON values in a message from a server that is parsed as a whole: a list, a notification, a question, a result of "
   "less than 1 MiB."},
  {"limits.description", CONFIG_SIZE, FIELD(description_max), 256, MIB, NULL, "64KiB",
   "Longest title or description in a definition, and longest instructions of a server. Longer text is cut and "
   "reported in the log."},
  {"limits.in_flight_bytes", CONFIG_SIZE, FIELD(max_bulk), MIB, 1024 * 1024 * MIB, NULL, "256MiB",
   "Messages from servers of 1 MiB and more that are under way, together; beyond it the next are read later. "
   "Answers that agents have not read count too: over the limit, the connection that has not read for the longest "
   "time is closed."},
  {"limits.head", CONFIG_SIZE, FIELD(max_head), KIB, MIB, NULL, "16KiB",
   "Largest HTTP head (start line and headers)."},
  {"limits.connections", CONFIG_COUNT, FIELD(max_connections), 1, 1000000, NULL, "4096",
   "Open connections from agents. When they are used up, a new connection takes the place of the oldest one without a "
   "request under way, connections that never showed a good credential first. It is lowered if the process may not "
   "open enough files (`ulimit -n`)."},
  {"limits.connections_per_address", CONFIG_COUNT, FIELD(max_per_address), 0, 1000000, NULL, "1024",
   "Open connections from one client address (for IPv6: from one /64 network); 0: no limit of its own. Raise it if all "
   "clients come through one proxy."},
  {"limits.sessions", CONFIG_COUNT, FIELD(max_sessions), 1, 1000000, NULL, "10000",
   "HTTP sessions."},
  {"limits.principal_sessions", CONFIG_COUNT, FIELD(principal_sessions), 0, 1000000, NULL, "0",
   "Those of one principal (one token, one subject of an issuer); 0: as many as are left for others."},
  {"limits.in_flight", CONFIG_COUNT, FIELD(max_in_flight), 1, 1000000, NULL, "1024",
   "Requests of one session under way."},
  {"limits.own_connections", CONFIG_COUNT, FIELD(max_own_lanes), 1, 100000, NULL, "64",
   "Agents and clients that have a connection of their own to one server (for a stdio server: a process)."},
  {"limits.server_in_flight", CONFIG_COUNT, FIELD(max_server_in_flight), 1, 1000000, NULL, "256",
   "Calls under way on one connection to a server. Others wait, and the agents take turns."},
  {"limits.server_queue", CONFIG_COUNT, FIELD(max_server_queue), 0, 1000000, NULL, "1024",
   "Calls that wait for that, on one connection; one more is answered with an error."},
  {"limits.cold_starts", CONFIG_COUNT, FIELD(cold_starts), 0, 1000, NULL, "0",
   "Launchers that install at once; 0: as many as there are processors. Those of one npm cache take turns."},
  {"limits.page_size", CONFIG_COUNT, FIELD(page_size), 0, 100000, NULL, "500",
   "Entries of one page of a list; 0 gives all at once."},
};
// clang-format on

enum { CONFIG_KEY_COUNT = sizeof config_keys / sizeof *config_keys };

// Keys whose values a running gateway takes over; the others count from the next start on.
static const char *const config_live_keys[] = {
    "mcp_config", "servers", "catalog", "rules", "agents", "log.level", "auth", "rate_limits.principal", NULL,
};

// Keys with a meaning in later versions. They restrict or protect something, so none may be ignored.
static const char *const config_later_keys[] = {
    NULL,
};

#undef FIELD

// SPDX-License-Identifier: Apache-2.0
// Reads the entries of mcpServers. An invalid entry leaves out only its own server.
#include "app/config/config_load.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "io/http/http.h"
#include "upstream/kind.h"

enum { MAX_PAIRS = 256, MAX_HEADERS = 32, MAX_TIMEOUT_MS = 24 * 3600 * 1000 };

struct server_entry {
  struct config_loader *l;
  struct config_place at;
  str folder;
  bool ours, broken;
  const struct upstream_kind *named;  // kind named by the key "transport" or "type"; NULL if both keys are absent
  // `place` is the kind implied by a location key ("command", "url", "catalog", …). `clash` is the kind implied by a
  // second location key, which is an error.
  const struct upstream_kind *place, *clash;
  size_t cause;  // if the entry is broken: number of its first problem, counted from 1
  str command;   // the command with variables expanded
  str file;      // path that `place` names, for a kind with parse_file
  struct upstream_spec spec;
};

static struct arena *kept(struct server_entry *e) {
  return &e->l->config->arena;
}

static void entry_error(struct server_entry *e, const struct config_place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void entry_error(struct server_entry *e, const struct config_place *at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!e->broken) e->cause = e->l->problems->count + 1;
  config_report(e->l, at, !e->l->opt->strict, fmt, ap);
  va_end(ap);
  e->broken = true;
}

// ---- values ----

// Reads a string and expands its variables. A NUL character is an error, because the child process would see only the
// text before it.
static bool read_text(struct server_entry *e, const struct config_place *at, const struct json *v, str *out) {
  str text, expanded, why;
  if (!json_string(v, &e->l->work, &text)) {
    entry_error(e, at, "must be a string");
    return false;
  }
  // ${input:...} stands for a secret. If it were left unexpanded, the server would receive this text instead of the
  // secret.
  if (memmem(text.p, text.n, "${input:", 8)) {
    entry_error(e, at, "${input:...} is not supported: use an environment variable, ${NAME}");
    return false;
  }
  if (!config_expand(e->l, text, kept(e), &expanded, &why)) {
    entry_error(e, at, "%.*s", STR_ARG(why));
    return false;
  }
  if (memchr(expanded.p, 0, expanded.n)) {
    entry_error(e, at, "must not contain a NUL character");
    return false;
  }
  if (config_has_odd_reference(text))
    config_warn(e->l, at, "only ${NAME} and ${NAME:-default} are expanded; other forms of ${...} are left unchanged");
  *out = expanded;
  return true;
}

static void read_command(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!read_text(e, at, v, &e->spec.command)) return;
  if (json_string(v, &e->l->work, &e->spec.program)) e->spec.program = arena_str(kept(e), e->spec.program);
  e->command = e->spec.command;
  if (!e->spec.command.n) entry_error(e, at, "must not be empty");
  else if (memchr(e->spec.command.p, '/', e->spec.command.n))
    e->spec.command = config_path(e->l, e->spec.command, e->folder, kept(e));
}

static void read_cwd(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!read_text(e, at, v, &e->spec.cwd)) return;
  if (e->spec.cwd.n) e->spec.cwd = config_path(e->l, e->spec.cwd, e->folder, kept(e));
}

static void read_args(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!json_is(v, JSON_ARRAY) || v->count > CONFIG_MAX_ARGS) {
    entry_error(e, at, "must be a list of at most %d strings", CONFIG_MAX_ARGS);
    return;
  }
  e->spec.args = ARENA_ARRAY(kept(e), str, v->count);
  size_t index = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(e->l, at, index++);
    if (read_text(e, &below, it, &e->spec.args[e->spec.arg_count])) e->spec.arg_count++;
  }
}

// Checks a member of an object of strings. Returns whether the member is valid, and reports an error if it is not.
typedef bool pair_check(struct server_entry *e, const struct config_place *at, const struct upstream_pair *pair);

static size_t read_pairs(struct server_entry *e, const struct config_place *at, const struct json *v, size_t max,
                         pair_check *check, struct upstream_pair **out) {
  if (!json_is(v, JSON_OBJECT) || v->count > max) {
    entry_error(e, at, "must be an object with at most %zu strings", max);
    return 0;
  }
  struct upstream_pair *pairs = ARENA_ARRAY(kept(e), struct upstream_pair, v->count);
  size_t n = 0;
  JSON_EACH(it, v) {
    struct upstream_pair pair = {.name = arena_str(kept(e), json_key(it, &e->l->work))};
    struct config_place below = config_below(e->l, at, pair.name);
    if (read_text(e, &below, it, &pair.value) && check(e, &below, &pair)) pairs[n++] = pair;
  }
  *out = pairs;
  return n;
}

static bool check_variable(struct server_entry *e, const struct config_place *at, const struct upstream_pair *pair) {
  bool ok = pair->name.n && !memchr(pair->name.p, '=', pair->name.n) && !config_has_control(pair->name);
  if (!ok) entry_error(e, at, "is not a valid variable name: it must not be empty or contain = or control characters");
  return ok;
}

static bool check_header(struct server_entry *e, const struct config_place *at, const struct upstream_pair *pair) {
  static const char *const reserved[] = {
      "Host",   "Content-Length", "Transfer-Encoding", "Connection",      "Keep-Alive",     "TE",
      "Expect", "Trailer",        "Upgrade",           "Accept-Encoding", "Mcp-Session-Id", "MCP-Protocol-Version",
      "Accept", "Content-Type",   "Mcp-Method",        "Mcp-Name",        "Toolgate-Chain", "Toolgate-Decision",
  };
  bool ok = ascii_is_token(pair->name) && !config_has_control(pair->value);
  if (!ascii_is_token(pair->name)) entry_error(e, at, "is not a valid header name: use letters, digits and -");
  else if (!ok) entry_error(e, at, "must not contain line breaks or other control characters");
  static const str param_header = STR("Mcp-Param-");
  if (ok && pair->name.n >= param_header.n && str_eq_nocase((str){pair->name.p, param_header.n}, param_header)) {
    entry_error(e, at, "cannot be configured: Toolgate itself sets all headers that begin with Mcp-Param-");
    ok = false;
  }
  for (size_t i = 0; ok && i < sizeof reserved / sizeof *reserved; i++)
    if (str_eq_nocase(pair->name, str_of(reserved[i]))) {
      entry_error(e, at, "cannot be configured: Toolgate itself sets the header %s", reserved[i]);
      ok = false;
    }
  return ok;
}

static void read_env(struct server_entry *e, const struct config_place *at, const struct json *v) {
  e->spec.env_count = read_pairs(e, at, v, MAX_PAIRS, check_variable, &e->spec.env);
}

static void read_headers(struct server_entry *e, const struct config_place *at, const struct json *v) {
  e->spec.header_count = read_pairs(e, at, v, MAX_HEADERS, check_header, &e->spec.headers);
  for (size_t i = 0; i < e->spec.header_count; i++)
    for (size_t k = 0; k < i; k++)
      if (str_eq_nocase(e->spec.headers[i].name, e->spec.headers[k].name))
        entry_error(e, at, "the header %.*s is set twice", STR_ARG(e->spec.headers[i].name));
}

static void read_url(struct server_entry *e, const struct config_place *at, const struct json *v) {
  struct http_url url;
  if (!read_text(e, at, v, &e->spec.url)) return;
  const struct proxy *proxy;
  struct fault f;
  if (!http_url_parse(e->spec.url, &url))
    entry_error(e, at, "must be an absolute http:// or https:// URL without user and password");
  else if (!proxies_choose(&e->l->proxies, &url, &proxy, &f)) entry_error(e, at, "%s", f.message);
}

static void read_file(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!read_text(e, at, v, &e->file)) return;
  if (!e->file.n) entry_error(e, at, "must not be empty");
  e->file = config_path(e->l, e->file, e->folder, kept(e));
}

static void read_transport(struct server_entry *e, const struct config_place *at, const struct json *v) {
  const struct upstream_kind *kind = kind_of_word(v);
  if (!kind) entry_error(e, at, "must be one of %s", kind_words(&e->l->work));
  else if (e->named && e->named != kind)
    entry_error(e, at, "\"transport\" and \"type\" name different transports: remove one of the two keys");
  if (kind) e->named = kind;
}

static bool read_ms(struct server_entry *e, const struct config_place *at, const struct json *v, uint64_t *out) {
  int64_t ms;
  if (!json_int(v, &ms) || ms < 1 || ms > MAX_TIMEOUT_MS) {
    entry_error(e, at, "must be a whole number of milliseconds, 1 to %d", MAX_TIMEOUT_MS);
    return false;
  }
  if (ms < 1000) config_warn(e->l, at, "is less than a second: the unit is milliseconds");
  *out = (uint64_t)ms;
  return true;
}

static void read_timeout(struct server_entry *e, const struct config_place *at, const struct json *v) {
  uint64_t max = e->l->config->request_max_ms;
  if (read_ms(e, at, v, &e->spec.timeout_ms) && e->spec.timeout_ms > max)
    config_warn(e->l, at, "is longer than timeouts.request_max (%llu s), which ends every request",
                (unsigned long long)max / 1000);
}

static void read_start_timeout(struct server_entry *e, const struct config_place *at, const struct json *v) {
  read_ms(e, at, v, &e->spec.start_timeout_ms);
}

static void read_tool_timeouts(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!json_is(v, JSON_OBJECT) || v->count > MAX_PAIRS) {
    entry_error(e, at, "must be an object of at most %d members, such as {\"TOOL\": 60000} (milliseconds)", MAX_PAIRS);
    return;
  }
  uint64_t max = e->l->config->request_max_ms;
  e->spec.tool_timeouts = ARENA_ARRAY(kept(e), struct upstream_tool_timeout, v->count);
  JSON_EACH(it, v) {
    struct upstream_tool_timeout t = {.tool = arena_str(kept(e), json_key(it, &e->l->work))};
    struct config_place below = config_below(e->l, at, t.tool);
    if (!read_ms(e, &below, it, &t.ms)) continue;
    if (t.ms > max)
      config_warn(e->l, &below, "is longer than timeouts.request_max (%llu s), which ends every request",
                  (unsigned long long)max / 1000);
    e->spec.tool_timeouts[e->spec.tool_timeout_count++] = t;
  }
}

static bool read_tokens(struct server_entry *e, const struct config_place *at, const struct json *v, size_t *out) {
  int64_t tokens;
  bool ok = json_int(v, &tokens) && tokens >= CONFIG_MIN_BUDGET && tokens <= CONFIG_MAX_BUDGET;
  if (ok) *out = (size_t)tokens;
  else entry_error(e, at, "must be a whole number of tokens, %d to %d", CONFIG_MIN_BUDGET, CONFIG_MAX_BUDGET);
  return ok;
}

static void read_result_budget(struct server_entry *e, const struct config_place *at, const struct json *v) {
  read_tokens(e, at, v, &e->spec.result_tokens);
}

static void read_tool_budgets(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!json_is(v, JSON_OBJECT) || v->count > MAX_PAIRS) {
    entry_error(e, at, "must be an object of at most %d members, such as {\"TOOL\": 2000} (tokens)", MAX_PAIRS);
    return;
  }
  e->spec.tool_budgets = ARENA_ARRAY(kept(e), struct upstream_tool_budget, v->count);
  JSON_EACH(it, v) {
    struct upstream_tool_budget b = {.tool = arena_str(kept(e), json_key(it, &e->l->work))};
    struct config_place below = config_below(e->l, at, b.tool);
    if (read_tokens(e, &below, it, &b.tokens)) e->spec.tool_budgets[e->spec.tool_budget_count++] = b;
  }
}

// Reads a list of tool names or patterns. If the list is invalid, the whole entry is invalid: ignoring the list could
// serve tools that it was meant to hide.
static size_t read_tools(struct server_entry *e, const struct config_place *at, const struct json *v, str **out) {
  if (!json_is(v, JSON_ARRAY) || v->count > MAX_PAIRS) {
    entry_error(e, at, "must be a list of at most %d tool names, in which * matches any characters", MAX_PAIRS);
    return 0;
  }
  *out = ARENA_ARRAY(kept(e), str, v->count + 1);
  size_t n = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(e->l, at, n);
    str name;
    if (json_string(it, &e->l->work, &name)) (*out)[n++] = arena_str(kept(e), name);
    else entry_error(e, &below, "must be a string: the name of a tool, or a pattern");
  }
  return n;
}

static void read_on_tools(struct server_entry *e, const struct config_place *at, const struct json *v) {
  e->spec.on_tool_count = read_tools(e, at, v, &e->spec.on_tools);
}

static void read_off_tools(struct server_entry *e, const struct config_place *at, const struct json *v) {
  e->spec.off_tool_count = read_tools(e, at, v, &e->spec.off_tools);
}

static void read_idle_timeout(struct server_entry *e, const struct config_place *at, const struct json *v) {
  int64_t ms = -1;
  e->spec.has_idle = json_int(v, &ms) && ms >= 0 && ms <= MAX_TIMEOUT_MS;
  e->spec.idle_ms = e->spec.has_idle ? (uint64_t)ms : 0;
  if (!e->spec.has_idle) entry_error(e, at, "must be a whole number of milliseconds, 0 to %d", MAX_TIMEOUT_MS);
}

static void read_max_in_flight(struct server_entry *e, const struct config_place *at, const struct json *v) {
  int64_t n = 0;
  if (json_int(v, &n) && n >= 1 && n <= 1000000) e->spec.max_in_flight = (uint64_t)n;
  else entry_error(e, at, "must be a whole number from 1 to 1000000");
}

static void read_isolation(struct server_entry *e, const struct config_place *at, const struct json *v) {
  static const struct {
    const char *name;
    enum upstream_isolation value;
  } words[] = {{"agent", UPSTREAM_ISOLATE_AGENT},
               {"session", UPSTREAM_ISOLATE_SESSION},
               {"shared", UPSTREAM_ISOLATE_SHARED},
               {"auto", UPSTREAM_ISOLATE_AGENT}};  // former name of "agent"
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (json_equals_str(v, str_of(words[i].name))) {
      e->spec.isolation = words[i].value;
      return;
    }
  entry_error(e, at, "must be one of agent, session, shared");
}

static void read_confine(struct server_entry *e, const struct config_place *at, const struct json *v) {
  bool confine = true;
  if (!json_bool(v, &confine)) entry_error(e, at, "must be true or false");
  e->spec.unconfined = !confine;
}

static void read_protocol(struct server_entry *e, const struct config_place *at, const struct json *v) {
  static const char *const names[] = {"auto", "legacy", "modern"};
  for (int i = UPSTREAM_PROTOCOL_AUTO; i <= UPSTREAM_PROTOCOL_STATELESS; i++)
    if (json_equals_str(v, str_of(names[i]))) {
      e->spec.protocol = (enum upstream_protocol)i;
      return;
    }
  entry_error(e, at, "must be one of auto, legacy, modern");
}

// Reads the description, which helps agents to choose a server. Ignores a value that is not a string, because it was
// written for another program.
static void read_description(struct server_entry *e, const struct config_place *at, const struct json *v) {
  str text;
  if (json_string(v, &e->l->work, &text)) e->spec.description = arena_str(kept(e), text);
}

// ---- entries ----

static void ignore(struct server_entry *e, const struct config_place *at, const struct json *v) {
}

static void not_applied(struct server_entry *e, const struct config_place *at, const struct json *v) {
  config_warn(e->l, at, "is ignored: Toolgate does not ask before calls; use rules instead (docs/operate/policy.md)");
}

// config_governance_read reads the adapters of toolgate.yaml. Other files are shared with clients, whose changes must
// not raise the risk that the gateway allows.
static void read_adapter(struct server_entry *e, const struct config_place *at, const struct json *v) {
  if (!e->ours)
    entry_error(e, at,
                "cannot be in this file, which other clients share and can change: move the adapter to the governance "
                "file, or to the entry of this server in \"servers\" of toolgate.yaml");
}

struct server_key {
  const char *name;
  void (*read)(struct server_entry *e, const struct config_place *at, const struct json *v);
};

static const struct server_key server_keys[] = {
    {"command", read_command},
    {"args", read_args},
    {"env", read_env},
    {"cwd", read_cwd},
    {"url", read_url},
    {"headers", read_headers},
    {"transport", read_transport},
    {"type", read_transport},
    {"timeout", read_timeout},
    {"toolTimeouts", read_tool_timeouts},
    {"startTimeout", read_start_timeout},
    {"resultBudget", read_result_budget},
    {"toolResultBudgets", read_tool_budgets},
    {"idleTimeout", read_idle_timeout},
    {"maxInFlight", read_max_in_flight},
    {"isolation", read_isolation},
    {"confine", read_confine},
    {"protocol", read_protocol},
    {"adapter", read_adapter},
    // Read by is_off.
    {"disabled", ignore},
    {"enabled", ignore},
    {"description", read_description},
    // Keys that other programs use in such entries.
    {"autoApprove", not_applied},
    {"alwaysAllow", not_applied},
    {"disabledTools", read_off_tools},
    {"enabledTools", read_on_tools},
    {"includeTools", read_on_tools},
    {"excludeTools", read_off_tools},
    {"trust", not_applied},
};

static const struct server_key *find_server_key(str name, struct nearest *near) {
  for (size_t i = 0; i < sizeof server_keys / sizeof *server_keys; i++) {
    if (str_eq(name, str_of(server_keys[i].name))) return &server_keys[i];
    nearest_try(near, str_of(server_keys[i].name));
  }
  for (size_t i = 0; i < UPSTREAM_KIND_COUNT; i++) nearest_try(near, str_of(upstream_kinds[i]->place));
  return NULL;
}

// Sets `place` to the kind of server that a location key, such as "command", implies. If the entry has two such keys,
// `place` is the kind that comes later in the table of kinds, and `clash` is the other kind.
static void note_place(struct server_entry *e, const struct upstream_kind *k) {
  if (!k) return;
  ASSERT(!e->clash || e->place);
  bool later = !e->place || kind_number(k) > kind_number(e->place);
  e->clash = later ? e->place : k;
  if (later) e->place = k;
}

static void read_members(struct server_entry *e, const struct json *v) {
  JSON_EACH(it, v) {
    str name = json_key(it, &e->l->work);
    struct config_place at = config_below(e->l, &e->at, name);
    struct nearest near = {.word = config_is_full(e->l) ? STR_NONE : name};
    const struct server_key *k = find_server_key(name, &near);
    const struct upstream_kind *place = kind_of_place(name);
    note_place(e, place);
    if (k) k->read(e, &at, it);
    else if (place && place->parse_file) read_file(e, &at, it);
    else if (place) continue;  // read_own reads the location keys later, when the kind is known
    else if (e->ours) entry_error(e, &at, "is not a known key%s", config_nearest_hint(e->l, &near));
    else config_warn(e->l, &at, "is not a known key and is ignored%s", config_nearest_hint(e->l, &near));
  }
}

// Returns whether the server is disabled. The rest of a disabled entry is not read.
static bool is_off(struct server_entry *e, const struct json *v) {
  bool off = false;
  for (int i = 0; i < 2; i++) {
    str key = i ? STR("enabled") : STR("disabled");
    const struct json *flag = json_get(v, key);
    bool value = false;
    if (!flag) continue;
    struct config_place at = config_below(e->l, &e->at, key);
    if (!json_bool(flag, &value)) entry_error(e, &at, "must be true or false");
    else if (value == (i == 0)) off = true;
  }
  return off;
}

// Stores the name of a disabled server, which is only shown to people. The name was not checked, so control characters
// are masked.
static void add_disabled(struct server_entry *e) {
  struct config *c = e->l->config;
  ASSERT(c->disabled_count < CONFIG_MAX_SERVERS);
  char *name = arena_cstr(kept(e), e->spec.name);
  str_mask_controls(name, e->spec.name.n);
  c->disabled[c->disabled_count++] = (str){name, e->spec.name.n};
}

static void check_name(struct server_entry *e) {
  const struct config *c = e->l->config;
  str name = e->spec.name;
  const char *wrong = config_name_wrong(name);
  if (wrong) entry_error(e, &e->at, "%s", wrong);
  for (size_t i = 0; i < c->upstream_count; i++) {
    str other = c->upstreams[i].name;
    // All names in one file are different, so the other server with this name is in the configuration file.
    if (str_eq(other, name))
      entry_error(e, &e->at, "%.*s already defines a server with this name in \"servers\"", STR_ARG(c->config_file));
    else if (config_same_name(other, name))
      config_warn(e->l, &e->at, "has the same prefix for names of tools as the server \"%.*s\": rename one of them",
                  STR_ARG(other));
  }
}

static bool is_credential(str header) {
  static const char *const words[] = {"auth", "token", "key", "secret", "cookie"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    str word = str_of(words[i]);
    for (size_t k = 0; k + word.n <= header.n; k++)
      if (str_eq_nocase((str){header.p + k, word.n}, word)) return true;
  }
  return false;
}

static void check_cleartext(struct server_entry *e) {
  struct http_url url;
  if (!http_url_parse(e->spec.url, &url) || url.tls || config_is_loopback(url.host)) return;
  struct config_place at = config_below(e->l, &e->at, STR("url"));
  for (size_t i = 0; i < e->spec.header_count; i++)
    if (is_credential(e->spec.headers[i].name)) {
      config_warn(e->l, &at, "the header %.*s is sent unencrypted: use https", STR_ARG(e->spec.headers[i].name));
      return;
    }
}

static bool is_empty(const struct json *v) {
  bool container = json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY);
  return container ? v->count == 0 : json_equals_str(v, STR(""));
}

// Warns about keys that have no effect on this kind of server. Does not warn about empty values, because some clients
// write them.
static void check_effect(struct server_entry *e, const struct json *v) {
  ASSERT(!e->broken && e->place);
  for (size_t i = 0; i < sizeof server_keys / sizeof *server_keys; i++) {
    str key = str_of(server_keys[i].name);
    const struct json *member = json_get(v, key);
    if (!member || kind_uses(e->place, key) || is_empty(member)) continue;
    struct config_place at = config_below(e->l, &e->at, key);
    config_warn(e->l, &at, "has no effect on a server with \"%s\"", e->place->place);
  }
}

// Checks that the entry has exactly one location key, such as "command", and that this key fits the transport.
static void check_place(struct server_entry *e) {
  e->spec.kind = e->named ? e->named : e->place;
  if (!e->place) entry_error(e, &e->at, "needs \"command\" (a program to start) or \"url\" (a server to reach)");
  else if (e->clash && e->place->local)
    entry_error(e, &e->at, "has \"%s\" and another key that locates the server: remove one", e->place->place);
  else if (e->clash) entry_error(e, &e->at, "has both \"%s\" and \"%s\": remove one", e->clash->place, e->place->place);
  else if (strcmp(e->spec.kind->place, e->place->place) != 0)
    entry_error(e, &e->at, "needs the key \"%s\", because its transport requires it", e->spec.kind->place);
}

static void check_whole(struct server_entry *e) {
  check_place(e);
  const struct upstream_kind *k = e->spec.kind;
  if (k && k->handshake && e->spec.protocol == UPSTREAM_PROTOCOL_STATELESS)
    entry_error(e, &e->at, "has the transport %s, which does not support \"protocol\": \"modern\"", k->name);
  if (!e->broken && k && k->remote) check_cleartext(e);
}

static void open_file(struct server_entry *e) {
  const struct upstream_kind *k = e->spec.kind;
  str by = arena_printf(&e->l->work, "%.*s:%.*s/%s", STR_ARG(e->at.file), STR_ARG(e->at.pointer), k->place);
  e->cause = e->l->problems->count + 1;
  e->spec.own = config_catalog_open(e->l, k, e->file, by, !e->l->opt->strict);
  e->broken = !e->spec.own;
}

static void read_own(struct server_entry *e, const struct json *v) {
  const struct upstream_kind *k = e->spec.kind;
  ASSERT(k && !e->spec.own);
  struct config_place at = config_below(e->l, &e->at, str_of(k->place));
  struct fault f;
  if (k->local) e->spec.isolation = UPSTREAM_ISOLATE_SHARED, e->spec.protocol = UPSTREAM_PROTOCOL_HANDSHAKE;
  if (k->parse_file) open_file(e);
  else if (k->parse && !k->parse(&e->spec, json_get(v, str_of(k->place)), kept(e), &f))
    entry_error(e, &at, "%s", f.message);
  ASSERT(!e->spec.own || (k->own_free && k->own_same));
  if (e->spec.own) e->spec.own->refs = 1;
}

static void read_entry(struct server_entry *e, const struct json *v) {
  struct config *c = e->l->config;
  if (!json_is(v, JSON_OBJECT)) {
    entry_error(e, &e->at, "must be an object");
    return;
  }
  if (is_off(e, v)) {
    if (!e->broken) add_disabled(e);
    return;
  }
  check_name(e);
  if (e->broken) return;
  read_members(e, v);
  check_whole(e);
  if (e->broken) return;
  check_effect(e, v);
  const char *self = config_is_self(e->l, &e->spec, e->at.file, e->folder);
  if (self) {
    config_warn(e->l, &e->at, "is this gateway itself (%s): it is skipped, all other servers are served", self);
    return;
  }
  read_own(e, v);
  if (e->broken) return;
  if (e->spec.kind->process && e->l->opt->strict) config_program_check(e->l, &e->at, &e->spec, e->command, e->folder);
  if (!e->spec.shown.n) e->spec.shown = config_shown(e->l, v, kept(e));
  config_secrets(e->l, v, kept(e), &e->spec);
  ASSERT(c->upstream_count < CONFIG_MAX_SERVERS && e->spec.kind);
  c->upstreams[c->upstream_count++] = e->spec;
}

bool config_servers_room(struct config_loader *l, const struct config_place *at, size_t count) {
  struct config *c = l->config;
  if (count + c->upstream_count + c->disabled_count > CONFIG_MAX_SERVERS) {
    config_error(l, at, "there are more than %d servers, which is the limit", CONFIG_MAX_SERVERS);
    return false;
  }
  if (!c->upstreams) c->upstreams = ARENA_ARRAY(&c->arena, struct upstream_spec, CONFIG_MAX_SERVERS);
  if (!c->disabled) c->disabled = ARENA_ARRAY(&c->arena, str, CONFIG_MAX_SERVERS);
  return true;
}

void config_servers_read(struct config_loader *l, const struct config_place *at, const struct json *servers, str folder,
                         bool ours) {
  struct config *c = l->config;
  if (!json_is(servers, JSON_OBJECT)) {
    config_error(l, at, "must be an object with one member for each server");
    return;
  }
  if (!config_servers_room(l, at, servers->count)) return;
  JSON_EACH(it, servers) {
    struct server_entry e = {.l = l, .folder = folder, .ours = ours};
    e.spec.name = arena_str(&c->arena, json_key(it, &l->work));
    e.at = config_below(l, at, e.spec.name);
    read_entry(&e, it);
    ASSERT(!e.broken || e.cause > 0);
    if (!e.broken) continue;
    l->dropped++;
    if (!l->opt->strict) config_left_out(l, &e.at, e.cause);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Reads the keys of toolgate.yaml as the table in config_table.h describes them.
#include <stdio.h>

#include "app/config/config_auth.h"
#include "app/config/config_controls.h"
#include "app/config/config_load.h"
#include "app/config/config_table.h"
#include "auth/strength.h"
#include "base/assert.h"

enum { MAX_LIST = 256 };

// ---- values ----

static void store(struct config *c, const struct config_key *k, uint64_t v) {
  char *at = (char *)c + k->offset;
  ASSERT(k->size && k->offset + k->size <= sizeof *c);
  uint8_t v8 = (uint8_t)v;
  uint16_t v16 = (uint16_t)v;
  uint32_t v32 = (uint32_t)v;
  switch (k->size) {
  case 1: memcpy(at, &v8, 1); break;
  case 2: memcpy(at, &v16, 2); break;
  case 4: memcpy(at, &v32, 4); break;
  case 8: memcpy(at, &v, 8); break;
  default: ASSERT(!"a number of another size");
  }
}

// Converts a decimal number to thousandths, such as "2.5" to 2500. Ignores decimals after the third.
static bool parse_thousandths(str text, uint64_t *out) {
  str whole, fraction;
  str_cut(text, '.', &whole, &fraction);
  uint64_t ms;
  if (!str_to_u64(whole, &ms) || ms > UINT32_MAX) return false;
  ms *= 1000;
  for (size_t i = 0, unit = 100; i < fraction.n; i++, unit /= 10) {
    if (fraction.p[i] < '0' || fraction.p[i] > '9') return false;
    ms += (uint64_t)(fraction.p[i] - '0') * unit;
  }
  *out = ms;
  return true;
}

static bool parse_size(str text, uint64_t *out) {
  static const struct {
    str name;
    unsigned shift;
  } units[] = {{STR("KiB"), 10}, {STR("MiB"), 20}, {STR("GiB"), 30}, {STR("B"), 0}};
  unsigned shift = 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (str_ends(text, units[i].name)) {
      text.n -= units[i].name.n;
      shift = units[i].shift;
      break;
    }
  uint64_t v;
  if (!str_to_u64(str_trim(text), &v) || v > UINT64_MAX >> shift) return false;
  *out = v << shift;
  return true;
}

static bool is_number(const struct config_key *k) {
  return k->type == CONFIG_COUNT || k->type == CONFIG_SECONDS || k->type == CONFIG_SIZE || k->type == CONFIG_PART;
}

static bool parse_number(const struct config_key *k, str text, uint64_t *out) {
  uint64_t v;
  ASSERT(is_number(k) && k->low <= k->high);
  bool thousandths = k->type == CONFIG_SECONDS || k->type == CONFIG_PART;
  bool ok = thousandths              ? parse_thousandths(text, &v)
            : k->type == CONFIG_SIZE ? parse_size(text, &v)
                                     : str_to_u64(text, &v);
  if (!ok || v < k->low || v > k->high) return false;
  *out = v;
  return true;
}

static const struct config_word *find_word(const struct config_key *k, str text) {
  ASSERT(k->words);
  for (const struct config_word *w = k->words; w->text; w++)
    if (str_eq(text, str_of(w->text))) return w;
  return NULL;
}

static void print_size(struct buf *out, uint64_t v, const char *blank) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; unit < 3 && v && v % 1024 == 0; unit++) v /= 1024;
  ASSERT(unit < sizeof units / sizeof *units);
  buf_printf(out, "%llu%s%s", (unsigned long long)v, blank, units[unit]);
}

static void print_words(struct buf *out, const struct config_word *w, const char *quote) {
  for (bool first = true; w->text; w++) {
    buf_printf(out, "%s%s%s%s", first ? "" : ", ", quote, w->text, quote);
    first = false;
  }
}

static size_t count_words(const struct config_word *w) {
  size_t n = 0;
  while (w[n].text) n++;
  return n;
}

static void print_range(struct buf *out, const struct config_key *k) {
  if (k->type == CONFIG_SIZE) {
    print_size(out, k->low, " ");
    buf_str(out, STR(" to "));
    print_size(out, k->high, " ");
  } else if (k->type == CONFIG_SECONDS || k->type == CONFIG_PART) {
    buf_printf(out, "%.15g to %.15g", (double)k->low / 1000, (double)k->high / 1000);
  } else {
    buf_printf(out, "%llu to %llu", (unsigned long long)k->low, (unsigned long long)k->high);
  }
}

// Appends the values that the key accepts, for error messages.
static void print_type(struct buf *out, const struct config_key *k) {
  switch (k->type) {
  case CONFIG_WORD:
    if (count_words(k->words) > 1) buf_str(out, STR("one of "));
    print_words(out, k->words, "");
    break;
  case CONFIG_TEXT: buf_str(out, STR("a string that is not empty")); break;
  case CONFIG_COUNT: buf_str(out, STR("a whole number, ")); break;
  case CONFIG_SECONDS: buf_str(out, STR("seconds, ")); break;
  case CONFIG_SIZE: buf_str(out, STR("bytes or a string such as 4MiB, ")); break;
  case CONFIG_HOST: buf_str(out, STR("an IP address or `localhost`")); break;
  case CONFIG_HOSTS: buf_printf(out, "a list of at most %d addresses and names", MAX_LIST); break;
  case CONFIG_TOKENS: buf_printf(out, "a list of at most %d tokens", MAX_LIST); break;
  case CONFIG_SERVERS: buf_str(out, STR("an object")); break;
  case CONFIG_PART: buf_str(out, STR("a number, ")); break;
  case CONFIG_CODES: buf_printf(out, "a list of at most %d codes of faults", MAX_LIST); break;
  case CONFIG_IDS: buf_printf(out, "a list of at most %d tools", MAX_LIST); break;
  case CONFIG_LIMIT: buf_str(out, STR("an object: max_calls_per_minute, max_calls_per_session")); break;
  case CONFIG_LIMITS: buf_printf(out, "an object of at most %d rate limits", CONFIG_MOST_LIMITS); break;
  case CONFIG_ALGORITHMS: buf_str(out, STR("a list of HS256, RS256, ES256, EdDSA")); break;
  case CONFIG_SCOPES: buf_printf(out, "a list of at most %d scopes", MAX_LIST); break;
  case CONFIG_SECRET: buf_str(out, STR("a string")); break;
  case CONFIG_MODES:
    buf_str(out, STR("a list of "));
    print_words(out, k->words, "");
    break;
  }
  if (is_number(k)) print_range(out, k);
}

static void wrong_type(struct config_loader *l, const struct config_place *at, const struct config_key *k) {
  struct buf b;
  buf_init(&b, 1024);
  print_type(&b, k);
  ASSERT(b.n && !b.over);
  config_error(l, at, "must be %.*s", STR_ARG(buf_view(&b)));
  buf_done(&b);
}

static void unknown_word(struct config_loader *l, const struct config_place *at, const struct config_key *k, str text) {
  struct nearest near = {.word = text};
  struct buf b;
  buf_init(&b, 1024);
  print_words(&b, k->words, "");
  ASSERT(b.n && !b.over);
  for (const struct config_word *it = k->words; it->text; it++) nearest_try(&near, str_of(it->text));
  if (count_words(k->words) == 1) config_error(l, at, "must be %.*s", STR_ARG(buf_view(&b)));
  else config_error(l, at, "must be one of %.*s%s", STR_ARG(buf_view(&b)), config_nearest_hint(l, &near));
  buf_done(&b);
}

static void set_word(struct config_loader *l, const struct config_place *at, const struct config_key *k, str text) {
  const struct config_word *w = find_word(k, text);
  if (w) store(l->config, k, (uint64_t)w->value);
  else unknown_word(l, at, k, text);
}

static void set_text(struct config_loader *l, const struct config_key *k, str text) {
  str kept = arena_str(&l->config->arena, text);
  ASSERT(k->size == sizeof kept);
  memcpy((char *)l->config + k->offset, &kept, sizeof kept);
}

// Sets the value of a key from a text: the default, or a text from a file, the environment or the command line.
static void set_value(struct config_loader *l, const struct config_place *at, const struct config_key *k, str text) {
  uint64_t v = 0;
  bool usable = k->type == CONFIG_HOST ? config_is_host(text) : text.n && !memchr(text.p, 0, text.n);
  if (k->type == CONFIG_WORD) set_word(l, at, k, text);
  else if (k->type == CONFIG_CODES) config_codes_set(l, at, text);
  else if (!usable || (is_number(k) && !parse_number(k, text, &v))) wrong_type(l, at, k);
  else if (is_number(k)) store(l->config, k, v);
  else set_text(l, k, text);
}

// ---- lists ----

bool config_is_digest(str s, unsigned char out[SHA256_SIZE]) {
  static const char hex[] = "0123456789abcdef0123456789ABCDEF";
  if (s.n != 2 * SHA256_SIZE) return false;
  memset(out, 0, SHA256_SIZE);
  for (size_t i = 0; i < s.n; i++) {
    const char *digit = s.p[i] ? strchr(hex, s.p[i]) : NULL;
    if (!digit) return false;
    out[i / 2] = (unsigned char)(out[i / 2] << 4 | ((digit - hex) & 15));
  }
  return true;
}

// Returns whether the token can be sent in an Authorization header.
static bool is_sendable(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] <= 0x20 || s.p[i] >= 0x7f) return false;
  return true;
}

static bool read_plain_token(struct config_loader *l, const struct config_place *at, str text,
                             struct config_token *out) {
  str token, why;
  if (config_has_odd_reference(text)) {
    config_error(l, at, "contains an unknown form of ${...}: use ${NAME} or ${NAME:-default}");
    return false;
  }
  if (!config_expand(l, text, &l->work, &token, &why)) {
    config_error(l, at, "%.*s", STR_ARG(why));
    return false;
  }
  bool weak = token.n < CONFIG_MIN_TOKEN || strength_is_weak(token), ok = !weak && is_sendable(token);
  if (weak)
    config_error(l, at,
                 "is a weak secret: a token needs at least %d characters that cannot be guessed; create one with "
                 "`toolgate token new`",
                 CONFIG_MIN_TOKEN);
  else if (!ok) config_error(l, at, "must be printable ASCII without blanks");
  else hash_sha256(token, out->sha256);
  explicit_bzero((char *)token.p, token.n);
  return ok;
}

static bool read_digest(struct config_loader *l, const struct config_place *at, str text, struct config_token *out) {
  str expanded, why;
  if (!config_expand(l, text, &l->work, &expanded, &why)) config_error(l, at, "%.*s", STR_ARG(why));
  else if (config_is_digest(expanded, out->sha256)) return true;
  else config_error(l, at, "must be the SHA-256 of the token, as 64 hexadecimal digits");
  return false;
}

static bool read_token_agent(struct config_loader *l, const struct config_place *at, str agent,
                             struct config_token *out) {
  out->agent = arena_str(&l->config->arena, agent);
  if (policy_is_agent_id(agent)) return true;
  config_error(l, at, "is not a valid agent name; use letters, digits, _ and -, with dots between parts");
  return false;
}

bool config_token_read(struct config_loader *l, const struct config_place *at, const struct json *v,
                       struct config_token *out) {
  struct config_place digest = config_below(l, at, STR("sha256")), owner = config_below(l, at, STR("agent"));
  const struct json *agent = json_get(v, STR("agent")), *name = json_get(v, STR("name"));
  str hex, owned, called = STR("");
  size_t others = (agent != NULL) + (name != NULL) + (json_get(v, STR("created")) != NULL);
  bool known = json_is(v, JSON_OBJECT) && v->count == 1 + others;
  if (!known || !json_string(json_get(v, STR("sha256")), &l->work, &hex) ||
      (agent && !json_string(agent, &l->work, &owned)) || (name && !json_string(name, &l->work, &called))) {
    config_error(l, at, "must be a string, or an object with \"sha256\" and optionally \"agent\" and \"name\"");
    return false;
  }
  out->name = arena_str(&l->config->arena, called);
  bool ok = read_digest(l, &digest, hex, out);
  return (!agent || read_token_agent(l, &owner, owned, out)) && ok;
}

static bool read_token(struct config_loader *l, const struct config_place *at, const struct json *v,
                       bool world_readable, struct config_token *out) {
  str text;
  if (!json_string(v, &l->work, &text)) return config_token_read(l, at, v, out);
  bool literal = !memmem(text.p, text.n, "${", 2);
  bool ok = read_plain_token(l, at, text, out);
  if (world_readable && literal)
    config_warn(l, at, "is a plain token in a file that every user of this machine can read: chmod o-r, or use ${VAR}");
  explicit_bzero((char *)text.p, text.n);
  return ok;
}

static void read_tokens(struct config_loader *l, const struct config_place *at, const struct json *v,
                        bool world_readable) {
  struct config *c = l->config;
  ASSERT(!c->tokens && !c->token_count);
  c->tokens = ARENA_ARRAY(&c->arena, struct config_token, v->count);
  size_t index = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(l, at, index++);
    if (read_token(l, &below, it, world_readable, &c->tokens[c->token_count])) c->token_count++;
  }
}

static bool is_authority(str text) {
  str host, port;
  uint64_t number;
  if (config_is_host(text)) return true;
  return text.n && text.p[0] != ':' && config_split_listen(text, &host, &port) && config_is_host(host) &&
         str_to_u64(port, &number) && number && number <= UINT16_MAX;
}

static void read_hosts(struct config_loader *l, const struct config_place *at, const struct config_key *k,
                       const struct json *v) {
  struct arena *a = &l->config->arena;
  struct config_hosts *hosts = (void *)((char *)l->config + k->offset);
  ASSERT(k->size == sizeof *hosts && !hosts->count);
  hosts->names = ARENA_ARRAY(a, str, v->count);
  size_t index = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(l, at, index++);
    str host;
    if (json_string(it, &l->work, &host) && is_authority(host))
      hosts->names[hosts->count++] = config_in_url(arena_str(a, host), a);
    else config_error(l, &below, "must be a host name or an address, with or without a port, and without a scheme");
  }
}

static void read_modes(struct config_loader *l, const struct config_place *at, const struct config_key *k,
                       const struct json *v) {
  size_t index = 0;
  l->config->modes = 0;
  JSON_EACH(it, v) {
    struct config_place below = config_below_index(l, at, index++);
    str name = STR_NONE;
    const struct config_word *w = json_string(it, &l->work, &name) ? find_word(k, name) : NULL;
    ASSERT(!w || (w->value >= 0 && w->value < MODE_COUNT));
    if (w) l->config->modes |= 1u << w->value;
    else unknown_word(l, &below, k, name);
  }
}

// ---- the document ----

static const struct config_key *find_key(str path) {
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
    if (str_eq(path, str_of(config_keys[i].path))) return &config_keys[i];
  return NULL;
}

// Sets *out to the text of a scalar value. Returns false if the JSON type does not fit the key.
static bool scalar_text(struct config_loader *l, const struct config_key *k, const struct json *v, str *out) {
  bool takes_switch = k->words == switch_words || k->words == structured_words || k->words == audit_words;
  bool is_switch = takes_switch && (json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE));
  if (is_switch || (is_number(k) && json_is(v, JSON_NUMBER))) {
    *out = json_span(v);
    return true;
  }
  return (!is_number(k) || k->type == CONFIG_SIZE) && json_string(v, &l->work, out);
}

// If read_container reads the value of this key, returns the JSON type that the value must have. Otherwise returns
// JSON_NULL.
static enum json_type container_of_key(const struct config_key *k) {
  switch (k->type) {
  case CONFIG_TOKENS:
  case CONFIG_HOSTS:
  case CONFIG_CODES:
  case CONFIG_ALGORITHMS:
  case CONFIG_SCOPES:
  case CONFIG_MODES:
  case CONFIG_IDS: return JSON_ARRAY;
  case CONFIG_SECRET: return JSON_STRING;
  case CONFIG_LIMIT:
  case CONFIG_LIMITS: return JSON_OBJECT;
  default: return JSON_NULL;
  }
}

static void read_container(struct config_loader *l, const struct config_place *at, const struct config_key *k,
                           const struct json *v, const struct config_document *d) {
  str group, name;
  str_cut(str_of(k->path), '.', &group, &name);
  switch (k->type) {
  case CONFIG_TOKENS: read_tokens(l, at, v, d->world_readable); break;
  case CONFIG_HOSTS: read_hosts(l, at, k, v); break;
  case CONFIG_CODES: config_codes_read(l, at, v); break;
  case CONFIG_IDS: config_ids_read(l, at, v); break;
  case CONFIG_LIMIT: config_limit_read(l, at, name, v); break;
  case CONFIG_LIMITS: config_limits_read(l, at, v); break;
  case CONFIG_ALGORITHMS: config_algorithms_read(l, at, v); break;
  case CONFIG_SCOPES: config_scopes_read(l, at, v); break;
  case CONFIG_SECRET: config_secret_read(l, at, v, d->world_readable); break;
  case CONFIG_MODES: read_modes(l, at, k, v); break;
  default: ASSERT(!"a value that is not a container");
  }
}

static void read_key(struct config_loader *l, const struct config_place *at, const struct config_key *k,
                     const struct json *v, const struct config_document *d) {
  str text;
  enum json_type container = container_of_key(k);
  if (k->type == CONFIG_SERVERS) return;  // the key of type CONFIG_SERVERS is read after all other keys
  if (container && (!json_is(v, container) || (container == JSON_ARRAY && v->count > MAX_LIST))) wrong_type(l, at, k);
  else if (container) read_container(l, at, k, v, d);
  else if (!scalar_text(l, k, v, &text)) wrong_type(l, at, k);
  else set_value(l, at, k, text);
}

static bool is_later_key(str path) {
  for (const char *const *k = config_later_keys; *k; k++)
    if (str_eq(path, str_of(*k))) return true;
  return false;
}

static bool is_below(const struct config_key *k, str group) {
  str path = str_of(k->path);
  return path.n > group.n && str_starts(path, group) && path.p[group.n] == '.';
}

// Sets *out to the component of the key's path that follows `group`. An empty `group` is the top level. Returns false
// if the key is not in this group.
static bool name_in_group(const struct config_key *k, str group, str *out) {
  str rest;
  if (group.n && !is_below(k, group)) return false;
  str_cut(str_from(str_of(k->path), group.n ? group.n + 1 : 0), '.', out, &rest);
  return true;
}

static bool is_group(str path) {
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
    if (is_below(&config_keys[i], path)) return true;
  return false;
}

static void unknown_key(struct config_loader *l, const struct config_place *at, str group, str name) {
  struct nearest near = {.word = name};
  str candidate, head, tail;
  if (!group.n && is_later_key(name)) {
    config_error(l, at, "is not supported by this version: remove this key");
    return;
  }
  if (!group.n && str_cut(name, '.', &head, &tail) && is_group(head)) {
    config_error(l, at, "is not a known key: write it as a nested key, %.*s: {%.*s: ...}", STR_ARG(head),
                 STR_ARG(tail));
    return;
  }
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
    if (name_in_group(&config_keys[i], group, &candidate)) nearest_try(&near, candidate);
  config_error(l, at, "is not a known key%s", config_nearest_hint(l, &near));
}

static void read_group(struct config_loader *l, const struct config_place *at, str group, const struct json *v,
                       const struct config_document *d) {
  if (json_is(v, JSON_NULL)) return;  // YAML gives null if all keys of the group are commented out
  if (!json_is(v, JSON_OBJECT)) {
    config_error(l, at, "must be an object");
    return;
  }
  JSON_EACH(it, v) {
    if (config_is_full(l) && config_problems_fatal(l->problems)) return;  // no further problem would be recorded
    str name = json_key(it, &l->work);
    str path = group.n ? arena_printf(&l->work, "%.*s.%.*s", STR_ARG(group), STR_ARG(name)) : name;
    struct config_place below = config_below(l, at, name);
    bool plain = name.n && !memchr(name.p, '.', name.n);
    const struct config_key *k = plain ? find_key(path) : NULL;
    if (k) read_key(l, &below, k, it, d);
    else if (plain && is_group(path)) read_group(l, &below, path, it, d);
    else unknown_key(l, &below, group, name);
  }
}

void config_keys_read(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR_NONE};
  read_group(l, &at, STR_NONE, d->root, d);
}

void config_keys_default(struct config_loader *l) {
  struct config_place at = {STR("default"), STR_NONE};
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
    if (config_keys[i].preset) set_value(l, &at, &config_keys[i], str_of(config_keys[i].preset));
}

void config_key_set(struct config_loader *l, const struct config_place *at, str key, str value) {
  const struct config_key *k = find_key(key);
  ASSERT(k);
  set_value(l, at, k, value);
}

// Appends the type and range of a key, as a table cell of the documentation.
static void print_cell(struct buf *out, const struct config_key *k) {
  static const char *const names[] = {
      [CONFIG_TEXT] = "text",       [CONFIG_COUNT] = "integer", [CONFIG_SECONDS] = "seconds",
      [CONFIG_SIZE] = "size",       [CONFIG_PART] = "number",   [CONFIG_HOST] = "address",
      [CONFIG_HOSTS] = "list",      [CONFIG_TOKENS] = "list",   [CONFIG_SERVERS] = "object",
      [CONFIG_CODES] = "list",      [CONFIG_IDS] = "list",      [CONFIG_LIMIT] = "limit",
      [CONFIG_LIMITS] = "limits",   [CONFIG_SCOPES] = "list",   [CONFIG_SECRET] = "text",
      [CONFIG_ALGORITHMS] = "list", [CONFIG_MODES] = "list",
  };
  ASSERT((size_t)k->type < sizeof names / sizeof *names && (names[k->type] || k->words));
  if (k->type == CONFIG_WORD && k->words == switch_words) buf_str(out, STR("boolean"));
  else if (k->type == CONFIG_WORD) print_words(out, k->words, "`");
  else buf_printf(out, "%s", names[k->type]);
  if (k->type == CONFIG_ALGORITHMS) buf_str(out, STR(" of `HS256`, `RS256`, `ES256`, `EdDSA`"));
  if (k->type == CONFIG_MODES) buf_str(out, STR(" of modes"));
  if (!is_number(k)) return;
  buf_char(out, ' ');
  if (k->type == CONFIG_SIZE) {
    print_size(out, k->low, "");
    buf_str(out, STR("–"));
    print_size(out, k->high, "");
  } else {
    double unit = k->type == CONFIG_COUNT ? 1 : 1000;
    buf_printf(out, "%.15g–%.15g", (double)k->low / unit, (double)k->high / unit);
  }
}

void config_print_keys(struct buf *out) {
  for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
    const struct config_key *k = &config_keys[i];
    ASSERT(k->path && k->doc && find_key(str_of(k->path)) == k);
    buf_printf(out, "| `%s` | ", k->path);
    print_cell(out, k);
    buf_str(out, STR(" | "));
    if (k->preset) buf_printf(out, "`%s` ", k->preset);
    buf_printf(out, "| %s |\n", k->doc);
  }
}

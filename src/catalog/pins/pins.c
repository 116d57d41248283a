// SPDX-License-Identifier: Apache-2.0
#include "catalog/pins/pins.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "catalog/pins/pins_impl.h"
#include "json/canon.h"

enum {
  FORM_BYTES = 200 << 10,  // for a larger definition, the pin contains only a hash
  MOST_LOGGED = 20,        // maximum log lines of one comparison
  NAME_SHOWN = 100,
  MOST_REPORTS = 2000,  // maximum reports about the tools of one server within REPORTS_MS
  REPORTS_MS = 3600 * 1000,
};

const char *pin_state_name(enum pin_state state) {
  static const char *const names[PIN_STATES] = {"accepted", "changed", "new", "suspect"};
  ASSERT((unsigned)state < PIN_STATES);
  return names[state];
}

const char *pin_finding_name(enum pin_finding finding) {
  static const char *const names[PIN_FINDINGS] = {"hidden_characters", "instruction", "lookalike", "same_name"};
  ASSERT((unsigned)finding < PIN_FINDINGS);
  return names[finding];
}

// ---- the set

void pin_set(str *text, str value) {
  char *copy = NULL;
  if (value.p) {
    copy = mem_alloc(value.n + 1);
    memcpy(copy, value.p, value.n);
    copy[value.n] = 0;
  }
  mem_free((char *)text->p);
  *text = (str){copy, value.p ? value.n : 0};
}

enum pin_state pin_state_of(const struct pin *pin) {
  if (pin->current.p) return pin->accepted.p ? PIN_CHANGED : PIN_NEW;
  return pin->findings & ~pin->reviewed & PIN_SERIOUS ? PIN_SUSPECT : PIN_ACCEPTED;
}

static void pin_done(struct pin *pin) {
  mem_free((char *)pin->tool.p);
  mem_free((char *)pin->accepted.p);
  mem_free((char *)pin->current.p);
  for (int i = 0; i < PIN_FINDINGS; i++) mem_free((char *)pin->why[i].p);
}

struct pin_server *pins_server(struct pins *p, str name) {
  struct pin_server *s = map_find(&p->servers, name);
  if (s) return s;
  s = MEM_NEW(struct pin_server);
  pin_set(&s->name, name.p ? name : STR(""));
  map_init(&s->tools, p->opt.seed);
  s->identity.server = s;
  pin_set(&s->identity.tool, STR(""));
  ASSERT(map_add(&p->servers, s->name, s));
  return s;
}

struct pin *pins_tool(struct pins *p, struct pin_server *s, str tool) {
  if (!tool.n) return &s->identity;
  struct pin *pin = map_find(&s->tools, tool);
  if (pin) return pin;
  pin = MEM_NEW(struct pin);
  pin->server = s;
  pin_set(&pin->tool, tool);
  ASSERT(map_add(&s->tools, pin->tool, pin));
  return pin;
}

struct pin *pins_next(const struct pins *p, struct pins_walk *at) {
  struct pin *pin = at->server ? map_next(&at->server->tools, &at->tools) : NULL;
  if (pin) return pin;
  at->server = map_next(&p->servers, &at->servers);
  at->tools = 0;
  return at->server ? &at->server->identity : NULL;
}

struct pins *pins_new(const struct pins_options *opt) {
  struct pins *p = MEM_NEW(struct pins);
  ASSERT(opt->store && opt->seed && opt->clock && opt->log);
  p->magic = PINS_MAGIC;
  p->opt = *opt;
  p->mode = GOVERNANCE_PINS_WARN;
  map_init(&p->servers, opt->seed);
  pins_load(p);
  return p;
}

void pins_free(struct pins **pins) {
  struct pins *p = *pins;
  struct pin_server *s;
  struct pin *pin;
  if (!p) return;
  ASSERT_MAGIC(p, PINS_MAGIC);
  *pins = NULL;
  for (size_t at = 0; (s = map_next(&p->servers, &at));) {
    for (size_t k = 0; (pin = map_next(&s->tools, &k));) {
      pin_done(pin);
      mem_free(pin);
    }
    map_done(&s->tools);
    pin_done(&s->identity);
    mem_free((char *)s->name.p);
    mem_free(s);
  }
  map_done(&p->servers);
  p->magic = 0;
  mem_free(p);
}

void pins_set_mode(struct pins *p, enum governance_pins mode) {
  ASSERT_MAGIC(p, PINS_MAGIC);
  p->mode = mode;
}

enum governance_pins pins_mode(const struct pins *p) {
  ASSERT_MAGIC(p, PINS_MAGIC);
  return p->mode;
}

// ---- accepting

void pins_accept_one(struct pins *p, struct pin *pin, bool by_operator) {
  if (pin->current.p) {
    mem_free((char *)pin->accepted.p);
    pin->accepted = pin->current;
    pin->current = STR_NONE;
  }
  if (by_operator) pin->reviewed = pin->findings;
  pin->by_operator = by_operator;
  pin->at = clock_wall_ms(p->opt.clock);
  if (!pin->first_at) pin->first_at = pin->at;
  pins_save(p, pin);
}

// ---- comparing

// Returns the canonical form of a definition. If the definition is too large, returns an object with its hash.
static str form_of(str text, struct arena *a) {
  struct buf b;
  struct fault f;
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  buf_init(&b, 2 * text.n + 1024);
  if (!v || !json_canon(&b, v, JSON_CANON_EXACT, &f) || b.over) {
    buf_done(&b);
    buf_init(&b, text.n + 1);
    buf_str(&b, text);
  }
  str form = buf_view(&b);
  if (b.n > FORM_BYTES || !v) {
    unsigned char hash[SHA256_SIZE];
    char hex[2 * SHA256_SIZE + 1];
    hash_sha256(form, hash);
    hash_hex(hash, sizeof hash, hex);
    form = arena_printf(a, "{\"bytes\":%zu,\"sha256\":\"%s\"}", form.n, hex);
  } else {
    form = arena_str(a, form);
  }
  buf_done(&b);
  return form;
}

// Returns whether two definitions are equal. Forms of numbers do not count: 1 equals 1.0.
static bool is_same(str form, str other, struct arena *a) {
  struct fault f;
  if (!form.p || !other.p || str_eq(form, other)) return form.p && other.p;
  const struct json *x = json_parse(a, form, &json_default_limits, &f);
  const struct json *y = json_parse(a, other, &json_default_limits, &f);
  return x && y && json_same(x, y);
}

// Stores the definition that a server lists now. `first` says that nothing of this server was pinned before. Returns
// whether the definition was not seen before.
static bool take(struct pins *p, struct pin *pin, str form, bool first, struct arena *a) {
  bool accept = !pin->accepted.p && (first || p->mode == GOVERNANCE_PINS_WARN);
  bool same = is_same(pin->accepted, form, a);
  bool known = same || is_same(pin->current, form, a);
  pin->listed = true;
  if (accept) {
    pin_set(&pin->current, form);
    if (!first && pin->tool.n)
      log_warn(p->opt.log, "%.*s: the new tool \"%.*s\" was accepted", STR_ARG(pin->server->name),
               STR_ARG(utf8_cut(pin->tool, NAME_SHOWN)));
    pins_accept_one(p, pin, false);
  } else if (same && pin->current.p) {
    pin_set(&pin->current, STR_NONE);
    pins_save(p, pin);
  } else if (!known) {
    pin_set(&pin->current, form);
    pin->reviewed = 0;
    pins_save(p, pin);
  }
  return !known;
}

// Returns whether an accepted tool has the same text as in the last pass, so that nothing must be compared.
static bool is_unchanged(const struct pins *p, struct pin *pin, const struct definition *d) {
  uint64_t before = pin->text;
  pin->text = (hash_sip(p->opt.seed, d->text) + 31 * hash_sip(p->opt.seed, d->raw)) | 1;
  bool same = pin->text == before && pin->accepted.p && !pin->current.p;
  if (same) pin->listed = true;
  return same;
}

// A walk over the tools that a server lists; initially {0}.
struct tools_walk {
  size_t set, tool;
};

static const struct definition *next_tool(const struct catalog_source *source, struct tools_walk *at) {
  for (; at->set < source->definitions_count; at->set++, at->tool = 0) {
    const struct definitions *set = source->definition_sets[at->set];
    while (set && at->tool < set->count[ITEM_TOOL]) {
      const struct definition *d = &set->defs[ITEM_TOOL][at->tool++];
      if (!source->serves || source->serves(source->serves_ctx, d->name)) return d;
    }
  }
  return NULL;
}

static void look_at_tools(struct pins *p, struct pin_server *s, const struct catalog_source *source, bool first) {
  struct tools_walk walk = {0};
  struct arena a;
  arena_init(&a);
  for (const struct definition *d; (d = next_tool(source, &walk));) {
    bool room = map_count(&s->tools) < PINS_MOST || map_find(&s->tools, d->name);
    struct pin *pin = room ? pins_tool(p, s, d->name) : NULL;
    s->surplus |= !room;
    // The catalog uses only the first definition of each name.
    if (!pin || pin->passed) continue;
    pin->passed = true;
    if (is_unchanged(p, pin, d)) continue;
    bool fresh = take(p, pin, form_of(d->text, &a), first, &a);
    pins_scan(pin, d, fresh);
    arena_reset(&a);
  }
  arena_done(&a);
}

static bool has_listed(const struct catalog_source *source) {
  for (size_t i = 0; i < source->definitions_count; i++)
    if (source->definition_sets[i] && source->definition_sets[i]->paged[ITEM_TOOL]) return true;
  return false;
}

// Returns the identity to compare with the accepted one. The name and version of a server are unknown before its first
// connection, so their absence is no change.
static str identity_form(const struct pin *pin, str identity, struct arena *a) {
  static const str member = STR("server");
  struct fault f;
  const struct json *now = json_parse(a, identity, &json_default_limits, &f);
  const struct json *before = pin->accepted.p ? json_parse(a, pin->accepted, &json_default_limits, &f) : NULL;
  const struct json *known = json_get(before, member);
  if (!now || !known || json_get(now, member)) return identity;
  return form_of(json_edited(a, now, &(struct json_edit){member, json_span(known)}, 1), a);
}

// Returns whether the identity differs from the accepted one only because the server has reported its name and version
// for the first time.
static bool is_completed(const struct pin *pin, str identity, struct arena *a) {
  static const str member = STR("server");
  struct fault f;
  const struct json *now = json_parse(a, identity, &json_default_limits, &f);
  const struct json *before = pin->accepted.p ? json_parse(a, pin->accepted, &json_default_limits, &f) : NULL;
  if (!before || !now || json_get(before, member) || !json_get(now, member)) return false;
  return str_eq(form_of(json_edited(a, now, &(struct json_edit){member, STR_NONE}, 1), a), pin->accepted);
}

static void look_at_identity(struct pins *p, struct pin *pin, str identity, bool first) {
  struct arena a;
  arena_init(&a);
  if (is_completed(pin, identity, &a)) {
    pin_set(&pin->accepted, identity);
    pins_save(p, pin);
  }
  take(p, pin, identity_form(pin, identity, &a), first, &a);
  arena_done(&a);
}

// Returns whether a tool of the server, or its identity, was pinned before.
static bool has_pins(const struct pin_server *s) {
  const struct pin *pin;
  if (s->identity.accepted.p || s->identity.current.p) return true;
  for (size_t at = 0; (pin = map_next(&s->tools, &at));)
    if (pin->accepted.p || pin->current.p) return true;
  return false;
}

// Removes pins of unlisted tools if a server would have too many pins. Otherwise a server that always lists new tools
// would fill the store.
static void make_room(struct pins *p, struct pin_server *s, const struct catalog_source *source) {
  struct tools_walk walk = {0};
  struct pin *pin;
  size_t added = 0;
  for (const struct definition *d; (d = next_tool(source, &walk));) {
    if ((pin = map_find(&s->tools, d->name))) pin->listed = true;
    else added++;
  }
  for (size_t at = 0; map_count(&s->tools) + added > PINS_MOST && (pin = map_next(&s->tools, &at));) {
    if (pin->listed) continue;
    map_remove(&s->tools, pin->tool);
    pins_remove(p, pin);
    pin_done(pin);
    mem_free(pin);
  }
}

// Compares one server with its pins. Returns false if the server has not changed, so that nothing was compared.
static bool look_at(struct pins *p, const struct catalog_source *source) {
  struct pin_server *s = pins_server(p, source->server);
  struct pin *pin;
  s->order = source->order;
  if (s->looked && s->version == source->version) return false;
  s->looked = true;
  s->version = source->version;
  for (size_t at = 0; (pin = map_next(&s->tools, &at));) pin->passed = pin->listed = false;
  s->identity.listed = false;
  if (source->gone || !has_listed(source)) return true;
  bool first = !has_pins(s) && !p->unreadable;
  bool surplus = s->surplus;
  s->surplus = false;
  if (source->identity.p) look_at_identity(p, &s->identity, source->identity, first);
  make_room(p, s, source);
  look_at_tools(p, s, source, first);
  if (s->surplus && !surplus)
    log_warn(p->opt.log, "%.*s: the server lists more than %d tools; only so many definitions can be accepted",
             STR_ARG(s->name), PINS_MOST);
  return true;
}

// ---- reporting

static bool is_plain_word(str name) {
  for (size_t i = 0; i < name.n; i++)
    if (!ascii_is_alnum(name.p[i]) && !memchr("_-./:", name.p[i], 5)) return false;
  return name.n && name.n <= NAME_SHOWN && name.p[0] != '-';
}

void pins_print_command(str server, str tool, char out[PINS_COMMAND]) {
  bool named = is_plain_word(server), both = named && is_plain_word(tool);
  snprintf(out, PINS_COMMAND, "toolgate pins diff%s%.*s%s%.*s", named ? " " : "", named ? (int)server.n : 0, server.p,
           both ? " " : "", both ? (int)tool.n : 0, tool.p);
}

static void log_state(const struct pins *p, const struct pin *pin, enum pin_state state) {
  static const char *const texts[PIN_STATES] = {"is as it was accepted", "has changed since it was accepted",
                                                "is new and was not accepted yet", "is suspect"};
  str server = pin->server->name, tool = utf8_cut(pin->tool, NAME_SHOWN);
  const char *then = p->mode == GOVERNANCE_PINS_ENFORCE && state != PIN_ACCEPTED ? " and cannot be used" : "";
  char command[PINS_COMMAND];
  enum log_level level = state == PIN_ACCEPTED ? LOG_INFO : LOG_WARN;
  pins_print_command(server, pin->tool, command);
  if (pin->tool.n)
    log_line(p->opt.log, level, "%.*s: the tool \"%.*s\" %s%s; see \"%s\"", STR_ARG(server), STR_ARG(tool),
             texts[state], then, command);
  else log_line(p->opt.log, level, "%.*s: the server %s%s; see \"%s\"", STR_ARG(server), texts[state], then, command);
}

// Saves the pins whose unreviewed findings have changed.
static void save_findings(struct pins *p) {
  struct pins_walk walk = {0};
  for (struct pin *pin; (pin = pins_next(p, &walk));) {
    uint8_t now = pin->findings & (uint8_t)~pin->reviewed;
    if (now != pin->before) pins_save(p, pin);
    pin->before = now;
  }
}

// Returns whether another change of a server's tools may be reported. A server that always changes its tools must not
// fill the logs.
static bool may_report(const struct pins *p, struct pin_server *s, uint64_t *out_omitted) {
  int64_t now = clock_wall_ms(p->opt.clock);
  if (now - s->reports_since >= REPORTS_MS || now < s->reports_since) {
    s->reports_since = now;
    s->reports = 0;
  }
  if (++s->reports > MOST_REPORTS) {
    s->omitted++;
    return false;
  }
  *out_omitted = s->omitted;
  s->omitted = 0;
  return true;
}

static void report(struct pins *p) {
  struct pins_walk walk = {0};
  size_t logged = 0;
  memset(p->counts, 0, sizeof p->counts);
  for (struct pin *pin; (pin = pins_next(p, &walk));) {
    enum pin_state state = pin_state_of(pin);
    struct pin_change change = {{pin->server->name, pin->tool}, state, false, 0};
    if (!pin->listed) continue;
    p->counts[state]++;
    if (state == pin->told) continue;
    pin->told = state;
    if (!may_report(p, pin->server, &change.omitted)) continue;
    if (logged++ < MOST_LOGGED) log_state(p, pin, state);
    change.quarantined = p->mode == GOVERNANCE_PINS_ENFORCE && state != PIN_ACCEPTED;
    if (p->opt.changed) p->opt.changed(p->opt.ctx, &change);
  }
  if (logged > MOST_LOGGED)
    log_warn(p->opt.log, "%zu more tools have another state; \"toolgate pins list\" shows all", logged - MOST_LOGGED);
}

void pins_look(struct pins *p, const struct catalog_source *sources, size_t count) {
  ASSERT_MAGIC(p, PINS_MAGIC);
  bool any = false;
  if (p->mode == GOVERNANCE_PINS_OFF) return;
  for (size_t i = 0; i < count; i++) any |= look_at(p, &sources[i]);
  if (!any) return;
  pins_compare_names(p);
  save_findings(p);
  report(p);
}

void pins_look_again(struct pins *p) {
  struct pin_server *s;
  ASSERT_MAGIC(p, PINS_MAGIC);
  for (size_t at = 0; (s = map_next(&p->servers, &at));) s->looked = false;
}

// ---- using

enum pin_state pins_find(const struct pins *p, str server, str tool) {
  ASSERT_MAGIC(p, PINS_MAGIC);
  const struct pin_server *s = map_find(&p->servers, server);
  if (!s) return PIN_ACCEPTED;
  if (pin_state_of(&s->identity) != PIN_ACCEPTED && s->identity.listed) return PIN_CHANGED;
  const struct pin *pin = map_find(&s->tools, tool);
  if (!pin && s->surplus) return PIN_NEW;
  return pin && pin->listed ? pin_state_of(pin) : PIN_ACCEPTED;
}

bool pins_quarantines(const struct pins *p, str server, str tool) {
  return p && p->mode == GOVERNANCE_PINS_ENFORCE && pins_find(p, server, tool) != PIN_ACCEPTED;
}

bool pins_match(const struct pins *p, str server, str tool, str definition) {
  struct arena a;
  ASSERT_MAGIC(p, PINS_MAGIC);
  const struct pin_server *s = map_find(&p->servers, server);
  const struct pin *pin = s ? map_find(&s->tools, tool) : NULL;
  if (!pin) return true;
  arena_init(&a);
  bool same = is_same(pin->accepted, form_of(definition, &a), &a);
  arena_done(&a);
  return same;
}

size_t pins_count(const struct pins *p, enum pin_state state) {
  ASSERT_MAGIC(p, PINS_MAGIC);
  ASSERT((unsigned)state < PIN_STATES);
  return p->counts[state];
}

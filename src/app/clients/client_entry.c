// SPDX-License-Identifier: Apache-2.0
#include "app/clients/client_entry.h"

#include "app/clients/client_text.h"
#include "app/config/config_load.h"
#include "base/ascii.h"
#include "io/file.h"
#include "json/write.h"

// Maximum size of an entry, and of a converted entry. JSON escapes and replaced variables can make a converted entry
// longer.
enum { LARGEST_ENTRY = 256 << 10, MOST_ENTRY = 8 * LARGEST_ENTRY };

// ---- keys

enum part { COMMAND, ARGS, ENV, CWD, TYPE, URL, HEADERS, TIMEOUT, START_TIMEOUT, ON_TOOLS, OFF_TOOLS, TEXT, PARTS };

static const char *const part_names[PARTS] = {"command",      "args",         "env",           "cwd",
                                              "type",         "url",          "headers",       "timeout",
                                              "startTimeout", "enabledTools", "disabledTools", "description"};

struct entry_reading {
  struct client_text text;
  struct client_entry *out;
  str parts[PARTS];    // values of the parts as JSON text, or empty
  struct buf headers;  // members of the object "headers", without braces
  struct buf more;     // members that only Toolgate knows, each after a comma
  bool off;
  str command;  // the program, without arguments
};

typedef void take_key(struct entry_reading *r, const struct json *v, str key);

static void note(struct entry_reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct entry_reading *r, const char *fmt, ...) {
  va_list ap;
  char line[512];
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  client_text_note(&r->text, str_of(line));
}

static bool text_of(struct entry_reading *r, const struct json *v, str *out) {
  str raw;
  if (v->type == JSON_NUMBER || v->type == JSON_TRUE || v->type == JSON_FALSE) raw = json_span(v);
  else if (!json_string(v, r->text.arena, &raw)) return false;
  *out = client_text_rewrite(&r->text, raw);
  return true;
}

// Rejects the entry if it is too large for Toolgate after its variables are replaced.
static void check_size(struct entry_reading *r, const struct buf *b) {
  if (b->over && !r->out->why) r->out->why = "the entry is too large once its variables are replaced";
}

// Rejects the entry because the value of a key has the wrong type.
static void wrong(struct entry_reading *r, str key, const char *what) {
  if (!r->out->why) r->out->why = arena_printf(r->text.arena, "\"%.*s\" must be %s", STR_ARG(key), what).p;
}

static void take_text(struct entry_reading *r, enum part part, const struct json *v, str key) {
  str text;
  if (text_of(r, v, &text)) r->parts[part] = json_escaped(r->text.arena, text);
  else wrong(r, key, "text");
}

// Stores the elements of a list of strings, starting at the element `first`.
static void take_list(struct entry_reading *r, enum part part, const struct json *v, const struct json *first,
                      str key) {
  ASSERT(!first || v->type == JSON_ARRAY);
  struct buf b;
  buf_init(&b, MOST_ENTRY);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (const struct json *it = first; v->type == JSON_ARRAY && it; it = it->next) {
    str text;
    if (text_of(r, it, &text)) json_put_str(&w, text);
    else wrong(r, key, "a list of strings");
  }
  json_end_array(&w);
  check_size(r, &b);
  if (v->type != JSON_ARRAY) wrong(r, key, "a list of strings");
  else r->parts[part] = arena_str(r->text.arena, buf_view(&b));
  buf_done(&b);
}

static void take_args(struct entry_reading *r, const struct json *v, str key) {
  take_list(r, ARGS, v, v->type == JSON_ARRAY ? json_first(v) : NULL, key);
}

// Stores the program. A relative path with a slash refers to the project folder.
static void set_command(struct entry_reading *r, const struct json *v, str key) {
  if (!text_of(r, v, &r->command)) {
    wrong(r, key, "text");
    return;
  }
  str c = r->command;
  bool relative = memchr(c.p, '/', c.n) && c.p[0] != '/' && c.p[0] != '~' && c.p[0] != '$';
  if (relative && r->text.folder.n)
    r->command = arena_printf(r->text.arena, "%.*s/%.*s", STR_ARG(r->text.folder), STR_ARG(c));
  r->parts[COMMAND] = json_escaped(r->text.arena, r->command);
}

static void take_members(struct entry_reading *r, const struct json *entry);

// Reads the key "command": a string, a list of program and arguments (opencode), or an object (Zed).
static void take_command(struct entry_reading *r, const struct json *v, str key) {
  const struct json *path = json_get(v, STR("path"));
  if (v->type == JSON_ARRAY && v->count) {
    set_command(r, json_first(v), key);
    take_list(r, ARGS, v, json_first(v)->next, key);
  } else if (path) {
    set_command(r, path, key);
    take_members(r, v);
  } else {
    set_command(r, v, key);
  }
}

static void take_env(struct entry_reading *r, const struct json *v, str key) {
  struct buf b;
  if (v->type == JSON_NULL) return;
  if (v->type != JSON_OBJECT) {
    wrong(r, key, "an object of strings");
    return;
  }
  buf_init(&b, MOST_ENTRY);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  JSON_EACH(it, v) {
    str text;
    if (text_of(r, it, &text)) json_member_str(&w, json_key(it, r->text.arena), text);
    else wrong(r, key, "an object of strings");
  }
  json_end_object(&w);
  check_size(r, &b);
  if (v->count) r->parts[ENV] = arena_str(r->text.arena, buf_view(&b));
  buf_done(&b);
}

static void put_header(struct entry_reading *r, str name, str value) {
  struct json_writer w = json_writer(&r->headers);
  if (r->headers.n) buf_char(&r->headers, ',');
  json_put_key(&w, name);
  json_put_str(&w, value);
}

static void take_headers(struct entry_reading *r, const struct json *v, str key) {
  if (v->type == JSON_NULL) return;
  if (v->type != JSON_OBJECT) wrong(r, key, "an object of strings");
  else
    JSON_EACH(it, v) {
      str text;
      if (text_of(r, it, &text)) put_header(r, json_key(it, r->text.arena), text);
      else wrong(r, key, "an object of strings");
    }
}

// Reads a key that Codex uses: an object that maps names of headers to names of the variables with their values.
static void take_env_headers(struct entry_reading *r, const struct json *v, str key) {
  if (v->type != JSON_OBJECT) wrong(r, key, "an object of names of variables");
  else
    JSON_EACH(it, v) {
      str name;
      if (json_string(it, r->text.arena, &name))
        put_header(r, json_key(it, r->text.arena), arena_printf(r->text.arena, "${%.*s}", STR_ARG(name)));
    }
}

static void take_bearer(struct entry_reading *r, const struct json *v, str key) {
  str name;
  if (json_string(v, r->text.arena, &name))
    put_header(r, STR("Authorization"), arena_printf(r->text.arena, "Bearer ${%.*s}", STR_ARG(name)));
  else wrong(r, key, "the name of a variable");
}

static void take_cwd(struct entry_reading *r, const struct json *v, str key) {
  str text;
  if (v->type == JSON_NULL) return;
  if (!text_of(r, v, &text)) wrong(r, key, "text");
  else if (text.n && text.p[0] != '/' && text.p[0] != '~' && text.p[0] != '$' && r->text.folder.n)
    r->parts[CWD] =
        json_escaped(r->text.arena, arena_printf(r->text.arena, "%.*s/%.*s", STR_ARG(r->text.folder), STR_ARG(text)));
  else if (text.n) r->parts[CWD] = json_escaped(r->text.arena, text);
}

static void take_url(struct entry_reading *r, const struct json *v, str key) {
  take_text(r, URL, v, key);
}

// Reads the key "url" of Gemini CLI, which implies the transport sse.
static void take_sse_url(struct entry_reading *r, const struct json *v, str key) {
  if (!r->parts[TYPE].n) r->parts[TYPE] = STR("\"sse\"");
  if (!r->parts[URL].n) take_text(r, URL, v, key);
}

static void take_http_url(struct entry_reading *r, const struct json *v, str key) {
  r->parts[TYPE] = STR("\"http\"");
  take_text(r, URL, v, key);
}

static void take_type(struct entry_reading *r, const struct json *v, str key) {
  bool words = json_equals_str(v, STR("local")) || json_equals_str(v, STR("remote"));  // redundant values of opencode
  bool usual = json_equals_str(v, STR("stdio"));
  if (!words && !usual) take_text(r, TYPE, v, key);
}

static void take_ms(struct entry_reading *r, enum part part, const struct json *v, str key, double unit) {
  double value;
  if (json_double(v, &value) && value * unit >= 1 && value * unit <= 24 * 3600 * 1e3)
    r->parts[part] = arena_printf(r->text.arena, "%.0f", value * unit);
  else note(r, "\"%.*s\" is not copied: its value is not a time from 1 ms to 24 h", STR_ARG(key));
}

static void take_timeout(struct entry_reading *r, const struct json *v, str key) {
  // For opencode, the timeout limits the time in which a server must list its tools.
  take_ms(r, r->text.client == CLIENT_OPENCODE ? START_TIMEOUT : TIMEOUT, v, key, 1);
}

static void take_start_ms(struct entry_reading *r, const struct json *v, str key) {
  take_ms(r, START_TIMEOUT, v, key, 1);
}

static void take_start_seconds(struct entry_reading *r, const struct json *v, str key) {
  take_ms(r, START_TIMEOUT, v, key, 1000);
}

static void take_seconds(struct entry_reading *r, const struct json *v, str key) {
  take_ms(r, TIMEOUT, v, key, 1000);
}

static void take_on_tools(struct entry_reading *r, const struct json *v, str key) {
  take_list(r, ON_TOOLS, v, v->type == JSON_ARRAY ? json_first(v) : NULL, key);
}

static void take_off_tools(struct entry_reading *r, const struct json *v, str key) {
  take_list(r, OFF_TOOLS, v, v->type == JSON_ARRAY ? json_first(v) : NULL, key);
}

static void take_description(struct entry_reading *r, const struct json *v, str key) {
  if (v->type == JSON_STRING) take_text(r, TEXT, v, key);
}

static void take_disabled(struct entry_reading *r, const struct json *v, str key) {
  if (v->type == JSON_TRUE) r->off = true;
}

static void take_enabled(struct entry_reading *r, const struct json *v, str key) {
  if (v->type == JSON_FALSE) r->off = true;
}

static void take_trust(struct entry_reading *r, const struct json *v, str key) {
  bool nothing = v->type == JSON_FALSE || v->type == JSON_NULL || (v->type == JSON_ARRAY && !v->count);
  if (!nothing)
    note(r, "\"%.*s\" is ignored: Toolgate does not ask before calls; write rules to restrict them", STR_ARG(key));
}

static void take_env_file(struct entry_reading *r, const struct json *v, str key) {
  note(r, "\"%.*s\" is not read: write its variables into \"env\" of this server", STR_ARG(key));
}

static void take_as_it_is(struct entry_reading *r, const struct json *v, str key) {
  buf_printf(&r->more, ",%.*s:%.*s", STR_ARG(json_escaped(r->text.arena, key)), STR_ARG(json_span(v)));
}

static void take_nothing(struct entry_reading *r, const struct json *v, str key) {
}

// clang-format off
static const struct {
  const char *key;
  take_key *take;
} keys[] = {
    {"command", take_command}, {"args", take_args}, {"env", take_env}, {"environment", take_env}, {"cwd", take_cwd},
    {"url", take_url}, {"serverUrl", take_url}, {"httpUrl", take_http_url},
    {"type", take_type}, {"transport", take_type}, {"transportType", take_type},
    {"headers", take_headers}, {"http_headers", take_headers}, {"env_http_headers", take_env_headers},
    {"bearer_token_env_var", take_bearer},
    {"timeout", take_timeout}, {"startTimeout", take_start_ms}, {"startup_timeout_sec", take_start_seconds},
    {"startup_timeout_ms", take_start_ms}, {"tool_timeout_sec", take_seconds},
    {"enabledTools", take_on_tools}, {"includeTools", take_on_tools}, {"enabled_tools", take_on_tools},
    {"disabledTools", take_off_tools}, {"excludeTools", take_off_tools}, {"disabled_tools", take_off_tools},
    {"disabled", take_disabled}, {"enabled", take_enabled}, {"description", take_description},
    {"alwaysAllow", take_trust}, {"autoApprove", take_trust}, {"trust", take_trust},
    {"envFile", take_env_file},
    {"toolTimeouts", take_as_it_is}, {"resultBudget", take_as_it_is}, {"toolResultBudgets", take_as_it_is},
    {"idleTimeout", take_as_it_is}, {"maxInFlight", take_as_it_is},
    {"isolation", take_as_it_is}, {"protocol", take_as_it_is}, {"confine", take_as_it_is},
    {"source", take_nothing}, {"path", take_nothing},
};
// clang-format on

static void take_members(struct entry_reading *r, const struct json *entry) {
  JSON_EACH(it, entry) {
    str key = json_key(it, r->text.arena);
    take_key *take = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      if (str_eq(key, str_of(keys[i].key))) take = keys[i].take;
    if (r->text.client == CLIENT_GEMINI && take == take_url) take = take_sse_url;
    if (take) take(r, it, key);
    else note(r, "\"%.*s\" is not copied: Toolgate has no such key", STR_ARG(key));
  }
}

// ---- entries

static void write_entry(struct entry_reading *r) {
  ASSERT(!r->out->why && (r->parts[COMMAND].n || r->parts[URL].n));
  struct buf b;
  buf_init(&b, 2 * MOST_ENTRY);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  for (int i = 0; i < PARTS; i++)
    if (r->parts[i].n) json_member_raw(&w, str_of(part_names[i]), r->parts[i]);
  if (r->off) json_member_bool(&w, STR("disabled"), true);
  buf_str(&b, buf_view(&r->more));
  json_end_object(&w);
  check_size(r, &b);
  if (!b.over) r->out->json = arena_str(r->text.arena, buf_view(&b));
  buf_done(&b);
}

// Returns whether the entry is for Toolgate itself: an entry named "toolgate" with a URL, or an entry that runs `serve`
// with this program or with another program named toolgate.
static bool is_own(const struct entry_reading *r) {
  str c = r->command;
  if (str_eq(r->out->name, STR("toolgate")) && r->parts[URL].n) return true;
  if (!c.n || !r->parts[ARGS].n || !memmem(r->parts[ARGS].p, r->parts[ARGS].n, "\"serve\"", 7)) return false;
  return str_eq(c, STR("toolgate")) || str_ends(c, STR("/toolgate")) ||
         file_is_same(arena_cstr(r->text.arena, c), "/proc/self/exe");
}

static str shown_of(struct entry_reading *r) {
  struct arena *a = r->text.arena;
  struct fault f;
  str url;
  struct buf b;
  enum { SHOWN = 512 };
  buf_init(&b, MOST_ENTRY);
  const struct json *v = json_parse(a, r->out->json, &json_default_limits, &f);
  if (json_string(json_get(v, STR("url")), a, &url)) {
    config_put_url(&b, url);
  } else {
    const struct json *args = json_get(v, STR("args"));
    buf_str(&b, r->command);
    for (const struct json *it = args ? json_first(args) : NULL; it; it = it->next) {
      str text;
      if (!json_string(it, a, &text)) continue;
      buf_char(&b, ' ');
      buf_str(&b, text);
    }
  }
  char *copy = arena_cstr(a, secrets_mask(a, arena_str(a, buf_view(&b)), NULL));
  buf_done(&b);
  str_mask_controls(copy, strlen(copy));
  size_t n = strlen(copy);
  return (str){copy, n < SHOWN ? n : SHOWN};
}

void client_entry_read(const struct client_world *w, const struct client_place *p, str name, const struct json *entry,
                       struct client_entry *out) {
  *out = (struct client_entry){.name = name};
  struct entry_reading r = {.out = out};
  r.text = (struct client_text){
      .arena = w->arena,
      .client = p->client,
      .home = w->home,
      .folder = p->scope == CLIENT_PROJECT || p->of_project ? w->folder : STR_NONE,
      .entry = out,
  };
  if (!json_is(entry, JSON_OBJECT)) {
    out->why = "an entry must be an object";
    return;
  }
  if (entry->n > LARGEST_ENTRY) {
    out->why = "the entry is larger than 256 KiB";
    return;
  }
  buf_init(&r.headers, MOST_ENTRY);
  buf_init(&r.more, MOST_ENTRY);
  take_members(&r, entry);
  if (r.headers.n) r.parts[HEADERS] = arena_printf(w->arena, "{%.*s}", STR_ARG(buf_view(&r.headers)));
  // An entry without a "cwd" gets the project folder: the client would start the server there, and relative paths in
  // the arguments refer to it.
  out->placed = r.parts[COMMAND].n && !r.parts[CWD].n && r.text.folder.n;
  if (out->placed) r.parts[CWD] = json_escaped(w->arena, r.text.folder);
  bool nothing = !r.parts[COMMAND].n && !r.parts[URL].n;
  if (!out->why && nothing && p->client == CLIENT_ZED && json_get(entry, STR("settings"))) {
    out->why = "an extension of Zed starts it; it cannot be moved";
    out->note_count = 0;  // the notes describe settings of the extension, which is not copied
  }
  if (!out->why && nothing) out->why = "it has neither a command nor a URL";
  if (!out->why) out->why = config_name_wrong(name);
  check_size(&r, &r.headers);
  check_size(&r, &r.more);
  out->own = is_own(&r);
  if (!out->why) write_entry(&r);
  if (!out->why) out->shown = shown_of(&r);
  ASSERT(!out->why == (out->json.n > 0));
  buf_done(&r.headers);
  buf_done(&r.more);
}

// SPDX-License-Identifier: Apache-2.0
#include "app/clients/client_own.h"

#include <limits.h>
#include <unistd.h>

#include "app/clients/text_file.h"
#include "base/buf.h"
#include "io/file.h"
#include "json/write.h"

// ---- arguments

struct words {
  struct arena *arena;
  str *list;
  size_t count, cap;
};

enum { MOST_ADDED = 16 };  // maximum number of arguments added to an entry

// Reads the arguments of an entry that starts Toolgate, without the program. If the entry cannot be used, takes "serve"
// as the only argument.
static bool read_words(struct words *w, enum client_id id, const struct json *now) {
  bool joined = id == CLIENT_OPENCODE;  // opencode has program and arguments in one list
  const struct json *list = json_get(now, joined ? STR("command") : STR("args"));
  bool usable = json_is(list, JSON_ARRAY) && list->count > joined;
  w->cap = (usable ? list->count : 0) + MOST_ADDED;
  w->list = ARENA_ARRAY(w->arena, str, w->cap);
  w->count = 0;
  for (const struct json *it = usable ? json_at(list, joined) : NULL; it; it = it->next)
    if (!json_string(it, w->arena, &w->list[w->count++])) usable = false;
  if (usable) return true;
  w->list[0] = STR("serve");
  w->count = 1;
  return false;
}

// Returns the index of an option (--name VALUE or --name=VALUE), or the number of words if it is absent.
static size_t find_option(const struct words *w, str name) {
  for (size_t i = 0; i < w->count; i++) {
    str word = w->list[i];
    if (str_eq(word, name) || (str_starts(word, name) && word.n > name.n && word.p[name.n] == '=')) return i;
  }
  return w->count;
}

static void set_option(struct words *w, str name, str value) {
  size_t at = find_option(w, name);
  if (!value.n) return;
  if (at < w->count && !str_eq(w->list[at], name)) {
    w->list[at] = arena_printf(w->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(value));
    return;
  }
  ASSERT(at + 1 < w->cap);
  w->list[at] = name;
  w->list[at + 1] = value;
  if (w->count < at + 2) w->count = at + 2;
}

static void add_option(struct words *w, str name, str value) {
  if (find_option(w, name) == w->count) set_option(w, name, value);
}

static str put_words(const struct words *w, str first) {
  struct buf b;
  buf_init(&b, 2 * TEXT_FILE_MAX);
  struct json_writer out = json_writer(&b);
  json_begin_array(&out);
  if (first.n) json_put_str(&out, first);
  for (size_t i = 0; i < w->count; i++) json_put_str(&out, w->list[i]);
  json_end_array(&out);
  str text = arena_str(w->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

str client_own_servers(struct arena *a, enum client_id id, const struct json *now) {
  static const str name = STR("--mcp-config");
  struct words w = {.arena = a};
  if (!read_words(&w, id, now)) return STR_NONE;
  size_t at = find_option(&w, name);
  if (at == w.count) return STR_NONE;
  bool apart = str_eq(w.list[at], name);
  str file = !apart ? str_from(w.list[at], name.n + 1) : at + 1 < w.count ? w.list[at + 1] : STR_NONE;
  return str_starts(file, STR("/")) ? file : STR_NONE;
}

// ---- the entry

// Returns the existing entry `now` if there is one, otherwise a new entry.
static const struct json *base_of(struct arena *a, const struct json *now, const char *form) {
  struct fault f;
  const struct json *base = now ? now : json_parse(a, str_of(form), &json_default_limits, &f);
  ASSERT(json_is(base, JSON_OBJECT));
  return base;
}

static str program_entry(struct arena *a, enum client_id id, const struct client_own *own, const struct json *now) {
  static const char *const forms[CLIENTS] = {
      [CLIENT_VSCODE] = "{\"type\":\"stdio\",\"command\":\"\",\"args\":[]}",
      [CLIENT_OPENCODE] = "{\"type\":\"local\",\"command\":[],\"enabled\":true}",
      [CLIENT_ZED] = "{\"source\":\"custom\",\"command\":\"\",\"args\":[],\"env\":{}}",
  };
  struct words w = {.arena = a};
  bool kept = read_words(&w, id, now);
  set_option(&w, STR("--mcp-config"), own->mcp_config);
  (own->config_said ? set_option : add_option)(&w, STR("--config"), own->config);
  (own->rules_said ? set_option : add_option)(&w, STR("--rules"), own->rules);
  set_option(&w, STR("--transport"), own->transport);
  set_option(&w, STR("--agent"), own->agent);
  const struct json *base = base_of(a, kept ? now : NULL, forms[id] ? forms[id] : "{\"command\":\"\",\"args\":[]}");
  if (id == CLIENT_OPENCODE)
    return json_edited(a, base, &(struct json_edit){STR("command"), put_words(&w, own->program)}, 1);
  struct json_edit edits[] = {{STR("command"), json_escaped(a, own->program)}, {STR("args"), put_words(&w, STR_NONE)}};
  return json_edited(a, base, edits, 2);
}

struct url_form {
  const char *text, *key;
  const char *before, *after;  // text around a variable's name; NULL if the client does not expand variables
};

static const struct url_form url_forms[CLIENTS] = {
    [CLIENT_CLAUDE_CODE] = {"{\"type\":\"http\",\"url\":\"\"}", "url", "${", "}"},
    [CLIENT_CURSOR] = {"{\"url\":\"\"}", "url", "${env:", "}"},
    [CLIENT_VSCODE] = {"{\"type\":\"http\",\"url\":\"\"}", "url", "${env:", "}"},
    [CLIENT_WINDSURF] = {"{\"serverUrl\":\"\"}", "serverUrl", "${env:", "}"},
    [CLIENT_GEMINI] = {"{\"httpUrl\":\"\"}", "httpUrl", "${", "}"},
    [CLIENT_CODEX] = {"{\"url\":\"\"}", "url", "", ""},
    [CLIENT_OPENCODE] = {"{\"type\":\"remote\",\"url\":\"\",\"enabled\":true}", "url", "{env:", "}"},
    [CLIENT_ZED] = {"{\"url\":\"\"}", "url", NULL, NULL},
};

bool client_own_takes_token(enum client_id id) {
  ASSERT((size_t)id < CLIENTS && !url_forms[id].before == !url_forms[id].after);
  return url_forms[id].before != NULL;
}

// Returns the change that adds the token to the entry: a header Authorization or, for Codex, the name of the variable.
static struct json_edit token_edit(struct arena *a, enum client_id id, const struct json *base, str variable) {
  const struct json *headers = json_get(base, STR("headers"));
  ASSERT(variable.n && client_own_takes_token(id));
  if (id == CLIENT_CODEX) return (struct json_edit){STR("bearer_token_env_var"), json_escaped(a, variable)};
  str value = arena_printf(a, "Bearer %s%.*s%s", url_forms[id].before, STR_ARG(variable), url_forms[id].after);
  struct json_edit edit = {STR("Authorization"), json_escaped(a, value)};
  if (!json_is(headers, JSON_OBJECT)) headers = &json_empty_object;
  return (struct json_edit){STR("headers"), json_edited(a, headers, &edit, 1)};
}

str client_own_entry(struct arena *a, enum client_id id, const struct client_own *own, const struct json *now) {
  const struct url_form *form = &url_forms[id];
  ASSERT((size_t)id < CLIENTS && !form->text == !form->key);
  if (!own->url.n) return program_entry(a, id, own, now);
  if (!form->text) return STR_NONE;
  str key = str_of(form->key);
  const struct json *base = base_of(a, json_get(now, key) ? now : NULL, form->text);
  struct json_edit edits[2] = {{key, json_escaped(a, own->url)}};
  if (own->token_env.n) edits[1] = token_edit(a, id, base, own->token_env);
  return json_edited(a, base, edits, own->token_env.n ? 2 : 1);
}

str client_own_program(struct arena *a, char *const *env) {
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) return STR("toolgate");
  self[n] = 0;
  str path = str_env(env, STR("PATH")), folder;
  for (bool more = path.n > 0; more;) {
    more = str_cut(path, ':', &folder, &path);
    const char *file = arena_printf(a, "%.*s/toolgate", STR_ARG(folder)).p;
    if (access(file, X_OK) != 0) continue;
    if (folder.n && file_is_same(file, self)) return STR("toolgate");
    break;
  }
  return arena_str(a, str_of(self));
}

// SPDX-License-Identifier: Apache-2.0
#include "app/clients/own_servers.h"

#include <unistd.h>

#include "json/edit/patch.h"
#include "json/edit/relaxed.h"

static const struct json_limits limits = {.max_bytes = TEXT_FILE_MAX, .max_depth = 128};

// Returns the object that contains the servers: the member "mcpServers" or, in files such as toolgate.json, "servers".
static const struct json *servers_of(const struct json *root) {
  const struct json *servers = json_get(root, STR("mcpServers"));
  return servers ? servers : json_get(root, STR("servers"));
}

// Parses the current text. This cannot fail: the text was checked when the file was opened, and all changes keep it
// valid.
static struct json_patch patch_of(const struct own_servers *o) {
  struct json_patch p;
  struct fault f;
  bool ok = json_patch_init(&p, o->arena, o->text, &limits, &f);
  ASSERT(ok && json_is(servers_of(p.root), JSON_OBJECT));
  return p;
}

bool own_servers_open(struct own_servers *o, str path, struct arena *a, struct fault *f) {
  struct json_patch p;
  *o = (struct own_servers){.arena = a};
  if (!text_file_open(&o->disk, path, a, f)) return false;
  bool empty = json_skip_blank(o->disk.text, 0) == o->disk.text.n;
  o->text = !empty ? o->disk.text : STR("{\n  \"mcpServers\": {}\n}\n");
  if (!json_patch_init(&p, a, o->text, &limits, f)) return false;
  const struct json *servers = servers_of(p.root);
  if (json_is(p.root, JSON_OBJECT) && !servers) {
    json_patch_members(&p, p.root, NULL, NULL, STR("mcpServers"), STR("{}"));
    o->text = json_patch_apply(&p);
  } else if (!json_is(servers, JSON_OBJECT)) {
    fault_set(f, FAULT_INVALID, "the file must be an object with an object \"mcpServers\"");
    return false;
  }
  return true;
}

size_t own_servers_count(const struct own_servers *o) {
  struct json_patch p = patch_of(o);
  return servers_of(p.root)->count;
}

const struct json *own_servers_find(const struct own_servers *o, str name) {
  struct json_patch p = patch_of(o);
  return json_get(servers_of(p.root), name);
}

void own_servers_add(struct own_servers *o, str name, str entry) {
  struct json_patch p = patch_of(o);
  ASSERT(entry.n && !json_get(servers_of(p.root), name));
  json_patch_members(&p, servers_of(p.root), NULL, NULL, name, entry);
  o->text = json_patch_apply(&p);
}

static bool has_name(void *ctx, const struct json *member) {
  const str *name = ctx;
  return json_key_is(member, *name);
}

void own_servers_remove(struct own_servers *o, str name) {
  struct json_patch p = patch_of(o);
  ASSERT(json_get(servers_of(p.root), name));
  json_patch_members(&p, servers_of(p.root), has_name, &name, STR_NONE, STR_NONE);
  o->text = json_patch_apply(&p);
}

static bool is_switch(void *ctx, const struct json *member) {
  return json_key_is(member, STR("disabled")) || json_key_is(member, STR("enabled"));
}

void own_servers_switch(struct own_servers *o, str name, bool on) {
  struct json_patch p = patch_of(o);
  const struct json *entry = json_get(servers_of(p.root), name);
  ASSERT(json_is(entry, JSON_OBJECT));
  bool off =
      json_is(json_get(entry, STR("disabled")), JSON_TRUE) || json_is(json_get(entry, STR("enabled")), JSON_FALSE);
  if (off != on) return;
  json_patch_members(&p, entry, is_switch, NULL, on ? STR_NONE : STR("disabled"), STR("true"));
  o->text = json_patch_apply(&p);
}

// Returns whether `v` may be a path relative to the folder. `v` is an argument, an option with a value, or the value of
// a variable. A package name with a version is not a path.
static bool is_relative(const struct own_servers *o, const struct json *v, str folder) {
  str text, option, value, name, version;
  if (!json_string(v, o->arena, &text)) return false;
  if (str_starts(text, STR("-")) && str_cut(text, '=', &option, &value)) text = value;
  if (!text.n || strchr("/~$@", text.p[0]) || memmem(text.p, text.n, "://", 3)) return false;
  if (access(arena_printf(o->arena, "%.*s/%.*s", STR_ARG(folder), STR_ARG(text)).p, F_OK) == 0) return true;
  if (str_cut(text, '@', &name, &version)) text = name;
  return memchr(text.p, '/', text.n) || memchr(text.p, '.', text.n);
}

static bool same_but_cwd(const struct json *a, const struct json *b, struct arena *arena) {
  size_t rest = 0;
  JSON_EACH(it, b) rest += !json_key_is(it, STR("cwd"));
  JSON_EACH(it, a) {
    if (json_key_is(it, STR("cwd"))) continue;
    const struct json *other = json_get(b, json_key(it, arena));
    if (!other || !json_same(it, other)) return false;
    ASSERT(rest > 0);
    rest--;
  }
  return rest == 0;
}

// Returns whether two entries are equal. Ignores a "cwd" that `import` added to one of them, unless the entries contain
// relative paths, which "cwd" gives their meaning.
static bool is_same_server(const struct own_servers *o, const struct json *there, const struct json *entry,
                           const struct client_entry *e, str folder) {
  static const char *const lists[] = {"args", "env"};
  const struct json *old = json_get(there, STR("cwd")), *now = json_get(entry, STR("cwd"));
  if (json_same(there, entry)) return true;
  bool added = (!old && e->placed) || (!now && old && json_equals_str(old, folder));
  if (!added || !json_is(there, JSON_OBJECT) || !same_but_cwd(there, entry, o->arena)) return false;
  str command;
  if (json_string(json_get(entry, STR("command")), o->arena, &command) && command.n && !strchr("/~$", command.p[0]) &&
      memchr(command.p, '/', command.n))
    return false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const struct json *list = json_get(entry, str_of(lists[i]));
    for (const struct json *it = list ? json_first(list) : NULL; it; it = it->next)
      if (is_relative(o, it, folder)) return false;
  }
  return true;
}

str own_servers_take(struct own_servers *o, const struct client_entry *e, const char *client, str folder,
                     bool *out_added) {
  struct fault f;
  const struct json *entry = json_parse(o->arena, e->json, &limits, &f);
  str name = e->name;
  ASSERT(entry);
  for (unsigned i = 1;; i++) {
    const struct json *there = own_servers_find(o, name);
    *out_added = !there;
    if (there && is_same_server(o, there, entry, e, folder)) return name;
    if (!there) break;
    name = i == 1 ? arena_printf(o->arena, "%.*s-%s", STR_ARG(e->name), client)
                  : arena_printf(o->arena, "%.*s-%s-%u", STR_ARG(e->name), client, i);
  }
  own_servers_add(o, name, e->json);
  return name;
}

bool own_servers_write(struct own_servers *o, struct fault *f) {
  return (o->disk.exists && str_eq(o->disk.text, o->text)) || text_file_replace(&o->disk, o->text, o->arena, f);
}

// SPDX-License-Identifier: Apache-2.0
// Manifests are files with one adapter each, which a governance file names in the list `manifests`. This module
// replaces the list with an object that maps the names of the files to their adapters. It also adds the adapters of the
// configuration file.
#include <glob.h>

#include "app/config/config_load.h"
#include "app/config/config_manifests.h"
#include "base/assert.h"
#include "govern/govern.h"
#include "json/pointer.h"
#include "json/write.h"

enum { MOST_MANIFESTS = 200 };

static const struct json_limits joined_limits = {SIZE_MAX, JSON_DEEPEST, 0};

struct joining {
  struct config_loader *loader;
  const struct config_document *document;
  struct manifests *manifests;
  struct buf text;  // JSON object with all adapters
};

static bool is_read(const struct manifests *m, str path) {
  for (size_t i = 0; i < m->count; i++)
    if (str_eq(m->list[i].path, path)) return true;
  return false;
}

// Returns the path without the folder of the governance file.
static str name_of(const struct config_document *d, str path) {
  bool below = str_starts(path, d->folder) && path.n > d->folder.n && path.p[d->folder.n] == '/';
  return below ? str_from(path, d->folder.n + 1) : path;
}

// Reads one manifest and adds it to the object.
static bool add_manifest(struct joining *j, str path, str named_by) {
  struct config_loader *l = j->loader;
  struct manifests *m = j->manifests;
  struct config_document d;
  if (is_read(m, path)) return true;
  if (m->count == MOST_MANIFESTS) {
    config_error(l, &(struct config_place){j->document->file, STR("/manifests")}, "names more than %d files",
                 MOST_MANIFESTS);
    return false;
  }
  if (!config_document_open(l, path, named_by, &d)) return false;
  struct manifest *added = &m->list[m->count++];
  str name = name_of(j->document, path);
  *added = (struct manifest){d.file, json_pointer_below(&l->work, STR("/manifests"), name)};
  if (m->count > 1) buf_char(&j->text, ',');
  json_escape(&j->text, name);
  buf_char(&j->text, ':');
  buf_str(&j->text, json_span(d.root));
  config_document_done(&d);
  return true;
}

// Watches the folder of a pattern, because a file that is added there must be read.
static void watch_folder(struct config_loader *l, str pattern) {
  const char *slash = memrchr(pattern.p, '/', pattern.n);
  str folder = slash ? (str){pattern.p, (size_t)(slash - pattern.p) + 1} : STR("./");
  if (!strpbrk(arena_cstr(&l->work, folder), "*?[")) config_file_seen(l, folder);
}

static bool add_pattern(struct joining *j, const struct config_place *at, str pattern) {
  struct config_loader *l = j->loader;
  glob_t found = {0};
  str named_by = arena_printf(&l->work, "%.*s:%.*s", STR_ARG(at->file), STR_ARG(at->pointer));
  if (!strpbrk(arena_cstr(&l->work, pattern), "*?[")) return add_manifest(j, pattern, named_by);
  watch_folder(l, pattern);
  bool ok = glob(arena_cstr(&l->work, pattern), 0, NULL, &found) == 0;
  if (!ok) config_error(l, at, "no file matches \"%.*s\"", STR_ARG(pattern));
  for (size_t i = 0; ok && i < found.gl_pathc; i++)
    ok = add_manifest(j, arena_str(&l->work, str_of(found.gl_pathv[i])), named_by);
  globfree(&found);
  return ok;
}

static bool add_all(struct joining *j, const struct json *list) {
  struct config_loader *l = j->loader;
  struct config_place at = {j->document->file, STR("/manifests")};
  size_t index = 0;
  bool ok = true;
  JSON_EACH(it, list) {
    struct config_place place = config_below_index(l, &at, index++);
    str text;
    bool named = json_string(it, &l->work, &text) && text.n;
    if (!named) config_error(l, &place, "must be the path of a file, or a pattern such as adapters/*.yaml");
    ok &= named && add_pattern(j, &place, config_path(l, text, j->document->folder, &l->work));
  }
  return ok;
}

// ---- the configuration file

const struct json *config_server_adapter(const struct json *server) {
  return json_is(server, JSON_OBJECT) ? json_get(server, STR("adapter")) : NULL;
}

// Appends {"adapter": …}. The server of the adapter is the entry in which it is.
static bool put_adapter(struct config_loader *l, const struct config_place *at, str server, const struct json *adapter,
                        struct buf *out) {
  const struct json *own = json_is(adapter, JSON_OBJECT) ? json_get(adapter, STR("server")) : NULL;
  struct config_place place = config_below(l, at, STR("server"));
  struct json_edit edit = {STR("server"), json_escaped(&l->work, server)};
  if (own && !json_equals_str(own, server)) {
    config_error(l, &place, "must be \"%.*s\", the server of this entry, or absent", STR_ARG(server));
    return false;
  }
  // governance_read reports an adapter that is not an object.
  bool valid = json_is(adapter, JSON_OBJECT);
  buf_str(out, STR("{\"adapter\":"));
  buf_str(out, valid ? json_edited(&l->work, adapter, &edit, 1) : json_span(adapter));
  buf_char(out, '}');
  return true;
}

// Writes an object with the adapters of all servers to *out; leaves *out empty if there are none.
static bool put_servers(struct joining *j, const struct config_document *config, struct buf *out) {
  struct config_loader *l = j->loader;
  struct config_place all = {config->file, STR("/servers")};
  const struct json *servers = json_get(config->root, STR("servers"));
  bool ok = true;
  if (!json_is(servers, JSON_OBJECT)) return true;
  JSON_EACH(it, servers) {
    const struct json *adapter = config_server_adapter(it);
    str name = json_key(it, &l->work);
    struct config_place entry = config_below(l, &all, name), at = config_below(l, &entry, STR("adapter"));
    if (!adapter) continue;
    buf_char(out, out->n ? ',' : '{');
    json_escape(out, name);
    buf_char(out, ':');
    ok &= put_adapter(l, &at, name, adapter, out);
  }
  if (out->n) buf_char(out, '}');
  j->manifests->servers = config->file;
  return ok;
}

// ---- joining

// Handles a file that is itself a manifest: returns a governance file that contains only the adapter of this manifest.
static const struct json *join_alone(struct joining *j) {
  struct config_loader *l = j->loader;
  const struct config_document *d = j->document;
  struct fault f;
  const char *slash = memrchr(d->file.p, '/', d->file.n);
  str name = slash ? str_from(d->file, (size_t)(slash - d->file.p) + 1) : d->file;
  j->manifests->list[j->manifests->count++] =
      (struct manifest){d->file, json_pointer_below(&l->work, STR("/manifests"), name)};
  str text = arena_printf(&l->work, "{\"manifests\":{%.*s:%.*s}}", STR_ARG(json_escaped(&l->work, name)),
                          STR_ARG(json_span(d->root)));
  const struct json *joined = json_parse(&l->work, text, &joined_limits, &f);
  ASSERT(joined);  // the text consists of parts that were already parsed
  return joined;
}

// Returns the governance file with these members, each of which may be empty.
static const struct json *join(struct joining *j, str manifests, str servers) {
  struct config_loader *l = j->loader;
  const struct config_document *d = j->document;
  struct json_edit edits[2];
  size_t count = 0;
  struct fault f;
  if (manifests.n) edits[count++] = (struct json_edit){STR("manifests"), manifests};
  if (servers.n) edits[count++] = (struct json_edit){STR("servers"), servers};
  if (!count || !json_is(d->root, JSON_OBJECT)) return d->root;
  str text = json_edited(&l->work, d->root, edits, count);
  const struct json *joined = json_parse(&l->work, text, &joined_limits, &f);
  if (!joined) config_error(l, &(struct config_place){d->file, STR_NONE}, "%s: %s", f.path, f.message);
  return joined;
}

// Returns whether the governance file is free of the member that this module adds.
static bool has_no_servers(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR("/servers")};
  if (!json_is(d->root, JSON_OBJECT) || !json_get(d->root, STR("servers"))) return true;
  config_error(l, &at, "is an unknown member: list the adapters in \"adapters\" or \"manifests\"");
  return false;
}

const struct json *config_manifests_join(struct config_loader *l, const struct config_document *d,
                                         const struct config_document *config, struct manifests *out) {
  const struct json *list = json_get(d->root, STR("manifests"));
  struct joining j = {.loader = l, .document = d, .manifests = out};
  struct config_place at = {d->file, STR_NONE};
  struct buf servers;
  *out = (struct manifests){.list = ARENA_ARRAY(&l->work, struct manifest, MOST_MANIFESTS)};
  if (json_get(d->root, STR("adapter_id"))) return join_alone(&j);
  buf_init(&j.text, GOVERNANCE_BYTES_MAX);
  buf_init(&servers, GOVERNANCE_BYTES_MAX);
  bool ok = has_no_servers(l, d), listed = json_is(list, JSON_ARRAY);
  if (listed) {
    buf_char(&j.text, '{');
    ok &= add_all(&j, list);
    buf_char(&j.text, '}');
  }
  if (config) ok &= put_servers(&j, config, &servers);
  bool over = j.text.over || servers.over;
  if (ok && over) config_error(l, &at, "the adapters are larger than %d MiB", GOVERNANCE_BYTES_MAX >> 20);
  const struct json *joined = ok && !over ? join(&j, buf_view(&j.text), buf_view(&servers)) : NULL;
  buf_done(&servers);
  buf_done(&j.text);
  return joined;
}

struct config_place config_manifests_place(const struct manifests *m, str file, str pointer) {
  for (size_t i = 0; i < m->count; i++) {
    str within = m->list[i].pointer;
    if (!str_starts(pointer, within)) continue;
    str rest = str_from(pointer, within.n);
    if (!rest.n || rest.p[0] == '/') return (struct config_place){m->list[i].path, rest};
  }
  if (m->servers.n && str_starts(pointer, STR("/servers/"))) return (struct config_place){m->servers, pointer};
  return (struct config_place){file, pointer};
}

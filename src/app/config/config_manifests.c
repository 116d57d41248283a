// SPDX-License-Identifier: Apache-2.0
// Manifests: files with one adapter each, which a governance file names in the list `manifests`. This module replaces
// the list with an object that maps the names of the files to their adapters.
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

const struct json *config_manifests_join(struct config_loader *l, const struct config_document *d,
                                         struct manifests *out) {
  const struct json *list = json_get(d->root, STR("manifests"));
  struct joining j = {.loader = l, .document = d, .manifests = out};
  const struct json *joined = NULL;
  struct fault f;
  *out = (struct manifests){.list = ARENA_ARRAY(&l->work, struct manifest, MOST_MANIFESTS)};
  if (json_get(d->root, STR("adapter_id"))) return join_alone(&j);
  if (!json_is(list, JSON_ARRAY)) return d->root;
  buf_init(&j.text, GOVERNANCE_BYTES_MAX);
  buf_char(&j.text, '{');
  bool ok = add_all(&j, list);
  buf_char(&j.text, '}');
  struct config_place at = {d->file, STR("/manifests")};
  if (ok && j.text.over) config_error(l, &at, "the manifests are larger than %d MiB", GOVERNANCE_BYTES_MAX >> 20);
  else if (ok) {
    struct json_edit edit = {STR("manifests"), buf_view(&j.text)};
    joined = json_parse(&l->work, json_edited(&l->work, d->root, &edit, 1), &joined_limits, &f);
    if (!joined) config_error(l, &at, "%s: %s", f.path, f.message);
  }
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
  return (struct config_place){file, pointer};
}

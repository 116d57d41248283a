// SPDX-License-Identifier: Apache-2.0
#include "app/clients/client_file.h"

#include "app/config/foreign.h"
#include "json/edit/relaxed.h"
#include "json/write.h"

static const struct json_limits limits = {.max_bytes = TEXT_FILE_MAX, .max_depth = 128};

bool client_file_is_foreign(const struct text_file *t, const struct client_world *w, str path, struct fault *f) {
  struct fault why;
  if (!t->exists || !foreign_file(arena_cstr(w->arena, path), t->uid, t->mode, w->env, &why)) return false;
  fault_set(f, FAULT_INVALID,
            "refused, because another user could change this file (%s); if you trust it, set " FOREIGN_TRUST "=1",
            why.message);
  return true;
}

bool client_file_open(struct client_file *c, const struct client_world *w, const struct client_place *p,
                      struct fault *f) {
  *c = (struct client_file){.toml = p->toml};
  if (!text_file_open(&c->disk, p->file, w->arena, f)) return false;
  if (client_file_is_foreign(&c->disk, w, p->file, f)) return false;
  if (p->toml) {
    if (!toml_read(w->arena, c->disk.text, &c->lines, f)) return false;
    c->root = json_parse(w->arena, c->lines.json, &limits, f);
    return c->root != NULL;
  }
  if (json_skip_blank(c->disk.text, 0) == c->disk.text.n) return true;
  if (!json_patch_init(&c->patch, w->arena, c->disk.text, &limits, f)) return false;
  c->root = c->patch.root;
  if (json_is(c->root, JSON_OBJECT)) return true;
  fault_set(f, FAULT_INVALID, "the file must contain a JSON object");
  return false;
}

size_t client_file_entries(const struct client_file *c, const struct client_world *w, const struct client_place *p,
                           struct client_entry **out) {
  const struct json *servers = client_servers(w, p, c->root);
  if (!json_is(servers, JSON_OBJECT)) return 0;
  *out = ARENA_ARRAY(w->arena, struct client_entry, servers->count);
  size_t n = 0;
  JSON_EACH(it, servers) client_entry_read(w, p, json_key(it, w->arena), it, &(*out)[n++]);
  ASSERT(n == servers->count);
  return n;
}

// ---- JSON

struct client_dropping {
  const struct client_change *change;
  const struct client_place *place;
  struct arena *arena;
};

static bool drops(void *ctx, const struct json *member) {
  const struct client_dropping *d = ctx;
  return d->change->goes(d->change->ctx, d->place, json_key(member, d->arena));
}

// Adds Toolgate's entry to the file, and creates the objects around the entry if they are missing.
static void add_with_groups(struct client_file *c, const struct client_world *w, const struct client_place *p,
                            str own) {
  ASSERT(own.n && !p->of_project);  // the first place of a file is never below a project
  const struct json *at = c->root, *group = p->group ? json_get(at, str_of(p->group)) : NULL;
  str key = str_of(p->key), value = arena_printf(w->arena, "{\"toolgate\":%.*s}", STR_ARG(own));
  if (group) {
    at = group;
  } else if (p->group) {
    value = arena_printf(w->arena, "{%.*s:%.*s}", STR_ARG(json_escaped(w->arena, key)), STR_ARG(value));
    key = str_of(p->group);
  }
  json_patch_members(&c->patch, at, NULL, NULL, key, value);
}

static bool change_json(struct client_file *c, const struct client_world *w, const struct client_change *change,
                        str *out, struct fault *f) {
  if (!c->root && !json_patch_init(&c->patch, w->arena, STR("{}\n"), &limits, f)) return false;
  ASSERT(change->place_count > 0 && change->goes);
  c->root = c->patch.root;
  for (size_t i = 0; i < change->place_count; i++) {
    const struct client_place *p = change->places[i];
    const struct json *servers = client_servers(w, p, c->root);
    struct client_dropping d = {change, p, w->arena};
    bool add = i == 0 && change->own.n;
    if (servers) json_patch_members(&c->patch, servers, drops, &d, add ? STR("toolgate") : STR_NONE, change->own);
    else if (add) add_with_groups(c, w, p, change->own);
  }
  *out = json_patch_apply(&c->patch);
  return true;
}

// ---- TOML

static bool drops_line(void *ctx, const struct toml_part *part) {
  const struct client_dropping *d = ctx;
  return part->depth > 1 && str_eq(part->keys[0], str_of(d->place->key)) &&
         d->change->goes(d->change->ctx, d->place, part->keys[1]);
}

// Returns whether all servers are in one inline table of a TOML file. Single servers cannot be removed from such a
// table.
static bool is_in_one_line(const struct client_file *c, const struct client_place *p) {
  for (size_t i = 0; i < c->lines.count; i++) {
    const struct toml_part *part = &c->lines.parts[i];
    ASSERT(part->from <= part->to && part->to <= c->disk.text.n);
    str line = str_trim((str){c->disk.text.p + part->from, part->to - part->from});
    if (part->depth == 1 && str_eq(part->keys[0], str_of(p->key)) && line.p[0] != '[') return true;
  }
  return false;
}

// Appends a JSON value as TOML. Strings, numbers and lists have the same form in both formats; an object becomes an
// inline table.
static void put_toml(struct buf *b, const struct json *v) {
  bool table = v->type == JSON_OBJECT;
  if (!table && v->type != JSON_ARRAY) {
    buf_str(b, json_span(v));
    return;
  }
  buf_str(b, table ? STR("{ ") : STR("["));
  for (const struct json *it = json_first(v); it; it = it->next) {
    if (it != json_first(v)) buf_str(b, STR(", "));
    if (table) buf_printf(b, "\"%.*s\" = ", (int)it->key_n, it->key);
    put_toml(b, it);
  }
  buf_str(b, table ? STR(" }") : STR("]"));
}

static str own_table(const struct client_world *w, const struct client_place *p, str own) {
  struct buf b;
  struct fault f;
  const struct json *entry = json_parse(w->arena, own, &limits, &f);
  ASSERT(json_is(entry, JSON_OBJECT));  // client_own_entry wrote this entry
  buf_init(&b, TEXT_FILE_MAX);
  buf_printf(&b, "[%s.toolgate]\n", p->key);
  JSON_EACH(it, entry) {
    buf_printf(&b, "%.*s = ", (int)it->key_n, it->key);
    put_toml(&b, it);
    buf_char(&b, '\n');
  }
  str text = arena_str(w->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static bool change_toml(struct client_file *c, const struct client_world *w, const struct client_change *change,
                        str *out, struct fault *f) {
  ASSERT(change->place_count > 0 && change->goes);
  const struct client_place *p = change->places[0];
  struct client_dropping d = {change, p, w->arena};
  if (is_in_one_line(c, p)) {
    fault_set(f, FAULT_INVALID,
              "cannot change servers that are written in one line: write each server as a table [%s.NAME]", p->key);
    return false;
  }
  str rest = toml_without(w->arena, c->disk.text, &c->lines, drops_line, &d);
  if (!change->own.n) {
    *out = rest;
    return true;
  }
  while (rest.n && (rest.p[rest.n - 1] == '\n' || rest.p[rest.n - 1] == '\r')) rest.n--;
  *out =
      arena_printf(w->arena, "%.*s%s%.*s", STR_ARG(rest), rest.n ? "\n\n" : "", STR_ARG(own_table(w, p, change->own)));
  return true;
}

// Parses the changed text again, so that an invalid file is never written.
bool client_file_changed(struct client_file *c, const struct client_world *w, const struct client_change *change,
                         str *out, struct fault *f) {
  struct json_patch again;
  struct toml lines;
  if (c->toml) return change_toml(c, w, change, out, f) && toml_read(w->arena, *out, &lines, f);
  return change_json(c, w, change, out, f) && json_patch_init(&again, w->arena, *out, &limits, f);
}

// SPDX-License-Identifier: Apache-2.0
// Undoes `connect` in a file that was changed after `connect`: restores the servers and keeps the other changes.
#include "app/clients/connect_undo.h"
#include "json/edit/relaxed.h"
#include "json/write.h"

static const struct json_limits limits = {.max_bytes = TEXT_FILE_MAX, .max_depth = 128};

struct asking {
  const struct client_world *world;
  const struct client_place *place;
};

static bool is_own(void *ctx, const struct json *member) {
  const struct asking *q = ctx;
  struct client_entry entry;
  client_entry_read(q->world, q->place, json_key(member, q->world->arena), member, &entry);
  return entry.own;
}

// ---- JSON

static bool open_text(struct json_patch *p, const struct asking *q, str text, const struct json **out,
                      struct fault *f) {
  bool empty = json_skip_blank(text, 0) == text.n;
  if (!json_patch_init(p, q->world->arena, empty ? STR("{}") : text, &limits, f)) return false;
  *out = client_servers(q->world, q->place, p->root);
  return true;
}

static bool restore_json(struct asking *q, str before, str *text, struct fault *f) {
  struct json_patch old, now;
  const struct json *servers, *there;
  if (!open_text(&old, q, before, &servers, f) || !open_text(&now, q, *text, &there, f)) return false;
  if (there) {
    json_patch_members(&now, there, is_own, q, STR_NONE, STR_NONE);
    *text = json_patch_apply(&now);
  }
  for (const struct json *it = servers ? json_first(servers) : NULL; it; it = it->next) {
    str name = json_key(it, q->world->arena);
    if (!open_text(&now, q, *text, &there, f)) return false;
    if (is_own(q, it) || json_get(there, name)) continue;
    if (!there) {
      fault_set(f, FAULT_INVALID,
                "the file no longer has the object \"%s\": add it, so that the servers can be restored", q->place->key);
      return false;
    }
    json_patch_members(&now, there, NULL, NULL, name, json_span(it));
    *text = json_patch_apply(&now);
  }
  return true;
}

// ---- TOML

struct restore_servers {
  struct asking *asking;
  const struct json *list;
};

static bool is_own_line(void *ctx, const struct toml_part *part) {
  const struct restore_servers *s = ctx;
  if (part->depth < 2 || !str_eq(part->keys[0], str_of(s->asking->place->key))) return false;
  JSON_EACH(it, s->list)
    if (json_key_is(it, part->keys[1])) return is_own(s->asking, it);
  return false;
}

static bool read_lines(struct asking *q, str text, struct toml *lines, struct restore_servers *out, struct fault *f) {
  if (!toml_read(q->world->arena, text, lines, f)) return false;
  const struct json *root = json_parse(q->world->arena, lines->json, &limits, f);
  const struct json *list = client_servers(q->world, q->place, root);
  *out = (struct restore_servers){q, json_is(list, JSON_OBJECT) ? list : &json_empty_object};
  return root != NULL;
}

static bool restore_toml(struct asking *q, str before, str *text, struct fault *f) {
  struct toml old, now;
  struct restore_servers had, has;
  struct buf b;
  if (!read_lines(q, before, &old, &had, f) || !read_lines(q, *text, &now, &has, f)) return false;
  buf_init(&b, 2 * TEXT_FILE_MAX);
  buf_str(&b, toml_without(q->world->arena, *text, &now, is_own_line, &has));
  for (size_t i = 0; i < old.count; i++) {
    const struct toml_part *part = &old.parts[i];
    ASSERT(part->from <= part->to && part->to <= before.n);
    str lines = {before.p + part->from, part->to - part->from};
    bool server = part->depth > 1 && str_eq(part->keys[0], str_of(q->place->key));
    if (!server || is_own_line(&had, part) || json_get(has.list, part->keys[1])) continue;
    if (b.n && b.p[b.n - 1] != '\n') buf_char(&b, '\n');
    if (b.n && str_trim(lines).p[0] == '[') buf_char(&b, '\n');
    buf_str(&b, lines);
  }
  *text = arena_str(q->world->arena, buf_view(&b));
  buf_done(&b);
  return toml_read(q->world->arena, *text, &now, f);
}

bool connect_restored(const struct connect_undoing *how, str now, str before, str *out, struct fault *f) {
  ASSERT(how->place_count > 0);
  *out = now;
  for (size_t i = 0; i < how->place_count; i++) {
    struct asking q = {how->world, how->places[i]};
    if (!(q.place->toml ? restore_toml : restore_json)(&q, before, out, f)) return false;
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "app/clients/takeover.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/config.h"

bool takeover_open(struct takeover *t, struct client_world *w, const char *own_file, struct fault *f) {
  *t = (struct takeover){.world = w};
  str path = own_file ? str_of(own_file) : config_user_file(w->env, "mcp.json", w->arena);
  bool ok = own_servers_open(&t->own, path, w->arena, f);
  if (!ok) t->own.disk.path = path;
  return ok;
}

static struct taken *add(struct takeover *t) {
  ASSERT(t->count <= t->cap);
  if (t->count == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 16;
    struct taken *grown = ARENA_ARRAY(t->world->arena, struct taken, cap);
    if (t->count) memcpy(grown, t->list, t->count * sizeof *grown);
    t->list = grown;
    t->cap = cap;
  }
  return &t->list[t->count++];
}

void takeover_place(struct takeover *t, const struct client_place *p, const struct client_file *c) {
  struct client_entry *entries;
  size_t n = client_file_entries(c, t->world, p, &entries);
  if (n) t->places++;
  for (size_t i = 0; i < n; i++) {
    struct taken *it = add(t);
    *it = (struct taken){.entry = entries[i], .place = p, .name = entries[i].name, .status = TAKEOVER_PRESENT};
    bool added = false;
    if (entries[i].own) {
      it->status = TAKEOVER_OWN;
      continue;
    }
    if (t->count > CONFIG_MAX_SERVERS) it->entry.why = "there are too many servers";
    if (it->entry.why) it->status = TAKEOVER_REFUSED;
    else it->name = own_servers_take(&t->own, &entries[i], clients[p->client].name, t->world->folder, &added);
    if (added) it->status = TAKEOVER_ADDED;
    ASSERT((it->status == TAKEOVER_REFUSED) == (it->entry.why != NULL));
  }
}

const struct taken *takeover_find(const struct takeover *t, const struct client_place *p, str name) {
  for (size_t i = 0; i < t->count; i++)
    if (t->list[i].place == p && str_eq(t->list[i].entry.name, name)) return &t->list[i];
  return NULL;
}

size_t takeover_added(const struct takeover *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->count; i++) n += t->list[i].status == TAKEOVER_ADDED;
  return n;
}

// ---- the report

static str for_people(struct arena *a, str s) {
  char *copy = arena_cstr(a, s);
  str_mask_controls(copy, s.n);
  return (str){copy, s.n};
}

static void print_one(const struct takeover *t, const struct taken *it) {
  struct arena *a = t->world->arena;
  str was = for_people(a, it->entry.name), name = for_people(a, it->name), shown = it->entry.shown;
  switch (it->status) {
  case TAKEOVER_ADDED: printf("  + %.*s  %.*s\n", STR_ARG(name), STR_ARG(shown)); break;
  case TAKEOVER_PRESENT: printf("  = %.*s  %.*s (already there)\n", STR_ARG(name), STR_ARG(shown)); break;
  case TAKEOVER_OWN: printf("  - %.*s  (Toolgate itself)\n", STR_ARG(name)); break;
  case TAKEOVER_REFUSED: printf("  ! %.*s  cannot be used: %s\n", STR_ARG(name), it->entry.why); break;
  }
  if (!str_eq(name, was)) printf("      renamed from %.*s: another server has that name\n", STR_ARG(was));
  for (size_t i = 0; i < it->entry.note_count; i++) printf("      %.*s\n", STR_ARG(it->entry.notes[i]));
}

void takeover_print(const struct takeover *t) {
  for (size_t i = 0; i < t->count; i++) {
    const struct taken *it = &t->list[i];
    if (i == 0 || t->list[i - 1].place != it->place)
      printf("%s, %.*s\n", clients[it->place->client].title, STR_ARG(it->place->file));
    print_one(t, it);
  }
}

void takeover_put(const struct takeover *t, struct json_writer *w) {
  static const char *const words[] = {[TAKEOVER_ADDED] = "added",
                                      [TAKEOVER_PRESENT] = "present",
                                      [TAKEOVER_OWN] = "own",
                                      [TAKEOVER_REFUSED] = "refused"};
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (size_t i = 0; i < t->count; i++) {
    const struct taken *it = &t->list[i];
    json_begin_object(w);
    ASSERT((size_t)it->status < sizeof words / sizeof *words);
    json_member_str(w, STR("name"), it->name);
    if (!str_eq(it->name, it->entry.name)) json_member_str(w, STR("was"), it->entry.name);
    json_member_str(w, STR("client"), str_of(clients[it->place->client].name));
    json_member_str(w, STR("file"), it->place->file);
    json_member_str(w, STR("status"), str_of(words[it->status]));
    if (it->entry.why) json_member_str(w, STR("reason"), str_of(it->entry.why));
    json_put_key(w, STR("notes"));
    json_begin_array(w);
    for (size_t k = 0; k < it->entry.note_count; k++) json_put_str(w, it->entry.notes[k]);
    json_end_array(w);
    json_end_object(w);
  }
  json_end_array(w);
}

void takeover_complain(const char *command, str file, const struct fault *f) {
  // Prints the position "line 3, column 7" as file:3:7, which editors can open.
  unsigned long line = 0, column = 0;
  char *rest = NULL;
  if (!strncmp(f->path, "line ", 5)) line = strtoul(f->path + 5, &rest, 10);
  if (rest && !strncmp(rest, ", column ", 9)) column = strtoul(rest + 9, NULL, 10);
  fprintf(stderr, "%s: %.*s", command, STR_ARG(file));
  if (line) fprintf(stderr, ":%lu", line);
  if (column) fprintf(stderr, ":%lu", column);
  fprintf(stderr, ": %s\n", f->message);
}

// SPDX-License-Identifier: Apache-2.0
#include "app/check/check_found.h"

static const char *const many[DIRECTORY_KINDS] = {"tools", "resources", "prompts"};

static const struct inventory_server *find(const struct inventory *found, str server, unsigned *out_index) {
  for (unsigned i = 0; i < found->server_count; i++) {
    if (!str_eq(found->servers[i].name, server)) continue;
    *out_index = i;
    return &found->servers[i];
  }
  return NULL;
}

// Returns whether the numbers of definitions are from an earlier run, because the server failed in this run.
static bool is_remembered(const struct inventory_server *s) {
  return s->error && (s->count[DIRECTORY_TOOLS] || s->count[DIRECTORY_RESOURCES] || s->count[DIRECTORY_PROMPTS]);
}

// ---- text

// Appends a name from a server, without control characters that could move the cursor.
static void print_name(struct buf *out, str name) {
  size_t from = out->n;
  buf_str(out, name);
  ASSERT(out->over || out->n - from == name.n);
  if (!out->over) str_mask_controls(out->p + from, name.n);
}

static void print_kind(struct buf *out, const struct inventory *found, unsigned index, enum directory_kind kind) {
  const struct kind_index *kind_index = &found->directory->kind_indexes[kind];
  bool any = false;
  for (size_t i = 0; i < kind_index->count; i++) {
    const struct entry *e = &kind_index->entries[i];
    ASSERT(e->source < found->server_count);
    if (e->source != index || e->hidden) continue;
    if (any) buf_str(out, STR(", "));
    else buf_printf(out, "    %s: ", many[kind]);
    print_name(out, e->item->name);
    any = true;
  }
  if (any) buf_char(out, '\n');
}

static void print_notes(struct buf *out, const struct inventory *found, str server) {
  for (size_t i = 0; i < found->directory->note_count; i++) {
    const struct directory_note *n = &found->directory->notes[i];
    if (!str_eq(n->server, server) || !(n->skipped || n->unsound)) continue;
    buf_str(out, n->skipped ? STR("    left out: ") : STR("    cannot be called: "));
    print_name(out, n->name);
    buf_printf(out, ": %.*s\n", STR_ARG(n->reason));
  }
}

static void print_counts(struct buf *out, const struct inventory_server *s) {
  ASSERT(s->available && !s->error);
  buf_printf(out, "    ready in %llu ms, MCP %s", (unsigned long long)s->start_ms,
             s->revision ? s->revision : "of an unknown revision");
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++)
    buf_printf(out, "%s %zu %s%s", kind ? "," : ":", s->count[kind], directory_kind_name((enum directory_kind)kind),
               s->count[kind] == 1 ? "" : "s");
  buf_char(out, '\n');
}

void check_print_found(struct buf *out, const struct inventory *found, str server) {
  unsigned index;
  const struct inventory_server *s = find(found, server, &index);
  if (!s) return;
  if (s->error) buf_printf(out, "    failed: %s\n", s->error);
  if (is_remembered(s)) buf_str(out, STR("    definitions of its last successful start:\n"));
  if (!s->error) print_counts(out, s);
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) print_kind(out, found, index, (enum directory_kind)kind);
  print_notes(out, found, server);
}

// ---- JSON

static void write_kind(struct json_writer *w, const struct inventory *found, unsigned index, enum directory_kind kind) {
  const struct kind_index *kind_index = &found->directory->kind_indexes[kind];
  json_put_key(w, str_of(many[kind]));
  json_begin_array(w);
  for (size_t i = 0; i < kind_index->count; i++)
    if (kind_index->entries[i].source == index && !kind_index->entries[i].hidden)
      json_put_str(w, kind_index->entries[i].item->name);
  json_end_array(w);
}

static void write_notes(struct json_writer *w, const struct inventory *found, str server) {
  json_put_key(w, STR("faults"));
  json_begin_array(w);
  for (size_t i = 0; i < found->directory->note_count; i++) {
    const struct directory_note *n = &found->directory->notes[i];
    if (!str_eq(n->server, server) || !(n->skipped || n->unsound)) continue;
    json_begin_object(w);
    json_member_str(w, STR("name"), n->name);
    json_member_str(w, STR("reason"), n->reason);
    json_member_bool(w, STR("left_out"), n->skipped);
    json_end_object(w);
  }
  json_end_array(w);
}

void check_write_found(struct json_writer *w, const struct inventory *found, str server) {
  unsigned index;
  const struct inventory_server *s = find(found, server, &index);
  if (!s) return;
  json_member_bool(w, STR("available"), s->available);
  if (s->error) json_member_str(w, STR("error"), str_of(s->error));
  if (is_remembered(s)) json_member_bool(w, STR("remembered"), true);
  if (s->revision) json_member_str(w, STR("revision"), str_of(s->revision));
  if (s->revision) json_member_u64(w, STR("start_ms"), s->start_ms);
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) write_kind(w, found, index, (enum directory_kind)kind);
  write_notes(w, found, server);
}

// SPDX-License-Identifier: Apache-2.0
#include "upstream/snapshot.h"

#include <stdio.h>

#include "base/mem.h"
#include "json/pointer.h"
#include "json/write.h"

struct snapshot_reader {
  struct snapshot *s;
  struct arena nodes;
  struct buf pointer;  // scratch
  kind_report *report;
  void *ctx;
  bool failed;
};

enum { MAX_POINTER = 4096 };

// ---- problem reports

static void report_at(struct snapshot_reader *r, bool fatal, const char *message) {
  r->failed = r->failed || fatal;
  r->report(r->ctx, fatal, buf_view(&r->pointer), message);
}

// Sets r->pointer to the place of a problem: /group/name, /group if `name` is empty, or the root if both are empty.
static void point_at(struct snapshot_reader *r, str group, str name) {
  buf_reset(&r->pointer);
  if (group.n) json_pointer_push(&r->pointer, group);
  if (name.n) json_pointer_push(&r->pointer, name);
}

static void fail_at(struct snapshot_reader *r, str group, str name, const char *message) {
  point_at(r, group, name);
  report_at(r, true, message);
}

// ---- definitions

static bool read_entry(struct snapshot_reader *r, enum item_kind kind, const struct json *v,
                       struct snapshot_entry *out) {
  str name;
  const struct json *named = json_get(v, str_of(item_kind_rules[kind].name_key));
  if (!json_string(named, &r->s->arena, &name) || !name.n) return false;
  *out = (struct snapshot_entry){name, json_compacted(&r->s->arena, json_span(v))};
  return true;
}

// Reports all unusable entries of a list in one message, which contains the place of the first of these entries.
static void note_left_out(struct snapshot_reader *r, enum item_kind kind, str group, size_t first, size_t count) {
  char message[128];
  struct str_digits digits;
  const char *key = item_kind_rules[kind].name_key;
  if (!count) return;
  point_at(r, group, str_from_u64(first, &digits));
  if (count == 1) snprintf(message, sizeof message, "is left out: must be an object with a string \"%s\"", key);
  else
    snprintf(message, sizeof message,
             "is left out, and %zu more of this list: each must be an object with a string \"%s\"", count - 1, key);
  report_at(r, false, message);
}

static void read_list(struct snapshot_reader *r, enum item_kind kind, str group, const struct json *list) {
  struct snapshot *s = r->s;
  size_t index = 0, first_bad = 0, bad = 0;
  if (!json_is(list, JSON_ARRAY)) {
    fail_at(r, group, STR_NONE, "must be a list");
    return;
  }
  s->entries[kind] = ARENA_ARRAY(&s->arena, struct snapshot_entry, list->count + 1);
  JSON_EACH(it, list) {
    struct snapshot_entry *e = &s->entries[kind][s->count[kind]];
    bool usable = s->count[kind] < DEFINITIONS_MAX_ITEMS && read_entry(r, kind, it, e);
    if (!usable && !bad++) first_bad = index;
    index++;
    if (!usable) continue;
    s->count[kind]++;
    map_add(&s->by_name[kind], e->name, e);
  }
  note_left_out(r, kind, group, first_bad, bad);
}

// ---- replies

static void read_reply(struct snapshot_reader *r, enum item_kind kind, const struct json *v) {
  struct snapshot *s = r->s;
  struct snapshot_entry *e = ARENA_NEW(&s->arena, struct snapshot_entry);
  *e = (struct snapshot_entry){json_key(v, &s->arena), json_compacted(&s->arena, json_span(v))};
  const char *wrong = NULL;
  if (!json_is(v, JSON_OBJECT)) wrong = "is left out: must be a complete result object";
  // A reply for a resource needs no definition, because its URI may match a template.
  else if (kind != ITEM_RESOURCE && !map_find(&s->by_name[kind], e->name))
    wrong = "is left out: the catalog lists nothing with this name";
  if (!wrong) {
    map_add(&s->replies[kind], e->name, e);
    return;
  }
  buf_reset(&r->pointer);
  json_pointer_push(&r->pointer, STR("replies"));
  json_pointer_push(&r->pointer, str_of(item_kind_rules[kind].list_key));
  json_pointer_push(&r->pointer, e->name);
  report_at(r, false, wrong);
}

static bool kind_of_replies(str key, enum item_kind *out) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (kind == ITEM_TEMPLATE || !str_eq(key, str_of(item_kind_rules[kind].list_key))) continue;
    *out = (enum item_kind)kind;
    return true;
  }
  return false;
}

static void read_replies(struct snapshot_reader *r, const struct json *replies) {
  if (!json_is(replies, JSON_OBJECT)) {
    fail_at(r, STR("replies"), STR_NONE, "must be an object");
    return;
  }
  JSON_EACH(group, replies) {
    enum item_kind kind;
    str key = json_key(group, &r->nodes);
    if (!kind_of_replies(key, &kind)) {
      fail_at(r, STR("replies"), key, "is not a known key: must be \"tools\", \"resources\" or \"prompts\"");
    } else if (!json_is(group, JSON_OBJECT)) {
      fail_at(r, STR("replies"), key, "must be an object");
    } else {
      JSON_EACH(it, group) read_reply(r, kind, it);
    }
  }
}

// ---- the whole file

static void read_text(struct snapshot_reader *r, const struct json *root, str key, str *out) {
  const struct json *v = json_get(root, key);
  if (v && !json_string(v, &r->s->arena, out)) fail_at(r, key, STR_NONE, "must be a string");
}

static void read_object(struct snapshot_reader *r, const struct json *root) {
  size_t lists = 0;
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    str key = str_of(item_kind_rules[kind].list_key);
    const struct json *list = json_get(root, key);
    if (!list) continue;
    lists++;
    read_list(r, (enum item_kind)kind, key, list);
  }
  if (!lists)
    fail_at(r, STR_NONE, STR_NONE, "must have \"tools\", \"resources\", \"resourceTemplates\" or \"prompts\"");
  read_text(r, root, STR("server"), &r->s->server);
  read_text(r, root, STR("instructions"), &r->s->instructions);
  const struct json *replies = json_get(root, STR("replies"));
  if (replies) read_replies(r, replies);
}

static void read_root(struct snapshot_reader *r, const struct json *root) {
  if (json_is(root, JSON_ARRAY)) read_list(r, ITEM_TOOL, STR_NONE, root);
  else if (json_is(root, JSON_OBJECT)) read_object(r, root);
  else
    fail_at(r, STR_NONE, STR_NONE,
            "must be an array of tools, or an object with tools, resources, resourceTemplates or prompts");
  size_t total = 0;
  for (int kind = 0; kind < ITEM_KINDS; kind++) total += r->s->count[kind];
  if (!total && !r->failed)
    fail_at(r, STR_NONE, STR_NONE, "has no usable entry: list at least one tool, resource or prompt");
}

static const struct json *parse(struct snapshot_reader *r) {
  struct fault f;
  char message[FAULT_TEXT + FAULT_PATH + 4];
  const struct json *root = json_parse(&r->nodes, buf_view(&r->s->file), &json_default_limits, &f);
  if (root) return root;
  snprintf(message, sizeof message, "%s: %s", f.path, f.message);
  fail_at(r, STR_NONE, STR_NONE, message);
  return NULL;
}

struct snapshot *snapshot_new(struct buf *file, const struct hash_key *seed, kind_report *report, void *ctx) {
  struct snapshot *s = MEM_NEW(struct snapshot);
  struct snapshot_reader r = {.s = s, .report = report, .ctx = ctx};
  s->own.refs = 1;
  s->file = *file;
  *file = (struct buf){.max = file->max};
  arena_init(&s->arena);
  arena_init(&r.nodes);
  buf_init(&r.pointer, MAX_POINTER);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    map_init(&s->by_name[kind], seed);
    map_init(&s->replies[kind], seed);
  }
  const struct json *root = parse(&r);
  if (root) read_root(&r, root);
  arena_done(&r.nodes);
  buf_done(&r.pointer);
  if (r.failed) snapshot_free(&s);
  return s;
}

void snapshot_free(struct snapshot **snapshot) {
  struct snapshot *s = *snapshot;
  *snapshot = NULL;
  if (!s) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    map_done(&s->by_name[kind]);
    map_done(&s->replies[kind]);
  }
  arena_done(&s->arena);
  buf_done(&s->file);
  mem_free(s);
}

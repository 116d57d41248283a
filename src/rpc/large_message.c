// SPDX-License-Identifier: Apache-2.0
#include "rpc/large_message.h"

#include "base/assert.h"
#include "base/mem.h"
#include "text/hidden.h"
#include "json/scan.h"

enum { LARGE_MESSAGE_MAGIC = 0x6c6d7331 };

// Folds members of `result` that have many values: keeps their text without nodes. These members are at the third level
// of a reply. The result of a task is parsed separately (fold_inner); there, they are at the second level.
static const struct json_fold fold_result = {.depth = 3, .values = 1 << 16};
static const struct json_fold fold_inner = {.depth = 2, .values = 1 << 16};

bool large_message_answers(str text, uint64_t *out_id) {
  struct json_scan scan = json_scan(text);
  struct json_walk walk;
  uint64_t id = 0;
  bool has_id = false, replies = false;
  json_walk_open(&walk, &scan, json_scan_first(&scan));
  while (!(has_id && replies) && json_walk_next(&walk)) {
    if (json_walk_key_is(&walk, STR("method"))) return false;
    if (json_walk_key_is(&walk, STR("id"))) has_id = str_to_u64(json_walk_value(&walk), &id);
    if (json_walk_key_is(&walk, STR("result")) || json_walk_key_is(&walk, STR("error"))) replies = true;
  }
  if (has_id && replies) *out_id = id;
  return has_id && replies;
}

struct large_message *large_message_new(struct loop *l, struct buf *memory, str text, uint64_t id, size_t max_bytes) {
  struct large_message *p = MEM_NEW(struct large_message);
  ASSERT(text.p >= memory->p && text.p + text.n <= memory->p + memory->n);
  p->magic = LARGE_MESSAGE_MAGIC;
  p->refs = 1;
  p->loop = l;
  p->memory = *memory;
  p->text = text;
  p->id = id;
  p->limits = (struct json_limits){.max_bytes = max_bytes, .max_depth = json_default_limits.max_depth};
  arena_init(&p->arena);
  bulk_hold_init(&p->hold, &l->bulk, NULL, NULL);
  bulk_set(&p->hold, text.n);
  buf_init(memory, memory->max);
  return p;
}

struct large_message *large_message_ref(struct large_message *p) {
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  ASSERT(p->refs > 0);
  p->refs++;
  return p;
}

// The new id is written so that it ends where the old id ended. If the new id is shorter, the text before the id is
// moved, and the message then starts later in memory.
bool large_message_rename(struct large_message *p, str id, str *out) {
  enum { MOVED_AT_MOST = 4096 };
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  ASSERT(p->good && p->message.id);
  const struct json *root = p->message.root, *old = p->message.id;
  size_t before = (size_t)(old->p - root->p), shift = old->n - id.n;
  // True if the reply has members that JSON-RPC does not define. They must be dropped, which cannot be done in place.
  bool more = root->count > RPC_REPLY_MEMBERS;
  if (id.n > old->n || before > MOVED_AT_MOST || more) return false;
  char *start = p->memory.p + (root->p - p->memory.p);
  memmove(start + shift, start, before);
  memcpy(start + shift + before, id.p, id.n);
  *out = (str){start + shift, root->n - shift};
  return true;
}

void large_message_empty(struct large_message *p) {
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  arena_done(&p->arena);
  buf_done(&p->memory);
}

void large_message_unref(struct large_message **large_message) {
  struct large_message *p = *large_message;
  *large_message = NULL;
  if (!p) return;
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  ASSERT(p->refs > 0);
  if (--p->refs) return;
  bulk_set(&p->hold, 0);
  large_message_empty(p);
  p->magic = 0;
  mem_free(p);
}

// ---- parsing, on a worker thread

// Returns whether all members that the gateway itself reads have nodes. If one is folded (kept as text without nodes),
// sets p->fault.
static bool is_readable(struct large_message *p, const struct json *object) {
  static const str names[] = {STR("_meta"), STR("inputRequests"), STR("task"), STR("error"), STR("data")};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!json_is_folded(json_get(object, names[i]))) continue;
    fault_set(&p->fault, FAULT_UPSTREAM_ERROR, "answered with too many JSON values in \"%.*s\"", STR_ARG(names[i]));
    return false;
  }
  return true;
}

// Replaces the message's text with `text` and parses it. Returns NULL if `text` is not a valid message.
static struct json *parse_instead(struct large_message *p, struct buf text) {
  struct fault f;
  struct rpc_error err;
  arena_reset(&p->arena);
  buf_done(&p->memory);
  p->memory = text;
  p->text = buf_view(&text);
  struct json *root = json_parse_folding(&p->arena, p->text, &p->limits, &fold_result, &f);
  return root && rpc_read(root, &p->arena, &p->message, &err) ? root : NULL;
}

// Removes reserved _meta keys and hidden characters, and parses the message again if its text has changed. Returns the
// root, or NULL if the new text is not a message.
static struct json *clean(struct large_message *p, struct json *root) {
  struct buf text;
  if (p->message.reserved) {
    buf_init(&text, p->text.n + 16);
    rpc_put_unreserved(&text, &p->message, &p->arena);
    root = parse_instead(p, text);
  }
  if (!root || !p->remove_hidden || !hidden_in_json(json_span(root))) return root;
  buf_init(&text, hidden_json_max(json_span(root)));
  if (hidden_put_json(&text, json_span(root))) return parse_instead(p, text);
  buf_done(&text);
  return root;
}

static bool parse(struct large_message *p) {
  struct rpc_error err;
  struct fault f;
  uint64_t id = 0;
  struct json *root = json_parse_folding(&p->arena, p->text, &p->limits, &fold_result, &f);
  if (!root) {
    fault_set(&p->fault, FAULT_PROTOCOL, "answered with invalid JSON: %s", f.message);
    return false;
  }
  root = rpc_read(root, &p->arena, &p->message, &err) ? clean(p, root) : NULL;
  bool replies = root && (p->message.kind == RPC_RESULT || p->message.kind == RPC_ERROR);
  if (!replies || !p->message.id || !str_to_u64(json_span(p->message.id), &id) || id != p->id) {
    fault_set(&p->fault, FAULT_PROTOCOL, "answered with a message that is not a valid reply to the request");
    return false;
  }
  struct json *body = json_get(root, p->message.kind == RPC_RESULT ? STR("result") : STR("error"));
  if (!json_is(body, JSON_OBJECT)) return true;
  if (!is_readable(p, body)) return false;
  // The reply may be about a task: its `result` then contains the task's own `result`.
  struct json *inner = json_get(body, STR("result"));
  if (!json_is_folded(inner)) return true;
  return json_unfold(&p->arena, inner, &p->limits, &fold_inner, &p->fault) &&
         (!json_is(inner, JSON_OBJECT) || is_readable(p, inner));
}

static void on_run(struct job *w) {
  struct large_message *p = CONTAINER_OF(w, struct large_message, job);
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  p->good = parse(p);
  p->message.large_message = p;
}

static void on_done(struct job *w) {
  struct large_message *p = CONTAINER_OF(w, struct large_message, job);
  if (p->opened) p->opened(p->ctx, p);
  large_message_unref(&p);
}

void large_message_open(struct large_message *p, void (*opened)(void *ctx, struct large_message *p), void *ctx) {
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  ASSERT(opened && !p->job.run);  // at most once
  p->opened = opened;
  p->ctx = ctx;
  p->job.run = on_run;
  p->job.done = on_done;
  job_start(p->loop, &large_message_ref(p)->job);
}

void large_message_forget(struct large_message *p) {
  ASSERT_MAGIC(p, LARGE_MESSAGE_MAGIC);
  p->opened = NULL;
}

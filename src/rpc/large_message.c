// SPDX-License-Identifier: Apache-2.0
#include "rpc/large_message.h"

#include "base/assert.h"
#include "base/mem.h"
#include "text/hidden.h"
#include "json/scan.h"

// The members of the result lie at the third level.
static const struct json_fold fold_result = {.depth = 3, .values = 1 << 16};
// The same, when the result of a task is taken out of what tells of the task.
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
  p->refs++;
  return p;
}

// What is before the id goes up to the new one.
bool large_message_rename(struct large_message *p, str id, str *out) {
  enum { MOVED_AT_MOST = 4096 };
  const struct json *root = p->message.root, *old = p->message.id;
  size_t before = (size_t)(old->p - root->p), shift = old->n - id.n;
  bool more = root->count > RPC_REPLY_MEMBERS;  // members that are left out
  if (id.n > old->n || before > MOVED_AT_MOST || more) return false;
  char *start = p->memory.p + (root->p - p->memory.p);
  memmove(start + shift, start, before);
  memcpy(start + shift + before, id.p, id.n);
  *out = (str){start + shift, root->n - shift};
  return true;
}

void large_message_empty(struct large_message *p) {
  arena_done(&p->arena);
  buf_done(&p->memory);
}

void large_message_unref(struct large_message **large_message) {
  struct large_message *p = *large_message;
  *large_message = NULL;
  if (!p || --p->refs) return;
  bulk_set(&p->hold, 0);
  large_message_empty(p);
  mem_free(p);
}

// ---- reading, on another thread

static bool fail(struct large_message *p, enum fault_code code, const char *what) {
  fault_set(&p->fault, code, "%s", what);
  return false;
}

// What others look into has its nodes.
static bool is_plain(struct large_message *p, const struct json *object) {
  static const str looked_into[] = {STR("_meta"), STR("inputRequests"), STR("task"), STR("error"), STR("data")};
  for (size_t i = 0; i < sizeof looked_into / sizeof *looked_into; i++) {
    if (!json_is_folded(json_get(object, looked_into[i]))) continue;
    fault_set(&p->fault, FAULT_UPSTREAM_ERROR, "answered with more values in \"%.*s\" than that may have",
              STR_ARG(looked_into[i]));
    return false;
  }
  return true;
}

// The result of a task is a result itself.
static bool unfold_inner(struct large_message *p, struct json *result) {
  struct json *inner = json_get(result, STR("result"));
  if (!json_is_folded(inner)) return true;
  return json_unfold(&p->arena, inner, &p->limits, &fold_inner, &p->fault) &&
         (!json_is(inner, JSON_OBJECT) || is_plain(p, inner));
}

// Reads another text in place of its own.
static struct json *read_instead(struct large_message *p, struct buf text) {
  struct fault f;
  struct rpc_error err;
  arena_reset(&p->arena);
  buf_done(&p->memory);
  p->memory = text;
  p->text = buf_view(&text);
  struct json *root = json_parse_folding(&p->arena, p->text, &p->limits, &fold_result, &f);
  return root && rpc_read(root, &p->arena, &p->message, &err) ? root : NULL;
}

// Copies the text without what the server may not say of itself in _meta, and reads that.
static struct json *clean(struct large_message *p) {
  struct buf text;
  buf_init(&text, p->text.n + 16);
  rpc_put_unreserved(&text, &p->message, &p->arena);
  return read_instead(p, text);
}

// The same without hidden characters; root if there are none.
static struct json *unhide(struct large_message *p, struct json *root) {
  struct buf text;
  str said = json_span(root);
  if (!p->remove_hidden || !hidden_in_json(said)) return root;
  buf_init(&text, hidden_json_max(said));
  if (hidden_put_json(&text, said)) return read_instead(p, text);
  buf_done(&text);
  return root;
}

static bool read_message(struct large_message *p) {
  struct rpc_error err;
  struct fault f;
  uint64_t id;
  struct json *root = json_parse_folding(&p->arena, p->text, &p->limits, &fold_result, &f);
  if (!root) {
    fault_set(&p->fault, FAULT_PROTOCOL, "answered with what is no JSON: %s", f.message);
    return false;
  }
  bool read = rpc_read(root, &p->arena, &p->message, &err);
  if (read && p->message.reserved) root = clean(p);
  if (read && root) root = unhide(p, root);
  if (!read || !root) return fail(p, FAULT_PROTOCOL, "answered with what is no reply");
  bool replies = p->message.kind == RPC_RESULT || p->message.kind == RPC_ERROR;
  bool known = p->message.id && str_to_u64(json_span(p->message.id), &id) && id == p->id;
  if (!replies || !known) return fail(p, FAULT_PROTOCOL, "answered with what is no reply");
  struct json *body = json_get(root, p->message.kind == RPC_RESULT ? STR("result") : STR("error"));
  if (!json_is(body, JSON_OBJECT)) return true;
  return is_plain(p, body) && unfold_inner(p, body);
}

static void on_run(struct job *w) {
  struct large_message *p = CONTAINER_OF(w, struct large_message, job);
  p->good = read_message(p);
  p->message.large_message = p;
}

static void on_done(struct job *w) {
  struct large_message *p = CONTAINER_OF(w, struct large_message, job);
  if (p->opened) p->opened(p->ctx, p);
  large_message_unref(&p);
}

void large_message_open(struct large_message *p, void (*opened)(void *ctx, struct large_message *p), void *ctx) {
  p->opened = opened;
  p->ctx = ctx;
  p->job.run = on_run;
  p->job.done = on_done;
  job_start(p->loop, &large_message_ref(p)->job);
}

void large_message_forget(struct large_message *p) {
  p->opened = NULL;
}

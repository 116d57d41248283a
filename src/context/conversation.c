// SPDX-License-Identifier: Apache-2.0
#include "context/conversation.h"

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "result/text_cut.h"
#include "text/tokens.h"

#define SAVED "contexts/"

static bool has_role(const struct json *message, str role) {
  return json_equals_str(json_get(message, STR("role")), role);
}

// ---- reading

bool conversation_read(const struct json *root, struct arena *a, struct conversation *out, struct fault *f) {
  const struct json *messages = json_get(root, STR("messages"));
  struct conversation c = {.root = root};
  if (!json_is(messages, JSON_ARRAY) || messages->count > CONVERSATION_MESSAGES) {
    fault_set(f, FAULT_INVALID,
              "the conversation must be an object whose member \"messages\" is a list of at most %d messages",
              CONVERSATION_MESSAGES);
    return false;
  }
  c.messages = ARENA_ARRAY(a, const struct json *, messages->count + 1);
  JSON_EACH(it, messages) {
    if (it->type != JSON_OBJECT) {
      fault_set(f, FAULT_INVALID, "message %zu of the conversation is not an object", c.count);
      return false;
    }
    c.messages[c.count++] = it;
  }
  while (c.leading < c.count && has_role(c.messages[c.leading], STR("system"))) c.leading++;
  *out = c;
  return true;
}

bool conversation_id_ok(str id) {
  for (size_t i = 0; i < id.n; i++)
    if ((unsigned char)id.p[i] < ' ' || id.p[i] == 0x7f) return false;
  return id.n && id.n <= CONVERSATION_ID_BYTES;
}

// ---- sizes of messages

typedef void each_text(void *ctx, str text);

static void visit_content(const struct json *content, struct arena *a, each_text *each, void *ctx) {
  str text;
  if (json_string(content, a, &text)) {
    each(ctx, text);
    return;
  }
  if (!json_is(content, JSON_ARRAY)) return;
  JSON_EACH(part, content) {
    if (json_string(json_get(part, STR("text")), a, &text)) each(ctx, text);
    else each(ctx, json_span(part));
  }
}

static void visit_texts(const struct json *message, struct arena *a, each_text *each, void *ctx) {
  const struct json *calls = json_get(message, STR("tool_calls"));
  visit_content(json_get(message, STR("content")), a, each, ctx);
  if (!json_is(calls, JSON_ARRAY)) return;
  JSON_EACH(call, calls) {
    const struct json *function = json_get(call, STR("function"));
    str text;
    if (json_string(json_get(function, STR("name")), a, &text)) each(ctx, text);
    if (json_string(json_get(function, STR("arguments")), a, &text)) each(ctx, text);
  }
}

static void add_tokens(void *ctx, str text) {
  *(size_t *)ctx += tokens_count(text);
}

static void add_chars(void *ctx, str text) {
  *(size_t *)ctx += measure_all_chars(text);
}

static void add_text(void *ctx, str text) {
  struct buf *b = ctx;
  if (b->n) buf_char(b, '\n');
  buf_str(b, text);
}

size_t conversation_tokens(const struct json *message, struct arena *scratch) {
  size_t n = 0;
  visit_texts(message, scratch, add_tokens, &n);
  return n;
}

size_t conversation_quarters(const struct json *message, struct arena *scratch) {
  size_t n = 0;
  visit_texts(message, scratch, add_chars, &n);
  return (n + 3) / 4;
}

str conversation_text(const struct json *message, struct arena *a) {
  struct buf b;
  buf_init(&b, 2 * (size_t)message->n + 16);
  visit_texts(message, a, add_text, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- turns

struct turn_list {
  const struct conversation *c;
  struct arena *a;
  struct map calls;  // maps the id of a call to the index of the message with this call (size_t)
  size_t *starts, count;
};

static void note_calls(struct turn_list *t, size_t i) {
  const struct json *calls = json_get(t->c->messages[i], STR("tool_calls"));
  if (!json_is(calls, JSON_ARRAY)) return;
  JSON_EACH(call, calls) {
    size_t *place = ARENA_NEW(t->a, size_t);
    str id;
    if (!json_string(json_get(call, STR("id")), t->a, &id)) continue;
    *place = i;
    map_remove(&t->calls, id);  // if two calls have the same id, a reply belongs to the later call
    map_add(&t->calls, id, place);
  }
}

// Handles a reply to a call: joins the turn of the call and all later turns into one turn, because a reply must stay in
// the turn of its call.
static void join_reply(struct turn_list *t, size_t i) {
  str id;
  if (!json_string(json_get(t->c->messages[i], STR("tool_call_id")), t->a, &id)) return;
  const size_t *call = map_find(&t->calls, id);
  while (call && t->starts[t->count - 1] > *call) t->count--;
  ASSERT(t->count > 0);
}

size_t *conversation_turns(const struct conversation *c, struct arena *a, size_t *out_count) {
  ASSERT(c->leading <= c->count);
  struct turn_list t = {.c = c, .a = a, .starts = ARENA_ARRAY(a, size_t, c->count - c->leading + 1)};
  struct hash_key seed = rand_hash_key(&rand_system);
  map_init(&t.calls, &seed);
  for (size_t i = c->leading; i < c->count; i++) {
    bool begins = !has_role(c->messages[i], STR("tool")) && !has_role(c->messages[i], STR("system"));
    if (!t.count || begins) t.starts[t.count++] = i;
    else join_reply(&t, i);
    note_calls(&t, i);
  }
  map_done(&t.calls);
  *out_count = t.count;
  return t.starts;
}

// ---- saving

struct saving {
  struct store_wait wait;
  enum store_kept kept;
};

static void on_saved(struct store_wait *w, enum store_kept kept) {
  CONTAINER_OF(w, struct saving, wait)->kept = kept;
}

bool conversation_save(struct store *s, str context, str text, struct fault *f) {
  struct saving saving = {.kept = STORE_LOST};
  struct buf name;
  store_wait_init(&saving.wait, on_saved);
  buf_init(&name, CONVERSATION_ID_BYTES + 64);
  buf_str(&name, STR(SAVED));
  buf_str(&name, context);
  archive_save(s, STR(CONVERSATION_OWNER), buf_view(&name), text, &saving.wait);
  buf_done(&name);
  if (saving.kept == STORE_KEPT) return true;
  struct fault why;
  fault_set(&why, FAULT_IO, "the store is full or not writable");
  store_usable(s, &why);
  fault_set(f, FAULT_IO, "cannot save the conversation: %s", why.message);
  return false;
}

bool conversation_load(struct store *s, str context, struct arena *a, str *out, struct fault *f) {
  str name = arena_printf(a, SAVED "%.*s", STR_ARG(context));
  struct archive_loading load = {.read = {.done = NULL}};
  archive_load(s, STR(CONVERSATION_OWNER), name, a, &load);
  if (!store_answered(&load.read, f)) return false;
  *out = load.text;
  return true;
}

bool conversation_saved(struct store *s, size_t max, struct arena *a, str **out, size_t *out_count, struct fault *f) {
  struct archive_listing list = {.read = {.done = NULL}};
  archive_names(s, STR(CONVERSATION_OWNER), STR(SAVED), max, a, &list);
  if (!store_answered(&list.read, f)) return false;
  *out = list.names.list;
  *out_count = list.names.count;
  for (size_t i = 0; i < *out_count; i++) (*out)[i] = str_from((*out)[i], STR(SAVED).n);
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// Moves messages of a conversation to the archive, and writes the marker, a message that replaces the moved messages.
#include "base/assert.h"
#include "base/crypto/hash.h"
#include "context/conversation.h"
#include "json/write.h"

#define MARK "[archive] "

enum { MADE_ID = 16 };  // number of hex digits in an id that made_id returns

// ---- the marker

struct marker {
  uint64_t count;  // number of archived messages so far
  str last;        // id of the last archived message, from which made_id derives the next id
};

static void take_word(str *text, str *out) {
  str_cut(*text, ' ', out, text);
}

// Reads a marker, which looks like this: [archive] 12 earlier messages are kept, the last is 0123456789abcdef: toolgate
// context archive --context "ID"
static bool read_marker(const struct json *message, struct arena *a, struct marker *out) {
  static const str words[] = {STR("earlier"), STR("messages"), STR("are"), STR("kept,"),
                              STR("the"),     STR("last"),     STR("is")};
  str text, word, count;
  if (!json_string(json_get(message, STR("content")), a, &text) || !str_starts(text, STR(MARK))) return false;
  text = str_from(text, STR(MARK).n);
  take_word(&text, &count);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    take_word(&text, &word);
    if (!str_eq(word, words[i])) return false;
  }
  bool ends = str_cut(text, ':', &word, &text);
  if (!ends || !word.n || !str_to_u64(count, &out->count)) return false;
  out->last = word;
  return true;
}

static void put_marker(struct json_writer *w, const struct marker *m, str context, struct arena *a) {
  str text =
      arena_printf(a, MARK "%llu earlier messages are kept, the last is %.*s: toolgate context archive --context %.*s",
                   (unsigned long long)m->count, STR_ARG(m->last), STR_ARG(json_escaped(a, context)));
  json_begin_object(w);
  json_member_str(w, STR("role"), STR("system"));
  json_member_str(w, STR("content"), text);
  json_end_object(w);
}

// ---- the archive

// Returns an id that depends on the message and on all messages before it.
static str made_id(str before, const struct json *message, struct arena *a) {
  unsigned char hash[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(arena_printf(a, "%.*s\n%.*s", STR_ARG(before), STR_ARG(json_compacted(a, json_span(message)))), hash);
  hash_hex(hash, sizeof hash, hex);
  return arena_str(a, (str){hex, MADE_ID});
}

// Returns the message's own id. If the message has no id, or an id that the marker cannot contain, returns an id from
// made_id.
static str message_id(str before, const struct json *message, struct arena *a) {
  str id;
  bool own = json_string(json_get(message, STR("id")), a, &id) && conversation_id_ok(id) && !memchr(id.p, ':', id.n) &&
             !memchr(id.p, ' ', id.n);
  return own ? id : made_id(before, message, a);
}

struct looking {
  str text;
  bool found;
};

static bool on_found(void *ctx, const struct archive_record *r) {
  struct looking *l = ctx;
  l->found = str_eq(l->text, r->text);
  return !l->found;
}

static bool is_there(struct store *s, const struct archive_record *r, bool *out, struct fault *f) {
  struct looking l = {.text = r->text};
  struct archive_search search = {
      .query = {.context = r->context, .kind = r->kind, .message_id = r->message_id}, .each = on_found, .ctx = &l};
  archive_find(s, STR(CONVERSATION_OWNER), &search);
  if (!store_answered(&search.read, f)) return false;
  *out = l.found;
  return true;
}

struct adding {
  struct store_wait wait;
  enum store_kept kept;
};

static void on_added(struct store_wait *w, enum store_kept kept) {
  CONTAINER_OF(w, struct adding, wait)->kept = kept;
}

// Adds the records to the archive durably: either all of them or none.
static bool add(struct store *s, const struct archive_record *records, size_t count, struct fault *f) {
  struct adding adding = {.kept = STORE_LOST};
  if (!count) return true;
  store_wait_init(&adding.wait, on_added);
  archive_add(s, STR(CONVERSATION_OWNER), records, count, &adding.wait);
  if (adding.kept == STORE_KEPT) return true;
  fault_set(f, FAULT_IO, "cannot archive messages: the archive is full or not writable; the conversation is unchanged");
  return false;
}

// Adds the messages [from, to) to the archive, except messages that are already in the archive. Updates the marker.
static bool move(const struct trim_order *o, const struct conversation *c, size_t from, size_t to, struct arena *a,
                 struct marker *m, size_t *out_added, struct fault *f) {
  struct archive_record *records = ARENA_ARRAY(a, struct archive_record, to - from + 1);
  size_t n = 0;
  for (size_t i = from; i < to; i++) {
    bool there;
    struct archive_record r = {
        .context = o->context, .kind = STR(CONVERSATION_KIND), .text = json_span(c->messages[i])};
    m->last = r.message_id = message_id(m->last, c->messages[i], a);
    if (!is_there(o->store, &r, &there, f)) return false;
    if (!there) records[n++] = r;
  }
  if (!add(o->store, records, n, f)) return false;
  m->count += to - from;
  *out_added = n;
  return true;
}

// ---- the conversation

static size_t weigh(const struct trim_order *o, const struct conversation *c, size_t from, size_t to,
                    struct arena *scratch) {
  size_t n = 0;
  for (size_t i = from; i < to; i++) {
    n += o->estimated ? conversation_quarters(c->messages[i], scratch) : conversation_tokens(c->messages[i], scratch);
    arena_reset(scratch);
  }
  return n;
}

// Returns the index of the first message that stays; *out_size is the total size of the messages that stay.
static size_t first_kept(const struct trim_order *o, const struct conversation *c, struct arena *a, size_t *out_size) {
  struct arena scratch;
  size_t count, at = c->leading, *turns = conversation_turns(c, a, &count);
  arena_init(&scratch);
  size_t size = weigh(o, c, at, c->count, &scratch);
  for (size_t i = 1; i < count && size > o->limit; i++) {
    size -= weigh(o, c, at, turns[i], &scratch);
    at = turns[i];
  }
  arena_done(&scratch);
  *out_size = size;
  return at;
}

static str rewrite(const struct trim_order *o, const struct conversation *c, const struct json *old_marker, size_t kept,
                   const struct marker *m, struct arena *a) {
  struct buf b;
  buf_init(&b, (size_t)c->root->n + 8 * CONVERSATION_ID_BYTES + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (size_t i = 0; i < c->leading; i++)
    if (c->messages[i] != old_marker) json_put_raw(&w, json_span(c->messages[i]));
  put_marker(&w, m, o->context, a);
  for (size_t i = kept; i < c->count; i++) json_put_raw(&w, json_span(c->messages[i]));
  json_end_array(&w);
  struct json_edit edit = {STR("messages"), buf_view(&b)};
  str text = json_edited(a, c->root, &edit, 1);
  buf_done(&b);
  return text;
}

bool conversation_trim(const struct trim_order *order, const struct conversation *c, struct arena *a,
                       struct trimmed *out, struct fault *f) {
  ASSERT(order->store && c->leading <= c->count);
  struct marker m = {.last = STR("none")};
  const struct json *old_marker = NULL;
  struct trimmed t = {.text = json_span(c->root)};
  for (size_t i = 0; i < c->leading; i++)
    if (read_marker(c->messages[i], a, &m)) old_marker = c->messages[i];
  size_t kept = first_kept(order, c, a, &t.size);
  t.moved = kept - c->leading;
  t.over = t.size > order->limit;
  if (t.moved) {
    if (!move(order, c, c->leading, kept, a, &m, &t.added, f)) return false;
    t.text = rewrite(order, c, old_marker, kept, &m, a);
  }
  *out = t;
  return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "effect/dead_letters.h"

#include "base/assert.h"
#include "base/mem.h"

#define KIND STR("dead")

enum { TEXT_MAX = 1 << 20 };

void dead_letter_put(struct store *s, const struct dead_letter *l, struct store_wait *w) {
  struct buf b;
  buf_init(&b, TEXT_MAX);
  struct json_writer j = json_writer(&b);
  json_begin_object(&j);
  json_member_int(&j, STR("v"), 1);
  json_member_str(&j, STR("kind"), l->kind);
  json_member_str(&j, STR("reason"), l->reason);
  json_member_int(&j, STR("at"), l->at);
  json_member_str(&j, STR("entry"), l->entry);
  json_member_raw(&j, l->kind, l->body);
  json_end_object(&j);
  entry_put(s, KIND, l->id, buf_view(&b), DEAD_LETTER_MS, w);
  buf_done(&b);
}

void dead_letter_remove(struct store *s, str id, struct store_wait *w) {
  ASSERT(id.n);  // an empty id would take the oldest letter
  entry_take(s, KIND, id, w);
}

// A search. If the store answers later, nobody waits any more, and the search is freed when it ends.
struct finding {
  struct entry_search search;
  bool (*each)(void *ctx, const struct dead_letter *l);
  void *ctx;
  struct arena arena;
  bool left;
  char id[DEAD_LETTER_ID_SIZE];
};

// A letter that cannot be read is shown without its contents, because it still needs a person.
static bool on_entry(void *ctx, const struct shared_entry *e) {
  static const struct json_limits limits = {TEXT_MAX, JSON_DEEPEST, 0};
  struct finding *x = ctx;
  struct arena *a = &x->arena;
  struct fault f;
  if (x->left) return false;
  const struct json *v = json_parse(a, e->bytes, &limits, &f), *body;
  struct dead_letter l = {
      .id = e->id, .kind = STR("unreadable"), .reason = STR(""), .entry = STR(""), .body = STR("{}")};
  json_string(json_get(v, STR("kind")), a, &l.kind);
  json_string(json_get(v, STR("reason")), a, &l.reason);
  json_string(json_get(v, STR("entry")), a, &l.entry);
  json_int(json_get(v, STR("at")), &l.at);
  if ((body = json_get(v, l.kind))) l.body = json_span(body);
  bool more = x->each(x->ctx, &l);
  arena_reset(a);  // each letter may have a megabyte
  return more;
}

static void finding_free(struct finding *x) {
  arena_done(&x->arena);
  mem_free(x);
}

static void on_found(struct store_read *read) {
  struct finding *x = CONTAINER_OF(CONTAINER_OF(read, struct entry_search, read), struct finding, search);
  if (x->left) finding_free(x);
}

bool dead_letters_find(struct store *s, str id, bool (*each)(void *ctx, const struct dead_letter *l), void *ctx,
                       struct fault *f) {
  if (id.n >= DEAD_LETTER_ID_SIZE) return true;  // no letter has such an id
  struct finding *x = MEM_NEW(struct finding);
  if (id.n) memcpy(x->id, id.p, id.n);
  x->search = (struct entry_search){.read.done = on_found, .each = on_entry, .ctx = x};
  x->each = each;
  x->ctx = ctx;
  arena_init(&x->arena);
  x->search.id = str_of(x->id);
  entry_find(s, KIND, &x->search);
  if (!x->search.read.over) {
    x->left = true;
    fault_set(f, FAULT_IO, "the store does not answer at once");
    return false;
  }
  bool ok = store_answered(&x->search.read, f);
  finding_free(x);
  return ok;
}

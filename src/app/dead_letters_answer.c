// SPDX-License-Identifier: Apache-2.0
#include "app/dead_letters_answer.h"

#include "base/mem.h"
#include "effect/dead_letters.h"
#include "effect/idempotency.h"

enum { ANSWER_MAX = 64 << 20, LETTERS_MAX = 10000 };

// ---- a letter as JSON

static void put_time(struct json_writer *w, int64_t ms) {
  char text[CLOCK_TEXT];
  size_t n = clock_print(ms, text);
  json_member_str(w, STR("at"), (str){text, n});
}

// Writes the members of the body, without the arguments unless `whole` is set.
static void put_body(struct json_writer *w, str body, bool whole) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, body, &json_default_limits, &f);
  if (json_is(v, JSON_OBJECT))
    JSON_EACH(it, v)
      if (whole || !json_key_is(it, STR("args"))) json_member_raw(w, json_key(it, &a), json_span(it));
  arena_done(&a);
}

static void put_letter(struct json_writer *w, const struct dead_letter *l, bool whole) {
  json_begin_object(w);
  json_member_str(w, STR("id"), l->id);
  json_member_str(w, STR("kind"), l->kind);
  json_member_str(w, STR("reason"), l->reason);
  put_time(w, l->at);
  put_body(w, l->body, whole);
  json_end_object(w);
}

// ---- list, show

struct listing {
  struct json_writer w;
  size_t count;
  bool whole;
};

static bool on_letter(void *ctx, const struct dead_letter *l) {
  struct listing *x = ctx;
  put_letter(&x->w, l, x->whole);
  return ++x->count < LETTERS_MAX && !x->w.out->over;
}

static bool list(const struct dead_letters_operation *o, struct buf *out, struct fault *f) {
  struct listing x = {.w = json_writer(out)};
  bool searching = o->idempotency && idempotency_recovers(o->idempotency);
  json_begin_object(&x.w);
  json_member_bool(&x.w, STR("searching"), searching);
  json_put_key(&x.w, STR("letters"));
  json_begin_array(&x.w);
  bool ok = dead_letters_find(o->store, STR(""), on_letter, &x, f);
  json_end_array(&x.w);
  json_end_object(&x.w);
  return ok;
}

static bool show(const struct dead_letters_operation *o, str id, struct buf *out, struct fault *f) {
  struct listing x = {.w = json_writer(out), .whole = true};
  if (id.n && !dead_letters_find(o->store, id, on_letter, &x, f)) return false;
  if (!x.count) fault_set(f, FAULT_NOT_FOUND, "there is no dead letter with this id");
  return x.count > 0;
}

// ---- decisions

// A decision that is being stored.
struct deciding {
  struct store_wait wait;
  struct store *store;
  dead_letters_done *done;
  void *ctx;
  char letter[DEAD_LETTER_ID_SIZE];
};

static void on_stored(struct store_wait *w, enum store_kept kept) {
  struct deciding *d = CONTAINER_OF(w, struct deciding, wait);
  struct fault f;
  bool ok = kept == STORE_KEPT && w->value;
  if (ok) dead_letter_remove(d->store, str_of(d->letter), NULL);
  else
    fault_set(&f, FAULT_IO,
              kept == STORE_KEPT ? "another process has changed the call: run the command again"
                                 : "the decision cannot be stored in state_dir");
  d->done(d->ctx, STR("{\"resolved\":true}"), ok ? NULL : &f);
  mem_free(d);
}

static void audit(const struct dead_letters_operation *o, const struct json *params, const char *what) {
  struct arena a;
  struct audit_event e = {.operation = STR("dead_letters"), .decision = AUDIT_ALLOW};
  str note = STR("");
  arena_init(&a);
  json_string(json_get(params, STR("id")), &a, &e.target);
  json_string(json_get(params, STR("by")), &a, &e.principal);
  json_string(json_get(params, STR("note")), &a, &note);
  e.reason = arena_printf(&a, "%s%s%.*s", what, note.n ? ": " : "", STR_ARG(note));
  o->audit(o->ctx, &e);
  arena_done(&a);
}

struct found_letter {
  struct arena a;
  str kind, entry;  // in the arena; kind is STR_NONE if there is no letter
};

static bool on_found(void *ctx, const struct dead_letter *l) {
  struct found_letter *x = ctx;
  x->kind = arena_str(&x->a, l->kind);
  x->entry = arena_str(&x->a, l->entry);
  return false;
}

static bool find(const struct dead_letters_operation *o, str id, struct found_letter *out, struct fault *f) {
  if (id.n && !dead_letters_find(o->store, id, on_found, out, f)) return false;
  if (!out->kind.p) fault_set(f, FAULT_NOT_FOUND, "there is no dead letter with this id");
  return out->kind.p;
}

static void resolve(const struct dead_letters_operation *o, const struct json *params, str id, dead_letters_done *done,
                    void *ctx) {
  struct found_letter x = {.kind = STR_NONE};
  bool happened = json_equals_str(json_get(params, STR("outcome")), STR("done"));
  struct fault f;
  bool ok = happened || json_equals_str(json_get(params, STR("outcome")), STR("not-done"));
  arena_init(&x.a);
  if (!ok) fault_set(&f, FAULT_INVALID, "the outcome must be done or not-done");
  ok = ok && find(o, id, &x, &f);
  struct deciding *d = MEM_NEW(struct deciding);
  *d = (struct deciding){.store = o->store, .done = done, .ctx = ctx};
  store_wait_init(&d->wait, on_stored);
  if (ok) {
    memcpy(d->letter, id.p, id.n);
    // The outcome may have become known, although the gateway could not remove the letter.
    if (!str_eq(x.kind, STR("call")) || !idempotency_is_unknown(o->store, o->gateways, x.entry))
      dead_letter_remove(o->store, id, &d->wait);
    else ok = idempotency_resolve(o->store, o->gateways, x.entry, happened, o->keep_ms, &d->wait, &f);
  }
  if (ok) audit(o, params, happened ? "resolved as done" : "resolved as not done");
  else {
    mem_free(d);
    done(ctx, STR_NONE, &f);
  }
  arena_done(&x.a);
}

void dead_letters_answer(const struct dead_letters_operation *o, const struct json *params, dead_letters_done *done,
                         void *ctx) {
  const struct json *action = json_get(params, STR("action"));
  bool retry = json_equals_str(action, STR("retry"));
  struct arena a;
  struct buf b;
  struct fault f;
  str id = STR("");
  bool ok = false;
  arena_init(&a);
  buf_init(&b, ANSWER_MAX);
  json_string(json_get(params, STR("id")), &a, &id);
  if (json_equals_str(action, STR("resolve"))) {
    resolve(o, params, id, done, ctx);
  } else {
    fault_set(&f, FAULT_INVALID, "the action must be list, show, retry or resolve");
    if (json_equals_str(action, STR("list"))) ok = list(o, &b, &f);
    else if (retry || json_equals_str(action, STR("show"))) ok = show(o, id, &b, &f);
    if (ok && retry) audit(o, params, "sent again");
    done(ctx, ok ? buf_view(&b) : STR_NONE, ok ? NULL : &f);
  }
  buf_done(&b);
  arena_done(&a);
}

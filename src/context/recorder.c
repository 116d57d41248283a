// SPDX-License-Identifier: Apache-2.0
#include "context/recorder.h"

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "json/write.h"

enum {
  NAME_BYTES = 1024,
  EVENT_BYTES = 8 * RECORDER_TEXT_BYTES,
  MOST_HANDLES = 32,
  LOOKED_AT = 2 * RECORDER_TEXT_BYTES,  // maximum bytes of a text that are searched for secrets
  // Number of bytes dropped from the end of the first LOOKED_AT bytes of a longer text: an incomplete secret may begin
  // there.
  TAIL_BYTES = 8 << 10,
};

struct recorder {
  struct store *store;
  const struct log *log;
  const struct clock *clock;
  uint64_t session_bytes;
  uint64_t next;           // number of the last recorded call
  struct store_wait wait;  // reports whether a write succeeded; watches only one write at a time
  bool complained;
};

static void on_written(struct store_wait *w, enum store_kept kept) {
  struct recorder *r = CONTAINER_OF(w, struct recorder, wait);
  if (kept == STORE_KEPT || r->complained) return;
  r->complained = true;
  log_warn(r->log, "sessions are no longer recorded: the archive is not writable or full; raise archive.max_bytes");
}

struct recorder *recorder_new(struct store *s, const struct log *log, const struct clock *clock,
                              uint64_t session_bytes) {
  ASSERT(s && log && clock);
  struct recorder *r = MEM_NEW(struct recorder);
  r->store = s;
  r->log = log;
  r->clock = clock;
  r->session_bytes = session_bytes;
  store_wait_init(&r->wait, on_written);
  return r;
}

void recorder_free(struct recorder **recorder) {
  struct recorder *r = *recorder;
  if (!r) return;
  *recorder = NULL;
  store_wait_cancel(&r->wait);
  mem_free(r);
}

// ---- writing

static void put_time(struct json_writer *w, int64_t ms) {
  char text[CLOCK_TEXT];
  size_t n = clock_print_second(ms, text);
  json_member_str(w, STR("timestamp"), (str){text, n});
}

// Writes a text, cut to RECORDER_TEXT_BYTES. Masks secrets before the cut, because a part of a secret cannot be
// recognised. Only the first LOOKED_AT bytes of a longer text are masked; the last TAIL_BYTES of these are dropped,
// because a secret may be incomplete there.
static void put_text(struct json_writer *w, const struct recorded_call *c, str text, struct arena *a) {
  str looked_at = utf8_cut(text, LOOKED_AT), masked = secrets_mask(a, looked_at, &c->secrets);
  size_t most = masked.n;
  if (looked_at.n < text.n) most = masked.n > TAIL_BYTES ? masked.n - TAIL_BYTES : 0;
  str shown = utf8_cut(masked, most < RECORDER_TEXT_BYTES ? most : RECORDER_TEXT_BYTES);
  bool cut = looked_at.n < text.n || shown.n < masked.n;
  json_member_str(w, STR("text"), cut ? arena_printf(a, "%.*s…", STR_ARG(shown)) : shown);
}

// Writes the members that both events of a call (its request and its result) have: metadata and timestamp.
static void put_end(struct json_writer *w, const struct recorded_call *c, bool is_result, int64_t now) {
  json_put_key(w, STR("metadata"));
  json_begin_object(w);
  json_member_str(w, STR("function_name"), utf8_cut(c->name, NAME_BYTES));
  if (is_result && c->failed) json_member_bool(w, STR("failed"), true);
  if (is_result && c->artifact_count > 1) {
    json_put_key(w, STR("artifacts"));
    json_begin_array(w);
    for (size_t i = 0; i < c->artifact_count && i < MOST_HANDLES; i++)
      json_put_str(w, utf8_cut(c->artifacts[i], NAME_BYTES));
    json_end_array(w);
  }
  json_end_object(w);
  put_time(w, now);
}

static str call_event(const struct recorded_call *c, uint64_t number, int64_t now, struct arena *a) {
  struct buf b;
  buf_init(&b, EVENT_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("id"), arena_printf(a, "c%llu", (unsigned long long)number));
  json_member_str(&w, STR("type"), STR("tool_call"));
  put_text(&w, c, c->arguments.p ? c->arguments : STR("{}"), a);
  put_end(&w, c, false, now);
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static str result_event(const struct recorded_call *c, uint64_t number, int64_t now, struct arena *a) {
  struct buf b;
  buf_init(&b, EVENT_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("id"), arena_printf(a, "r%llu", (unsigned long long)number));
  json_member_str(&w, STR("type"), STR("tool_result"));
  json_member_str(&w, STR("parent_id"), arena_printf(a, "c%llu", (unsigned long long)number));
  put_text(&w, c, c->text, a);
  if (c->artifact_count) json_member_str(&w, STR("artifact_ref"), utf8_cut(c->artifacts[0], NAME_BYTES));
  put_end(&w, c, true, now);
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static str session_event(const struct recorded_call *c, int64_t now, struct arena *a) {
  struct buf b;
  buf_init(&b, EVENT_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("session"), c->session);
  json_member_str(&w, STR("client"), utf8_cut(c->client, NAME_BYTES));
  json_member_str(&w, STR("principal"), utf8_cut(c->principal, NAME_BYTES));
  put_time(&w, now);
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

void recorder_add(struct recorder *r, const struct recorded_call *call, uint64_t *recorded) {
  ASSERT(recorded);
  ASSERT(call->session.n);
  int64_t now = clock_wall_ms(r->clock);
  struct archive_record records[3];
  size_t n = 0;
  struct arena a;
  if (*recorded >= r->session_bytes) return;
  arena_init(&a);
  uint64_t number = ++r->next;
  str events[] = {call_event(call, number, now, &a), result_event(call, number, now, &a)};
  if (!*recorded)
    records[n++] = (struct archive_record){
        .context = call->session, .kind = STR(RECORDER_SESSION), .text = session_event(call, now, &a), .time_ms = now};
  for (size_t i = 0; i < 2; i++)
    records[n++] = (struct archive_record){
        .context = call->session, .kind = STR(RECORDER_EVENT), .text = events[i], .time_ms = now};
  *recorded += events[0].n + events[1].n;
  archive_add(r->store, STR(RECORDER_OWNER), records, n, store_waiting(&r->wait) ? NULL : &r->wait);
  arena_done(&a);
}

// ---- reading

// The state of a search that reads all matching records of the store. The search is repeated, because one search
// returns a limited number of records.
struct recorder_walk {
  bool (*each)(struct recorder_walk *w, const struct archive_record *r);
  uint64_t last;
  size_t seen;
  bool stopped;
};

static bool on_record(void *ctx, const struct archive_record *r) {
  struct recorder_walk *w = ctx;
  w->last = r->number;
  w->seen++;
  w->stopped = !w->each(w, r);
  return !w->stopped;
}

static bool walk(struct recorder_walk *w, struct store *s, struct archive_query q, struct fault *f) {
  struct archive_search search = {.query = q, .each = on_record, .ctx = w};
  do {
    w->seen = 0;
    search.query.after = w->last;
    archive_find(s, STR(RECORDER_OWNER), &search);
    if (!store_answered(&search.read, f)) return false;
  } while (w->seen == ARCHIVE_FIND_MAX && !w->stopped);
  return true;
}

struct exporting {
  struct recorder_walk walk;
  struct buf *out;
};

static bool export_line(struct recorder_walk *w, const struct archive_record *r) {
  struct buf *out = CONTAINER_OF(w, struct exporting, walk)->out;
  buf_str(out, r->text);
  buf_char(out, '\n');
  return !out->over;
}

bool recorder_export(struct store *s, str session, struct buf *out, struct fault *f) {
  struct exporting e = {{.each = export_line}, out};
  struct archive_query q = {.context = session, .kind = STR(RECORDER_EVENT)};
  if (!walk(&e.walk, s, q, f)) return false;
  if (out->over) fault_set(f, FAULT_LIMIT, "the recorded session is larger than %zu bytes", out->max);
  else if (!out->n)
    fault_set(f, FAULT_NOT_FOUND, "unknown session \"%.*s\"; toolgate context sessions lists all sessions",
              STR_ARG(session));
  return out->n && !out->over;
}

struct recorder_listing {
  struct recorder_walk walk;
  struct arena *a;
  struct map sessions;  // name -> struct recorded_session
};

static struct recorded_session *session_of(struct recorder_listing *l, const struct archive_record *r) {
  struct recorded_session *s = map_find(&l->sessions, r->context);
  if (s) return s;
  s = ARENA_NEW(l->a, struct recorded_session);
  *s = (struct recorded_session){.session = arena_str(l->a, r->context), .began_ms = r->time_ms};
  map_add(&l->sessions, s->session, s);
  return s;
}

static bool list_record(struct recorder_walk *w, const struct archive_record *r) {
  struct recorder_listing *l = CONTAINER_OF(w, struct recorder_listing, walk);
  struct recorded_session *s = session_of(l, r);
  struct fault f;
  s->last_ms = r->time_ms;
  if (str_eq(r->kind, STR(RECORDER_EVENT))) {
    s->calls++;  // counts events here; recorder_list divides by two, because each call has two events
    return true;
  }
  const struct json *v = json_parse(l->a, arena_str(l->a, r->text), &json_default_limits, &f);
  json_string(json_get(v, STR("client")), l->a, &s->client);
  json_string(json_get(v, STR("principal")), l->a, &s->principal);
  return true;
}

bool recorder_list(struct store *s, struct arena *a, struct recorded_session **out, size_t *out_count,
                   struct fault *f) {
  struct recorder_listing l = {.walk = {.each = list_record}, .a = a};
  struct hash_key seed = rand_hash_key(&rand_system);
  map_init(&l.sessions, &seed);
  bool ok = walk(&l.walk, s, (struct archive_query){.context = STR("")}, f);
  if (ok) {
    size_t n = 0, at = 0;
    *out = ARENA_ARRAY(a, struct recorded_session, map_count(&l.sessions) + 1);
    for (struct recorded_session *it; (it = map_next(&l.sessions, &at)); n++) {
      (*out)[n] = *it;
      (*out)[n].calls /= 2;
    }
    *out_count = n;
  }
  map_done(&l.sessions);
  return ok;
}

// SPDX-License-Identifier: Apache-2.0
#include "context/retrieve.h"

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/find.h"
#include "text/search/search.h"

struct search {
  const struct retrieve_order *order;
  struct arena arena;    // holds the results
  struct arena scratch;  // temporary memory for the current record
  struct map seen;       // context and id of each message found
  bool (*each)(void *ctx, const struct retrieved *r);
  void *ctx;
  size_t told;
  uint64_t last;  // number of the last record that was read
  size_t looked_at;
  bool stopped;
  // The following members are for a ranked search only.
  struct retrieved *found;
  struct search_doc *docs;
  size_t count;
};

// ---- matching

static str text_of(struct search *s, const struct archive_record *r) {
  struct fault f;
  const struct json *message = json_parse(&s->scratch, r->text, &json_default_limits, &f);
  return message ? conversation_text(message, &s->scratch) : r->text;
}

static bool is_duplicate(struct search *s, const struct archive_record *r) {
  str key = arena_printf(&s->scratch, "%.*s\n%.*s", STR_ARG(r->context), STR_ARG(r->message_id));
  if (map_find(&s->seen, key)) return true;
  map_add(&s->seen, arena_str(&s->arena, key), s);
  return false;
}

static struct retrieved as_found(struct search *s, const struct archive_record *r) {
  return (struct retrieved){r->context, r->message_id, r->number, r->time_ms, is_duplicate(s, r), 0, r->text};
}

// ---- in the order of the archive

static bool on_record(void *ctx, const struct archive_record *r) {
  struct search *s = ctx;
  const struct retrieve_order *o = s->order;
  s->last = r->number;
  s->looked_at++;
  arena_reset(&s->scratch);
  if (o->contains.n && !find_nocase(text_of(s, r), o->contains)) return true;
  struct retrieved found = as_found(s, r);
  bool more = s->each(s->ctx, &found);
  s->stopped = !more || ++s->told == o->limit;
  return !s->stopped;
}

static struct archive_query query_of(const struct retrieve_order *o) {
  return (struct archive_query){
      .context = o->context, .kind = STR(CONVERSATION_KIND), .from_ms = o->from_ms, .until_ms = o->until_ms};
}

// Reads all matching records in the order of the archive. Repeats the search, because one search of the store returns a
// limited number of records.
static bool list(struct search *s, struct fault *f) {
  struct archive_search search = {.query = query_of(s->order), .each = on_record, .ctx = s};
  do {
    s->looked_at = 0;
    search.query.after = s->last;
    archive_find(s->order->store, STR(CONVERSATION_OWNER), &search);
    if (!store_answered(&search.read, f)) return false;
  } while (s->looked_at == ARCHIVE_FIND_MAX && !s->stopped);
  return true;
}

// ---- the best first

static bool on_candidate(void *ctx, const struct archive_record *r) {
  struct search *s = ctx;
  arena_reset(&s->scratch);
  str text = text_of(s, r);
  if (s->order->contains.n && !find_nocase(text, s->order->contains)) return true;
  struct retrieved *found = &s->found[s->count];
  struct search_doc *doc = &s->docs[s->count++];
  *found = as_found(s, r);
  found->context = arena_str(&s->arena, r->context);
  found->message_id = arena_str(&s->arena, r->message_id);
  found->message = arena_str(&s->arena, r->text);
  text.n = text.n < SEARCH_MOST_TEXT_BYTES ? text.n : SEARCH_MOST_TEXT_BYTES;
  doc->id = arena_printf(&s->arena, "%020llu", (unsigned long long)r->number);
  doc->fields[SEARCH_DESCRIPTION] = arena_str(&s->arena, text);
  return true;
}

static void report_best(struct search *s, const struct hash_key *seed) {
  struct search_source source = {.server = STR("archive"), .docs = s->docs, .count = s->count};
  struct search_part *part = search_part_new(&source, seed);
  struct search_index *index = search_index_new(&part, 1, seed);
  struct search_hit hits[SEARCH_MOST_HITS];
  size_t most = s->order->limit && s->order->limit < SEARCH_MOST_HITS ? s->order->limit : SEARCH_MOST_HITS;
  struct search_query q = {.text = s->order->search, .top_k = most};
  arena_reset(&s->scratch);
  size_t n = search_run(index, &q, &s->scratch, hits);
  for (size_t i = 0; i < n; i++) {
    struct retrieved *found = &s->found[hits[i].doc];
    found->score = (double)hits[i].score;
    if (!s->each(s->ctx, found)) break;
  }
  search_index_free(&index);
  search_part_unref(&part);
}

static bool rank(struct search *s, const struct hash_key *seed, struct fault *f) {
  struct archive_search search = {.query = query_of(s->order), .each = on_candidate, .ctx = s};
  search.query.newest_first = true;
  search.query.limit = RETRIEVE_RANKED;
  s->found = mem_zero(RETRIEVE_RANKED * sizeof *s->found);
  s->docs = mem_zero(RETRIEVE_RANKED * sizeof *s->docs);
  archive_find(s->order->store, STR(CONVERSATION_OWNER), &search);
  bool ok = store_answered(&search.read, f);
  if (ok) report_best(s, seed);
  mem_free(s->found);
  mem_free(s->docs);
  return ok;
}

bool retrieve(const struct retrieve_order *order, bool (*each)(void *ctx, const struct retrieved *r), void *ctx,
              struct fault *f) {
  ASSERT(order->store && each);
  struct search s = {.order = order, .each = each, .ctx = ctx};
  struct hash_key seed = rand_hash_key(&rand_system);
  arena_init(&s.arena);
  arena_init(&s.scratch);
  map_init(&s.seen, &seed);
  bool ok = order->search.n ? rank(&s, &seed, f) : list(&s, f);
  map_done(&s.seen);
  arena_done(&s.scratch);
  arena_done(&s.arena);
  return ok;
}

// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/decision.h"

#include <stdio.h>

void decision_id(const struct rand_source *r, char out[DECISION_ID_SIZE]) {
  char hex[RAND_ID_SIZE];
  rand_id(r, hex);
  hex[12] = '4';
  hex[16] = "89ab"[hex[16] & 3];
  snprintf(out, DECISION_ID_SIZE, "rd-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

// ---- ambiguity

// The two best scores are close if the second score is more than this fraction of the first. The limit is a fraction
// because scores have no fixed scale.
static const double CLOSE = 0.85;

enum { BEST = 3 };

struct best {
  struct {
    str name, namespace;
    double score;
  } cards[BEST];
  size_t count;
};

// Adds a card if its score is among the best. Compares the scores of all cards, because answers are not ordered by
// score if gateway.cache_stable is set.
static void add_best(struct best *b, struct arena *a, const struct json *card) {
  double score = 0;
  json_double(json_get(card, STR("score")), &score);
  size_t at = b->count;
  while (at > 0 && b->cards[at - 1].score < score) at--;
  if (at == BEST) return;
  if (b->count < BEST) b->count++;
  memmove(&b->cards[at + 1], &b->cards[at], (b->count - at - 1) * sizeof b->cards[0]);
  b->cards[at].score = score;
  b->cards[at].name = b->cards[at].namespace = STR_NONE;
  json_string(json_get(card, STR("name")), a, &b->cards[at].name);
  json_string(json_get(card, STR("namespace")), a, &b->cards[at].namespace);
}

static bool is_ambiguous(const struct best *b) {
  if (b->count < 2) return false;
  return b->cards[0].score <= 0 || b->cards[1].score > CLOSE * b->cards[0].score;
}

// Writes the different namespaces of the best cards to `out`, sorted. Returns their number.
static size_t list_namespaces(const struct best *b, str out[BEST]) {
  size_t n = 0;
  for (size_t i = 0; i < b->count; i++) {
    str s = b->cards[i].namespace;
    size_t at = 0;
    while (at < n && str_cmp(out[at], s) < 0) at++;
    if (!s.n || (at < n && str_eq(out[at], s))) continue;
    memmove(&out[at + 1], &out[at], (n - at) * sizeof *out);
    out[at] = s;
    n++;
  }
  return n;
}

static str quote_all(struct arena *a, const str *list, size_t count) {
  str all = STR("");
  for (size_t i = 0; i < count; i++)
    all = arena_printf(a, "%.*s%s'%.*s'", STR_ARG(all), i ? ", " : "", STR_ARG(list[i]));
  return all;
}

static str ask_which(const struct best *b, str query, struct arena *a) {
  str list[BEST];
  size_t n = list_namespaces(b, list);
  if (n >= 2)
    return arena_printf(a, "Did you mean %.*s? Multiple namespaces matched '%.*s'.", STR_ARG(quote_all(a, list, n)),
                        STR_ARG(query));
  for (size_t i = 0; i < b->count; i++) list[i] = b->cards[i].name;
  return arena_printf(a, "Multiple tools could handle '%.*s': %.*s. Which did you mean?", STR_ARG(query),
                      STR_ARG(quote_all(a, list, b->count)));
}

// ---- the record

// excluded_count, gated_count and context_boost_applied are constants: a query excludes no cards and has no hints, and
// items that the agent may not see are not counted.
static void put_metadata(struct json_writer *w, const struct decision *d, struct arena *a) {
  struct best best = {0};
  JSON_EACH(card, d->cards) add_best(&best, a, card);
  bool ambiguous = is_ambiguous(&best);
  json_put_key(w, STR("metadata"));
  json_begin_object(w);
  json_put_key(w, STR("contextweaver"));
  json_begin_object(w);
  json_member_bool(w, STR("is_ambiguous"), ambiguous);
  json_member_u64(w, STR("excluded_count"), 0);
  json_member_u64(w, STR("gated_count"), 0);
  json_member_bool(w, STR("context_boost_applied"), false);
  if (ambiguous) json_member_str(w, STR("clarifying_question"), ask_which(&best, d->query, a));
  if (d->selection) {
    json_put_key(w, STR("selection"));
    selection_write(w, d->selection);
  }
  json_end_object(w);
  json_end_object(w);
}

bool decision_write(struct json_writer *w, const struct decision *d, struct arena *a, struct fault *f) {
  const struct selection *s = d->selection;
  if (!json_is(d->cards, JSON_ARRAY) || !json_first(d->cards)) {
    fault_set(f, FAULT_INVALID, "a routing decision requires at least one card");
    return false;
  }
  json_begin_object(w);
  json_member_str(w, STR("id"), d->id);
  json_member_raw(w, STR("choice_cards"), json_span(d->cards));
  json_member_str(w, STR("timestamp"), d->timestamp);
  json_member_str_or_null(w, STR("selected_item_id"), !s ? STR_NONE : s->selected.p ? s->selected : s->raw);
  json_member_str_or_null(w, STR("selected_card_id"), s ? s->selected : STR_NONE);
  json_member_str_or_null(w, STR("context_summary"), STR_NONE);
  put_metadata(w, d, a);
  json_end_object(w);
  return true;
}

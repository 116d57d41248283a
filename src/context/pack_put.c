// SPDX-License-Identifier: Apache-2.0
// Writes a built prompt as JSON for programs, and the scores of its events as a table for people.
#include <stdio.h>

#include "base/crypto/hash.h"
#include "context/pack_impl.h"

static void put_real(struct json_writer *w, str key, double value) {
  char text[32];
  int n = snprintf(text, sizeof text, "%.6f", value);
  json_member_raw(w, key, (str){text, (size_t)n});
}

static void put_score(struct json_writer *w, const struct pack_item *it) {
  put_real(w, STR("score"), it->score);
  put_real(w, STR("recency"), it->recency);
  put_real(w, STR("similarity"), it->similarity);
  put_real(w, STR("priority"), it->priority);
  put_real(w, STR("brevity"), it->brevity);
}

static void put_included(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("included"));
  json_begin_array(w);
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = &p->items[i];
    if (it->fate != PACK_INCLUDED) continue;
    json_begin_object(w);
    json_member_str(w, STR("id"), it->event->id);
    json_member_str(w, STR("kind"), str_of(event_kind_name(it->event->kind)));
    json_member_u64(w, STR("tokens"), it->alone);
    if (it->redacted) json_member_bool(w, STR("redacted"), true);
    if (it->summarised) json_member_bool(w, STR("summarised"), true);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_dropped(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("dropped"));
  json_begin_array(w);
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = &p->items[i];
    if (it->fate == PACK_INCLUDED) continue;
    json_begin_object(w);
    json_member_str(w, STR("id"), it->event->id);
    json_member_str(w, STR("reason"), str_of(pack_fate_name(it->fate)));
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_kinds(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("tokens_per_section"));
  json_begin_object(w);
  for (int i = 0; i < EVENT_KINDS; i++)
    if (p->kind_tokens[i]) json_member_u64(w, str_of(event_kind_name((enum event_kind)i)), p->kind_tokens[i]);
  json_end_object(w);
}

static void put_stats(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("stats"));
  json_begin_object(w);
  put_kinds(w, p);
  json_member_u64(w, STR("header_footer_tokens"), p->frame_tokens);
  json_member_u64(w, STR("total_candidates"), p->count);
  json_member_u64(w, STR("included_count"), p->fates[PACK_INCLUDED]);
  json_member_u64(w, STR("dropped_count"), p->count - p->fates[PACK_INCLUDED]);
  json_put_key(w, STR("dropped_reasons"));
  json_begin_object(w);
  for (int i = PACK_INCLUDED + 1; i < PACK_FATES; i++)
    if (p->fates[i]) json_member_u64(w, str_of(pack_fate_name((enum pack_fate)i)), p->fates[i]);
  json_end_object(w);
  json_member_u64(w, STR("dedup_removed"), p->fates[PACK_SAID_ALREADY]);
  json_member_u64(w, STR("dependency_closures"), p->closures);
  json_member_str(w, STR("token_estimator"), STR("cl100k_base"));
  json_end_object(w);
}

static void put_facts(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("facts"));
  json_begin_array(w);
  for (size_t i = 0; i < p->fact_count; i++) json_put_str(w, p->facts[i]);
  json_end_array(w);
}

// Writes the handles and ids of the included items that have an artifact.
static void put_artifacts(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("artifacts"));
  json_begin_array(w);
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = &p->items[i];
    if (it->fate != PACK_INCLUDED || !it->artifact.p) continue;
    json_begin_object(w);
    json_member_str(w, STR("handle"), it->artifact);
    json_member_str(w, STR("id"), it->event->id);
    if (it->summarised) {
      unsigned char hash[SHA256_SIZE];
      char hex[2 * SHA256_SIZE + 1];
      hash_sha256(it->event->text, hash);
      hash_hex(hash, sizeof hash, hex);
      json_member_u64(w, STR("size_bytes"), it->event->text.n);
      json_member_str(w, STR("content_hash"), str_of(hex));
    }
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_scores(struct json_writer *w, const struct pack *p) {
  json_put_key(w, STR("scores"));
  json_begin_array(w);
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = &p->items[i];
    json_begin_object(w);
    json_member_str(w, STR("id"), it->event->id);
    json_member_str(w, STR("fate"), str_of(pack_fate_name(it->fate)));
    if (it->fate != PACK_SENSITIVE) put_score(w, it);
    json_end_object(w);
  }
  json_end_array(w);
}

void pack_put(struct json_writer *w, const struct pack_order *order, const struct pack *p, bool explain) {
  json_begin_object(w);
  json_member_str(w, STR("phase"), str_of(pack_phase_name(order->phase)));
  json_member_str(w, STR("query"), order->query);
  json_member_u64(w, STR("budget"), p->budget);
  json_member_u64(w, STR("tokens"), p->tokens);
  json_member_str(w, STR("prompt"), p->prompt);
  put_included(w, p);
  put_dropped(w, p);
  put_stats(w, p);
  put_facts(w, p);
  put_artifacts(w, p);
  if (explain) put_scores(w, p);
  json_end_object(w);
}

void pack_put_table(struct buf *out, const struct pack *p, struct arena *a) {
  struct pack_item **ranked = pack_ranked(p, a);
  buf_printf(out, "%-7s %-8s %-8s %-8s %-8s %7s  %-11s  %-13s  %s\n", "score", "recency", "similar", "priority",
             "brevity", "tokens", "fate", "kind", "id");
  for (size_t i = 0; i < p->count; i++) {
    const struct pack_item *it = ranked[i];
    buf_printf(out, "%.5f %.6f %.6f %.6f %.6f %7zu  %-11s  %-13s  ", it->score, it->recency, it->similarity,
               it->priority, it->brevity, it->alone, pack_fate_name(it->fate), event_kind_name(it->event->kind));
    buf_str(out, it->event->id);
    buf_char(out, '\n');
  }
}

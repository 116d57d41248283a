// SPDX-License-Identifier: Apache-2.0
// Shows the best passages for a query, each on one line with its position and a selector for the text around it.
#include <stdlib.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "result/view/passages.h"
#include "result/view/view_impl.h"
#include "text/oneline.h"

enum {
  TOP = 5,
  TOP_MAX = 50,
  START_MAX = 1000,
  AROUND_LINES = 3,
  AROUND_CHARS = 600,
  WORDS_SHOWN = 100,
  QUERY_MAX = 400
};

struct search_hits {
  const struct view_order *order;
  struct passages passages;
  size_t start;
  size_t place[TOP_MAX];  // for each passage: number of the line or character at which it begins
  bool by_lines;
};

static int compare_places(const void *a, const void *b) {
  const char *x = (*(const struct passage *const *)a)->text.p, *y = (*(const struct passage *const *)b)->text.p;
  return (x > y) - (x < y);
}

// Sets d->place: the number of lines or characters before each passage. Handles the passages in text order, so that the
// text is read once.
static void count_places(struct search_hits *d) {
  ASSERT(d->passages.count <= TOP_MAX);
  const struct passage *sorted[TOP_MAX];  // the passages, sorted by their position in the text
  str bytes = d->order->bytes;
  size_t at = 0, sum = 0;
  for (size_t i = 0; i < d->passages.count; i++) sorted[i] = &d->passages.best[i];
  qsort(sorted, d->passages.count, sizeof(struct passage *), compare_places);
  for (size_t i = 0; i < d->passages.count; i++) {
    size_t to = (size_t)(sorted[i]->text.p - bytes.p);
    str between = {bytes.p + at, to - at};
    bool cut_line = between.n && between.p[between.n - 1] != '\n' && between.p[between.n - 1] != '\r';
    size_t lines = d->by_lines ? measure_lines(between) - cut_line : 0;
    sum += d->by_lines ? lines : measure_all_chars(between);
    d->place[sorted[i] - d->passages.best] = sum;
    at = to;
  }
}

// Returns whether passages are located by lines. In text with very long lines, they are located by characters.
static bool has_lines(str bytes) {
  enum { LOOKED_AT = 64 << 10, LINE = 2000 };
  str begin = {bytes.p, bytes.n < LOOKED_AT ? bytes.n : LOOKED_AT};
  return measure_lines(begin) * LINE >= begin.n;
}

static void put_passage(const struct search_hits *d, size_t i, struct arena *a, struct buf *text) {
  size_t place = d->place[i], around = d->by_lines ? AROUND_LINES : AROUND_CHARS;
  size_t from = place > around ? place - around : 0;
  struct buf repaired;
  buf_init(&repaired, 3 * PASSAGE_BYTES);
  measure_repair(&repaired, utf8_cut(d->passages.best[i].text, PASSAGE_BYTES));
  str shown = oneline(a, buf_view(&repaired));
  buf_printf(text, "%s %zu: %.*s", d->by_lines ? "line" : "character", place, STR_ARG(shown));
  if (d->by_lines)
    buf_printf(text, " | {\"type\":\"lines\",\"start\":%zu,\"end\":%zu}\n", from, place + AROUND_LINES + 2);
  else buf_printf(text, " | {\"type\":\"head\",\"start\":%zu,\"chars\":%d}\n", from, 2 * AROUND_CHARS);
  buf_done(&repaired);
}

// Writes the note that says which passages are shown. `lines` is one more than their number, because the first line is
// a title.
static void note_more(void *ctx, size_t lines, struct buf *out) {
  const struct search_hits *d = ctx;
  size_t shown = lines ? lines - 1 : 0;
  buf_printf(out, "%zu to %zu of %s%zu; ", d->start, d->start + shown, d->passages.more ? "more than " : "",
             d->passages.found);
  view_put_next(out, d->order, d->start + (shown ? shown : 1));
}

static void show_passages(struct search_hits *d, struct arena *a, struct buf *out) {
  struct buf text;
  size_t end = d->start + d->passages.count;
  buf_init(&text, 1 << 20);
  buf_printf(&text, "%s%zu passages hold one of: ", d->passages.more ? "more than " : "", d->passages.found);
  const struct passages *p = &d->passages;
  for (size_t i = 0; i < p->words_count; i++)
    buf_printf(&text, "%s%.*s", i ? ", " : "", STR_ARG(utf8_cut(p->words[i], WORDS_SHOWN / PASSAGE_WORDS)));
  buf_str(&text, d->passages.count ? STR("; the best first\n") : STR("\n"));
  for (size_t i = 0; i < d->passages.count; i++) put_passage(d, i, a, &text);
  bool whole = end >= d->passages.found || end >= START_MAX || !d->passages.count;
  view_put_lines(d->order, buf_view(&text), whole, note_more, d, out);
  buf_done(&text);
}

static bool read_query(const struct view_order *o, struct arena *a, str *out, struct fault *f) {
  if (!view_string(o, STR("query"), STR_NONE, a, out, f)) return false;
  bool blank = true;
  for (size_t i = 0; i < out->n && blank; i++) blank = (unsigned char)out->p[i] <= ' ';
  return (!blank && out->n <= QUERY_MAX) || view_refuse(o, STR("query"), "one or more words", f);
}

bool view_show_search(const struct view_order *o, struct buf *out, struct fault *f) {
  struct search_hits d = {.order = o};
  struct arena a;
  int64_t top, start;
  str query;
  arena_init(&a);
  bool ok = read_query(o, &a, &query, f) && view_number(o, STR("top"), TOP, &top, f) &&
            view_number(o, STR("start"), 0, &start, f);
  if (ok && (top < 1 || top > TOP_MAX)) ok = view_refuse(o, STR("top"), "a number from 1 to 50", f);
  if (ok && (start < 0 || start > START_MAX)) ok = view_refuse(o, STR("start"), "a number from 0 to 1000", f);
  if (ok) {
    d.start = (size_t)start;
    d.by_lines = has_lines(o->bytes);
    passages_find(o->bytes, query, d.start, (size_t)top, &a, &d.passages);
    count_places(&d);
    show_passages(&d, &a, out);
  }
  arena_done(&a);
  return ok;
}

// SPDX-License-Identifier: Apache-2.0
// Search: the first line is a query, each other line is a tool, with its name before the first blank.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "text/search/search.h"
#include "text/search/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MOST_DOCS = 16, MOST_WORDS = 32 };

static const struct hash_key seed = {1, 2};

static void check_words(str text) {
  struct arena a;
  arena_init(&a);
  struct word_list list = words_split(&a, text, MOST_WORDS);
  ASSERT(list.count <= MOST_WORDS);
  for (size_t i = 0; i < list.count; i++) {
    str word = list.words[i];
    ASSERT(word.n && word.n <= WORD_MOST_BYTES && utf8_valid(word));
  }
  arena_done(&a);
}

static void check_query(const struct search_index *x, str text) {
  struct arena scratch;
  arena_init(&scratch);
  struct search_hit hits[MOST_DOCS], fewer[2];
  size_t count = search_run(x, &(struct search_query){.text = text, .top_k = MOST_DOCS}, &scratch, hits);
  ASSERT(count <= search_index_count(x));
  for (size_t i = 0; i < count; i++) {
    ASSERT(hits[i].doc < search_index_count(x) && hits[i].score > 0);
    if (i == 0) continue;
    ASSERT(hits[i].score <= hits[i - 1].score);
    if (hits[i].score < hits[i - 1].score) continue;
    ASSERT(str_cmp(search_index_id(x, hits[i - 1].doc), search_index_id(x, hits[i].doc)) <= 0);
  }
  size_t few = search_run(x, &(struct search_query){.text = text, .top_k = 2}, &scratch, fewer);
  ASSERT(few == (count < 2 ? count : 2));
  for (size_t i = 0; i < few; i++) ASSERT(fewer[i].doc == hits[i].doc);
  arena_done(&scratch);
}

// Every second document, sifted from the part or analysed alone: the same hits and scores.
static void check_sifted(const struct search_part *part, const struct search_doc *docs, size_t count, str query) {
  struct search_doc left[MOST_DOCS];
  struct search_hit hits[2][MOST_DOCS];
  struct arena scratch;
  uint64_t keep = 0x5555;
  size_t n = 0, found[2];
  arena_init(&scratch);
  for (size_t i = 0; i < count; i += 2) left[n++] = docs[i];
  struct search_part *parts[] = {search_part_sift(part, &keep),
                                 search_part_new(&(struct search_source){query, query, left, n}, &seed)};
  for (int i = 0; i < 2; i++) {
    struct search_index *x = search_index_new(&parts[i], 1, &seed);
    found[i] = search_run(x, &(struct search_query){.text = query, .top_k = MOST_DOCS}, &scratch, hits[i]);
    search_index_free(&x);
    search_part_unref(&parts[i]);
  }
  ASSERT(found[0] == found[1]);
  for (size_t i = 0; i < found[0]; i++)
    ASSERT(hits[0][i].doc == hits[1][i].doc && hits[0][i].score == hits[1][i].score);
  arena_done(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  str rest = {(const char *)data, n}, query, line;
  bool more = str_cut(rest, '\n', &query, &rest);
  struct search_doc docs[MOST_DOCS] = {0};
  size_t count = 0;
  while (more && count < MOST_DOCS) {
    struct search_doc *d = &docs[count++];
    more = str_cut(rest, '\n', &line, &rest);
    str_cut(line, ' ', &d->fields[SEARCH_NAME], &d->fields[SEARCH_DESCRIPTION]);
    d->id = line;
  }
  check_words((str){(const char *)data, n});
  struct search_part *parts[] = {
      search_part_new(&(struct search_source){.server = query, .docs = docs, .count = count / 2}, &seed),
      search_part_new(&(struct search_source){.docs = docs + count / 2, .count = count - count / 2}, &seed)};
  struct search_index *x = search_index_new(parts, 2, &seed);
  check_query(x, query);
  for (size_t i = 0; i < count; i++) check_query(x, docs[i].fields[SEARCH_NAME]);
  search_index_free(&x);
  for (int i = 0; i < 2; i++) search_part_unref(&parts[i]);
  struct search_part *all = search_part_new(&(struct search_source){query, query, docs, count}, &seed);
  check_sifted(all, docs, count, query);
  search_part_unref(&all);
  return 0;
}

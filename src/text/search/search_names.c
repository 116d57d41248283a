// SPDX-License-Identifier: Apache-2.0
// Queries that name their tool.
#include "text/search/search_impl.h"

// "github:create_issue#678543c8" and "create_issue@1.2" name create_issue.
static str bare_name(str id) {
  for (size_t i = 0; i < id.n; i++)
    if (id.p[i] == '#' || id.p[i] == '@') id.n = i;
  for (size_t i = id.n; i-- > 0;)
    if (id.p[i] == ':') return str_from(id, i + 1);
  return id;
}

static void mark_name(struct ranking *r, uint64_t key) {
  size_t from = 0, to = r->x->doc_count;
  while (from < to) {
    size_t middle = (from + to) / 2;
    if (r->x->names[middle].key < key) from = middle + 1;
    else to = middle;
  }
  for (; key && from < r->x->doc_count && r->x->names[from].key == key; from++)
    r->scores[r->x->names[from].doc] = NAMED;
}

static void mark_id(struct ranking *r, str id) {
  size_t from = 0, to = r->x->doc_count;
  while (from < to) {
    size_t middle = (from + to) / 2;
    if (str_cmp(search_index_id(r->x, r->x->by_id[middle]), id) < 0) from = middle + 1;
    else to = middle;
  }
  for (; from < r->x->doc_count && str_eq(search_index_id(r->x, r->x->by_id[from]), id); from++)
    r->scores[r->x->by_id[from]] = 2 * NAMED;
}

void search_mark_named(struct ranking *r) {
  str text = str_trim(r->asked->text);
  if (!text.n || text.n > SEARCH_MOST_NAME_BYTES) return;
  mark_name(r, search_name_key(r->scratch, bare_name(text)));
  mark_name(r, search_name_key(r->scratch, text));
  mark_id(r, text);
}

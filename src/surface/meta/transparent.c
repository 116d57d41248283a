// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/transparent.h"
#include "base/assert.h"
#include "surface/direct/direct_list.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/oneline.h"

enum { DESCRIPTION_TOKENS = 60 };

static str name_of(const struct surface *d, const struct entry *e) {
  return d->opt.list_ids ? e->card.id : e->safe;
}

size_t transparent_count_tools(struct surface *d, const struct session *s, uint64_t *out_version) {
  const struct kind_index *kind_index = &surface_directory(d)->kind_indexes[DIRECTORY_TOOLS];
  size_t n = 0;
  *out_version = 0;
  for (size_t i = 0; i < kind_index->count; i++) {
    if (!meta_sees(d, s, kind_index->sorted[i])) continue;
    n++;
    if (d->opt.page_size) *out_version = direct_list_version(d, *out_version, name_of(d, kind_index->sorted[i]));
  }
  return n;
}

void transparent_put_tools(struct surface *d, struct request *r, size_t at, size_t end, struct buf *out) {
  const struct kind_index *kind_index = &surface_directory(d)->kind_indexes[DIRECTORY_TOOLS];
  size_t n = 0;
  ASSERT(at <= end);
  for (size_t i = 0; i < kind_index->count && n < end; i++) {
    const struct entry *e = kind_index->sorted[i];
    if (!meta_sees(d, r->session, e) || n++ < at) continue;
    if (n > at + 1) buf_char(out, ',');
    str description = card_truncate(&d->scratch, oneline(&d->scratch, e->card.description), DESCRIPTION_TOKENS);
    struct json_writer w = json_writer(out);
    json_begin_object(&w);
    json_member_str(&w, STR("name"), name_of(d, e));
    json_member_str(&w, STR("description"), description);
    json_member_raw(&w, STR("inputSchema"), STR("{\"type\":\"object\"}"));
    json_end_object(&w);
    arena_reset(&d->scratch);
  }
}

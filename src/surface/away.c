// SPDX-License-Identifier: Apache-2.0
// Servers that are not there: what they have is not known, so that nobody can find it.
#include "base/utf8.h"
#include "surface/meta.h"
#include "json/write.h"

enum { MOST_NAMED = 5, REASON_TOLD = 80 };

static bool has_listed(const struct catalog_part *part) {
  size_t count = 0;
  for (int kind = 0; kind < ITEM_KINDS; kind++) count += part->count[kind];
  return count > 0;
}

bool meta_is_away(struct surface *d, const struct session *s, unsigned source, const struct lane **out_lane) {
  struct caller c;
  struct fault f;
  const struct catalog *catalog = surface_directory(d)->catalog;  // may be of before a server was added
  if (source < catalog->part_count && has_listed(&catalog->parts[source])) return false;
  if (!surface_caller(d, s, &c, &f) || !surface_sees_server(d, &c, source)) return false;
  *out_lane = upstreams_lane_seen(d->upstreams, source, s);
  return lane_missing(*out_lane) != NULL;
}

// A lane says of whom it speaks, and so does its fault.
static str reason_of(const struct lane *lane, const struct upstream_spec *spec, struct arena *a) {
  str why = call_said(a, spec, str_of(lane_missing(lane))), server = spec->name;
  if (str_starts(why, server) && str_starts(str_from(why, server.n), STR(": "))) why = str_from(why, server.n + 2);
  return utf8_cut(why, REASON_TOLD);
}

size_t meta_put_away(struct surface *d, struct request *r, struct buf *text, struct json_writer *w) {
  size_t count = 0;
  const struct lane *lane;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    if (!meta_is_away(d, r->session, i, &lane)) continue;
    const struct upstream_spec *spec = upstreams_spec(d->upstreams, i);
    str server = spec->name, reason = reason_of(lane, spec, &r->arena);
    if (!count++) json_put_key(w, STR("unavailable")), json_begin_array(w);
    json_begin_object(w);
    json_member_str(w, STR("server"), server);
    json_member_str(w, STR("reason"), reason);
    json_end_object(w);
    if (count > MOST_NAMED) continue;
    buf_printf(text, "%s%.*s (%.*s)", count == 1 ? "Not available now: " : ", ", STR_ARG(server), STR_ARG(reason));
  }
  if (count) json_end_array(w);
  if (count > MOST_NAMED) buf_printf(text, " and %zu more", count - MOST_NAMED);
  return count;
}

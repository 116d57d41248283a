// SPDX-License-Identifier: Apache-2.0
#include "surface/unavailable.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/tokens.h"
#include "json/write.h"

enum { MOST_NAMED = 5, REASON_SHOWN = 80, LINE_BYTES = 4096 };

bool meta_is_unavailable(struct surface *d, const struct session *s, unsigned source, const struct lane **out_lane) {
  struct caller c;
  struct fault f;
  ASSERT(source < upstreams_count(d->upstreams));
  // If the server was added after this catalog was made, the catalog has no part for the server.
  const struct catalog *catalog = surface_directory(d)->catalog;
  for (int kind = 0; kind < ITEM_KINDS && source < catalog->part_count; kind++)
    if (catalog->parts[source].count[kind]) return false;
  if (!surface_caller(d, s, &c, &f) || !surface_sees_server(d, &c, source)) return false;
  *out_lane = upstreams_lane_seen(d->upstreams, source, s);
  return lane_missing(*out_lane) != NULL;
}

bool meta_is_starting(struct surface *d, const struct session *s, str namespace, unsigned *out_source) {
  const struct lane *lane;
  return directory_source(surface_directory(d), namespace, out_source) &&
         meta_is_unavailable(d, s, *out_source, &lane) && lane_starting(lane);
}

struct unavailable_server {
  str server, reason;  // the reason may be empty if the server is starting
};

// Removes the name of the server from the beginning of the reason, because reports name the server anyway.
str meta_unavailable_reason(const struct lane *lane, const struct upstream_spec *spec, struct arena *a) {
  char progress[LANE_PROGRESS];
  if (lane_starting(lane)) return lane_progress(lane, progress) ? arena_str(a, str_of(progress)) : STR_NONE;
  str why = call_said(a, spec, str_of(lane_missing(lane))), server = spec->name;
  if (str_starts(why, server) && str_starts(str_from(why, server.n), STR(": "))) why = str_from(why, server.n + 2);
  return utf8_cut(why, REASON_SHOWN);
}

// Collects the unavailable servers that are starting or, if `starting` is false, that failed. Returns their number.
static size_t collect(struct surface *d, struct request *r, bool starting, struct unavailable_server *out) {
  size_t count = 0;
  const struct lane *lane;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    if (!meta_is_unavailable(d, r->session, i, &lane) || lane_starting(lane) != starting) continue;
    const struct upstream_spec *spec = upstreams_spec(d->upstreams, i);
    out[count++] = (struct unavailable_server){spec->name, meta_unavailable_reason(lane, spec, &r->arena)};
  }
  return count;
}

static void put_line(struct buf *out, const struct unavailable_server *list, size_t count, size_t named,
                     bool starting) {
  ASSERT(named <= count);
  if (!named)
    buf_printf(out, "%zu server%s %s %s", count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
               starting ? "still starting" : "not available now");
  else buf_str(out, starting ? STR("Still starting: ") : STR("Not available now: "));
  for (size_t i = 0; i < named; i++) {
    buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(list[i].server));
    if (list[i].reason.n) buf_printf(out, " (%.*s)", STR_ARG(list[i].reason));
  }
  if (named && count > named) buf_printf(out, " and %zu more", count - named);
  if (starting) buf_str(out, STR("; try again in a few seconds."));
}

// Appends a line that names as many servers as fit into most_tokens. Appends no line if even a line with only the
// number of servers does not fit.
static void add_line(struct buf *text, const struct unavailable_server *list, size_t count, bool starting,
                     size_t most_tokens) {
  size_t used = tokens_count(buf_view(text)), named = count < MOST_NAMED ? count : MOST_NAMED;
  bool fits = false;
  struct buf line;
  buf_init(&line, LINE_BYTES);
  for (named++; named-- > 0 && !fits;) {
    buf_reset(&line);
    if (text->n) buf_char(&line, '\n');
    put_line(&line, list, count, named, starting);
    fits = !line.over && used + tokens_count(buf_view(&line)) <= most_tokens;
  }
  if (fits) buf_str(text, buf_view(&line));
  buf_done(&line);
}

void meta_put_unavailable(struct surface *d, struct request *r, bool starting, size_t most_tokens, struct buf *text,
                          struct json_writer *w) {
  struct unavailable_server *list =
      ARENA_ARRAY(&r->arena, struct unavailable_server, upstreams_count(d->upstreams) + 1);
  size_t count = collect(d, r, starting, list);
  if (!count) return;
  add_line(text, list, count, starting, most_tokens);
  json_put_key(w, starting ? STR("starting") : STR("unavailable"));
  json_begin_array(w);
  for (size_t i = 0; i < count; i++) {
    json_begin_object(w);
    json_member_str(w, STR("server"), list[i].server);
    if (list[i].reason.n) json_member_str(w, STR("reason"), list[i].reason);
    json_end_object(w);
  }
  json_end_array(w);
}

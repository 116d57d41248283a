// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "upstream/lane/upstream_status.h"

enum { MAX_NAMED = 3 };

struct progress_counts {
  size_t servers, ready, installing, starting, failed;
  struct buf names;  // names of some servers that are starting
};

static void counts_init(struct progress_counts *t) {
  *t = (struct progress_counts){0};
  buf_init(&t->names, PROGRESS_TEXT);
}

static void count(struct progress_counts *t, str name, str state) {
  if (str_eq(state, STR("idle"))) return;  // a server in state "idle" is not starting: it waits for its first call
  t->servers++;
  t->ready += str_eq(state, STR("ready"));
  t->installing += str_eq(state, STR("installing")) || str_eq(state, STR("waiting"));
  t->failed += str_eq(state, STR("down"));
  if (!str_eq(state, STR("starting"))) return;
  if (t->starting++ < MAX_NAMED) buf_printf(&t->names, "%s%.*s", t->names.n ? ", " : "", STR_ARG(utf8_cut(name, 40)));
  else if (t->starting == MAX_NAMED + 1) buf_str(&t->names, STR(", ..."));
}

static void show(struct progress *p, struct progress_counts *t) {
  ASSERT(t->ready + t->installing + t->starting + t->failed <= t->servers);
  int n = snprintf(p->text, sizeof p->text, "toolgate: starting %zu server%s: %zu ready", t->servers,
                   t->servers == 1 ? "" : "s", t->ready);
  if (t->installing) n += snprintf(p->text + n, sizeof p->text - (size_t)n, ", %zu installing", t->installing);
  if (t->failed) n += snprintf(p->text + n, sizeof p->text - (size_t)n, ", %zu failed", t->failed);
  ASSERT(n > 0 && (size_t)n < sizeof p->text);
  if (t->starting)
    snprintf(p->text + n, sizeof p->text - (size_t)n, ", waiting for %.*s", STR_ARG(buf_view(&t->names)));
  str_mask_controls(p->text, strlen(p->text));
  buf_done(&t->names);
  // The cursor returns to the first column, so that the next line of the log overwrites the progress line.
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\x1b[K%s\r", p->text);
  else if (!p->shown) fprintf(stderr, "%s\n", p->text);
  p->shown = true;
}

void progress_show(struct progress *p, const struct upstreams *all) {
  struct progress_counts t;
  counts_init(&t);
  for (unsigned i = 0; i < upstreams_count(all); i++) {
    if (!upstreams_gone(all, i)) count(&t, upstreams_name(all, i), str_of(upstreams_detail(all, i).state));
  }
  show(p, &t);
}

void progress_show_status(struct progress *p, const struct json *status) {
  const struct json *servers = json_get(status, STR("servers"));
  struct progress_counts t;
  struct arena a;
  arena_init(&a);
  counts_init(&t);
  if (json_is(servers, JSON_ARRAY))
    JSON_EACH(it, servers) {
      str name = STR_NONE, state = STR_NONE;
      json_string(json_get(it, STR("name")), &a, &name);
      json_string(json_get(it, STR("state")), &a, &state);
      count(&t, name, state);
    }
  show(p, &t);
  arena_done(&a);
}

void progress_end(struct progress *p) {
  if (!p->shown) return;
  p->shown = false;
  if (isatty(STDERR_FILENO)) fputs("\r\x1b[K", stderr);
}

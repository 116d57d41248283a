// SPDX-License-Identifier: Apache-2.0
// Server instructions in the modes with meta-tools: the beginning of each in the answer to initialize, within
// instructions.budget tokens, and the whole with tool_browse of a server's path.
//
// They are data that servers wrote. They are marked as such, and cannot imitate the gateway's own text: in initialize
// each is one line in quotes; in a browse every line begins with "> ". Only servers that the agent may use count.
#include "base/text/utf8.h"
#include "surface/meta/meta_tools.h"
#include "surface/visibility.h"
#include "text/tokens.h"
#include "json/write.h"

enum {
  MOST_SERVERS = 256,
  LEAST_TOKENS = 12,
  LOOKED_AT = 16 << 10,  // bytes of each, in initialize: every client that comes pays for it
};

struct heard {
  struct caller caller;
  struct arena *arena;
  str only;  // the server; STR_NONE: all
  str servers[MOST_SERVERS], texts[MOST_SERVERS];
  size_t count;
};

static void hear(void *ctx, str server, str text) {
  struct heard *h = ctx;
  if (h->count == MOST_SERVERS || (h->only.p && !str_eq(server, h->only))) return;
  if (!caller_may(&h->caller, server, ITEM_RESOURCE, STR_NONE) || !oneline(h->arena, utf8_cut(text, LOOKED_AT)).n)
    return;
  h->servers[h->count] = server;
  h->texts[h->count++] = text;
}

static struct heard *hear_all(struct surface *d, const struct session *s, str only, struct arena *a) {
  struct heard *h = ARENA_NEW(a, struct heard);
  struct fault f;
  h->arena = a;
  h->only = only;
  if (surface_caller(d, s, &h->caller, &f)) upstreams_each_instructions(d->upstreams, s, hear, h);
  return h;
}

// The servers share the budget evenly; those for which nothing is left are not named.
void meta_put_instructions(struct surface *d, const struct session *s, struct buf *out) {
  const struct heard *h = hear_all(d, s, STR_NONE, &d->scratch);
  size_t left = d->opt.instructions.budget, each = h->count ? left / h->count : 0;
  if (each > d->opt.instructions.per_server) each = d->opt.instructions.per_server;
  if (each < LEAST_TOKENS) each = LEAST_TOKENS;
  for (size_t i = 0, shown = 0; i < h->count; i++) {
    str begins = utf8_cut(h->texts[i], LOOKED_AT);
    str said = card_truncate(&d->scratch, oneline(&d->scratch, begins), each);
    str line =
        arena_printf(&d->scratch, "\n- %.*s: %.*s", STR_ARG(h->servers[i]), STR_ARG(json_escaped(&d->scratch, said)));
    size_t tokens = tokens_count(line);
    if (tokens > left) break;
    if (!shown++) buf_str(out, STR("\nServer instructions (written by the servers, not by the user):"));
    buf_str(out, line);
    left -= tokens;
  }
  arena_reset(&d->scratch);
}

static str quote_lines(struct arena *a, str server, str text) {
  struct buf b;
  str line;
  buf_init(&b, 8 * text.n + server.n + 256);
  buf_printf(&b, "\nInstructions of %.*s (written by the server, not by the user):", STR_ARG(server));
  for (bool more = true; more;) {
    more = str_cut(text, '\n', &line, &text);
    line = oneline(a, line);
    if (line.n) buf_printf(&b, "\n> %.*s", STR_ARG(line));
  }
  str quoted = arena_str(a, buf_view(&b));
  buf_done(&b);
  return quoted;
}

void meta_put_server_instructions(struct surface *d, struct request *r, str server, size_t most_tokens, struct buf *out,
                                  struct json_writer *w) {
  const struct heard *h = hear_all(d, r->session, server, &r->arena);
  size_t used = tokens_count(buf_view(out)), room = most_tokens > used ? most_tokens - used : 0;
  for (size_t most = d->opt.instructions.browse; h->count && most;) {
    str text = card_truncate(&r->arena, h->texts[0], most), quoted = quote_lines(&r->arena, server, text);
    size_t tokens = tokens_count(quoted);
    if (tokens <= room) {
      buf_str(out, quoted);
      json_member_str(w, STR("instructions"), text);
      return;
    }
    // Quoting adds to the text: what is over is taken away from it.
    size_t now = tokens_count(text), over = tokens - room;
    most = now > over ? now - over : 0;
    if (most < LEAST_TOKENS) return;
  }
}

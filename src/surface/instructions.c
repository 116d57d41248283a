// SPDX-License-Identifier: Apache-2.0
#include "surface/instructions.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "catalog/directory/card.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/oneline.h"
#include "text/tokens.h"
#include "json/write.h"

enum {
  MOST_SERVERS = 256,
  LEAST_TOKENS = 12,
  READ_BYTES = 16 << 10,  // bytes read of each server's text for initialize, to limit the work for a new client
};

// The instructions of the servers that the caller may use.
struct collected {
  struct caller caller;
  struct arena *arena;
  str only;  // the only server whose text is collected; STR_NONE for all servers
  str servers[MOST_SERVERS], texts[MOST_SERVERS];
  size_t count;
};

static void add(void *ctx, str server, str text) {
  struct collected *h = ctx;
  ASSERT(h->count <= MOST_SERVERS);
  if (h->count == MOST_SERVERS || (h->only.p && !str_eq(server, h->only))) return;
  if (!caller_lists(&h->caller, server, ITEM_RESOURCE, STR_NONE) || !oneline(h->arena, utf8_cut(text, READ_BYTES)).n)
    return;
  h->servers[h->count] = server;
  h->texts[h->count++] = text;
}

static struct collected *collect(struct surface *d, const struct session *s, str only, struct arena *a) {
  struct collected *h = ARENA_NEW(a, struct collected);
  struct fault f;
  h->arena = a;
  h->only = only;
  if (surface_caller(d, s, &h->caller, &f)) upstreams_each_instructions(d->upstreams, s, add, h);
  return h;
}

// The servers share the budget of tokens evenly. If the budget is used up, the remaining servers are left out.
void meta_put_instructions(struct surface *d, const struct session *s, struct buf *out) {
  const struct collected *h = collect(d, s, STR_NONE, &d->scratch);
  size_t left = d->opt.instructions.budget, each = h->count ? left / h->count : 0;
  if (each > d->opt.instructions.per_server) each = d->opt.instructions.per_server;
  if (each < LEAST_TOKENS) each = LEAST_TOKENS;
  for (size_t i = 0, shown = 0; i < h->count; i++) {
    str begins = utf8_cut(h->texts[i], READ_BYTES);
    str said = card_truncate(&d->scratch, oneline(&d->scratch, begins), each);
    str line =
        arena_printf(&d->scratch, "\n- %.*s: %.*s", STR_ARG(h->servers[i]), STR_ARG(json_escaped(&d->scratch, said)));
    size_t tokens = tokens_count(line);
    if (tokens > left) break;
    if (!shown++) buf_str(out, STR("\nServer instructions (written by the servers, not by the user):"));
    buf_str(out, line);
    left -= tokens;  // tokens <= left
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
  const struct collected *h = collect(d, r->session, server, &r->arena);
  size_t used = tokens_count(buf_view(out)), room = most_tokens > used ? most_tokens - used : 0;
  for (size_t most = d->opt.instructions.browse; h->count && most;) {
    str text = card_truncate(&r->arena, h->texts[0], most), quoted = quote_lines(&r->arena, server, text);
    size_t tokens = tokens_count(quoted);
    if (tokens <= room) {
      buf_str(out, quoted);
      json_member_str(w, STR("instructions"), text);
      return;
    }
    // Quoting makes the text longer. If it then has too many tokens, the next attempt cuts the excess from the original
    // text, and quotes that again.
    size_t now = tokens_count(text), over = tokens - room;
    most = now > over ? now - over : 0;
    if (most < LEAST_TOKENS) return;
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <limits.h>

#include "base/assert.h"
#include "surface/direct/direct_list.h"
#include "surface/meta/approval_status.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "surface/wait.h"

// ---- cursors: VERSION.INDEX

static bool read_cursor(const struct json *cursor, struct arena *a, uint64_t version, size_t count, size_t *out_at) {
  str text, g, i;
  uint64_t said, at;
  if (!cursor) {
    *out_at = 0;
    return true;
  }
  bool ok = json_string(cursor, a, &text) && str_cut(text, '.', &g, &i) && str_to_u64(g, &said) && str_to_u64(i, &at);
  if (!ok || said != version || at >= count) return false;
  *out_at = (size_t)at;
  return true;
}

bool direct_read_cursor(struct request *r, uint64_t version, size_t count, size_t *out_at) {
  if (read_cursor(json_get(r->msg.params, STR("cursor")), &r->arena, version, count, out_at)) return true;
  request_fail(r, RPC_INVALID_PARAMS,
               "Invalid cursor: the list has changed, or the cursor is unknown; start again without a cursor",
               STR_NONE);
  return false;
}

uint64_t direct_list_version(const struct surface *d, uint64_t before, str name) {
  struct hash_key seed = d->opt.loop->seed;
  seed.k0 ^= before;
  return hash_sip(&seed, name);
}

size_t direct_page_end(const struct surface *d, const struct session *s, size_t at, size_t count) {
  size_t page = s->as_operator ? 0 : d->opt.page_size;
  ASSERT(at <= count);
  return page && count - at > page ? at + page : count;
}

// ---- one page

// Adds "toolgate/available": false to the _meta of a definition whose upstream is down.
static void mark_unavailable(struct buf *out, str text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *d = json_parse(&a, text, &json_default_limits, &f);
  const struct json *meta = json_get(d, STR("_meta"));
  struct buf edited;
  buf_init(&edited, text.n + 128);
  struct json_edit flag = {STR("toolgate/available"), STR("false")};
  if (json_is(meta, JSON_OBJECT)) json_copy_edited(&edited, meta, &flag, 1);
  else buf_str(&edited, STR("{\"toolgate/available\":false}"));
  json_copy_edited(out, d, &(struct json_edit){STR("_meta"), buf_view(&edited)}, 1);
  buf_done(&edited);
  arena_done(&a);
}

// The definitions of one server that a client can see. A server may offer more definitions to clients with more
// capabilities.
struct view {
  unsigned source;
  uint32_t seen;  // the definition sets (bits of item.seen) that the client's connections show
  bool down;
};

// The answer to a list request: the items of one kind that the client sees.
struct page {
  struct surface *d;
  struct request *r;
  const struct catalog *catalog;
  enum item_kind kind;
  struct caller caller;
  struct naming names;
  struct view view;
  bool has_status;  // the list has the gateway's approval_status, which hides a tool of a server with this name
};

static bool is_seen(struct page *p, const struct item *item) {
  // p->view is computed once for each server, because items are ordered by server.
  struct upstreams *all = p->d->upstreams;
  const struct session *s = p->r->session;
  unsigned source = item->source;
  if (p->view.source != source)
    p->view = (struct view){source, upstreams_view(all, source, s), !upstreams_available(all, source, s)};
  return item->seen & p->view.seen && naming_sees(&p->names, item) &&
         !(p->has_status && str_eq(naming_shown(&p->names, item), APPROVAL_STATUS));
}

static size_t count_seen(struct page *p, uint64_t *out_version) {
  size_t n = 0;
  *out_version = 0;
  for (size_t i = 0; i < p->catalog->count[p->kind]; i++) {
    const struct item *item = &p->catalog->items[p->kind][i];
    if (!is_seen(p, item)) continue;
    n++;
    if (p->d->opt.page_size) *out_version = direct_list_version(p->d, *out_version, naming_shown(&p->names, item));
  }
  return n;
}

// Writes how long a stateless client may cache the page: the shortest time that any of the client's servers allows. If
// rules apply, the list depends on the agent, so the page is marked as private.
static void put_freshness(const struct page *p, struct buf *b) {
  bool *sources = ARENA_ARRAY(&p->r->arena, bool, p->catalog->part_count + 1);
  for (unsigned i = 0; i < p->catalog->part_count; i++) sources[i] = surface_sees_server(p->d, &p->caller, i);
  struct catalog_keeping keeping = catalog_keeping(p->catalog, p->kind, sources);
  bool is_public = keeping.is_public && !caller_is_limited(&p->caller);
  buf_printf(b, ",\"ttlMs\":%llu,\"cacheScope\":\"%s\"", (unsigned long long)keeping.ttl_ms,
             is_public ? "public" : "private");
}

static void put_unavailable(const struct page *p, const struct item *item, struct buf *out) {
  struct buf named;
  buf_init(&named, item->text.n + item->old_text.n + 6 * naming_shown(&p->names, item).n + 2);
  naming_put(&p->names, item, !p->r->session->revision->stateless, &named);
  mark_unavailable(out, buf_view(&named));
  buf_done(&named);
}

static void put_items(struct page *p, size_t at, size_t end, struct buf *b) {
  bool stateless = p->r->session->revision->stateless;
  size_t n = 0;
  for (size_t i = 0; i < p->catalog->count[p->kind] && n < end; i++) {
    const struct item *item = &p->catalog->items[p->kind][i];
    if (!is_seen(p, item) || n++ < at) continue;
    if (n > at + 1) buf_char(b, ',');
    if (p->view.down) put_unavailable(p, item, b);
    else naming_put(&p->names, item, !stateless, b);
  }
}

static void reply_page(struct surface *d, struct request *r) {
  struct page p = {.d = d, .r = r, .catalog = upstreams_catalog(d->upstreams), .view = {.source = UINT_MAX}};
  uint64_t version;
  struct fault f;
  ASSERT(direct_is_list(r->msg.method, &p.kind));
  if (!surface_caller(d, r->session, &p.caller, &f)) {
    surface_refuse(r, &f, STR_NONE);
    return;
  }
  p.names = surface_naming(d, &p.caller, p.catalog);
  p.has_status = p.kind == ITEM_TOOL && p.caller.governance && meta_lists_approval_status(d);
  size_t count = count_seen(&p, &version), at;
  if (!direct_read_cursor(r, version, count, &at)) return;
  size_t end = direct_page_end(d, r->session, at, count);
  struct buf *b = &d->text;
  buf_reset(b);
  buf_printf(b, "{\"%s\":[", item_kind_rules[p.kind].list_key);
  put_items(&p, at, end, b);
  if (p.has_status && end == count) meta_put_approval_status(d, r->session, end > at, b);
  buf_char(b, ']');
  if (end < count) buf_printf(b, ",\"nextCursor\":\"%llu.%zu\"", (unsigned long long)version, end);
  if (r->session->revision->stateless) put_freshness(&p, b);
  buf_char(b, '}');
  request_reply(r, buf_view(b));
}

bool direct_is_list(str method, enum item_kind *out) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (!str_eq(method, str_of(item_kind_rules[kind].list_method))) continue;
    *out = (enum item_kind)kind;
    return true;
  }
  return false;
}

void direct_list(struct surface *d, struct request *r) {
  surface_wait(d, r, NULL, reply_page);
}

// SPDX-License-Identifier: Apache-2.0
// Shows selected members of a JSON object. A stored piece may be too large to parse as a whole, so members are found by
// skipping their values; only members that are shown are parsed.
#include <stdlib.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/text_cut.h"
#include "result/view/no_name.h"
#include "result/view/view_impl.h"
#include "text/tokens.h"
#include "json/write.h"

// Maximum bytes of a key in a note; maximum number of the object's keys in a message.
enum { KEY_SHOWN = 40, KEYS_KNOWN = 64 };

struct wanted_key {
  str key, value;  // value.p is NULL if the object has no member with this key
};

struct keys {
  const struct view_order *order;
  struct wanted_key list[VIEW_KEYS_MAX];
  size_t count, start;
  str known[KEYS_KNOWN];  // keys of the object, still escaped
  size_t known_count;
  struct arena arena;
};

// ---- finding members ----

// Finds the requested members. Reads the whole object, so that invalid JSON after the last requested member is
// rejected, too.
static bool find_members(struct keys *k, struct fault *f) {
  struct json_scan scan = json_scan(k->order->bytes);
  struct json_walk w;
  if (k->order->bytes.n <= VIEW_SMALL && !json_scan_check(k->order->bytes, &json_default_limits, f)) return false;
  if (!json_walk_open(&w, &scan, json_scan_first(&scan)) || w.close != '}') return false;
  while (json_walk_next(&w)) {
    if (k->known_count < KEYS_KNOWN) k->known[k->known_count++] = w.key;
    for (size_t i = 0; i < k->count; i++)
      if (!k->list[i].value.p && json_walk_key_is(&w, k->list[i].key)) k->list[i].value = json_walk_value(&w);
  }
  return !scan.wrong && json_scan_ends(&scan, w.after);
}

// ---- writing members ----

static void indent(struct buf *out, unsigned depth) {
  buf_char(out, '\n');
  while (depth--) buf_str(out, STR("  "));
}

struct key_member {
  str key;
  const struct json *value;
};

static int compare_members(const void *a, const void *b) {
  return str_cmp(((const struct key_member *)a)->key, ((const struct key_member *)b)->key);
}

static void write_value(struct buf *out, const struct json *v, unsigned depth, struct arena *a);

static void write_object(struct buf *out, const struct json *v, unsigned depth, struct arena *a) {
  struct key_member *members = ARENA_ARRAY(a, struct key_member, v->count);
  size_t n = 0;
  JSON_EACH(m, v) members[n++] = (struct key_member){json_key(m, a), m};
  qsort(members, n, sizeof *members, compare_members);
  buf_char(out, '{');
  for (size_t i = 0; i < n && !out->over; i++) {
    if (i) buf_char(out, ',');
    indent(out, depth + 1);
    json_escape(out, members[i].key);
    buf_str(out, STR(": "));
    write_value(out, members[i].value, depth + 1, a);
  }
  indent(out, depth);
  buf_char(out, '}');
}

static void write_array(struct buf *out, const struct json *v, unsigned depth, struct arena *a) {
  buf_char(out, '[');
  for (const struct json *e = v->child; e && !out->over; e = e->next) {
    if (e != v->child) buf_char(out, ',');
    indent(out, depth + 1);
    write_value(out, e, depth + 1, a);
  }
  indent(out, depth);
  buf_char(out, ']');
}

// Writes a value. Numbers and strings stay as in the source.
static void write_value(struct buf *out, const struct json *v, unsigned depth, struct arena *a) {
  if (v->child && json_is(v, JSON_OBJECT)) write_object(out, v, depth, a);
  else if (v->child) write_array(out, v, depth, a);
  else if (json_is(v, JSON_OBJECT)) buf_str(out, STR("{}"));
  else if (json_is(v, JSON_ARRAY)) buf_str(out, STR("[]"));
  else buf_str(out, json_span(v));
}

// ---- the answer ----

// Appends members while they fit. Sets *out_next to the index of the first member that does not fit. Returns false if a
// member is not JSON.
static bool write_members(struct keys *k, struct buf *text, size_t *out_next, struct fault *f) {
  ASSERT(k->start <= k->count && k->count <= VIEW_KEYS_MAX);
  size_t i = k->start, left = k->order->limit, near = k->order->limit * MEASURE_TOKEN_BYTES;
  for (; i < k->count; i++) {
    size_t before = text->n;
    if (k->list[i].value.n > near) break;
    arena_reset(&k->arena);
    struct json *v = json_parse(&k->arena, k->list[i].value, &json_default_limits, f);
    if (!v) return false;
    if (i > k->start) buf_char(text, ',');
    indent(text, 1);
    json_escape(text, k->list[i].key);
    buf_str(text, STR(": "));
    write_value(text, v, 1, &k->arena);
    str member = str_from(buf_view(text), before);
    if (text->over || !tokens_fit(member, left)) {
      text->over = false;
      text->n = before;
      break;
    }
    left -= tokens_count(member);
  }
  *out_next = i;
  return true;
}

// Writes a note with a selector for a member that does not fit even alone.
static void note_large(struct buf *out, const struct keys *k, size_t at) {
  const struct wanted_key *w = &k->list[at];
  str key = utf8_cut(w->key, KEY_SHOWN);
  view_begin_note(k->order, out);
  json_escape(out, key);
  buf_printf(out, "%s does not fit; read it with ", key.n < w->key.n ? "…" : "");
  view_put_head(out, k->order->bytes, w->value);
  if (at + 1 == k->count) return;
  buf_str(out, STR("; "));
  view_put_next(out, k->order, at + 1);
}

static void write_shown(struct buf *out, const struct keys *k, str members, size_t next) {
  if (next == k->start && next < k->count) {
    note_large(out, k, next);
    return;
  }
  buf_char(out, '{');
  buf_str(out, members);
  if (members.n) buf_char(out, '\n');
  buf_char(out, '}');
  if (next == k->count) return;
  buf_char(out, '\n');
  view_begin_note(k->order, out);
  buf_printf(out, "cut at member %zu of %zu; ", next, k->count);
  view_put_next(out, k->order, next);
}

// Shows the members that fit. If a note is necessary and does not fit after these members, shows one member fewer.
static bool show_members(struct keys *k, struct buf *out, struct fault *f) {
  size_t next, begin = out->n, count = k->count;
  struct buf text;
  buf_init(&text, 2 * k->order->limit * MEASURE_TOKEN_BYTES);
  bool ok = write_members(k, &text, &next, f);
  while (ok) {
    k->count = count;
    write_shown(out, k, buf_view(&text), next);
    if (next == k->start || out->over || tokens_fit(str_from(buf_view(out), begin), k->order->limit)) break;
    out->n = begin;
    buf_reset(&text);
    k->count = next - 1;
    ok = write_members(k, &text, &next, f);
  }
  k->count = count;
  buf_done(&text);
  return ok;
}

static int compare_wanted(const void *a, const void *b) {
  return str_cmp(((const struct wanted_key *)a)->key, ((const struct wanted_key *)b)->key);
}

// Drops keys that were not found and duplicates, and sorts the others.
static void sort_found(struct keys *k) {
  size_t n = 0;
  qsort(k->list, k->count, sizeof *k->list, compare_wanted);
  for (size_t i = 0; i < k->count; i++) {
    bool again = n && str_eq(k->list[n - 1].key, k->list[i].key);
    if (k->list[i].value.p && !again) k->list[n++] = k->list[i];
  }
  k->count = n;
  if (k->start > n) k->start = n;
}

static bool read_keys(struct keys *k, struct arena *a, struct fault *f) {
  const struct json *list = view_member(k->order, STR("keys"));
  bool ok = !list || (json_is(list, JSON_ARRAY) && list->count <= VIEW_KEYS_MAX);
  for (const struct json *e = ok && list ? list->child : NULL; e && ok; e = e->next)
    if ((ok = json_string(e, a, &k->list[k->count].key))) k->count++;
  return ok || view_refuse(k->order, STR("keys"), "a list of at most 64 names", f);
}

// Returns whether the object has at least one of the keys. If all keys are missing, they are probably mistyped, and
// this is an error.
static bool has_any(struct keys *k, str first, struct fault *f) {
  struct fault why;
  if (k->count || !first.p || !k->known_count) return true;
  no_name("member", first, k->known, k->known_count, &why);
  fault_set(f, why.code, "%s: %s", why.message, k->order->form);
  fault_set_path(f, STR("keys"));
  return false;
}

static bool no_object(struct fault *f) {
  fault_set(f, FAULT_INVALID,
            "json_keys needs a JSON object, but the text is not one; "
            "use {\"type\":\"head\",\"start\":0,\"chars\":500} or {\"type\":\"lines\",\"start\":0,\"end\":100}");
  return false;
}

bool view_show_keys(const struct view_order *o, struct buf *out, struct fault *f) {
  struct keys k = {.order = o};
  struct arena names;
  int64_t start;
  arena_init(&names);
  arena_init(&k.arena);
  bool ok = view_number(o, STR("start"), 0, &start, f) && read_keys(&k, &names, f);
  if (ok) {
    str first = k.count ? k.list[0].key : STR_NONE;
    k.start = start < 0 ? 0 : (size_t)start;
    bool is_object = find_members(&k, f);
    sort_found(&k);
    ok = is_object && has_any(&k, first, f) && show_members(&k, out, f);
    if (!is_object) no_object(f);
  }
  arena_done(&names);
  arena_done(&k.arena);
  return ok;
}

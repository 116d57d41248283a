// SPDX-License-Identifier: Apache-2.0
// The members of a JSON object that are named. A kept piece may be larger than what one would want to parse as a whole,
// so its members are found by skipping over their values; only those that will be shown are parsed.
#include <stdlib.h>

#include "base/utf8.h"
#include "result/measure.h"
#include "result/view_impl.h"
#include "text/tokens.h"
#include "json/text.h"
#include "json/write.h"

// What a note tells of keys at the most, in bytes.
enum { KEY_SHOWN = 40, KEYS_SHOWN = 80 };

struct wanted {
  str key, value;  // value.p is NULL as long as it was not found
};

struct keys {
  str bytes;
  struct buf asked;  // the list as JSON, for the note; over when it is too long
  struct wanted list[VIEW_KEYS_MAX];
  size_t count, start, limit;
  struct arena arena;
};

// ---- finding members ----

struct scan {
  const char *p, *end;
};

static void skip_blanks(struct scan *s) {
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')) s->p++;
}

static bool take(struct scan *s, char c) {
  skip_blanks(s);
  if (s->p == s->end || *s->p != c) return false;
  s->p++;
  return true;
}

static bool skip_string(struct scan *s) {
  if (!take(s, '"')) return false;
  while ((s->p = json_text_skip_plain(s->p, s->end)) < s->end && *s->p != '"')
    s->p += *s->p == '\\' && s->end - s->p > 1 ? 2 : 1;
  return take(s, '"');
}

static bool skip_container(struct scan *s) {
  size_t depth = 0;
  while (s->p < s->end) {
    if (*s->p == '"') {
      if (!skip_string(s)) return false;
      continue;
    }
    if (*s->p == '{' || *s->p == '[') depth++;
    if ((*s->p == '}' || *s->p == ']') && --depth == 0) {
      s->p++;
      return true;
    }
    s->p++;
  }
  return false;
}

static bool skip_value(struct scan *s) {
  skip_blanks(s);
  if (s->p == s->end) return false;
  if (*s->p == '"') return skip_string(s);
  if (*s->p == '{' || *s->p == '[') return skip_container(s);
  const char *begin = s->p;
  while (s->p < s->end && *s->p != ',' && *s->p != '}' && *s->p > ' ') s->p++;
  return s->p > begin;
}

static str span_since(const struct scan *s, const char *begin) {
  return (str){begin, (size_t)(s->p - begin)};
}

// The key between its quotes, unescaped. False when it is none.
static bool read_key(str quoted, struct arena *a, str *out) {
  if (!memchr(quoted.p, '\\', quoted.n)) {
    *out = (str){quoted.p + 1, quoted.n - 2};
    return true;
  }
  struct fault ignored;
  arena_reset(a);
  return json_string(json_parse(a, quoted, &json_default_limits, &ignored), a, out);
}

static void note_member(struct keys *k, str key, str value) {
  for (size_t i = 0; i < k->count; i++)
    if (str_eq(k->list[i].key, key)) k->list[i].value = value;
}

static bool scan_member(struct scan *s, struct keys *k, struct arena *a) {
  skip_blanks(s);
  const char *begin = s->p;
  str key;
  if (!skip_string(s) || !read_key(span_since(s, begin), a, &key) || !take(s, ':')) return false;
  skip_blanks(s);
  begin = s->p;
  if (!skip_value(s)) return false;
  note_member(k, key, span_since(s, begin));
  return true;
}

static bool scan_object(struct keys *k, struct arena *a) {
  struct scan s = {k->bytes.p, k->bytes.p + k->bytes.n};
  if (!take(&s, '{')) return false;
  if (take(&s, '}')) return true;
  do
    if (!scan_member(&s, k, a)) return false;
  while (take(&s, ','));
  if (!take(&s, '}')) return false;
  skip_blanks(&s);
  return s.p == s.end;
}

static bool find_members(struct keys *k) {
  struct arena scratch;
  arena_init(&scratch);
  bool ok = scan_object(k, &scratch);
  arena_done(&scratch);
  return ok;
}

// ---- writing members ----

static void indent(struct buf *out, unsigned depth) {
  buf_char(out, '\n');
  while (depth--) buf_str(out, STR("  "));
}

struct member {
  str key;
  const struct json *value;
};

static int compare_members(const void *a, const void *b) {
  return str_cmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void write_value(struct buf *out, const struct json *v, unsigned depth, struct arena *a);

static void write_object(struct buf *out, const struct json *v, unsigned depth, struct arena *a) {
  struct member *members = ARENA_ARRAY(a, struct member, v->count);
  size_t n = 0;
  JSON_EACH(m, v) members[n++] = (struct member){json_key(m, a), m};
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

// Numbers and strings as they are in the source.
static void write_value(struct buf *out, const struct json *v, unsigned depth, struct arena *a) {
  if (v->child && json_is(v, JSON_OBJECT)) write_object(out, v, depth, a);
  else if (v->child) write_array(out, v, depth, a);
  else if (json_is(v, JSON_OBJECT)) buf_str(out, STR("{}"));
  else if (json_is(v, JSON_ARRAY)) buf_str(out, STR("[]"));
  else buf_str(out, json_span(v));
}

// ---- what is shown ----

static void begin_member(struct buf *out, bool first, str key) {
  if (!first) buf_char(out, ',');
  indent(out, 1);
  json_escape(out, key);
  buf_str(out, STR(": "));
}

// Appends members as long as they may fit. Gives where the next one is; false when one is no JSON.
static bool write_members(struct keys *k, struct buf *text, size_t *out_next, struct fault *f) {
  size_t i = k->start, left = k->limit, near = k->limit * MEASURE_TOKEN_BYTES;
  for (; i < k->count; i++) {
    size_t before = text->n;
    if (k->list[i].value.n > near) break;
    arena_reset(&k->arena);
    struct json *v = json_parse(&k->arena, k->list[i].value, &json_default_limits, f);
    if (!v) return false;
    begin_member(text, i == k->start, k->list[i].key);
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

static void note_next(struct buf *out, const struct keys *k, size_t next) {
  str asked = buf_view(&k->asked);
  if (k->asked.over) buf_printf(out, "go on with the same selector and \"start\":%zu", next);
  else buf_printf(out, "go on with {\"type\":\"json_keys\",\"keys\":%.*s,\"start\":%zu}", STR_ARG(asked), next);
}

// A member that does not fit alone is told where its text is.
static void note_large(struct buf *out, const struct keys *k, size_t at) {
  const struct wanted *w = &k->list[at];
  size_t start = measure_all_chars((str){k->bytes.p, (size_t)(w->value.p - k->bytes.p)});
  str key = utf8_cut(w->key, KEY_SHOWN);
  buf_str(out, STR("… "));
  json_escape(out, key);
  buf_printf(out, "%s does not fit; read it with {\"type\":\"head\",\"start\":%zu,\"chars\":%zu}",
             key.n < w->key.n ? "…" : "", start, measure_all_chars(w->value));
  if (at + 1 == k->count) return;
  buf_str(out, STR("; "));
  note_next(out, k, at + 1);
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
  buf_printf(out, "\n… cut at member %zu of %zu; ", next, k->count);
  note_next(out, k, next);
}

// The members alone may fit, but not with a note behind them: then one fewer is written.
static bool show_members(struct keys *k, struct buf *out, struct fault *f) {
  size_t next, begin = out->n, count = k->count;
  struct buf text;
  buf_init(&text, 2 * k->limit * MEASURE_TOKEN_BYTES);
  bool ok = write_members(k, &text, &next, f);
  while (ok) {
    k->count = count;
    write_shown(out, k, buf_view(&text), next);
    if (next == k->start || out->over || tokens_fit(str_from(buf_view(out), begin), k->limit)) break;
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
  return str_cmp(((const struct wanted *)a)->key, ((const struct wanted *)b)->key);
}

// Keeps what was found, sorted, each once.
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

static bool read_keys(struct keys *k, const struct json *list, struct arena *a, struct fault *f) {
  bool ok = !list || json_is(list, JSON_NULL) || (json_is(list, JSON_ARRAY) && list->count <= VIEW_KEYS_MAX);
  struct json_writer w = json_writer(&k->asked);
  json_begin_array(&w);
  for (const struct json *e = ok && list ? list->child : NULL; e && ok; e = e->next) {
    struct wanted *one = &k->list[k->count];
    ok = json_string(e, a, &one->key);
    if (!ok) break;
    json_put_str(&w, one->key);
    k->count++;
  }
  json_end_array(&w);
  if (ok) return true;
  fault_set(f, FAULT_INVALID, "keys is not a list of at most %d names: {\"type\":\"json_keys\",\"keys\":[\"a\",\"b\"]}",
            VIEW_KEYS_MAX);
  fault_set_path(f, STR("keys"));
  return false;
}

static bool no_object(struct fault *f) {
  fault_set(f, FAULT_INVALID,
            "json_keys needs a JSON object, and this is none: "
            "take {\"type\":\"head\",\"start\":0,\"chars\":500} or {\"type\":\"lines\",\"start\":0,\"end\":100}");
  return false;
}

bool view_show_keys(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f) {
  struct keys k = {.bytes = bytes, .limit = limit};
  struct arena names;
  int64_t start;
  arena_init(&names);
  arena_init(&k.arena);
  buf_init(&k.asked, KEYS_SHOWN);
  bool ok =
      view_number(selector, STR("start"), 0, &start, f) && read_keys(&k, json_get(selector, STR("keys")), &names, f);
  if (ok) {
    k.start = start < 0 ? 0 : (size_t)start;
    ok = find_members(&k);
    sort_found(&k);
    ok = (ok && show_members(&k, out, f)) || no_object(f);
  }
  buf_done(&k.asked);
  arena_done(&names);
  arena_done(&k.arena);
  return ok;
}

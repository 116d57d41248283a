// SPDX-License-Identifier: Apache-2.0
#include "app/cli/pins/pins_diff.h"

#include "base/arena.h"
#include "base/text/visible.h"
#include "json/pointer.h"

struct differ {
  const char *indent;
  struct buf *out;
  struct buf path;
  struct arena arena;
};

static void put_value(struct differ *d, char sign, const struct json *v) {
  buf_printf(d->out, "%s%c %.*s: ", d->indent, sign, STR_ARG(d->path.n ? buf_view(&d->path) : STR("/")));
  str text = json_span(v);
  if (v->type == JSON_STRING && json_string(v, &d->arena, &text)) {
    buf_char(d->out, '"');
    visible_put(text, d->out);
    buf_char(d->out, '"');
  } else {
    visible_put(text, d->out);
  }
  buf_char(d->out, '\n');
}

static str cut_line(str *rest) {
  str line;
  str_cut(*rest, '\n', &line, rest);
  return line;
}

static void put_lines(struct differ *d, char sign, str text) {
  while (text.n) {
    buf_printf(d->out, "%s%c   ", d->indent, sign);
    visible_put(cut_line(&text), d->out);
    buf_char(d->out, '\n');
  }
}

// Shows the lines of two texts between the first and the last line that differ.
static void compare_lines(struct differ *d, str a, str b) {
  size_t same = 0, end = 0;
  for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
    if (a.p[i] == '\n') same = i + 1;
  a = str_from(a, same);
  b = str_from(b, same);
  for (size_t i = 1; i <= a.n && i <= b.n && a.p[a.n - i] == b.p[b.n - i]; i++)
    if (a.p[a.n - i] == '\n') end = i;  // from this line break on, both texts are equal
  a.n -= end;
  b.n -= end;
  buf_printf(d->out, "%s  %.*s:\n", d->indent, STR_ARG(buf_view(&d->path)));
  put_lines(d, '-', a);
  put_lines(d, '+', b);
}

static void compare(struct differ *d, const struct json *a, const struct json *b);

static void compare_at(struct differ *d, str key, const struct json *a, const struct json *b) {
  size_t n = d->path.n;
  json_pointer_push(&d->path, key);
  compare(d, a, b);
  d->path.n = n;
}

// Compares two objects. Both are canonical, so their keys are in the same order.
static void compare_objects(struct differ *d, const struct json *a, const struct json *b) {
  JSON_EACH(it, a) {
    str key = json_key(it, &d->arena);
    compare_at(d, key, it, json_get(b, key));
  }
  JSON_EACH(it, b) {
    str key = json_key(it, &d->arena);
    if (!json_get(a, key)) compare_at(d, key, NULL, it);
  }
}

static const struct json *element(const struct json *list, size_t index) {
  size_t i = 0;
  JSON_EACH(it, list)
    if (i++ == index) return it;
  return NULL;
}

static bool same(const struct json *a, const struct json *b) {
  return a && b && str_eq(json_span(a), json_span(b));
}

static void compare(struct differ *d, const struct json *a, const struct json *b) {
  if (same(a, b)) return;
  str x, y;
  if (json_is(a, JSON_OBJECT) && json_is(b, JSON_OBJECT)) {
    compare_objects(d, a, b);
  } else if (json_is(a, JSON_ARRAY) && json_is(b, JSON_ARRAY) && a->count == b->count && a->count < 1000) {
    for (size_t i = 0; i < a->count; i++)
      compare_at(d, arena_printf(&d->arena, "%zu", i), element(a, i), element(b, i));
  } else if (json_is(a, JSON_STRING) && json_is(b, JSON_STRING) && json_string(a, &d->arena, &x) &&
             json_string(b, &d->arena, &y) && memchr(x.p, '\n', x.n) && memchr(y.p, '\n', y.n)) {
    compare_lines(d, x, y);
  } else {
    if (a) put_value(d, '-', a);
    if (b) put_value(d, '+', b);
  }
}

void pins_diff(const struct json *before, const struct json *after, const char *indent, struct buf *out) {
  struct differ d = {.indent = indent, .out = out};
  arena_init(&d.arena);
  buf_init(&d.path, 1 << 16);
  const struct json *a = json_is(before, JSON_OBJECT) ? before : NULL;
  const struct json *b = json_is(after, JSON_OBJECT) ? after : NULL;
  if (a && b) compare(&d, a, b);
  else if (a || b)
    JSON_EACH(it, a ? a : b) {
      str key = json_key(it, &d.arena);
      compare_at(&d, key, a ? it : NULL, a ? NULL : it);
    }
  buf_done(&d.path);
  arena_done(&d.arena);
}

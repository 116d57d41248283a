// SPDX-License-Identifier: Apache-2.0
// Reads tables in JSON.
#include "base/assert.h"
#include "result/table/sheet_impl.h"
#include "json/path/path.h"
#include "json/pointer.h"
#include "json/text.h"
#include "json/write.h"

enum { ROWS_LOOKED_AT = 20, LONGEST_LINE = 1 << 20 };

// The columns that get their values from members with a certain key.
struct sheet_key {
  int column;      // the column that has the member's name, or -1
  uint64_t leads;  // bit mask of the columns whose values are inside the member, such as "a.b" for the member "a"
};

// The rest of a column's name after the key of its member, such as "b.c" in the name "a.b.c".
struct sheet_inner {
  str rest, token, tail;  // for the column "a.b.c": "b.c", "b" and "c"
  char sep;
  struct json_names names;  // contains only `token`; used to find the member with this key
};

struct sheet_keys {
  str texts[2 * SHEET_COLUMNS];
  struct sheet_key list[2 * SHEET_COLUMNS];
  struct json_names names;  // contains all `texts`; used to find the members with these keys
  struct sheet_inner *inner[SHEET_COLUMNS];
};

// ---- finding the rows

static bool keep_first(void *ctx, const char *value, const char **out_after) {
  *(const char **)ctx = value;
  return false;
}

// Returns the container that `path` selects. A path to all elements of a container selects the container itself:
// $.items[*] is treated like $.items.
static const char *follow_path(struct sheet *t, str path, struct arena *a, struct fault *f) {
  const char *found = NULL;
  if (str_ends(path, STR("[*]"))) path.n -= 3;
  else if (str_ends(path, STR(".*")) && !str_ends(path, STR("..*"))) path.n -= 2;
  struct json_path *query = json_path_compile(a, path, f);
  struct json_path_limits limits = json_path_limits_for(t->bytes.n);
  if (!query || !json_path_each(query, t->bytes, &limits, a, keep_first, &found, f)) return NULL;
  if (!found) fault_set(f, FAULT_INVALID, "path selects nothing");
  return found;
}

static const char *follow_pointer(struct sheet *t, str pointer, struct fault *f) {
  const char *v = json_scan_first(&t->scan);
  for (size_t far = 0; v && far < pointer.n;) {
    str token, tail;
    size_t count;
    str_cut(str_from(pointer, far + 1), '/', &token, &tail);
    v = json_pointer_step(&t->scan, v, token, &count);
    far += 1 + token.n;
  }
  if (!v) fault_set(f, FAULT_INVALID, "path selects nothing");
  return v;
}

// Returns the first member of the root that is an array of objects or arrays. Returns the root if it is an array or has
// no such member.
static const char *find_rows(struct sheet *t, const char *root) {
  struct json_walk w, inner;
  json_walk_open(&w, &t->scan, root);
  if (w.close != '}') return root;
  while (json_walk_next(&w)) {
    if (*w.value != '[' || !json_walk_enter(&w, &inner) || !json_walk_next(&inner)) continue;
    if (*inner.value == '{' || *inner.value == '[') return w.value;
    json_walk_leave(&w, &inner);
  }
  return root;
}

// ---- rows

static bool open_rows(struct sheet *t, const char *begin) {
  if (t->kind == SHEET_JSON_LINES) t->walk = (struct json_walk){.scan = &t->scan, .after = begin};
  else json_walk_open(&t->walk, &t->scan, begin);
  return !t->scan.wrong;
}

void sheet_json_rewind(struct sheet *t) {
  open_rows(t, t->first);
}

// `begin` is the start of a row; if the rows are members of an object, it is the start of the row's key.
void sheet_json_seek(struct sheet *t, const char *begin) {
  t->walk = (struct json_walk){.scan = &t->scan, .after = begin};
  if (t->kind == SHEET_JSON) t->walk.close = *t->first == '{' ? '}' : ']';
}

static bool next_line(struct sheet *t) {
  struct json_walk *w = &t->walk;
  if (!w->after && !(w->after = json_scan_skip(&t->scan, w->value))) return false;
  const char *p = w->after;
  while (p < t->scan.end && (unsigned char)*p <= ' ') p++;
  if (p == t->scan.end) return false;
  w->value = p;
  w->after = NULL;
  return true;
}

static bool next_row(struct sheet *t) {
  return t->kind == SHEET_JSON_LINES ? next_line(t) : json_walk_next(&t->walk);
}

// ---- cells of a row

static void set_cell(struct sheet *t, size_t i, struct json_walk *w) {
  str span = json_walk_value(w);
  t->seen |= (uint64_t)1 << i;
  t->cells[i] = (struct cell){span, !span.n || *span.p == 'n' ? CELL_NONE : CELL_JSON};
}

// Follows the rest of a column's name, such as "b.0" or "/b/0", starting at the value of a member. Returns the value
// found, or NULL.
static const char *follow_tokens(struct sheet *t, const char *value, str rest, char sep) {
  while (rest.n && value) {
    str token, tail;
    size_t count;
    str_cut(rest, sep, &token, &tail);
    value = json_pointer_step(&t->scan, value, token, &count);
    rest = tail;
  }
  return value;
}

static void set_inner(struct sheet *t, size_t i, struct json_walk *w) {
  struct sheet_inner *in = t->keys->inner[i];
  const char *value = w->value;
  if (*value == '{' && in->token.n && !memchr(in->token.p, '~', in->token.n)) {
    // If possible, json_walk_find finds the member at the position that it had in the previous row.
    struct json_walk inner;
    json_walk_enter(w, &inner);
    value = json_walk_find(&inner, &in->names) == 0 ? inner.value : NULL;
    json_walk_leave(w, &inner);
    value = follow_tokens(t, value, in->tail, in->sep);
  } else {
    value = follow_tokens(t, value, in->rest, in->sep);
  }
  const char *after = value ? json_scan_skip(&t->scan, value) : NULL;
  if (!after) return;
  t->seen |= (uint64_t)1 << i;
  t->cells[i] = (struct cell){{value, (size_t)(after - value)}, *value == 'n' ? CELL_NONE : CELL_JSON};
}

// Sets the cells whose values are this member or are inside it. A member whose whole key is a column's name takes
// precedence over a value inside another member; of several members with the same key, the first counts. Returns
// whether the member itself became the value of a column.
static bool take_member(struct sheet *t, const struct sheet_key *key, struct json_walk *w, uint64_t *had) {
  for (uint64_t left = key->leads; left; left &= left - 1) {
    size_t i = (size_t)__builtin_ctzll(left);
    if (t->cells[i].kind == CELL_NONE) set_inner(t, i, w);
  }
  if (key->column < 0 || (*had >> key->column & 1)) return false;
  *had |= (uint64_t)1 << key->column;
  set_cell(t, (size_t)key->column, w);
  return true;
}

static void read_object(struct sheet *t, struct json_walk *row) {
  struct json_walk w;
  size_t left = t->wanted_count;
  uint64_t had = 0;
  int i;
  json_walk_enter(row, &w);
  while (left && (i = json_walk_find(&w, &t->keys->names)) >= 0) left -= take_member(t, &t->keys->list[i], &w, &had);
  json_walk_leave(row, &w);
}

static void read_array(struct sheet *t, struct json_walk *row) {
  struct json_walk w;
  struct str_digits room;
  json_walk_enter(row, &w);
  while (json_walk_next(&w)) {
    str index = str_from_u64(w.count - 1, &room);
    for (size_t i = 0; i < t->wanted_count; i++)
      if (str_eq(t->wanted[i], index)) set_cell(t, i, &w);
  }
  json_walk_leave(row, &w);
}

// If rows are members of an object, sets the cell of the column "key" to the key of the row, as JSON with its quotes.
static void read_key(struct sheet *t, const struct json_walk *row) {
  for (size_t i = 0; i < t->wanted_count; i++) {
    if (t->cells[i].kind != CELL_NONE || !str_eq(t->wanted[i], STR("key"))) continue;
    t->seen |= (uint64_t)1 << i;
    t->cells[i] = (struct cell){{row->key.p - 1, row->key.n + 2}, CELL_JSON};
  }
}

bool sheet_json_next(struct sheet *t) {
  if (t->scan.wrong || !next_row(t)) {
    t->wrong = t->scan.wrong != NULL;
    return false;
  }
  struct json_walk *row = &t->walk;
  t->begin = row->close == '}' ? row->key.p - 1 : row->value;
  for (size_t i = 0; i < t->wanted_count; i++) t->cells[i].kind = CELL_NONE;
  if (*row->value == '{') read_object(t, row);
  else if (*row->value == '[') read_array(t, row);
  else
    for (size_t i = 0; i < t->wanted_count; i++)
      if (str_eq(t->wanted[i], STR("value"))) set_cell(t, i, row);
  if (row->close == '}') read_key(t, row);
  return true;
}

// ---- columns

static struct sheet_key *key_of(struct sheet_keys *k, str text) {
  size_t i = 0;
  while (i < k->names.count && !str_eq(k->texts[i], text)) i++;
  ASSERT(i < 2 * SHEET_COLUMNS);
  if (i == k->names.count) {
    k->texts[k->names.count++] = text;
    k->list[i].column = -1;
  }
  return &k->list[i];
}

// Prepares to read a column whose values are inside a member, such as "a.b" or "/a/b".
static void add_inner(struct sheet *t, size_t i) {
  str name = t->wanted[i], head, rest;
  char sep = name.n && name.p[0] == '/' ? '/' : '.';
  if (sep == '/') name = str_from(name, 1);
  if (!str_cut(name, sep, &head, &rest) && sep == '.') return;
  struct sheet_inner *in = t->keys->inner[i] = ARENA_NEW(t->arena, struct sheet_inner);
  in->rest = rest;
  in->sep = sep;
  str_cut(rest, sep, &in->token, &in->tail);
  in->names.list = &in->token;
  in->names.count = 1;
  key_of(t->keys, head)->leads |= (uint64_t)1 << i;
}

void sheet_json_want(struct sheet *t) {
  struct sheet_keys *k = t->keys = ARENA_NEW(t->arena, struct sheet_keys);
  k->names.list = k->texts;
  for (size_t i = 0; i < t->wanted_count; i++) {
    key_of(k, t->wanted[i])->column = (int)i;
    add_inner(t, i);
  }
}

static void add_name(struct sheet *t, str name) {
  for (size_t i = 0; i < t->columns; i++)
    if (str_eq(t->names[i], name)) return;
  if (t->columns < SHEET_COLUMNS) t->names[t->columns++] = name;
}

static str key_text(const struct json_walk *w, struct arena *a) {
  if (!w->escaped) return w->key;
  char *text = arena_alloc(a, w->key.n);
  return (str){text, json_text_unescape(w->key, text)};
}

static void name_columns(struct sheet *t, struct arena *a) {
  if (t->kind == SHEET_JSON && *t->first == '{') add_name(t, STR("key"));
  open_rows(t, t->first);
  for (size_t row = 0; row < ROWS_LOOKED_AT && next_row(t); row++) {
    struct json_walk w;
    if (!json_walk_enter(&t->walk, &w)) add_name(t, STR("value"));
    while (json_walk_next(&w) && w.count <= SHEET_COLUMNS)
      add_name(t, w.close == '}' ? key_text(&w, a) : arena_printf(a, "%zu", w.count - 1));
  }
}

// Returns whether the first line is one JSON value and the next line begins another JSON value.
static bool is_lines(struct sheet *t, const char *root) {
  const char *line = memchr(t->bytes.p, '\n', t->bytes.n < LONGEST_LINE ? t->bytes.n : LONGEST_LINE);
  struct json_scan scan = json_scan(line ? (str){t->bytes.p, (size_t)(line - t->bytes.p)} : STR(""));
  const char *after = line && root < line ? json_scan_skip(&scan, root) : NULL;
  if (!after) return false;
  while (line < t->scan.end && (unsigned char)*line <= ' ') line++;
  return line < t->scan.end && (*line == '{' || *line == '[');
}

bool sheet_json_open(struct sheet *t, str path, struct arena *a, struct fault *f) {
  t->scan = json_scan(t->bytes);
  const char *root = json_scan_first(&t->scan);
  if (root == t->scan.end || (*root != '{' && *root != '[')) return false;
  t->kind = !path.n && is_lines(t, root) ? SHEET_JSON_LINES : SHEET_JSON;
  t->first = root;
  f->code = FAULT_NONE;
  if (path.n && path.p[0] == '/') t->first = follow_pointer(t, path, f);
  else if (path.n) t->first = follow_path(t, path, a, f);
  else if (t->kind == SHEET_JSON) t->first = find_rows(t, root);
  if (t->first && *t->first != '{' && *t->first != '[') {
    fault_set(f, FAULT_INVALID, "path selects a single value; it must select rows: an array or an object");
    t->first = NULL;
  }
  if (!t->first) return true;
  name_columns(t, a);
  sheet_json_rewind(t);
  return true;
}

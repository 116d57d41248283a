// SPDX-License-Identifier: Apache-2.0
#include "json/edit/toml.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "json/edit/toml_impl.h"
#include "json/write.h"

enum { MOST_JSON = 256 << 20 };

bool toml_fail(struct toml_reader *r, const char *message) {
  ASSERT(message && r->at <= r->text.n);
  size_t line = 1, begin = 0;
  for (size_t i = 0; i < r->at; i++)
    if (r->text.p[i] == '\n') line++, begin = i + 1;
  char path[64];
  fault_set(r->fault, FAULT_INVALID, "%s", message);
  snprintf(path, sizeof path, "line %zu, column %zu", line, utf8_count((str){r->text.p + begin, r->at - begin}) + 1);
  fault_set_path(r->fault, str_of(path));
  return false;
}

// ---- blanks

void toml_skip_blanks(struct toml_reader *r) {
  while (toml_peek(r) == ' ' || toml_peek(r) == '\t') r->at++;
}

bool toml_skip_comment(struct toml_reader *r) {
  if (toml_peek(r) != '#') return true;
  for (; r->at < r->text.n && r->text.p[r->at] != '\n'; r->at++) {
    unsigned char c = (unsigned char)r->text.p[r->at];
    bool crlf = c == '\r' && r->at + 1 < r->text.n && r->text.p[r->at + 1] == '\n';
    if (((c < 0x20 && c != '\t') || c == 0x7f) && !crlf)
      return toml_fail(r, "a comment must not contain control characters");
  }
  return true;
}

bool toml_skip_newline(struct toml_reader *r) {
  str rest = str_from(r->text, r->at);
  size_t n = str_starts(rest, STR("\r\n")) ? 2 : str_starts(rest, STR("\n")) ? 1 : 0;
  r->at += n;
  return n > 0;
}

// Reads the rest of a line, which may contain only blanks and a comment.
static bool end_line(struct toml_reader *r) {
  toml_skip_blanks(r);
  if (!toml_skip_comment(r)) return false;
  return r->at == r->text.n || toml_skip_newline(r) || toml_fail(r, "expected the end of the line");
}

// ---- keys

static bool read_bare_key(struct toml_reader *r, str *out) {
  size_t from = r->at;
  for (char c; (c = toml_peek(r)) == '_' || c == '-' || ascii_is_alnum(c);) r->at++;
  *out = (str){r->text.p + from, r->at - from};
  return out->n || toml_fail(r, "expected a key");
}

bool toml_read_keys(struct toml_reader *r, struct toml_path *out) {
  ASSERT(r->at <= r->text.n);
  out->count = 0;
  for (;;) {
    if (out->count == TOML_DEEPEST) return toml_fail(r, "the dotted key has too many parts");
    str *key = &out->keys[out->count++];
    toml_skip_blanks(r);
    char c = toml_peek(r);
    if (c == '"' || c == '\'' ? !toml_read_short_text(r, key) : !read_bare_key(r, key)) return false;
    toml_skip_blanks(r);
    if (toml_peek(r) != '.') return true;
    r->at++;
  }
}

// ---- tables

struct toml_node *toml_find(const struct toml_node *table, str key) {
  for (struct toml_node *it = table->first; it; it = it->next)
    if (str_eq(it->key, key)) return it;
  return NULL;
}

struct toml_node *toml_add(struct toml_reader *r, struct toml_node *to, str key, enum toml_kind kind) {
  ASSERT(to->kind == TOML_TABLE || to->kind == TOML_TABLES || to->kind == TOML_LIST);
  struct toml_node *node = ARENA_NEW(r->arena, struct toml_node);
  node->key = key;
  node->kind = kind;
  if (to->last) to->last->next = node;
  else to->first = node;
  to->last = node;
  return node;
}

// Returns the table that `key`, one part of a dotted key, names in the table `at`. Creates the table if necessary.
static struct toml_node *step(struct toml_reader *r, struct toml_node *at, str key, bool dotted) {
  struct toml_node *next = toml_find(at, key);
  if (!next) {
    next = toml_add(r, at, key, TOML_TABLE);
    next->dotted = dotted;
    return next;
  }
  if (next->kind == TOML_TABLES) next = next->last;
  bool open = next->kind == TOML_TABLE && !next->closed && (!dotted || next->dotted);
  if (open) return next;
  toml_fail(r, "the key already has a value, or is a table that cannot be extended");
  return NULL;
}

static struct toml_node *walk(struct toml_reader *r, struct toml_node *at, const struct toml_path *path, bool dotted) {
  for (size_t i = 0; at && i + 1 < path->count; i++) at = step(r, at, path->keys[i], dotted);
  return at;
}

bool toml_read_pair(struct toml_reader *r, struct toml_node *table, struct toml_path *path, unsigned depth) {
  if (r->pairs++ == TOML_MOST_PAIRS) return toml_fail(r, "the file has too many keys");
  if (!toml_read_keys(r, path)) return false;
  struct toml_node *at = walk(r, table, path, true);
  if (!at) return false;
  str key = path->keys[path->count - 1];
  if (toml_find(at, key)) return toml_fail(r, "the key is defined twice");
  if (toml_peek(r) != '=') return toml_fail(r, "expected '=' after the key");
  r->at++;
  toml_skip_blanks(r);
  return toml_read_value(r, toml_add(r, at, key, TOML_SCALAR), depth);
}

static bool open_table(struct toml_reader *r, struct toml_path *path, bool array, struct toml_node **out) {
  struct toml_node *at = walk(r, r->root, path, false);
  if (!at) return false;
  str key = path->keys[path->count - 1];
  struct toml_node *node = toml_find(at, key);
  if (array) {
    if (node && node->kind != TOML_TABLES)
      return toml_fail(r, "the key already has a value, and is not an array of tables");
    if (!node) node = toml_add(r, at, key, TOML_TABLES);
    node = toml_add(r, node, STR(""), TOML_TABLE);
  } else if (node && (node->kind != TOML_TABLE || node->defined || node->dotted || node->closed)) {
    return toml_fail(r, "the table is defined twice");
  } else if (!node) {
    node = toml_add(r, at, key, TOML_TABLE);
  }
  node->defined = true;
  *out = node;
  return true;
}

static bool read_header(struct toml_reader *r) {
  bool array = str_starts(str_from(r->text, r->at), STR("[["));
  r->at += array ? 2 : 1;
  if (!toml_read_keys(r, &r->table)) return false;
  str close = array ? STR("]]") : STR("]");
  if (!str_starts(str_from(r->text, r->at), close))
    return toml_fail(r, "expected ']' or ']]' after the name of a table");
  r->at += close.n;
  return open_table(r, &r->table, array, &r->current);
}

// ---- lines

static void add_part(struct toml_reader *r, size_t from, const struct toml_path *key) {
  ASSERT(from <= r->at);
  struct toml *t = r->out;
  if (t->count == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 32;
    struct toml_part *grown = ARENA_ARRAY(r->arena, struct toml_part, cap);
    if (t->count) memcpy(grown, t->parts, t->count * sizeof *grown);
    t->parts = grown;
    t->cap = cap;
  }
  struct toml_part *p = &t->parts[t->count++];
  *p = (struct toml_part){.from = from, .to = r->at, .depth = r->table.count + key->count};
  for (size_t i = 0; i < TOML_PART_KEYS && i < p->depth; i++)
    p->keys[i] = i < r->table.count ? r->table.keys[i] : key->keys[i - r->table.count];
}

static bool read_line(struct toml_reader *r) {
  struct toml_path key = {.count = 0};
  size_t from = r->at;
  toml_skip_blanks(r);
  char c = toml_peek(r);
  bool blank = r->at == r->text.n || c == '#' || c == '\n' || c == '\r';
  if (!blank && !(c == '[' ? read_header(r) : toml_read_pair(r, r->current, &key, 0))) return false;
  if (!end_line(r)) return false;
  if (!blank) add_part(r, from, &key);
  return true;
}

// ---- JSON

static void put(struct json_writer *w, const struct toml_node *node) {
  if (node->kind == TOML_SCALAR) {
    json_put_raw(w, node->json);
    return;
  }
  bool object = node->kind == TOML_TABLE;
  if (object) json_begin_object(w);
  else json_begin_array(w);
  for (const struct toml_node *it = node->first; it; it = it->next) {
    if (object) json_put_key(w, it->key);
    put(w, it);
  }
  if (object) json_end_object(w);
  else json_end_array(w);
}

bool toml_read(struct arena *a, str text, struct toml *out, struct fault *f) {
  struct toml_node root = {.kind = TOML_TABLE};
  *out = (struct toml){0};
  struct toml_reader r = {.arena = a, .text = text, .fault = f, .out = out, .root = &root, .current = &root};
  if (!utf8_valid(text)) return toml_fail(&r, "the file is not valid UTF-8");
  if (str_starts(text, STR("\xef\xbb\xbf"))) r.at = 3;
  while (r.at < text.n)
    if (!read_line(&r)) return false;
  struct buf b;
  buf_init(&b, MOST_JSON);
  struct json_writer w = json_writer(&b);
  put(&w, &root);
  out->json = arena_str(a, buf_view(&b));
  bool ok = !b.over || toml_fail(&r, "the file is too large");
  buf_done(&b);
  return ok;
}

str toml_without(struct arena *a, str text, const struct toml *t, toml_drop *drop, void *ctx) {
  struct buf b;
  size_t at = 0;
  buf_init(&b, text.n);
  for (size_t i = 0; i < t->count; i++) {
    if (!drop(ctx, &t->parts[i])) continue;
    size_t last = i;
    while (last + 1 < t->count && drop(ctx, &t->parts[last + 1])) last++;
    buf_add(&b, text.p + at, t->parts[i].from - at);
    at = t->parts[last].to;
    // Empty lines after a dropped part are dropped, too.
    while (at < text.n && (text.p[at] == '\n' || text.p[at] == '\r')) at++;
    i = last;
  }
  buf_str(&b, str_from(text, at));
  str out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return out;
}

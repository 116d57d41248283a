// SPDX-License-Identifier: Apache-2.0
// JSON: its shape, the rows of its main table, where the size is.
#include "result/summary/outline.h"
#include "result/summary/summary_impl.h"
#include "result/table/grid.h"
#include "json/write.h"

enum {
  VALUE_CHARS = 80,     // of a scalar that is shown
  KEY_CHARS = 60,       // of a key
  KEYS_SHOWN = 6,       // of an object that is told in a few words
  TABLE_SHARE = 4,      // a table is the main thing when it has a quarter of all
  TABLE_DEPTH = 5,      // it is looked for so deep
  POINTER_BYTES = 512,  // of its place
};

struct shape {
  struct outline_text text;
  const struct outline *table;  // array of objects; NULL: there is none that matters
  str pointer;                  // to it, as JSON Pointer inside a JSON string; STR_NONE: cannot be said
  struct grid grid;
};

// ---- the main table ----

static bool is_rows(const struct outline *v) {
  size_t objects = 0, seen = 0;
  if (v->type != JSON_ARRAY) return false;
  for (const struct outline *c = v->child; c; c = c->next, seen++) objects += c->type == JSON_OBJECT;
  return seen && objects * 10 >= seen * 8;
}

struct place {
  const struct outline *at[TABLE_DEPTH + 1];  // the members that lead there
  size_t depth;
};

// The largest one below an object, through objects only.
static void find_table(const struct outline *v, struct place *way, const struct outline **best, struct place *out) {
  if (is_rows(v)) {
    if (*best && (*best)->span.n >= v->span.n) return;
    *best = v;
    *out = *way;
    return;
  }
  if (v->type != JSON_OBJECT || way->depth == TABLE_DEPTH) return;
  for (const struct outline *c = v->child; c; c = c->next) {
    way->at[way->depth++] = c;
    find_table(c, way, best, out);
    way->depth--;
  }
}

// Goes into a selector, which is JSON, as keys do. A key with escapes is not written another way: there is no pointer.
static bool put_pointer(struct buf *out, const struct place *p) {
  for (size_t i = 0; i < p->depth; i++) {
    if (memchr(p->at[i]->key.p, '\\', p->at[i]->key.n)) return false;
    buf_char(out, '/');
    for (size_t k = 0; k < p->at[i]->key.n; k++) {
      char c = p->at[i]->key.p[k];
      if (c == '~') buf_str(out, STR("~0"));
      else if (c == '/') buf_str(out, STR("~1"));
      else buf_char(out, c);
    }
  }
  return !out->over;
}

static void note_place(struct shape *sh, const struct place *p, struct arena *a) {
  struct buf text;
  buf_init(&text, POINTER_BYTES);
  if (put_pointer(&text, p)) sh->pointer = arena_str(a, buf_view(&text));
  buf_done(&text);
}

// ---- its rows ----

static size_t column_of(struct grid *g, str key) {
  for (size_t i = 0; i < g->columns; i++)
    if (str_eq(g->names[i], key)) return i;
  if (g->columns == GRID_COLUMNS) return GRID_COLUMNS;
  g->names[g->columns] = key;
  return g->columns++;
}

static struct cell cell_of(const struct outline *v) {
  struct cell c = {.text = v->span};
  switch (v->type) {
  case JSON_STRING:
    c = grid_text_cell(v->span.n >= 2 ? (str){v->span.p + 1, v->span.n - 2} : STR(""));
    c.escaped = true;
    if (c.type < CELL_DATE) c.type = c.text.n ? CELL_TEXT : CELL_EMPTY;
    break;
  case JSON_ARRAY: c.type = CELL_LIST; break;
  case JSON_OBJECT: c.type = CELL_OBJECT; break;
  default: c = grid_text_cell(v->span); break;
  }
  return c;
}

static void add_row(struct grid *g, const struct outline *row) {
  for (const struct outline *m = row->child; m; m = m->next) {
    size_t i = column_of(g, m->key);
    if (i == GRID_COLUMNS) continue;
    g->cells[g->rows][i] = cell_of(m);
    g->bytes[i] += m->span.n;
  }
  g->rows++;
}

static void read_rows(struct shape *sh) {
  sh->grid.names_escaped = true;
  for (const struct outline *row = sh->table->child; row && sh->grid.rows < GRID_ROWS; row = row->next)
    if (row->type == JSON_OBJECT) add_row(&sh->grid, row);
}

// ---- what follows ----

static str column_names(const struct shape *sh, struct arena *a) {
  enum { NAMES = 12 };
  struct buf b;
  buf_init(&b, 4096);
  for (size_t i = 0; i < sh->grid.columns && i < NAMES; i++) {
    if (i) buf_str(&b, STR(", "));
    brief_json_cell(&b, sh->grid.names[i], KEY_CHARS);
  }
  if (sh->grid.columns > NAMES) buf_printf(&b, ", … %zu more", sh->grid.columns - NAMES);
  str names = arena_str(a, buf_view(&b));
  buf_done(&b);
  return names;
}

// The member that takes the most, when it is not the table.
static const struct outline *largest(const struct outline *v) {
  const struct outline *best = NULL;
  for (const struct outline *c = v->child; c; c = c->next)
    if (c->key.p && (!best || c->span.n > best->span.n)) best = c;
  return best;
}

static void add_views(struct summary *s, const struct shape *sh) {
  bool whole = sh->text.broken == SIZE_MAX;
  if (!whole) {
    summary_add_view(s, "lines", "{\"type\":\"lines\",\"start\":0,\"end\":40}");
    return;
  }
  if (sh->table && sh->grid.columns && sh->pointer.p) {
    const char *at = sh->pointer.n ? ",\"path\":\"" : "";
    summary_add_view(s, "rows as records", "{\"type\":\"records\"%s%.*s%s,\"limit\":20}", at, STR_ARG(sh->pointer),
                     sh->pointer.n ? "\"" : "");
    if (!sh->text.several)
      summary_add_view(s, "one row", "{\"type\":\"pointer\",\"pointer\":\"%.*s/0\"}", STR_ARG(sh->pointer));
    return;
  }
  const struct outline *v = sh->text.root.type == JSON_OBJECT ? largest(&sh->text.root) : NULL;
  struct place way = {.at = {v}, .depth = 1};
  struct buf pointer;
  buf_init(&pointer, POINTER_BYTES);
  if (v && put_pointer(&pointer, &way))
    summary_add_view(s, "the largest member", "{\"type\":\"pointer\",\"pointer\":\"%.*s\"}",
                     STR_ARG(buf_view(&pointer)));
  else if (!sh->text.several) summary_add_view(s, "elements", "{\"type\":\"path\",\"path\":\"$[0:20]\"}");
  buf_done(&pointer);
}

// Short members are facts: strings without quotes, everything else as JSON.
static void add_member_facts(struct summary *s, const struct outline *root) {
  for (const struct outline *m = root->child; m; m = m->next) {
    bool string = m->type == JSON_STRING && m->span.n >= 2;
    struct buf fact;
    if (m->key.n + m->span.n >= SUMMARY_FACT_CHARS) continue;
    buf_init(&fact, 4096);
    brief_json_cell(&fact, m->key, SUMMARY_FACT_CHARS);
    buf_str(&fact, STR(": "));
    if (string) brief_json_cell(&fact, (str){m->span.p + 1, m->span.n - 2}, SUMMARY_FACT_CHARS);
    else brief_cell(&fact, m->span, SUMMARY_FACT_CHARS);
    summary_add_fact(s, "%.*s", STR_ARG(buf_view(&fact)));
    buf_done(&fact);
  }
}

void summary_look_json(struct summary *s) {
  struct shape *sh = ARENA_NEW(s->a, struct shape);
  struct place way = {.depth = 0}, found = {.depth = 0};
  s->found = sh;
  if (!outline_read(s->text, s->a, &sh->text)) {
    s->content = (struct content){.kind = CONTENT_PROSE, .what = "text"};
    summary_look_prose(s);
    return;
  }
  find_table(&sh->text.root, &way, &sh->table, &found);
  if (sh->table && sh->table->span.n < s->text.n / TABLE_SHARE) sh->table = NULL;
  if (sh->table) {
    note_place(sh, &found, s->a);
    read_rows(sh);
    summary_add_fact(s, "rows: %zu", sh->table->count);
    summary_add_fact(s, "columns: %.*s", STR_ARG(column_names(sh, s->a)));
  }
  if (sh->text.root.type == JSON_OBJECT) add_member_facts(s, &sh->text.root);
  add_views(s, sh);
}

// ---- words for values ----

static const char *plural_of(const struct outline *v) {
  const struct outline *first = v->child;
  for (const struct outline *c = first; c; c = c->next)
    if (c->type != first->type) return "values";
  static const char *const names[] = {"nulls", "booleans", "booleans", "numbers", "strings", "arrays", "objects"};
  return first ? names[first->type] : "values";
}

static void put_keys(struct buf *out, const struct outline *v) {
  size_t shown = 0;
  buf_str(out, STR("{"));
  for (const struct outline *c = v->child; c && shown < KEYS_SHOWN; c = c->next, shown++) {
    if (shown) buf_str(out, STR(", "));
    brief_json_cell(out, c->key, KEY_CHARS);
  }
  if (v->count != OUTLINE_UNCOUNTED && v->count > shown) buf_printf(out, ", … %zu more", v->count - shown);
  buf_str(out, STR("}"));
}

static void put_container(struct buf *out, const struct outline *v) {
  if (v->type == JSON_OBJECT && v->count != OUTLINE_UNCOUNTED && v->count) {
    buf_str(out, STR("object "));
    put_keys(out, v);
  } else if (v->type == JSON_OBJECT) buf_str(out, v->count ? STR("object") : STR("{}"));
  else if (v->count == OUTLINE_UNCOUNTED) buf_str(out, STR("array"));
  else if (!v->count) buf_str(out, STR("[]"));
  else buf_printf(out, "array of %zu %s", v->count, plural_of(v));
}

static void put_value(struct buf *out, const struct outline *v) {
  if (v->type == JSON_ARRAY || v->type == JSON_OBJECT) {
    put_container(out, v);
  } else if (v->type == JSON_STRING && v->span.n >= 2) {
    buf_char(out, '"');
    brief_json_cell(out, (str){v->span.p + 1, v->span.n - 2}, VALUE_CHARS);
    buf_char(out, '"');
  } else {
    brief_cell(out, v->span, VALUE_CHARS);
  }
  if (v->span.n <= 4 * VALUE_CHARS) return;
  buf_str(out, STR(", "));
  brief_size(out, v->span.n);
}

// ---- lines ----

static bool write_member(struct brief *b, const struct outline *m, int indent) {
  struct buf line;
  buf_init(&line, 8192);
  buf_printf(&line, "%*s", indent, "");
  brief_json_cell(&line, m->key, KEY_CHARS);
  buf_str(&line, STR(": "));
  put_value(&line, m);
  bool fits = brief_line(b, buf_view(&line));
  buf_done(&line);
  return fits;
}

// Members of an object, and of the one inside it that has nearly everything.
static void write_members(struct brief *b, const struct outline *v, int indent, size_t tokens, unsigned depth) {
  struct brief share = {b->out, tokens < b->left ? tokens : b->left};
  size_t had = share.left, shown = 0;
  const struct outline *m = v->child;
  for (; m && write_member(&share, m, indent); m = m->next, shown++)
    if (depth && m->type == JSON_OBJECT && m->span.n > v->span.n / 2)
      write_members(&share, m, indent + 2, share.left, depth - 1);
  if (v->count > shown && v->count != OUTLINE_UNCOUNTED)
    brief_printf(&share, "%*s… %zu more members", indent, "", v->count - shown);
  b->left -= had - share.left;
}

static void write_elements(struct brief *b, const struct outline *v, size_t tokens) {
  struct brief share = {b->out, tokens < b->left ? tokens : b->left};
  size_t had = share.left, at = 0;
  for (const struct outline *c = v->child; c; c = c->next, at++) {
    struct buf line;
    buf_init(&line, 8192);
    buf_printf(&line, "[%zu] ", at);
    put_value(&line, c);
    bool fits = brief_line(&share, buf_view(&line));
    buf_done(&line);
    if (!fits) break;
  }
  if (at < v->count) brief_printf(&share, "… %zu more elements", v->count - at);
  b->left -= had - share.left;
}

static void write_title(const struct summary *s, const struct shape *sh, struct brief *b) {
  struct buf line;
  const struct outline *root = &sh->text.root;
  buf_init(&line, 8192);
  if (sh->text.several) buf_printf(&line, "%zu JSON %s, one after another", root->count, plural_of(root));
  else if (root->type == JSON_ARRAY) buf_printf(&line, "JSON array of %zu %s", root->count, plural_of(root));
  else buf_printf(&line, "JSON object of %zu member%s", root->count, root->count == 1 ? "" : "s");
  buf_str(&line, STR(", "));
  brief_size(&line, s->text.n);
  if (sh->text.broken != SIZE_MAX) buf_printf(&line, "; broken at byte %zu", sh->text.broken);
  brief_line(b, buf_view(&line));
  buf_done(&line);
}

// Which columns take the room: those with a fifth of it or more.
static void write_sizes(const struct shape *sh, struct brief *b) {
  const struct grid *g = &sh->grid;
  size_t all = 0;
  for (size_t i = 0; i < g->columns; i++) all += g->bytes[i];
  struct brief_list list;
  brief_list_begin(&list, b, 60, STR("most of the size: "));
  for (size_t i = 0; i < g->columns && all; i++) {
    size_t percent = g->bytes[i] * 100 / all;
    if (percent < 20) continue;
    struct buf item;
    buf_init(&item, 1024);
    brief_json_cell(&item, g->names[i], KEY_CHARS);
    buf_printf(&item, " %zu%%", percent);
    brief_list_add(&list, buf_view(&item));
    buf_done(&item);
  }
  if (g->columns > 1) brief_list_end(&list, b);
  else buf_done(&list.line);
}

static void write_table(const struct shape *sh, struct brief *b, size_t tokens) {
  if (sh->pointer.n) {
    struct buf at;
    buf_init(&at, 4096);
    brief_json_cell(&at, sh->pointer, POINTER_BYTES);
    brief_printf(b, "%.*s: %zu objects", STR_ARG(buf_view(&at)), sh->table->count);
    buf_done(&at);
  }
  grid_write_columns(&sh->grid, b, sh->table->count, tokens / 2);
  write_sizes(sh, b);
  size_t rows = grid_write_rows(&sh->grid, b, b->left > 12 ? b->left - 12 : 0);
  if (rows && rows < sh->table->count) brief_printf(b, "… %zu more rows", sh->table->count - rows);
}

void summary_write_json(const struct summary *s, struct brief *b) {
  const struct shape *sh = s->found;
  const struct outline *root = &sh->text.root;
  write_title(s, sh, b);
  size_t all = b->left;
  if (root->type == JSON_OBJECT) write_members(b, root, 2, sh->table ? all / 3 : all, 2);
  if (sh->table) write_table(sh, b, b->left);
  else if (root->type == JSON_ARRAY) write_elements(b, root, all);
}

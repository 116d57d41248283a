// SPDX-License-Identifier: Apache-2.0
// Summary of JSON: its shape, the rows of its largest table, and the columns that take most of the size.
#include "base/assert.h"
#include "result/summary/outline.h"
#include "result/summary/summary_impl.h"
#include "result/table/grid.h"

enum {
  VALUE_CHARS = 80,     // maximum characters shown of a value that is not a container
  KEY_CHARS = 60,       // maximum characters shown of a key
  KEYS_SHOWN = 6,       // maximum number of an object's keys in a line
  TABLE_SHARE = 4,      // a table is shown if it makes up at least a quarter of the text
  TABLE_DEPTH = 5,      // number of levels that are searched for a table
  POINTER_BYTES = 512,  // maximum bytes of the JSON Pointer to the table
};

struct json_shape {
  struct outline_text text;
  const struct outline *table;  // the array of objects that is shown as a table; or NULL
  str pointer;                  // JSON Pointer to the table, escaped for a JSON string; STR_NONE if a key has escapes
  struct grid grid;
};

struct json_place {
  const struct outline *at[TABLE_DEPTH + 1];  // the values on the path from the root to this place
  size_t depth;
};

// ---- the main table ----

static bool is_rows(const struct outline *v) {
  size_t objects = 0, seen = 0;
  if (v->type != JSON_ARRAY) return false;
  for (const struct outline *c = v->child; c; c = c->next, seen++) objects += c->type == JSON_OBJECT;
  return seen && objects * 10 >= seen * 8;
}

// Finds the largest array of objects. Searches the members of objects, but not the elements of arrays.
static void find_table(const struct outline *v, struct json_place *way, const struct outline **best,
                       struct json_place *out) {
  if (is_rows(v)) {
    if (*best && (*best)->span.n >= v->span.n) return;
    *best = v;
    *out = *way;
    return;
  }
  if (v->type != JSON_OBJECT || way->depth == TABLE_DEPTH) return;
  for (const struct outline *c = v->child; c; c = c->next) {
    ASSERT(way->depth < TABLE_DEPTH);
    way->at[way->depth++] = c;
    find_table(c, way, best, out);
    way->depth--;
  }
}

// Writes the JSON Pointer to a place. Keys are copied as written, so the function returns false for a key with escapes.
static bool put_pointer(struct buf *out, const struct json_place *p) {
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

// ---- rows of the main table ----

static void read_rows(struct json_shape *sh) {
  struct grid *g = &sh->grid;
  for (const struct outline *row = sh->table->child; row && g->rows < GRID_ROWS; row = row->next) {
    if (row->type != JSON_OBJECT) continue;
    for (const struct outline *m = row->child; m; m = m->next) {
      size_t i = grid_add_column(g, (struct cell){{m->key.p - 1, m->key.n + 2}, CELL_JSON});
      if (i < GRID_COLUMNS) g->cells[g->rows][i] = (struct cell){m->span, m->span.n ? CELL_JSON : CELL_NONE};
    }
    g->rows++;
  }
  grid_finish(g);
}

// ---- facts and views ----

static void add_table_facts(struct summary *s, const struct json_shape *sh) {
  enum { NAMES = 12 };
  struct buf names;
  buf_init(&names, 4096);
  grid_put_names(&sh->grid, &names, NAMES);
  if (sh->grid.columns > NAMES) buf_printf(&names, ", … %zu more", sh->grid.columns - NAMES);
  summary_add_fact(s, "rows: %zu", sh->table->count);
  summary_add_fact(s, "columns: %.*s", STR_ARG(buf_view(&names)));
  buf_done(&names);
}

static void add_views(struct summary *s, const struct json_shape *sh) {
  if (sh->text.broken != SIZE_MAX) {
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
  const struct outline *largest = NULL;
  for (const struct outline *c = sh->text.root.child; c && sh->text.root.type == JSON_OBJECT; c = c->next)
    if (c->key.p && (!largest || c->span.n > largest->span.n)) largest = c;
  struct json_place way = {.at = {largest}, .depth = 1};
  struct buf pointer;
  buf_init(&pointer, POINTER_BYTES);
  if (largest && put_pointer(&pointer, &way))
    summary_add_view(s, "the largest member", "{\"type\":\"pointer\",\"pointer\":\"%.*s\"}",
                     STR_ARG(buf_view(&pointer)));
  else if (!sh->text.several) summary_add_view(s, "elements", "{\"type\":\"path\",\"path\":\"$[0:20]\"}");
  buf_done(&pointer);
}

// Adds short members as facts: strings without quotes, other values as JSON.
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
  struct json_shape *sh = ARENA_NEW(s->a, struct json_shape);
  struct json_place way = {.depth = 0}, found = {.depth = 0};
  s->found = sh;
  if (!outline_read(s->text, s->a, &sh->text)) {
    summary_fall_back(s);
    return;
  }
  find_table(&sh->text.root, &way, &sh->table, &found);
  if (sh->table && sh->table->span.n < s->text.n / TABLE_SHARE) sh->table = NULL;
  if (sh->table) {
    struct buf pointer;
    buf_init(&pointer, POINTER_BYTES);
    if (put_pointer(&pointer, &found)) sh->pointer = arena_str(s->a, buf_view(&pointer));
    buf_done(&pointer);
    read_rows(sh);
    add_table_facts(s, sh);
  }
  if (sh->text.root.type == JSON_OBJECT) add_member_facts(s, &sh->text.root);
  add_views(s, sh);
}

// ---- descriptions of values ----

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
  size_t begin = brief_begin(b);
  buf_printf(b->out, "%*s", indent, "");
  brief_json_cell(b->out, m->key, KEY_CHARS);
  buf_str(b->out, STR(": "));
  put_value(b->out, m);
  return brief_end(b, begin);
}

// Writes the members of an object. If a member takes most of the object's size, also writes the members of this member.
static void write_members(struct brief *b, const struct outline *v, int indent, size_t tokens, unsigned depth) {
  struct brief share = brief_share(b, tokens);
  size_t shown = 0;
  const struct outline *m = v->child;
  for (; m && write_member(&share, m, indent); m = m->next, shown++)
    if (depth && m->type == JSON_OBJECT && m->span.n > v->span.n / 2)
      write_members(&share, m, indent + 2, share.left, depth - 1);
  if (v->count > shown && v->count != OUTLINE_UNCOUNTED)
    brief_printf(&share, "%*s… %zu more members", indent, "", v->count - shown);
  brief_take_back(b, &share);
}

static void write_elements(struct brief *b, const struct outline *v) {
  size_t at = 0;
  for (const struct outline *c = v->child; c; c = c->next, at++) {
    size_t begin = brief_begin(b);
    buf_printf(b->out, "[%zu] ", at);
    put_value(b->out, c);
    if (!brief_end(b, begin)) break;
  }
  if (at < v->count) brief_printf(b, "… %zu more elements", v->count - at);
}

static void write_title(const struct summary *s, const struct json_shape *sh, struct brief *b) {
  const struct outline *root = &sh->text.root;
  size_t begin = brief_begin(b);
  if (sh->text.several) buf_printf(b->out, "%zu JSON %s, one after another", root->count, plural_of(root));
  else if (root->type == JSON_ARRAY) buf_printf(b->out, "JSON array of %zu %s", root->count, plural_of(root));
  else buf_printf(b->out, "JSON object of %zu member%s", root->count, root->count == 1 ? "" : "s");
  buf_str(b->out, STR(", "));
  brief_size(b->out, s->text.n);
  if (sh->text.broken != SIZE_MAX) buf_printf(b->out, "; broken at byte %zu", sh->text.broken);
  brief_end(b, begin);
}

// Lists the columns whose cells take at least a fifth of the bytes of all cells.
static void write_sizes(const struct grid *g, struct brief *b) {
  size_t all = 0;
  for (size_t i = 0; i < g->columns; i++) all += g->column[i].bytes;
  struct brief_list list;
  brief_list_begin(&list, b, 60, STR("most of the size: "));
  for (size_t i = 0; i < g->columns && g->columns > 1 && all; i++) {
    size_t percent = g->column[i].bytes * 100 / all;
    if (percent < 20) continue;
    struct buf *item = brief_list_item(&list);
    cell_put_short(item, &g->column[i].name, KEY_CHARS);
    buf_printf(item, " %zu%%", percent);
    brief_list_item_end(&list);
  }
  brief_list_end(&list, b);
}

static void write_table(const struct json_shape *sh, struct brief *b) {
  size_t tokens = b->left;
  if (sh->pointer.n) {
    size_t begin = brief_begin(b);
    brief_json_cell(b->out, sh->pointer, POINTER_BYTES);
    buf_printf(b->out, ": %zu objects", sh->table->count);
    brief_end(b, begin);
  }
  grid_write_columns(&sh->grid, b, sh->table->count, tokens / 2);
  write_sizes(&sh->grid, b);
  size_t rows = grid_write_rows(&sh->grid, b, b->left > 12 ? b->left - 12 : 0);
  if (rows && rows < sh->table->count) brief_printf(b, "… %zu more rows", sh->table->count - rows);
}

void summary_write_json(const struct summary *s, struct brief *b) {
  const struct json_shape *sh = s->found;
  const struct outline *root = &sh->text.root;
  write_title(s, sh, b);
  if (root->type == JSON_OBJECT) write_members(b, root, 2, sh->table ? b->left / 3 : b->left, 2);
  if (sh->table) write_table(sh, b);
  else if (root->type == JSON_ARRAY) write_elements(b, root);
}

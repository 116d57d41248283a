// SPDX-License-Identifier: Apache-2.0
// Source code: what it defines. Diffs: which files, how much in each.
#include "base/ascii.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { DEFINITIONS = 48, FILES = 64, LOOKED_BYTES = 8 << 20, LINE_CHARS = 100 };

// ---- source ----

struct definition {
  str line;
  size_t number;
};

struct source {
  size_t lines, count, more;
  struct definition list[DEFINITIONS];
};

static bool is_definition(str line) {
  static const str starts[] = {
      STR("def "),           STR("class "),          STR("async def "), STR("    def "),
      STR("    async def "), STR("func "),           STR("type "),      STR("fn "),
      STR("pub fn "),        STR("pub struct "),     STR("struct "),    STR("enum "),
      STR("pub enum "),      STR("impl "),           STR("trait "),     STR("interface "),
      STR("function "),      STR("async function "), STR("export "),    STR("public "),
      STR("    public "),    STR("#define "),        STR("typedef "),   STR("static "),
      STR("CREATE "),        STR("module "),         STR("namespace "), STR("const "),
      STR("  async "),       STR("abstract "),
  };
  if (line.n < 5) return false;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (*starts[i].p == *line.p && str_starts(line, starts[i])) return true;
  // C and its like: a name and an open bracket at the margin, a brace at the end
  return ascii_is_letter(*line.p) && line.p[line.n - 1] == '{' && memchr(line.p, '(', line.n);
}

void summary_look_code(struct summary *s) {
  struct source *src = ARENA_NEW(s->a, struct source);
  s->found = src;
  src->lines = measure_lines(s->text);
  size_t number = 0;
  for (str rest = {s->text.p, s->text.n < LOOKED_BYTES ? s->text.n : LOOKED_BYTES}; rest.n; number++) {
    str line = measure_next_line(&rest);
    if (!is_definition(line)) continue;
    if (src->count < DEFINITIONS) src->list[src->count++] = (struct definition){line, number};
    else src->more++;
  }
  summary_add_fact(s, "lines: %zu", src->lines);
  if (src->count) {
    size_t at = src->list[0].number;
    summary_add_view(s, "lines", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", at, at + 60);
  } else {
    summary_add_view(s, "lines", "{\"type\":\"lines\",\"start\":0,\"end\":60}");
  }
}

static void write_definitions(const struct source *src, struct brief *b, size_t tokens) {
  struct brief share = {b->out, tokens < b->left ? tokens : b->left};
  size_t had = share.left, at = 0;
  if (!src->count || !brief_line(&share, STR("definitions, with their lines:"))) return;
  for (; at < src->count; at++) {
    struct buf line;
    buf_init(&line, 1024);
    buf_printf(&line, "%zu: ", src->list[at].number);
    brief_cell(&line, src->list[at].line, LINE_CHARS);
    bool fits = share.left > 12 && brief_line(&share, buf_view(&line));
    buf_done(&line);
    if (!fits) break;
  }
  if (src->count - at + src->more) brief_printf(&share, "… %zu more", src->count - at + src->more);
  b->left -= had - share.left;
}

void summary_write_code(const struct summary *s, struct brief *b) {
  const struct source *src = s->found;
  struct brief_size size;
  brief_printf(b, "%s, %zu lines, %s", s->content.what, src->lines, brief_size_of(s->text.n, &size));
  write_definitions(src, b, b->left * 3 / 5);
  if (brief_line(b, STR("how it begins:"))) brief_lines(b, s->text, b->left);
}

// ---- diffs ----

struct changed {
  str name;
  size_t added, removed, hunks, number;
};

struct diff {
  struct changed files[FILES];
  size_t count;  // all, also those that have no place
  size_t added, removed;
  struct changed *last;
};

static str diff_name(str line) {
  str name = str_from(line, 4), before, behind;
  if (str_cut(name, '\t', &before, &behind)) name = before;
  return str_starts(name, STR("b/")) || str_starts(name, STR("a/")) ? str_from(name, 2) : name;
}

static void begin_file(struct diff *d, str name, size_t number) {
  d->last = d->count < FILES ? &d->files[d->count] : NULL;
  if (d->last) *d->last = (struct changed){.name = name, .number = number};
  d->count++;
}

// Counted by the lines of a hunk, so that what looks like a head inside of one is none.
struct hunk {
  uint64_t before, after;  // lines of it that are still to come
};

static uint64_t take_number(str *s) {
  uint64_t n = 0;
  while (s->n && ascii_is_digit(*s->p) && n < UINT32_MAX) n = n * 10 + (uint64_t)(*s->p - '0'), *s = str_from(*s, 1);
  return n;
}

// -12,5: five lines; -12: one.
static uint64_t take_range(str *s) {
  *s = str_from(*s, 1);
  take_number(s);
  if (!s->n || *s->p != ',') return 1;
  *s = str_from(*s, 1);
  return take_number(s);
}

static struct hunk begin_hunk(struct diff *d, str line) {
  str rest = str_from(line, 3);
  struct hunk h = {.before = take_range(&rest)};
  rest = str_trim(rest);
  h.after = take_range(&rest);
  if (d->last) d->last->hunks++;
  return h;
}

static void read_hunk(struct diff *d, struct hunk *h, str line) {
  char sign = line.n ? *line.p : ' ';
  bool added = sign == '+', removed = sign == '-';
  d->added += added;
  d->removed += removed;
  if (d->last) d->last->added += added, d->last->removed += removed;
  if (sign == '\\') return;
  if (h->before && !added) h->before--;
  if (h->after && !removed) h->after--;
}

void summary_look_diff(struct summary *s) {
  struct diff *d = ARENA_NEW(s->a, struct diff);
  struct hunk h = {0};
  str old = STR_NONE;
  size_t number = 0;
  s->found = d;
  for (str rest = s->text; rest.n; number++) {
    str line = measure_next_line(&rest);
    if (h.before || h.after) read_hunk(d, &h, line);
    else if (str_starts(line, STR("@@ "))) h = begin_hunk(d, line);
    else if (str_starts(line, STR("--- "))) old = diff_name(line);
    else if (str_starts(line, STR("+++ ")))
      begin_file(d, str_starts(line, STR("+++ /dev/null")) ? old : diff_name(line), number);
  }
  summary_add_fact(s, "files changed: %zu", d->count);
  summary_add_fact(s, "lines: +%zu -%zu", d->added, d->removed);
  size_t from = d->count > 1 ? d->files[1].number : 0;
  summary_add_view(s, d->count > 1 ? "the second file" : "lines", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}",
                   from ? from - 1 : 0, from + 60);
}

static bool write_file(const struct changed *f, struct brief *b) {
  struct buf line;
  buf_init(&line, 4096);
  buf_printf(&line, "line %zu: ", f->number);
  brief_cell(&line, f->name, 200);
  buf_printf(&line, " +%zu -%zu", f->added, f->removed);
  bool fits = brief_line(b, buf_view(&line));
  buf_done(&line);
  return fits;
}

void summary_write_diff(const struct summary *s, struct brief *b) {
  const struct diff *d = s->found;
  struct brief_size size;
  brief_printf(b, "diff of %zu files, +%zu -%zu lines, %s", d->count, d->added, d->removed,
               brief_size_of(s->text.n, &size));
  size_t had = b->left, kept = d->count < FILES ? d->count : FILES, at = 0;
  while (at < kept && b->left * 3 > had && write_file(&d->files[at], b)) at++;
  if (at < d->count) brief_printf(b, "… %zu more files", d->count - at);
  if (brief_line(b, STR("how it begins:"))) brief_lines(b, s->text, b->left);
}

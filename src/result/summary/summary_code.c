// SPDX-License-Identifier: Apache-2.0
// Summaries of source code (its definitions) and of diffs (changed files with their numbers of changed lines).
#include "base/ascii.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { DEFINITIONS = 48, FILES = 64, LOOKED_BYTES = 8 << 20, LINE_CHARS = 100 };

// ---- source ----

struct source {
  size_t lines, count, more;
  struct numbered_line list[DEFINITIONS];
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
  // C and similar languages: the line begins with a letter, has a "(" and ends with a "{"
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
    if (src->count < DEFINITIONS) src->list[src->count++] = (struct numbered_line){line, number};
    else src->more++;
  }
  summary_add_fact(s, "lines: %zu", src->lines);
  size_t at = src->count ? src->list[0].number : 0;
  summary_add_view(s, "lines", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", at, at + 60);
}

void summary_write_code(const struct summary *s, struct brief *b) {
  const struct source *src = s->found;
  struct brief_size size;
  brief_printf(b, "%s, %zu lines, %s", s->content.what, src->lines, brief_size_of(s->text.n, &size));
  struct brief share = brief_share(b, b->left * 3 / 5);
  if (src->count && brief_line(&share, STR("definitions, with their lines:")))
    summary_write_numbered(&share, src->list, src->count, src->more, LINE_CHARS);
  brief_take_back(b, &share);
  if (brief_line(b, STR("how it begins:"))) brief_lines(b, s->text, b->left);
}

// ---- diffs ----

struct changed {
  str name;
  size_t added, removed, number;
};

struct diff {
  struct changed files[FILES];
  size_t count;  // number of changed files, including those not in `files`
  size_t added, removed;
  struct changed *last;
};

static str diff_name(str line) {
  str name = str_from(line, 4), before, after;
  if (str_cut(name, '\t', &before, &after)) name = before;
  return str_starts(name, STR("b/")) || str_starts(name, STR("a/")) ? str_from(name, 2) : name;
}

// The current hunk of a diff. Its lines are counted, so that no line of a hunk is mistaken for the header of a file.
struct hunk {
  uint64_t before, after;  // number of lines left in the hunk: of the old file, and of the new file
};

static uint64_t take_number(str *s) {
  uint64_t n = 0;
  while (s->n && ascii_is_digit(*s->p) && n < UINT32_MAX) n = n * 10 + (uint64_t)(*s->p - '0'), *s = str_from(*s, 1);
  return n;
}

// Reads a range in the header of a hunk. Returns the number of lines of the range: 5 for "-12,5", 1 for "-12".
static uint64_t take_range(str *s) {
  *s = str_from(*s, 1);
  take_number(s);
  if (!s->n || *s->p != ',') return 1;
  *s = str_from(*s, 1);
  return take_number(s);
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
    else if (str_starts(line, STR("@@ "))) {
      str ranges = str_from(line, 3);
      h.before = take_range(&ranges);
      ranges = str_trim(ranges);
      h.after = take_range(&ranges);
    } else if (str_starts(line, STR("--- "))) old = diff_name(line);
    else if (str_starts(line, STR("+++ "))) {
      str name = str_starts(line, STR("+++ /dev/null")) ? old : diff_name(line);
      d->last = d->count < FILES ? &d->files[d->count] : NULL;
      if (d->last) *d->last = (struct changed){.name = name, .number = number};
      d->count++;
    }
  }
  summary_add_fact(s, "files changed: %zu", d->count);
  summary_add_fact(s, "lines: +%zu -%zu", d->added, d->removed);
  size_t from = d->count > 1 ? d->files[1].number : 0;
  summary_add_view(s, d->count > 1 ? "the second file" : "lines", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}",
                   from ? from - 1 : 0, from + 60);
}

static bool write_file(const struct changed *f, struct brief *b) {
  size_t begin = brief_begin(b);
  buf_printf(b->out, "line %zu: ", f->number);
  brief_cell(b->out, f->name, 200);
  buf_printf(b->out, " +%zu -%zu", f->added, f->removed);
  return brief_end(b, begin);
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

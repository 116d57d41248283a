// SPDX-License-Identifier: Apache-2.0
// Writes an event for a prompt: a label in brackets on its own line, and the text below it.
#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "context/pack_impl.h"
#include "text/oneline.h"
#include "text/tokens.h"

enum { LABEL_BYTES = 64, HANDLE_BYTES = 256, NAME_BYTES = 256 };

// Returns an untrusted name with '_' in place of brackets, so that the name cannot end the brackets of a label.
static str named(struct arena *a, str name, size_t max) {
  str line = utf8_cut(oneline(a, name), max);
  char *p = (char *)arena_str(a, line).p;
  for (size_t i = 0; i < line.n; i++)
    if (p[i] == '[' || p[i] == ']') p[i] = '_';
  return (str){p, line.n};
}

// Compares only the letters of two texts, ignoring case, so that a label with added blanks or dots is recognised.
static bool same_letters(str text, str label) {
  size_t i = 0, k = 0;
  while (true) {
    while (i < text.n && !ascii_is_letter(text.p[i])) i++;
    while (k < label.n && !ascii_is_letter(label.p[k])) k++;
    if (i == text.n || k == label.n) return i == text.n && k == label.n;
    if (ascii_lower(text.p[i++]) != ascii_lower(label.p[k++])) return false;
  }
}

// Returns whether a section name imitates a label: FACTS, SYSTEM, or the label of any kind of event except `kind`. If
// `kind` is EVENT_KINDS, no label is excepted.
static bool is_pretence(str section, int kind) {
  for (int i = 0; i < EVENT_KINDS; i++)
    if (i != kind && same_letters(section, str_of(event_kind_label((enum event_kind)i)))) return true;
  return same_letters(section, STR("FACTS")) || same_letters(section, STR("SYSTEM"));
}

static void put_label(struct buf *b, const struct pack_item *it, struct arena *a) {
  const struct event *e = it->event;
  str section = e->section.p ? named(a, e->section, LABEL_BYTES) : STR("");
  if (is_pretence(section, e->kind)) section.n = 0;
  buf_char(b, '[');
  buf_str(b, section.n ? section : str_of(event_kind_label(e->kind)));
  if (it->artifact.p) buf_printf(b, " [%.*s]", STR_ARG(named(a, it->artifact, HANDLE_BYTES)));
  buf_str(b, STR("]\n"));
}

// Brackets, and characters that look like brackets.
static const str brackets[][2] = {
    {STR("["), STR("]")}, {STR("［"), STR("］")}, {STR("【"), STR("】")}, {STR("〔"), STR("〕")}, {STR("⟦"), STR("⟧")}};
enum { OPENS, CLOSES, BRACKETS = sizeof brackets / sizeof *brackets };

// Returns the size in bytes of the opening (OPENS) or closing (CLOSES) bracket at the start of the text; 0 if there is
// no such bracket.
static size_t bracket_at(str text, int which) {
  for (size_t i = 0; i < BRACKETS; i++)
    if (str_starts(text, brackets[i][which])) return brackets[i][which].n;
  return 0;
}

static bool ends_in_bracket(str text) {
  while (text.n && memchr(" :.;,!*_-=#", text.p[text.n - 1], 11)) text.n--;
  for (size_t i = 0; i < BRACKETS; i++)
    if (str_ends(text, brackets[i][CLOSES])) return true;
  return false;
}

// Returns the text inside the brackets at the start of the text; empty if there are no brackets.
static str in_brackets(str text) {
  size_t from = 0, n;
  while ((n = bracket_at(str_from(text, from), OPENS))) from += n;
  size_t end = from;
  while (from && end < text.n && !bracket_at(str_from(text, end), OPENS) && !bracket_at(str_from(text, end), CLOSES))
    end++;
  return str_trim((str){text.p + from, end - from});
}

// Returns whether a reader could take this line for a label. An indented line is not a label, nor is JSON. A line with
// text after the closing bracket counts only if the text in the brackets is the name of a label, because logs have many
// lines that begin with brackets.
static bool looks_like_label(str line, struct arena *a) {
  unsigned char first = (unsigned char)line.p[0];
  if (first == '\t' || (first >= ' ' && first < 0x7f && first != '[')) return false;
  str seen = oneline(a, line), name = in_brackets(seen);
  if (!name.n || memchr("\"'{-0123456789", name.p[0], 14)) return false;
  return ends_in_bracket(seen) || is_pretence(name, EVENT_KINDS);
}

// Returns the size of the line end at `at`; 0 if there is no line end. Everything that a model may take for a line end
// counts: LF, CR, VT, FF, U+0085, U+2028, U+2029.
static size_t line_end(str text, size_t at) {
  static const str ends[] = {STR("\n"),       STR("\r"),           STR("\v"),          STR("\f"),
                             STR("\xc2\x85"), STR("\xe2\x80\xa8"), STR("\xe2\x80\xa9")};
  unsigned char c = (unsigned char)text.p[at];
  if (c > '\r' && c != 0xc2 && c != 0xe2) return 0;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (str_starts(str_from(text, at), ends[i])) return ends[i].n;
  return 0;
}

// Writes the text of an event. Puts a blank before lines that look like a label, so that the text cannot imitate the
// start of another event.
static void put_body(struct buf *b, str text, struct arena *a) {
  while (text.n) {
    size_t n = 0, end = 0;
    while (n < text.n && !(end = line_end(text, n))) n++;
    str line = {text.p, n};
    if (n && looks_like_label(line, a)) buf_char(b, ' ');
    buf_str(b, (str){text.p, n + end});
    text = str_from(text, n + end);
  }
}

static void put_text(struct buf *b, const struct pack_item *it, struct arena *a) {
  const struct event *e = it->event;
  bool is_call = e->kind == EVENT_TOOL_CALL;
  if (it->redacted) {
    buf_str(b, it->text);
    return;
  }
  if (!e->function_name.p || (!is_call && e->kind != EVENT_TOOL_RESULT)) {
    put_body(b, it->text, a);
    return;
  }
  buf_str(b, named(a, e->function_name, NAME_BYTES));
  buf_str(b, is_call ? STR("(") : STR(": "));
  put_body(b, it->text, a);
  if (is_call) buf_char(b, ')');
}

void pack_render(struct pack_item *it, struct arena *a) {
  ASSERT(it->event);
  struct buf b;
  buf_init(&b, 2 * it->text.n + LABEL_BYTES + HANDLE_BYTES + NAME_BYTES + 64);
  put_label(&b, it, a);
  put_text(&b, it, a);
  it->alone = tokens_count(buf_view(&b));
  size_t end = b.n;
  buf_str(&b, STR("\n\n"));
  it->tokens = tokens_count(buf_view(&b));
  it->block = (str){arena_str(a, buf_view(&b)).p, end};
  buf_done(&b);
}

str pack_render_facts(const str *facts, size_t count, size_t tokens, struct arena *a) {
  struct buf b;
  size_t shown = 0;
  buf_init(&b, PACK_FACTS_BYTES + FAULT_TEXT);
  buf_str(&b, STR("[FACTS]"));
  for (; shown < count; shown++) {
    size_t before = b.n;
    buf_printf(&b, "\n- %.*s", STR_ARG(facts[shown]));
    if (!b.over && b.n <= PACK_FACTS_BYTES && tokens_fit(buf_view(&b), tokens)) continue;
    b.n = before;
    break;
  }
  str text = shown ? arena_str(a, buf_view(&b)) : STR("");
  buf_done(&b);
  return text;
}

// SPDX-License-Identifier: Apache-2.0
// Summary of HTML and XML: title, headings, and the text without tags.
#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum { LOOKED_BYTES = 512 << 10, HEADINGS = 32, HEADING_CHARS = 80, TEXT_BYTES = 16 << 10 };

struct html_page {
  str title;
  str headings[HEADINGS];
  size_t heading_count, unread, links, tables, elements;  // unread: headings that did not fit into the array
  str root;                                               // name of the first element
  str text;
};

struct html_reader {
  struct html_page *page;
  struct buf text;
  str *into;  // receives the text of the current title or heading; NULL outside of titles and headings
  size_t into_at;
  bool hidden;    // the text is inside script, style or a similar element
  str hidden_by;  // name of the element that hides the text
};

// ---- tags ----

static bool is_one_of(str name, const str *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (str_eq_nocase(name, list[i])) return true;
  return false;
}

static bool is_heading(str name) {
  return name.n == 2 && ascii_lower(name.p[0]) == 'h' && name.p[1] >= '1' && name.p[1] <= '4';
}

static bool breaks_line(str name) {
  static const str list[] = {STR("p"),  STR("br"), STR("div"),     STR("li"),      STR("tr"),    STR("h1"),
                             STR("h2"), STR("h3"), STR("h4"),      STR("section"), STR("title"), STR("table"),
                             STR("ul"), STR("ol"), STR("article"), STR("header"),  STR("body"),  STR("pre")};
  return is_one_of(name, list, sizeof list / sizeof *list);
}

static bool hides(str name) {
  static const str list[] = {STR("script"), STR("style"), STR("svg"), STR("noscript"), STR("head")};
  return is_one_of(name, list, sizeof list / sizeof *list);
}

// ---- text ----

// Appends the character of a frequent entity such as &amp;; other entities stay unchanged. Returns the number of bytes
// read.
static size_t put_entity(struct buf *b, str rest) {
  static const struct {
    str name;
    const char *text;
  } list[] = {{STR("&amp;"), "&"},   {STR("&lt;"), "<"},   {STR("&gt;"), ">"},     {STR("&quot;"), "\""},
              {STR("&nbsp;"), " "},  {STR("&#39;"), "'"},  {STR("&apos;"), "'"},   {STR("&mdash;"), "—"},
              {STR("&ndash;"), "–"}, {STR("&copy;"), "©"}, {STR("&hellip;"), "…"}, {STR("&rsquo;"), "’"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!str_starts(rest, list[i].name)) continue;
    buf_str(b, str_of(list[i].text));
    return list[i].name.n;
  }
  buf_char(b, '&');
  return 1;
}

static void put_text(struct html_reader *r, str text) {
  struct buf *b = &r->text;
  if ((r->hidden && !r->into) || b->n > TEXT_BYTES) return;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (c == '&') i += put_entity(b, str_from(text, i)) - 1;
    else if (!blank) buf_char(b, c);
    else if (b->n && b->p[b->n - 1] != ' ' && b->p[b->n - 1] != '\n') buf_char(b, ' ');
  }
}

static void put_break(struct buf *b) {
  while (b->n && b->p[b->n - 1] == ' ') b->n--;
  if (b->n && b->p[b->n - 1] != '\n') buf_char(b, '\n');
}

static void end_special(struct html_reader *r, struct arena *a) {
  if (!r->into) return;
  ASSERT(r->into_at <= r->text.n);
  str text = str_trim((str){r->text.p + r->into_at, r->text.n - r->into_at});
  *r->into = arena_str(a, text);
  if (r->into == &r->page->title) r->text.n = r->into_at;  // the summary shows the title, so the text omits it
  else if (text.n) r->page->heading_count++;
  r->into = NULL;
}

static void begin_special(struct html_reader *r, str name) {
  struct html_page *p = r->page;
  if (str_eq_nocase(name, STR("title")) && !p->title.n) r->into = &p->title;
  else if (is_heading(name) && p->heading_count < HEADINGS && r->text.n <= TEXT_BYTES)
    r->into = &p->headings[p->heading_count];
  else p->unread += is_heading(name);
  r->into_at = r->text.n;
}

static void read_tag(struct html_reader *r, str tag, struct arena *a) {
  bool closing = tag.n && *tag.p == '/';
  str name = str_from(tag, closing);
  size_t n = 0;
  while (n < name.n && (ascii_is_alnum(name.p[n]) || (name.p[n] && strchr("-:_", name.p[n])))) n++;
  name.n = n;
  if (!name.n) return;
  if (!closing) {
    r->page->elements++;
    r->page->links += str_eq_nocase(name, STR("a"));
    r->page->tables += str_eq_nocase(name, STR("table"));
    if (!r->page->root.n) r->page->root = name;
  }
  if (closing && r->into && (is_heading(name) || str_eq_nocase(name, STR("title")))) end_special(r, a);
  if (closing && r->hidden && str_eq_nocase(name, r->hidden_by)) r->hidden = false;
  if (!r->hidden && breaks_line(name)) put_break(&r->text);
  if (closing) return;
  if (!r->into) begin_special(r, name);
  if (!r->hidden && hides(name) && tag.p[tag.n - 1] != '/') r->hidden = true, r->hidden_by = name;
}

// Returns the length of the tag or comment with which `rest` begins.
static size_t tag_length(str rest) {
  if (str_starts(rest, STR("<!--"))) {
    const char *end = memmem(rest.p, rest.n, "-->", 3);
    return end ? (size_t)(end + 3 - rest.p) : rest.n;
  }
  const char *end = memchr(rest.p, '>', rest.n);
  return end ? (size_t)(end + 1 - rest.p) : rest.n;
}

void summary_look_html(struct summary *s) {
  struct html_page *p = ARENA_NEW(s->a, struct html_page);
  struct html_reader r = {.page = p};
  buf_init(&r.text, 2 * TEXT_BYTES + LOOKED_BYTES);
  s->found = p;
  for (str rest = utf8_cut(s->text, LOOKED_BYTES); rest.n;) {
    const char *open = memchr(rest.p, '<', rest.n);
    size_t n = open ? (size_t)(open - rest.p) : rest.n;
    put_text(&r, (str){rest.p, n});
    rest = str_from(rest, n);
    if (!rest.n) break;
    size_t length = tag_length(rest);
    if (length > 2) read_tag(&r, (str){rest.p + 1, length - 2}, s->a);
    rest = str_from(rest, length);
  }
  end_special(&r, s->a);
  p->text = arena_str(s->a, utf8_cut(buf_view(&r.text), TEXT_BYTES));
  buf_done(&r.text);
  if (p->title.n && p->title.n < SUMMARY_FACT_CHARS) summary_add_fact(s, "title: %.*s", STR_ARG(p->title));
  summary_add_view(s, "the source", "{\"type\":\"head\",\"start\":0,\"chars\":4000}");
}

// ---- writing ----

static void write_title(const struct summary *s, const struct html_page *p, struct brief *b) {
  size_t begin = brief_begin(b);
  struct buf *line = b->out;
  buf_str(line, str_of(s->content.what));
  if (p->title.n) {
    buf_str(line, STR(" \""));
    brief_cell(line, p->title, HEADING_CHARS);
    buf_char(line, '"');
  } else if (p->root.n) {
    buf_str(line, STR(" <"));
    brief_cell(line, p->root, HEADING_CHARS);
    buf_char(line, '>');
  }
  buf_str(line, STR(", "));
  brief_size(line, s->text.n);
  const char *near = s->text.n > LOOKED_BYTES ? " at its beginning" : "";
  buf_printf(line, "; %zu elements, %zu links, %zu tables%s", p->elements, p->links, p->tables, near);
  brief_end(b, begin);
}

void summary_write_html(const struct summary *s, struct brief *b) {
  const struct html_page *p = s->found;
  write_title(s, p, b);
  struct brief_list list;
  brief_list_begin(&list, b, b->left / 3, STR("headings: "));
  for (size_t i = 0; i < p->heading_count; i++) {
    brief_cell(brief_list_item(&list), p->headings[i], HEADING_CHARS);
    brief_list_item_end(&list);
  }
  list.more += p->unread;
  brief_list_end(&list, b);
  if (!p->text.n) brief_lines(b, s->text, b->left / 2);
  else if (brief_line(b, STR("text:"))) brief_lines(b, p->text, b->left);
}

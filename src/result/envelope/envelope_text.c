// SPDX-License-Identifier: Apache-2.0
// Writes the text for the model: the summary, and lines that say how to view the rest.
#include "base/assert.h"
#include "result/envelope/envelope_impl.h"
#include "result/envelope/lookalike.h"
#include "result/text_cut.h"
#include "text/tokens.h"

enum {
  NEXT_CHARS = 4000,     // number of characters in the next view that a line proposes
  LINE_BYTES = 4 << 10,  // maximum bytes of a line about a stored piece, without the tool's id
  TOKEN_BYTES = 128,     // maximum bytes of a token
};

// How much a line about a stored piece contains, from the longest form to the shortest.
enum detail {
  DETAIL_ALL,       // two selectors after each handle
  DETAIL_ONE_LOOK,  // one selector after each handle
  DETAIL_HANDLES,   // handles only
  DETAIL_NONE,      // no lines: the envelope names the pieces
};

// ---- the summary ----

static bool has_text(const struct envelope *e) {
  return e->sections[0].text.n > 0;
}

// Returns a text such as "2 images, 1 link, no text", or an empty text if the result has no parts other than text.
static str count_parts(const struct envelope *e) {
  static const char *const names[] = {"text", "image", "sound", "resource", "link", "part of another kind"};
  static const char *const many[] = {"texts", "images", "sounds", "resources", "links", "parts of other kinds"};
  size_t counts[sizeof names / sizeof *names] = {0};
  struct buf b;
  buf_init(&b, LINE_BYTES);
  for (size_t i = 0; i < e->parts.count; i++) counts[e->parts.list[i].type]++;
  for (size_t i = PART_IMAGE; i <= PART_OTHER; i++)
    if (counts[i]) buf_printf(&b, "%zu %s, ", counts[i], counts[i] == 1 ? names[i] : many[i]);
  if (b.n) buf_str(&b, STR("no text"));
  str line = arena_str(e->a, buf_view(&b));
  buf_done(&b);
  return line;
}

// Writes the section of the summary for the text: the whole text if it fits its share of the tokens, otherwise a
// summary. Returns how many bytes of the text are shown unchanged.
static size_t write_first(const struct envelope *e, struct brief *b) {
  const struct envelope_section *s = &e->sections[0];
  size_t all = b->left, share = e->sections[1].text.n ? all * 3 / 5 : all;
  if (tokens_fit(s->text, share > 1 ? share - 1 : 0) && brief_line(b, s->text)) return s->text.n;
  struct brief part = {.out = b->out, .left = share};
  size_t shown = 0;
  if (e->parts.is_error) summary_write_ends(&s->summary, &part);
  else shown = summary_write(&s->summary, &part);
  b->left = all - (share - part.left);
  return shown;
}

size_t envelope_summarise(const struct envelope *e, size_t tokens, struct buf *out) {
  struct brief b = {.out = out, .left = tokens};
  size_t shown = 0;
  if (has_text(e)) shown = write_first(e, &b);
  if (e->sections[1].text.n) summary_write(&e->sections[1].summary, &b);
  if (!has_text(e) && !e->sections[1].text.n) {
    const struct json *content = json_get(e->order->result, STR("content"));
    str parts = count_parts(e);
    if (e->parts.unusual && content) brief_beginning(&b, json_span(content), b.left);
    else if (parts.n) brief_line(&b, parts);
    else brief_line(&b, e->order->kind == ENVELOPE_PROMPT ? STR("(no messages)") : STR("(no content)"));
  }
  while (out->n && out->p[out->n - 1] == '\n') out->n--;
  return shown;
}

// ---- how to view the rest ----

static void write_section_line(struct buf *out, const struct envelope *e, size_t i, size_t shown, enum detail detail) {
  const struct envelope_section *s = &e->sections[i];
  ASSERT(s->piece && shown <= s->text.n);
  bool holds_it = s->piece->artifact.bytes.p == s->text.p;
  buf_printf(out, "\n%.*s", STR_ARG(e->mark));
  if (i == 0 && (shown || !s->piece->held)) buf_printf(out, " %zu characters in all", measure_all_chars(s->text));
  if (!s->piece->held) buf_str(out, STR("; the rest is too large to store"));
  else if (i == 0 && shown && holds_it && detail < DETAIL_HANDLES)
    buf_printf(out, "; go on with tool_view handle=\"%.*s\" selector={\"type\":\"head\",\"start\":%zu,\"chars\":%d}",
               STR_ARG(s->piece->name.handle), measure_all_chars((str){s->text.p, shown}), NEXT_CHARS);
  else buf_printf(out, "%s tool_view handle=\"%.*s\"", shown ? ";" : "", STR_ARG(s->piece->name.handle));
  if (!s->piece->held || !holds_it || (i == 0 && shown)) return;
  size_t most = detail == DETAIL_ALL ? SUMMARY_VIEWS : detail == DETAIL_ONE_LOOK ? 1 : 0;
  for (size_t k = 0; k < s->summary.view_count && k < most; k++)
    buf_printf(out, "%s%.*s", k ? " or " : " selector=", STR_ARG(s->summary.views[k].selector));
}

// Writes a line about a stored piece. The only data of the server in this line is the media type.
static void write_piece_line(struct buf *out, const struct envelope *e, const struct envelope_piece *p) {
  const char *what = p->artifact.kind == ARTIFACT_RESOURCE ? content_magic(p->artifact.bytes) : NULL;
  str type, parameters;
  str_cut(p->artifact.media_type, ';', &type, &parameters);
  if (!envelope_is_media_type(type)) type = STR("data");
  buf_printf(out, "\n%.*s %.*s, %zu bytes%s%s: ", STR_ARG(e->mark), STR_ARG(type), p->artifact.bytes.n,
             what ? ", " : "", what ? what : "");
  if (p->held) buf_printf(out, "tool_view handle=\"%.*s\"", STR_ARG(p->name.handle));
  else buf_str(out, STR("too large to store"));
}

// Writes a line for each stored piece except those that the two sections of the summary describe. Unless `text_only` is
// set, these lines take at most half of the budget, and the envelope names the pieces that have no line.
static void write_piece_lines(struct buf *out, const struct envelope *e) {
  size_t more = 0, begin = out->n;
  for (size_t i = 0; i < e->count; i++) {
    size_t before = out->n;
    if (&e->pieces[i] == e->sections[0].piece || &e->pieces[i] == e->sections[1].piece) continue;
    if (!more) write_piece_line(out, e, &e->pieces[i]);
    if (!more && (e->order->text_only || tokens_fit(str_from(buf_view(out), begin), e->budget / 2))) continue;
    if (!more) out->n = before;
    more++;
  }
  if (more) buf_printf(out, "\n%.*s %zu more: structuredContent.artifacts", STR_ARG(e->mark), more);
}

static void write_lines(struct buf *out, const struct envelope *e, size_t shown, enum detail detail) {
  bool all_shown = shown == e->sections[0].text.n && has_text(e);
  if (detail == DETAIL_NONE) {
    buf_printf(out, "\n%.*s structuredContent.artifacts", STR_ARG(e->mark));
    return;
  }
  if (has_text(e) && e->sections[0].piece && !all_shown) write_section_line(out, e, 0, shown, detail);
  bool same = e->sections[1].piece == e->sections[0].piece && has_text(e) && !all_shown;
  if (e->sections[1].piece && !same) write_section_line(out, e, 1, 0, detail);
  if (!has_text(e) && !e->sections[1].text.n && e->sections[0].piece) write_section_line(out, e, 0, 0, DETAIL_HANDLES);
  write_piece_lines(out, e);
}

// ---- the text ----

static enum detail choose_detail(const struct envelope *e, struct buf *b, size_t budget) {
  enum detail last = e->order->text_only ? DETAIL_HANDLES : DETAIL_NONE;
  for (int d = DETAIL_ALL; d < (int)last; d++) {
    size_t most = d < DETAIL_HANDLES ? budget / 2 : budget * 3 / 4;
    buf_reset(b);
    write_lines(b, e, 0, (enum detail)d);
    if (tokens_fit(buf_view(b), most)) return (enum detail)d;
  }
  return last;
}

// Writes the text for the model. Each attempt shortens the summary, until the lines about pieces fit after it. These
// lines stay even if they exceed the budget.
static void compose(const struct envelope *e, struct buf *b) {
  size_t budget = e->budget > e->kept_tokens ? e->budget - e->kept_tokens : 0;
  enum detail detail = choose_detail(e, b, budget);
  bool imitates = false;
  buf_reset(b);
  write_lines(b, e, 0, detail);
  for (size_t room = tokens_count(buf_view(b));; room += 8) {
    size_t left = budget > room ? budget - room : 0;
    buf_reset(b);
    if (imitates) lookalike_put_notice(b, e->mark);
    size_t shown = envelope_summarise(e, left, b);
    if (!imitates && e->order->mark.n && lookalike(buf_view(b), e->mark)) {
      imitates = true;
      room += LOOKALIKE_NOTICE_TOKENS - 8;
      continue;
    }
    write_lines(b, e, shown, detail);
    if (!left || tokens_fit(buf_view(b), budget)) return;
  }
}

str envelope_text(const struct envelope *e) {
  struct buf b;
  buf_init(&b, e->budget * TOKEN_BYTES + (e->count + 2) * (2 * e->order->tool_id.n + LINE_BYTES) + 4096);
  compose(e, &b);
  ASSERT(!b.over);
  str text = buf_view(&b);
  if (text.n && *text.p == '\n') text = str_from(text, 1);
  text = arena_str(e->a, text);
  buf_done(&b);
  return text;
}

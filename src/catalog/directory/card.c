// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/card.h"

#include <math.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "text/oneline.h"
#include "text/tables.h"
#include "text/token_pieces.h"
#include "text/tokens.h"
#include "text/unicode.h"
#include "json/decimal.h"

// Maximum bytes of a line: a longer text always has more than CARD_HARD tokens.
enum { LINE_MAX = (CARD_HARD + 1) * BPE_LONGEST };

static const char *kind_name(enum card_kind kind) {
  static const char *const names[] = {
      [CARD_TOOL] = "tool",   [CARD_RESOURCE] = "resource", [CARD_PROMPT] = "prompt",
      [CARD_AGENT] = "agent", [CARD_SKILL] = "skill",       [CARD_INTERNAL] = "internal"};
  return names[kind];
}

// Returns the kind to show in a card's line. A node of the tree is a "server" at the first level, and a "group" at
// deeper levels.
static const char *line_kind(const struct card *c) {
  if (c->kind != CARD_INTERNAL || !str_starts(c->id, STR("/"))) return kind_name(c->kind);
  return memchr(c->id.p + 1, '/', c->id.n - 1) ? "group" : "server";
}

const char *card_safety_name(enum card_safety safety) {
  ASSERT(safety <= CARD_DESTRUCTIVE);
  static const char *const names[] = {
      [CARD_UNKNOWN] = "", [CARD_READ_ONLY] = "read_only", [CARD_DESTRUCTIVE] = "destructive"};
  return names[safety];
}

// Returns the first `max` characters of `s`.
static str cut(str s, size_t max) {
  str rest = s;
  while (rest.n && max--) utf8_next(&rest);
  return (str){s.p, s.n - rest.n};
}

// Returns whether a text begins with white space, as \s defines it in Python: the tests compare cards with those of a
// Python program.
static bool begins_with_space(str s) {
  uint32_t c = utf8_next(&s);
  return (c >= 0x1c && c <= 0x1f) || unicode_kind(c) == UNICODE_SPACE;
}

static str without_trailing_space(str s) {
  while (s.n) {
    size_t last = s.n - 1;
    while (last && utf8_follows(s.p[last])) last--;
    if (!begins_with_space((str){s.p + last, s.n - last})) return s;
    s.n = last;
  }
  return s;
}

// Returns a limit for the length of a prefix of `text` with at most `max` tokens. The limit is the length of the first
// `max` + 1 pieces, because each piece has at least one token.
static size_t window(str text, size_t max) {
  str rest = text;
  for (size_t i = 0; i <= max && rest.n; i++) rest = str_from(rest, piece_first(rest).text.n);
  size_t n = text.n - rest.n;
  return n < max * BPE_LONGEST ? n : max * BPE_LONGEST;
}

// Returns the longest prefix that ends with a sentence and has at most `max` tokens, or STR_NONE if no prefix does.
static str whole_sentences(str text, size_t max) {
  for (size_t n = window(text, max); n > 0; n--) {
    char c = text.p[n - 1];
    if (c != '.' && c != '!' && c != '?') continue;
    if (n < text.n && !begins_with_space(str_from(text, n))) continue;
    if (tokens_fit((str){text.p, n}, max)) return (str){text.p, n};
  }
  return STR_NONE;
}

// Searches for the longest prefix with at most `max` tokens. A longer text may have fewer tokens, so the binary search
// may find a prefix that is not the longest. Do not improve the search: all versions must cut a text at the same place.
static str longest_beginning(str text, size_t max) {
  size_t low = 0, high = utf8_count(text), best = 0;
  while (low <= high) {
    size_t middle = (low + high) / 2;
    bool fits = middle <= max * BPE_LONGEST && tokens_fit(cut(text, middle), max);
    if (fits) {
      best = middle;
      low = middle + 1;
    } else if (middle == 0) {
      break;
    } else {
      high = middle - 1;
    }
  }
  return cut(text, best);
}

str card_truncate(struct arena *a, str text, size_t max) {
  if (max == 0) return STR("");
  if (tokens_fit(text, max)) return text;
  str sentences = whole_sentences(text, max);
  if (sentences.n) return sentences;
  str s = without_trailing_space(longest_beginning(text, max - 1));
  return arena_printf(a, "%.*s…", STR_ARG(s));
}

void card_render(const struct card *c, size_t index, size_t count, struct buf *out) {
  ASSERT(!count || index <= count);
  ASSERT(count <= CARD_MOST);
  if (count) buf_printf(out, "[%zu/%zu] ", index, count);
  else buf_str(out, STR("- "));
  buf_str(out, c->id);
  buf_printf(out, " (%s", line_kind(c));
  if (c->class.p)
    buf_printf(out, ", %.*s %.*s%s", STR_ARG(c->class), STR_ARG(c->mode), c->provisional ? " (provisional)" : "");
  else if (c->side_effects) buf_str(out, STR(", side effects"));
  if (c->cost_hint > 0) buf_printf(out, ", cost %.3g", c->cost_hint);
  buf_str(out, c->unavailable ? STR(", unavailable) — ") : STR(") — "));
  buf_str(out, c->description);
  for (size_t i = 0; i < c->tag_count; i++) {
    buf_str(out, i ? STR(", ") : STR(" ["));
    buf_str(out, c->tags[i]);
  }
  if (c->tag_count) buf_char(out, ']');
  if (c->signature.n) buf_printf(out, " %s: %.*s", c->kind == CARD_RESOURCE ? "uri" : "args", STR_ARG(c->signature));
}

size_t card_tokens(const struct card *c) {
  struct buf line;
  buf_init(&line, 2 * LINE_MAX);
  card_render(c, 1, 1, &line);
  buf_char(&line, '\n');
  size_t n = line.over ? SIZE_MAX : tokens_count(buf_view(&line));
  buf_done(&line);
  return n;
}

// Returns the safety that a tag declares; CARD_UNKNOWN if the tag declares none.
static enum card_safety safety_of(str tag) {
  if (str_eq_nocase(tag, STR("destructive"))) return CARD_DESTRUCTIVE;
  bool harmless = str_eq_nocase(tag, STR("read-only")) || str_eq_nocase(tag, STR("read_only"));
  return harmless ? CARD_READ_ONLY : CARD_UNKNOWN;
}

static int safety_tags_first(const void *x, const void *y) {
  const str *a = x, *b = y;
  int order = !safety_of(*a) - !safety_of(*b);
  return order ? order : str_cmp(*a, *b);
}

static int by_bytes(const void *x, const void *y) {
  return str_cmp(*(const str *)x, *(const str *)y);
}

// Appends a tag that does not fit on the card to `dropped`, which may be NULL.
static void report_dropped(struct buf *dropped, str tag) {
  if (dropped) buf_printf(dropped, "%s%.*s", dropped->n ? ", " : "", STR_ARG(tag));
}

static void choose_tags(const struct card_source *s, struct arena *a, struct card *c, struct buf *dropped) {
  str *tags = ARENA_ARRAY(a, str, s->tag_count + 1);
  size_t n = 0;
  c->safety = s->safety;
  bool told = false;
  for (size_t i = 0; i < s->tag_count; i++) {
    tags[n] = cut(oneline(a, s->tags[i]), CARD_TAG_MAX);
    enum card_safety tag = safety_of(tags[n]);
    told |= tag == s->safety;
    if (tag > c->safety) c->safety = tag;
    n += tags[n].n > 0;
  }
  if (s->safety && !told) tags[n++] = s->safety == CARD_DESTRUCTIVE ? STR("destructive") : STR("read-only");
  qsort(tags, n, sizeof *tags, safety_tags_first);
  for (size_t i = 0; i < n; i++) {
    if (i && str_eq(tags[i], tags[i - 1])) continue;
    if (c->tag_count < CARD_TAGS) c->tags[c->tag_count++] = tags[i];
    else report_dropped(dropped, tags[i]);
  }
  qsort(c->tags, c->tag_count, sizeof *c->tags, by_bytes);
}

// Removes the last of the card's tags that do not declare safety. Returns false if there is no such tag.
static bool drop_tag(struct card *c, struct buf *dropped) {
  size_t i = c->tag_count;
  while (i && safety_of(c->tags[i - 1])) i--;
  if (!i) return false;
  report_dropped(dropped, c->tags[i - 1]);
  memmove(&c->tags[i - 1], &c->tags[i], (c->tag_count - i) * sizeof *c->tags);
  c->tag_count--;
  return true;
}

// Cuts the description so that the line has at most `target` tokens. Tries shorter descriptions until the line fits.
// The number of tokens cannot be computed from the parts, because a token may span the border between the description
// and the text next to it.
static void fit_description(struct card *c, str description, size_t target, struct arena *a) {
  c->description = description;
  if (description.n <= LINE_MAX && card_tokens(c) <= target) return;
  c->description = STR("");
  size_t overhead = card_tokens(c), room = overhead < target ? target - overhead : 1;
  do {
    c->description = card_truncate(a, description, room);
  } while (room-- > 1 && card_tokens(c) > target);
}

// ---- the signature

// If a line is too long, optional parameters are left out before the description gets shorter than BEFORE_OPTIONAL
// tokens, and required parameters before the description gets shorter than BEFORE_REQUIRED tokens.
enum { BEFORE_OPTIONAL = 24, BEFORE_REQUIRED = 10 };

// Writes the name of a parameter, in quotes if the name could be mistaken for several names or for text of the gateway.
static void put_param(struct buf *out, struct arena *a, str name) {
  bool plain = name.n > 0;
  for (size_t i = 0; i < name.n; i++) plain &= ascii_is_alnum(name.p[i]) || strchr("_-.$[]", name.p[i]);
  if (plain) buf_str(out, name);
  else json_escape(out, oneline(a, name));
}

// Returns a signature that names the first `shown` parameters.
static str write_signature(const struct card_source *s, size_t shown, struct arena *a) {
  const struct card_params *p = s->params;
  struct buf text;
  buf_init(&text, CARD_PARAMS * (6 * CARD_PARAM_MAX + 8));
  for (size_t i = 0; i < shown; i++) {
    if (i) buf_str(&text, STR(", "));
    if (s->kind == CARD_RESOURCE) buf_str(&text, oneline(a, p->names[i]));
    else put_param(&text, a, p->names[i]);
    if (i >= p->required) buf_char(&text, '?');
  }
  if (shown < p->count || p->more) buf_str(&text, shown ? STR(", …") : STR("…"));
  else if (!shown) buf_str(&text, STR("{}"));
  str signature = text.over ? STR("") : arena_str(a, buf_view(&text));
  buf_done(&text);
  return signature;
}

// Cuts the description to `kept` tokens. Then sets the longest signature, with `most` to `least` parameters, for which
// the line has at most `target` tokens. Returns false if no signature fits.
static bool fit_signature(const struct card_source *s, str description, size_t kept, size_t most, size_t least,
                          size_t target, struct arena *a, struct card *c) {
  c->description = card_truncate(a, description, kept);
  for (size_t shown = most + 1; shown-- > least;) {
    c->signature = write_signature(s, shown, a);
    if (card_tokens(c) <= target) return true;
  }
  return false;
}

// Sets the longest signature that fits on a line of CARD_TARGET tokens. If the required parameters need more, the line
// may have CARD_HARD tokens.
static void choose_signature(const struct card_source *s, str description, struct arena *a, struct card *c) {
  size_t all = s->params->count, required = s->params->required;
  bool fits = fit_signature(s, description, BEFORE_OPTIONAL, all, required, CARD_TARGET, a, c) ||
              fit_signature(s, description, BEFORE_REQUIRED, all, required, CARD_TARGET, a, c) ||
              fit_signature(s, description, BEFORE_REQUIRED, required, 1, CARD_HARD, a, c);
  if (!fits) c->signature = STR("");
}

static void fit(const struct card_source *s, str description, struct arena *a, struct card *c) {
  size_t target = CARD_TARGET;
  if (s->params) choose_signature(s, description, a, c);
  if (c->signature.n && card_tokens(c) > target) target = card_tokens(c);
  fit_description(c, description, target, a);
}

// Returns the description to show on the card: that of the item or, if it has none, the name or the id of the item.
static str describe(const struct card_source *s, struct arena *a) {
  str text = oneline(a, s->description);
  if (!text.n) text = oneline(a, s->name);
  return text.n ? text : s->id;
}

bool card_make(const struct card_source *source, struct arena *a, struct card *out, struct buf *dropped,
               struct fault *f) {
  struct card c = {.id = source->id, .kind = source->kind, .namespace = source->namespace};
  str description = describe(source, a);
  c.name = cut(oneline(a, source->name), CARD_NAME_MAX);
  c.side_effects = source->side_effects;
  c.cost_hint = source->cost_hint;
  c.unavailable = source->unavailable;
  choose_tags(source, a, &c, dropped);
  for (fit(source, description, a, &c); card_tokens(&c) > CARD_HARD; fit(source, description, a, &c)) {
    if (drop_tag(&c, dropped)) continue;
    fault_set(f, FAULT_LIMIT, "the card of '%.*s' exceeds the limit of 80 tokens", STR_ARG(c.id));
    return false;
  }
  *out = c;
  return true;
}

bool card_id_fits(str id) {
  // The longest possible card with this id: it has all parts that are never left out.
  struct card c = {.id = id,
                   .kind = CARD_RESOURCE,
                   .description = STR("…"),
                   .tag_count = 3,
                   .unavailable = true,
                   .side_effects = true,
                   .cost_hint = 1.23e-100};
  c.tags[0] = STR("destructive");
  c.tags[1] = STR("read-only");
  c.tags[2] = STR("read_only");
  return id.n <= LINE_MAX && card_tokens(&c) <= CARD_HARD;
}

str card_preamble(enum card_kind browsed, const struct card *cards, size_t count) {
  static const struct {
    str none, items, nodes, both;
  } lines[] = {
      [CARD_TOOL] = {STR("Nothing found. tool_browse with path \"/\" lists what there is."),
                     STR("Pass one of these ids to tool_execute as tool_id."),
                     STR("Pass one of these paths to tool_browse as path."),
                     STR("Ids are for tool_execute; what begins with / is a path for tool_browse.")},
      [CARD_RESOURCE] = {STR("Nothing found. resource_browse with path \"/\" lists what there is."),
                         STR("Pass one of these ids to resource_read as resource_id."),
                         STR("Pass one of these paths to resource_browse as path."),
                         STR("Ids are for resource_read; what begins with / is a path for resource_browse.")},
      [CARD_PROMPT] = {STR("Nothing found. prompt_browse with path \"/\" lists what there is."),
                       STR("Pass one of these ids to prompt_get as prompt_id."),
                       STR("Pass one of these paths to prompt_browse as path."),
                       STR("Ids are for prompt_get; what begins with / is a path for prompt_browse.")},
  };
  if (browsed > CARD_PROMPT) return STR("");
  bool items = false, nodes = false;
  for (size_t i = 0; i < count; i++) {
    nodes |= str_starts(cards[i].id, STR("/"));
    items |= cards[i].kind != CARD_INTERNAL;
  }
  if (items && nodes) return lines[browsed].both;
  if (items) return lines[browsed].items;
  return nodes ? lines[browsed].nodes : lines[browsed].none;
}

void card_render_answer(enum card_kind browsed, const struct card *cards, size_t count, bool numbered,
                        struct buf *out) {
  ASSERT(cards || !count);
  str preamble = card_preamble(browsed, cards, count);
  buf_str(out, preamble);
  for (size_t i = 0; i < count; i++) {
    if (i || preamble.n) buf_char(out, '\n');
    card_render(&cards[i], i + 1, numbered ? count : 0, out);
  }
}

static void write_decimal(struct json_writer *w, double value) {
  struct buf text;
  buf_init(&text, 64);
  json_decimal_python(&text, value);
  json_put_raw(w, buf_view(&text));
  buf_done(&text);
}

void card_write(struct json_writer *w, const struct card *c) {
  json_begin_object(w);
  json_member_str(w, STR("id"), c->id);
  json_member_str(w, STR("name"), c->name);
  json_member_str(w, STR("description"), c->description);
  if (c->signature.n) json_member_str(w, c->kind == CARD_RESOURCE ? STR("uri") : STR("args"), c->signature);
  if (c->tag_count) {
    json_put_key(w, STR("tags"));
    json_begin_array(w);
    for (size_t i = 0; i < c->tag_count; i++) json_put_str(w, c->tags[i]);
    json_end_array(w);
  }
  json_member_str(w, STR("kind"), str_of(kind_name(c->kind)));
  if (c->namespace.n) json_member_str(w, STR("namespace"), c->namespace);
  if (c->cost_hint > 0) {
    json_put_key(w, STR("cost_hint"));
    write_decimal(w, c->cost_hint);
  }
  if (c->side_effects) json_member_bool(w, STR("side_effects"), true);
  if (c->safety != CARD_UNKNOWN) json_member_str(w, STR("safety"), str_of(card_safety_name(c->safety)));
  if (c->unavailable) json_member_bool(w, STR("available"), false);
  if (c->capability.p) {
    json_member_str(w, STR("capability"), c->capability);
    json_member_str(w, STR("class"), c->class);
    json_member_str(w, STR("approval_mode"), c->mode);
    if (c->provisional) json_member_bool(w, STR("provisional"), true);
    if (c->domain.p) json_member_str(w, STR("domain"), c->domain);
  }
  if (c->kind == CARD_SKILL && c->mode.p) json_member_str(w, STR("approval_mode"), c->mode);
  if (c->kind == CARD_SKILL && c->provisional) json_member_bool(w, STR("provisional"), true);
  if (c->has_score) {
    json_put_key(w, STR("score"));
    write_decimal(w, round(c->score * 1000) / 1000);
  }
  json_end_object(w);
}

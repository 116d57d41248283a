// SPDX-License-Identifier: Apache-2.0
// Ids, paths, cards and trees from any bytes. The first byte says what the rest is taken for.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "catalog/directory/card.h"
#include "catalog/directory/tree.h"
#include "catalog/naming/identify.h"
#include "text/oneline.h"
#include "text/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct hash_key seed = {1, 2};

// An id that is taken is written the same.
static void try_id(struct arena *a, str text) {
  struct tool_id_parts p;
  struct fault f;
  str again;
  if (!primitive_id_parse(text, &p, &f)) return;
  ASSERT(tool_id_format(&p, a, &again, &f) && str_eq(again, text));
}

static void check_card(struct arena *a, str id, str text) {
  str tags[] = {text, STR("destructive"), STR("mcp"), text, str_from(text, text.n / 2)};
  struct card_source s = {.id = id, .name = text, .description = text, .tags = tags, .tag_count = 5};
  struct card c;
  struct fault f;
  ASSERT(card_make(&s, a, &c, NULL, &f));
  ASSERT(card_tokens(&c) <= CARD_HARD && c.safety == CARD_DESTRUCTIVE && c.tag_count >= 1);
  ASSERT(!memchr(c.description.p, '\n', c.description.n));
}

// Every definition with a name has a valid id whose card fits.
static void try_definition(struct arena *a, str text) {
  struct identify_rules rules = {.fits = card_id_fits};
  struct identity id;
  struct tool_id_parts p;
  struct fault f;
  struct json *v = json_parse(a, text, &json_default_limits, &f);
  if (!v) return;
  if (identify_resource(&rules, v, a, &id, &f)) ASSERT(primitive_id_parse(id.id, &p, &f) && card_id_fits(id.id));
  if (!identify_tool(&rules, v, a, &id, &f)) return;
  ASSERT(tool_id_parse(id.id, &p, &f) && card_id_fits(id.id));
  ASSERT(identify_prompt(&rules, v, a, &id, &f) && primitive_id_parse(id.id, &p, &f) && card_id_fits(id.id));
  check_card(a, id.id, text);
}

// The same as card_truncate finds, without a bound on what is looked at. The text is one line.
static str longest_sentences(str text, size_t max) {
  for (size_t i = text.n; i > 0; i--) {
    bool ends = strchr(".!?", text.p[i - 1]) && text.p[i - 1] && (i == text.n || text.p[i] == ' ');
    if (ends && tokens_count((str){text.p, i}) <= max) return (str){text.p, i};
  }
  return STR_NONE;
}

static void try_truncate(struct arena *a, str text) {
  size_t max = text.n ? (unsigned char)text.p[0] % 64 + 1 : 1;
  str line = oneline(a, text);
  ASSERT(str_eq(oneline(a, line), line));
  str cut = card_truncate(a, line, max);
  if (tokens_count(line) <= max) {
    ASSERT(str_eq(cut, line));
    return;
  }
  str sentences = longest_sentences(line, max);
  ASSERT(sentences.n ? str_eq(cut, sentences) : str_ends(cut, STR("…")));
  if (utf8_valid(line)) ASSERT(utf8_valid(cut));
}

static size_t count_leaves(const struct tree *t, const struct tree_node *node) {
  struct fault f;
  ASSERT(tree_find(t, node->path, &f) == node);
  if (node != &t->root) ASSERT(node->child_count <= TREE_WIDTH);
  size_t leaves = node != &t->root && !node->child_count;
  for (size_t i = 0; i < node->child_count; i++) leaves += count_leaves(t, &node->children[i]);
  ASSERT(leaves == node->count);
  return leaves;
}

// A tree of names, one on each line, each some times.
static void try_tree(struct arena *a, str text) {
  enum { MOST = 400 };
  struct tree_item items[MOST];
  size_t n = 0;
  for (str line; text.n && n < MOST;) {
    str rest = STR_NONE;
    str_cut(text, '\n', &line, &rest);
    text = rest;
    for (unsigned i = 0; i < 7 && n < MOST; i++) {
      str name = tool_id_fit_name(a, arena_printf(a, "%.*s_%u", STR_ARG(line), i % 3));
      items[n++] = (struct tree_item){arena_printf(a, "ns:%.*s@%u", STR_ARG(name), i), STR("ns"), name};
    }
  }
  struct tree *t = tree_build(items, n, &seed, a);
  ASSERT(count_leaves(t, &t->root) == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 1 || n > 20000) return 0;
  str text = {(const char *)data + 1, n - 1};
  struct arena a;
  struct fault f;
  arena_init(&a);
  switch (data[0] % 5) {
  case 0: try_id(&a, text); break;
  case 1: tree_path_check(text, &f); break;
  case 2: try_definition(&a, text); break;
  case 3: try_truncate(&a, text); break;
  default: try_tree(&a, text);
  }
  arena_done(&a);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Builds a tree. Items are sorted by id, then divided: first by namespace, then by the first word in their names that
// can be a subject. Clusters that are too large are divided by the next such word, or into numbered parts if no word is
// suitable.
#include <stdlib.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "catalog/directory/tree.h"
#include "catalog/naming/name_words.h"
#include "catalog/naming/tool_id.h"
#include "text/tokens.h"

struct word {
  str text;
  uint32_t key;  // number of a word; its singular and plural have the same number
  bool object, object_if_first;
};

struct tree_entry {
  const struct tree_item *item;
  uint32_t index;    // index of the item
  uint32_t cluster;  // temporary: key of the entry's cluster, or NO_KEY
  uint16_t usable;   // bit k is set if the k-th word of the name may form a cluster
  uint8_t words;     // number of words
  const struct word *word[NAME_WORDS_MAX];
};

enum { NO_KEY = UINT32_MAX, SEGMENT_MAX = 64 };

// Temporary counters for one word key. The counters are zero when they are not in use.
struct tree_tally {
  uint32_t count;  // number of entries with this word
  bool cluster;    // a cluster has this key
};

struct tree_builder {
  struct arena *out;     // memory of the tree
  struct arena scratch;  // memory used during the build
  struct map words;      // struct word: every different word of all items
  struct map keys;       // maps the text of a word's key to its number + 1
  size_t key_count;
  struct tree_tally *tally;
  uint32_t *order;
  uint32_t placed;  // number of items in `order` so far
};

// The children that a node has so far, while children are added.
struct children {
  struct tree_node *list;
  size_t count;
  struct map *taken;  // segments of the children; NULL for short lists, which are searched directly
};

static int by_id(const void *x, const void *y) {
  const struct tree_entry *a = x, *b = y;
  int order = str_cmp(a->item->namespace, b->item->namespace);
  if (!order) order = str_cmp(a->item->id, b->item->id);
  return order ? order : (a->index > b->index) - (a->index < b->index);
}

static uint32_t number_key(struct tree_builder *b, str key) {
  uintptr_t known = (uintptr_t)map_find(&b->keys, key);
  if (!known) map_add(&b->keys, key, (void *)(known = ++b->key_count));
  return (uint32_t)(known - 1);
}

static const struct word *learn_word(struct tree_builder *b, str text) {
  struct word *w = map_find(&b->words, text);
  if (w) return w;
  w = ARENA_NEW(&b->scratch, struct word);
  *w = (struct word){.text = text, .key = number_key(b, name_word_key(text))};
  w->object = name_word_is_object(text, false);
  w->object_if_first = name_word_is_object(text, true);
  map_add(&b->words, text, w);
  return w;
}

static void read_words(struct tree_builder *b, struct tree_entry *e) {
  str texts[NAME_WORDS_MAX];
  e->words = (uint8_t)name_words(&b->scratch, e->item->name, texts, NAME_WORDS_MAX);
  for (unsigned i = 0; i < e->words; i++) {
    e->word[i] = learn_word(b, texts[i]);
    if (e->word[i]->object) e->usable |= (uint16_t)(1u << i);
  }
}

// Returns the position in the entry's name of the r-th word that may form a cluster (counted from 0); -1 if there are
// fewer words.
static int usable_word(const struct tree_entry *e, size_t r) {
  for (int i = 0; i < e->words; i++)
    if (e->usable >> i & 1 && r-- == 0) return i;
  return -1;
}

// Returns the position of the last word with this key, or -1. The last word counts, because an earlier one may be an
// action, as in "merge_merge_request".
static int position_of(const struct tree_entry *e, uint32_t key) {
  int i = e->words - 1;
  while (i >= 0 && e->word[i]->key != key) i--;
  return i;
}

static void forbid(struct tree_entry *e, uint32_t key) {
  for (unsigned i = 0; i < e->words; i++)
    if (e->word[i]->key == key) e->usable &= (uint16_t) ~(1u << i);
}

static bool last_of_its_key(const struct tree_entry *e, int at) {
  return position_of(e, e->word[at]->key) == at;
}

// A word that occurs in all entries does not distinguish them, so it forms no cluster.
static void forbid_common(struct tree_builder *b, struct tree_entry **e, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < e[i]->words; k++) b->tally[e[i]->word[k]->key].count += last_of_its_key(e[i], k);
  const struct tree_entry *any = e[0];
  uint32_t common[NAME_WORDS_MAX];
  size_t commons = 0;
  for (int k = 0; k < any->words; k++)
    if (b->tally[any->word[k]->key].count == n) common[commons++] = any->word[k]->key;
  for (size_t i = 0; i < n; i++) {
    for (int k = 0; k < e[i]->words; k++) b->tally[e[i]->word[k]->key].count = 0;
    for (size_t k = 0; k < commons; k++) forbid(e[i], common[k]);
  }
}

// Finds the first word of the entry's name that is not common to all entries. If this word can be an action, it is not
// the subject and forms no cluster.
static void forbid_leading_verb(struct tree_entry *e) {
  for (unsigned i = 0; i < e->words; i++) {
    bool common = !(e->usable >> i & 1) && e->word[i]->object;
    if (common) continue;
    if (!e->word[i]->object_if_first) e->usable &= (uint16_t) ~(1u << i);
    return;
  }
}

// One round of clustering: adds each entry that has no cluster to the cluster of its r-th usable word. A new cluster
// needs at least two entries. Returns false if no entry without a cluster has an r-th usable word.
static bool cluster_round(struct tree_builder *b, struct tree_entry **e, size_t n, size_t r) {
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    int at = e[i]->cluster == NO_KEY ? usable_word(e[i], r) : -1;
    if (at >= 0) b->tally[e[i]->word[at]->key].count++;
  }
  for (size_t i = 0; i < n; i++) {
    int at = e[i]->cluster == NO_KEY ? usable_word(e[i], r) : -1;
    if (at < 0) continue;
    any = true;
    struct tree_tally *t = &b->tally[e[i]->word[at]->key];
    if (t->count >= 2) t->cluster = true;
    if (t->cluster) e[i]->cluster = e[i]->word[at]->key;
  }
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < e[i]->words; k++) b->tally[e[i]->word[k]->key].count = 0;
  return any;
}

static void find_clusters(struct tree_builder *b, struct tree_entry **e, size_t n) {
  for (size_t i = 0; i < n; i++) e[i]->cluster = NO_KEY;
  forbid_common(b, e, n);
  for (size_t r = 0; r < NAME_WORDS_MAX && cluster_round(b, e, n, r); r++) {
  }
  for (size_t i = 0; i < n; i++)
    if (e[i]->cluster != NO_KEY) b->tally[e[i]->cluster].cluster = false;
}

// Converts a name to a segment: lower case, with '-' for every character that a segment must not contain.
static str segment_of(struct arena *a, str text) {
  char *p = arena_alloc(a, SEGMENT_MAX + 1);
  size_t n = 0;
  for (size_t i = 0; i < text.n && n < SEGMENT_MAX; i++) {
    char c = ascii_lower(text.p[i]);
    bool plain = ascii_is_alnum(c);
    if (n == 0 && !plain) continue;
    p[n++] = plain || c == '_' ? c : '-';
  }
  p[n] = 0;
  return n ? (str){p, n} : STR("item");
}

// Each entry may have a word with the key `want`, `offset` words after the word `key`. Returns the longest form of that
// word in any entry: the plural, if it occurs.
static str longest_form(struct tree_entry **e, size_t n, uint32_t key, int offset, uint32_t want) {
  str best = STR_NONE;
  for (size_t i = 0; i < n; i++) {
    int at = position_of(e[i], key) + offset;
    if (at >= e[i]->words || e[i]->word[at]->key != want) continue;
    str w = e[i]->word[at]->text;
    if (w.n > best.n || (w.n == best.n && str_cmp(w, best) < 0)) best = w;
  }
  return best;
}

// If all entries have the same word `offset` words after the word `key`, returns the key of that word, otherwise
// NO_KEY.
static uint32_t next_word(struct tree_entry **e, size_t n, uint32_t key, int offset) {
  uint32_t word = NO_KEY;
  for (size_t i = 0; i < n; i++) {
    int at = position_of(e[i], key) + offset;
    if (at >= e[i]->words || (i && e[i]->word[at]->key != word)) return NO_KEY;
    word = e[i]->word[at]->key;
  }
  return word;
}

// Names a cluster by its word and by the words that always follow this word ("merge_requests"). The words of the name
// form no clusters inside this cluster.
static str label_cluster(struct tree_builder *b, struct tree_entry **e, size_t n) {
  uint32_t key = e[0]->cluster, word = key;
  str label = STR_NONE;
  for (int offset = 0; offset < 3 && word != NO_KEY; offset++) {
    str form = longest_form(e, n, key, offset, word);
    if (offset && !name_word_is_object(form, false)) break;
    const char *joint = offset ? "_" : "";
    label = arena_printf(&b->scratch, "%.*s%s%.*s", STR_ARG(label), joint, STR_ARG(form));
    for (size_t i = 0; i < n; i++) forbid(e[i], word);
    word = next_word(e, n, key, offset + 1);
  }
  return segment_of(b->out, label);
}

static struct children room(struct tree_builder *b, size_t count) {
  return (struct children){.list = ARENA_ARRAY(b->out, struct tree_node, count)};
}

static struct tree_node *add_node(struct children *c, str segment) {
  struct tree_node *node = &c->list[c->count++];
  *node = (struct tree_node){.segment = segment};
  if (c->taken) map_add(c->taken, segment, node);
  return node;
}

static bool has_sibling(const struct children *c, str segment) {
  if (c->taken) return map_find(c->taken, segment);
  for (size_t i = 0; i < c->count; i++)
    if (str_eq(c->list[i].segment, segment)) return true;
  return false;
}

// Returns `segment` or, if a sibling has the same segment, `segment` with a hash of `what`.
static str unique_segment(struct tree_builder *b, const struct children *c, str segment, str what) {
  while (has_sibling(c, segment)) {
    str hash = tool_id_hash8(&b->scratch, what);
    size_t keep = segment.n < SEGMENT_MAX - 9 ? segment.n : SEGMENT_MAX - 9;
    segment = arena_printf(b->out, "%.*s-%.*s", (int)keep, segment.p, STR_ARG(hash));
    what = arena_printf(&b->scratch, "%.*s.", STR_ARG(what));
  }
  return segment;
}

static void add_leaves(struct tree_builder *b, struct children *c, struct tree_entry **e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    str segment = segment_of(b->out, e[i]->item->name);
    struct tree_node *leaf = add_node(c, unique_segment(b, c, segment, e[i]->item->id));
    leaf->count = 1;
    leaf->first = e[i]->index;  // temporary value, which settle() replaces by the position in `order`
  }
}

static void set_children(struct tree_node *node, struct children c) {
  node->children = c.list;
  node->child_count = (uint32_t)c.count;
}

// Used if no word forms clusters: divides entries into numbered parts of about equal size.
static void grow_parts(struct tree_builder *b, struct tree_node *node, struct tree_entry **e, size_t n) {
  size_t parts = (n + TREE_LEAVES - 1) / TREE_LEAVES;
  if (parts > TREE_WIDTH) parts = TREE_WIDTH;
  struct children c = room(b, n <= TREE_LEAVES ? n : parts);
  if (n <= TREE_LEAVES) add_leaves(b, &c, e, n);
  for (size_t i = 0; n > TREE_LEAVES && i < parts; i++) {
    size_t from = n * i / parts, to = n * (i + 1) / parts;
    grow_parts(b, add_node(&c, arena_printf(b->out, "part-%zu", i + 1)), e + from, to - from);
  }
  set_children(node, c);
}

static int by_segment(const void *x, const void *y) {
  const struct tree_node *a = x, *b = y;
  return str_cmp(a->segment, b->segment);
}

// If a node has too many clusters, joins neighbouring clusters into groups. A group is named after its first and last
// cluster ("acr-cosmos").
static void fold_wide(struct tree_builder *b, struct children *c) {
  while (c->count > TREE_WIDTH) {
    size_t groups = (c->count + TREE_LEAVES - 1) / TREE_LEAVES;
    struct children folded = room(b, groups);
    for (size_t i = 0; i < groups; i++) {
      size_t from = c->count * i / groups, to = c->count * (i + 1) / groups;
      str name = arena_printf(b->out, "%.*s-%.*s", STR_ARG(c->list[from].segment), STR_ARG(c->list[to - 1].segment));
      str segment = unique_segment(b, &folded, segment_of(b->out, name), name);
      set_children(add_node(&folded, segment), (struct children){.list = c->list + from, .count = to - from});
    }
    *c = folded;
  }
}

// Sorts the entries by cluster. Clusters are ordered by their first entries; entries without a cluster come last.
// Entries of one cluster keep their order. Returns the number of clusters, and writes the end of each cluster, the
// index after its last entry, to `out_ends`.
static size_t sort_by_cluster(struct tree_builder *b, struct tree_entry **e, size_t n, size_t *out_ends) {
  struct tree_entry **sorted = ARENA_ARRAY(&b->scratch, struct tree_entry *, n);
  uint32_t *keys = ARENA_ARRAY(&b->scratch, uint32_t, n);
  size_t *next = ARENA_ARRAY(&b->scratch, size_t, n + 1);
  size_t clusters = 0;
  for (size_t i = 0; i < n; i++) {
    struct tree_tally *t = e[i]->cluster == NO_KEY ? NULL : &b->tally[e[i]->cluster];
    if (t && !t->count) {
      keys[clusters++] = e[i]->cluster;
      t->count = (uint32_t)clusters;
    }
    if (t) next[t->count]++;  // counts the entries of the first cluster in next[1], of the second in next[2], and so on
  }
  for (size_t k = 1; k <= clusters; k++) out_ends[k - 1] = next[k] += next[k - 1];
  size_t rest = next[clusters];
  for (size_t i = 0; i < n; i++) {
    size_t *at = e[i]->cluster == NO_KEY ? &rest : &next[b->tally[e[i]->cluster].count - 1];
    sorted[(*at)++] = e[i];
  }
  for (size_t k = 0; k < clusters; k++) b->tally[keys[k]].count = 0;
  for (size_t i = 0; i < n; i++) e[i] = sorted[i];
  return clusters;
}

static void grow(struct tree_builder *b, struct tree_node *node, struct tree_entry **e, size_t n, unsigned level);

static void grow_clusters(struct tree_builder *b, struct tree_node *node, struct tree_entry **e, size_t n,
                          unsigned level, const size_t *ends, size_t clusters) {
  struct children c = room(b, clusters + TREE_LEAVES + 1);
  struct map taken;
  map_init(&taken, &b->words.seed);
  c.taken = &taken;
  for (size_t k = 0; k < clusters; k++) {
    size_t from = k ? ends[k - 1] : 0;
    str segment = unique_segment(b, &c, label_cluster(b, e + from, ends[k] - from), e[from]->item->id);
    grow(b, add_node(&c, segment), e + from, ends[k] - from, level + 1);
  }
  qsort(c.list, c.count, sizeof *c.list, by_segment);
  size_t rest = n - ends[clusters - 1];
  bool direct = rest <= TREE_LEAVES && clusters + rest <= TREE_WIDTH;
  if (rest && !direct)
    grow_parts(b, add_node(&c, unique_segment(b, &c, STR("other"), STR("other"))), e + n - rest, rest);
  fold_wide(b, &c);
  if (direct) add_leaves(b, &c, e + n - rest, rest);
  set_children(node, c);
  map_done(&taken);
}

// Maximum depth of clusters inside clusters. The depth needs a limit, because names may share any number of words.
enum { CLUSTER_LEVELS = 3 };

static void grow(struct tree_builder *b, struct tree_node *node, struct tree_entry **e, size_t n, unsigned level) {
  size_t clusters = 0, *ends = ARENA_ARRAY(&b->scratch, size_t, n);
  if (n > TREE_LEAVES && level < CLUSTER_LEVELS) {
    find_clusters(b, e, n);
    clusters = sort_by_cluster(b, e, n, ends);
  }
  if (clusters) grow_clusters(b, node, e, n, level, ends, clusters);
  else grow_parts(b, node, e, n);
}

static str join_path(struct tree_builder *b, str parent, str segment) {
  char *path = arena_alloc(b->out, parent.n + 1 + segment.n + 1), *p = path;
  if (parent.n) p = mempcpy(p, parent.p, parent.n);
  *p++ = '/';
  p = mempcpy(p, segment.p, segment.n);
  *p = 0;
  return (str){path, (size_t)(p - path)};
}

// Maximum tokens of the path of an inner node, so that the path fits on a card. In a longer path, settle_children
// replaces the last segment by "g" and a number.
enum { PATH_TOKENS = 44 };

static void settle(struct tree_builder *b, struct tree_node *node, str parent);

static void settle_children(struct tree_builder *b, struct tree_node *node, str path) {
  struct tree_node *list = (struct tree_node *)node->children;
  for (uint32_t i = 0; i < node->child_count; i++) {
    bool is_long = list[i].child_count && path.n && !tokens_fit(join_path(b, path, list[i].segment), PATH_TOKENS);
    struct children siblings = {.list = list, .count = node->child_count};
    if (is_long) list[i].segment = unique_segment(b, &siblings, arena_printf(b->out, "g%u", i + 1), path);
    settle(b, &list[i], path);
  }
}

// Sets the paths of a node and of all nodes below it, and appends the items of these nodes to `order`.
static void settle(struct tree_builder *b, struct tree_node *node, str parent) {
  node->path = join_path(b, parent, node->segment);
  uint32_t first = b->placed;
  if (node->count) b->order[b->placed++] = node->first;
  settle_children(b, node, node->path);
  node->first = first;
  node->count = b->placed - first;
}

static struct tree_entry *read_items(struct tree_builder *b, const struct tree_item *items, size_t count) {
  struct tree_entry *entries = ARENA_ARRAY(&b->scratch, struct tree_entry, count + 1);
  for (size_t i = 0; i < count; i++) {
    entries[i].item = &items[i];
    entries[i].index = (uint32_t)i;
  }
  qsort(entries, count, sizeof *entries, by_id);
  for (size_t i = 0; i < count; i++) read_words(b, &entries[i]);
  b->tally = ARENA_ARRAY(&b->scratch, struct tree_tally, b->key_count + 1);
  return entries;
}

static size_t count_namespaces(const struct tree_entry *entries, size_t count) {
  size_t n = count > 0;
  for (size_t i = 1; i < count; i++) n += !str_eq(entries[i].item->namespace, entries[i - 1].item->namespace);
  return n;
}

static void grow_root(struct tree_builder *b, struct tree_node *root, struct tree_entry *entries, size_t count) {
  struct tree_entry **e = ARENA_ARRAY(&b->scratch, struct tree_entry *, count + 1);
  struct children c = room(b, count_namespaces(entries, count));
  for (size_t i = 0; i < count; i++) e[i] = &entries[i];
  for (size_t from = 0, to; from < count; from = to) {
    str namespace = entries[from].item->namespace;
    for (to = from + 1; to < count && str_eq(entries[to].item->namespace, namespace);) to++;
    if (to - from > TREE_LEAVES) forbid_common(b, e + from, to - from);
    for (size_t i = from; i < to; i++) forbid_leading_verb(e[i]);
    grow(b, add_node(&c, arena_str(b->out, namespace)), e + from, to - from, 0);
  }
  set_children(root, c);
}

struct tree *tree_build(const struct tree_item *items, size_t count, const struct hash_key *seed, struct arena *a) {
  ASSERT((items || !count) && count < UINT32_MAX);
  ASSERT(count < NO_KEY);
  struct tree *t = ARENA_NEW(a, struct tree);
  struct tree_builder b = {.out = a, .order = ARENA_ARRAY(a, uint32_t, count + 1)};
  arena_init(&b.scratch);
  map_init(&b.words, seed);
  map_init(&b.keys, seed);
  grow_root(&b, &t->root, read_items(&b, items, count), count);
  settle_children(&b, &t->root, STR(""));
  ASSERT(b.placed == count);
  t->root.path = STR("/");
  t->root.count = (uint32_t)count;
  t->order = b.order;
  map_done(&b.words);
  map_done(&b.keys);
  arena_done(&b.scratch);
  return t;
}

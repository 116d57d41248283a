// SPDX-License-Identifier: Apache-2.0
// The interface between the files of JSONPath: the compiled query, its parser, and the state of a run.
#pragma once
#include "json/path/path.h"
#include "json/scan.h"

// ---- the compiled query ----

enum path_selector_kind { PATH_NAME, PATH_INDEX, PATH_WILDCARD, PATH_SLICE, PATH_FILTER };

struct path_slice {
  int64_t start, end, step;
  bool has_start, has_end;
};

struct path_selector {
  struct path_selector *next;
  enum path_selector_kind kind;
  str name, quoted;         // the name without and with quotes
  size_t set;               // number of a set that contains only this name (path_names)
  struct path_slice slice;  // an index is stored in slice.start
  struct path_expr *filter;
  struct path_wanted *wanted;  // the members that the filter reads; NULL if it reads none
  struct path_need *needs;     // every value that passes the filter has at least one of these members
  size_t needs_count;          // 0 if no such members are known
};

enum { PATH_NEEDS = 4 };

struct path_need {
  const struct path_wanted *member;
  str quoted;                    // name of the member in quotes
  const struct path_expr *test;  // a test that the value of the member must pass; NULL if there is no test
};

struct path_segment {
  struct path_segment *next;
  struct path_selector *selectors;
  bool descend;
  size_t descent;  // number of this segment among the query's descendant segments, from 0
};

struct path_query {
  struct path_segment *segments;
  bool from_root;
  bool singular;                     // selects at most one node in every document
  const struct path_wanted *picked;  // in a filter: member that the leading names select; or NULL
  struct path_segment *rest;         // the segments after `picked`
};

// A member that a filter reads. All such members form a tree.
struct path_wanted {
  struct path_wanted *parent, *next, *child;
  str name;
  size_t place;  // index in path_run.picked
  size_t count;  // number of children
  size_t set;    // number of the set of the children's names (path_names)
  const str *names;
  struct path_wanted **children;
};

enum path_expr_kind { PATH_OR, PATH_AND, PATH_NOT, PATH_COMPARE, PATH_QUERY, PATH_LITERAL, PATH_CALL };
enum path_operator { PATH_EQ, PATH_NE, PATH_LT, PATH_LE, PATH_GT, PATH_GE };
enum path_function { PATH_LENGTH, PATH_COUNT, PATH_MATCH, PATH_SEARCH, PATH_VALUE };

struct path_expr {
  struct path_expr *next;   // next operand or argument of the same parent
  struct path_expr *child;  // first operand or argument
  enum path_expr_kind kind;
  enum path_operator op;
  enum path_function function;
  struct path_query query;
  const struct json *literal;
  double number;             // value of a literal with is_number
  bool is_number;            // the literal is a short number (json/number.h), stored in `number`
  struct path_regex *regex;  // compiled pattern of match() or search() if it is a literal
};

struct json_path {
  struct path_query query;
  str hint;
  size_t sets, places, descents;  // number of name sets, of wanted members, and of descendant segments
};

// ---- the parser ----

struct path_parser {
  str text;
  size_t at;  // offset of the next byte
  unsigned depth;
  struct arena *a;
  struct fault *f;
  str hint;
  size_t sets, places, descents;
};

// Sets q->f to the message `what`, with the column of offset `at`. Returns false.
bool path_refuse(struct path_parser *q, size_t at, const char *what);
bool path_expect(struct path_parser *q, const char *what);  // `what` says what was expected at the next byte

int path_peek(const struct path_parser *q);  // returns the next byte, or -1 at the end
bool path_take(struct path_parser *q, char c);
void path_skip_blanks(struct path_parser *q);

// Enters one more level of nesting. Returns false, with q->f set, if there are too many levels. In both cases, the
// caller must decrement q->depth after the nested part.
bool path_enter(struct path_parser *q);

bool path_parse_segments(struct path_parser *q, struct path_query *out);
bool path_parse_string(struct path_parser *q, str *out);
struct path_expr *path_parse_filter(struct path_parser *q);

// Collects the members that a filter reads by name, and sets path_query.picked. Returns NULL if the filter reads no
// members.
struct path_wanted *path_collect(struct path_parser *q, struct path_expr *filter);

// Sets path_selector.needs: a list of members such that every value that passes the selector's filter has at least one
// of them.
void path_note_needs(struct path_parser *q, struct path_selector *s);

// Returns the text "column N" for the offset `at`, in the arena.
str path_column(const struct path_parser *q, size_t at);

// ---- regular expressions ----

// Memory for matching, which grows as needed.
struct path_matcher {
  struct arena *a;
  struct pcre2_real_match_data_8 *data;
  struct pcre2_real_match_context_8 *context;
  int *room;
  size_t room_n;
};

struct path_regex {
  struct pcre2_real_code_8 *code;  // compiled pattern; NULL if the pattern is plain text, invalid or too large
  str plain;                       // if plain.p is set: a text to search for without the engine
  str part;                        // text that every match contains; empty if none is known
  bool too_large;
  size_t states;  // maximum number of states that the engine follows at the same time
};

static inline bool path_regex_usable(const struct path_regex *regex) {
  return regex->code || regex->plain.p;
}

// Compiles a pattern that must match a whole text (match) or any part of it (search). All memory is in the arena.
struct path_regex *path_regex_new(struct arena *a, str pattern, bool whole);

// Returns the number of steps to charge for matching a text of `n` bytes.
uint64_t path_regex_cost(const struct path_regex *regex, size_t n);

// A fast test: returns false if the text does not contain regex->part and therefore cannot match.
bool path_regex_may_match(const struct path_regex *regex, str text);

// Sets *out to whether the text matches. Returns false if the engine gave up, which the limits on patterns should
// prevent.
bool path_regex_test(const struct path_regex *regex, struct path_matcher *m, str text, bool *out);

// ---- a run ----

// How far a walk has read a value: to its end (`after`), or to a position inside it.
struct path_end {
  const char *after;   // the position after the value; NULL if unknown
  const char *inside;  // if `after` is NULL: a position inside the value, or NULL if none is known
  size_t levels;       // depth of `inside` in the value; 1 if directly in the value
};

struct path_run {
  struct json_scan doc;
  const char *root;
  struct arena *scratch;
  struct fault *f;
  uint64_t steps;  // steps that are left
  unsigned depth;
  bool failed;  // `f` is set
  struct path_matcher matcher;
  char *text;  // memory for one unescaped string
  size_t text_n;
  struct arena patterns;  // memory of the compiled pattern that was last found in the document
  str pattern;
  bool pattern_whole;
  struct path_regex *regex;
  const char *tested;            // the value that a filter is testing
  struct path_end *tested_end;   // the end of that value
  struct json_names **sets;      // sets of names; an element is NULL before its first use
  const char **picked;           // for each member that the filter reads: its value in the tested value, or NULL
  struct path_finder **finders;  // one for each descendant segment; an element is NULL before its first use
};

// Sets r->f to a FAULT_LIMIT fault with the message `what`. Returns false.
bool path_exceed(struct path_run *r, const char *what);
bool path_exceed_steps(struct path_run *r);

// Subtracts `steps` from the steps that are left. Returns false, with r->f set, if too few steps are left.
static inline bool path_charge(struct path_run *r, uint64_t steps) {
  if (steps > r->steps) return path_exceed_steps(r);
  r->steps -= steps;
  return true;
}

enum { PATH_STEP_BYTES = 64 };

// Subtracts `steps`, plus the steps for skipping the bytes from `from` to `after`. `after` may be NULL.
static inline bool path_passed(struct path_run *r, uint64_t steps, const char *from, const char *after) {
  return path_charge(r, steps + (after > from ? (uint64_t)(after - from) / PATH_STEP_BYTES : 0));
}

// Moves to the next element or member. Returns false at the end, or if the run has ended.
bool path_next(struct path_run *r, struct json_walk *w);

// Subtracts the steps for a walk over `container` that has searched for `names` names.
bool path_charge_walk(struct path_run *r, const char *container, const struct json_walk *w, size_t names);

// Returns the set of names with the number `set`, and makes it from `list` at its first use. All walks that search for
// these names share the set.
struct json_names *path_names(struct path_run *r, size_t set, const str *list, size_t count);

// path_pick finds the members of `value` that a filter reads, and stores the positions of their values in r->picked.
// path_pick_member stores the position of a single member's value, and then finds the members that the filter reads
// inside this value.
void path_pick_member(struct path_run *r, const struct path_wanted *member, const char *value);
void path_pick(struct path_run *r, const struct path_wanted *top, const char *value, struct path_end *end);

// Returns whether the run may continue: it has not failed, and the text is JSON so far.
static inline bool path_alive(const struct path_run *r) {
  return !r->failed && !r->doc.wrong;
}

struct path_sink {
  json_path_visit *visit;
  void *ctx;
};

// Visits the values that segment `s` and the segments after it select from the value `v`. Returns false if the visitor
// or a limit ended the run. Reports in *end how far the value was read.
bool path_walk(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
               struct path_end *end);
bool path_select_all(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                     struct path_end *end);
bool path_walk_child(struct path_run *r, const struct path_segment *s, struct json_walk *w,
                     const struct path_sink *sink);
bool path_descend(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                  struct path_end *end);
void path_free_finders(struct path_run *r, size_t count);
void path_settle(struct path_run *r, struct json_walk *w, const struct path_end *end);
void path_learn(struct path_end *end, const struct json_walk *w);
bool path_enter_level(struct path_run *r);

// Returns whether the value passes the selector's filter. Reports in *end how far the value was read.
bool path_test(struct path_run *r, const struct path_selector *selector, const char *value, struct path_end *end);

// Returns whether the value passes the filter `e`. The caller must call path_pick first. Returns false if the run has
// failed.
bool path_filter_test(struct path_run *r, const struct path_expr *e, const char *value);

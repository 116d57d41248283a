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
  size_t set;               // set of names that contains only this name
  struct path_slice slice;  // an index is stored in slice.start
  struct path_expr *filter;
  struct path_wanted *wanted;  // the members that the filter reads; NULL if it reads none
  struct path_need *needs;     // a value that passes the filter has at least one of these members
  size_t needs_count;          // 0: not known which members it has
};

enum { PATH_NEEDS = 4 };

struct path_need {
  const struct path_wanted *member;
  str quoted;                    // name of the member in quotes
  const struct path_expr *test;  // the member must pass this test; NULL: any value passes
};

struct path_segment {
  struct path_segment *next;
  struct path_selector *selectors;
  bool descend;
  size_t descent;  // index among the descendant segments
};

struct path_query {
  struct path_segment *segments;
  bool from_root;
  bool singular;                     // selects at most one node in every document
  const struct path_wanted *picked;  // in a filter: the member that the first segments lead to, or NULL
  struct path_segment *rest;         // the segments after `picked`
};

// A member that a filter reads; a node in the tree of all such members.
struct path_wanted {
  struct path_wanted *parent, *next, *child;
  str name;
  size_t place;  // index in path_run.picked
  size_t count;  // number of children
  size_t set;    // set of the names of the children
  const str *names;
  struct path_wanted **children;
};

enum path_expr_kind { PATH_OR, PATH_AND, PATH_NOT, PATH_COMPARE, PATH_QUERY, PATH_LITERAL, PATH_CALL };
enum path_operator { PATH_EQ, PATH_NE, PATH_LT, PATH_LE, PATH_GT, PATH_GE };
enum path_function { PATH_LENGTH, PATH_COUNT, PATH_MATCH, PATH_SEARCH, PATH_VALUE };

struct path_expr {
  struct path_expr *next;   // in the list of operands or arguments
  struct path_expr *child;  // first operand or argument
  enum path_expr_kind kind;
  enum path_operator op;
  enum path_function function;
  struct path_query query;
  const struct json *literal;
  double number;             // value of a literal with is_number
  bool is_number;            // the literal is a short number (json/number.h)
  struct path_regex *regex;  // pattern of match and search, if it is a literal
};

struct json_path {
  struct path_query query;
  str hint;
  size_t sets, places, descents;  // number of sets, of wanted members, and of descendant segments
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

// Sets q->f, and returns false.
bool path_refuse(struct path_parser *q, size_t at, const char *what);
bool path_expect(struct path_parser *q, const char *what);  // `what` describes what is expected at the next byte

int path_peek(const struct path_parser *q);  // returns the next byte, or -1 at the end
bool path_take(struct path_parser *q, char c);
void path_skip_blanks(struct path_parser *q);

// Enters one more level. Returns false, with q->f set, if there are too many levels. The caller must leave the level
// again.
bool path_enter(struct path_parser *q);

bool path_parse_segments(struct path_parser *q, struct path_query *out);
bool path_parse_string(struct path_parser *q, str *out);
struct path_expr *path_parse_filter(struct path_parser *q);

// Collects the members that a filter reads by name, and sets path_query.picked. Returns NULL if it reads none.
struct path_wanted *path_collect(struct path_parser *q, struct path_expr *filter);

// Finds the members of which a value must have at least one to pass the selector's filter.
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
  struct pcre2_real_code_8 *code;  // NULL if the pattern is plain, invalid or too large
  str plain;                       // text to search for instead of running `code`; p is NULL if it is not used
  str part;                        // text that every match contains; empty: unknown
  bool too_large;
  size_t states;  // maximum number of states that are active at the same time
};

static inline bool path_regex_usable(const struct path_regex *regex) {
  return regex->code || regex->plain.p;
}

// Compiles a pattern that must match a whole text (match) or any part of it (search). All memory is in the arena.
struct path_regex *path_regex_new(struct arena *a, str pattern, bool whole);

// Returns the maximum number of steps to match a text of `n` bytes.
uint64_t path_regex_cost(const struct path_regex *regex, size_t n);

// Returns false if the text does not contain regex->part, so that it cannot match. Costs little.
bool path_regex_may_match(const struct path_regex *regex, str text);

// Returns false if the engine gave up, which the limits on patterns should prevent.
bool path_regex_test(const struct path_regex *regex, struct path_matcher *m, str text, bool *out);

// ---- a run ----

// The end of a value, as far as a walk through the value has found it.
struct path_end {
  const char *after;   // the position after the value; NULL: unknown
  const char *inside;  // if `after` is NULL: a position inside the value; NULL: unknown
  size_t levels;       // depth of `inside`; 1: directly in the value
};

struct path_run {
  struct json_scan doc;
  const char *root;
  struct arena *scratch;
  struct fault *f;
  uint64_t steps;  // steps that are left
  unsigned depth;
  bool failed;  // the run has failed, and `f` is set
  struct path_matcher matcher;
  char *text;  // memory for one unescaped string
  size_t text_n;
  struct arena patterns;  // memory of the last compiled pattern from the document
  str pattern;
  bool pattern_whole;
  struct path_regex *regex;
  const char *tested;            // the value that a filter is testing
  struct path_end *tested_end;   // the end of that value
  struct json_names **sets;      // sets of names; an element is NULL before its first use
  const char **picked;           // members of the tested value; an element is NULL if the member is absent
  struct path_finder **finders;  // one for each descendant segment; an element is NULL before its first use
};

// Sets r->f, and returns false.
bool path_exceed(struct path_run *r, const char *what);
bool path_exceed_steps(struct path_run *r);

// Subtracts steps. Returns false, with r->f set, if not enough steps are left.
static inline bool path_charge(struct path_run *r, uint64_t steps) {
  if (steps > r->steps) return path_exceed_steps(r);
  r->steps -= steps;
  return true;
}

enum { PATH_STEP_BYTES = 64 };

// Subtracts `steps`, and steps for the bytes between `from` and `after`, which may be NULL.
static inline bool path_passed(struct path_run *r, uint64_t steps, const char *from, const char *after) {
  return path_charge(r, steps + (after > from ? (uint64_t)(after - from) / PATH_STEP_BYTES : 0));
}

// Moves to the next element or member. Returns false at the end, or if the run has ended.
bool path_next(struct path_run *r, struct json_walk *w);

// Subtracts the steps of a walk that searched for `names` names.
bool path_charge_walk(struct path_run *r, const char *container, const struct json_walk *w, size_t names);

// Returns the set of names with this number, for searches in one object after another.
struct json_names *path_names(struct path_run *r, size_t set, const str *list, size_t count);

// path_pick picks the members of a value that a filter reads; path_pick_member picks one member with this value, and
// the members below it.
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

// Visits the values that a segment and its successors select from a value. Returns false if the visitor or a limit
// ended the run. Reports in *end how far the value was read.
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

// Returns whether the value passes the filter of the selector. Reports in *end how far the value was read.
bool path_test(struct path_run *r, const struct path_selector *selector, const char *value, struct path_end *end);

// Returns whether the value passes the filter. The members must have been picked before. Returns false if the run has
// failed.
bool path_filter_test(struct path_run *r, const struct path_expr *e, const char *value);

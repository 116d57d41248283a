// SPDX-License-Identifier: Apache-2.0
// What the files of JSONPath share: the compiled query, its parser, and the state of a run.
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
  str name, quoted;         // the name, and the same in quotes
  size_t set;               // of a name: which of the sets of names it is alone in
  struct path_slice slice;  // an index is in its start
  struct path_expr *filter;
  struct path_wanted *wanted;  // what the filter asks for; NULL: nothing
  struct path_need *needs;     // what passes the filter has a member of one of these names
  size_t needs_count;          // 0: or anything else
};

enum { PATH_NEEDS = 4 };

struct path_need {
  const struct path_wanted *member;
  str quoted;                    // its name in quotes
  const struct path_expr *test;  // which that member must pass by itself; NULL: none
};

struct path_segment {
  struct path_segment *next;
  struct path_selector *selectors;
  bool descend;
  size_t descent;  // which of those that descend it is
};

struct path_query {
  struct path_segment *segments;
  bool from_root;
  bool singular;                     // at most one node, whatever the document
  const struct path_wanted *picked;  // in a filter: the member that its first segments lead to; NULL: they lead to none
  struct path_segment *rest;         // and those behind them
};

// A member that is wanted, in the tree of those that a filter asks for.
struct path_wanted {
  struct path_wanted *parent, *next, *child;
  str name;
  size_t place;  // in the list of what was picked
  size_t count;  // of its children
  size_t set;    // of their names
  const str *names;
  struct path_wanted **children;
};

enum path_expr_kind { PATH_OR, PATH_AND, PATH_NOT, PATH_COMPARE, PATH_QUERY, PATH_LITERAL, PATH_CALL };
enum path_operator { PATH_EQ, PATH_NE, PATH_LT, PATH_LE, PATH_GT, PATH_GE };
enum path_function { PATH_LENGTH, PATH_COUNT, PATH_MATCH, PATH_SEARCH, PATH_VALUE };

struct path_expr {
  struct path_expr *next;   // in the list of operands or arguments that it belongs to
  struct path_expr *child;  // its own operands or arguments
  enum path_expr_kind kind;
  enum path_operator op;
  enum path_function function;
  struct path_query query;
  const struct json *literal;
  double number;             // a literal that is a short number (json/number.h), when
  bool is_number;            // it is one
  struct path_regex *regex;  // of match and search, when the pattern is a literal
};

struct json_path {
  struct path_query query;
  str hint;
  size_t sets, places, descents;  // how many of them there are
};

// ---- the parser ----

struct path_parser {
  str text;
  size_t at;  // byte to be read next
  unsigned depth;
  struct arena *a;
  struct fault *f;
  str hint;
  size_t sets, places, descents;
};

// Set f and give false.
bool path_refuse(struct path_parser *q, size_t at, const char *what);
bool path_expect(struct path_parser *q, const char *what);  // something else is expected where we are

int path_peek(const struct path_parser *q);  // the next byte, -1 at the end
bool path_take(struct path_parser *q, char c);
void path_skip_blanks(struct path_parser *q);

// One more level inside; false, with f set, when these are too many. The caller takes it off again.
bool path_enter(struct path_parser *q);

bool path_parse_segments(struct path_parser *q, struct path_query *out);
bool path_parse_string(struct path_parser *q, str *out);
struct path_expr *path_parse_filter(struct path_parser *q);

// Collects what a filter asks for by names, and tells its queries. NULL: nothing.
struct path_wanted *path_collect(struct path_parser *q, struct path_expr *filter);

// Finds out what the selector's filter needs.
void path_note_needs(struct path_parser *q, struct path_selector *s);

// The column of a byte, as "column N" in the arena.
str path_column(const struct path_parser *q, size_t at);

// ---- regular expressions ----

// Room to match in; grows as needed.
struct path_matcher {
  struct arena *a;
  struct pcre2_real_match_data_8 *data;
  struct pcre2_real_match_context_8 *context;
  int *room;
  size_t room_n;
};

struct path_regex {
  struct pcre2_real_code_8 *code;  // NULL when the pattern is plain, no I-Regexp, or too large
  str plain;                       // a search for just this; else p is NULL
  str part;                        // all that matches holds this; empty: it is not known
  bool too_large;
  size_t states;  // so many at the most are active at once
};

static inline bool path_regex_usable(const struct path_regex *regex) {
  return regex->code || regex->plain.p;
}

// A pattern for the whole of a text (match), or for any part of it (search). Everything is in the arena.
struct path_regex *path_regex_new(struct arena *a, str pattern, bool whole);

// Steps that a text of n bytes costs at the most.
uint64_t path_regex_cost(const struct path_regex *regex, size_t n);

// False: the text does not match, which took no more than a look for the part.
bool path_regex_may_match(const struct path_regex *regex, str text);

// False when the engine gave up, which the bounds on patterns should not let happen.
bool path_regex_test(const struct path_regex *regex, struct path_matcher *m, str text, bool *out);

// ---- a run ----

// What a walk through a value found out about where it ends.
struct path_end {
  const char *behind;  // it ends before this; NULL: not known
  const char *inside;  // or a place in it; NULL: not known
  size_t levels;       // how deep that is: 1 when it is in none of those in it
};

struct path_run {
  struct json_scan doc;
  const char *root;
  struct arena *scratch;
  struct fault *f;
  uint64_t steps;  // left
  unsigned depth;
  bool failed;  // f is set
  struct path_matcher matcher;
  char *text;  // room for an unescaped string
  size_t text_n;
  struct arena patterns;  // the last pattern that came from the document, compiled
  str pattern;
  bool pattern_whole;
  struct path_regex *regex;
  const char *tested;            // what a filter is about
  struct path_end *tested_end;   // and what it found out about it
  struct json_names **sets;      // of names that are looked for; NULL: not so far
  const char **picked;           // members of what is tested; NULL: there is none
  struct path_finder **finders;  // of segments that descend; NULL: not so far
};

// Set f, and give false.
bool path_exceed(struct path_run *r, const char *what);
bool path_exceed_steps(struct path_run *r);

// Takes steps off what is left. False: f is set.
static inline bool path_charge(struct path_run *r, uint64_t steps) {
  if (steps > r->steps) return path_exceed_steps(r);
  r->steps -= steps;
  return true;
}

enum { PATH_STEP_BYTES = 64 };

// Takes steps off, and those of the bytes that were passed over; `behind` is NULL when it is not known.
static inline bool path_passed(struct path_run *r, uint64_t steps, const char *from, const char *behind) {
  return path_charge(r, steps + (behind > from ? (uint64_t)(behind - from) / PATH_STEP_BYTES : 0));
}

// The next element or member of a walk. False at the end, and when the run has come to its own.
bool path_next(struct path_run *r, struct json_walk *w);

// Takes steps off for a walk that looked for so many names.
bool path_charge_walk(struct path_run *r, const char *container, const struct json_walk *w, size_t names);

// A set of names that is looked for in one object after another.
struct json_names *path_names(struct path_run *r, size_t set, const str *list, size_t count);

// Members of a value, as a filter asks for them; or one of them, which has this value, with what is asked for of it.
void path_pick_member(struct path_run *r, const struct path_wanted *member, const char *value);
void path_pick(struct path_run *r, const struct path_wanted *top, const char *value, struct path_end *end);

// May the run go on? Not after a failure, nor when the text is no JSON.
static inline bool path_alive(const struct path_run *r) {
  return !r->failed && !r->doc.wrong;
}

struct path_sink {
  json_path_visit *visit;
  void *ctx;
};

// Visits what a segment and those behind it lead to from a value. False: stop, the visitor or a limit ended it. What is
// learned about the end of the value is in *end.
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

// The value passes the filter of the selector. What was found out about its end is in *end.
bool path_test(struct path_run *r, const struct path_selector *selector, const char *value, struct path_end *end);

// The value passes the filter, of which all that it asks for was picked. False as well when the run failed.
bool path_filter_test(struct path_run *r, const struct path_expr *e, const char *value);

// SPDX-License-Identifier: Apache-2.0
#include "govern/constraints.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "schema/exact.h"
#include "schema/format.h"
#include "schema/regex.h"
#include "json/pointer.h"

enum { PATH_STEPS_MAX = 32, INDEX_DIGITS_MAX = 6 };

// A step of a path: the name of a member or, if key.p is NULL, the index of an element.
struct path_step {
  str key;
  size_t index;
};

struct constraint_check {
  const struct keyword *keyword;
  const struct json *value;  // the keyword's value in the file
  union {
    uint64_t count;
    const struct regex *regex;
    const struct schema_format *format;
  };
};

struct constraint {
  str path, pointer;
  const struct path_step *steps;
  size_t step_count;
  const struct constraint_check *checks;
  size_t check_count;
  bool required, waivable;
};

struct check_run {
  struct regex_room room;
  struct constraints_budget *budget;
};

struct keyword {
  const char *name;
  int needs;  // required type of the argument (enum json_type); -1 accepts any type
  // Reads c->value. Returns an error message, or NULL on success. `why` is a buffer in which the message may be
  // written.
  const char *(*read)(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]);
  // Returns whether `value` satisfies the keyword. `text` is the unescaped string, if `value` is a string.
  bool (*holds)(const struct constraint_check *c, const struct json *value, str text, struct check_run *run);
};

// ---- keywords

static const char *read_number(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  return json_is(c->value, JSON_NUMBER) ? NULL : "must be a number";
}

static bool holds_min(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  return exact_compare(value, c->value) >= 0;
}

static bool holds_max(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  return exact_compare(value, c->value) <= 0;
}

static const char *read_values(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  return json_is(c->value, JSON_ARRAY) && c->value->count ? NULL : "must be a list of at least one value";
}

static bool holds_enum(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  JSON_EACH(it, c->value)
    if (json_same(it, value)) return true;
  return false;
}

static const char *read_any(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  return NULL;
}

static bool holds_const(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  return json_same(c->value, value);
}

// Compiles the pattern twice: as written, and as ^(?:PATTERN)$. The second form alone would accept an invalid pattern
// such as "a)|(b".
static const char *read_pattern(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  str pattern;
  if (!json_string(c->value, a, &pattern)) return "must be a regular expression";
  if (pattern.n > CONSTRAINT_TEXT_MAX) return "is longer than 4096 bytes";
  if (!regex_new(a, pattern, why)) return why;
  c->regex = regex_new(a, arena_printf(a, "^(?:%.*s)$", STR_ARG(pattern)), why);
  return c->regex ? NULL : why;
}

// Returns whether the text matches the pattern. A match that needs too many steps counts as a violation.
static bool holds_pattern(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  return text.n <= CONSTRAINT_TEXT_MAX && regex_match(c->regex, text, &run->room, &run->budget->steps) == REGEX_YES;
}

static const char *read_count(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  return exact_count(c->value, &c->count) ? NULL : "must be a whole number, 0 or more";
}

static bool holds_min_length(const struct constraint_check *c, const struct json *value, str text,
                             struct check_run *run) {
  return utf8_count(text) >= c->count;
}

static bool holds_max_length(const struct constraint_check *c, const struct json *value, str text,
                             struct check_run *run) {
  return text.n <= c->count || utf8_count(text) <= c->count;
}

static bool holds_max_items(const struct constraint_check *c, const struct json *value, str text,
                            struct check_run *run) {
  return value->count <= c->count;
}

static const char *read_format(struct arena *a, struct constraint_check *c, char why[REGEX_WHY]) {
  str name;
  c->format = json_string(c->value, a, &name) ? schema_format_find(name) : NULL;
  return c->format ? NULL : "must be a format of JSON Schema, such as \"date\" or \"uuid\"";
}

static bool holds_format(const struct constraint_check *c, const struct json *value, str text, struct check_run *run) {
  return c->format->check(text);
}

static const struct keyword keywords[] = {
    {"min", JSON_NUMBER, read_number, holds_min},
    {"max", JSON_NUMBER, read_number, holds_max},
    {"enum", -1, read_values, holds_enum},
    {"const", -1, read_any, holds_const},
    {"pattern", JSON_STRING, read_pattern, holds_pattern},
    {"minLength", JSON_STRING, read_count, holds_min_length},
    {"maxLength", JSON_STRING, read_count, holds_max_length},
    {"maxItems", JSON_ARRAY, read_count, holds_max_items},
    {"format", JSON_STRING, read_format, holds_format},
};

static const struct keyword *keyword_find(const struct json *member) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (json_key_is(member, str_of(keywords[i].name))) return &keywords[i];
  return NULL;
}

// ---- reading

struct reader {
  struct arena *arena;
  governance_problem *problem;
  void *ctx;
  bool failed;
};

static void report(struct reader *r, str pointer, const char *message) {
  r->failed = true;
  r->problem(r->ctx, pointer, message);
}

// Reads an index such as "[0]" at the start of *rest.
static bool read_index(str *rest, struct path_step *out) {
  size_t n = 1;
  uint64_t index;
  while (n < rest->n && ascii_is_digit(rest->p[n])) n++;
  bool ok = n < rest->n && rest->p[n] == ']' && n <= INDEX_DIGITS_MAX && str_to_u64((str){rest->p + 1, n - 1}, &index);
  if (!ok) return false;
  *out = (struct path_step){.index = index};
  *rest = str_from(*rest, n + 1);
  return true;
}

static bool read_name(str *rest, struct path_step *out) {
  size_t n = 0;
  while (n < rest->n && !strchr(".[]", rest->p[n])) n++;
  *out = (struct path_step){.key = {rest->p, n}};
  *rest = str_from(*rest, n);
  return n > 0;
}

// Splits a path such as a.b[0].c. Returns the number of steps, or 0 if it is malformed.
static size_t read_path(str path, struct path_step steps[PATH_STEPS_MAX]) {
  size_t count = 0;
  bool ok = read_name(&path, &steps[count++]);
  while (ok && path.n) {
    ok = count < PATH_STEPS_MAX;
    if (ok && path.p[0] == '[') ok = read_index(&path, &steps[count++]);
    else if (ok && path.p[0] == '.') {
      path = str_from(path, 1);
      ok = read_name(&path, &steps[count++]);
    } else ok = false;
  }
  return ok ? count : 0;
}

static str below(struct reader *r, str pointer, const struct json *member) {
  return json_pointer_below(r->arena, pointer, json_key(member, r->arena));
}

static void read_keyword(struct reader *r, const struct json *member, struct constraint *c,
                         struct constraint_check *checks) {
  char why[REGEX_WHY];
  struct constraint_check check = {.keyword = keyword_find(member), .value = member};
  const char *wrong = NULL;
  if (json_key_is(member, STR("required"))) {
    if (!json_bool(member, &c->required)) wrong = "must be true or false";
  } else if (json_key_is(member, STR("unless_approved"))) {
    if (!json_bool(member, &c->waivable)) wrong = "must be true or false";
  } else if (!check.keyword) {
    wrong = "is not a constraint; use required, min, max, enum, const, pattern, minLength, maxLength, maxItems, format "
            "or unless_approved";
  } else {
    wrong = check.keyword->read(r->arena, &check, why);
    if (!wrong) checks[c->check_count++] = check;
  }
  if (wrong) report(r, below(r, c->pointer, member), wrong);
}

static void read_constraint(struct reader *r, str pointer, const struct json *v, struct constraint *out) {
  struct path_step steps[PATH_STEPS_MAX];
  struct constraint c = {.path = json_key(v, r->arena), .pointer = below(r, pointer, v)};
  c.path = arena_str(r->arena, c.path);
  c.step_count = read_path(c.path, steps);
  if (!c.step_count) report(r, c.pointer, "must be the name of an argument, or a path such as a.b[0].c");
  if (!json_is(v, JSON_OBJECT)) {
    report(r, c.pointer, "must be an object of constraints");
    return;
  }
  struct path_step *kept = ARENA_ARRAY(r->arena, struct path_step, c.step_count);
  if (c.step_count) memcpy(kept, steps, c.step_count * sizeof *steps);
  struct constraint_check *checks = ARENA_ARRAY(r->arena, struct constraint_check, v->count);
  c.steps = kept;
  c.checks = checks;
  JSON_EACH(it, v) read_keyword(r, it, &c, checks);
  *out = c;
}

bool constraints_read(struct arena *a, const struct json *source, str pointer, governance_problem *problem, void *ctx,
                      struct constraints *out) {
  struct reader r = {.arena = a, .problem = problem, .ctx = ctx};
  if (!json_is(source, JSON_OBJECT)) {
    report(&r, pointer, "must be an object");
    return false;
  }
  struct constraint *list = ARENA_ARRAY(a, struct constraint, source->count);
  size_t count = 0;
  JSON_EACH(it, source) read_constraint(&r, pointer, it, &list[count++]);
  if (!r.failed) *out = (struct constraints){list, count};
  return !r.failed;
}

// ---- checking

// Returns the constrained argument, or NULL if it is missing or null.
static const struct json *find_argument(const struct constraint *c, const struct json *args) {
  const struct json *at = args;
  for (size_t i = 0; i < c->step_count && at; i++)
    at = c->steps[i].key.p ? json_get(at, c->steps[i].key) : json_at(at, c->steps[i].index);
  return json_is(at, JSON_NULL) ? NULL : at;
}

static void add(struct violations *out, struct arena *a, const struct constraint *c, const char *constraint) {
  struct violation *v = ARENA_NEW(a, struct violation);
  *v = (struct violation){.path = c->path, .constraint = constraint, .pointer = c->pointer, .waivable = c->waivable};
  if (out->last) out->last->next = v;
  else out->first = v;
  out->last = v;
}

static bool has_type(const struct constraint_check *check, const struct json *value) {
  return check->keyword->needs < 0 || check->keyword->needs == value->type;
}

static void check_argument(const struct constraint *c, const struct json *value, struct check_run *run,
                           struct violations *out) {
  struct arena *a = run->room.arena;
  str text = STR("");
  bool typed = true;
  for (size_t i = 0; i < c->check_count; i++) typed = typed && has_type(&c->checks[i], value);
  if (!typed) add(out, a, c, "type");
  // If the budget has fewer bytes left than the argument has, every check of the argument counts as a violation.
  bool spent = run->budget->bytes < value->n;
  run->budget->bytes -= spent ? run->budget->bytes : value->n;
  if (!spent) json_string(value, a, &text);
  for (size_t i = 0; i < c->check_count; i++) {
    const struct constraint_check *check = &c->checks[i];
    bool wrong = has_type(check, value) && (spent || !check->keyword->holds(check, value, text, run));
    if (wrong) add(out, a, c, check->keyword->name);
  }
}

void constraints_check(const struct constraints *c, const struct json *args, bool partial, struct arena *scratch,
                       struct constraints_budget *budget, struct violations *out) {
  struct check_run run = {.room = {.arena = scratch}, .budget = budget};
  for (size_t i = 0; i < c->count; i++) {
    const struct constraint *it = &c->list[i];
    const struct json *value = find_argument(it, args);
    if (value) check_argument(it, value, &run, out);
    else if (it->required && !partial) add(out, scratch, it, "required");
  }
}

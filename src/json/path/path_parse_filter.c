// SPDX-License-Identifier: Apache-2.0
// Parses filters, and checks the types of operands, tests and arguments (RFC 9535, 2.4).
#include "json/number.h"
#include "json/path/path_impl.h"
#include "json/write.h"

enum type { TYPE_VALUE, TYPE_NODES, TYPE_LOGICAL };

struct signature {
  str name;
  enum type result;
  unsigned count;
  enum type parameter;  // required type of every argument
};

static const struct signature functions[] = {
    [PATH_LENGTH] = {STR("length"), TYPE_VALUE, 1, TYPE_VALUE},
    [PATH_COUNT] = {STR("count"), TYPE_VALUE, 1, TYPE_NODES},
    [PATH_MATCH] = {STR("match"), TYPE_LOGICAL, 2, TYPE_VALUE},
    [PATH_SEARCH] = {STR("search"), TYPE_LOGICAL, 2, TYPE_VALUE},
    [PATH_VALUE] = {STR("value"), TYPE_VALUE, 1, TYPE_NODES},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static struct path_expr *new_expr(struct path_parser *q, enum path_expr_kind kind) {
  struct path_expr *e = ARENA_NEW(q->a, struct path_expr);
  e->kind = kind;
  return e;
}

static struct path_expr *refuse(struct path_parser *q, size_t at, const char *what) {
  path_refuse(q, at, what);
  return NULL;
}

static struct path_expr *expect(struct path_parser *q, const char *what) {
  path_expect(q, what);
  return NULL;
}

// ---- literals ----

// Literals are stored as JSON nodes, so that they are compared like values of the document.
static struct path_expr *new_literal(struct path_parser *q, size_t at, str json) {
  struct path_expr *e = new_expr(q, PATH_LITERAL);
  struct fault ignored;
  e->literal = json_parse(q->a, json, &json_default_limits, &ignored);
  e->is_number = e->literal && json_number_short(json, &e->number);
  return e->literal ? e : refuse(q, at, "the number is not valid in JSON");
}

static struct path_expr *read_string(struct path_parser *q) {
  size_t at = q->at;
  str text;
  return path_parse_string(q, &text) ? new_literal(q, at, json_escaped(q->a, text)) : NULL;
}

// Reads a number in the syntax of JSON.
static struct path_expr *read_number(struct path_parser *q) {
  size_t begin = q->at;
  while (path_peek(q) > 0 && strchr("+-.0123456789eE", path_peek(q))) q->at++;
  return new_literal(q, begin, (str){q->text.p + begin, q->at - begin});
}

static struct path_expr *read_query(struct path_parser *q, bool from_root) {
  struct path_expr *e = new_expr(q, PATH_QUERY);
  e->query.from_root = from_root;
  return path_parse_segments(q, &e->query) ? e : NULL;
}

// ---- functions ----

static struct path_expr *read_operand(struct path_parser *q);

static bool has_type(const struct path_expr *e, enum type type) {
  if (e->kind == PATH_CALL) return functions[e->function].result == type;
  if (e->kind == PATH_LITERAL) return type == TYPE_VALUE;
  return type == TYPE_NODES || e->query.singular;
}

static struct path_expr *read_argument(struct path_parser *q, enum type type) {
  path_skip_blanks(q);
  size_t at = q->at;
  struct path_expr *e = read_operand(q);
  if (!e) return NULL;
  path_skip_blanks(q);
  if (has_type(e, type)) return e;
  return refuse(q, at,
                type == TYPE_NODES
                    ? "the argument must be a query, such as @.a or $..b"
                    : "the argument must be a literal, a query for a single node, or a function that returns a value");
}

static bool read_arguments(struct path_parser *q, struct path_expr *call) {
  const struct signature *s = &functions[call->function];
  struct path_expr **tail = &call->child;
  for (unsigned i = 0; i < s->count; i++) {
    if (i && !path_take(q, ',')) return path_expect(q, "expected ',' and one more argument");
    if (!(*tail = read_argument(q, s->parameter))) return false;
    tail = &(*tail)->next;
  }
  return path_take(q, ')') || path_expect(q, "expected ')'");
}

// If the pattern of match() or search() is a literal, compiles the pattern while the query is parsed.
static bool compile_pattern(struct path_parser *q, size_t at, struct path_expr *call) {
  const struct path_expr *pattern = call->child->next;
  str text;
  if (!pattern || !json_string(pattern->literal, q->a, &text)) return true;
  call->regex = path_regex_new(q->a, text, call->function == PATH_MATCH);
  if (call->regex->too_large) {
    path_refuse(q, at, "the regular expression is too large; shorten it");
    q->f->code = FAULT_LIMIT;
    return false;
  }
  if (!path_regex_usable(call->regex) && !q->hint.n)
    q->hint = arena_printf(q->a,
                           "%.*s: the pattern is not a valid I-Regexp (RFC 9485, without \\d, \\w and \\b) and "
                           "never matches",
                           STR_ARG(path_column(q, at)));
  return true;
}

// Reads the arguments of a function call, from the opening parenthesis on.
static struct path_expr *read_call(struct path_parser *q, size_t at, str name) {
  struct path_expr *e = new_expr(q, PATH_CALL);
  unsigned i = 0;
  while (i < FUNCTIONS && !str_eq(functions[i].name, name)) i++;
  if (i == FUNCTIONS) return refuse(q, at, "unknown function; use length, count, match, search or value");
  e->function = (enum path_function)i;
  bool ok = path_enter(q) && read_arguments(q, e);
  q->depth--;
  return ok && compile_pattern(q, at, e) ? e : NULL;
}

static struct path_expr *read_word(struct path_parser *q) {
  size_t at = q->at;
  int c;
  while ((c = path_peek(q)), (c >= 'a' && c <= 'z') || (q->at > at && ((c >= '0' && c <= '9') || c == '_'))) q->at++;
  str word = {q->text.p + at, q->at - at};
  if (path_take(q, '(')) return read_call(q, at, word);
  if (str_eq(word, STR("true")) || str_eq(word, STR("false")) || str_eq(word, STR("null")))
    return new_literal(q, at, word);
  return refuse(q, at, "unknown word; use true, false, null or a function call");
}

// Reads a literal, a query or a call.
static struct path_expr *read_operand(struct path_parser *q) {
  int c = path_peek(q);
  if (c == '@' || c == '$') {
    q->at++;
    return read_query(q, c == '$');
  }
  if (c == '\'' || c == '"') return read_string(q);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(q);
  if (c >= 'a' && c <= 'z') return read_word(q);
  return expect(q, "expected '@', '$', a literal or a function");
}

// ---- expressions ----

static bool read_operator(struct path_parser *q, enum path_operator *out) {
  static const struct {
    str text;
    enum path_operator op;
  } operators[] = {
      {STR("=="), PATH_EQ}, {STR("!="), PATH_NE}, {STR("<="), PATH_LE},
      {STR(">="), PATH_GE}, {STR("<"), PATH_LT},  {STR(">"), PATH_GT},
  };
  str rest = str_from(q->text, q->at);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (!str_starts(rest, operators[i].text)) continue;
    q->at += operators[i].text.n;
    *out = operators[i].op;
    return true;
  }
  return false;
}

static bool can_compare(struct path_parser *q, size_t at, const struct path_expr *e) {
  if (has_type(e, TYPE_VALUE)) return true;
  return path_refuse(q, at,
                     e->kind == PATH_CALL ? "the result of this function cannot be compared"
                                          : "only a query for a single node can be compared");
}

// Reads the rest of a comparison, from its operator on.
static struct path_expr *read_comparison(struct path_parser *q, size_t at, struct path_expr *left,
                                         enum path_operator op) {
  struct path_expr *e = new_expr(q, PATH_COMPARE);
  if (!can_compare(q, at, left)) return NULL;
  path_skip_blanks(q);
  at = q->at;
  struct path_expr *right = read_operand(q);
  if (!right || !can_compare(q, at, right)) return NULL;
  e->op = op;
  e->child = left;
  left->next = right;
  return e;
}

static struct path_expr *check_test(struct path_parser *q, size_t at, struct path_expr *e) {
  if (e->kind == PATH_LITERAL) return refuse(q, at, "a literal is not a condition; compare it, for example with ==");
  if (e->kind == PATH_CALL && has_type(e, TYPE_VALUE))
    return refuse(q, at, "the result of this function is not a condition; compare it, for example with ==");
  return e;
}

static struct path_expr *read_comparison_or_test(struct path_parser *q) {
  size_t at = q->at;
  enum path_operator op;
  struct path_expr *e = read_operand(q);
  if (!e) return NULL;
  size_t after = q->at;
  path_skip_blanks(q);
  if (read_operator(q, &op)) return read_comparison(q, at, e, op);
  q->at = after;
  return check_test(q, at, e);
}

// Reads an expression in parentheses, after its opening parenthesis.
static struct path_expr *read_parentheses(struct path_parser *q) {
  struct path_expr *e = NULL;
  path_skip_blanks(q);
  if (path_enter(q)) e = path_parse_filter(q);
  q->depth--;
  if (!e) return NULL;
  path_skip_blanks(q);
  return path_take(q, ')') ? e : expect(q, "expected ')'");
}

// Reads the expression after a "!". A comparison after "!" must be in parentheses.
static struct path_expr *read_negated(struct path_parser *q) {
  struct path_expr *e = new_expr(q, PATH_NOT);
  path_skip_blanks(q);
  size_t at = q->at;
  if (path_take(q, '(')) {
    e->child = read_parentheses(q);
  } else {
    struct path_expr *operand = read_operand(q);
    e->child = operand ? check_test(q, at, operand) : NULL;
  }
  return e->child ? e : NULL;
}

static struct path_expr *read_basic(struct path_parser *q) {
  if (path_take(q, '!')) return read_negated(q);
  if (path_take(q, '(')) return read_parentheses(q);
  return read_comparison_or_test(q);
}

// Reads operands separated by && or ||, but not the blanks after the last operand.
static struct path_expr *read_list(struct path_parser *q, enum path_expr_kind kind, str op,
                                   struct path_expr *(*read)(struct path_parser *)) {
  struct path_expr *first = read(q), *last = first;
  if (!first) return NULL;
  for (;;) {
    size_t before = q->at;
    path_skip_blanks(q);
    if (!str_starts(str_from(q->text, q->at), op)) {
      q->at = before;
      break;
    }
    q->at += op.n;
    path_skip_blanks(q);
    if (!(last->next = read(q))) return NULL;
    last = last->next;
  }
  if (first == last) return first;
  struct path_expr *e = new_expr(q, kind);
  e->child = first;
  return e;
}

static struct path_expr *read_and(struct path_parser *q) {
  return read_list(q, PATH_AND, STR("&&"), read_basic);
}

struct path_expr *path_parse_filter(struct path_parser *q) {
  return read_list(q, PATH_OR, STR("||"), read_and);
}

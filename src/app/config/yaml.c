// SPDX-License-Identifier: Apache-2.0
#include "app/config/yaml.h"

#include <stdio.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "json/write.h"

// An anchored node, recorded as a range of bytes of the output. An alias of the node copies these bytes.
struct anchor {
  size_t start, end;  // `end` is 0 until the whole node is written
  size_t values;
  size_t height;  // number of levels of nested containers; 0 for a scalar
};

struct frame {
  bool mapping, want_key;
  size_t height;          // largest height of the values read so far
  struct map keys;        // keys of a mapping that were read so far
  struct anchor *anchor;  // anchor of this container, or NULL
};

struct converter {
  struct arena arena;
  struct json_writer w;
  struct hash_key seed;
  struct map anchors;
  struct frame frames[YAML_MAX_DEPTH];
  size_t depth, values, documents;
  struct fault *fault;
};

static bool fail(struct converter *c, yaml_mark_t at, enum fault_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool fail(struct converter *c, yaml_mark_t at, enum fault_code code, const char *fmt, ...) {
  char message[FAULT_TEXT], path[64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  snprintf(path, sizeof path, "line %zu, column %zu", at.line + 1, at.column + 1);
  fault_set(c->fault, code, "%s", message);
  fault_set_path(c->fault, str_of(path));
  return false;
}

// ---- scalars: the YAML 1.2 core schema ----

enum scalar { SCALAR_NULL, SCALAR_TRUE, SCALAR_FALSE, SCALAR_INT, SCALAR_FLOAT, SCALAR_NO_JSON, SCALAR_TEXT };

static bool is_one_of(str s, const char *const *words) {
  for (; *words; words++)
    if (str_eq(s, str_of(*words))) return true;
  return false;
}

static size_t digits(str s, size_t at) {
  size_t n = 0;
  while (at + n < s.n && s.p[at + n] >= '0' && s.p[at + n] <= '9') n++;
  return n;
}

// The parts of [-+]? ( . [0-9]+ | [0-9]+ ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
struct number {
  bool negative, is_float;
  str whole, fraction, exponent;  // `exponent` includes its sign
};

static bool split_exponent(str s, size_t at, struct number *out) {
  if (at == s.n) return true;
  if (s.p[at] != 'e' && s.p[at] != 'E') return false;
  size_t sign = at + 1 < s.n && (s.p[at + 1] == '-' || s.p[at + 1] == '+');
  size_t n = digits(s, at + 1 + sign);
  out->exponent = str_from(s, at + 1);
  out->is_float = true;
  return n > 0 && at + 1 + sign + n == s.n;
}

static bool split_number(str s, struct number *out) {
  *out = (struct number){.negative = s.n && s.p[0] == '-'};
  size_t at = s.n && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
  out->whole = (str){s.p + at, digits(s, at)};
  at += out->whole.n;
  if (at < s.n && s.p[at] == '.') {
    out->is_float = true;
    out->fraction = (str){s.p + at + 1, digits(s, at + 1)};
    at += 1 + out->fraction.n;
  }
  return out->whole.n + out->fraction.n > 0 && split_exponent(s, at, out);
}

// Parses 0o17 and 0x1f. Returns false for other text and for values of more than 64 bits.
static bool based_number(str s, uint64_t *out) {
  if (s.n < 3 || s.p[0] != '0' || (s.p[1] != 'o' && s.p[1] != 'x')) return false;
  unsigned bits = s.p[1] == 'o' ? 3 : 4;
  uint64_t v = 0;
  for (size_t i = 2; i < s.n; i++) {
    char c = s.p[i];
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 16;
    if (digit >> bits || v >> (64 - bits)) return false;
    v = v << bits | digit;
  }
  *out = v;
  return true;
}

static enum scalar resolve(str s) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const trues[] = {"true", "True", "TRUE", NULL};
  static const char *const falses[] = {"false", "False", "FALSE", NULL};
  static const char *const outside[] = {".inf",  ".Inf",  ".INF", "-.inf", "-.Inf", "-.INF", "+.inf",
                                        "+.Inf", "+.INF", ".nan", ".NaN",  ".NAN",  NULL};
  struct number number;
  uint64_t based;
  if (is_one_of(s, nulls)) return SCALAR_NULL;
  if (is_one_of(s, trues)) return SCALAR_TRUE;
  if (is_one_of(s, falses)) return SCALAR_FALSE;
  if (is_one_of(s, outside)) return SCALAR_NO_JSON;
  if (based_number(s, &based)) return SCALAR_INT;
  if (split_number(s, &number)) return number.is_float ? SCALAR_FLOAT : SCALAR_INT;
  return SCALAR_TEXT;
}

static bool tag_allows(str tag, enum scalar kind) {
  if (str_eq(tag, STR(YAML_NULL_TAG))) return kind == SCALAR_NULL;
  if (str_eq(tag, STR(YAML_BOOL_TAG))) return kind == SCALAR_TRUE || kind == SCALAR_FALSE;
  if (str_eq(tag, STR(YAML_INT_TAG))) return kind == SCALAR_INT;
  if (str_eq(tag, STR(YAML_FLOAT_TAG))) return kind == SCALAR_INT || kind == SCALAR_FLOAT || kind == SCALAR_NO_JSON;
  return false;
}

// Writes a number as JSON: without leading zeros or a plus sign, and with a digit on each side of the point.
static void put_number(struct converter *c, str s) {
  struct buf text;
  struct number number;
  uint64_t based;
  buf_init(&text, s.n + 32);
  if (based_number(s, &based)) buf_u64(&text, based);
  else if (split_number(s, &number)) {
    while (number.whole.n > 1 && number.whole.p[0] == '0') number.whole = str_from(number.whole, 1);
    if (number.negative) buf_char(&text, '-');
    buf_str(&text, number.whole.n ? number.whole : STR("0"));
    if (number.fraction.n) buf_char(&text, '.');
    buf_str(&text, number.fraction);
    if (number.exponent.n) buf_char(&text, 'e');
    buf_str(&text, number.exponent);
  }
  ASSERT(text.n && !text.over);
  json_put_raw(&c->w, buf_view(&text));
  buf_done(&text);
}

static bool put_scalar(struct converter *c, const yaml_event_t *e) {
  str s = {(const char *)e->data.scalar.value, e->data.scalar.length};
  str tag = str_of((const char *)e->data.scalar.tag);
  bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  enum scalar kind = tag.n || plain ? resolve(s) : SCALAR_TEXT;
  if (str_eq(tag, STR("!")) || str_eq(tag, STR(YAML_STR_TAG))) kind = SCALAR_TEXT;
  else if (tag.n && !tag_allows(tag, kind))
    return fail(c, e->start_mark, FAULT_INVALID, "the tag %.*s is unknown or does not fit the value", STR_ARG(tag));
  switch (kind) {
  case SCALAR_NULL: json_put_null(&c->w); break;
  case SCALAR_TRUE:
  case SCALAR_FALSE: json_put_bool(&c->w, kind == SCALAR_TRUE); break;
  case SCALAR_INT:
  case SCALAR_FLOAT: put_number(c, s); break;
  case SCALAR_NO_JSON: return fail(c, e->start_mark, FAULT_INVALID, "%.*s is not a finite number", STR_ARG(s));
  case SCALAR_TEXT: json_put_str(&c->w, s); break;
  }
  return true;
}

// ---- nodes ----

static struct frame *top(struct converter *c) {
  return c->depth ? &c->frames[c->depth - 1] : NULL;
}

static bool at_key(struct converter *c) {
  struct frame *f = top(c);
  return f && f->mapping && f->want_key;
}

static bool put_key(struct converter *c, const yaml_event_t *e) {
  if (e->type != YAML_SCALAR_EVENT || e->data.scalar.anchor || e->data.scalar.tag)
    return fail(c, e->start_mark, FAULT_INVALID, "a key must be plain text, without anchor, alias or tag");
  str key = {(const char *)e->data.scalar.value, e->data.scalar.length};
  if (str_eq(key, STR("<<")) && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
    return fail(c, e->start_mark, FAULT_INVALID, "YAML 1.2 has no merge key (<<): repeat the keys instead");
  struct frame *f = top(c);
  key = arena_str(&c->arena, key);
  if (!map_add(&f->keys, key, f))
    return fail(c, e->start_mark, FAULT_INVALID, "the key \"%.*s\" is defined twice", STR_ARG(key));
  f->want_key = false;
  json_put_key(&c->w, key);
  return true;
}

static bool count_values(struct converter *c, const yaml_event_t *e, size_t n) {
  c->values += n;
  if (c->values <= YAML_MAX_VALUES) return true;
  return fail(c, e->start_mark, FAULT_LIMIT, "there are more than %d values", YAML_MAX_VALUES);
}

static bool fail_depth(struct converter *c, const yaml_event_t *e) {
  return fail(c, e->start_mark, FAULT_LIMIT, "the values are nested deeper than %d levels", YAML_MAX_DEPTH);
}

// Records the start of a node with an anchor. As YAML requires, a later anchor with the same name replaces the earlier
// anchor.
static struct anchor *open_anchor(struct converter *c, const yaml_char_t *name) {
  if (!name) return NULL;
  str key = arena_str(&c->arena, str_of((const char *)name));
  struct anchor *a = ARENA_NEW(&c->arena, struct anchor);
  *a = (struct anchor){.start = c->w.out->n, .values = c->values};
  map_remove(&c->anchors, key);
  bool added = map_add(&c->anchors, key, a);
  ASSERT(added);
  return a;
}

static void close_anchor(struct converter *c, struct anchor *a, size_t height) {
  if (!a) return;
  a->height = height;
  // The recorded range must not include the comma that the writer may have put before the value.
  if (a->start < c->w.out->n && c->w.out->p[a->start] == ',') a->start++;
  a->end = c->w.out->n;
  ASSERT(a->start <= a->end && a->values <= c->values);
  a->values = c->values - a->values + 1;
}

static void value_done(struct converter *c, size_t height) {
  struct frame *f = top(c);
  if (!f) return;
  f->want_key = true;
  if (f->height < height) f->height = height;
}

static bool on_scalar(struct converter *c, const yaml_event_t *e) {
  if (at_key(c)) return put_key(c, e);
  if (!count_values(c, e, 1)) return false;
  struct anchor *a = open_anchor(c, e->data.scalar.anchor);
  if (!put_scalar(c, e)) return false;
  close_anchor(c, a, 0);
  value_done(c, 0);
  return true;
}

static bool on_alias(struct converter *c, const yaml_event_t *e) {
  if (at_key(c)) return put_key(c, e);
  str name = str_of((const char *)e->data.alias.anchor);
  struct anchor *a = map_find(&c->anchors, name);
  if (!a) return fail(c, e->start_mark, FAULT_INVALID, "there is no anchor &%.*s before this alias", STR_ARG(name));
  if (!a->end)
    return fail(c, e->start_mark, FAULT_INVALID, "the alias *%.*s is inside the value that it names", STR_ARG(name));
  if (c->depth + a->height > YAML_MAX_DEPTH) return fail_depth(c, e);
  if (!count_values(c, e, a->values)) return false;
  // The bytes are copied within one buffer. Because buf_room may move the buffer, it is called before the bytes are
  // read.
  ASSERT(a->start <= a->end && a->end <= c->w.out->n);
  size_t n = a->end - a->start;
  if (buf_room(c->w.out, n + 1)) json_put_raw(&c->w, (str){c->w.out->p + a->start, n});
  value_done(c, a->height);
  return true;
}

static bool on_start(struct converter *c, const yaml_event_t *e, bool mapping) {
  if (at_key(c)) return put_key(c, e);
  if (!count_values(c, e, 1)) return false;
  if (c->depth == YAML_MAX_DEPTH) return fail_depth(c, e);
  str tag = str_of((const char *)(mapping ? e->data.mapping_start.tag : e->data.sequence_start.tag));
  if (tag.n && !str_eq(tag, STR("!")) && !str_eq(tag, mapping ? STR(YAML_MAP_TAG) : STR(YAML_SEQ_TAG)))
    return fail(c, e->start_mark, FAULT_INVALID, "the tag %.*s is unknown or does not fit the value", STR_ARG(tag));
  struct anchor *a = open_anchor(c, mapping ? e->data.mapping_start.anchor : e->data.sequence_start.anchor);
  ASSERT(c->depth < YAML_MAX_DEPTH);
  struct frame *f = &c->frames[c->depth++];
  *f = (struct frame){.mapping = mapping, .want_key = true, .anchor = a};
  map_init(&f->keys, &c->seed);
  if (mapping) json_begin_object(&c->w);
  else json_begin_array(&c->w);
  return true;
}

static bool on_end(struct converter *c) {
  struct frame *f = top(c);
  ASSERT(f && (!f->mapping || f->want_key));  // the parser guarantees that every key has a value
  if (f->mapping) json_end_object(&c->w);
  else json_end_array(&c->w);
  map_done(&f->keys);
  c->depth--;
  close_anchor(c, f->anchor, f->height + 1);
  value_done(c, f->height + 1);
  return true;
}

static bool on_event(struct converter *c, const yaml_event_t *e) {
  switch (e->type) {
  case YAML_DOCUMENT_START_EVENT:
    if (c->documents++ == 0) return true;
    return fail(c, e->start_mark, FAULT_INVALID, "the file must not contain a second YAML document");
  case YAML_STREAM_END_EVENT:
    if (!c->documents) json_put_null(&c->w);
    return true;
  case YAML_SCALAR_EVENT: return on_scalar(c, e);
  case YAML_ALIAS_EVENT: return on_alias(c, e);
  case YAML_SEQUENCE_START_EVENT: return on_start(c, e, false);
  case YAML_MAPPING_START_EVENT: return on_start(c, e, true);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT: return on_end(c);
  default: return true;
  }
}

// Converts an offset into line and column: for invalid UTF-8, the parser reports only an offset.
static yaml_mark_t mark_of_offset(str text, size_t offset) {
  yaml_mark_t at = {0};
  for (size_t i = 0; i < offset && i < text.n; i++) {
    at.column++;
    if (text.p[i] != '\n') continue;
    at.line++;
    at.column = 0;
  }
  return at;
}

static bool fail_syntax(struct converter *c, const yaml_parser_t *p, str text) {
  const char *problem = p->problem ? p->problem : "this is not YAML", *context = p->context ? p->context : "";
  yaml_mark_t at = p->error == YAML_READER_ERROR ? mark_of_offset(text, p->problem_offset) : p->problem_mark;
  return fail(c, at, FAULT_INVALID, "%s%s%s", problem, *context ? " " : "", context);
}

// Limits the number of %TAG directives: the parser compares each directive with all earlier ones and cannot be
// interrupted.
static bool check_directives(struct converter *c, str text) {
  enum { MOST = 100 };
  static const str directive = STR("%TAG");
  str rest = text;
  for (size_t n = 0; n <= MOST; n++) {
    const char *at = rest.n ? memmem(rest.p, rest.n, directive.p, directive.n) : NULL;
    if (!at) return true;
    rest = str_from(rest, (size_t)(at - rest.p) + directive.n);
  }
  yaml_mark_t at = mark_of_offset(text, text.n - rest.n - directive.n);
  return fail(c, at, FAULT_LIMIT, "there are more than %d %%TAG directives", MOST);
}

static bool convert(struct converter *c, yaml_parser_t *p, str text) {
  for (;;) {
    yaml_event_t e;
    if (!yaml_parser_parse(p, &e)) return fail_syntax(c, p, text);
    bool ok = on_event(c, &e), end = e.type == YAML_STREAM_END_EVENT;
    if (ok && c->w.out->over)
      ok = fail(c, e.start_mark, FAULT_LIMIT, "the values are too large: as JSON they exceed %zu bytes", c->w.out->max);
    yaml_event_delete(&e);
    if (!ok || end) return ok;
  }
}

bool yaml_to_json(str text, struct buf *out, struct fault *f) {
  struct converter c = {.w = json_writer(out), .seed = rand_hash_key(&rand_system), .fault = f};
  yaml_parser_t parser;
  arena_init(&c.arena);
  map_init(&c.anchors, &c.seed);
  ASSERT(yaml_parser_initialize(&parser));  // fails only if memory is exhausted
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
  bool ok = check_directives(&c, text) && convert(&c, &parser, text);
  yaml_parser_delete(&parser);
  while (c.depth) map_done(&c.frames[--c.depth].keys);
  map_done(&c.anchors);
  arena_done(&c.arena);
  return ok;
}

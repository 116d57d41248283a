// SPDX-License-Identifier: Apache-2.0
#include "context/session_events.h"

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "json/write.h"

const struct session_limits session_default_limits = {64 << 20, 16 << 20, 100000};

enum { LINE_DEPTH = 64, MOST_TAGS = 64, KIND_SHOWN = 64 };

// ---- names

static const struct {
  const char *name, *label;
  double priority;
} kinds[EVENT_KINDS] = {
#define X(name, text, label, priority) {text, label, (priority) / 100.0},
    EVENT_TABLE(X)
#undef X
};

static const char *const levels[LEVEL_COUNT] = {"public", "internal", "confidential", "restricted"};

const char *event_kind_name(enum event_kind kind) {
  ASSERT(kind < EVENT_KINDS);
  return kinds[kind].name;
}

const char *event_kind_label(enum event_kind kind) {
  ASSERT(kind < EVENT_KINDS);
  return kinds[kind].label;
}

double event_kind_priority(enum event_kind kind) {
  ASSERT(kind < EVENT_KINDS);
  return kinds[kind].priority;
}

const char *event_level_name(enum event_level level) {
  ASSERT(level < LEVEL_COUNT);
  return levels[level];
}

bool event_level_find(str name, enum event_level *out) {
  for (int i = 0; i < LEVEL_COUNT; i++) {
    if (!str_eq(name, str_of(levels[i]))) continue;
    *out = (enum event_level)i;
    return true;
  }
  return false;
}

// ---- one line

struct event_reader {
  struct arena *a;       // holds the events
  struct arena scratch;  // memory for the current line
  struct map ids;        // event id -> number of its line
  struct session_limits limits;
  struct event_log log;
  size_t cap, line;
  struct fault *f;
};

static bool wrong(struct event_reader *r, const char *what) {
  fault_set(r->f, FAULT_INVALID, "Invalid context item at line %zu: %s", r->line, what);
  return false;
}

static bool is_null(const struct json *v) {
  return !v || v->type == JSON_NULL;
}

// Returns whether Python treats the value as false. This matters because the format comes from a Python program.
static bool is_empty(const struct json *v) {
  int64_t n;
  if (is_null(v) || v->type == JSON_FALSE) return true;
  if (v->type == JSON_NUMBER) return json_int(v, &n) && n == 0;
  return v->type == JSON_STRING ? v->n == 2 : v->type != JSON_TRUE && v->count == 0;
}

// Joins the texts of a list of content parts, with newlines between them. Returns false if `v` is not a list of content
// parts.
static bool join_parts(struct event_reader *r, const struct json *v, str *out) {
  struct buf b;
  bool ok = json_is(v, JSON_ARRAY);
  buf_init(&b, (size_t)v->n + 1);
  for (const struct json *part = ok ? v->child : NULL; part && ok; part = part->next) {
    str text;
    ok = json_string(json_get(part, STR("text")), &r->scratch, &text);
    if (ok && part != v->child) buf_char(&b, '\n');
    if (ok) buf_str(&b, text);
  }
  if (ok) *out = arena_str(r->a, buf_view(&b));
  buf_done(&b);
  return ok;
}

static str text_of(struct event_reader *r, const struct json *v) {
  str text = STR("");
  if (is_null(v) || json_string(v, r->a, &text) || join_parts(r, v, &text)) return text;
  return json_compacted(r->a, json_span(v));
}

static bool read_text(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *text = json_get(line, STR("text"));
  e->text = text_of(r, is_empty(text) ? json_get(line, STR("content")) : text);
  return true;
}

static bool read_id(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *id = json_get(line, STR("id"));
  if (is_null(id)) e->id = arena_printf(r->a, "mcp-line-%zu", r->line);
  else if (json_is(id, JSON_NUMBER)) e->id = json_span(id);
  else if (!json_string(id, r->a, &e->id)) return wrong(r, "\"id\" must be a string");
  return true;
}

// Rejects a line with an unknown type. The default type, user_turn, would give the event too high a priority.
static bool wrong_kind(struct event_reader *r, str name, str near) {
  fault_set(r->f, FAULT_INVALID, "Invalid context item at line %zu: unknown type \"%.*s\"%s%.*s%s", r->line,
            STR_ARG(utf8_cut(name, KIND_SHOWN)), near.p ? "; did you mean " : "", STR_ARG(near), near.p ? "?" : "");
  return false;
}

static bool read_kind(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *type = json_get(line, STR("type"));
  str name = STR("user_turn");
  if (!is_null(type) && !json_string(type, &r->scratch, &name)) return wrong(r, "\"type\" must be a string");
  struct nearest near = {.word = name};
  for (int i = 0; i < EVENT_KINDS; i++) {
    e->kind = (enum event_kind)i;
    if (str_eq(name, str_of(kinds[i].name))) return true;
    nearest_try(&near, str_of(kinds[i].name));
  }
  return wrong_kind(r, name, near.best);
}

static bool read_parent(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *parent = json_get(line, STR("parent_id"));
  if (json_is(parent, JSON_NUMBER)) e->parent = json_span(parent);
  else if (!is_null(parent) && !json_string(parent, r->a, &e->parent))
    return wrong(r, "\"parent_id\" must be a string");
  return true;
}

static bool read_level(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *level = json_get(line, STR("sensitivity"));
  str name = STR("public");
  json_string(level, &r->scratch, &name);
  bool known = event_level_find(name, &e->level) && (is_null(level) || level->type == JSON_STRING);
  return known || wrong(r, "\"sensitivity\" must be public, internal, confidential or restricted");
}

static bool read_estimate(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *estimate = json_get(line, STR("token_estimate"));
  int64_t n = 0;
  if (!is_null(estimate) && (!json_int(estimate, &n) || n < 0))
    return wrong(r, "\"token_estimate\" must be a whole number, 0 or more");
  e->token_estimate = (uint64_t)n;
  return true;
}

// Reads the member artifact_ref, which is a handle or an object with a handle.
static bool read_artifact(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *ref = json_get(line, STR("artifact_ref"));
  if (is_null(ref) || json_string(ref, r->a, &e->artifact)) return true;
  return json_string(json_get(ref, STR("handle")), r->a, &e->artifact) ||
         wrong(r, "\"artifact_ref\" must be a handle, or an object with a \"handle\"");
}

static void read_tags(struct event_reader *r, const struct json *tags, struct event *e) {
  if (!json_is(tags, JSON_ARRAY)) return;
  e->tags = ARENA_ARRAY(r->a, str, tags->count < MOST_TAGS ? tags->count : MOST_TAGS);
  JSON_EACH(tag, tags)
    if (e->tag_count < MOST_TAGS && json_string(tag, r->a, &e->tags[e->tag_count])) e->tag_count++;
}

static bool read_metadata(struct event_reader *r, const struct json *line, struct event *e) {
  const struct json *metadata = json_get(line, STR("metadata"));
  if (!is_null(metadata) && metadata->type != JSON_OBJECT) return wrong(r, "\"metadata\" must be an object");
  json_string(json_get(metadata, STR("function_name")), r->a, &e->function_name);
  json_string(json_get(metadata, STR("section")), r->a, &e->section);
  read_tags(r, json_get(metadata, STR("tags")), e);
  return true;
}

// The functions that read the members of a line, in the order in which they are called.
static bool (*const members[])(struct event_reader *r, const struct json *line, struct event *e) = {
    read_id, read_kind, read_text, read_parent, read_level, read_estimate, read_artifact, read_metadata,
};

// Returns the Python name of a value's type for messages, because the format comes from a Python program.
static const char *type_name(const struct json *v) {
  static const char *const names[] = {"NoneType", "bool", "bool", "int", "str", "list", "dict"};
  bool fraction =
      v->type == JSON_NUMBER && (memchr(v->p, '.', v->n) || memchr(v->p, 'e', v->n) || memchr(v->p, 'E', v->n));
  return fraction ? "float" : names[v->type];
}

// Returns ", column 7" from the path "line 1, column 7".
static const char *column(const struct fault *f) {
  const char *comma = strchr(f->path, ',');
  return comma ? comma : "";
}

static const struct json *parse_line(struct event_reader *r, str line) {
  struct json_limits limits = {.max_bytes = r->limits.line_bytes, .max_depth = LINE_DEPTH};
  struct fault f;
  const struct json *v = json_parse(&r->scratch, line, &limits, &f);
  if (v && v->type == JSON_OBJECT) return v;
  if (v) fault_set(r->f, FAULT_INVALID, "Expected JSON object at line %zu, got %s", r->line, type_name(v));
  else fault_set(r->f, f.code, "Invalid JSON at line %zu: %s%s", r->line, f.message, column(&f));
  return NULL;
}

static bool read_line(struct event_reader *r, str line, struct event *e) {
  const struct json *v = parse_line(r, line);
  bool ok = v != NULL;
  *e = (struct event){.line = r->line};
  for (size_t i = 0; ok && i < sizeof members / sizeof *members; i++) ok = members[i](r, v, e);
  return ok;
}

// ---- all lines

static struct event *room(struct event_reader *r) {
  struct event_log *log = &r->log;
  if (log->count == r->cap) {
    r->cap = r->cap ? 2 * r->cap : 64;
    struct event *list = ARENA_ARRAY(r->a, struct event, r->cap);
    if (log->count) memcpy(list, log->list, log->count * sizeof *list);
    log->list = list;
  }
  return &log->list[log->count];
}

static bool is_twice(struct event_reader *r, const struct event *e) {
  size_t *line = ARENA_NEW(r->a, size_t);
  *line = e->line;
  if (map_add(&r->ids, e->id, line)) return false;
  const size_t *first = map_find(&r->ids, e->id);
  fault_set(r->f, FAULT_INVALID, "Invalid context item at line %zu: line %zu already has the id \"%.*s\"", r->line,
            *first, STR_ARG(e->id));
  return true;
}

static bool add_line(struct event_reader *r, str line) {
  arena_reset(&r->scratch);
  r->line++;
  if (str_ends(line, STR("\r"))) line.n--;
  if (!str_trim(line).n) return true;
  if (r->log.count == r->limits.events) {
    fault_set(r->f, FAULT_LIMIT, "the session has more than %zu events", r->limits.events);
    return false;
  }
  struct event *e = room(r);
  if (!read_line(r, line, e) || is_twice(r, e)) return false;
  r->log.count++;
  return true;
}

bool session_read(struct arena *a, str text, const struct session_limits *limits, struct event_log *out,
                  struct fault *f) {
  struct event_reader r = {.a = a, .limits = *limits, .f = f};
  struct hash_key seed = rand_hash_key(&rand_system);
  if (text.n > limits->bytes) {
    fault_set(f, FAULT_LIMIT, "the session is larger than %zu bytes", limits->bytes);
    return false;
  }
  if (str_starts(text, STR("\xef\xbb\xbf"))) text = str_from(text, 3);
  arena_init(&r.scratch);
  map_init(&r.ids, &seed);
  bool ok = true;
  for (str line; ok && text.n;) {
    str_cut(text, '\n', &line, &text);
    ok = add_line(&r, line);
  }
  arena_done(&r.scratch);
  map_done(&r.ids);
  if (ok) *out = r.log;
  return ok;
}

// SPDX-License-Identifier: Apache-2.0
#include "result/envelope/parts.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "json/text.h"

// Text of at least BLOCK_BYTES is in heap memory, so that a stored piece can take ownership of it.
enum { BLOCK_BYTES = 64 << 10 };

static char *room_for(size_t n, struct arena *a, char **out_block) {
  *out_block = n >= BLOCK_BYTES ? mem_alloc(n) : NULL;
  return *out_block ? *out_block : arena_alloc(a, n + 1);
}

static str string_of(const struct json *object, str name, struct arena *a) {
  str s = STR_NONE;
  json_string(json_get(object, name), a, &s);
  return s;
}

static const struct json *words_of(const struct json *object, str name) {
  const struct json *v = json_get(object, name);
  return json_is(v, JSON_STRING) ? v : NULL;
}

// ---- one part ----

static void read_resource(struct part *p, const struct json *resource, struct arena *a) {
  p->words = words_of(resource, STR("text"));
  p->data = string_of(resource, STR("blob"), a);
  p->media_type = string_of(resource, STR("mimeType"), a);
  p->label = string_of(resource, STR("uri"), a);
  if (p->words || p->data.p) p->type = PART_RESOURCE;
}

static void read_data(struct part *p, enum part_type type, struct arena *a) {
  p->data = string_of(p->json, STR("data"), a);
  p->media_type = string_of(p->json, STR("mimeType"), a);
  if (p->data.p) p->type = type;
}

static void read_link(struct part *p, struct arena *a) {
  p->uri = string_of(p->json, STR("uri"), a);
  p->media_type = string_of(p->json, STR("mimeType"), a);
  p->label = string_of(p->json, STR("name"), a);
  if (p->uri.p) p->type = PART_LINK;
}

// Reads one content part of a result. A folded object (json_parse_folding) has no nodes, so its type is unknown.
static struct part read_part(const struct json *v, struct arena *a) {
  struct part p = {.type = PART_OTHER, .json = v};
  if (json_is_folded(v)) return p;
  const struct json *type = json_get(v, STR("type")), *resource = json_get(v, STR("resource"));
  if (json_equals_str(type, STR("image"))) read_data(&p, PART_IMAGE, a);
  else if (json_equals_str(type, STR("audio"))) read_data(&p, PART_AUDIO, a);
  else if (json_equals_str(type, STR("resource_link"))) read_link(&p, a);
  else if (json_equals_str(type, STR("resource")) && !json_is_folded(resource)) read_resource(&p, resource, a);
  else if (!type || json_equals_str(type, STR("text"))) p.words = words_of(v, STR("text"));
  if (p.type == PART_OTHER && p.words) p.type = PART_TEXT;
  return p;
}

// ---- all parts ----

static void add(struct parts *parts, struct part p) {
  ASSERT(parts->list);
  parts->texts += p.words || p.role.p;
  parts->list[parts->count++] = p;
}

// Adds a prompt message as a line of text that begins with the message's role. Content that is not text is added as a
// part.
static void read_message(struct parts *parts, const struct json *message, struct arena *a) {
  if (json_is_folded(message)) return;
  const struct json *content = json_get(message, STR("content"));
  struct part line = {.type = PART_TEXT, .json = message, .role = STR("")};
  json_string(json_get(message, STR("role")), a, &line.role);
  struct part p = {.type = PART_TEXT};
  if (json_is(content, JSON_STRING)) p.words = content;
  else if (json_is(content, JSON_OBJECT)) p = read_part(content, a);
  if (p.type == PART_TEXT) line.words = p.words;
  add(parts, line);
  if (p.type != PART_TEXT && json_is(json_get(content, STR("type")), JSON_STRING)) add(parts, p);
}

static void read_all(struct parts *parts, const struct json *content, struct arena *a) {
  size_t most = parts->source == PARTS_OF_PROMPT ? 2 * (size_t)content->count : content->count;
  parts->list = ARENA_ARRAY(a, struct part, most);
  JSON_EACH(v, content) {
    if (parts->source == PARTS_OF_TOOL) add(parts, read_part(v, a));
    else if (!json_is(v, JSON_OBJECT)) continue;
    else if (parts->source == PARTS_OF_PROMPT) read_message(parts, v, a);
    else {
      struct part p = {.type = PART_OTHER, .json = v};
      if (!json_is_folded(v)) read_resource(&p, v, a);
      add(parts, p);
    }
  }
  ASSERT(parts->count <= most);
}

// ---- the text ----

static str inside(const struct json *string) {
  return string ? (str){string->p + 1, string->n - 2} : STR("");
}

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static char *put_role(str role, char *to) {
  *to++ = '[';
  memcpy(to, role.p, role.n);
  to += role.n;
  *to++ = ']';
  *to++ = ' ';
  return to;
}

static char *put_text(struct part *p, char *to) {
  char *begin = to;
  if (p->role.p) to = put_role(p->role, to);
  str words = inside(p->words);
  if (words.n) to += json_text_unescape(words, to);
  while (p->role.p && to > begin && is_blank(to[-1])) to--;
  p->text = (str){begin, (size_t)(to - begin)};
  return to;
}

// Returns whether the result has exactly one text, without escapes. If so, sets parts->text to it without copying.
static bool stays(struct parts *parts) {
  for (size_t i = 0; i < parts->count && parts->texts == 1; i++) {
    struct part *p = &parts->list[i];
    if (!p->words || p->role.p || (p->words->flags & JSON_ESCAPED)) continue;
    parts->text = p->text = inside(p->words);
    return true;
  }
  return false;
}

static void join_texts(struct parts *parts, struct arena *a) {
  size_t room = 0;
  if (!parts->texts || stays(parts)) return;
  for (size_t i = 0; i < parts->count; i++)
    if (parts->list[i].words || parts->list[i].role.p)
      room += inside(parts->list[i].words).n + (parts->list[i].role.p ? parts->list[i].role.n + STR("[] ").n : 0) + 1;
  char *all = room_for(room, a, &parts->block), *to = all;
  for (size_t i = 0; i < parts->count; i++) {
    struct part *p = &parts->list[i];
    if (!p->words && !p->role.p) continue;
    to = put_text(p, to);
    *to++ = '\n';
  }
  ASSERT((size_t)(to - all) <= room);
  parts->text = (str){all, (size_t)(to - all) - 1};
}

// ---- the result ----

// Creates nodes for the elements of a folded list (json_parse_folding); the elements themselves may stay folded.
// Returns false if the list has too many values.
static bool unfold(const struct json *list, struct arena *a) {
  static const struct json_fold deeper = {.depth = 4, .values = 1024};
  struct fault ignored;
  return !json_is_folded(list) || json_unfold(a, (struct json *)list, &json_default_limits, &deeper, &ignored);
}

struct parts parts_read(const struct json *result, enum parts_source source, struct arena *a) {
  static const str members[] = {STR("content"), STR("contents"), STR("messages")};
  ASSERT(source < sizeof members / sizeof *members);
  const struct json *content = json_get(result, members[source]);
  struct parts parts = {.source = source, .structured = json_get(result, STR("structuredContent"))};
  const struct json *error = json_get(result, STR("isError"));
  parts.odd_error = error && !json_is(error, JSON_NULL) && !json_bool(error, &parts.is_error);
  parts.is_error |= parts.odd_error;
  if (json_is(parts.structured, JSON_NULL)) parts.structured = NULL;
  parts.unusual = content && !json_is(content, JSON_NULL) && !(json_is(content, JSON_ARRAY) && unfold(content, a));
  if (source == PARTS_OF_TOOL && json_is(content, JSON_STRING)) {
    parts.unusual = false;
    parts.list = ARENA_NEW(a, struct part);
    add(&parts, (struct part){.type = PART_TEXT, .json = content, .words = content});
  }
  if (parts.unusual || !content || json_is(content, JSON_NULL)) return parts;
  if (json_is(content, JSON_ARRAY)) read_all(&parts, content, a);
  join_texts(&parts, a);
  return parts;
}

void parts_done(struct parts *p) {
  mem_free(p->block);
  p->block = NULL;
}

str parts_decode(str data, struct arena *a, char **out_block) {
  size_t room = data.n / 4 * 3 + 3;
  // The buffer has its largest size from the start, so it never grows.
  struct buf bytes = {.p = room_for(room, a, out_block), .cap = room, .max = room};
  if (base64_decode(data, BASE64_STANDARD, &bytes)) return buf_view(&bytes);
  mem_free(*out_block);
  *out_block = NULL;
  return data;
}

// SPDX-License-Identifier: Apache-2.0
#include "result/parts.h"

#include "base/base64.h"

static str string_of(const struct json *object, str name, struct arena *a) {
  str s = STR_NONE;
  json_string(json_get(object, name), a, &s);
  return s;
}

static void read_resource(struct part *p, struct arena *a) {
  const struct json *resource = json_get(p->json, STR("resource"));
  p->text = string_of(resource, STR("text"), a);
  p->data = string_of(resource, STR("blob"), a);
  p->media_type = string_of(resource, STR("mimeType"), a);
  p->label = string_of(resource, STR("uri"), a);
  if (p->text.p || p->data.p) p->type = PART_RESOURCE;
}

static void read_data(struct part *p, enum part_type type, struct arena *a) {
  p->data = string_of(p->json, STR("data"), a);
  p->media_type = string_of(p->json, STR("mimeType"), a);
  if (p->data.p) p->type = type;
}

static struct part read_part(const struct json *v, struct arena *a) {
  struct part p = {.type = PART_OTHER, .json = v};
  const struct json *type = json_get(v, STR("type"));
  if (json_equals_str(type, STR("image"))) read_data(&p, PART_IMAGE, a);
  else if (json_equals_str(type, STR("audio"))) read_data(&p, PART_AUDIO, a);
  else if (json_equals_str(type, STR("resource"))) read_resource(&p, a);
  else if (!type || json_equals_str(type, STR("text"))) p.text = string_of(v, STR("text"), a);
  if (p.type == PART_OTHER && p.text.p) p.type = PART_TEXT;
  return p;
}

static str join_texts(const struct parts *parts, struct arena *a) {
  const struct part *only = NULL;
  size_t n = 0, count = 0;
  for (size_t i = 0; i < parts->count; i++) {
    if (!parts->list[i].text.p) continue;
    only = &parts->list[i];
    n += only->text.n + 1;
    count++;
  }
  if (count < 2) return only ? only->text : STR_NONE;
  char *all = arena_alloc(a, n), *to = all;
  for (size_t i = 0; i < parts->count; i++) {
    str text = parts->list[i].text;
    if (!text.p) continue;
    memcpy(to, text.p, text.n);
    to[text.n] = '\n';
    to += text.n + 1;
  }
  return (str){all, n - 1};
}

struct parts parts_read(const struct json *result, struct arena *a) {
  const struct json *content = json_get(result, STR("content"));
  struct parts parts = {.structured = json_get(result, STR("structuredContent"))};
  json_bool(json_get(result, STR("isError")), &parts.is_error);
  if (json_is(parts.structured, JSON_NULL)) parts.structured = NULL;
  parts.unusual = content && !json_is(content, JSON_ARRAY) && !json_is(content, JSON_NULL);
  if (!json_is(content, JSON_ARRAY)) return parts;
  parts.list = ARENA_ARRAY(a, struct part, content->count);
  JSON_EACH(v, content) parts.list[parts.count++] = read_part(v, a);
  parts.text = join_texts(&parts, a);
  return parts;
}

str parts_decode(str data, struct arena *a) {
  struct buf bytes;
  buf_init(&bytes, data.n);
  str out = base64_decode(data, BASE64_STANDARD, &bytes) ? arena_str(a, buf_view(&bytes)) : data;
  buf_done(&bytes);
  return out;
}

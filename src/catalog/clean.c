// SPDX-License-Identifier: Apache-2.0
#include "catalog/clean.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "json/text.h"
#include "json/write.h"

struct cleaner {
  struct buf out;
  const char *from;  // start of the text that is not copied yet
  struct arena scratch;
  size_t longest;
  struct clean_report *report;
};

// Returns whether a member's value is data, not text for people or models.
static bool is_data(const struct json *member) {
  static const str keys[] = {STR("const"), STR("enum"), STR("default"), STR("examples"), STR("_meta")};
  return json_key_in(member, keys, sizeof keys / sizeof *keys);
}

static bool is_bounded(const struct json *member) {
  static const str keys[] = {STR("description"), STR("title")};
  return json_key_in(member, keys, sizeof keys / sizeof *keys);
}

static void replace(struct cleaner *c, str quoted, str text) {
  buf_add(&c->out, c->from, (size_t)(quoted.p - c->from));
  json_escape(&c->out, text);
  c->from = quoted.p + quoted.n;
}

static str clean_pattern(struct arena *a, str text) {
  struct buf b;
  buf_init(&b, 6 * text.n + 1);
  for (str rest = text; rest.n;) {
    str from = rest;
    bool hidden = rest.p[0] == 0x1b || plain_hidden((str){text.p, text.n - rest.n}, rest);
    uint32_t c = utf8_next(&rest);
    if (hidden) json_text_escape_code(&b, c);
    else buf_str(&b, (str){from.p, from.n - rest.n});
  }
  str clean = b.n == text.n ? text : arena_str(a, buf_view(&b));
  buf_done(&b);
  return clean;
}

static void clean_key(struct cleaner *c, const struct json *member, bool pattern, bool data) {
  str text = json_key(member, &c->scratch);
  str clean = pattern ? clean_pattern(&c->scratch, text) : plain_copy(&c->scratch, text, data);
  if (str_eq(clean, text)) return;
  c->report->hidden++;
  replace(c, (str){member->key - 1, member->key_n + 2}, clean);
}

static void clean_string(struct cleaner *c, const struct json *v, bool data) {
  str text = STR_NONE;
  json_string(v, &c->scratch, &text);
  bool pattern = !data && json_key_in(v, &STR("pattern"), 1);
  str clean = pattern ? clean_pattern(&c->scratch, text) : plain_copy(&c->scratch, text, data);
  str fitting = !data && is_bounded(v) ? plain_shortened(&c->scratch, clean, c->longest) : clean;
  c->report->hidden += !str_eq(clean, text);
  c->report->cut += !str_eq(fitting, clean);
  if (!str_eq(fitting, text)) replace(c, json_span(v), fitting);
}

static void clean_value(struct cleaner *c, const struct json *v, bool data) {
  if (v->type == JSON_STRING) clean_string(c, v, data);
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return;
  bool patterns = json_key_in(v, &STR("patternProperties"), 1);
  JSON_EACH(it, v) {
    if (it->key) clean_key(c, it, patterns, data);
    clean_value(c, it, data || is_data(it));
  }
}

static void clean_members(struct cleaner *c, const struct json *definition, str name_key) {
  JSON_EACH(it, definition) {
    clean_key(c, it, false, false);
    if (!json_key_is(it, name_key)) clean_value(c, it, is_data(it));
  }
}

str clean_definition(struct arena *a, const struct json *definition, str name_key, size_t longest,
                     struct clean_report *report) {
  ASSERT(a && definition);
  struct cleaner c = {.from = definition->p, .longest = longest, .report = report};
  str text = json_span(definition);
  struct fault f;
  buf_init(&c.out, 6 * text.n + 64);
  arena_init(&c.scratch);
  clean_members(&c, definition, name_key);
  if (c.from != definition->p) {
    buf_add(&c.out, c.from, (size_t)(text.p + text.n - c.from));
    text = arena_str(a, buf_view(&c.out));
    if (!json_parse(&c.scratch, text, &json_default_limits, &f)) text = STR_NONE;
  }
  arena_done(&c.scratch);
  buf_done(&c.out);
  return text;
}

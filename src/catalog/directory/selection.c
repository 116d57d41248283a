// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/selection.h"

#include "base/assert.h"

static const char *const form_names[] = {
    [SELECTION_JSON_SCHEMA] = "json_schema", [SELECTION_OPENAI] = "openai", [SELECTION_ANTHROPIC] = "anthropic"};

bool selection_form_find(str name, enum selection_form *out, struct fault *f) {
  for (enum selection_form form = SELECTION_JSON_SCHEMA; form <= SELECTION_ANTHROPIC; form++) {
    if (!str_eq(name, str_of(form_names[form]))) continue;
    *out = form;
    return true;
  }
  fault_set(f, FAULT_INVALID, "unknown selection schema form '%.*s'; use json_schema, openai or anthropic",
            STR_ARG(name));
  return false;
}

static bool is_repeated(const str *ids, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (str_eq(ids[i], ids[at])) return true;
  return false;
}

static void put_schema(const str *ids, size_t count, struct buf *out) {
  buf_str(out, STR("{\"type\":\"object\",\"properties\":{\"selection\":{\"type\":\"string\",\"enum\":"));
  struct json_writer w = json_writer(out);
  json_begin_array(&w);
  for (size_t i = 0; i < count; i++)
    if (!is_repeated(ids, i)) json_put_str(&w, ids[i]);
  json_end_array(&w);
  buf_str(out, STR("}},\"required\":[\"selection\"],\"additionalProperties\":false}"));
}

bool selection_schema(enum selection_form form, const str *ids, size_t count, struct buf *out, struct fault *f) {
  ASSERT(form <= SELECTION_ANTHROPIC);
  static const str head[] = {
      [SELECTION_JSON_SCHEMA] = STR(""),
      [SELECTION_OPENAI] = STR("{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"tool_selection\",\"strict\":true,"
                               "\"schema\":"),
      [SELECTION_ANTHROPIC] = STR("{\"name\":\"tool_selection\",\"description\":\"Select exactly one tool_id from the "
                                  "routed candidates.\",\"input_schema\":"),
  };
  static const str tail[] = {
      [SELECTION_JSON_SCHEMA] = STR(""), [SELECTION_OPENAI] = STR("}}"), [SELECTION_ANTHROPIC] = STR("}")};
  if (count == 0) {
    fault_set(f, FAULT_INVALID, "a selection schema requires at least one candidate id");
    return false;
  }
  buf_str(out, head[form]);
  put_schema(ids, count, out);
  buf_str(out, tail[form]);
  return true;
}

static str strip(str s) {
  while (s.n && (unsigned char)s.p[0] <= ' ') s = str_from(s, 1);
  while (s.n && (unsigned char)s.p[s.n - 1] <= ' ') s.n--;
  return s;
}

static bool is_same(str id, str said) {
  return str_eq(id, said);
}

static bool begins_with(str id, str said) {
  return id.n >= said.n && str_eq_nocase((str){id.p, said.n}, said);
}

// Returns the number of different ids that match the answer `said`. Writes the first such id to *out.
static size_t count_matches(str said, const str *ids, size_t count, bool (*matches)(str id, str said), str *out) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!matches(ids[i], said) || is_repeated(ids, i)) continue;
    if (n++ == 0) *out = ids[i];
  }
  return n;
}

// The ways to match an answer, in the order in which they are tried.
static const struct {
  bool (*matches)(str id, str said);
  const char *repair, *ambiguous;
} repairs[] = {
    {is_same, "strip", NULL},
    {str_eq_nocase, "case_fold", "ambiguous_case_fold"},
    {begins_with, "prefix", "ambiguous_prefix"},
};

struct selection selection_check(str raw, const str *ids, size_t count) {
  ASSERT(ids || !count);
  struct selection s = {.status = SELECTION_REJECTED, .raw = raw, .reason = "empty_selection"};
  str said = strip(raw), found = STR_NONE;
  if (!said.n) return s;
  if (count_matches(raw, ids, count, is_same, &found))
    return (struct selection){.status = SELECTION_ACCEPTED, .raw = raw, .selected = found};
  s.reason = "not_a_candidate";
  for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
    size_t n = count_matches(said, ids, count, repairs[i].matches, &found);
    if (n == 1)
      return (struct selection){
          .status = SELECTION_REPAIRED, .raw = raw, .selected = found, .repair = repairs[i].repair};
    if (n == 0) continue;
    s.reason = repairs[i].ambiguous;
    break;
  }
  return s;
}

void selection_write(struct json_writer *w, const struct selection *s) {
  static const char *const names[] = {
      [SELECTION_ACCEPTED] = "accepted", [SELECTION_REPAIRED] = "repaired", [SELECTION_REJECTED] = "rejected"};
  json_begin_object(w);
  json_member_str(w, STR("status"), str_of(names[s->status]));
  json_member_str_or_null(w, STR("selected_id"), s->selected);
  json_member_str_or_null(w, STR("raw_id"), s->raw);
  json_member_str_or_null(w, STR("repair"), str_of(s->repair));
  json_member_str_or_null(w, STR("reason"), str_of(s->reason));
  json_end_object(w);
}

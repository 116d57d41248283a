// SPDX-License-Identifier: Apache-2.0
// Summary of JSON with words before it and perhaps after it, as many tools print it: the beginning of the words, and
// the summary of the JSON.
#include "base/assert.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"
#include "json/scan.h"

// The words before the JSON get one fifth of the tokens. A proposed view of these words has VIEW_LINES lines.
enum { WORDS_SHARE = 5, VIEW_LINES = 40 };

struct mixed {
  struct summary json;
  str before, after;
};

static bool is_fence(str line) {
  return str_starts(str_trim(line), STR("```"));
}

static str trimmed(str s) {
  while (s.n && strchr(" \t\r\n", s.p[s.n - 1])) s.n--;
  while (s.n && strchr(" \t\r\n", s.p[0])) s = str_from(s, 1);
  return s;
}

// Returns the words before the JSON, without the opening fence of a Markdown code block.
static str words_before(str text) {
  text = trimmed(text);
  const char *line = memrchr(text.p, '\n', text.n);
  str last = line ? str_from(text, (size_t)(line - text.p) + 1) : text;
  return is_fence(last) ? trimmed((str){text.p, text.n - last.n}) : text;
}

// Returns the JSON value that begins a text. Returns the whole text if more values follow or the value is incomplete.
static str json_of(str text) {
  struct json_scan scan = json_scan(text);
  const char *end = json_scan_skip(&scan, text.p);
  if (!end) return text;
  str value = {text.p, (size_t)(end - text.p)}, rest = trimmed(str_from(text, value.n));
  return rest.n && (*rest.p == '{' || *rest.p == '[') ? text : value;
}

void summary_look_mixed(struct summary *s) {
  struct mixed *m = ARENA_NEW(s->a, struct mixed);
  ASSERT(s->content.from < s->text.n);
  str head = {s->text.p, s->content.from}, json = json_of(str_from(s->text, s->content.from));
  m->json = (struct summary){.content = {.kind = CONTENT_JSON, .what = "JSON"}, .text = json, .a = s->a};
  summary_look_json(&m->json);
  if (m->json.content.kind != CONTENT_JSON) {
    summary_fall_back(s);
    return;
  }
  s->found = m;
  m->before = words_before(head);
  m->after = trimmed(str_from(s->text, head.n + json.n));
  str rest = m->after, first = measure_next_line(&rest);
  if (is_fence(first)) m->after = trimmed(rest);
  s->fact_count = m->json.fact_count;
  memcpy(s->facts, m->json.facts, sizeof s->facts);
  size_t line = measure_lines(head) - (head.n && head.p[head.n - 1] != '\n');
  summary_add_view(s, "the JSON", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", line, line + VIEW_LINES);
}

void summary_write_mixed(const struct summary *s, struct brief *b) {
  const struct mixed *m = s->found;
  size_t reserved = m->after.n ? b->left / WORDS_SHARE : 0;
  brief_beginning(b, m->before, b->left / WORDS_SHARE);
  struct brief share = {.out = b->out, .left = b->left > reserved ? b->left - reserved : 0};
  summary_write_json(&m->json, &share);
  b->left = share.left + (b->left > reserved ? reserved : b->left);
  if (m->after.n && brief_line(b, STR("after it:"))) brief_beginning(b, m->after, b->left);
}

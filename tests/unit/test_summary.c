// SPDX-License-Identifier: Apache-2.0
// result/summary: what stands for a long text, by what the text is. The samples are made like what real tools print.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "result/summary/summary.h"
#include "result/view/view.h"
#include "text/tokens.h"

struct desk {
  struct arena arena;
  struct buf text, out;
  struct summary summary;
};

static int open_desk(void **state) {
  static struct desk d;
  d = (struct desk){0};
  arena_init(&d.arena);
  buf_init(&d.text, 64 << 20);
  buf_init(&d.out, 1 << 20);
  *state = &d;
  return 0;
}

static int close_desk(void **state) {
  struct desk *d = *state;
  buf_done(&d->text);
  buf_done(&d->out);
  arena_done(&d->arena);
  return 0;
}

// ---- what is asked of every summary ----

// Views that are proposed show something.
static void check_views(struct desk *d) {
  for (size_t i = 0; i < d->summary.view_count; i++) {
    struct fault f;
    struct buf view;
    str selector = d->summary.views[i].selector;
    struct json *v = json_parse(&d->arena, selector, &json_default_limits, &f);
    if (!v) fail_msg("no JSON: %.*s", STR_ARG(selector));
    buf_init(&view, 1 << 20);
    if (!view_select(buf_view(&d->text), v, 0, STR("…"), &view, &f)) fail_msg("%.*s: %s", STR_ARG(selector), f.message);
    assert_true(view.n > 0);
    buf_done(&view);
  }
}

static void write(struct desk *d, size_t tokens) {
  struct brief b = {.out = &d->out, .left = tokens};
  buf_reset(&d->out);
  summary_write(&d->summary, &b);
  assert_false(d->out.over);
}

// Within every budget, the same bytes each time.
static void check_budgets(struct desk *d) {
  for (size_t tokens = 0; tokens < 700; tokens += 23) {
    write(d, tokens);
    if (!tokens_fit(buf_view(&d->out), tokens))
      fail_msg("%zu tokens instead of %zu: %.*s", tokens_count(buf_view(&d->out)), tokens, STR_ARG(buf_view(&d->out)));
    str first = arena_str(&d->arena, buf_view(&d->out));
    write(d, tokens);
    assert_true(str_eq(first, buf_view(&d->out)));
  }
}

static void summarise(struct desk *d, enum content_kind kind) {
  summary_look(buf_view(&d->text), &d->arena, &d->summary);
  assert_int_equal(d->summary.content.kind, kind);
  check_views(d);
  check_budgets(d);
  write(d, 450);
}

// The summary has this line, or a line that begins so when it ends in "*".
static void has_line(struct desk *d, const char *line) {
  str want = str_of(line);
  bool begins = str_ends(want, STR("*"));
  if (begins) want.n--;
  for (str rest = buf_view(&d->out), first; rest.n; rest = rest.p ? rest : STR("")) {
    if (!str_cut(rest, '\n', &first, &rest)) rest = STR("");
    if (begins ? str_starts(first, want) : str_eq(first, want)) return;
  }
  fail_msg("no line \"%s\" in:\n%.*s", line, STR_ARG(buf_view(&d->out)));
}

static bool has(struct desk *d, const char *text) {
  return memmem(d->out.p, d->out.n, text, strlen(text)) != NULL;
}

static void has_fact(struct desk *d, const char *fact) {
  for (size_t i = 0; i < d->summary.fact_count; i++)
    if (str_eq(d->summary.facts[i], str_of(fact))) return;
  fail_msg("no fact \"%s\"", fact);
}

// ---- JSON ----

static void put_issue(struct buf *b, int i) {
  buf_printf(b,
             "%s{\"url\":\"https://api.github.com/repos/acme/tool/issues/%d\",\"number\":%d,\"title\":\"Crash %d when "
             "saving\",\"user\":{\"login\":\"u%d\",\"id\":%d},\"labels\":[{\"name\":\"bug\"}],\"state\":\"%s\","
             "\"created_at\":\"2024-03-%02dT10:00:00Z\",\"closed_at\":null,\"body\":\"",
             i ? "," : "", i, i, i, i % 7, i % 7, i % 3 ? "open" : "closed", i % 28 + 1);
  for (int k = 0; k < 30; k++) buf_str(b, STR("It \\\"fails\\\" here.\\n"));
  buf_str(b, STR("\"}"));
}

static void issues_are_told_as_a_table(void **state) {
  struct desk *d = *state;
  buf_char(&d->text, '[');
  for (int i = 0; i < 120; i++) put_issue(&d->text, i);
  buf_char(&d->text, ']');
  summarise(d, CONTENT_JSON);
  has_line(d, "JSON array of 120 objects, *");
  has_line(d, "columns, by the first 60 rows: url (link), number (integer 0 to 59), title (text), user (object), *");
  assert_true(has(d, "state (closed|open)"));
  has_line(d, "number | title | state | created_at");
  has_line(d, "0 | Crash 0 when saving | closed | 2024-03-01T10:00:00Z");
  assert_true(has(d, "most of the size: body "));
  has_fact(d, "rows: 120");
  has_fact(d, "columns: url, number, title, user, labels, state, created_at, closed_at, body");
  assert_true(str_eq(d->summary.views[0].selector, STR("{\"type\":\"records\",\"limit\":20}")));
}

static void rows_inside_an_object_are_found(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("{\"total_count\": 1234, \"page\": {\"next\": null, \"items\": ["));
  for (int i = 0; i < 100; i++) put_issue(&d->text, i);
  buf_str(&d->text, STR("]}, \"note\": \"a \\u00e9 note\"}"));
  summarise(d, CONTENT_JSON);
  has_line(d, "JSON object of 3 members, *");
  has_line(d, "  total_count: 1234");
  has_line(d, "  note: \"a é note\"");
  has_line(d, "/page/items: 100 objects");
  has_fact(d, "total_count: 1234");
  has_fact(d, "note: a é note");
  assert_true(
      str_eq(d->summary.views[0].selector, STR("{\"type\":\"records\",\"path\":\"/page/items\",\"limit\":20}")));
}

static void a_large_member_is_named_with_its_size(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("{\"ok\":true,\"numbers\":["));
  for (int i = 0; i < 9000; i++) buf_printf(&d->text, "%s%d", i ? "," : "", i);
  buf_str(&d->text, STR("],\"empty\":{}}"));
  summarise(d, CONTENT_JSON);
  has_line(d, "  numbers: array of 9000 numbers, 44 KB");
  has_line(d, "  empty: {}");
}

static void lines_of_json_are_counted(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 300; i++) buf_printf(&d->text, "{\"id\":%d,\"name\":\"n%d\"}\n", i, i);
  summarise(d, CONTENT_JSON);
  has_line(d, "300 JSON objects, one after another, *");
  has_line(d, "0 | n0");
}

static void json_that_breaks_off_says_where(void **state) {
  struct desk *d = *state;
  buf_char(&d->text, '[');
  for (int i = 0; i < 90; i++) put_issue(&d->text, i);
  summarise(d, CONTENT_JSON);
  assert_true(has(d, "; broken at byte "));
  has_line(d, "number | title | state | created_at");
}

static void very_many_numbers_are_all_counted(void **state) {
  struct desk *d = *state;
  buf_char(&d->text, '[');
  for (int i = 0; i < 100000; i++) buf_printf(&d->text, "%s%d", i ? ", " : "", i % 1000 == 999 ? 0 : i);
  buf_str(&d->text, STR(", \"last\", [1, 2], 7, 8]"));
  summarise(d, CONTENT_JSON);
  has_line(d, "JSON array of 100004 numbers, *");
}

// ---- words, and JSON ----

static void put_rows(struct buf *b, int count) {
  buf_str(b, STR("{\n  \"total\": 3,\n  \"rows\": ["));
  for (int i = 0; i < count; i++) buf_printf(b, "%s\n    {\"id\": %d, \"name\": \"n%d\"}", i ? "," : "", i, i);
  buf_str(b, STR("\n  ]\n}\n"));
}

static void json_behind_words_is_told_by_its_shape(void **state) {
  static const char *const before[] = {"Here is the result:\n", "Here is the result:\n\n```json\n",
                                       "Result: ", "Found [some] rows (see [1]):\n\n"};
  static const char *const after[] = {"", "```\n\nThat is all there is.\n", "\nThat is all there is.", ""};
  struct desk *d = *state;
  for (size_t i = 0; i < 4; i++) {
    buf_reset(&d->text);
    buf_str(&d->text, str_of(before[i]));
    put_rows(&d->text, 200);
    buf_str(&d->text, str_of(after[i]));
    summarise(d, CONTENT_MIXED);
    str first = {before[i], strcspn(before[i], "\n")};
    assert_memory_equal(d->out.p, first.p, str_trim(first).n);
    assert_false(has(d, "```"));
    has_line(d, "JSON object of 2 members, *");
    has_line(d, "/rows: 200 objects");
    has_line(d, "0 | n0");
    has_fact(d, "rows: 200");
    assert_true(has(d, "after it:\nThat is all there is.") == (after[i][0] != 0));
  }
}

static void the_view_of_json_behind_words_begins_with_it(void **state) {
  struct desk *d = *state;
  struct buf view;
  struct fault f;
  buf_str(&d->text, STR("Here it is.\n\n```json\n"));
  put_rows(&d->text, 200);
  summarise(d, CONTENT_MIXED);
  struct json *selector = json_parse(&d->arena, d->summary.views[0].selector, &json_default_limits, &f);
  buf_init(&view, 1 << 20);
  assert_true(view_select(buf_view(&d->text), selector, 0, STR("…"), &view, &f));
  assert_true(str_starts(buf_view(&view), STR("{\n  \"total\": 3,")));
  buf_done(&view);
}

static void long_json_behind_words_may_break_off(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("Rows:\n["));
  for (int i = 0; i < 20000; i++) buf_printf(&d->text, "%s{\"id\": %d}", i ? ", " : "", i);
  summarise(d, CONTENT_MIXED);
  assert_true(has(d, "; broken at byte "));
}

static void lines_of_json_behind_words_are_counted(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("One object a line.\n"));
  for (int i = 0; i < 300; i++) buf_printf(&d->text, "{\"id\":%d,\"name\":\"n%d\"}\n", i, i);
  summarise(d, CONTENT_MIXED);
  has_line(d, "300 JSON objects, one after another, *");
}

static void words_with_a_little_json_are_words(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 100; i++)
    buf_str(&d->text, STR("It answers {\"ok\": true} and is done. See [1, 2], [\"x\"] or [this].\n"));
  summarise(d, CONTENT_PROSE);
}

// ---- tables ----

static void csv_has_columns_types_and_both_ends(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("id,name,amount,created\r\n"));
  for (int i = 0; i < 400; i++)
    buf_printf(&d->text, "%d,\"Doe, \"\"J\"\"\nJane %d\",%d.25,2024-01-%02d\r\n", i, i, i, i % 28 + 1);
  summarise(d, CONTENT_TABLE);
  has_line(d, "CSV of 400 rows and 4 columns, *");
  has_line(d, "columns, by the first 60 rows: id (integer 0 to 59), name (text), amount (number 0.25 to 59.25), *");
  has_line(d, "id | name | amount | created");
  assert_true(has(d, "0 | Doe, \"\"J\"\" Jane 0 | 0.25 | 2024-01-01\n"));
  has_fact(d, "rows: 400");
  has_fact(d, "columns: id, name, amount, created");
}

static void the_last_rows_are_shown_too(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("id\tname\tqty\n"));
  for (int i = 0; i < 400; i++) buf_printf(&d->text, "%d\tpart %d\t%d\n", i, i, i * 3);
  summarise(d, CONTENT_TABLE);
  has_line(d, "TSV of 400 rows and 3 columns, *");
  has_line(d, "399 | part 399 | 1197");
}

static void kubectl_prints_columns_of_blanks(void **state) {
  struct desk *d = *state;
  buf_printf(&d->text, "%-14s%-30s%-8s%-19s%-15s%s\n", "NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE");
  for (int i = 0; i < 120; i++)
    buf_printf(&d->text, "%-14sweb-%05d-x7k2p%15s%-8s%-19s%-15s%dd\n", i % 2 ? "default" : "kube-system", i, "", "1/1",
               i % 5 ? "Running" : "CrashLoopBackOff", i % 4 ? "2 (3h ago)" : "0", i % 30);
  summarise(d, CONTENT_TABLE);
  has_line(d, "table of 120 rows and 6 columns, *");
  has_line(d, "NAMESPACE | NAME | READY | STATUS | RESTARTS | AGE");
  assert_true(has(d, "STATUS (CrashLoopBackOff|Running)"));
  has_line(d, "default | web-00001-x7k2p | 1/1 | Running | 2 (3h ago) | 1d");
}

static void ps_prints_words_under_words(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"));
  for (int i = 0; i < 100; i++)
    buf_printf(&d->text, "root      %6d  0.%d  0.1 %6d %5d ?        Ss   Nov%02d   0:0%d /usr/sbin/thing -n %d\n", i,
               i % 10, 160000 + i, 9000 + i, i % 28 + 1, i % 9, i);
  summarise(d, CONTENT_TABLE);
  has_line(d, "table of 100 rows and 11 columns, *");
  has_line(d, "root | 3 | 0.3 | 0.1 | 160003 | 9003 | ? | Ss");
}

static void tables_of_markdown_and_psql_have_pipes(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("| id | name | qty |\n|---|:---|---:|\n"));
  for (int i = 0; i < 200; i++) buf_printf(&d->text, "| %d | part %d | %d |\n", i, i, i * 3);
  summarise(d, CONTENT_TABLE);
  has_line(d, "table of 200 rows and 3 columns, *");
  has_line(d, "1 | part 1 | 3");
  buf_reset(&d->text);
  buf_str(&d->text, STR(" id | name   | qty\n----+--------+-----\n"));
  for (int i = 0; i < 200; i++) buf_printf(&d->text, " %2d | part %d |  %d\n", i, i, i * 3);
  buf_str(&d->text, STR("(200 rows)\n"));
  summary_look(buf_view(&d->text), &d->arena, &d->summary);
  assert_int_equal(d->summary.content.kind, CONTENT_TABLE);
  check_budgets(d);
  write(d, 450);
  has_line(d, "table of 200 rows and 3 columns, *");
}

static void prose_with_commas_is_no_table(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 200; i++) buf_str(&d->text, STR("First of all, we came here to see it.\n"));
  summarise(d, CONTENT_PROSE);
}

// ---- logs ----

static void a_log_tells_its_errors_first_and_once(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 2000; i++) {
    bool failed = i % 97 == 5;
    buf_printf(&d->text, "2024-05-01T10:%02d:%02d.123Z %s [http] ", i / 60 % 60, i % 60,
               failed        ? "ERROR"
               : i % 31 == 0 ? "WARN"
                             : "INFO");
    if (failed) buf_printf(&d->text, "connection to db-%d refused after %d ms\n", i % 3, i);
    else buf_printf(&d->text, "GET /api/items/%d 200\n", i);
  }
  buf_str(&d->text, STR("2024-05-01T11:00:00.000Z FATAL out of memory\n"));
  summarise(d, CONTENT_LOG);
  has_line(d, "log of 2001 lines, 121 KB, from 2024-05-01T10:00:00.123Z to 2024-05-01T11:00:00.000Z");
  has_line(d, "levels: 22 errors, 65 warnings, 1914 info");
  has_line(d, "line 5, 21 times: 2024-05-01T10:00:05.123Z ERROR [http] connection to db-2 refused after 5 ms");
  has_line(d, "line 2000: 2024-05-01T11:00:00.000Z FATAL out of memory");
  has_line(d, "2024-05-01T10:00:00.123Z WARN [http] GET /api/items/0 200");
  has_fact(d, "errors: 22");
}

static void npm_shouts_its_errors(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 100; i++)
    buf_printf(&d->text, "npm http fetch GET 200 https://registry.example/pkg%d %dms\n", i, i);
  buf_str(&d->text, STR("npm WARN deprecated har-validator@5.1.5: no longer supported\nnpm ERR! code ERESOLVE\n"
                        "npm ERR! ERESOLVE unable to resolve dependency tree\n"));
  summarise(d, CONTENT_LOG);
  has_line(d, "levels: 2 errors, 1 warnings, 100 no level");
  has_line(d, "line 102: npm ERR! ERESOLVE unable to resolve dependency tree");
}

static void pytest_tells_what_failed(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("============================= test session starts ==============================\n"
                        "platform linux -- Python 3.11.2, pytest-7.4.0\ncollected 2400 items\n\n"));
  for (int i = 0; i < 60; i++) buf_printf(&d->text, "tests/test_mod%d.py ..........            [%3d%%]\n", i, i);
  buf_str(&d->text, STR("=================================== FAILURES ===================================\n"
                        "    def test_total():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\n\n"
                        "tests/test_sum.py:12: AssertionError\n"
                        "FAILED tests/test_sum.py::test_total - assert 3 == 4\n"
                        "======================== 1 failed, 2399 passed in 4.21s =========================\n"));
  summarise(d, CONTENT_LOG);
  assert_true(has(d, ": E assert 3 == 4\n"));
  assert_true(has(d, ": FAILED tests/test_sum.py::test_total - assert 3 == 4\n"));
  has_line(d, "======================== 1 failed, 2399 passed in 4.21s =========================");
}

// ---- prose, HTML ----

static void a_readme_begins_as_it_does_and_lists_its_headings(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("# Widget\n\nWidget is a small tool. It does one thing well.\n\n"));
  for (int i = 0; i < 20; i++) {
    buf_printf(&d->text, "## Section %d\n\n```\n# no heading\n```\n", i);
    for (int k = 0; k < 20; k++) buf_str(&d->text, STR("These are words about it. "));
    buf_str(&d->text, STR("\n\n"));
  }
  summarise(d, CONTENT_PROSE);
  assert_true(str_starts(buf_view(&d->out), STR("# Widget\n\nWidget is a small tool. It does one thing well.\n")));
  has_line(d, "headings, with their lines:");
  has_line(d, "4: ## Section 0");
  has_line(d, "11: ## Section 1");
  assert_false(has(d, ": # no heading"));
}

static void sentences_are_not_cut_in_two(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 300; i++) buf_str(&d->text, STR("This sentence has an end. "));
  summarise(d, CONTENT_PROSE);
  assert_true(str_ends(buf_view(&d->out), STR(" end.\n")));
}

static void a_page_is_told_by_its_text(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("<!DOCTYPE html>\n<html><head><title>Docs &amp; more</title><style>a{b}</style>"
                        "<script>if (a < b) secret();</script></head><body><!-- hidden -->"));
  for (int i = 0; i < 60; i++)
    buf_printf(&d->text, "<h2>Part %d</h2><p>Paragraph %d with <b>bold</b> and <a href=\"/%d\">a link</a>.</p>\n", i, i,
               i);
  buf_str(&d->text, STR("</body></html>"));
  summarise(d, CONTENT_HTML);
  has_line(d, "HTML page \"Docs & more\", *");
  assert_true(has(d, "60 links"));
  has_line(d, "headings: Part 0, Part 1, *");
  has_line(d, "Paragraph 0 with bold and a link.");
  assert_false(has(d, "secret") || has(d, "hidden") || has(d, "a{b}"));
  has_fact(d, "title: Docs & more");
}

static void headings_that_are_not_read_are_counted(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("<!DOCTYPE html>\n<html><body>"));
  for (int i = 0; i < 300; i++)
    buf_printf(&d->text, "<h2>H</h2><p>Paragraph %d of as many words as it takes.</p>\n", i);
  buf_str(&d->text, STR("</body></html>"));
  summarise(d, CONTENT_HTML);
  const char *more = memmem(d->out.p, d->out.n, ", … ", strlen(", … "));
  assert_non_null(more);
  str list = {d->out.p, (size_t)(more - d->out.p)};
  size_t shown = 1, left = strtoul(more + strlen(", … "), NULL, 10);
  for (const char *p = list.p; (p = memmem(p, (size_t)(more - p), "H, ", 3)); p++) shown++;
  assert_int_equal(shown + left, 300);
}

// ---- diffs and source ----

static void a_diff_is_told_by_its_files(void **state) {
  struct desk *d = *state;
  for (int i = 0; i < 30; i++)
    buf_printf(
        &d->text,
        "diff --git a/src/f%d.c b/src/f%d.c\nindex 123..456 100644\n--- a/src/f%d.c\n+++ b/src/f%d.c\n"
        "@@ -1,4 +1,5 @@ int main(void)\n int a;\n--- a line that begins so\n+++ i;\n+int c;\n int d;\n int e;\n",
        i, i, i, i);
  summarise(d, CONTENT_DIFF);
  has_line(d, "diff of 30 files, +60 -30 lines, *");
  has_line(d, "line 3: src/f0.c +2 -1");
  has_fact(d, "files changed: 30");
}

static void source_is_told_by_what_it_defines(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("import os\nfrom typing import Any\n\n"));
  for (int i = 0; i < 60; i++)
    buf_printf(&d->text, "class Thing%d:\n    def run(self, a):\n        return a + %d\n\n", i, i);
  summarise(d, CONTENT_CODE);
  has_line(d, "Python source, 243 lines, *");
  has_line(d, "3: class Thing0:");
  has_line(d, "4: def run(self, a):");
  has_line(d, "import os");
}

// ---- what cannot be read ----

static void of_base64_no_byte_is_shown(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("iVBORw0KGgoAAAANSUhEUgAA"));
  for (int i = 0; i < 2000; i++) buf_str(&d->text, STR("QUJD"));
  summarise(d, CONTENT_BLOB);
  has_line(d, "base64, holding a PNG image, 8.0 KB in 1 line; not shown");
  assert_false(has(d, "QUJD") || has(d, "iVBOR"));
}

static void of_minified_text_no_byte_is_shown(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("!function(e,t){"));
  for (int i = 0; i < 300; i++) buf_str(&d->text, STR("e.exports=function(){return n(t.call(this,e,t))};"));
  summarise(d, CONTENT_BLOB);
  has_line(d, "minified text, 15 KB in 1 line; not shown");
  assert_false(has(d, "exports"));
}

static void bytes_are_known_by_how_they_begin(void **state) {
  (void)state;
  assert_string_equal(content_magic(STR("%PDF-1.7\n")), "PDF document");
  assert_string_equal(content_magic(STR("\x89PNG\r\n\x1a\n....")), "PNG image");
  assert_string_equal(content_magic(STR("RIFF....WEBPVP8 ")), "WebP image");
  assert_null(content_magic(STR("plain text")));
  assert_null(content_magic(STR("")));
}

// ---- errors, odd texts ----

static void of_an_error_the_first_lines_are_shown_in_any_budget(void **state) {
  struct desk *d = *state;
  buf_str(&d->text, STR("[{\"error\": \"boom at once\"},\n"));
  for (int i = 0; i < 3000; i++) buf_printf(&d->text, "{\"frame\": %d},\n", i);
  buf_str(&d->text, STR("{\"last\": 1}]"));
  summary_look(buf_view(&d->text), &d->arena, &d->summary);
  for (size_t tokens = 40; tokens < 600; tokens += 56) {
    struct brief b = {.out = &d->out, .left = tokens};
    buf_reset(&d->out);
    summary_write_ends(&d->summary, &b);
    assert_true(tokens_fit(buf_view(&d->out), tokens));
    assert_true(str_starts(buf_view(&d->out), STR("[{\"error\": \"boom at once\"},\n")));
  }
  has_line(d, "{\"last\": 1}]");
}

static void odd_texts_have_summaries_too(void **state) {
  static const char *const texts[] = {"{",
                                      "[",
                                      "[1,",
                                      "{\"a\"",
                                      "\"",
                                      ",\n,\n,\n",
                                      "|\n|-|\n|",
                                      "<",
                                      "<a",
                                      "--- \n+++ \n@@ ",
                                      "@@ -",
                                      "\t\t\n\t\t\n\t\t\n",
                                      "data:,",
                                      "[[[[[[[[[[",
                                      "A  B\n",
                                      "A  B\n1 2\n",
                                      "{}{}",
                                      "[]\n[]",
                                      "\xe2\x80\xa6",
                                      "   ",
                                      "\n\n\n"};
  struct desk *d = *state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    buf_reset(&d->text);
    buf_str(&d->text, str_of(texts[i]));
    // In memory of exactly its size, so that a read past its end is seen.
    char *exact = mem_alloc(d->text.n);
    memcpy(exact, d->text.p, d->text.n);
    summary_look((str){exact, d->text.n}, &d->arena, &d->summary);
    check_budgets(d);
    mem_free(exact);
  }
}

static void cells_are_one_line_and_short(void **state) {
  struct desk *d = *state;
  brief_cell(&d->out, STR("  a\t\tb\r\n\x01 c  "), 20);
  assert_true(str_eq(buf_view(&d->out), STR("a b c")));
  buf_reset(&d->out);
  brief_json_cell(&d->out, STR("\\u00e9\\n\\ud83d\\ude00 \\ud800 \\q\\\"\\u12"), 40);
  assert_true(str_eq(buf_view(&d->out), STR("é 😀 ? q\"?")));
  buf_reset(&d->out);
  brief_cell(&d->out, STR("größer als gedacht"), 6);
  assert_true(str_eq(buf_view(&d->out), STR("größer…")));
  struct brief_size room;
  assert_string_equal(brief_size_of(1, &room), "1 byte");
  assert_string_equal(brief_size_of(999, &room), "999 bytes");
  assert_string_equal(brief_size_of(1234, &room), "1.2 KB");
  assert_string_equal(brief_size_of(50000000, &room), "50 MB");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(issues_are_told_as_a_table),
      TEST(rows_inside_an_object_are_found),
      TEST(a_large_member_is_named_with_its_size),
      TEST(lines_of_json_are_counted),
      TEST(json_that_breaks_off_says_where),
      TEST(very_many_numbers_are_all_counted),
      TEST(json_behind_words_is_told_by_its_shape),
      TEST(the_view_of_json_behind_words_begins_with_it),
      TEST(long_json_behind_words_may_break_off),
      TEST(lines_of_json_behind_words_are_counted),
      TEST(words_with_a_little_json_are_words),
      TEST(csv_has_columns_types_and_both_ends),
      TEST(the_last_rows_are_shown_too),
      TEST(kubectl_prints_columns_of_blanks),
      TEST(ps_prints_words_under_words),
      TEST(tables_of_markdown_and_psql_have_pipes),
      TEST(prose_with_commas_is_no_table),
      TEST(a_log_tells_its_errors_first_and_once),
      TEST(npm_shouts_its_errors),
      TEST(pytest_tells_what_failed),
      TEST(a_readme_begins_as_it_does_and_lists_its_headings),
      TEST(sentences_are_not_cut_in_two),
      TEST(a_page_is_told_by_its_text),
      TEST(headings_that_are_not_read_are_counted),
      TEST(a_diff_is_told_by_its_files),
      TEST(source_is_told_by_what_it_defines),
      TEST(of_base64_no_byte_is_shown),
      TEST(of_minified_text_no_byte_is_shown),
      TEST(bytes_are_known_by_how_they_begin),
      TEST(of_an_error_the_first_lines_are_shown_in_any_budget),
      TEST(odd_texts_have_summaries_too),
      TEST(cells_are_one_line_and_short),
  };
  return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}

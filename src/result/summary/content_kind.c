// SPDX-License-Identifier: Apache-2.0
#include "result/summary/content_kind.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/table/sheet.h"
#include "result/text_cut.h"
#include "json/scan.h"

enum {
  NEAR_BYTES = 64 << 10,  // maximum bytes of text to look at (the sample)
  LINES = 200,            // maximum lines of the sample
  WORDS_BYTES = 4 << 10,  // maximum bytes of words before the JSON of a mixed text
  JSON_TRIES = 8,         // maximum number of brackets to try as the beginning of JSON
  LONG_LINE = 2000,       // text with few blanks counts as unreadable if its lines are longer on average
  TABLE_ROWS = 60,        // number of table rows to compare
};

struct sample {
  str text;    // the beginning of the text that is examined
  bool whole;  // the sample is the whole text
  str lines[LINES];
  size_t count, filled;                   // number of lines in the sample, and of lines that are not blank
  size_t blanks, controls, high, base64;  // number of bytes of each class in the sample
};

// ---- the sample ----

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void count_bytes(struct sample *s) {
  for (size_t i = 0; i < s->text.n; i++) {
    char c = s->text.p[i];
    if (is_blank(c)) s->blanks++;
    else if ((unsigned char)c < ' ' && c != '\033' && c != '\f') s->controls++;
    else if ((unsigned char)c >= 0x80) s->high++;
    else if (ascii_is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_') s->base64++;
  }
}

static void take_sample(str text, struct sample *s) {
  *s = (struct sample){.text = utf8_cut(text, NEAR_BYTES)};
  s->whole = s->text.n == text.n;
  count_bytes(s);
  str rest = s->text;
  while (rest.n && s->count < LINES) {
    str line = measure_next_line(&rest);
    // Ignores the last line, which may be incomplete because the sample ends there.
    if (!rest.n && !s->whole && s->count) break;
    s->lines[s->count++] = line;
    s->filled += str_trim(line).n > 0;
  }
}

// ---- JSON ----

// Returns whether the sample is JSON, or JSON that is cut at the end of the sample.
static bool is_json(const struct sample *s) {
  struct json_scan scan = json_scan(s->text);
  const char *p = json_scan_first(&scan);
  if (p == scan.end || (*p != '{' && *p != '[')) return false;
  struct json_walk w;
  json_walk_open(&w, &scan, p);
  while (json_walk_next(&w)) {
  }
  if (scan.wrong) return !s->whole && w.count > 0 && scan.wrong == scan.end;
  while (w.after < scan.end && is_blank(*w.after)) w.after++;
  return w.after == scan.end || *w.after == '{' || *w.after == '[';
}

// Returns whether JSON may begin at a bracket that follows words. A blank or a colon must precede the bracket; a JSON
// value, and not a word, must follow it.
static bool may_begin_json(str text, size_t at) {
  if (text.p[at] != '{' && text.p[at] != '[') return false;
  if (at && !is_blank(text.p[at - 1]) && text.p[at - 1] != ':') return false;
  str rest = str_from(text, at + 1);
  while (rest.n && is_blank(*rest.p)) rest = str_from(rest, 1);
  if (!rest.n) return false;
  return *rest.p == '"' || (text.p[at] == '[' && (*rest.p == '{' || *rest.p == '[' || ascii_is_digit(*rest.p)));
}

// Returns whether the consecutive JSON values that start at `from` take half of the sample or reach its end.
static bool is_mostly_json(const struct sample *s, size_t from) {
  struct json_scan scan = json_scan(str_from(s->text, from));
  struct json_walk w;
  json_walk_open(&w, &scan, scan.begin);
  while (json_walk_next(&w)) {
  }
  const char *p = scan.wrong ? NULL : scan.begin;
  while (p && p < scan.end && (*p == '{' || *p == '[')) {
    p = json_scan_skip(&scan, p);
    while (p && p < scan.end && is_blank(*p)) p++;
  }
  if (!p) return !s->whole && w.count > 0 && scan.wrong == scan.end;
  return (size_t)(p - scan.begin) >= s->text.n / 2;
}

static bool is_mixed(const struct sample *s, struct content *out) {
  size_t tries = 0;
  for (size_t i = 1; i < s->text.n && i < WORDS_BYTES && tries < JSON_TRIES; i++) {
    if (!may_begin_json(s->text, i)) continue;
    out->from = i;
    if (is_mostly_json(s, i)) return true;
    tries++;
  }
  return false;
}

// ---- unreadable data ----

static bool is_blob(const struct sample *s, struct content *out) {
  size_t n = s->text.n;
  if (s->controls > n / 50 + 1 || memchr(s->text.p, 0, n)) {
    out->what = "binary data";
    return true;
  }
  if (n < 256) return false;
  if (s->base64 + s->blanks == n && s->blanks <= n / 60 + 2) {
    out->what = "base64";
    return true;
  }
  str first = s->lines[0];
  bool data_uri = str_starts(first, STR("data:")) && first.n > 200 && memchr(first.p, ',', 100);
  if (data_uri) out->what = "a data: URI";
  else if (s->high < n / 20 && s->blanks < n / 40 && n / (s->count ? s->count : 1) > LONG_LINE)
    out->what = "minified text";
  return out->what != NULL;
}

// ---- diffs, HTML ----

static bool is_diff(const struct sample *s) {
  size_t heads = 0, hunks = 0;
  for (size_t i = 0; i < s->count; i++) {
    heads += str_starts(s->lines[i], STR("diff --git ")) || str_starts(s->lines[i], STR("--- ")) ||
             str_starts(s->lines[i], STR("+++ "));
    hunks += str_starts(s->lines[i], STR("@@ "));
  }
  return heads >= 2 && hunks >= 1;
}

static bool is_html(const struct sample *s, struct content *out) {
  str text = s->text;
  while (text.n && is_blank(*text.p)) text = str_from(text, 1);
  if (text.n < 2 || *text.p != '<') return false;
  str head = {text.p, text.n < 2000 ? text.n : 2000};
  bool html = head.n > 14 && str_eq_nocase((str){head.p, 14}, STR("<!doctype html"));
  for (size_t i = 0; i + 5 < head.n && !html; i++)
    html = head.p[i] == '<' && str_eq_nocase((str){head.p + i, 5}, STR("<html"));
  bool xml = str_starts(text, STR("<?xml")) || ascii_is_letter(text.p[1]) || text.p[1] == '!';
  out->what = html ? "HTML page" : "XML document";
  return html || (xml && memchr(head.p, '>', head.n));
}

// ---- logs ----

static bool is_log(const struct sample *s, struct content *out) {
  size_t timed = 0, levels = 0, banners = 0;
  for (size_t i = 0; i < s->count; i++) {
    timed += content_log_time(s->lines[i]).n > 0;
    levels += content_log_level(s->lines[i]) != LINE_NO_LEVEL;
    banners += str_starts(s->lines[i], STR("=====")) || str_starts(s->lines[i], STR("TAP version")) ||
               str_starts(s->lines[i], STR("=== RUN")) || str_starts(s->lines[i], STR("ok 1 ")) ||
               str_starts(s->lines[i], STR("npm "));
  }
  out->what = timed * 2 > s->filled || !banners ? "log" : "output of a program";
  if (s->filled < 3) return false;
  return timed * 10 >= s->filled * 4 || levels * 10 >= s->filled * 4 || (banners && levels);
}

// ---- source code ----

struct language {
  const char *name;
  const char *starts[12];
};

static const struct language languages[] = {
    {"Python source",
     {"def ", "class ", "import ", "from ", "@", "if __name__", "    def ", "    return ", "async def "}},
    {"Go source", {"package ", "func ", "import (", "type ", "\tif err ", "\treturn ", "var ("}},
    {"Rust source", {"fn ", "pub fn ", "impl ", "use ", "pub struct ", "struct ", "#[derive", "mod ", "let "}},
    {"C source", {"#inc", "#define ", "static ", "typedef ", "struct ", "int ", "void ", "#ifdef", "#pragma"}},
    {"Java source", {"package ", "import java", "public class ", "    public ", "    private ", "@Override"}},
    {"JavaScript source",
     {"import ", "export ", "const ", "function ", "let ", "var ", "module.exports", "async function ", "interface ",
      "type "}},
    {"shell script", {"#!/bin/", "#!/usr/bin/env bash", "set -e", "  fi", "  done", "export ", "if [ "}},
    {"SQL", {"SELECT ", "CREATE TABLE", "INSERT INTO", "UPDATE ", "DROP TABLE", "ALTER TABLE", "BEGIN;", "COMMIT;"}},
};

static size_t count_starts(const struct sample *s, const struct language *l) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++)
    for (size_t k = 0; k < sizeof l->starts / sizeof *l->starts && l->starts[k]; k++)
      if (str_starts(s->lines[i], str_of(l->starts[k]))) {
        count++;
        break;
      }
  return count;
}

static bool is_code(const struct sample *s, struct content *out) {
  size_t ends = 0, best = 0;
  for (size_t i = 0; i < s->count; i++) {
    str line = s->lines[i];
    char last = line.n ? line.p[line.n - 1] : 0;
    ends += last == '{' || last == '}' || last == ';' || last == '(' || str_ends(line, STR("):")) ||
            str_ends(line, STR("*/")) || str_starts(str_trim(line), STR("//"));
  }
  for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
    size_t starts = count_starts(s, &languages[i]);
    if (starts <= best) continue;
    best = starts;
    out->what = languages[i].name;
  }
  bool script = s->count && str_starts(s->lines[0], STR("#!"));
  if (s->filled < 5 || !best) return false;
  return script || (ends * 10 >= s->filled && (ends + best) * 10 >= s->filled * 3) || (best * 4 >= s->filled && ends);
}

// ---- tables ----

// Returns whether a blank follows most separators, as in prose, where blanks follow commas.
static bool reads_as_prose(str text, char separator) {
  size_t marks = 0, blanks = 0;
  for (size_t i = 0; i + 1 < text.n; i++) {
    if (text.p[i] != separator) continue;
    marks++;
    blanks += text.p[i + 1] == ' ';
  }
  return separator != '\t' && blanks * 2 > marks;
}

// Returns whether nearly all rows have the same number of fields, and the table has a header or has numbers.
static bool is_separated(str text, char separator) {
  struct sheet t;
  str fields[SHEET_LISTED];
  size_t rows = 0, same = 0, numbers = 0;
  if (reads_as_prose(text, separator) || !sheet_open_as(&t, text, SHEET_CSV, separator)) return false;
  for (size_t n; rows < TABLE_ROWS && (n = sheet_listed(&t, fields)); rows++) {
    same += n == t.columns;
    for (size_t i = 0; i < n; i++) {
      struct cell cell = {fields[i], CELL_TEXT};
      numbers += text_looks_numeric(cell_inside(&cell));
    }
  }
  if (rows < 2 || same * 10 < rows * 9) return false;
  return t.named || (t.columns >= 3 && numbers >= rows);
}

static bool is_piped(const struct sample *s) {
  size_t piped = 0;
  for (size_t i = 0; i < s->count; i++) {
    str line = s->lines[i];
    piped += str_trim(line).n && (memchr(line.p, '|', line.n) || sheet_rule(line) >= 3);
  }
  return s->filled >= 3 && piped * 10 >= s->filled * 8;
}

static bool is_table(const struct sample *s, struct content *out) {
  ASSERT(s->count);
  static const char separators[] = {'\t', ',', ';', '|'};
  struct sheet t;
  str first = s->lines[0], last = s->lines[s->count - 1];
  str text = {first.p, (size_t)(last.p + last.n - first.p)};
  *out = (struct content){.kind = CONTENT_TABLE, .what = "table", .form = SHEET_PIPES};
  if (s->count < 3) return false;
  if (is_piped(s) && sheet_open_as(&t, text, SHEET_PIPES, 0)) return true;
  for (size_t i = 0; i < sizeof separators; i++) {
    if (!is_separated(text, separators[i])) continue;
    out->form = SHEET_CSV;
    out->separator = separators[i];
    out->what = separators[i] == '\t' ? "TSV" : "CSV";
    return true;
  }
  out->form = SHEET_ALIGNED;
  return sheet_open_as(&t, text, SHEET_ALIGNED, 0);
}

struct content content_look(str text) {
  struct sample s;
  struct content c = {.kind = CONTENT_PROSE}, table;
  take_sample(text, &s);
  ASSERT(s.count <= LINES && s.filled <= s.count);
  if (!s.count) return c;
  if (is_json(&s)) return (struct content){.kind = CONTENT_JSON, .what = "JSON"};
  if (!is_html(&s, &c) && is_mixed(&s, &c)) return (struct content){CONTENT_MIXED, "text with JSON", .from = c.from};
  c.what = NULL;
  if (is_blob(&s, &c)) return (struct content){.kind = CONTENT_BLOB, .what = c.what};
  if (is_diff(&s)) return (struct content){.kind = CONTENT_DIFF, .what = "diff"};
  if (is_html(&s, &c)) return (struct content){.kind = CONTENT_HTML, .what = c.what};
  if (is_log(&s, &c)) return (struct content){.kind = CONTENT_LOG, .what = c.what};
  if (is_table(&s, &table)) return table;
  if (is_code(&s, &c)) return (struct content){.kind = CONTENT_CODE, .what = c.what};
  return (struct content){.kind = CONTENT_PROSE, .what = "text"};
}

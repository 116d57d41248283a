// SPDX-License-Identifier: Apache-2.0
#include "result/summary/content_kind.h"

#include "base/ascii.h"
#include "base/text/utf8.h"
#include "result/table/table_rows.h"
#include "result/text_cut.h"
#include "json/scan.h"

enum {
  NEAR_BYTES = 64 << 10,  // that are looked at
  LINES = 200,            // of them, at most
  WORDS_BYTES = 4 << 10,  // before JSON, at most
  JSON_TRIES = 8,         // brackets that are looked behind
  LONG_LINE = 2000,       // nobody writes such lines to be read, unless they have blanks
};

struct sample {
  str text;    // the beginning
  bool whole;  // all of it
  str lines[LINES];
  size_t count, filled;                   // lines, and those that are not blank
  size_t blanks, controls, high, base64;  // bytes of the beginning
};

// ---- the sample ----

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_base64(char c) {
  return ascii_is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_';
}

static void count_bytes(struct sample *s) {
  for (size_t i = 0; i < s->text.n; i++) {
    char c = s->text.p[i];
    if (is_blank(c)) s->blanks++;
    else if ((unsigned char)c < ' ' && c != '\033' && c != '\f') s->controls++;
    else if ((unsigned char)c >= 0x80) s->high++;
    else if (is_base64(c)) s->base64++;
  }
}

static void take_sample(str text, struct sample *s) {
  *s = (struct sample){.text = utf8_cut(text, NEAR_BYTES)};
  s->whole = s->text.n == text.n;
  count_bytes(s);
  str rest = s->text;
  while (rest.n && s->count < LINES) {
    str line = measure_next_line(&rest);
    // A line that the window cut says little about its like.
    if (!rest.n && !s->whole && s->count) break;
    s->lines[s->count++] = line;
    s->filled += str_trim(line).n > 0;
  }
}

// ---- JSON ----

// No error before the end of what is seen.
static bool is_json(const struct sample *s) {
  struct json_scan scan = json_scan(s->text);
  const char *p = json_scan_first(&scan);
  if (p == scan.end || (*p != '{' && *p != '[')) return false;
  struct json_walk w;
  json_walk_open(&w, &scan, p);
  while (json_walk_next(&w)) {
  }
  if (scan.wrong) return !s->whole && w.count > 0 && scan.wrong == scan.end;
  while (w.behind < scan.end && is_blank(*w.behind)) w.behind++;
  return w.behind == scan.end || *w.behind == '{' || *w.behind == '[';
}

// What stands before it: nothing, a blank, or the end of a word that announces it.
static bool may_begin_json(str text, size_t at) {
  return (text.p[at] == '{' || text.p[at] == '[') && (!at || is_blank(text.p[at - 1]) || text.p[at - 1] == ':');
}

// In prose brackets are around words: those of JSON are around values.
static bool begins_value(str json) {
  str rest = str_from(json, 1);
  while (rest.n && is_blank(*rest.p)) rest = str_from(rest, 1);
  return rest.n &&
         (*rest.p == '"' || (*json.p == '[' && (*rest.p == '{' || *rest.p == '[' || ascii_is_digit(*rest.p))));
}

// Behind a value and those that follow it, one after another. NULL: scan->wrong is set.
static const char *behind_values(struct json_scan *scan, const char *p) {
  while (p && p < scan->end && (*p == '{' || *p == '[')) {
    p = json_scan_skip(scan, p);
    while (p && p < scan->end && is_blank(*p)) p++;
  }
  return p;
}

// Half of what is seen, or up to the end of it.
static bool is_mostly_json(const struct sample *s, size_t from) {
  struct json_scan scan = json_scan(str_from(s->text, from));
  struct json_walk w;
  json_walk_open(&w, &scan, scan.begin);
  while (json_walk_next(&w)) {
  }
  const char *behind = scan.wrong ? NULL : behind_values(&scan, scan.begin);
  if (!behind) return !s->whole && w.count > 0 && scan.wrong == scan.end;
  return (size_t)(behind - scan.begin) >= s->text.n / 2;
}

static bool is_mixed(const struct sample *s, struct content *out) {
  size_t tries = 0;
  for (size_t i = 1; i < s->text.n && i < WORDS_BYTES && tries < JSON_TRIES; i++) {
    if (!may_begin_json(s->text, i) || !begins_value(str_from(s->text, i))) continue;
    out->from = i;
    if (is_mostly_json(s, i)) return true;
    tries++;
  }
  return false;
}

// ---- what cannot be read ----

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

static bool ends_as_code(str line) {
  char last = line.n ? line.p[line.n - 1] : 0;
  return last == '{' || last == '}' || last == ';' || last == '(' || str_ends(line, STR("):")) ||
         str_ends(line, STR("*/")) || str_starts(str_trim(line), STR("//"));
}

static bool is_code(const struct sample *s, struct content *out) {
  size_t ends = 0, best = 0;
  for (size_t i = 0; i < s->count; i++) ends += ends_as_code(s->lines[i]);
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

struct content content_look(str text) {
  static const enum table_form forms[] = {TABLE_PIPES, TABLE_SEPARATED, TABLE_ALIGNED};
  struct sample s;
  struct content c = {.kind = CONTENT_PROSE};
  take_sample(text, &s);
  if (!s.count) return c;
  if (is_json(&s)) return (struct content){.kind = CONTENT_JSON, .what = "JSON"};
  if (!is_html(&s, &c) && is_mixed(&s, &c)) return (struct content){CONTENT_MIXED, "text with JSON", .from = c.from};
  c.what = NULL;
  if (is_blob(&s, &c)) return (struct content){.kind = CONTENT_BLOB, .what = c.what};
  if (is_diff(&s)) return (struct content){.kind = CONTENT_DIFF, .what = "diff"};
  if (is_html(&s, &c)) return (struct content){.kind = CONTENT_HTML, .what = c.what};
  if (is_log(&s, &c)) return (struct content){.kind = CONTENT_LOG, .what = c.what};
  for (size_t i = 0; i < 3; i++) {
    struct content table = {.kind = CONTENT_TABLE, .form = forms[i]};
    if (table_fits(s.lines, s.count, &table)) return table;
  }
  if (is_code(&s, &c)) return (struct content){.kind = CONTENT_CODE, .what = c.what};
  return (struct content){.kind = CONTENT_PROSE, .what = "text"};
}

// SPDX-License-Identifier: Apache-2.0
// Summary of logs and of the output of programs: levels, time span, each different error once, first and last lines.
#include "base/ascii.h"
#include "base/assert.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum {
  GROUPS = 24,          // maximum number of different errors
  SEEN = 256,           // slots of the hash table of errors
  MESSAGE_BYTES = 160,  // number of bytes of an error line that are compared with other errors
  FAILURE_CHARS = 240,  // maximum characters of an error in the summary
  COMPARED = 50000,     // maximum number of lines that are compared with earlier errors
};

struct failure {
  uint64_t key;
  str line;
  size_t count, number;  // number of equal lines, and line number of the first of them, from 0
};

struct journal {
  size_t lines;
  size_t levels[LINE_LEVELS];
  str since, until;
  struct failure failures[GROUPS];
  size_t failure_count, compared;
  size_t others;        // number of lines with errors that are not in the array
  uint16_t seen[SEEN];  // hash table: index into `failures` plus 1; 0 for a free slot
};

// ---- equal errors ----

// Returns a hash of a line. Lines that differ only in their time and in digits have the same hash.
static uint64_t key_of(str line) {
  uint64_t h = 0xcbf29ce484222325;
  str time = content_log_time(line);
  str rest = time.n ? str_from(line, (size_t)(time.p + time.n - line.p)) : line;
  if (rest.n > MESSAGE_BYTES) rest.n = MESSAGE_BYTES;
  for (size_t i = 0; i < rest.n; i++) {
    bool digit = ascii_is_digit(rest.p[i]);
    if (digit && i && ascii_is_digit(rest.p[i - 1])) continue;
    h = (h ^ (unsigned char)(digit ? '0' : rest.p[i])) * 0x100000001b3;
  }
  return h;
}

static void add_failure(struct journal *j, str line) {
  if (j->compared++ >= COMPARED) {
    j->others++;
    return;
  }
  uint64_t key = key_of(line);
  size_t slot = (size_t)(key >> 32) % SEEN;
  _Static_assert(GROUPS < SEEN, "a search ends at a free slot");
  while (j->seen[slot] && j->failures[j->seen[slot] - 1].key != key) slot = (slot + 1) % SEEN;
  if (j->seen[slot]) {
    j->failures[j->seen[slot] - 1].count++;
  } else if (j->failure_count == GROUPS) {
    j->others++;
  } else {
    j->failures[j->failure_count++] = (struct failure){key, line, 1, j->lines};
    j->seen[slot] = (uint16_t)j->failure_count;
  }
}

// ---- all lines ----

static str last_time(str text) {
  enum { TAIL_BYTES = 8 << 10 };
  str rest = str_from(text, text.n > TAIL_BYTES ? text.n - TAIL_BYTES : 0), found = STR_NONE;
  if (rest.n < text.n) measure_next_line(&rest);
  while (rest.n) {
    str time = content_log_time(measure_next_line(&rest));
    if (time.n) found = time;
  }
  return found;
}

void summary_look_log(struct summary *s) {
  struct journal *j = ARENA_NEW(s->a, struct journal);
  s->found = j;
  for (str rest = s->text; rest.n; j->lines++) {
    str line = measure_next_line(&rest);
    enum line_level level = content_log_level(line);
    ASSERT(level <= LINE_ERROR);
    j->levels[level]++;
    if (level == LINE_ERROR) add_failure(j, line);
    if (!j->since.n) j->since = content_log_time(line);
  }
  j->until = last_time(s->text);
  if (j->levels[LINE_ERROR]) summary_add_fact(s, "errors: %zu", j->levels[LINE_ERROR]);
  if (j->levels[LINE_WARN]) summary_add_fact(s, "warnings: %zu", j->levels[LINE_WARN]);
  summary_add_fact(s, "lines: %zu", j->lines);
  if (j->failure_count) {
    size_t near = j->failures[0].number, from = near > 5 ? near - 5 : 0;
    summary_add_view(s, "around the first error", "{\"type\":\"lines\",\"start\":%zu,\"end\":%zu}", from, near + 15);
  }
  summary_add_view(s, "the end", "{\"type\":\"lines\",\"start\":-40}");
}

// ---- writing ----

static void write_levels(const struct journal *j, struct brief *b) {
  static const char *const names[] = {"no level", "debug", "info", "warnings", "errors"};
  struct brief_list list;
  brief_list_begin(&list, b, 60, STR("levels: "));
  for (int level = LINE_ERROR; level >= 0; level--) {
    if (!j->levels[level]) continue;
    buf_printf(brief_list_item(&list), "%zu %s", j->levels[level], names[level]);
    brief_list_item_end(&list);
  }
  brief_list_end(&list, b);
}

static void write_failures(const struct journal *j, struct brief *b, size_t tokens) {
  struct brief share = brief_share(b, tokens);
  size_t at = 0, left = j->others;
  if (!j->failure_count) return;
  brief_line(&share, STR("errors, each once:"));
  for (; at < j->failure_count; at++) {
    const struct failure *f = &j->failures[at];
    size_t begin = brief_begin(&share);
    buf_printf(share.out, "line %zu", f->number);
    if (f->count > 1) buf_printf(share.out, ", %zu times", f->count);
    buf_str(share.out, STR(": "));
    brief_cell(share.out, f->line, FAILURE_CHARS);
    if (!brief_end(&share, begin)) break;
  }
  for (size_t i = at; i < j->failure_count; i++) left += j->failures[i].count;
  if (left) brief_printf(&share, "… %zu more", left);
  brief_take_back(b, &share);
}

void summary_write_log(const struct summary *s, struct brief *b) {
  const struct journal *j = s->found;
  struct brief_size size;
  brief_printf(b, "%s of %zu lines, %s%s%.*s%s%.*s", s->content.what, j->lines, brief_size_of(s->text.n, &size),
               j->since.n ? ", from " : "", STR_ARG(j->since), j->since.n && j->until.n ? " to " : "",
               STR_ARG(j->until));
  write_levels(j, b);
  write_failures(j, b, b->left * 5 / 9);
  if (brief_line(b, STR("first and last lines:"))) summary_write_ends(s, b);
}

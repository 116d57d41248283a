// SPDX-License-Identifier: Apache-2.0
// Logs and what programs print: how grave, since when, and the errors first, each once.
#include "base/ascii.h"
#include "base/crypto/hash.h"
#include "result/summary/summary_impl.h"
#include "result/text_cut.h"

enum {
  GROUPS = 24,          // errors that are told apart
  SEEN = 256,           // slots to find them by
  MESSAGE_BYTES = 160,  // of an error that are compared
  COMPARED = 50000,     // lines that are looked for among those seen
};

struct failure {
  uint64_t key;
  str line;
  size_t count, number;  // how often, and where first, from 0
};

struct journal {
  size_t lines;
  size_t levels[LINE_LEVELS];
  str since, until;
  struct failure failures[GROUPS];
  size_t failure_count, compared;
  size_t others;        // errors beyond those
  uint16_t seen[SEEN];  // index into failures + 1
};

// ---- the same error ----

// Without its time and with every number the same.
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

static struct failure *find_failure(struct journal *j, uint64_t key, size_t *out_slot) {
  size_t slot = (size_t)(key >> 32) % SEEN;
  for (; j->seen[slot]; slot = (slot + 1) % SEEN)
    if (j->failures[j->seen[slot] - 1].key == key) return &j->failures[j->seen[slot] - 1];
  *out_slot = slot;
  return NULL;
}

static void note_failure(struct journal *j, str line) {
  size_t slot = 0;
  if (j->compared++ >= COMPARED) {
    j->others++;
    return;
  }
  uint64_t key = key_of(line);
  struct failure *f = find_failure(j, key, &slot);
  if (f) {
    f->count++;
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

static void read_line(struct journal *j, str line) {
  enum line_level level = content_log_level(line);
  j->levels[level]++;
  if (level == LINE_ERROR) note_failure(j, line);
  if (!j->since.n) j->since = content_log_time(line);
  j->lines++;
}

void summary_look_log(struct summary *s) {
  struct journal *j = ARENA_NEW(s->a, struct journal);
  s->found = j;
  for (str rest = s->text; rest.n;) read_line(j, measure_next_line(&rest));
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

// ---- what is written ----

static void write_levels(const struct journal *j, struct brief *b) {
  static const char *const names[] = {"no level", "debug", "info", "warnings", "errors"};
  struct brief_list list;
  brief_list_begin(&list, b, 60, STR("levels: "));
  for (int level = LINE_ERROR; level >= 0; level--) {
    if (!j->levels[level]) continue;
    struct buf item;
    buf_init(&item, 64);
    buf_printf(&item, "%zu %s", j->levels[level], names[level]);
    brief_list_add(&list, buf_view(&item));
    buf_done(&item);
  }
  brief_list_end(&list, b);
}

static bool write_failure(const struct failure *f, struct brief *b) {
  struct buf line;
  buf_init(&line, 4096);
  buf_printf(&line, "line %zu", f->number);
  if (f->count > 1) buf_printf(&line, ", %zu times", f->count);
  buf_str(&line, STR(": "));
  brief_cell(&line, f->line, 240);
  bool fits = brief_line(b, buf_view(&line));
  buf_done(&line);
  return fits;
}

static void write_failures(const struct journal *j, struct brief *b, size_t tokens) {
  struct brief share = {b->out, tokens < b->left ? tokens : b->left};
  size_t had = share.left, at = 0, left = j->others;
  if (!j->failure_count) return;
  brief_line(&share, STR("errors, each once:"));
  while (at < j->failure_count && write_failure(&j->failures[at], &share)) at++;
  for (size_t i = at; i < j->failure_count; i++) left += j->failures[i].count;
  if (left) brief_printf(&share, "… %zu more", left);
  b->left -= had - share.left;
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

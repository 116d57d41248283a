// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <time.h>

#include "app/cli/context/cmd_context.h"
#include "base/ascii.h"
#include "context/retrieve.h"
#include "json/write.h"

static const struct command command = {
    .usage = "[--context ID] [options]",
    .about = "Prints archived messages, one per line: {\"context\", \"number\", \"time\", \"message_id\",\n"
             "\"message\"}, and \"duplicate\": true for one that was printed before. The order is that of\n"
             "archiving, or with --search by similarity (\"score\").",
    .options = "145678cW",
};

// ---- times

static bool digits(str *s, size_t n, int *out) {
  ASSERT(n <= 9);  // nine digits fit in an int
  uint64_t v;
  if (s->n < n || !str_to_u64((str){s->p, n}, &v)) return false;
  *out = (int)v;
  *s = str_from(*s, n);
  return true;
}

static bool skip(str *s, char c) {
  if (!s->n || s->p[0] != c) return false;
  *s = str_from(*s, 1);
  return true;
}

// Parses a time zone, such as Z or +01:00. An empty text means Z.
static bool offset(str *s, int *out_minutes) {
  int hours, minutes, sign = s->n && s->p[0] == '-' ? -1 : 1;
  *out_minutes = 0;
  if (!s->n || skip(s, 'Z')) return true;
  if (!skip(s, '+') && !skip(s, '-')) return false;
  if (!digits(s, 2, &hours) || !skip(s, ':') || !digits(s, 2, &minutes)) return false;
  *out_minutes = sign * (60 * hours + minutes);
  return true;
}

// Parses a fraction of a second, such as .812, into milliseconds. Digits after the third are ignored.
static bool fraction(str *s, int *out_ms) {
  int digit, scale = 100;
  if (!skip(s, '.')) return true;
  if (!s->n || !digits(s, 1, &digit)) return false;
  do *out_ms += digit * scale, scale /= 10;
  while (s->n && ascii_is_digit(s->p[0]) && digits(s, 1, &digit));
  return true;
}

static bool clock_time(str *s, struct tm *tm, int *out_ms) {
  if (!s->n) return true;
  if (!skip(s, 'T') && !skip(s, ' ')) return false;
  if (!digits(s, 2, &tm->tm_hour) || !skip(s, ':') || !digits(s, 2, &tm->tm_min)) return false;
  if (skip(s, ':') && (!digits(s, 2, &tm->tm_sec) || !fraction(s, out_ms))) return false;
  return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

static bool read_time(const char *said, int64_t *out_ms) {
  struct tm tm = {0};
  str s = str_of(said);
  uint64_t seconds;
  int minutes, ms = 0;
  if (str_to_u64(s, &seconds)) {
    *out_ms = (int64_t)(seconds * 1000);
    return seconds < INT64_MAX / 1000;
  }
  if (!digits(&s, 4, &tm.tm_year) || !skip(&s, '-') || !digits(&s, 2, &tm.tm_mon) || !skip(&s, '-') ||
      !digits(&s, 2, &tm.tm_mday) || !clock_time(&s, &tm, &ms) || !offset(&s, &minutes) || s.n)
    return false;
  if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31) return false;
  tm.tm_year -= 1900;
  tm.tm_mon--;
  *out_ms = ((int64_t)timegm(&tm) - 60 * minutes) * 1000 + ms;
  return true;
}

// ---- the answer

static bool print(void *ctx, const struct retrieved *r) {
  const struct retrieve_order *order = ctx;
  struct arena a;
  struct buf out;
  arena_init(&a);
  buf_init(&out, r->message.n + 6 * (r->context.n + r->message_id.n) + 1024);
  struct json_writer w = json_writer(&out);
  json_begin_object(&w);
  json_member_str(&w, STR("context"), r->context);
  json_member_u64(&w, STR("number"), r->number);
  json_member_str(&w, STR("time"), str_of(context_time(r->time_ms).text));
  json_member_str(&w, STR("message_id"), r->message_id);
  if (r->duplicate) json_member_bool(&w, STR("duplicate"), true);
  if (order->search.n) {
    char score[512];  // has room for every double in decimal
    json_member_raw(&w, STR("score"), (str){score, (size_t)snprintf(score, sizeof score, "%.4f", r->score)});
  }
  json_member_raw(&w, STR("message"), json_compacted(&a, r->message));  // removes line breaks
  json_end_object(&w);
  buf_char(&out, '\n');
  ASSERT(!out.over);
  command_print_done(&out);
  arena_done(&a);
  return !ferror(stdout);
}

static const char *read_order(const struct context_arguments *said, struct retrieve_order *out) {
  uint64_t limit = 0;
  if (said->since && !read_time(said->since, &out->from_ms))
    return "--since must be a date, a time in RFC 3339, or seconds";
  if (said->until && !read_time(said->until, &out->until_ms))
    return "--until must be a date, a time in RFC 3339, or seconds";
  if (said->limit && (!str_to_u64(str_of(said->limit), &limit) || !limit)) return "--limit must be a number from 1 on";
  out->limit = limit;
  out->contains = str_of(said->contains ? said->contains : "");
  out->search = str_of(said->search ? said->search : "");
  return NULL;
}

int context_archive(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct retrieve_order order = {.context = STR("")};
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (args.context.context && !context_id(argv[0], args.context.context, &order.context, &status)) return status;
  const char *wrong = read_order(&args.context, &order);
  if (wrong) return command_misused(argv[0], wrong);
  if (!context_open(&place, &args.config, &status)) return status;
  order.store = place.store;
  status = retrieve(&order, print, &order, &f) ? EXIT_OK : context_failed(&f);
  context_close(&place);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/cli/context/cmd_context.h"
#include "context/retrieve.h"
#include "json/write.h"

static const struct command command = {
    .usage = "[--context ID] [options]",
    .about = "Prints archived messages, one per line: {\"context\", \"number\", \"time\", \"message_id\",\n"
             "\"message\"}, and \"duplicate\": true for one that was printed before. The order is that of\n"
             "archiving, or with --search by similarity (\"score\").",
    .options = "145678cW",
};

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
  json_member_raw(&w, STR("message"), json_compacted(&a, r->message));  // compacted: without line breaks
  json_end_object(&w);
  buf_char(&out, '\n');
  ASSERT(!out.over);
  command_print_done(&out);
  arena_done(&a);
  return !ferror(stdout);
}

static const char *read_order(const struct context_arguments *said, struct retrieve_order *out) {
  uint64_t limit = 0;
  if (said->since && !command_time(said->since, &out->from_ms))
    return "--since must be a date, a time in RFC 3339, or seconds";
  if (said->until && !command_time(said->until, &out->until_ms))
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

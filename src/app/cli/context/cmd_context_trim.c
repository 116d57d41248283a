// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/cli/context/cmd_context.h"

static const struct command command = {
    .usage = "--context ID --limit N [FILE | -] [options]",
    .about = "Moves the oldest turns of a conversation to the archive until the rest is within the\n"
             "limit, and prints the rest. Turns are removed only when they are durably archived; a\n"
             "call and its replies stay together. Without a file, trims the conversation that is\n"
             "saved under ID.",
    .options = "123cWj",
    .max = 1,
};

struct context_trim {
  struct arena arena;
  struct context_place place;
  struct trim_order order;
  struct conversation conversation;
  struct trimmed trimmed;
  bool saved;  // the conversation was loaded from the store, not from a file
};

static bool load_saved(struct context_trim *w, int *out_status) {
  struct fault f;
  str text;
  const struct json *root = NULL;
  if (conversation_load(w->place.store, w->order.context, &w->arena, &text, &f))
    root = json_parse(&w->arena, text, &json_default_limits, &f);
  else if (f.code == FAULT_NOT_FOUND)
    fault_set(&f, FAULT_NOT_FOUND, "no conversation is saved under the id \"%.*s\"", STR_ARG(w->order.context));
  if (root && conversation_read(root, &w->arena, &w->conversation, &f)) return true;
  *out_status = context_failed(&f);
  return false;
}

static void print_summary(const struct context_trim *w) {
  const struct trimmed *t = &w->trimmed;
  printf("{\"moved\":%zu,\"archived\":%zu,\"size\":%zu,\"over\":%s}\n", t->moved, t->added, t->size,
         t->over ? "true" : "false");
}

static int trim(struct context_trim *w, bool json) {
  struct fault f;
  ASSERT(w->place.store && w->order.context.n);
  w->order.store = w->place.store;
  if (!conversation_trim(&w->order, &w->conversation, &w->arena, &w->trimmed, &f)) return context_failed(&f);
  const struct trimmed *t = &w->trimmed;
  if (w->saved && t->moved && !conversation_save(w->place.store, w->order.context, t->text, &f))
    return context_failed(&f);
  if (json) print_summary(w);
  else command_print(t->text);
  if (t->over) fputs("toolgate: the last turn alone is over the limit and was not moved\n", stderr);
  return EXIT_OK;
}

static int run(struct context_trim *w, const struct arguments *args) {
  int status;
  str text;
  w->saved = !args->operand_count;
  if (!w->saved && !context_read_conversation(args->operands[0], &w->arena, &w->conversation, &text, &status))
    return status;
  if (!context_open(&w->place, &args->config, &status)) return status;
  if (!w->saved || load_saved(w, &status)) status = trim(w, args->json);
  context_close(&w->place);
  return status;
}

int context_trim(int argc, char **argv) {
  struct arguments args = {0};
  struct context_trim w = {0};
  uint64_t limit;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  const struct context_arguments *said = &args.context;
  if (!said->context || !said->limit) return command_misused(argv[0], "give --context and --limit");
  if (!context_id(argv[0], said->context, &w.order.context, &status)) return status;
  if (!str_to_u64(str_of(said->limit), &limit) || limit > SIZE_MAX)
    return command_misused(argv[0], "--limit must be a number of tokens");
  w.order.limit = limit;
  w.order.estimated = said->estimate;
  arena_init(&w.arena);
  status = run(&w, &args);
  arena_done(&w.arena);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Saves and loads whole conversations by their ids: the commands save, load, swap and saved.
#include <stdio.h>

#include "app/cli/context/cmd_context.h"
#include "json/write.h"

enum { MOST_LISTED = 10000 };

static const struct command save_command = {
    .usage = "ID [FILE | -] [options]",
    .about = "Saves a conversation (from standard input, without a file) under an id, and replaces\n"
             "the one that was saved under it. Exit code 0: the whole conversation is on disk.",
    .options = "cW",
    .min = 1,
    .max = 2,
    .missing = "give the id of a conversation",
};

static const struct command load_command = {
    .usage = "ID [options]",
    .about = "Prints the conversation that is saved under an id, byte for byte.",
    .options = "cW",
    .min = 1,
    .max = 1,
    .missing = "give the id of a conversation",
};

static const struct command swap_command = {
    .usage = "ID OTHER [FILE | -] [options]",
    .about = "Saves the current conversation (from standard input, without a file) under ID, and then\n"
             "prints the one that is saved under OTHER, or an empty conversation.",
    .options = "cW",
    .min = 2,
    .max = 3,
    .missing = "give the ids of the current and of the next conversation",
};

static const struct command saved_command = {
    .usage = "[options]",
    .about = "Lists the ids of the saved conversations, one per line.",
    .options = "cW",
};

static int load(struct store *s, str id, struct arena *a, bool or_empty) {
  struct fault f;
  str text;
  if (conversation_load(s, id, a, &text, &f)) {
    command_print(text);
    return EXIT_OK;
  }
  if (f.code != FAULT_NOT_FOUND) return context_failed(&f);
  if (or_empty) {
    printf("{\"context_id\":%.*s,\"messages\":[]}\n", STR_ARG(json_escaped(a, id)));
    return EXIT_OK;
  }
  fault_set(&f, FAULT_NOT_FOUND, "no conversation is saved under the id \"%.*s\"", STR_ARG(id));
  return context_failed(&f);
}

// Saves a conversation under `id`, and then prints the one saved under `next` unless `next` is STR_NONE.
static int keep(const struct arguments *args, str id, str next, const char *path, struct arena *a) {
  struct context_place place;
  struct conversation c;
  struct fault f;
  str text;
  int status;
  if (!context_read_conversation(path, a, &c, &text, &status)) return status;
  if (!context_open(&place, &args->config, &status)) return status;
  if (!conversation_save(place.store, id, text, &f)) status = context_failed(&f);
  else if (next.p) status = load(place.store, next, a, true);
  else status = EXIT_OK;
  context_close(&place);
  return status;
}

int context_save(int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  str id;
  if (!command_parse(&save_command, argc, argv, &args, &status)) return status;
  if (!context_id(argv[0], args.operands[0], &id, &status)) return status;
  arena_init(&a);
  status = keep(&args, id, STR_NONE, args.operand_count > 1 ? args.operands[1] : NULL, &a);
  arena_done(&a);
  return status;
}

int context_swap(int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  str id, next;
  if (!command_parse(&swap_command, argc, argv, &args, &status)) return status;
  if (!context_id(argv[0], args.operands[0], &id, &status)) return status;
  if (!context_id(argv[0], args.operands[1], &next, &status)) return status;
  arena_init(&a);
  status = keep(&args, id, next, args.operand_count > 2 ? args.operands[2] : NULL, &a);
  arena_done(&a);
  return status;
}

int context_load(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct arena a;
  int status;
  str id;
  if (!command_parse(&load_command, argc, argv, &args, &status)) return status;
  if (!context_id(argv[0], args.operands[0], &id, &status)) return status;
  if (!context_open(&place, &args.config, &status)) return status;
  arena_init(&a);
  status = load(place.store, id, &a, false);
  arena_done(&a);
  context_close(&place);
  return status;
}

static int list(struct store *s, struct arena *a) {
  struct fault f;
  str *names;
  size_t count;
  if (!conversation_saved(s, MOST_LISTED, a, &names, &count, &f)) return context_failed(&f);
  for (size_t i = 0; i < count; i++) {
    command_print(names[i]);
    putchar('\n');
  }
  return EXIT_OK;
}

int context_saved(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct arena a;
  int status;
  if (!command_parse(&saved_command, argc, argv, &args, &status)) return status;
  if (!context_open(&place, &args.config, &status)) return status;
  arena_init(&a);
  status = list(place.store, &a);
  arena_done(&a);
  context_close(&place);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <unistd.h>

#include "app/cli/context/cmd_context.h"
#include "context/pack.h"

static const struct command command = {
    .usage = "--session FILE [options]",
    .about = "Prints a prompt made from the events of a session that matter most for the phase and\n"
             "the query, in the order of the session. The whole prompt, with labels, header and\n"
             "footer, has at most the given number of tokens (cl100k_base).",
    .options = "ePqBTHFfRxjcW",
};

enum { MOST_TAGS = 64 };

struct context_build {
  struct arena arena;
  struct buf session, header, footer;
  struct event_log log;
  struct pack_order order;
};

// ---- options

static bool read_tags(struct context_build *w, const char *said) {
  str rest = str_of(said), tag, *tags = ARENA_ARRAY(&w->arena, str, MOST_TAGS);
  while (rest.n) {
    str_cut(rest, ',', &tag, &rest);
    tag = str_trim(tag);
    if (tag.n && w->order.tag_count == MOST_TAGS) return false;
    if (tag.n) tags[w->order.tag_count++] = tag;
  }
  w->order.tags = tags;
  return true;
}

static const char *read_order(struct context_build *w, const struct context_arguments *args) {
  uint64_t budget;
  struct pack_order *o = &w->order;
  o->phase = PACK_ANSWER;
  o->floor = LEVEL_CONFIDENTIAL;
  o->query = str_of(args->query ? args->query : "");
  o->redact = args->redact;
  if (args->phase && !pack_phase_find(str_of(args->phase), &o->phase))
    return "--phase must be route, call, interpret or answer";
  if (args->floor && !context_floor(args->floor, &o->floor)) return CONTEXT_FLOOR_WRONG;
  if (args->budget) {
    if (!str_to_u64(str_of(args->budget), &budget) || !budget || budget > PACK_BUDGET_MAX)
      return "--budget must be a number of tokens from 1 to 1048576";
    o->budget = budget;
  }
  if (args->tags && !read_tags(w, args->tags)) return "--tags must be at most 64 tags, with commas between them";
  return NULL;
}

static int read_files(struct context_build *w, const struct arguments *all) {
  const struct context_arguments *args = &all->context;
  struct fault f;
  int status = context_read_session(all, &w->session);
  if (status != EXIT_OK) return status;
  if (!context_read_text(args->header, &w->header) || !context_read_text(args->footer, &w->footer)) return EXIT_CANNOT;
  w->order.header = buf_view(&w->header);
  w->order.footer = buf_view(&w->footer);
  w->order.log = &w->log;
  if (session_read(&w->arena, buf_view(&w->session), &session_default_limits, &w->log, &f)) return EXIT_OK;
  fprintf(stderr, "toolgate: %s: %s\n", args->session, f.message);
  return EXIT_NO;
}

// ---- the answer

// Returns an upper bound for the size of the answer. Escaping turns a byte into at most six; each event adds less than
// 1024 bytes.
static size_t room(const struct context_build *w, const struct pack *p) {
  return 6 * (p->prompt.n + w->session.n + w->order.query.n) + 1024 * p->count + (1 << 20);
}

static void print_table(const struct context_build *w, const struct pack *p, struct arena *a) {
  struct buf out;
  buf_init(&out, room(w, p));
  pack_put_table(&out, p, a);
  fwrite(out.p, 1, out.n, stderr);
  buf_done(&out);
}

static void print_pack(const struct context_build *w, const struct pack *p, bool explain) {
  struct buf out;
  buf_init(&out, room(w, p));
  struct json_writer writer = json_writer(&out);
  pack_put(&writer, &w->order, p, explain);
  buf_char(&out, '\n');
  command_print_done(&out);
}

// Returns true if no event was included and at least one was over the budget.
static bool has_nothing(const struct pack *p) {
  return !p->fates[PACK_INCLUDED] && p->fates[PACK_OVER_BUDGET];
}

static size_t smallest(const struct pack *p) {
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i].fate == PACK_OVER_BUDGET && p->items[i].alone < least) least = p->items[i].alone;
  ASSERT(least != SIZE_MAX);  // this is called only if some event is over the budget
  return least;
}

static int build(struct context_build *w, const struct arguments *args) {
  struct pack p;
  struct fault f;
  if (!pack_build(&w->order, &w->arena, &p, &f)) {
    return command_failed(&f, EXIT_NO);
  }
  if (args->json) {
    print_pack(w, &p, args->context.explain);
    return EXIT_OK;
  }
  if (has_nothing(&p))
    fprintf(stderr, "toolgate: no event of the session fits into the budget of %zu tokens: the smallest has %zu\n",
            p.budget, smallest(&p));
  command_print(p.prompt);
  // Ends the line on a terminal only: in a file, the newline would add a token to the prompt.
  if (p.prompt.n && isatty(STDOUT_FILENO)) putchar('\n');
  if (args->context.explain) print_table(w, &p, &w->arena);
  return has_nothing(&p) && !p.prompt.n ? EXIT_NO : EXIT_OK;
}

int context_build(int argc, char **argv) {
  struct arguments args = {0};
  struct context_build w = {0};
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!args.context.session) return command_misused(argv[0], "give --session");
  arena_init(&w.arena);
  const char *wrong = read_order(&w, &args.context);
  if (wrong) status = command_misused(argv[0], wrong);
  else status = read_files(&w, &args);
  if (!wrong && status == EXIT_OK) status = build(&w, &args);
  buf_done(&w.session);
  buf_done(&w.header);
  buf_done(&w.footer);
  arena_done(&w.arena);
  return status;
}

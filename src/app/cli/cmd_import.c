// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/clients/takeover.h"

static const struct command command = {
    .usage = "[CLIENT] [options]",
    .about = "Copies the servers of other clients into Toolgate's own file of servers. Does not\n"
             "change the files of the clients; `toolgate connect` does. Without CLIENT, copies from\n"
             "all clients:\n\n"
             "  claude-code claude-desktop cursor vscode windsurf gemini codex opencode zed",
    .options = "wGj",
    .max = 1,
};

// Copies the servers of one client. If a file of the client cannot be read, prints the reason and returns false.
static bool import_client(struct takeover *t, enum client_id id, const char *name) {
  struct client_place *places;
  size_t n = client_places(t->world, id, &places);
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    struct client_file file;
    struct fault f;
    if (client_file_open(&file, t->world, &places[i], &f)) {
      takeover_place(t, &places[i], &file);
    } else {
      bool said = i && str_eq(places[i].file, places[i - 1].file);
      if (!said) takeover_complain(name, places[i].file, &f);
      ok = false;
    }
  }
  return ok;
}

static void print_summary(const struct takeover *t, const struct arguments *args) {
  size_t added = takeover_added(t), all = own_servers_count(&t->own);
  if (!t->places) printf("no servers found\n");
  else
    printf("%zu server%s %s %.*s (%zu in all)\n", added, added == 1 ? "" : "s",
           args->dry_run ? "would be added to" : "added to", STR_ARG(t->own.disk.path), all);
}

static void print_json(const struct takeover *t, const struct arguments *args) {
  struct buf b;
  buf_init(&b, TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("mcp_config"), t->own.disk.path);
  json_member_bool(&w, STR("dry_run"), args->dry_run);
  takeover_put(t, &w);
  json_end_object(&w);
  buf_char(&b, '\n');
  command_print_done(&b);
}

static int run(struct takeover *t, const struct client *only, const struct arguments *args, const char *name) {
  struct fault f;
  bool ok = true;
  for (int i = 0; i < CLIENTS; i++)
    if (!only || only == &clients[i]) ok &= import_client(t, (enum client_id)i, name);
  if (takeover_added(t) && !args->dry_run && !own_servers_write(&t->own, &f)) {
    takeover_complain(name, t->own.disk.path, &f);
    return EXIT_CANNOT;
  }
  if (args->json) {
    print_json(t, args);
  } else {
    takeover_print(t);
    print_summary(t, args);
  }
  return ok && t->places ? EXIT_OK : EXIT_NO;
}

int cmd_import(int argc, char **argv) {
  struct arguments args = {0};
  struct client_world w;
  struct takeover t;
  struct arena a;
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  const struct client *only = args.operand_count ? client_named(str_of(args.operands[0])) : NULL;
  if (args.operand_count && !only) {
    char unknown[CLIENT_UNKNOWN];
    client_unknown(args.operands[0], unknown);
    return command_misused(argv[0], unknown);
  }
  arena_init(&a);
  status = EXIT_NO;
  if (!client_world_init(&w, &a, environ, &f)) {
    fprintf(stderr, "%s: %s\n", argv[0], f.message);
    status = EXIT_CANNOT;
  } else if (!takeover_open(&t, &w, args.config.mcp_config, &f)) {
    takeover_complain(argv[0], t.own.disk.path, &f);
  } else {
    status = run(&t, only, &args, argv[0]);
  }
  arena_done(&a);
  return status;
}

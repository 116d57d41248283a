// SPDX-License-Identifier: Apache-2.0
// Commands that change one server of the configured file: add, remove, enable, disable.
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/clients/takeover.h"
#include "app/config/config_load.h"
#include "io/http/http.h"

#define FILES \
  "The file is the one that `toolgate serve` reads here (--mcp-config, .mcp.json, ...), or\n" \
  "~/.config/toolgate/mcp.json if there is no such file. Comments and order stay; a running\n" \
  "gateway reloads the file."

static const struct command add_command = {
    .usage = "NAME (-- COMMAND [ARGUMENT...] | URL) [options]",
    .about = "Adds a server: a program to start, or a URL to reach.\n\n"
             "  toolgate add time -- uvx mcp-server-time\n"
             "  toolgate add docs https://docs.example/mcp --header 'Authorization: Bearer ${TOKEN}'\n\n" FILES,
    .options = "VIXmcj",
    .min = 2,
    .max = CONFIG_MAX_ARGS + 2,
    .missing = "give a name, and a URL or -- and a command",
};
static const struct command remove_command = {
    .usage = "NAME [options]",
    .about = "Removes a server.\n\n" FILES,
    .options = "mcj",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};
static const struct command enable_command = {
    .usage = "NAME [options]",
    .about = "Switches a disabled server on again.\n\n" FILES,
    .options = "mcj",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};
static const struct command disable_command = {
    .usage = "NAME [options]",
    .about = "Switches a server off: it stays in the file, with \"disabled\": true.\n\n" FILES,
    .options = "mcj",
    .min = 1,
    .max = 1,
    .missing = "give the name of a server",
};

// ---- entries

// Appends "K=V" or "K: V" as a member. Returns false if the pair has another form.
static bool put_pair(struct json_writer *w, struct arena *a, const char *pair, char separator) {
  str name, value;
  if (!str_cut(str_of(pair), separator, &name, &value) || !str_trim(name).n) return false;
  json_member_str(w, str_trim(name), separator == ':' ? str_trim(value) : arena_str(a, value));
  return true;
}

static bool put_pairs(struct json_writer *w, struct arena *a, const char *key, const char *const *pairs, size_t n,
                      char separator) {
  bool ok = n <= COMMAND_MOST_PAIRS;
  if (!n) return true;
  json_put_key(w, str_of(key));
  json_begin_object(w);
  for (size_t i = 0; ok && i < n; i++) ok = put_pair(w, a, pairs[i], separator);
  json_end_object(w);
  return ok;
}

static void put_program(struct json_writer *w, const struct arguments *args) {
  json_member_str(w, STR("command"), str_of(args->operands[1]));
  if (args->operand_count == 2) return;
  json_put_key(w, STR("args"));
  json_begin_array(w);
  for (size_t i = 2; i < args->operand_count; i++) json_put_str(w, str_of(args->operands[i]));
  json_end_array(w);
}

// Sets *out to the entry as JSON text. Returns the error in the command line, or NULL.
static const char *make_entry(const struct arguments *args, bool program, struct arena *a, str *out) {
  const struct file_arguments *files = &args->files;
  struct http_url url;
  struct buf b;
  ASSERT(args->operand_count >= 2);
  const char *wrong = config_name_wrong(str_of(args->operands[0]));
  bool variable = strstr(args->operands[1], "${") != NULL;
  if (wrong) return wrong;
  if (program && files->header_count) return "--header is for servers with a URL";
  if (!program && files->env_count) return "--env is for servers with a command";
  if (!program && (args->operand_count > 2 || !strstr(args->operands[1], "://")))
    return "the server must be a URL; for a command, write -- before it";
  if (!program && !variable && !http_url_parse(str_of(args->operands[1]), &url))
    return "the URL must be an absolute http:// or https:// URL without user and password";
  buf_init(&b, TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  if (program) put_program(&w, args);
  else json_member_str(&w, STR("url"), str_of(args->operands[1]));
  if (!put_pairs(&w, a, "env", files->env, files->env_count, '=')) wrong = "--env: give NAME=VALUE, at most 64 times";
  if (!put_pairs(&w, a, "headers", files->headers, files->header_count, ':'))
    wrong = "--header: give 'Name: value', at most 64 times";
  json_end_object(&w);
  *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return wrong;
}

// ---- changes

struct editing {
  const char *command;  // "toolgate add", for messages
  const struct arguments *args;
  str name;
  str entry;                 // for `add`: the new entry
  bool program;              // for `add`: the server is a program
  const char *done, *where;  // parts of the final message, such as "added" and "to"
  struct own_servers own;
};

// Makes the change. On failure prints the reason and returns false.
typedef bool edit(struct editing *e);

static bool must_be_there(const struct editing *e) {
  if (own_servers_find(&e->own, e->name)) return true;
  fprintf(stderr, "%s: %.*s has no server \"%s\"\n", e->command, STR_ARG(e->own.disk.path), e->args->operands[0]);
  return false;
}

static bool edit_add(struct editing *e) {
  ASSERT(e->entry.n);
  bool there = own_servers_find(&e->own, e->name) != NULL;
  if (there && !e->args->files.force) {
    fprintf(stderr, "%s: %.*s already has a server \"%s\"; --force replaces it\n", e->command,
            STR_ARG(e->own.disk.path), e->args->operands[0]);
    return false;
  }
  e->done = there ? "replaced" : "added";
  e->where = there ? "in" : "to";
  if (there) own_servers_remove(&e->own, e->name);
  own_servers_add(&e->own, e->name, e->entry);
  return true;
}

static bool edit_remove(struct editing *e) {
  if (!must_be_there(e)) return false;
  e->done = "removed";
  e->where = "from";
  own_servers_remove(&e->own, e->name);
  return true;
}

static bool switch_to(struct editing *e, bool on) {
  if (!must_be_there(e)) return false;
  e->done = on ? "enabled" : "disabled";
  e->where = "in";
  if (json_is(own_servers_find(&e->own, e->name), JSON_OBJECT)) {
    own_servers_switch(&e->own, e->name, on);
    return true;
  }
  fprintf(stderr, "%s: the entry of \"%s\" must be an object\n", e->command, e->args->operands[0]);
  return false;
}

static bool edit_enable(struct editing *e) {
  return switch_to(e, true);
}

static bool edit_disable(struct editing *e) {
  return switch_to(e, false);
}

static void print_done(const struct editing *e, bool changed, struct arena *a) {
  ASSERT(e->done && e->where);
  if (e->args->json)
    printf("{\"file\":%.*s,\"name\":%.*s,\"changed\":%s}\n", STR_ARG(json_escaped(a, e->own.disk.path)),
           STR_ARG(json_escaped(a, e->name)), changed ? "true" : "false");
  else if (changed || e->entry.n)
    printf("%s \"%s\" %s %.*s\n", e->done, e->args->operands[0], e->where, STR_ARG(e->own.disk.path));
  else printf("\"%s\" is already %s in %.*s\n", e->args->operands[0], e->done, STR_ARG(e->own.disk.path));
}

// Warns if the server's program does not exist. This is no error, because the program may be installed later.
static void warn_if_missing(const struct editing *e, struct arena *a) {
  ASSERT(e->program && e->args->operand_count >= 2);
  const struct file_arguments *files = &e->args->files;
  const char *command = e->args->operands[1];
  struct upstream_pair path = {.name = STR("PATH")};
  struct upstream_spec spec = {.env = &path};
  struct config_loader l = {.env = environ};
  for (size_t i = 0; i < files->env_count; i++) {
    if (strncmp(files->env[i], "PATH=", 5) != 0) continue;
    path.value = str_of(files->env[i] + 5);
    spec.env_count = 1;
  }
  if (strstr(command, "${") || (spec.env_count && strstr(path.value.p, "${"))) return;
  arena_init(&l.work);
  bool found = config_program_find(&l, &spec, str_of(command), str_of(dirname(arena_cstr(a, e->own.disk.path)))).n > 0;
  if (!found)
    fprintf(stderr, "%s: warning: the program \"%s\" was not found%s\n", e->command, command,
            strchr(command, '/') ? "" : " in PATH");
  arena_done(&l.work);
}

static int change_file(struct editing *e, edit *run, struct arena *a) {
  struct config_problems problems;
  struct fault f = {0};
  str path;
  config_problems_init(&problems);
  bool found = config_servers_file(&e->args->config, environ, a, &problems, &path);
  if (!found) command_print_problems(&problems);
  config_problems_done(&problems);
  if (!found) return EXIT_NO;
  if (!own_servers_open(&e->own, path, a, &f)) {
    takeover_complain(e->command, path, &f);
    return EXIT_NO;
  }
  if (!run(e)) return EXIT_NO;
  bool changed = !str_eq(e->own.text, e->own.disk.text);
  if (!own_servers_write(&e->own, &f)) {
    takeover_complain(e->command, path, &f);
    return EXIT_CANNOT;
  }
  print_done(e, changed, a);
  if (e->program) warn_if_missing(e, a);
  return EXIT_OK;
}

static int run(const struct command *c, edit *what, int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  bool program = false;
  for (int i = 1; i < argc; i++) program |= !strcmp(argv[i], "--");
  if (!command_parse(c, argc, argv, &args, &status)) return status;
  struct editing e = {.command = argv[0], .args = &args, .name = str_of(args.operands[0])};
  arena_init(&a);
  e.program = what == edit_add && program;
  const char *wrong = what == edit_add ? make_entry(&args, program, &a, &e.entry) : NULL;
  status = wrong ? command_misused(argv[0], wrong) : change_file(&e, what, &a);
  arena_done(&a);
  return status;
}

int cmd_add(int argc, char **argv) {
  return run(&add_command, edit_add, argc, argv);
}

int cmd_remove(int argc, char **argv) {
  return run(&remove_command, edit_remove, argc, argv);
}

int cmd_enable(int argc, char **argv) {
  return run(&enable_command, edit_enable, argc, argv);
}

int cmd_disable(int argc, char **argv) {
  return run(&disable_command, edit_disable, argc, argv);
}

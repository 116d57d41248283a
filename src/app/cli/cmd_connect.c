// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/clients/client_own.h"
#include "app/clients/connect_undo.h"
#include "app/clients/takeover.h"
#include "base/ascii.h"
#include "io/file.h"
#include "io/http/http.h"

static const struct command command = {
    .usage = "CLIENT [options]",
    .about = "Lets a client use Toolgate in place of its servers: moves the servers from the\n"
             "client's file to Toolgate's own, and writes an entry \"toolgate\" in their place. A\n"
             "backup is stored in the folder of the file; --undo restores it, byte for byte.\n\n"
             "  claude-code claude-desktop cursor vscode windsurf gemini codex opencode zed\n\n"
             "Some clients have a file in the project and one in the home folder. The one in the\n"
             "current folder is changed if it exists; --project and --user choose the file.",
    .options = "QUO%@wcuZXGj",
    .min = 1,
    .max = 1,
    .missing = "give the name of a client",
};

struct connecting {
  const char *name;  // "toolgate connect", for messages
  const struct arguments *args;
  const struct client *client;
  struct client_world world;
  struct client_place *places;
  size_t place_count;
  struct client_own own;  // content of Toolgate's entry
};

// ---- which file

static bool is_there(const struct connecting *c, const struct client_place *p) {
  struct stat st;
  return lstat(arena_cstr(c->world.arena, p->file), &st) == 0;  // lstat: a link exists even if its target is missing
}

// Returns the client's file in a scope: the first file that exists, or the first in the list if none exists. Returns
// NULL if the client has no file in this scope.
static const struct client_place *place_in(const struct connecting *c, enum client_scope scope) {
  const struct client_place *first = NULL;
  for (size_t i = 0; i < c->place_count; i++) {
    if (c->places[i].scope != scope) continue;
    if (is_there(c, &c->places[i])) return &c->places[i];
    if (!first) first = &c->places[i];
  }
  return first;
}

static const struct client_place *choose_place(const struct connecting *c) {
  const struct client_place *project = place_in(c, CLIENT_PROJECT), *user = place_in(c, CLIENT_USER);
  if (c->args->files.project) return project;
  if (c->args->files.user || !project) return user;
  return is_there(c, project) || !user ? project : user;
}

// ---- content of Toolgate's entry

static str absolute(const struct connecting *c, str path) {
  if (!path.n || path.p[0] == '/') return arena_str(c->world.arena, path);
  return arena_printf(c->world.arena, "%.*s/%.*s", STR_ARG(c->world.folder), STR_ARG(path));
}

// Finds the configuration and rules that apply in the current folder. Toolgate's entry must name these files, because
// the client may start Toolgate in another folder. If the configuration cannot be used, prints the reason, sets the
// exit code and returns false.
static bool find_files(struct connecting *c, int *out_status) {
  ASSERT(!c->own.url.n);  // a gateway at a URL has its own configuration files
  struct config_options opt = c->args->config;
  struct config config;
  struct config_problems problems;
  opt.transport = "stdio";
  opt.serverless = true;
  config_problems_init(&problems);
  bool ok = config_load(&config, &opt, environ, &problems);
  if (ok) {
    c->own.config = absolute(c, config.config_file);
    c->own.rules = config.rules_by_config ? STR_NONE : absolute(c, config.rules_file);
    c->own.transport = config.usual_transport == CONFIG_STDIO ? STR_NONE : STR("stdio");
  } else {
    command_print_problems(&problems);
    *out_status = config_problems_status(&problems);
  }
  c->own.config_said = opt.config != NULL;
  c->own.rules_said = opt.rules != NULL;
  config_problems_done(&problems);
  config_done(&config);
  return ok;
}

// ---- connecting

struct plan {
  struct takeover taking;
  struct client_file file;
  const struct client_place **places;  // all places in `file` where servers are listed
  size_t place_count;
  bool own_is_there;
  str own;   // Toolgate's entry for this client
  str next;  // new text of the file
  str backup;
};

// Returns whether `connect` removes an entry from the client's file: the server was moved to Toolgate's file, or the
// entry is an old entry of Toolgate itself.
static bool goes(void *ctx, const struct client_place *p, str name) {
  const struct plan *plan = ctx;
  const struct taken *it = takeover_find(&plan->taking, p, name);
  if (!it || it->status == TAKEOVER_REFUSED) return false;
  return it->status != TAKEOVER_OWN || !(plan->own_is_there && p == plan->places[0] && str_eq(name, STR("toolgate")));
}

static bool has_own(const struct plan *plan, const struct client_world *w) {
  struct fault f;
  const struct json *servers = client_servers(w, plan->places[0], plan->file.root);
  const struct json *now = json_get(servers, STR("toolgate"));
  return now && json_same(now, json_parse(w->arena, plan->own, &json_default_limits, &f));
}

// Finds the existing entry of Toolgate. If there are several, prefers the one named "toolgate". Returns NULL if there
// is none.
static const struct json *find_own(const struct plan *plan, const struct client_world *w) {
  const struct json *servers = client_servers(w, plan->places[0], plan->file.root), *found = NULL;
  for (const struct json *it = json_is(servers, JSON_OBJECT) ? json_first(servers) : NULL; it; it = it->next) {
    struct client_entry entry;
    client_entry_read(w, plan->places[0], json_key(it, w->arena), it, &entry);
    if (entry.own && (!found || json_key_is(it, STR("toolgate")))) found = it;
  }
  return found;
}

// Returns the path of Toolgate's file of servers: the file named on the command line, otherwise the file that the
// existing entry names. Returns NULL if neither names a file, or if the entry names the client's own file.
static const char *own_file(const struct connecting *c, const struct plan *plan, const struct json *now) {
  if (c->args->config.mcp_config) return c->args->config.mcp_config;
  str file = client_own_servers(c->world.arena, client_id(c->client), now);
  if (!file.n) return NULL;
  const char *path = arena_cstr(c->world.arena, file);
  return file_is_same(path, arena_cstr(c->world.arena, plan->file.disk.path)) ? NULL : path;
}

static bool make_plan(struct connecting *c, const struct client_place *target, struct plan *plan, struct fault *f) {
  struct client_world *w = &c->world;
  *plan = (struct plan){.places = ARENA_ARRAY(w->arena, const struct client_place *, c->place_count)};
  if (!client_file_open(&plan->file, w, target, f)) return false;
  for (size_t i = 0; i < c->place_count; i++)
    if (str_eq(c->places[i].file, target->file)) plan->places[plan->place_count++] = &c->places[i];
  ASSERT(plan->place_count > 0);  // the file of the target is always one of the places
  const struct json *now = find_own(plan, w);
  if (!takeover_open(&plan->taking, w, own_file(c, plan, now), f)) {
    fault_set_path(f, plan->taking.own.disk.path);
    return false;
  }
  c->own.mcp_config = plan->taking.own.disk.path;
  plan->own = client_own_entry(w->arena, target->client, &c->own, now);
  for (size_t i = 0; i < plan->place_count; i++) takeover_place(&plan->taking, plan->places[i], &plan->file);
  plan->own_is_there = has_own(plan, w);
  struct client_change change = {plan->places, plan->place_count, goes, plan,
                                 plan->own_is_there ? STR_NONE : plan->own};
  return client_file_changed(&plan->file, w, &change, &plan->next, f);
}

// Writes Toolgate's file before the client's file, so that no server is missing from both if a write fails.
static bool carry_out(struct connecting *c, struct plan *plan, struct fault *f) {
  ASSERT(!c->args->dry_run && plan->own.n);
  struct arena *a = c->world.arena;
  struct text_file *disk = &plan->file.disk;
  if (!own_servers_write(&plan->taking.own, f)) {
    fault_set_path(f, plan->taking.own.disk.path);
    return false;
  }
  return connect_backup(disk, plan->next, a, &plan->backup, f) && text_file_replace(disk, plan->next, a, f);
}

static size_t count_moved(const struct plan *plan) {
  size_t n = 0;
  for (size_t i = 0; i < plan->taking.count; i++) n += plan->taking.list[i].status <= TAKEOVER_PRESENT;
  return n;
}

static void print_connected(const struct connecting *c, const struct plan *plan, bool changed) {
  const char *file = plan->file.disk.path.p, *title = c->client->title;
  bool dry = c->args->dry_run;
  size_t moved = count_moved(plan);
  takeover_print(&plan->taking);
  if (!changed) {
    printf("%s is already connected: %s needs no change\n", title, file);
    return;
  }
  if (moved)
    printf("%zu server%s %s %.*s\n", moved, moved == 1 ? "" : "s", dry ? "would move to" : "moved to",
           STR_ARG(plan->taking.own.disk.path));
  printf("%s %s the entry \"toolgate\"\n", file, dry ? "would get" : "has");
  if (!c->own.url.n && c->own.config.n) printf("  with the configuration %.*s\n", STR_ARG(c->own.config));
  if (!c->own.url.n && c->own.rules.n) printf("  with the rules %.*s\n", STR_ARG(c->own.rules));
  if (dry) return;
  printf("undo with: toolgate connect %s --undo\n", c->client->name);
  if (c->own.token_env.n)
    printf("set %.*s in the environment of %s to a token: toolgate token new\n", STR_ARG(c->own.token_env), title);
  printf("restart %s to use it\n", title);
}

static void put_connected(const struct connecting *c, const struct plan *plan, bool changed) {
  struct buf b;
  buf_init(&b, 2 * TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("client"), str_of(c->client->name));
  json_member_str(&w, STR("file"), plan->file.disk.path);
  json_member_str(&w, STR("mcp_config"), plan->taking.own.disk.path);
  json_member_raw(&w, STR("entry"), plan->own);
  json_member_bool(&w, STR("changed"), changed);
  json_member_bool(&w, STR("dry_run"), c->args->dry_run);
  if (plan->backup.n) json_member_str(&w, STR("backup"), plan->backup);
  takeover_put(&plan->taking, &w);
  json_end_object(&w);
  buf_char(&b, '\n');
  command_print_done(&b);
}

// Lists other files of the client that still contain servers: the client uses those servers without Toolgate.
static void name_others(const struct connecting *c, const struct client_place *target) {
  for (size_t i = 0; i < c->place_count; i++) {
    const struct client_place *p = &c->places[i];
    struct client_file file;
    struct client_entry *entries;
    struct fault f;
    if (str_eq(p->file, target->file) || !client_file_open(&file, &c->world, p, &f)) continue;
    size_t n = client_file_entries(&file, &c->world, p, &entries), left = 0;
    for (size_t k = 0; k < n; k++) left += !entries[k].own;
    if (left)
      fprintf(stderr, "%s: %.*s has %zu more server%s; toolgate connect %s --%s moves %s\n", c->name, STR_ARG(p->file),
              left, left == 1 ? "" : "s", c->client->name, p->scope == CLIENT_USER ? "user" : "project",
              left == 1 ? "it" : "them");
  }
}

static int connect_client(struct connecting *c, const struct client_place *target) {
  struct plan plan;
  struct fault f = {0};
  bool planned = make_plan(c, target, &plan, &f);
  bool changed = planned && !(plan.file.disk.exists && str_eq(plan.next, plan.file.disk.text));
  if (!planned || (changed && !c->args->dry_run && !carry_out(c, &plan, &f))) {
    bool other = f.path[0] == '/';
    takeover_complain(c->name, other ? str_of(f.path) : target->file, &f);
    return planned ? EXIT_CANNOT : EXIT_NO;
  }
  if (c->args->json) put_connected(c, &plan, changed);
  else print_connected(c, &plan, changed);
  name_others(c, target);
  return EXIT_OK;
}

// ---- undoing

// Prints the result of `connect --undo` for one file and returns the exit code.
static int report_undo(const struct connecting *c, const struct client_place *p, enum connect_undo how,
                       const struct fault *f) {
  struct fault changed;
  ASSERT(how != CONNECT_FAILED || *f->message);
  fault_set(&changed, FAULT_INVALID,
            "the file was changed after `toolgate connect`; --force restores the earlier servers, not the rest");
  if (how == CONNECT_CHANGED || how == CONNECT_FAILED)
    takeover_complain(c->name, p->file, how == CONNECT_CHANGED ? &changed : f);
  else if (how == CONNECT_UNDONE && !c->args->json)
    printf("%.*s %s %s\n", STR_ARG(p->file), c->args->dry_run ? "would be" : "is",
           c->args->files.force ? "disconnected, with its previous servers" : "restored");
  return how == CONNECT_FAILED ? EXIT_CANNOT : how == CONNECT_CHANGED ? EXIT_NO : EXIT_OK;
}

static enum connect_undo undo_file(struct connecting *c, const struct client_place *p, struct fault *f) {
  struct client_world *w = &c->world;
  struct text_file t;
  const struct client_place **places = ARENA_ARRAY(w->arena, const struct client_place *, c->place_count);
  struct connect_undoing how = {w, places, 0, c->args->files.force, c->args->dry_run};
  for (size_t i = 0; i < c->place_count; i++)
    if (str_eq(c->places[i].file, p->file)) places[how.place_count++] = &c->places[i];
  ASSERT(how.place_count > 0 && how.place_count <= c->place_count);
  if (!text_file_open(&t, p->file, w->arena, f)) return CONNECT_FAILED;
  return connect_undo(&t, &how, f);
}

// Runs `connect --undo`: restores all files in the chosen scope, or in both scopes.
static int undo_client(struct connecting *c) {
  const struct file_arguments *args = &c->args->files;
  size_t undone = 0;
  int status = EXIT_OK;
  for (size_t i = 0; i < c->place_count; i++) {
    const struct client_place *p = &c->places[i];
    struct fault f = {0};
    bool other = (args->project && p->scope != CLIENT_PROJECT) || (args->user && p->scope != CLIENT_USER);
    if (other || (i && str_eq(c->places[i - 1].file, p->file))) continue;
    enum connect_undo how = undo_file(c, p, &f);
    undone += how == CONNECT_UNDONE;
    int one = report_undo(c, p, how, &f);
    if (one > status) status = one;
  }
  if (c->args->json) printf("{\"client\":\"%s\",\"undone\":%zu}\n", c->client->name, undone);
  if (undone || status != EXIT_OK) return status;
  fprintf(stderr, "%s: %s is not connected: there is no backup to restore\n", c->name, c->client->title);
  return EXIT_NO;
}

static bool is_variable(str name) {
  for (size_t i = 0; i < name.n; i++)
    if (name.p[i] != '_' && !ascii_is_letter(name.p[i]) && !(i && ascii_is_digit(name.p[i]))) return false;
  return name.n > 0;
}

// Returns an error message if --http, --agent or --token-env is wrong, otherwise NULL.
static const char *misuse(const struct connecting *c) {
  const struct client_own *own = &c->own;
  struct client_own bare = *own;
  struct http_url url;
  bare.token_env = STR_NONE;
  const char *token = c->args->files.token_env;
  if (c->args->files.http && !http_url_parse(own->url, &url)) return "--http: give a URL";
  if (!client_own_entry(c->world.arena, client_id(c->client), &bare, NULL).n)
    return "--http: this client cannot connect to a URL";
  if (own->url.n && own->agent.n)
    return "--agent: cannot be used with --http: make a token with `toolgate token new --agent AGENT` and name the "
           "variable that holds it with --token-env";
  if (token && !own->url.n) return "--token-env: can only be used with --http";
  if (token && !is_variable(own->token_env)) return "--token-env: give the name of a variable, such as TOOLGATE_TOKEN";
  if (token && !client_own_takes_token(client_id(c->client)))
    return "--token-env: the settings of this client cannot refer to a variable";
  return NULL;
}

static int run(struct connecting *c) {
  struct fault f;
  int status;
  if (!client_world_init(&c->world, c->world.arena, environ, &f)) {
    fprintf(stderr, "%s: %s\n", c->name, f.message);
    return EXIT_CANNOT;
  }
  c->place_count = client_places(&c->world, client_id(c->client), &c->places);
  const struct client_place *target = choose_place(c);
  if (c->args->files.project && c->args->files.user)
    return command_misused(c->name, "give --project or --user, not both");
  if (!target && c->args->files.project)
    return command_misused(c->name, "this client has no project file: omit --project");
  if (!target) return command_misused(c->name, "this client has no file in the home folder: omit --user");
  c->own = (struct client_own){
      .program = client_own_program(c->world.arena, environ),
      .agent = str_of(c->args->config.agent),
      .url = str_of(c->args->files.http),
      .token_env = str_of(c->args->files.token_env),
  };
  const char *wrong = misuse(c);
  if (wrong) return command_misused(c->name, wrong);
  if (c->args->files.undo) return undo_client(c);
  return c->own.url.n || find_files(c, &status) ? connect_client(c, target) : status;
}

int cmd_connect(int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  struct connecting c = {.name = argv[0], .args = &args, .client = client_named(str_of(args.operands[0]))};
  if (!c.client) {
    char unknown[CLIENT_UNKNOWN];
    client_unknown(args.operands[0], unknown);
    return command_misused(argv[0], unknown);
  }
  arena_init(&a);
  c.world.arena = &a;
  status = run(&c);
  arena_done(&a);
  return status;
}

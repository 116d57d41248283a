// SPDX-License-Identifier: Apache-2.0
// The command token: creates, lists and revokes bearer tokens for agents over HTTP. A token is printed once; only its
// SHA-256 is stored.
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/clients/takeover.h"
#include "base/clock.h"
#include "base/crypto/locked.h"
#include "base/text/base64.h"

enum { SECRET_BYTES = 32, ID_BYTES = 4, TOKEN_ROOM = 128 };

#define FILES \
  "The file is auth.token_file of the configuration, or ~/.config/toolgate/tokens.json. A\n" \
  "running gateway reloads it. While the file exists, HTTP clients need a token."

static const struct command new_command = {
    .usage = "[options]",
    .about = "Creates a token, prints it, and writes its SHA-256 into a file. The token cannot be\n"
             "shown again.\n\n" FILES,
    .options = "gNcuj",
};
static const struct command list_command = {
    .usage = "[options]",
    .about = "Lists the tokens of the file: id, agent, time of creation, name.\n\n" FILES,
    .options = "cj",
};
static const struct command revoke_command = {
    .usage = "ID|NAME [options]",
    .about = "Revokes a token, by its id or its name.\n\n" FILES,
    .options = "cj",
    .min = 1,
    .max = 1,
    .missing = "give the id or the name of a token",
};

struct token_file {
  const char *command;  // "toolgate token new", for messages
  struct arena *arena;
  struct text_file disk;
  struct json_patch patch;
  const struct json *list;  // NULL if the file has no tokens
};

// Opens the token file. On failure prints the reason, sets *out_status to the exit code and returns false.
static bool open_file(struct token_file *t, const struct arguments *args, int *out_status) {
  struct config_problems problems;
  struct fault f = {0};
  str path = STR_NONE;
  *out_status = EXIT_NO;
  config_problems_init(&problems);
  bool found = config_token_file(&args->config, environ, t->arena, &problems, &path);
  if (!found) command_print_problems(&problems);
  config_problems_done(&problems);
  if (!found) return false;
  bool ok = text_file_open(&t->disk, path, t->arena, &f);
  if (ok && t->disk.text.n) {
    ok = json_patch_init(&t->patch, t->arena, t->disk.text, &json_default_limits, &f);
    t->list = ok ? json_get(t->patch.root, STR("tokens")) : NULL;
    if (ok && !json_is(t->list, JSON_ARRAY)) {
      fault_set(&f, FAULT_INVALID, "the file must be an object with a list \"tokens\"");
      ok = false;
    }
  }
  if (!ok) takeover_complain(t->command, path, &f);
  return ok;
}

// Returns whether the list contains comments, which would be lost because write_file replaces the whole list.
static bool has_comments(const struct token_file *t) {
  str list = json_span(t->list);
  // the texts are equally long, because `relaxed` has blanks in place of comments
  ASSERT(t->patch.text.n == t->patch.relaxed.n);
  ASSERT(list.p >= t->patch.relaxed.p && list.p + list.n <= t->patch.relaxed.p + t->patch.relaxed.n);
  const char *text = t->patch.text.p + (list.p - t->patch.relaxed.p);
  for (size_t i = 0; i < list.n; i++)
    if (text[i] != list.p[i] && text[i] != ',') return true;
  return false;
}

// Returns a copy of the list, without the token `without` (may be NULL) and with the token `more` (may be empty).
static str make_list(const struct token_file *t, const struct json *without, str more) {
  struct buf b;
  buf_init(&b, 2 * TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (const struct json *it = t->list ? json_first(t->list) : NULL; it; it = it->next)
    if (it != without) json_put_raw(&w, json_span(it));
  if (more.n) json_put_raw(&w, more);
  json_end_array(&w);
  ASSERT(!b.over);
  str list = arena_str(t->arena, buf_view(&b));
  buf_done(&b);
  return list;
}

// Replaces the list of tokens and leaves the rest of the file unchanged. A new file contains only the list.
static bool write_file(struct token_file *t, const struct json *without, str more, struct fault *f) {
  ASSERT((without != NULL) != (more.n > 0));
  if (t->list && has_comments(t)) {
    fault_set(f, FAULT_INVALID, "the list \"tokens\" has comments, which would be lost: move them out of the list");
    return false;
  }
  if (more.n && t->list && t->list->count >= CONFIG_MAX_TOKENS) {
    fault_set(f, FAULT_LIMIT, "the file contains %zu tokens, which is the limit: revoke one", (size_t)t->list->count);
    return false;
  }
  if (!t->list) {
    bool ok = json_patch_init(&t->patch, t->arena, STR("{\n  \"tokens\": []\n}\n"), &json_default_limits, f);
    ASSERT(ok);
  }
  json_patch_replace(&t->patch, json_get(t->patch.root, STR("tokens")), make_list(t, without, more));
  str text = json_patch_apply(&t->patch);
  if (more.n && text.n > CONFIG_MAX_FILE) {
    fault_set(f, FAULT_LIMIT, "the file would be larger than %d bytes, which is the limit: revoke a token",
              CONFIG_MAX_FILE);
    return false;
  }
  return text_file_replace(&t->disk, text, t->arena, f);
}

// Returns the exit code for a failed write_file: EXIT_CANNOT if the system refused the write, EXIT_NO if the content of
// the file prevents it.
static int exit_of(const struct fault *f) {
  return f->code == FAULT_IO ? EXIT_CANNOT : EXIT_NO;
}

// ---- output of tokens

static str text_of(const struct token_file *t, const struct json *token, const char *key) {
  str text = STR("");
  json_string(json_get(token, str_of(key)), t->arena, &text);
  return text;
}

static str id_of(const struct token_file *t, const struct json *token) {
  str hash = text_of(t, token, "sha256");
  return hash.n > 2 * ID_BYTES ? (str){hash.p, 2 * ID_BYTES} : hash;
}

static void put_members(struct json_writer *w, const struct token_file *t, const struct json *token) {
  static const char *const keys[] = {"agent", "name", "created"};
  json_member_str(w, STR("id"), id_of(t, token));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (json_get(token, str_of(keys[i]))) json_member_str(w, str_of(keys[i]), text_of(t, token, keys[i]));
}

// ---- new

static void make_token(struct buf *out) {
  unsigned char secret[SECRET_BYTES];
  rand_fill(&rand_system, secret, sizeof secret);
  buf_str(out, STR("tg_"));
  base64_encode((str){(const char *)secret, sizeof secret}, BASE64_URL, out);
  explicit_bzero(secret, sizeof secret);
}

static str entry_of(struct arena *a, str token, const struct arguments *args) {
  unsigned char sha256[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1], now[CLOCK_TEXT];
  struct buf b;
  hash_sha256(token, sha256);
  hash_hex(sha256, SHA256_SIZE, hex);
  clock_print_second(clock_wall_ms(&clock_system), now);
  str agent = str_of(args->config.agent), name = str_of(args->files.name);
  buf_init(&b, 6 * (agent.n + name.n) + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("sha256"), str_of(hex));
  if (agent.p) json_member_str(&w, STR("agent"), agent);
  if (name.p) json_member_str(&w, STR("name"), name);
  json_member_str(&w, STR("created"), str_of(now));
  json_end_object(&w);
  ASSERT(!b.over);
  str entry = arena_str(a, buf_view(&b));
  buf_done(&b);
  return entry;
}

static void print_new(const struct token_file *t, const struct arguments *args, str token, str entry) {
  struct fault f;
  struct buf b;
  const struct json *made = json_parse(t->arena, entry, &json_default_limits, &f);
  ASSERT(made);
  str id = id_of(t, made);
  if (!args->json) {
    printf("%.*s\n", STR_ARG(token));
    fprintf(stderr, "token %.*s%s%s; its hash is in %.*s. It is not shown again.\n", STR_ARG(id),
            args->config.agent ? " of agent " : "", args->config.agent ? args->config.agent : "",
            STR_ARG(t->disk.path));
    return;
  }
  buf_init(&b, 2 * TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("token"), token);
  put_members(&w, t, made);
  json_member_str(&w, STR("file"), t->disk.path);
  json_end_object(&w);
  printf("%.*s\n", STR_ARG(buf_view(&b)));
  buf_done(&b);
}

// Returns whether another token has this name, and reports the error in this case. Names must be unique, because `token
// revoke` accepts a name.
static bool is_name_taken(const struct token_file *t, const char *name) {
  for (const struct json *it = t->list && name ? json_first(t->list) : NULL; it; it = it->next) {
    if (!str_eq(text_of(t, it, "name"), str_of(name))) continue;
    fprintf(stderr, "%s: %.*s has a token of this name: choose another name, or `toolgate token revoke %.*s`\n",
            t->command, STR_ARG(t->disk.path), STR_ARG(id_of(t, it)));
    return true;
  }
  return false;
}

// Warns if no rule names the agent. The token is created anyway, because the rules may change later, or the gateway may
// use other rules.
static void check_agent(const struct token_file *t, const struct arguments *args) {
  struct config_options opt = args->config;
  struct config_problems problems;
  struct config config;
  const char *agent = opt.agent;
  opt.agent = NULL;
  opt.transport = "stdio";
  opt.serverless = true;
  config_problems_init(&problems);
  bool ok = config_load(&config, &opt, environ, &problems);
  if (ok && config.policy && !policy_find(config.policy, str_of(agent)))
    fprintf(stderr, "%s: warning: no rule of %.*s knows the agent \"%s\": it may use nothing\n", t->command,
            STR_ARG(config.rules_file), agent);
  config_problems_done(&problems);
  config_done(&config);
}

static int add_token(struct token_file *t, const struct arguments *args) {
  struct fault f = {0};
  struct buf token;
  if (is_name_taken(t, args->files.name)) return EXIT_NO;
  buf_init(&token, 256);
  buf_room(&token, TOKEN_ROOM);  // a growing buffer would leave a copy of the token in memory
  make_token(&token);
  ASSERT(token.n <= TOKEN_ROOM);
  str entry = entry_of(t->arena, buf_view(&token), args);
  bool ok = write_file(t, NULL, entry, &f);
  if (ok) print_new(t, args, buf_view(&token), entry);
  if (!ok) takeover_complain(t->command, t->disk.path, &f);
  else if (args->config.agent) check_agent(t, args);
  buf_wipe(&token);
  return ok ? EXIT_OK : exit_of(&f);
}

// ---- list, revoke

static int list_tokens(struct token_file *t, const struct arguments *args) {
  struct buf b;
  buf_init(&b, TEXT_FILE_MAX);
  struct json_writer w = json_writer(&b);
  if (args->json) json_begin_array(&w);
  for (const struct json *it = t->list ? json_first(t->list) : NULL; it; it = it->next) {
    if (args->json) {
      json_begin_object(&w);
      put_members(&w, t, it);
      json_end_object(&w);
    } else {
      buf_printf(&b, "%-10.*s%-24.*s  %-22.*s%.*s\n", STR_ARG(id_of(t, it)), STR_ARG(text_of(t, it, "agent")),
                 STR_ARG(text_of(t, it, "created")), STR_ARG(text_of(t, it, "name")));
    }
  }
  if (args->json) json_end_array(&w);
  if (args->json) buf_char(&b, '\n');
  if (!b.n) fprintf(stderr, "%s: there are no tokens in %.*s\n", t->command, STR_ARG(t->disk.path));
  command_print_done(&b);
  return EXIT_OK;
}

static bool is_meant(const struct token_file *t, const struct json *token, str said) {
  bool by_id = said.n >= 2 * ID_BYTES && str_starts(text_of(t, token, "sha256"), said);
  return by_id || str_eq(text_of(t, token, "name"), said);
}

static int revoke_token(struct token_file *t, const struct arguments *args) {
  struct fault f = {0};
  str said = str_of(args->operands[0]);
  const struct json *found = NULL;
  size_t count = 0;
  for (const struct json *it = t->list ? json_first(t->list) : NULL; it; it = it->next) {
    if (!said.n || !is_meant(t, it, said)) continue;
    found = it;
    count++;
  }
  if (count != 1) {
    fprintf(stderr, "%s: %s token in %.*s has the id or name \"%s\"; `toolgate token list` lists them\n", t->command,
            count ? "more than one" : "no", STR_ARG(t->disk.path), args->operands[0]);
    return EXIT_NO;
  }
  if (!write_file(t, found, STR_NONE, &f)) {
    takeover_complain(t->command, t->disk.path, &f);
    return exit_of(&f);
  }
  str id = id_of(t, found);
  if (args->json) printf("{\"revoked\":%.*s}\n", STR_ARG(json_escaped(t->arena, id)));
  else printf("token %.*s is revoked\n", STR_ARG(id));
  return EXIT_OK;
}

// ---- the command

typedef int token_action(struct token_file *t, const struct arguments *args);

static int run(const struct command *c, token_action *action, int argc, char **argv) {
  struct arguments args = {0};
  struct arena a;
  int status;
  if (!command_parse(c, argc, argv, &args, &status)) return status;
  if (args.config.agent && !policy_is_agent_id(str_of(args.config.agent)))
    return command_misused(argv[0], "--agent must be a name of letters, digits, _ and -, with dots between parts");
  arena_init(&a);
  struct token_file t = {.command = argv[0], .arena = &a};
  if (open_file(&t, &args, &status)) status = action(&t, &args);
  arena_done(&a);
  return status;
}

static int token_new(int argc, char **argv) {
  return run(&new_command, add_token, argc, argv);
}

static int token_list(int argc, char **argv) {
  return run(&list_command, list_tokens, argc, argv);
}

static int token_revoke(int argc, char **argv) {
  return run(&revoke_command, revoke_token, argc, argv);
}

int cmd_token(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"new", token_new}, {"list", token_list}, {"revoke", token_revoke}, {NULL, NULL}};
  static const char help[] = "usage: toolgate token COMMAND [options]\n\n"
                             "Bearer tokens for agents over HTTP.\n\n"
                             "  new [--agent AGENT]   create a token, print it once, and store its hash\n"
                             "  list                  list the tokens\n"
                             "  revoke ID|NAME        revoke a token\n";
  return command_run_part(parts, help, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// toolgate skill check | sign | list | show | activate
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/skill/sign_file.h"
#include "base/clock.h"
#include "base/crypto/locked.h"
#include "io/file.h"
#include "skill/golden.h"
#include "skill/skill_sign.h"
#include "json/write.h"

enum { MOST_OUTPUT = 16 << 20, KEY_BYTES = 16 << 10 };

// ---- loading

struct loaded {
  struct config config;  // config.governance is NULL if --governance names the file
  bool configured;
  struct governance *governance;
  const struct skills *skills;
};

static void unload(struct loaded *l) {
  governance_unref(&l->governance);
  if (l->configured) config_done(&l->config);
}

// Reads the governance file that --governance or the configuration names, and the skill file `file` unless it is NULL.
// On failure, prints the problems and returns false.
static bool load(struct arguments *args, const char *file, struct loaded *out) {
  struct config_problems problems;
  bool ok = true;
  *out = (struct loaded){0};
  config_problems_init(&problems);
  if (args->governance) {
    out->governance = config_load_skill(args->governance, STR("--governance"), file, &problems);
  } else {
    args->config.serverless = true;
    args->config.skill = file;
    out->configured = true;
    ok = config_load(&out->config, &args->config, environ, &problems);
    if (ok && out->config.governance) out->governance = governance_ref(out->config.governance);
  }
  command_print_problems(&problems);
  config_problems_done(&problems);
  if (ok && !out->governance && !args->governance)
    fprintf(stderr, "toolgate: the configuration has no governance file; name one with --governance FILE\n");
  if (out->governance) out->skills = governance_skills(out->governance);
  if (out->governance) return true;
  unload(out);
  return false;
}

static const struct skill_entry *find_file(const struct skills *s, const char *file) {
  for (size_t i = 0; s && i < s->count; i++)
    if (file_is_same(s->list[i].files[0].path.p, file)) return &s->list[i];
  return NULL;
}

// ---- the golden set

struct checking {
  struct json_writer *w;  // NULL if the output is text
  struct buf *out;
};

static void put_case(void *ctx, size_t line, str name, const char *why) {
  struct checking *c = ctx;
  if (!c->w) {
    if (why) buf_printf(c->out, "  line %zu%s%.*s: %s\n", line, name.n ? " " : "", STR_ARG(name), why);
    return;
  }
  json_begin_object(c->w);
  json_member_u64(c->w, STR("line"), line);
  if (name.n) json_member_str(c->w, STR("name"), name);
  json_member_bool(c->w, STR("passed"), !why);
  if (why) json_member_str(c->w, STR("message"), str_of(why));
  json_end_object(c->w);
}

static void put_head(const struct skill_entry *e, struct json_writer *w) {
  json_begin_object(w);
  json_member_str(w, STR("skill_id"), e->skill->skill_id);
  json_member_str(w, STR("version"), e->skill->version);
  json_member_str(w, STR("owner_role"), e->skill->owner_role);
  json_member_str(w, STR("sha256"), str_of(e->skill->digest));
}

// Checks a version of a skill and runs its golden set (recorded runs). Prints the result. Returns whether the version
// can become active.
static bool test(const struct loaded *l, const struct skill_entry *e, bool json) {
  struct golden_result result = {0};
  struct buf out;
  buf_init(&out, MOST_OUTPUT);
  struct json_writer w = json_writer(&out);
  struct checking c = {json ? &w : NULL, &out};
  if (json) put_head(e, &w);
  if (json && e->flaw.p) json_member_str(&w, STR("flaw"), e->flaw);
  if (json) json_put_key(&w, STR("cases"));
  if (json) json_begin_array(&w);
  bool passed = !e->flaw.p && golden_run(l->skills, l->governance, e, put_case, &c, &result);
  if (json) {
    json_end_array(&w);
    json_member_bool(&w, STR("passed"), passed);
    json_end_object(&w);
  } else {
    buf_printf(&out, "%.*s@%.*s: ", STR_ARG(e->skill->skill_id), STR_ARG(e->skill->version));
    if (e->flaw.p) buf_printf(&out, "cannot be used: %.*s", STR_ARG(e->flaw));
    else if (!e->golden.n) buf_printf(&out, "has no golden set");
    else buf_printf(&out, "%zu passed, %zu failed", result.passed, result.failed);
  }
  buf_char(&out, '\n');
  command_print_done(&out);
  if (!passed && e->active && !e->flaw.p && e->golden.n)
    fprintf(stderr, "toolgate: the golden set of %.*s fails; owner: %.*s\n", STR_ARG(e->skill->skill_id),
            STR_ARG(e->skill->owner_role));
  return passed;
}

// ---- check

static const struct command check = {
    .usage = "FILE [options]",
    .about = "Checks a skill file: its members, its signature, its capabilities, and its golden set.\n"
             "No server is called: each step is decided by the governance file and has the recorded\n"
             "result. Without --governance, the governance file is that of the configuration; then\n"
             "a version that was activated with other content is an error, too. Exit code 1: the\n"
             "skill has a flaw, or a case fails.",
    .options = "^cj",
    .min = 1,
    .max = 1,
    .missing = "give a skill file",
};

static int run_check(int argc, char **argv) {
  struct arguments args = {0};
  struct loaded l;
  int status;
  if (!command_parse(&check, argc, argv, &args, &status)) return status;
  if (!load(&args, args.operands[0], &l)) return EXIT_CANNOT;
  const struct skill_entry *e = find_file(l.skills, args.operands[0]);
  status = e && test(&l, e, args.json) ? EXIT_OK : EXIT_NO;
  unload(&l);
  return status;
}

// ---- sign

static const struct command sign = {
    .usage = "FILE --key PRIVATE.pem [options]",
    .about = "Writes the hashes of the prompt fragment and of the golden set, and an Ed25519 signature,\n"
             "into a skill file. Replaces earlier signatures. Prints the entry of the key for\n"
             "skill_keys of the governance file. To create a key: openssl genpkey -algorithm ed25519",
    .options = "$j",
    .min = 1,
    .max = 1,
    .missing = "give a skill file",
};

static struct ed25519 *read_key(const char *path, struct fault *f) {
  struct buf b;
  struct ed25519 *key = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, FAULT_IO, "%s: %s", path, strerror(errno));
    return NULL;
  }
  buf_init(&b, KEY_BYTES);
  if (file_read(fd, KEY_BYTES, &b, f)) key = skill_key_read(buf_view(&b), f);
  close(fd);
  buf_wipe(&b);
  if (!key) {
    struct fault why = *f;
    fault_set(f, why.code, "%s: %s", path, why.message);
  }
  return key;
}

static void put_key(const struct ed25519 *key, bool json, struct arena *a) {
  str kid = skill_key_id(key, a), public = skill_key_public(key, a);
  printf(json ? "{\"kid\":\"%.*s\",\"public_key\":\"%.*s\"}\n"
              : "signed; the key is { kid: \"%.*s\", public_key: \"%.*s\" }\n",
         STR_ARG(kid), STR_ARG(public));
}

static int run_sign(int argc, char **argv) {
  struct arguments args = {0};
  struct fault f = {0};
  struct arena a;
  int status;
  if (!command_parse(&sign, argc, argv, &args, &status)) return status;
  if (!args.key) return command_misused(argv[0], "give the private key: --key FILE");
  struct ed25519 *key = read_key(args.key, &f);
  if (!key) return command_failed(&f, EXIT_CANNOT);
  arena_init(&a);
  bool ok = sign_file(args.operands[0], key, clock_wall_ms(&clock_system), &a, &f);
  if (ok) put_key(key, args.json, &a);
  status = ok ? EXIT_OK : command_failed(&f, EXIT_NO);
  ed25519_free(&key);
  arena_done(&a);
  return status;
}

// ---- list, show

static const struct command list = {
    .usage = "[options]",
    .about = "Lists the versions of all skills of the governance file, with their state: active, inactive,\n"
             "or unusable.",
    .options = "^c~j",
};

static const char *state_of(const struct skill_entry *e) {
  return e->flaw.p ? "unusable" : e->active ? "active" : "inactive";
}

static void put_entry(const struct loaded *l, const struct skill_entry *e, struct json_writer *w) {
  put_head(e, w);
  json_member_str(w, STR("state"), str_of(state_of(e)));
  if (e->flaw.p) json_member_str(w, STR("flaw"), e->flaw);
  bool provisional;
  enum approval_mode mode = skills_mode(l->skills, e, l->governance, &provisional);
  json_member_str(w, STR("mode"), str_of(approval_mode_name(mode)));
  if (provisional) json_member_bool(w, STR("provisional"), true);
  json_member_str(w, STR("file"), e->files[0].path);
}

static int run_list(int argc, char **argv) {
  struct arguments args = {0};
  struct loaded l;
  struct buf out;
  int status;
  if (!command_parse(&list, argc, argv, &args, &status)) return status;
  if (!load(&args, NULL, &l)) return EXIT_CANNOT;
  buf_init(&out, MOST_OUTPUT);
  struct json_writer w = json_writer(&out);
  if (args.json) json_begin_array(&w);
  for (size_t i = 0; l.skills && i < l.skills->count; i++) {
    const struct skill_entry *e = &l.skills->list[i];
    if (args.tenant && !skill_serves(e->skill, str_of(args.tenant))) continue;
    if (args.json) {
      put_entry(&l, e, &w);
      json_end_object(&w);
      continue;
    }
    buf_printf(&out, "%.*s@%.*s  %s  %.*s%s%.*s\n", STR_ARG(e->skill->skill_id), STR_ARG(e->skill->version),
               state_of(e), STR_ARG(e->skill->owner_role), e->flaw.p ? "  " : "", STR_ARG(e->flaw));
  }
  if (args.json) json_end_array(&w);
  if (args.json) buf_char(&out, '\n');
  command_print_done(&out);
  unload(&l);
  return EXIT_OK;
}

static const struct command show = {
    .usage = "ID@VERSION [options]",
    .about = "Prints one version of a skill as JSON: its state, its definition, and its prompt fragment.",
    .options = "^c~j",
    .min = 1,
    .max = 1,
    .missing = "give ID@VERSION",
};

// Finds the version of a skill that the operand ID@VERSION names. Prints an error and returns NULL if it does not
// exist.
static const struct skill_entry *find_named(const struct loaded *l, const struct arguments *args) {
  str id, version;
  bool whole = str_cut(str_of(args->operands[0]), '@', &id, &version);
  const struct skill_entry *e = whole && l->skills ? skills_find(l->skills, id, version) : NULL;
  if (e && args->tenant && !skill_serves(e->skill, str_of(args->tenant))) e = NULL;
  if (!e)
    fprintf(stderr, "toolgate: there is no skill %s%s; toolgate skill list shows all\n", args->operands[0],
            whole ? "" : ": give ID@VERSION");
  return e;
}

static int run_show(int argc, char **argv) {
  struct arguments args = {0};
  struct loaded l;
  struct buf out;
  int status;
  if (!command_parse(&show, argc, argv, &args, &status)) return status;
  if (!load(&args, NULL, &l)) return EXIT_CANNOT;
  const struct skill_entry *e = find_named(&l, &args);
  if (e) {
    buf_init(&out, MOST_OUTPUT);
    struct json_writer w = json_writer(&out);
    put_entry(&l, e, &w);
    if (e->fragment.p) json_member_str(&w, STR("prompt_fragment"), e->fragment);
    json_member_raw(&w, STR("definition"), e->skill->canonical);
    json_end_object(&w);
    buf_char(&out, '\n');
    command_print_done(&out);
  }
  unload(&l);
  return e ? EXIT_OK : EXIT_NO;
}

// ---- activate

static const struct command activate = {
    .usage = "ID@VERSION [options]",
    .about = "Runs the golden set of a version and, if every case passes, makes this version the one\n"
             "that agents get. The content of a version can then never change. A running gateway\n"
             "applies the activation at once. Exit code 1: the version has a flaw, or a case fails.",
    .options = "cj",
    .min = 1,
    .max = 1,
    .missing = "give ID@VERSION",
};

static bool record(const struct loaded *l, const struct skill_entry *e, struct fault *f) {
  char at[CLOCK_TEXT];
  struct buf line;
  int folder = file_open_folder(l->config.state_dir, f);
  if (folder < 0) return false;
  int fd = openat(folder, CONFIG_SKILLS_FILE, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  buf_init(&line, 4096);
  struct json_writer w = json_writer(&line);
  clock_print_second(clock_wall_ms(&clock_system), at);
  json_begin_object(&w);
  json_member_str(&w, STR("skill_id"), e->skill->skill_id);
  json_member_str(&w, STR("version"), e->skill->version);
  json_member_str(&w, STR("sha256"), str_of(e->skill->digest));
  json_member_str(&w, STR("activated_at"), str_of(at));
  json_end_object(&w);
  buf_char(&line, '\n');
  bool ok = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n && fsync(fd) == 0;
  if (!ok) fault_set(f, FAULT_IO, "%.*s/%s: %s", STR_ARG(l->config.state_dir), CONFIG_SKILLS_FILE, strerror(errno));
  if (fd >= 0) close(fd);
  close(folder);
  buf_done(&line);
  return ok;
}

static int activate_entry(const struct loaded *l, const struct skill_entry *e, bool json) {
  struct fault f;
  if (!e || !test(l, e, json)) return EXIT_NO;
  if (!record(l, e, &f)) return command_failed(&f, EXIT_CANNOT);
  if (!json) printf("%.*s@%.*s is active\n", STR_ARG(e->skill->skill_id), STR_ARG(e->skill->version));
  return EXIT_OK;
}

static int run_activate(int argc, char **argv) {
  struct arguments args = {0};
  struct loaded l;
  int status;
  if (!command_parse(&activate, argc, argv, &args, &status)) return status;
  if (!load(&args, NULL, &l)) return EXIT_CANNOT;
  if (l.config.state_dir.n) {
    status = activate_entry(&l, find_named(&l, &args), args.json);
  } else {
    fprintf(stderr, "toolgate: activations are stored in state_dir; set this key to a folder\n");
    status = EXIT_CANNOT;
  }
  unload(&l);
  return status;
}

static const char usage[] = "usage: toolgate skill check FILE [--governance FILE] [--json]\n"
                            "       toolgate skill sign FILE --key PRIVATE.pem [--json]\n"
                            "       toolgate skill list [--tenant TENANT] [--json]\n"
                            "       toolgate skill show ID@VERSION [--tenant TENANT]\n"
                            "       toolgate skill activate ID@VERSION [--json]\n\n"
                            "Tests and signs skills, and chooses the version that agents get. toolgate skill\n"
                            "COMMAND --help shows the options.\n";

int cmd_skill(int argc, char **argv) {
  static const struct command_part parts[] = {{"check", run_check}, {"sign", run_sign},         {"list", run_list},
                                              {"show", run_show},   {"activate", run_activate}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// The kind for a program that the gateway starts and communicates with over pipes.
#include "mcp/gateway_chain.h"
#include "upstream/upstream_impl.h"

// ---- launchers

// The programs that are recognized as launchers, with the words that must be their first arguments (without options).
// NULL stands for any word.
static const struct {
  const char *program, *first, *second;
  enum upstream_launcher kind;
} launchers[] = {
    {"npx", NULL, NULL, UPSTREAM_NPX},          {"npm", "exec", NULL, UPSTREAM_NPX},
    {"npm", "x", NULL, UPSTREAM_NPX},           {"bunx", NULL, NULL, UPSTREAM_LAUNCHER},
    {"bun", "x", NULL, UPSTREAM_LAUNCHER},      {"pnpm", "dlx", NULL, UPSTREAM_LAUNCHER},
    {"pnpx", NULL, NULL, UPSTREAM_LAUNCHER},    {"yarn", "dlx", NULL, UPSTREAM_LAUNCHER},
    {"uvx", NULL, NULL, UPSTREAM_LAUNCHER},     {"uv", "run", NULL, UPSTREAM_LAUNCHER},
    {"uv", "tool", "run", UPSTREAM_LAUNCHER},   {"pipx", "run", NULL, UPSTREAM_LAUNCHER},
    {"docker", "run", NULL, UPSTREAM_LAUNCHER}, {"docker", "container", "run", UPSTREAM_LAUNCHER},
    {"podman", "run", NULL, UPSTREAM_LAUNCHER}, {"podman", "container", "run", UPSTREAM_LAUNCHER},
    {"dotnet", "run", NULL, UPSTREAM_LAUNCHER}, {"dotnet", "tool", "exec", UPSTREAM_LAUNCHER},
    {"dnx", NULL, NULL, UPSTREAM_LAUNCHER},
};

// Skips arguments up to and including `word`. Only options may precede `word`; each may be followed by a value, as in
// "uv --directory DIR run". Returns false if `word` is missing or another argument precedes it.
static bool take_word(const str **args, size_t *count, const char *word) {
  if (!word) return true;
  bool value = false;
  for (; *count; ++*args, --*count) {
    bool option = str_starts(**args, STR("-"));
    if (str_eq(**args, str_of(word))) {
      ++*args, --*count;
      return true;
    }
    if (!option && !value) return false;
    value = option && !memchr((*args)->p, '=', (*args)->n);
  }
  return false;
}

enum upstream_launcher spec_launcher(const struct upstream_spec *s) {
  str program = str_base_name(s->command);
  const str *args = s->args;
  size_t count = s->arg_count;
  if (!s->kind->process) return UPSTREAM_NO_LAUNCHER;
  if (str_eq(program, STR("env"))) {
    while (count && memchr(args->p, '=', args->n)) args++, count--;
    if (!count) return UPSTREAM_NO_LAUNCHER;
    program = str_base_name(*args);
    args++, count--;
  }
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    if (!str_eq(program, str_of(launchers[i].program))) continue;
    const str *at = args;
    size_t left = count;
    if (take_word(&at, &left, launchers[i].first) && take_word(&at, &left, launchers[i].second))
      return launchers[i].kind;
  }
  return UPSTREAM_NO_LAUNCHER;
}

// ---- the process

// Environment variables of the gateway that every server receives, for user, paths, locale, proxies and certificates.
static const char *const handed_on[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
};

static bool is_handed_on(const char *variable) {
  for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
    size_t n = strlen(handed_on[i]);
    if (strncmp(variable, handed_on[i], n) == 0 && variable[n] == '=') return true;
  }
  return false;
}

static bool overridden(const struct upstream_spec *spec, const char *variable) {
  str name, value;
  str_cut(str_of(variable), '=', &name, &value);
  for (size_t i = 0; i < spec->env_count; i++)
    if (str_eq(spec->env[i].name, name)) return true;
  return false;
}

static bool has_variable(const char *const *env, size_t count, const char *variable) {
  size_t n = strcspn(variable, "=") + 1;
  for (size_t i = 0; i < count; i++)
    if (strncmp(env[i], variable, n) == 0) return true;
  return false;
}

// Returns the environment of the server's process: the gateway's variables in `handed_on`, and the configured
// variables. If a variable occurs several times in the gateway's environment, the first value is used, as by getenv.
static const char **make_env(struct upstream *u) {
  const struct upstream_spec *spec = u->spec;
  size_t n = 0;
  size_t most = sizeof handed_on / sizeof *handed_on + spec->env_count + 2;
  const char **env = ARENA_ARRAY(&u->arena, const char *, most);
  for (char *const *e = u->all->opt.env; e && *e; e++)
    if (is_handed_on(*e) && !overridden(spec, *e) && !has_variable(env, n, *e)) env[n++] = *e;
  const struct chain *chain = u->all->opt.chain;
  if (chain) env[n++] = chain_variable(chain, &u->arena).p;
  for (size_t i = 0; i < spec->env_count; i++)
    if (!chain || !str_eq(spec->env[i].name, STR(CHAIN_VARIABLE)))
      env[n++] = arena_printf(&u->arena, "%.*s=%.*s", STR_ARG(spec->env[i].name), STR_ARG(spec->env[i].value)).p;
  return env;
}

static bool prepare(struct upstream *u, struct fault *f) {
  const struct upstream_spec *spec = u->spec;
  const char **argv = ARENA_ARRAY(&u->arena, const char *, spec->arg_count + 2);
  argv[0] = arena_cstr(&u->arena, spec->command);
  for (size_t i = 0; i < spec->arg_count; i++) argv[i + 1] = arena_cstr(&u->arena, spec->args[i]);
  u->child = (struct child_spec){
      .file = argv[0],
      .argv = argv,
      .envp = make_env(u),
      .cwd = spec->cwd.n ? arena_cstr(&u->arena, spec->cwd) : NULL,
      .unconfined = spec->unconfined,
  };
  u->tail = tail_new();
  install_prepare(u);
  return true;
}

// ---- errors

// Returns the length of a quoted part: it starts at `at` with a blank and the character `first`, and ends with the
// character `last`, or at the end of `text` if the message was cut. Returns 0 if no such part starts at `at`.
static size_t aside(str text, size_t at, char first, char last) {
  if (text.p[at] != ' ' || at + 1 == text.n || text.p[at + 1] != first) return 0;
  str rest = str_from(text, at + 2);
  const char *end = memchr(rest.p, last, rest.n);
  return end ? (size_t)(end - text.p) + 1 - at : text.n - at;
}

// Removes PROGRAM, PATH and FOLDER from messages of these two forms:
//   - cannot start "PROGRAM": no such program in PATH (PATH)
//   - cannot start "PROGRAM": cwd "FOLDER" does not exist
static str redact(const struct upstream_spec *s, struct arena *a, str text) {
  const char *says = memmem(text.p, text.n, "cannot start \"", 14);
  if (!says) return text;
  char *out = arena_alloc(a, text.n);
  size_t n = (size_t)(says - text.p);
  memcpy(out, text.p, n);
  for (size_t at = n; at < text.n;) {
    size_t quoted = aside(text, at, '"', '"'), listed = aside(text, at, '(', ')');
    if (!quoted && !listed) out[n++] = text.p[at++];
    at += quoted + listed;
  }
  return (str){out, n};
}

// ---- the kind

static struct upstream_names names(const struct upstream_spec *s) {
  return (struct upstream_names){"variables", "env", s->env, s->env_count};
}

static str public_place(const struct upstream_spec *s) {
  return s->program;
}

static struct link *open_link(struct upstream *u, const struct link_options *opt, const struct link_events *ev,
                              void *ctx) {
  return link_new_stdio(opt, u->all->opt.children, &u->child, ev, ctx);
}

const struct upstream_kind upstream_stdio = {
    .name = "stdio",
    .status = "stdio",
    .brief = "stdio",
    .words = {"stdio"},
    .place = "command",
    .keys = {"args", "env", "cwd", "confine", "isolation", "protocol"},
    .implied = true,
    .process = true,
    .kept = true,
    .names = names,
    .public_place = public_place,
    .redact = redact,
    .prepare = prepare,
    .open = open_link,
};

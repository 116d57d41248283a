// SPDX-License-Identifier: Apache-2.0
#include "app/cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"

struct option_row {
  char letter;
  const char *name, *value;  // `value`: name of the option's value, or NULL if it takes none
  const char *help;
};

// Continues the help of an option on the next line.
#define MORE "\n                      "

// clang-format off
static const struct option_row rows[] = {
    {'c', "config", "FILE", "YAML or JSON (default: toolgate.yaml, if it exists)"},
    {'m', "mcp-config", "FILE", "the servers: .mcp.json (default: .mcp.json here)"},
    {'C', "catalog", "FILE", "a JSON file with tools, resources and prompts, served as a" MORE "server of its own"},
    {'M', "mode", "MODE", "what clients see: gateway (default), transparent," MORE "servers or direct"},
    {'t', "transport", "T", "how clients connect: stdio (default) or http"},
    {'l', "listen", "HOST:PORT",
     "for http (default 127.0.0.1:8811; port 0: any free one);" MORE "implies --transport http"},
    {'i', "insecure-bind", NULL, "accept clients on other machines without any token"},
    {'D', "debug", NULL, "in servers mode, add the tool get_gateway_status"},
    {'L', "log-level", "LEVEL", "debug, info (default), warn, error or off; on stderr"},
    {'W', "log-level", "LEVEL", "debug, info, warn (default), error or off; on stderr"},
    {'j', "json", NULL, "print JSON"},
    {'!', "manifest", NULL, "print only the adapter, for a file that manifests names"},
    {'Y', "fresh", NULL, "start new copies of the servers, even if a gateway runs"},
    {'0', "once", NULL, "print once and exit"},
    {'z', "follow", NULL, "then print new lines as they are written (-f)"},
    {'n', "lines", "N", "print the last N lines, at most 200 (-n)"},
    {'o', "connect", NULL, "also start the servers and list their tools"},
    {'d', "dry-run", NULL, "check everything and show the call, but do not make it"},
    {'9', "full", NULL, "print the whole result, even if it is long"},
    {'b', "batch", NULL, "read cases from stdin, one per line"},
    {'p', "path", "PATH", "list the entries below a path instead of searching"},
    {'K', "kind", "KIND", "tool (default), resource or prompt"},
    {'k', "top-k", "N", "number of results, 1 to 50 (default 10)"},
    {'s', "schema", "FORM",
     "print a schema with which a model chooses one of the ids:" MORE "json_schema, openai or anthropic"},
    {'S', "selected", "ID", "find the id that a model chose"},
    {'v', "decision", NULL,
     "print the cards, and with --selected the chosen card, as a" MORE "routing decision in JSON"},
    {'u', "rules", "FILE", "access rules (default: .mcp-gateway-rules.json here)"},
    {'A', "agent", "AGENT", "the caller: an agent of the rules"},
    {'J', "method", "METHOD", "a method that the protocol does not have, instead of a server"},
    {'{', "rules", "FILE", "the new governance file or rules file"},
    {'^', "governance", "FILE", "adapters, permissions and bundles, YAML or JSON"},
    {'y', "key", "FILE", "the key that signs the lines and FILE.head (audit.key_file)"},
    {'$', "key", "FILE", "an Ed25519 private key in PEM format"},
    {'/', "key", "KEY", "the public key of the gateway, as FILE.heads shows it"},
    {'w', "mcp-config", "FILE", "the servers (default: mcp.json in ~/.config/toolgate)"},
    {'G', "dry-run", NULL, "change nothing; print the changes"},
    {'~', "tenant", "TENANT", "only what this tenant may use"},
    {'&', "all", NULL, "all servers"},
    {'>', "sha256", "HASH", "accept the tool only if its definition has this hash," MORE "which `pins diff` prints"},
    {'*', "governance", NULL, "print counters of governed calls of the running gateway" MORE "instead"},
    {'Q', "project", NULL, "the client's file in this folder"},
    {'U', "user", NULL, "the client's file in the home folder"},
    {'O', "http", "URL", "connect to a gateway that runs at this URL instead of" MORE "starting one"},
    {'@', "agent", "AGENT", "the client's agent in the rules; not with --http"},
    {'%', "token-env", "VAR", "with --http: the variable that holds the client's token"},
    {'Z', "undo", NULL, "restore the file as it was before it was connected"},
    {'X', "force", NULL, "overwrite a changed file or an existing name"},
    {'I', "header", "'K: V'", "a header to send to the server; can be repeated"},
    {'V', "env", "K=V", "an environment variable of the server; can be repeated"},
    {'g', "agent", "AGENT", "the token's agent in the rules"},
    {'N', "name", "NAME", "a name for the token, for logs and `token revoke`"},
    {'e', "session", "FILE",
     "events, one JSON object per line; - reads standard input," MORE "live:ID reads a recorded session"},
    {'P', "phase", "PHASE", "route, call, interpret or answer (default)"},
    {'q', "query", "TEXT", "purpose of the prompt; events similar to it come first"},
    {'B', "budget", "N", "tokens of the whole prompt (default: the phase's: 2000, 3000," MORE "4000 or 6000)"},
    {'T', "tags", "A,B", "tags of the query, compared with the tags of events instead" MORE "of words"},
    {'H', "header", "FILE", "text before the prompt"},
    {'F', "footer", "FILE", "text after the prompt"},
    {'f', "floor", "LEVEL",
     "omit events of this level and above: public, internal," MORE
     "confidential (default), restricted; none shows all"},
    {'R', "redact", NULL, "mark omitted events, and mask secrets in all text"},
    {'x', "explain", NULL,
     "print on stderr each event's score and whether it was used" MORE "(with --json: in the answer)"},
    {'a', "shape", "SHAPE", "seed (default): requests as sentences; openai: as tool_calls"},
    {'E', "execute", NULL, "make the calls, with the configured servers"},
    {'r', "responses", "FILE", "read the responses from a JSON object, by id"},
    {'1', "context", "ID", "id of the conversation"},
    {'2', "limit", "N", "tokens to keep, without leading system messages"},
    {'3', "estimate", NULL, "estimate tokens as characters divided by four"},
    {'4', "since", "TIME", "only messages from this time on: 2026-01-31, or" MORE
     "2026-01-31T12:00:00Z, or seconds since 1970"},
    {'5', "until", "TIME", "only messages before this time"},
    {'6', "contains", "TEXT", "only messages with this text, in upper or lower case"},
    {'7', "search", "WORDS", "best matches for these words first"},
    {'8', "limit", "N", "number of messages"},
    {'[', "as", "WHO", "name of the person who decides (default: the local user)"},
    {'(', "role", "ROLE", "role of this person (default: the role that the next gate needs)"},
    {',', "gate", "GATE", "decide only about this gate"},
    {')', "reason", "TEXT", "reason of the decision, for the agent and the records"},
    {'`', "all", NULL, "also requests that have ended"},
    {'"', "role", "ROLE", "only requests that this role can decide"},
    {'+', "tenant", "TENANT", "only records of this tenant"},
    {'=', "agent", "AGENT", "only records of this agent"},
    {'|', "since", "TIME", "only records from this time on: 2026-01-31, or" MORE
     "2026-01-31T12:00:00Z, or seconds since 1970"},
    {'#', "limit", "N", "the last N records (default 50)"},
};
// clang-format on

enum { ROWS = sizeof rows / sizeof *rows, BRIEFS = 16, MOST_ANSWER_BYTES = 16 << 20 };

// Returns the row of an option. The letter must be in the table.
static const struct option_row *row_of(char letter) {
  size_t i = 0;
  while (i < ROWS && rows[i].letter != letter) i++;
  ASSERT(i < ROWS);
  return &rows[i];
}

static void print_help(const struct command *c, const char *name) {
  printf("usage: %s%s%s\n\n%s\n", name, *c->usage ? " " : "", c->usage, c->about);
  if (*c->options) putchar('\n');
  for (const char *letter = c->options; *letter; letter++) {
    const struct option_row *row = row_of(*letter);
    char form[32];
    snprintf(form, sizeof form, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    printf("  %-18s  %s\n", form, row->help);
  }
}

static void take_person_option(int letter, struct person_arguments *out) {
  switch (letter) {
  case '[': out->as = optarg; break;
  case '"':
  case '(': out->role = optarg; break;
  case ',': out->gate = optarg; break;
  case ')': out->reason = optarg; break;
  default: ASSERT(!"an option without a field");
  }
}

static void take_record_option(int letter, struct arguments *args) {
  struct record_arguments *out = &args->records;
  switch (letter) {
  case '+': out->tenant = optarg; break;
  case '=': out->agent = optarg; break;
  case '|': out->since = optarg; break;
  case '#': out->limit = optarg; break;
  default: take_person_option(letter, &args->person);
  }
}

static void take_context_option(int letter, struct arguments *args) {
  struct context_arguments *out = &args->context;
  switch (letter) {
  case 'e': out->session = optarg; break;
  case 'P': out->phase = optarg; break;
  case 'q': out->query = optarg; break;
  case 'B': out->budget = optarg; break;
  case 'T': out->tags = optarg; break;
  case 'H': out->header = optarg; break;
  case 'F': out->footer = optarg; break;
  case 'f': out->floor = optarg; break;
  case 'R': out->redact = true; break;
  case 'x': out->explain = true; break;
  case 'a': out->shape = optarg; break;
  case 'E': out->execute = true; break;
  case 'r': out->responses = optarg; break;
  case '1': out->context = optarg; break;
  case '2':
  case '8': out->limit = optarg; break;
  case '3': out->estimate = true; break;
  case '4': out->since = optarg; break;
  case '5': out->until = optarg; break;
  case '6': out->contains = optarg; break;
  case '7': out->search = optarg; break;
  default: take_record_option(letter, args);
  }
}

// Stores the pair of a --header or --env option. Beyond the limit only counts the pairs, so that the command can report
// the error.
static void add_pair(const char *list[COMMAND_MOST_PAIRS], size_t *count) {
  if (*count < COMMAND_MOST_PAIRS) list[*count] = optarg;
  ++*count;
}

static void take_file_option(int letter, struct arguments *args) {
  struct file_arguments *out = &args->files;
  switch (letter) {
  case 'w': args->config.mcp_config = optarg; break;
  case 'g':
  case '@': args->config.agent = optarg; break;
  case '%': out->token_env = optarg; break;
  case 'G': args->dry_run = true; break;
  case 'Q': out->project = true; break;
  case 'U': out->user = true; break;
  case 'O': out->http = optarg; break;
  case 'Z': out->undo = true; break;
  case 'X': out->force = true; break;
  case 'N': out->name = optarg; break;
  case 'I': add_pair(out->headers, &out->header_count); break;
  case 'V': add_pair(out->env, &out->env_count); break;
  default: take_context_option(letter, args);
  }
}

static void take_option(int letter, struct arguments *out) {
  switch (letter) {
  case 'c': out->config.config = optarg; break;
  case 'm': out->config.mcp_config = optarg; break;
  case 'C': out->config.catalog = optarg; break;
  case 'M': out->config.mode = optarg; break;
  case 'D': out->config.debug = true; break;
  case 't': out->config.transport = optarg; break;
  case 'l': out->config.listen = optarg; break;
  case 'i': out->config.insecure_bind = true; break;
  case 'L':
  case 'W': out->config.log_level = optarg; break;
  case 'j': out->json = true; break;
  case 'Y': out->config.fresh = true; break;
  case '0': out->once = true; break;
  case 'z': out->follow = true; break;
  case 'n': out->lines = optarg; break;
  case 'o': out->connect = true; break;
  case 'd': out->dry_run = true; break;
  case '9': out->full = true; break;
  case 'b': out->batch = true; break;
  case '!': out->manifest = true; break;
  case 'p': out->path = optarg; break;
  case 'K': out->kind = optarg; break;
  case 'k': out->top_k = optarg; break;
  case 's': out->schema = optarg; break;
  case 'S': out->selected = optarg; break;
  case 'v': out->decision = true; break;
  case '{':
  case 'u': out->config.rules = optarg; break;
  case 'A': out->config.agent = optarg; break;
  case '$':
  case '/':
  case 'y': out->key = optarg; break;
  case 'J': out->method = optarg; break;
  case '^': out->governance = optarg; break;
  case '~': out->tenant = optarg; break;
  case '`':
  case '&': out->all = true; break;
  case '>': out->sha256 = optarg; break;
  case '*': out->count_governed = true; break;
  default: take_file_option(letter, out);
  }
}

int command_misused(const char *name, const char *what) {
  if (what) fprintf(stderr, "%s: %s\n", name, what);
  fprintf(stderr, "%s --help lists the options\n", name);
  return EXIT_USAGE;
}

// Makes the option list for getopt: the command's own options and --help.
static void list_options(const struct command *c, struct option out[ROWS + 2]) {
  size_t n = 0;
  for (const char *letter = c->options; *letter; letter++) {
    const struct option_row *row = row_of(*letter);
    ASSERT(n < ROWS);
    out[n++] = (struct option){row->name, row->value ? required_argument : no_argument, NULL, row->letter};
  }
  out[n++] = (struct option){"help", no_argument, NULL, 'h'};
  out[n] = (struct option){0};
}

static bool take_operands(const struct command *c, int argc, char **argv, struct arguments *out) {
  ASSERT(c->min <= c->max && (!c->min || c->missing) && optind <= argc);
  out->operands = argv + optind;
  out->operand_count = (size_t)(argc - optind);
  const char *why = c->surplus ? c->surplus : "";
  if (out->operand_count > c->max)
    fprintf(stderr, "%s: unexpected argument '%s'%s%s\n", argv[0], out->operands[c->max], *why ? ": " : "", why);
  else if (out->operand_count < c->min) fprintf(stderr, "%s: %s\n", argv[0], c->missing);
  else return true;
  return false;
}

// Suggests the most similar option, after getopt has printed an error about an unknown option.
static void hint_option(const struct option *options, const char *said) {
  struct nearest near = {0};
  str value;
  if (strncmp(said, "--", 2) != 0) return;
  str_cut(str_of(said + 2), '=', &near.word, &value);
  for (; options->name; options++) {
    if (str_eq(str_of(options->name), near.word)) return;
    nearest_try(&near, str_of(options->name));
  }
  if (near.best.p) fprintf(stderr, "did you mean --%.*s?\n", STR_ARG(near.best));
}

// Makes the short-option string for getopt: "h" and the short forms of the command's own options.
static void list_briefs(const struct command *c, char out[BRIEFS]) {
  size_t n = 0;
  out[n++] = 'h';
  for (const char *pair = c->briefs; pair && *pair; pair += 2) {
    ASSERT(pair[1] && n + 2 < BRIEFS);
    out[n++] = pair[0];
    if (row_of(pair[1])->value) out[n++] = ':';
  }
  out[n] = 0;
}

static int meant_by(const struct command *c, int letter) {
  for (const char *pair = c->briefs; pair && *pair; pair += 2)
    if (pair[0] == letter) return pair[1];
  return letter;
}

bool command_parse(const struct command *c, int argc, char **argv, struct arguments *out, int *out_status) {
  struct option options[ROWS + 2];
  char briefs[BRIEFS];
  list_options(c, options);
  list_briefs(c, briefs);
  for (int letter; (letter = getopt_long(argc, argv, briefs, options, NULL)) != -1;) {
    if (letter == 'h') {
      print_help(c, argv[0]);
      *out_status = EXIT_OK;
      return false;
    }
    if (letter == '?') {
      hint_option(options, argv[optind - 1]);
      *out_status = command_misused(argv[0], NULL);
      return false;
    }
    take_option(meant_by(c, letter), out);
  }
  if (take_operands(c, argc, argv, out)) return true;
  *out_status = command_misused(argv[0], NULL);
  return false;
}

void command_print_masked(str text, FILE *out) {
  while (text.n) {
    str before = text;
    uint32_t c = utf8_next(&text);
    bool control = (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
    bool bidi =
        c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (control || bidi) fputc('?', out);
    else fwrite(before.p, 1, before.n - text.n, out);
  }
}

void command_print(str text) {
  if (!text.n) return;
  if (isatty(STDOUT_FILENO)) command_print_masked(text, stdout);
  else fwrite(text.p, 1, text.n, stdout);
}

void command_print_done(struct buf *out) {
  command_print(buf_view(out));
  buf_done(out);
}

int command_failed(const struct fault *f, int status) {
  ASSERT(status != EXIT_OK);
  fprintf(stderr, "toolgate: %s\n", f->message);
  return status;
}

void command_print_problems(const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++) {
    const struct config_problem *e = &p->list[i];
    fprintf(stderr, "toolgate: %s%.*s%s%.*s: %.*s\n", e->warning ? "warning: " : "", STR_ARG(e->file),
            e->pointer.n ? ":" : "", STR_ARG(e->pointer), STR_ARG(e->message));
  }
}

int command_each_line(command_answer *answer, void *ctx) {
  struct arena arena;
  struct buf out;
  char *line = NULL;
  size_t cap = 0;
  int status = EXIT_OK;
  arena_init(&arena);
  buf_init(&out, MOST_ANSWER_BYTES);
  for (ssize_t n; (n = getline(&line, &cap, stdin)) >= 0;) {
    str text = {line, (size_t)n};
    if (str_ends(text, STR("\n"))) text.n--;
    if (!str_trim(text).n) continue;
    if (!answer(ctx, text, &arena, &out)) status = EXIT_NO;
    fwrite(out.p, 1, out.n, stdout);
    buf_reset(&out);
    arena_reset(&arena);
  }
  if (ferror(stdin)) {
    fprintf(stderr, "toolgate: stdin: %s\n", strerror(errno));
    status = EXIT_CANNOT;
  }
  mem_free(line);
  buf_done(&out);
  arena_done(&arena);
  return status;
}

struct governance *command_load_governance(const char *path, str named_by) {
  struct config_problems problems;
  config_problems_init(&problems);
  struct governance *g = config_load_governance(path, named_by, &problems);
  command_print_problems(&problems);
  config_problems_done(&problems);
  return g;
}

int command_run_part(const struct command_part *parts, const char *help, int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  char shown[64];  // program name for messages
  struct nearest near = {.word = str_of(name)};
  for (; parts->name; parts++) {
    nearest_try(&near, str_of(parts->name));
    if (strcmp(name, parts->name) != 0) continue;
    int n = snprintf(shown, sizeof shown, "%s %s", argv[0], name);
    ASSERT(n > 0 && (size_t)n < sizeof shown);
    argv[1] = shown;
    return parts->run(argc - 1, argv + 1);
  }
  bool asked = !strcmp(name, "--help") || !strcmp(name, "-h");
  if (asked) fputs(help, stdout);
  else if (*name && near.best.p)
    fprintf(stderr, "%s: unknown command \"%s\"; did you mean \"%.*s\"?\n", argv[0], name, STR_ARG(near.best));
  else if (*name) fprintf(stderr, "%s: unknown command \"%s\"\n", argv[0], name);
  else fprintf(stderr, "%s: give a command\n", argv[0]);
  return asked ? EXIT_OK : command_misused(argv[0], NULL);
}

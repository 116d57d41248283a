// SPDX-License-Identifier: Apache-2.0
#include "app/visit/ask_gateway.h"

#include <stdio.h>
#include <unistd.h>

#include "app/visit/more.h"
#include "app/visit/visit.h"
#include "base/text/utf8.h"
#include "upstream/kind.h"

// ---- printing

// Where the gateway tells an agent what to call next, somebody at a terminal is told what to type.
static str for_people(struct arena *a, str said) {
  static const struct {
    str agent, people;
  } words[] = {
      {STR("call tool_browse to find"), STR("run toolgate browse to find")},
      {STR("call resource_browse to find"), STR("run toolgate browse --kind resource to find")},
      {STR("call prompt_browse to find"), STR("run toolgate browse --kind prompt to find")},
      {STR("tool_browse with path \"/\""), STR("toolgate browse --path /")},
      {STR("resource_browse with path \"/\""), STR("toolgate browse --kind resource --path /")},
      {STR("prompt_browse with path \"/\""), STR("toolgate browse --kind prompt --path /")},
      {STR("tools/list names"), STR("toolgate catalog lists")},
  };
  for (size_t i = 0; said.n && i < sizeof words / sizeof *words; i++) {
    const char *at = memmem(said.p, said.n, words[i].agent.p, words[i].agent.n);
    if (!at || (at > said.p && at[-1] != ' ')) continue;
    str before = {said.p, (size_t)(at - said.p)}, behind = str_from(said, before.n + words[i].agent.n);
    return arena_printf(a, "%.*s%.*s%.*s", STR_ARG(before), STR_ARG(words[i].people), STR_ARG(behind));
  }
  return said;
}

static void print_harmless(str text, FILE *out) {
  while (text.n) {
    str before = text;
    uint32_t c = utf8_next(&text);
    bool control = (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
    bool turns =
        c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (control || turns) fputc('?', out);
    else fwrite(before.p, 1, before.n - text.n, out);
  }
}

void ask_print(str text) {
  if (!text.n) return;
  if (isatty(STDOUT_FILENO)) print_harmless(text, stdout);
  else fwrite(text.p, 1, text.n, stdout);
}

static void print_line(str text) {
  ask_print(text);
  if (!str_ends(text, STR("\n"))) putchar('\n');
}

// A part that is no text is named: a link by its address, what has bytes by their type and number.
static void print_part(struct arena *a, const struct json *part) {
  const struct json *resource = json_get(part, STR("resource")), *holder = resource ? resource : part;
  str type = STR("unknown"), text, mime = STR("of unknown type"), data;
  if (json_string(json_get(holder, STR("text")), a, &text)) {
    print_line(str_starts(text, STR("Nothing found. ")) ? for_people(a, text) : text);
    return;
  }
  json_string(json_get(part, STR("type")), a, &type);
  json_string(json_get(holder, STR("mimeType")), a, &mime);
  bool has_bytes =
      json_string(json_get(holder, STR("data")), a, &data) || json_string(json_get(holder, STR("blob")), a, &data);
  if (has_bytes)
    text = arena_printf(a, "[%.*s %.*s: %zu characters of base64; --json shows them]", STR_ARG(type), STR_ARG(mime),
                        data.n);
  else if (json_string(json_get(holder, STR("uri")), a, &data))
    text = arena_printf(a, "[%.*s %.*s]", STR_ARG(type), STR_ARG(data));
  else text = arena_printf(a, "[%.*s]", STR_ARG(type));
  print_line(text);
}

static void print_text(struct arena *a, const struct json *result) {
  const struct json *content = json_get(result, STR("content"));
  if (!json_is(content, JSON_ARRAY)) return;
  JSON_EACH(part, content) print_part(a, part);
}

// ---- the answer

// What the gateway says of a failure, on one line, and what it has to say of it besides.
static void print_fault(struct arena *a, const struct json *fault) {
  str code = STR("?"), message = STR_NONE;
  struct fault f;  // makes it one line
  json_string(json_get(fault, STR("error")), a, &code);
  json_string(json_get(fault, STR("message")), a, &message);
  fault_set(&f, FAULT_UPSTREAM_ERROR, "%.*s: %.*s", STR_ARG(code), STR_ARG(for_people(a, message)));
  fprintf(stderr, "toolgate: %s\n", f.message);
  const struct json *details = json_get(fault, STR("details"));
  if (!details) return;
  print_harmless(json_span(details), stderr);
  fputc('\n', stderr);
}

// The server that a failure is about, if its process wrote something that the running gateway has.
static void print_log_hint(const struct visit *v, struct arena *a, const struct json *fault) {
  str message = STR(""), name, rest;
  json_string(json_get(fault, STR("message")), a, &message);
  if (!v->remote || !str_starts(message, STR("server \"")) || !str_cut(str_from(message, 8), '"', &name, &rest)) return;
  for (size_t i = 0; i < v->config.upstream_count; i++) {
    const struct upstream_spec *spec = &v->config.upstreams[i];
    if (str_eq(spec->name, name) && str_eq(str_of(spec->kind->name), STR("stdio")))
      fprintf(stderr, "toolgate: what it wrote last: toolgate logs %.*s\n", STR_ARG(name));
  }
}

static int print_answer(const struct arguments *args, const struct question *q, struct visit *v,
                        const struct json *result) {
  struct arena *a = &v->arena;
  bool lasting = v->config.state_dir.n > 0;
  bool failed = false;
  json_bool(json_get(result, STR("isError")), &failed);
  const struct json *structured = json_get(result, STR("structuredContent"));
  bool fault =
      failed && json_is(json_get(structured, STR("error")), JSON_STRING) && json_get(structured, STR("retryable"));
  if (!failed && q->print) return q->print(args, a, structured);
  if (fault) print_fault(a, structured);
  if (fault) print_log_hint(v, a, structured);
  if (args->json) print_line(json_span(!structured || (q->whole && !fault) ? result : structured));
  else if (!fault) print_text(a, result);
  str more;
  if (!args->json && args->config.bounded && more_command(args, lasting, v->remote, a, result, &more)) print_line(more);
  return failed ? EXIT_NO : EXIT_OK;
}

int ask(const struct arguments *args, const struct question *q) {
  struct visit v;
  struct fault f;
  int status;
  if (!visit_open(&v, &args->config, &status)) return status;
  visit_enter(&v, q->mode);
  if (q->all) visit_settle(&v);
  const struct json *result = visit_call(&v, q->tool, q->arguments, &f);
  if (result) {
    status = print_answer(args, q, &v, result);
  } else {
    fprintf(stderr, "toolgate: %s\n", q->absent && f.code == FAULT_INVALID ? q->absent : f.message);
    status = EXIT_NO;
  }
  visit_close(&v);
  return status;
}

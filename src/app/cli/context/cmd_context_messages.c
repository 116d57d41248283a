// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "app/cli/context/cmd_context.h"
#include "app/gateway_client/gateway_client.h"
#include "context/messages.h"

static const struct command command = {
    .usage = "[FILE | -] [options]",
    .about = "Reads {\"messages\", \"tool_calls\": [{\"resource_call\"} | {\"tool_call\"}]} and prints the\n"
             "conversation with a message for each request and each response, in the order in which\n"
             "the calls depend on each other. <ID response> is replaced by the response of the call\n"
             "ID. Without --execute or --responses, makes no calls and leaves <ID response> as it is.",
    .options = "aErcmuACWY",
    .max = 1,
};

enum { MOST_OUTPUT_BYTES = 1 << 30 };

// ---- sources of responses

struct from_file {
  const struct json *responses;
};

// Answers a call from the file of --responses. A response is {"result"} or {"error"} as in JSON-RPC, or the result
// itself.
static void answer_from_file(void *ctx, struct planned_call *call, str params, struct arena *a) {
  const struct from_file *file = ctx;
  const struct json *said = json_get(file->responses, call->id), *error = json_get(said, STR("error"));
  const struct json *result = json_get(said, STR("result"));
  if (!error) {
    messages_take_result(call, result ? result : said, a);
    return;
  }
  call->failed = true;
  call->response = arena_printf(a, "{\"error\":%.*s}", STR_ARG(json_span(error)));
}

// Returns whether the target is a tool id. Names in direct mode never contain a colon.
static bool is_tool_id(str target) {
  return memchr(target.p, ':', target.n) != NULL;
}

static const struct json *execute(struct gateway_client *v, const struct planned_call *call, str params,
                                  struct fault *f) {
  if (call->is_resource || !is_tool_id(call->target)) {
    gateway_client_set_mode(v, MODE_DIRECT);
    return gateway_client_request(v, call->is_resource ? STR("resources/read") : STR("tools/call"), params, f);
  }
  struct arena a;
  arena_init(&a);
  const struct json *sent = json_parse(&a, params, &json_default_limits, f);
  ASSERT(!sent || json_get(sent, STR("arguments")));
  str arguments = sent ? json_span(json_get(sent, STR("arguments"))) : STR_NONE;
  const struct json *result = NULL;
  if (sent) {
    gateway_client_set_mode(v, MODE_GATEWAY);
    str text = arena_printf(&a, "{\"tool_id\":%.*s,\"args\":%.*s}", STR_ARG(json_escaped(&a, call->target)),
                            STR_ARG(arguments));
    result = gateway_client_call_tool(v, STR("tool_execute"), text, STR_NONE, f);
  }
  arena_done(&a);
  return result;
}

static void answer_by_call(void *ctx, struct planned_call *call, str params, struct arena *a) {
  struct fault f;
  const struct json *result = execute(ctx, call, params, &f);
  if (result) messages_take_result(call, result, a);
  else messages_take_fault(call, &f, a);
}

// ---- messages

struct context_messages {
  struct arena arena;
  struct buf text, responses;
  enum messages_shape shape;
  struct messages_plan plan;
};

static const struct json *read_json(struct context_messages *w, const char *path, struct buf *text, int *out_status) {
  struct fault f;
  *out_status = EXIT_CANNOT;
  if (!context_read(path, text)) return NULL;
  const struct json *v = json_parse(&w->arena, buf_view(text), &json_default_limits, &f);
  *out_status = v ? EXIT_OK : EXIT_NO;
  if (!v) fprintf(stderr, "toolgate: %s is not JSON: %s (%s)\n", path, f.message, f.path);
  return v;
}

// Prints a fault as JSON on stdout, for programs, and as text on stderr, for people.
static int refuse(const struct fault *f) {
  struct buf out;
  buf_init(&out, 16 << 10);
  struct json_writer w = json_writer(&out);
  json_begin_object(&w);
  json_put_key(&w, STR("error"));
  json_begin_object(&w);
  json_member_int(&w, STR("code"), -32602);
  json_member_str(&w, STR("message"), str_of(f->message));
  json_member_str(&w, STR("path"), str_of(f->path));
  json_end_object(&w);
  json_end_object(&w);
  printf("%.*s\n", STR_ARG(buf_view(&out)));
  fprintf(stderr, "toolgate: %s%s%s\n", f->path, *f->path ? ": " : "", f->message);
  buf_done(&out);
  return EXIT_NO;
}

static int print(struct context_messages *w, size_t failed) {
  struct buf out;
  ASSERT(failed <= w->plan.count);
  buf_init(&out, MOST_OUTPUT_BYTES);
  messages_write(&w->plan, w->shape, &w->arena, &out);
  bool over = out.over;
  buf_char(&out, '\n');
  if (over) fputs("toolgate: the messages are larger than 1 GiB\n", stderr);
  else command_print(buf_view(&out));
  buf_done(&out);
  return over ? EXIT_CANNOT : failed ? EXIT_NO : EXIT_OK;
}

static int run_from_file(struct context_messages *w, const char *path) {
  int status;
  struct from_file file = {read_json(w, path, &w->responses, &status)};
  if (!file.responses) return status;
  for (size_t i = 0; i < w->plan.count; i++) {
    if (json_get(file.responses, w->plan.calls[i].id)) continue;
    fprintf(stderr, "toolgate: %s has no response \"%.*s\"\n", path, STR_ARG(w->plan.calls[i].id));
    return EXIT_NO;
  }
  return print(w, messages_run(&w->plan, answer_from_file, &file, &w->arena));
}

static int run_calls(struct context_messages *w, const struct arguments *args) {
  struct gateway_client v;
  int status;
  if (!gateway_client_open(&v, &args->config, &status)) return status;
  gateway_client_set_mode(&v, MODE_DIRECT);
  if (w->plan.count) gateway_client_wait_servers(&v);
  status = print(w, messages_run(&w->plan, answer_by_call, &v, &w->arena));
  gateway_client_close(&v);
  return status;
}

static int convert(struct context_messages *w, const struct arguments *args) {
  struct fault f;
  int status;
  const char *path = args->operand_count ? args->operands[0] : "-";
  const struct json *input = read_json(w, path, &w->text, &status);
  if (!input) return status;
  if (!messages_plan(input, &w->arena, &w->plan, &f)) return refuse(&f);
  if (args->context.responses) return run_from_file(w, args->context.responses);
  if (args->context.execute) return run_calls(w, args);
  messages_pretend(&w->plan, &w->arena);
  return print(w, 0);
}

int context_messages(int argc, char **argv) {
  struct arguments args = {0};
  struct context_messages w = {0};
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  const struct context_arguments *said = &args.context;
  if (said->shape && !strcmp(said->shape, "openai")) w.shape = MESSAGES_OPENAI;
  else if (said->shape && strcmp(said->shape, "seed") != 0)
    return command_misused(argv[0], "--shape must be seed or openai");
  if (said->execute && said->responses) return command_misused(argv[0], "give --execute or --responses, not both");
  arena_init(&w.arena);
  status = convert(&w, &args);
  buf_done(&w.text);
  buf_done(&w.responses);
  arena_done(&w.arena);
  return status;
}

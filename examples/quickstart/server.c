// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_LINE = 4 << 20, MAX_ANSWER = 16 << 20, READ_SIZE = 65536 };

static const char *const revisions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

void request_fail(struct request *r, int code, const char *fmt, ...) {
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  r->error = code;
  r->message = arena_str(r->arena, str_of(text));
}

bool request_string(struct request *r, const char *name, str *out) {
  if (json_string(json_get(r->params, str_of(name)), r->arena, out)) return true;
  request_fail(r, RPC_INVALID_PARAMS, "params.%s must be a string", name);
  return false;
}

bool request_first_page(struct request *r) {
  if (!json_get(r->params, STR("cursor"))) return true;
  request_fail(r, RPC_INVALID_PARAMS, "unknown cursor");
  return false;
}

void request_notify(struct request *r, const char *method, str params) {
  struct json_writer w = json_writer(r->notifications);
  json_begin_object(&w);
  put_text(&w, "jsonrpc", STR("2.0"));
  put_text(&w, "method", str_of(method));
  if (params.n) {
    json_put_key(&w, STR("params"));
    json_put_raw(&w, params);
  }
  json_end_object(&w);
  buf_char(r->notifications, '\n');
}

void put_text(struct json_writer *w, const char *key, str value) {
  json_put_key(w, str_of(key));
  json_put_str(w, value);
}

static void put_content(struct json_writer *w, str text) {
  json_put_key(w, STR("content"));
  json_begin_array(w);
  json_begin_object(w);
  put_text(w, "type", STR("text"));
  put_text(w, "text", text);
  json_end_object(w);
  json_end_array(w);
}

void tool_text(struct request *r, str text) {
  json_begin_object(&r->result);
  put_content(&r->result, text);
  json_end_object(&r->result);
}

void tool_data(struct request *r, str json) {
  json_begin_object(&r->result);
  put_content(&r->result, json);
  json_put_key(&r->result, STR("structuredContent"));
  json_put_raw(&r->result, json);
  json_end_object(&r->result);
}

void tool_fail(struct request *r, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  json_begin_object(&r->result);
  put_content(&r->result, str_of(text));
  json_put_key(&r->result, STR("isError"));
  json_put_bool(&r->result, true);
  json_end_object(&r->result);
}

bool tool_string(struct request *r, const struct json *arguments, const char *name, str *out) {
  if (json_string(json_get(arguments, str_of(name)), r->arena, out)) return true;
  tool_fail(r, "The argument \"%s\" must be a string.", name);
  return false;
}

bool tool_int(struct request *r, const struct json *arguments, const char *name, int64_t *out) {
  if (json_int(json_get(arguments, str_of(name)), out)) return true;
  tool_fail(r, "The argument \"%s\" must be an integer.", name);
  return false;
}

// The revision that the client asks for when we know it, else our latest.
static const char *choose_revision(const struct json *params) {
  const struct json *wanted = json_get(params, STR("protocolVersion"));
  for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++)
    if (json_equals_str(wanted, str_of(revisions[i]))) return revisions[i];
  return revisions[0];
}

static void answer_initialize(const struct server *s, struct request *r) {
  struct json_writer *w = &r->result;
  json_begin_object(w);
  put_text(w, "protocolVersion", str_of(choose_revision(r->params)));
  json_put_key(w, STR("capabilities"));
  json_put_raw(w, str_of(s->capabilities));
  json_put_key(w, STR("serverInfo"));
  json_begin_object(w);
  put_text(w, "name", str_of(s->name));
  put_text(w, "version", STR(TOOLGATE_VERSION));
  json_end_object(w);
  put_text(w, "instructions", str_of(s->instructions));
  json_end_object(w);
}

static void put_tool(struct json_writer *w, const struct tool *t) {
  json_begin_object(w);
  put_text(w, "name", str_of(t->name));
  put_text(w, "description", str_of(t->description));
  json_put_key(w, STR("inputSchema"));
  json_put_raw(w, str_of(t->input_schema));
  if (t->output_schema) {
    json_put_key(w, STR("outputSchema"));
    json_put_raw(w, str_of(t->output_schema));
  }
  json_put_key(w, STR("annotations"));
  json_put_raw(w, t->read_only ? STR("{\"readOnlyHint\":true}") : STR("{\"readOnlyHint\":false}"));
  json_end_object(w);
}

static void answer_tools_list(const struct server *s, struct request *r) {
  if (!request_first_page(r)) return;
  struct json_writer *w = &r->result;
  json_begin_object(w);
  json_put_key(w, STR("tools"));
  json_begin_array(w);
  for (size_t i = 0; i < s->tool_count; i++) put_tool(w, &s->tools[i]);
  json_end_array(w);
  json_end_object(w);
}

static void answer_tools_call(const struct server *s, struct request *r) {
  str name;
  if (!request_string(r, "name", &name)) return;
  const struct json *arguments = json_get(r->params, STR("arguments"));
  if (arguments && !json_is(arguments, JSON_OBJECT)) {
    request_fail(r, RPC_INVALID_PARAMS, "params.arguments must be an object");
    return;
  }
  for (size_t i = 0; i < s->tool_count; i++)
    if (str_eq(name, str_of(s->tools[i].name))) {
      s->tools[i].run(r, arguments);
      return;
    }
  request_fail(r, RPC_INVALID_PARAMS, "unknown tool: %.*s", STR_ARG(name));
}

static void answer(const struct server *s, str method, struct request *r) {
  if (str_eq(method, STR("tools/call"))) return answer_tools_call(s, r);
  if (str_eq(method, STR("tools/list"))) return answer_tools_list(s, r);
  if (str_eq(method, STR("initialize"))) return answer_initialize(s, r);
  if (str_eq(method, STR("ping"))) return json_put_raw(&r->result, STR("{}"));
  for (size_t i = 0; i < s->method_count; i++)
    if (str_eq(method, str_of(s->methods[i].name))) return s->methods[i].run(r);
  request_fail(r, RPC_METHOD_NOT_FOUND, "unknown method: %.*s", STR_ARG(method));
}

static void put_answer(struct buf *out, str id, const struct request *r, str result) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  put_text(&w, "jsonrpc", STR("2.0"));
  json_put_key(&w, STR("id"));
  json_put_raw(&w, id);
  if (r->error) {
    json_put_key(&w, STR("error"));
    json_begin_object(&w);
    json_put_key(&w, STR("code"));
    json_put_int(&w, r->error);
    json_put_key(&w, STR("message"));
    json_put_str(&w, r->message);
    json_end_object(&w);
  } else {
    json_put_key(&w, STR("result"));
    json_put_raw(&w, result);
  }
  json_end_object(&w);
  buf_char(out, '\n');
}

// Answers a parsed message; gives the id to answer with, or an empty slice when none is wanted.
static str handle_message(const struct server *s, const struct json *message, struct request *r) {
  const struct json *id = json_get(message, STR("id")), *method = json_get(message, STR("method"));
  str name;
  if (!json_is(message, JSON_OBJECT) || (method && !json_is(method, JSON_STRING)) ||
      (id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER))) {
    request_fail(r, RPC_INVALID_REQUEST, "not a JSON-RPC request");
    return STR("null");
  }
  if (!id || !json_string(method, r->arena, &name)) return STR_NONE;  // a notification, or an answer to nothing
  r->params = json_get(message, STR("params"));
  answer(s, name, r);
  return json_span(id);
}

static void handle_line(const struct server *s, str line, struct arena *arena, struct buf *out) {
  struct buf result, notifications;
  struct fault fault;
  buf_init(&result, MAX_ANSWER);
  buf_init(&notifications, MAX_ANSWER);
  struct request r = {
      .arena = arena, .result = json_writer(&result), .notifications = &notifications, .state = s->state};
  const struct json *message = json_parse(arena, line, &json_default_limits, &fault);
  str id = STR("null");
  if (message) id = handle_message(s, message, &r);
  else request_fail(&r, RPC_PARSE_ERROR, "%s (%s)", fault.message, fault.path);
  if (result.over) request_fail(&r, RPC_INTERNAL_ERROR, "the answer is larger than %d bytes", MAX_ANSWER);
  if (id.n) put_answer(out, id, &r, buf_view(&result));
  buf_str(out, buf_view(&notifications));
  buf_done(&result);
  buf_done(&notifications);
}

static bool write_all(str bytes) {
  while (bytes.n) {
    ssize_t k = write(STDOUT_FILENO, bytes.p, bytes.n);
    if (k < 0) return false;
    bytes = str_from(bytes, (size_t)k);
  }
  return true;
}

// Answers every whole line of `in`, and keeps what is left of the last one. False when nobody reads the answers.
static bool handle_input(const struct server *s, struct buf *in, struct arena *arena, struct buf *out) {
  str rest = buf_view(in), line;
  for (str tail; str_cut(rest, '\n', &line, &tail); rest = tail) {
    if (str_trim(line).n) handle_line(s, line, arena, out);
    arena_reset(arena);
  }
  buf_drop(in, in->n - rest.n);
  bool sent = write_all(buf_view(out));
  buf_reset(out);
  return sent;
}

int server_run(const struct server *s) {
  struct buf in, out;
  struct arena arena;
  buf_init(&in, MAX_LINE);
  buf_init(&out, MAX_ANSWER);
  arena_init(&arena);
  int status = 0;
  for (;;) {
    char *room = buf_room(&in, READ_SIZE);
    ssize_t k = room ? read(STDIN_FILENO, room, READ_SIZE) : -1;
    if (k == 0) break;
    if (k > 0) in.n += (size_t)k;
    if (k < 0 || !handle_input(s, &in, &arena, &out)) {
      fprintf(stderr, "%s: %s\n", s->name, room ? "the connection broke" : "a line is too long");
      status = 1;
      break;
    }
  }
  arena_done(&arena);
  buf_done(&in);
  buf_done(&out);
  return status;
}

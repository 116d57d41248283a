// SPDX-License-Identifier: Apache-2.0
// A tool may require that HTTP headers repeat some of its arguments. Compares such headers of a stateless client with
// the arguments, and sends such headers to a stateless server.
#include <stdio.h>

#include "call/steps/steps.h"
#include "mcp/header.h"

static const struct json *arguments_of(const struct call *c) {
  return json_get(c->request->msg.params, STR("arguments"));
}

// ---- from the client

static enum call_result mismatch(struct call *c, str name, const char *what) {
  char message[256];
  snprintf(message, sizeof message, "Header mismatch: Mcp-Param-%.*s %s", (int)(name.n < 96 ? name.n : 96), name.p,
           what);
  return call_refuse(c, RPC_HEADER_MISMATCH, message, STR_NONE);
}

static const struct request_param_header *find_param_header(const struct request *r, str name, size_t *out_count) {
  const struct request_param_header *found = NULL;
  *out_count = 0;
  for (size_t i = 0; i < r->param_header_count; i++)
    if (str_eq_nocase(r->param_headers[i].name, name)) {
      found = &r->param_headers[i];
      ++*out_count;
    }
  return found;
}

// Returns NULL if the header agrees with the argument, otherwise the end of an error message.
static const char *disagrees(struct call *c, const struct param_header *m) {
  size_t count;
  str text;
  const struct request_param_header *header = find_param_header(c->request, m->name, &count);
  const struct json *value = param_header_value(m, arguments_of(c));
  if (count > 1) return "is given more than once";
  if (!value) return header ? "repeats an argument that is missing" : NULL;
  if (!param_header_text(value, &c->request->arena, &text)) return NULL;
  if (!header) return "is missing";
  switch (header_compare(header->value, text)) {
  case HEADER_SAME: return NULL;
  case HEADER_MALFORMED: return "has an invalid =?base64?…?= value";
  case HEADER_DIFFERENT: break;
  }
  return "differs from the arguments";
}

static enum call_result run(struct call *c, void *state) {
  if (!c->request->by_http || !c->item) return CALL_NEXT;
  for (size_t i = 0; i < c->item->param_headers.count; i++) {
    const struct param_header *m = &c->item->param_headers.list[i];
    const char *what = disagrees(c, m);
    if (what) return mismatch(c, m->name, what);
  }
  return CALL_NEXT;
}

// ---- to the server

bool call_put_headers(struct call *c, str *out_name, str *out_headers) {
  enum { PARAM_HEADERS_MAX = 1 << 16 };  // maximum bytes of all headers; more than any server accepts
  struct arena *a = &c->request->arena;
  *out_name = *out_headers = STR_NONE;
  if (!link_has_headers(c->lane->link)) return true;
  bool named = c->method->target != CALL_BY_REF && c->method->target != CALL_BY_ONLY;
  if (named) *out_name = c->routes[c->route].uri;
  if (out_name->n > PARAM_HEADERS_MAX) return false;
  if (!c->item || !c->item->param_headers.count) return true;
  struct buf b;
  buf_init(&b, PARAM_HEADERS_MAX);
  for (size_t i = 0; i < c->item->param_headers.count; i++) {
    const struct param_header *m = &c->item->param_headers.list[i];
    const struct json *value = param_header_value(m, arguments_of(c));
    str text;
    if (!value || !param_header_text(value, a, &text)) continue;
    header_put(&b, arena_printf(a, "Mcp-Param-%.*s", STR_ARG(m->name)), text);
  }
  bool fits = !b.over;
  if (fits) *out_headers = arena_str(a, buf_view(&b));
  buf_done(&b);
  return fits;
}

const struct call_step step_param_headers = {
    .name = "param_headers",
    .does = "Compares the HTTP headers that repeat arguments with the arguments.",
    .run = run,
};

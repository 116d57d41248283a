// SPDX-License-Identifier: Apache-2.0
// What comes with stateless requests. The first byte says what the rest is: b the body of a POST; h a header's value, a
// line break, and what the body says; t a tool's definition, or an array of that and a call's arguments; k a
// requestState that a client brings back.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/bridge/ticket.h"
#include "catalog/naming/param_headers.h"
#include "io/http/http.h"
#include "mcp/header.h"
#include "mcp/server/callers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 64 << 20, LIFE_MS = 1000 };

// ---- a server role that answers whatever it is asked

struct world {
  struct log log;
  struct loop loop;
  struct mcp_server server;
  struct callers callers;
  struct tickets tickets;
  struct arena arena;
  struct buf out;  // the latest answer, or whatever else is being written
};

static void attached(void *ctx, struct session *s) {
}
static void describe(void *ctx, struct session *s, struct json_writer *w) {
  json_put_key(w, STR("capabilities"));
  json_put_raw(w, STR("{}"));
}
static void opened(void *ctx, struct session *s) {
}
static void closed(void *ctx, struct session *s) {
}
static void request(void *ctx, struct request *r) {
  switch (r->msg.params->count % 3) {
  case 0: request_reply(r, STR("{}")); break;
  case 1: request_reply(r, STR("{\"a\":1}")); break;
  default: request_fail(r, RPC_INVALID_PARAMS, "no", STR_NONE); break;
  }
}

static void outlet_send(struct session *s, struct request *related, str message) {
}

static void outlet_answer(struct request *r, struct payload message) {
  struct world *w = r->session->channel;
  buf_reset(&w->out);
  buf_str(&w->out, message.text);
}

static void callers_open(struct world *w) {
  static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};
  callers_init(&w->callers, &w->server, &(struct callers_options){.outlet = &outlet, .channel = w, .idle_ms = 1});
}

static void world_open(struct world *w) {
  static const struct surface_ops surface = {
      .attached = attached, .describe = describe, .opened = opened, .closed = closed, .request = request};
  static const struct mcp_server_limits limits = {
      .max_sessions = 8, .max_in_flight = 8, .max_held = 1 << 20, .max_message = 1 << 20};
  w->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&w->loop, &w->log, &clock_system, &rand_system);
  mcp_server_init(&w->server, &w->loop, &surface, w, &limits);
  tickets_init(&w->tickets, &w->loop, LIFE_MS);
  arena_init(&w->arena);
  buf_init(&w->out, MAX_OUT);
}

static const struct json *parse(struct world *w, str text) {
  struct fault f;
  return json_parse(&w->arena, text, &json_default_limits, &f);
}

// ---- a body

// It can be told, as an error with the request's id.
static void check_refusal(struct world *w, const struct refusal *why) {
  struct rpc_message m;
  struct rpc_error err;
  ASSERT(why->code < 0 && why->message[0]);
  ASSERT(strnlen(why->message, sizeof why->message) < sizeof why->message);
  ASSERT(strnlen(why->data, sizeof why->data) < sizeof why->data);
  bool of_version = why->code == RPC_UNSUPPORTED_VERSION;
  ASSERT(of_version == (why->data[0] != 0));
  buf_reset(&w->out);
  rpc_put_error(&w->out, STR("1"), why->code, str_of(why->message), str_of(why->data));
  const struct json *v = parse(w, buf_view(&w->out));
  ASSERT(v && rpc_read(v, &w->arena, &m, &err) && m.kind == RPC_ERROR);
}

// The answer is a reply under the same id.
static void check_answer(struct world *w, str id) {
  struct rpc_message m;
  struct rpc_error err;
  const struct json *v = parse(w, buf_view(&w->out));
  ASSERT(v && rpc_read(v, &w->arena, &m, &err));
  ASSERT(str_eq(json_span(m.id), id));
  ASSERT(m.kind == RPC_ERROR || json_equals_str(json_get(m.result, STR("resultType")), STR("complete")));
}

static void fuzz_body(struct world *w, str body) {
  struct fault f;
  struct refusal why;
  struct request *r = request_parse(&w->server, body, &f);
  if (!r) return;
  bool claims = callers_claims(r), good = callers_check(r, &why);
  ASSERT(claims || !good);
  if (!good || !callers_speaks(r, &why)) {
    check_refusal(w, &why);
    request_discard(&w->server, r);
    return;
  }
  str id = arena_str(&w->arena, json_span(r->msg.id));
  struct session *s = callers_lend(&w->callers, r, (struct client_identity){.principal = (int)body.n % 2}, &why);
  ASSERT(s && s->lent <= LENT_ONCE);
  ASSERT(session_askable(s) == (s->lent == LENT_ALONE));
  session_serve(s, r, NULL);
  check_answer(w, id);
}

// ---- headers

static void check_line(struct world *w, str name, str value) {
  static const struct http_limits limits = {.max_head = 32 << 20};
  struct http_head head;
  struct http_error err;
  size_t seen = 0;
  buf_reset(&w->out);
  buf_str(&w->out, STR("GET / HTTP/1.1\r\nHost: a\r\n"));
  header_put(&w->out, name, value);
  buf_str(&w->out, STR("\r\n"));
  ASSERT(http_parse_request(w->out.p, w->out.n, &limits, &seen, &head, &err) == (long)w->out.n);
  ASSERT(head.header_count == 2 && http_count(&head, name) == 1);
  str header = arena_str(&w->arena, http_value(&head, name));
  ASSERT(header_compare(header, value) == HEADER_SAME);
  if (value.n) ASSERT(header_compare(header, str_from(value, 1)) == HEADER_DIFFERENT);
}

static void fuzz_header(struct world *w, str s) {
  str header, value;
  if (!str_cut(s, '\n', &header, &value)) return;
  enum header_match match = header_compare(header, value);
  bool coded = str_starts(str_trim(header), STR("=?base64?"));
  if (!coded && match == HEADER_SAME) ASSERT(str_eq(str_trim(header), value));
  if (match == HEADER_SAME) ASSERT(utf8_valid(value));
  if (utf8_valid(value)) check_line(w, STR("Mcp-Name"), value);
}

// ---- tools

static void check_param_header(struct world *w, const struct param_header *m, const struct json *arguments) {
  str text, name = arena_printf(&w->arena, "Mcp-Param-%.*s", STR_ARG(m->name));
  const struct json *value = param_header_value(m, arguments);
  ASSERT(m->depth && m->name.n);
  if (!value || !param_header_text(value, &w->arena, &text)) return;
  ASSERT(utf8_valid(text));
  check_line(w, name, text);
}

static void fuzz_tool(struct world *w, str s) {
  const struct json *v = parse(w, s);
  bool both = json_is(v, JSON_ARRAY);
  const struct json *definition = both ? json_at(v, 0) : v, *arguments = both ? json_at(v, 1) : NULL;
  struct param_headers param_headers = {.count = 7};
  const char *why = NULL;
  if (!definition) return;
  bool good = param_headers_read(definition, &w->arena, &param_headers, &why);
  ASSERT(good == !why);
  if (!good) ASSERT(param_headers.count == 7);
  for (size_t i = 0; good && i < param_headers.count; i++) check_param_header(w, &param_headers.list[i], arguments);
}

// ---- tickets

static bool redeem(struct world *w, str text, const struct ticket_use *use, struct ticket *out) {
  struct fault f;
  bool good = ticket_redeem(&w->tickets, text, use, &w->arena, out, &f);
  if (!good) ASSERT(f.code == FAULT_INVALID && f.message[0]);
  return good;
}

// What the client wrote is none of ours; nor is one of ours with any byte changed.
static void fuzz_ticket(struct world *w, str s) {
  struct ticket ticket = {.kind = TICKET_UPSTREAM, .source = 5, .has_state = true, .state = s}, got;
  const struct json *params = parse(w, s);
  struct ticket_use use = {3, STR("tools/call"), params};
  ASSERT(!redeem(w, s, &use, &got));
  buf_reset(&w->out);
  ticket_issue(&w->tickets, &ticket, &use, &w->out);
  size_t at = s.n ? (unsigned char)s.p[0] * w->out.n / 256 : 0;
  char changed = s.n > 1 ? s.p[1] : 'x', was = w->out.p[at];
  w->out.p[at] = changed;
  if (changed != was) ASSERT(!redeem(w, buf_view(&w->out), &use, &got));
  w->out.p[at] = was;
  ASSERT(redeem(w, buf_view(&w->out), &use, &got));
  ASSERT(got.kind == TICKET_UPSTREAM && got.source == 5 && got.has_state && str_eq(got.state, s));
  ASSERT(!redeem(w, buf_view(&w->out), &use, &got));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static struct world world;  // a loop for each input would take most of the time
  if (n < 1) return 0;
  if (!world.loop.clock) world_open(&world);
  struct world *w = &world;
  str s = {(const char *)data + 1, n - 1};
  arena_reset(&w->arena);
  callers_open(w);
  switch (data[0]) {
  case 'b': fuzz_body(w, s); break;
  case 'h': fuzz_header(w, s); break;
  case 't': fuzz_tool(w, s); break;
  case 'k': fuzz_ticket(w, s); break;
  default: break;
  }
  callers_done(&w->callers);
  return data[0] == 'b' || data[0] == 'h' || data[0] == 't' || data[0] == 'k' ? 0 : -1;
}

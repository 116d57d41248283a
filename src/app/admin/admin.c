// SPDX-License-Identifier: Apache-2.0
#include "app/admin/admin.h"

#include <openssl/crypto.h>

#include "mcp/auth/credentials.h"

enum {
  PAGE_BYTES = 16 << 20,
  CONNECTIONS = 64,
  ADDRESS_CONNECTIONS = 48,
  HEAD_BYTES = 16 << 10,
  BODY_BYTES = 1 << 10,
  TIMEOUT_MS = 10000,
};

void admin_init(struct admin *a, const struct model *model, struct rejections *rejections, bool (*reload)(void *ctx),
                void *ctx) {
  ASSERT(model->gateway && model->draining && rejections && reload);
  *a = (struct admin){.model = model, .config = model->gateway->config, .rejections = rejections};
  a->reload = reload;
  a->ctx = ctx;
  buf_init(&a->text, PAGE_BYTES);
  arena_init(&a->arena);
}

void admin_done(struct admin *a) {
  http_server_free(&a->http);
  ASSERT(a->stream_count == 0);  // http_server_free has ended all event streams
  buf_done(&a->text);
  arena_done(&a->arena);
}

// ---- answering

void admin_send(struct admin_request *r, int status, str type, str body) {
  ASSERT(status >= 200 && status < 600);
  str headers = STR("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
  http_reply(r->x, status, headers, type, body);
}

void admin_reply(struct admin_request *r, int status, str type) {
  ASSERT(r->text == &r->admin->text);
  str plain = STR("text/plain; charset=utf-8");
  if (r->text->over) admin_send(r, 500, plain, STR("too many servers for one page\n"));
  else admin_send(r, status, type, buf_view(r->text));
}

// Returns the Allow header of a 405 response, with all methods that the path supports.
static str allowed_methods(struct admin *a, str path) {
  size_t count;
  const struct admin_route *rows = admin_routes(&count);
  buf_reset(&a->text);
  for (size_t i = 0; i < count; i++)
    if (str_eq(rows[i].path, path))
      buf_printf(&a->text, "%s%.*s", a->text.n ? ", " : "Allow: ", STR_ARG(rows[i].method));
  ASSERT(a->text.n);  // at least one page has this path; otherwise the status is 404, not 405
  buf_str(&a->text, STR("\r\n"));
  return buf_view(&a->text);
}

// Returns the body of a 404 response, which lists the paths of all pages.
static str no_page(struct admin *a) {
  size_t count;
  const struct admin_route *rows = admin_routes(&count);
  buf_reset(&a->text);
  buf_str(&a->text, STR("there is no such page; the pages are"));
  for (size_t i = 0; i < count; i++)
    if (!i || !str_eq(rows[i].path, rows[i - 1].path))
      buf_printf(&a->text, "%s%.*s", i ? ", " : " ", STR_ARG(rows[i].path));
  buf_char(&a->text, '\n');
  return buf_view(&a->text);
}

static void refuse(struct admin *a, struct http_exchange *x, int status) {
  str text = STR("text/plain; charset=utf-8");
  switch (status) {
  case 401:
    http_reply(x, 401, STR("WWW-Authenticate: Bearer realm=\"toolgate admin\"\r\n"), text,
               STR("a bearer token is required: the token of admin.token_sha256 to read, the token of "
                   "admin.operator_token_sha256 to make changes\n"));
    break;
  case 403:
    http_reply(x, 403, STR_NONE, text, STR("the token of admin.operator_token_sha256 is required to make changes\n"));
    break;
  case 405:
    http_reply(x, 405, allowed_methods(a, x->head->path), text, STR("this page does not support the method\n"));
    break;
  default: http_reply(x, 404, STR_NONE, text, no_page(a));
  }
}

// Finds the page for the request, lets it answer, and returns 0. If the request is refused, returns the HTTP status.
static int dispatch(struct admin *a, struct http_exchange *x, const struct admin_identity *who) {
  const struct admin_route *found;
  size_t count;
  const struct admin_route *rows = admin_routes(&count);
  int status = admin_find(rows, count, who, x->head->method, x->head->path, &found);
  if (status) return status;
  ASSERT(found && found->answer);
  struct admin_request r = {a, x, &a->text, who->role};
  buf_reset(&a->text);
  found->answer(&r);
  return 0;
}

bool admin_answer(void *admin, struct http_exchange *x) {
  struct admin *a = admin;
  bool everyone = !a->model->gateway->rules.policy && !a->guarded;
  struct admin_identity who = {.role = everyone ? ADMIN_READER : ADMIN_PUBLIC, .at_endpoint = true};
  int status = dispatch(a, x, &who);
  if (status == 405) refuse(a, x, status);
  return status != 404;
}

// ---- at admin.listen

static bool is_token(const struct config_digest *d, const unsigned char digest[SHA256_SIZE]) {
  return d->set && CRYPTO_memcmp(digest, d->sha256, SHA256_SIZE) == 0;
}

// Returns the role of the client, which the bearer token of the request decides. If the request is refused, sets
// *out_why to the reason to log.
static struct admin_identity identify(struct admin *a, struct http_exchange *x, enum rejection *out_why) {
  const struct config *c = a->config;
  unsigned char digest[SHA256_SIZE];
  struct fault f;
  str token;
  struct admin_identity who = {.role = c->admin_reader.set ? ADMIN_PUBLIC : ADMIN_READER};
  enum credentials_verdict verdict = credentials_bearer(x->head, &token, &f);
  *out_why = verdict == CREDENTIALS_GOOD      ? REJECTION_UNKNOWN_TOKEN
             : verdict == CREDENTIALS_MISSING ? REJECTION_MISSING
                                              : REJECTION_MALFORMED;
  if (verdict != CREDENTIALS_GOOD) return who;
  hash_sha256(token, digest);
  bool reads = is_token(&c->admin_reader, digest), operates = is_token(&c->admin_operator, digest);
  if (!reads && !operates) return who;
  *out_why = REJECTION_SCOPE;
  http_exchange_trust(x);
  return (struct admin_identity){.role = operates ? ADMIN_OPERATOR : ADMIN_READER, .known = true};
}

static void on_request(void *ctx, struct http_exchange *x) {
  struct admin *a = ctx;
  enum rejection why;
  if (!access_pass(&a->access, &a->model->gateway->loop, x)) return;
  struct admin_identity who = identify(a, x, &why);
  int status = dispatch(a, x, &who);
  if (status == 401 || status == 403) rejections_note(a->rejections, x, why, STR("admin"));
  if (status) refuse(a, x, status);
}

// Handles a failure to listen at admin.listen. With HTTP, returns false, with the error in `f`. With stdio, logs a
// warning and returns true: each client starts its own gateway with the same configuration, and only one of these
// gateways can listen on the address.
static bool do_without(struct admin *a, struct fault *f) {
  struct fault why = *f;
  fault_set(f, why.code, "%s; set another address in admin.listen, such as one with port 0 for any free port",
            why.message);
  if (a->config->transport == CONFIG_HTTP) return false;
  log_warn(&a->model->gateway->log, "readiness and metrics are not available: %s", f->message);
  return true;
}

static struct access access_for(struct admin *a) {
  const struct config_hosts *all = &a->config->allowed_hosts, *own = &a->config->admin_hosts;
  str *names = ARENA_ARRAY(&a->arena, str, all->count + own->count);
  for (size_t i = 0; i < all->count; i++) names[i] = all->names[i];
  for (size_t i = 0; i < own->count; i++) names[all->count + i] = own->names[i];
  str bound = config_in_url(a->config->admin_host, &a->arena);
  return (struct access){.allowed = names, .allowed_count = all->count + own->count, .bound = bound, .local = true};
}

bool admin_listen(struct admin *a, struct fault *f) {
  const struct config *c = a->config;
  uint16_t port;
  struct http_server_options opt = {
      .limits = {HEAD_BYTES, BODY_BYTES},
      .max_connections = CONNECTIONS,
      .max_per_address = ADDRESS_CONNECTIONS,
      .max_queued = PAGE_BYTES + BODY_BYTES,
      .head_ms = TIMEOUT_MS,
      .body_ms = TIMEOUT_MS,
      .idle_ms = TIMEOUT_MS,
      .write_ms = TIMEOUT_MS,
  };
  if (!c->admin_listen.n) return true;
  ASSERT(!a->http && c->admin_host.n);
  a->access = access_for(a);
  a->http = http_server_new(&a->model->gateway->loop, &opt, on_request, a);
  if (!http_server_listen(a->http, c->admin_host, c->admin_port, &port, f)) return do_without(a, f);
  ASSERT(port && (!c->admin_port || port == c->admin_port));
  a->access.port = port;
  char host[HTTP_HOST_TEXT];
  log_info(&a->model->gateway->log, "serving readiness and metrics at %s:%u", http_host_print(c->admin_host, host),
           port);
  return true;
}

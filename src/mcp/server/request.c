// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/request.h"

#include "base/assert.h"
#include "base/mem.h"
#include "mcp/server/callers.h"
#include "mcp/server/session.h"

enum {
  REQUEST_MAGIC = 0x72657175,
  KEEP_REQUESTS = 256,
  KEEP_SCRATCH = 1 << 20,
};

static struct request *request_new(struct mcp_server *m) {
  struct list *kept = list_pop(&m->free_requests);
  struct request *r;
  if (kept) {
    r = CONTAINER_OF(kept, struct request, node);
    m->free_count--;
  } else {
    r = MEM_NEW(struct request);
    arena_init(&r->arena);
  }
  r->magic = REQUEST_MAGIC;
  list_init(&r->node);
  return r;
}

void request_discard(struct mcp_server *m, struct request *r) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  ASSERT(!r->holds);
  list_remove(&r->node);
  if (m->free_count >= KEEP_REQUESTS) {
    arena_done(&r->arena);
    mem_free(r);
    return;
  }
  arena_reset(&r->arena);
  struct arena kept = r->arena;
  *r = (struct request){.arena = kept};
  list_push(&m->free_requests, &r->node);
  m->free_count++;
}

void requests_free_spare(struct mcp_server *m) {
  for (struct list *n; (n = list_pop(&m->free_requests)); m->free_count--) {
    struct request *r = CONTAINER_OF(n, struct request, node);
    arena_done(&r->arena);
    mem_free(r);
  }
  ASSERT(!m->free_count);
}

struct request *request_parse(struct mcp_server *m, str text, struct fault *f) {
  struct request *r = request_new(m);
  r->value = json_parse(&r->arena, arena_str(&r->arena, text), &m->request_limits, f);
  if (r->value) return r;
  request_discard(m, r);
  return NULL;
}

static void hold(struct request *r, size_t bytes) {
  struct session *s = r->session;
  ASSERT(s->held >= r->holds);
  s->held = s->held - r->holds + bytes;
  intake_set(&s->server->intake, s->account, &r->holds, bytes);
}

void request_holds(struct request *r, size_t extra) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  hold(r, r->arena.total + extra);
}

void request_begin(struct request *r, struct session *s, void *channel) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  ASSERT_MAGIC(s, SESSION_MAGIC);
  ASSERT(!r->session && !s->closing);
  r->session = s;
  r->id = json_span(r->msg.id);
  r->channel = channel;
  list_push(&s->requests, &r->node);
  s->in_flight++;
  hold(r, r->arena.total);
}

// Ends request r and sends `message` as its answer. `memory` is the buffer that contains the message, or NULL; the
// outlet may take ownership of its memory.
static void finish(struct request *r, str message, struct buf *memory) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  struct session *s = r->session;
  ASSERT_MAGIC(s, SESSION_MAGIC);
  ASSERT(s->in_flight > 0 && !list_empty(&r->node));
  struct mcp_server *m = s->server;
  struct callers *lender = s->callers;
  list_remove(&r->node);
  s->in_flight--;
  hold(r, 0);
  session_used(s);
  if (r->note || r->accounting) m->surface->over(m->surface_ctx, r, message);
  // Sending the answer may start the client's next request, which may free the session `s`. Afterwards `s` is certainly
  // valid only if `lender` lent it, because it was not returned yet.
  s->outlet->answer(r, (struct payload){message, memory});
  request_discard(m, r);
  if (lender) callers_return(lender, s);
}

static struct buf *scratch(struct request *r) {
  struct buf *b = &r->session->server->scratch;
  buf_reset(b);
  buf_trim(b, KEEP_SCRATCH);
  return b;
}

static void finish_whole(struct request *r, struct buf *b) {
  if (b->over) {
    buf_reset(b);
    rpc_put_error(b, r->id, r->code = RPC_INTERNAL_ERROR, STR("the answer is larger than limits.message"), STR_NONE);
  }
  finish(r, buf_view(b), b);
}

#define SERVER_META "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
#define OWN_META "{\"_meta\":{"

void request_reply(struct request *r, str result) {
  struct buf *b = scratch(r);
  if (r->session->revision->stateless) {
    bool has_meta = str_starts(result, STR(OWN_META));
    rpc_put_result(b, r->id, STR("{\"resultType\":\"complete\","));
    b->n--;  // removes the closing brace, because more members follow
    buf_str(b, STR(SERVER_META));
    buf_str(b, META_TOOLGATE);
    if (has_meta) buf_char(b, ',');
    else buf_str(b, result.n > 2 ? STR("},") : STR("}"));
    buf_str(b, str_from(result, has_meta ? sizeof OWN_META - 1 : 1));
    buf_char(b, '}');
  } else {
    rpc_put_result(b, r->id, result);
  }
  finish_whole(r, b);
}

void request_reply_whole(struct request *r, str result) {
  struct buf *b = scratch(r);
  rpc_put_result(b, r->id, result);
  finish_whole(r, b);
}

// Returns the HTTP status for an error code if the client is stateless, or 0 for the default status.
static int status_of(const struct request *r, int64_t code) {
  if (!r->session->revision->stateless) return 0;
  switch (code) {
  case RPC_METHOD_NOT_FOUND: return 404;
  case RPC_HEADER_MISMATCH:
  case RPC_MISSING_CAPABILITY:
  case RPC_UNSUPPORTED_VERSION: return 400;
  default: return 0;
  }
}

void request_send(struct request *r, struct buf *message, int code) {
  r->code = code;
  r->status = status_of(r, code);
  finish(r, buf_view(message), message);
}

void request_reply_as(struct request *r, const struct rpc_message *reply) {
  struct buf *b = scratch(r);
  int64_t code = 0;
  str renamed;
  if (reply->kind == RPC_ERROR && json_int(json_get(reply->error, STR("code")), &code)) r->status = status_of(r, code);
  // The audit log gets this code instead of the server's own error code.
  if (reply->kind == RPC_ERROR) r->code = RPC_INTERNAL_ERROR;
  if (reply->large_message && large_message_rename(reply->large_message, r->id, &renamed)) {
    finish(r, renamed, &reply->large_message->memory);
    return;
  }
  rpc_put_reply_as(b, reply, r->id);
  if (reply->large_message) large_message_empty(reply->large_message);
  finish_whole(r, b);
}

void request_fail(struct request *r, int code, const char *message, str data) {
  struct buf *b = scratch(r);
  rpc_put_error(b, r->id, code, str_of(message), data);
  r->code = code;
  if (!r->status) r->status = status_of(r, code);
  finish(r, buf_view(b), NULL);
}

void request_cancel(struct request *r, str reason) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  struct work *w = r->work;
  r->work = NULL;
  if (w) w->ops->cancel(w, r, reason);
  finish(r, STR_NONE, NULL);
}

void request_suspend(struct request *r) {
  const struct outlet_ops *outlet = r->session->outlet;
  if (outlet->suspend) outlet->suspend(r);
}

bool request_knows(const struct request *r, str extension) {
  const struct json *meta = json_get(r->msg.params, STR("_meta"));
  return json_is(json_get(json_get(json_get(meta, META_CAPABILITIES), STR("extensions")), extension), JSON_OBJECT);
}

const struct json *request_progress_token(const struct request *r) {
  return json_get(json_get(r->msg.params, STR("_meta")), STR("progressToken"));
}

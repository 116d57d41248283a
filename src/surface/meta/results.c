// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/results.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/plain.h"
#include "call/audit_recorder.h"
#include "result/artifacts.h"
#include "result/view/view.h"
#include "surface/meta/execute.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"

// Views of artifacts larger than AT_ONCE bytes, and JSONPath queries, are made on another thread.
enum { AT_ONCE = 256 << 10, ANSWER_MAX = 64 << 20 };

struct viewing {
  struct work work;
  struct list node;
  struct surface *d;
  struct request *request;  // NULL after the request was cancelled
  struct found_artifact piece;
  struct arena arena;
  const struct json *selector;
  str handle, mark;
  str agent;      // agent that the request names, or STR_NONE
  size_t tokens;  // maximum tokens of the view
  struct buf text;
  bool exact;  // do not remove hidden characters from the view
  bool shown;  // true if `text` contains the view; otherwise `fault` is set
  bool damaged;
  struct fault fault;
  str details;  // details of the fault, raw JSON in the request's memory; STR_NONE if there are none
  uv_work_t job;
};

static void viewing_free(struct viewing *v) {
  list_remove(&v->node);
  artifact_release(&v->piece);
  buf_done(&v->text);
  arena_done(&v->arena);
  mem_free(v);
}

static void on_cancel(struct work *work, struct request *r, str reason) {
  struct viewing *v = CONTAINER_OF(work, struct viewing, work);
  v->request = NULL;
  uv_cancel((uv_req_t *)&v->job);  // on_looked is called even if the job is cancelled
}

static const struct work_ops work_ops = {"view", on_cancel};

// Copies the arguments, because the request may end before the view is made.
static struct viewing *viewing_new(struct surface *d, struct request *r, str handle, const struct json *selector) {
  struct viewing *v = MEM_NEW(struct viewing);
  struct fault f;
  v->work.ops = &work_ops;
  v->d = d;
  v->request = r;
  arena_init(&v->arena);
  buf_init(&v->text, ANSWER_MAX);
  list_push(&d->viewings, &v->node);
  v->handle = arena_str(&v->arena, handle);
  v->exact = d->opt.calls.results.keep_hidden || r->session->as_operator;
  v->mark = arena_str(&v->arena, str_of(r->session->mark));
  if (selector)
    v->selector = json_parse(&v->arena, arena_str(&v->arena, json_span(selector)), &json_default_limits, &f);
  ASSERT(v->selector || !selector);  // cannot fail: the same text was parsed before, as part of the request
  return v;
}

// Makes the view, and removes hidden characters from it, because artifacts that are meant for programs, such as
// structured content, may contain hidden characters.
static void look(struct viewing *v) {
  ASSERT(v->selector);
  v->shown = view_select(v->piece.artifact.bytes, v->selector, v->tokens, v->mark, &v->text, &v->fault);
  str plain = v->shown && !v->exact ? plain_copy(&v->arena, buf_view(&v->text), false) : buf_view(&v->text);
  if (plain.p != v->text.p) {
    buf_reset(&v->text);
    buf_str(&v->text, plain);
  }
  if (found_piece_intact(&v->piece.find.found)) return;
  v->shown = false;
  v->damaged = true;
  fault_set(&v->fault, FAULT_VIEW_FAILED, "the artifact of this handle is damaged; call the tool again");
}

// Writes the view for an operator, as `toolgate view --json` prints it.
static void put_operator_view(const struct viewing *v, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("handle"), v->handle);
  json_member_str(&w, STR("media_type"), v->piece.artifact.media_type);
  json_member_u64(&w, STR("size"), v->piece.artifact.bytes.n);
  json_member_str(&w, STR("text"), buf_view(&v->text));
  json_end_object(&w);
}

// Answers the request with the view or the fault. The request must not be used afterwards.
static void answer(struct viewing *v) {
  struct surface *d = v->d;
  struct request *r = v->request;
  ASSERT(d && r && r->work == &v->work);
  r->work = NULL;
  if (v->damaged) pieces_report_damaged(d->opt.store, &v->piece.find.found);
  if (v->shown) {
    struct buf whole;
    buf_init(&whole, 6 * v->text.n + (1 << 20));
    if (r->session->as_operator) put_operator_view(v, &whole);
    meta_reply(d, r, buf_view(&v->text), whole.over ? STR_NONE : buf_view(&whole));
    buf_done(&whole);
  } else {
    if (v->fault.code != FAULT_FLOW_DENIED) v->fault.code = FAULT_VIEW_FAILED;
    fault_set_path(&v->fault, v->handle);
    meta_fail(d, r, &v->fault, v->details);
  }
}

static void on_job(uv_work_t *job) {
  look(CONTAINER_OF(job, struct viewing, job));
}

static void on_looked(uv_work_t *job, int status) {
  struct viewing *v = CONTAINER_OF(job, struct viewing, job);
  if (v->request) answer(v);
  viewing_free(v);
}

void meta_views_forget(struct surface *d) {
  LIST_EACH(it, &d->viewings) {
    struct viewing *v = CONTAINER_OF(it, struct viewing, node);
    ASSERT(!v->request);
    list_remove(&v->node);
    list_init(&v->node);
    v->d = NULL;
  }
}

// Returns whether the rules let the caller use the tool or resource that a piece came from. If the function returns
// false, the client gets the same answer as for an unknown handle, unless v->fault is set.
static bool may_view(struct viewing *v, struct request *r, const struct piece_origin *origin) {
  struct surface *d = v->d;
  struct caller caller;
  struct fault f;
  if (!rulebook_limits(d->calls.rules)) return true;
  if (!caller_find(d->calls.rules, r->session, v->agent, &caller, &f)) return false;
  if (!caller_is_limited(&caller)) return true;
  if (!origin->server.n) return false;
  bool tool = origin->tool.n;
  struct policy_decision decision =
      caller_decide(&caller, origin->server, tool ? ITEM_TOOL : ITEM_RESOURCE, origin->tool);
  if (!decision.allowed) {
    audit_recorder_tool(r, origin->server, tool ? origin->tool : STR_NONE);
    audit_recorder_decided(r, &decision);
  }
  return decision.allowed &&
         calls_may_view(&d->calls, r, &caller, origin->server, origin->tool, &v->fault, &v->details);
}

static void on_piece(struct found_artifact *piece) {
  struct viewing *v = CONTAINER_OF(piece, struct viewing, piece);
  struct request *r = v->request;
  bool found = r && piece->find.read.ok && may_view(v, r, &piece->find.found.piece.origin);
  if (found && !v->selector) {  // `toolgate view` without a selector shows the whole artifact
    struct fault f;
    str text = arena_printf(&v->arena, "{\"type\":\"head\",\"chars\":%zu}", piece->artifact.bytes.n);
    v->selector = json_parse(&v->arena, text, &json_default_limits, &f);
  }
  if (found && (piece->artifact.bytes.n > AT_ONCE || json_get(v->selector, STR("path")))) {
    ASSERT(uv_queue_work(&v->d->opt.loop->uv, &v->job, on_job, on_looked) == 0);
    return;
  }
  if (found) look(v);
  else if (v->fault.code == FAULT_NONE)
    fault_set(&v->fault, FAULT_VIEW_FAILED, "unknown handle: the handle is wrong or has expired; call the tool again");
  if (r) answer(v);
  viewing_free(v);
}

static void view_piece(struct surface *d, struct request *r, str handle, const struct json *selector, size_t tokens) {
  ASSERT(!r->work);
  struct viewing *v = viewing_new(d, r, handle, selector);
  size_t most = d->opt.calls.results.max_budget;
  v->tokens = tokens < most ? tokens : most;
  audit_recorder_target(r, handle);
  v->agent = r->session->mode == MODE_SERVERS ? servers_named(r) : STR_NONE;
  v->piece.done = on_piece;
  r->work = &v->work;
  artifact_find(d->opt.store, call_owner(&v->arena, r->session, v->agent), v->handle, &v->piece);
}

void meta_tool_view(struct surface *d, struct request *r) {
  static const str names[] = {STR("handle"), STR("selector"), STR("max_tokens"), STR("agent_id")};
  const struct json *selector = json_get(meta_args(r), STR("selector"));
  str handle;
  size_t tokens;
  if (!meta_known_args(d, r, names, r->session->mode == MODE_SERVERS ? 4 : 3)) return;
  bool selects = json_is(selector, JSON_OBJECT) || (r->session->as_operator && !selector);
  if (!meta_max_tokens(r, &tokens)) meta_refuse(d, r, "max_tokens must be a whole number above 0");
  else if (meta_string(r, STR("handle"), &handle) && selects)
    view_piece(d, r, handle, selector, tokens ? tokens : VIEW_TOKENS);
  else meta_refuse(d, r, "tool_view needs handle (a string) and selector (an object, such as {\"type\":\"head\"})");
}

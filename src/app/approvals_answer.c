// SPDX-License-Identifier: Apache-2.0
#include "app/approvals_answer.h"

#include "base/mem.h"

enum { ANSWER_MAX = 64 << 20, LISTED_MAX = 1000 };

struct approvals_question {
  struct approvals *of;
  struct approvals_op *op;
  struct arena arena;
  struct buf text;
  struct json_writer w;
  size_t count;
  bool more;  // further requests match
  str id;
  struct approval_vote vote;
  approvals_answered *done;
  void *ctx;
};

static void question_free(struct approvals_question *q) {
  approvals_cancel(&q->op);
  arena_done(&q->arena);
  buf_done(&q->text);
  mem_free(q);
}

void approvals_answer_cancel(struct approvals_question **q) {
  if (*q) question_free(*q);
  *q = NULL;
}

static void finish(struct approvals_question *q, const struct fault *f) {
  struct fault large;
  approvals_answered *done = q->done;
  void *ctx = q->ctx;
  q->op = NULL;
  fault_set(&large, FAULT_LIMIT, "the answer is too large: choose fewer requests");
  if (!f && q->text.over) f = &large;
  done(ctx, f ? STR_NONE : buf_view(&q->text), f);
  question_free(q);
}

// ---- list, show

static bool on_each(void *ctx, const struct approval *x) {
  struct approvals_question *q = ctx;
  q->more = q->count == LISTED_MAX;
  if (q->more) return false;
  q->count++;
  approval_put_shown(x, false, &q->w);
  return !q->text.over;
}

static void on_listed(void *ctx, const struct approval *x, const struct fault *f) {
  struct approvals_question *q = ctx;
  json_end_array(&q->w);
  json_member_bool(&q->w, STR("more"), q->more);
  json_end_object(&q->w);
  finish(q, f);
}

static str text_of(struct approvals_question *q, const struct json *params, const char *key) {
  str text = STR_NONE;
  return json_string(json_get(params, str_of(key)), &q->arena, &text) ? text : STR_NONE;
}

static void list(struct approvals_question *q, const struct json *params) {
  struct approvals_filter f = {
      .open = !json_is(json_get(params, STR("all")), JSON_TRUE),
      .status = text_of(q, params, "status"),
      .tenant = text_of(q, params, "tenant"),
      .agent = text_of(q, params, "agent"),
      .capability = text_of(q, params, "capability"),
      .role = text_of(q, params, "role"),
  };
  if (f.status.p) f.open = false;
  json_begin_object(&q->w);
  json_put_key(&q->w, STR("requests"));
  json_begin_array(&q->w);
  q->op = approvals_list(q->of, &f, on_each, on_listed, q);
}

static void on_shown(void *ctx, const struct approval *x, const struct fault *f) {
  struct approvals_question *q = ctx;
  if (x) approval_put_shown(x, true, &q->w);
  finish(q, f);
}

// ---- approve, deny

// Returns the role of the first gate that still needs approvals or, if there is none, of the first gate.
static str role_of(const struct approval *x) {
  for (size_t i = 0; i < x->gate_count; i++) {
    size_t approvals = 0;
    for (size_t k = 0; k < x->gates[i].decision_count; k++) approvals += x->gates[i].decisions[k].approve;
    if (approvals < x->gates[i].quorum) return x->gates[i].role;
  }
  return x->gates[0].role;
}

static void on_found(void *ctx, const struct approval *x, const struct fault *f) {
  struct approvals_question *q = ctx;
  if (!x) {
    finish(q, f);
    return;
  }
  q->vote.role = arena_str(&q->arena, role_of(x));
  q->op = approvals_decide(q->of, q->id, &q->vote, on_shown, q);
}

static void vote(struct approvals_question *q, const struct json *params, bool approve) {
  q->vote = (struct approval_vote){
      .approver = text_of(q, params, "as"),
      .role = text_of(q, params, "role"),
      .gate = text_of(q, params, "gate"),
      .reason = text_of(q, params, "reason"),
      .via = STR("cli"),
      .approve = approve,
  };
  if (q->vote.role.p) q->op = approvals_decide(q->of, q->id, &q->vote, on_shown, q);
  else q->op = approvals_find(q->of, q->id, STR_NONE, on_found, q);
}

struct approvals_question *approvals_answer(struct approvals *a, const struct json *params, approvals_answered *done,
                                            void *ctx, struct fault *f) {
  struct approvals_question *q = MEM_NEW(struct approvals_question);
  q->of = a;
  q->done = done;
  q->ctx = ctx;
  arena_init(&q->arena);
  buf_init(&q->text, ANSWER_MAX);
  q->w = json_writer(&q->text);
  str action = text_of(q, params, "action");
  q->id = text_of(q, params, "request_id");
  if (!a) fault_set(f, FAULT_INVALID, "there is no governance file, so there are no requests for approval");
  else if (str_eq(action, STR("list"))) list(q, params);
  else if (!q->id.n) fault_set(f, FAULT_INVALID, "request_id is missing");
  else if (str_eq(action, STR("show"))) q->op = approvals_find(a, q->id, STR_NONE, on_shown, q);
  else if (str_eq(action, STR("approve"))) vote(q, params, true);
  else if (str_eq(action, STR("deny"))) vote(q, params, false);
  else fault_set(f, FAULT_INVALID, "the action must be list, show, approve or deny");
  if (q->op) return q;
  question_free(q);
  return NULL;
}

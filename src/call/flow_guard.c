// SPDX-License-Identifier: Apache-2.0
#include "call/flow_guard.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/audit_recorder.h"
#include "call/calls.h"
#include "call/controls/flows.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "json/write.h"

enum { NAME_SHOWN = 60, SENTENCE = 512, DETAILS = 64 << 10, SESSION_NAME = 64 };

#define SESSION_RUN "session %s"

// ---- the runs of a request

struct runs {
  struct flow_name names[FLOW_RUNS];
  struct flow_run *found[FLOW_RUNS];
  size_t count;
};

// Returns the name of the runs' owner: tenant and principal, because the same subject may have tokens of several
// tenants.
static str owner_of(const struct flow_step *s) {
  str tenant = s->caller->run->governed.subject.tenant, principal = session_principal(s->session);
  return arena_printf(s->arena, "%zu:%.*s %.*s", tenant.n, STR_ARG(tenant), STR_ARG(principal));
}

static struct runs name_runs(const struct governance_flow *flow, const struct flow_step *s) {
  const struct run_context *run = s->caller->run;
  str tenant = run->governed.subject.tenant, owner = owner_of(s);
  struct flow_name own = {.principal = owner};
  if (run->id.p) {
    own.run = arena_printf(s->arena, "token %.*s", STR_ARG(run->id));
    own.stored = true;
    if (tenant.n) own.principal = arena_printf(s->arena, "tenant %.*s", STR_ARG(tenant));
  } else if (!s->session->revision->stateless && !flow->scope) {
    own.principal = session_principal(s->session);
    own.run = arena_printf(s->arena, SESSION_RUN, s->session->id);
  } else {
    own.run = arena_printf(s->arena, "agent %.*s", STR_ARG(caller_run_agent(s->session, run)));
    own.stored = true;
  }
  struct runs runs = {.names = {own}, .count = 1};
  if (s->named_run.n)
    runs.names[runs.count++] = (struct flow_name){
        .principal = owner, .run = arena_printf(s->arena, "part %.*s", STR_ARG(s->named_run)), .stored = true};
  return runs;
}

void flow_forget(struct call_context *x, const struct session *s) {
  char run[SESSION_NAME];
  if (s->revision->stateless) return;
  int n = snprintf(run, sizeof run, SESSION_RUN, s->id);
  flows_forget(x->flows, session_principal(s), (str){run, (size_t)n});
}

// ---- a refusal

static void put_place(struct buf *out, const struct flow_call *c) {
  buf_printf(out, "%.*s", STR_ARG(utf8_cut(c->server, NAME_SHOWN)));
  if (c->tool.p) buf_printf(out, ":%.*s", STR_ARG(utf8_cut(c->tool, NAME_SHOWN)));
}

static void put_marks(struct json_writer *w, str key, unsigned marks) {
  json_put_key(w, key);
  flow_marks_put(w, marks);
}

static const char *first_mark(unsigned marks) {
  for (unsigned bit = 1; bit < FLOW_ALL; bit <<= 1)
    if (marks & bit) return flow_mark_name(bit);
  return "";
}

// Returns a call as the caller may see it: without a name if the caller may not use the tool.
static struct flow_call visible(const struct flow_step *s, struct flow_call c) {
  if (!caller_may(s->caller, c.server, c.tool.p ? ITEM_TOOL : ITEM_RESOURCE, c.tool))
    c.server = STR("(hidden)"), c.tool = c.call = STR_NONE;
  return c;
}

// Adds the calls of one run that gave it the mark `bit`, up to `max` calls in `out`.
static size_t add_earlier(const struct flow_step *s, const struct flow_run *r, unsigned bit, size_t count, size_t max,
                          struct flow_call *out) {
  for (size_t i = 0; i < flow_run_count(r) && count < max; i++) {
    struct flow_call c = flow_run_call(r, i);
    if (!(c.marks & bit)) continue;
    out[count] = visible(s, c);
    out[count++].marks = bit;
  }
  return count;
}

// Collects the earlier calls that gave the runs these marks. There are at most two such marks, because the step itself
// has one of the three.
static size_t earlier_calls(const struct flow_step *s, const struct runs *runs, unsigned marks, struct flow_call *out) {
  size_t count = 0;
  for (unsigned bit = 1; bit < FLOW_ALL; bit <<= 1) {
    size_t max = count + FLOW_SHOWN / 2;
    for (size_t i = 0; (marks & bit) && i < runs->count; i++)
      count = add_earlier(s, runs->found[i], bit, count, max, out);
  }
  return count;
}

static str put_details(const struct flow_step *s, str rule, str pointer, unsigned own, const struct flow_call *earlier,
                       size_t count) {
  struct buf b;
  buf_init(&b, DETAILS);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("rule"), rule);
  if (s->call.p) json_member_str(&w, STR("decision_id"), s->call);
  json_member_str(&w, STR("pointer"), pointer);
  json_put_key(&w, STR("flow"));
  json_begin_object(&w);
  put_marks(&w, STR("marks"), own);
  json_put_key(&w, STR("earlier"));
  json_begin_array(&w);
  for (size_t i = 0; i < count; i++) {
    json_begin_object(&w);
    put_marks(&w, STR("marks"), earlier[i].marks);
    json_member_str(&w, STR("server"), earlier[i].server);
    if (earlier[i].tool.p) json_member_str(&w, STR("tool"), earlier[i].tool);
    if (earlier[i].call.p) json_member_str(&w, STR("decision_id"), earlier[i].call);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  json_end_object(&w);
  str details = b.over ? STR_NONE : arena_str(s->arena, buf_view(&b));
  buf_done(&b);
  return details;
}

static void put_sentence(const struct flow_step *s, unsigned own, const struct flow_call *earlier, size_t count,
                         struct fault *f) {
  struct buf b;
  struct flow_call here = {.server = s->server, .tool = s->tool};
  buf_init(&b, SENTENCE);
  put_place(&b, &here);
  buf_printf(&b,
             " (%s) is refused: with earlier calls of this run it would join private data, untrusted input and a "
             "way out",
             first_mark(own));
  for (size_t i = 0; i < count; i++) {
    buf_str(&b, i ? STR(", ") : STR(": "));
    put_place(&b, &earlier[i]);
    buf_printf(&b, " (%s)", flow_mark_name(earlier[i].marks));
  }
  fault_set(f, FAULT_FLOW_DENIED, "%.*s", STR_ARG(buf_view(&b)));
  buf_done(&b);
}

static str path_of(struct arena *a, str pointer) {
  struct buf b;
  struct policy_decision place = {.governed = pointer};
  buf_init(&b, 1 << 14);
  policy_put_path(&place, &b);
  str path = arena_str(a, buf_view(&b));
  buf_done(&b);
  return path;
}

static void refuse(const struct flow_step *s, const struct flow_marks *own, const struct runs *runs, unsigned before,
                   struct flow_verdict *out) {
  struct flow_call earlier[FLOW_SHOWN];
  str pointer = flow_marks_pointer(own);
  size_t count = earlier_calls(s, runs, before & ~own->set, earlier);
  out->refused = true;
  out->rule = path_of(s->arena, pointer);
  out->details = put_details(s, out->rule, pointer, own->set, earlier, count);
  put_sentence(s, own->set, earlier, count, &out->fault);
}

static void refuse_unknown(const struct flow_step *s, enum flow_found found, struct flow_verdict *out) {
  out->refused = true;
  out->rule = path_of(s->arena, STR("/flow"));
  fault_set(&out->fault, FAULT_FLOW_DENIED, "%s",
            found == FLOW_RUN_NO_ROOM
                ? "the flow guard has no room for another run of this caller: end other sessions or runs"
                : "the flow guard cannot read the earlier calls of this run: the operator must check state_dir");
}

// ---- the decision

// All lookups of one step use the same time, so that a later lookup does not drop a run that was found before.
static bool find_runs(struct call_context *x, const struct governance_flow *flow, const struct flow_step *s,
                      uint64_t now, struct runs *runs, struct flow_verdict *out) {
  for (size_t i = runs->count; i-- > 0;) {
    enum flow_found found = flows_get(x->flows, x->store, &runs->names[i], now, flow->keep_s * 1000, &runs->found[i]);
    if (found == FLOW_RUN_FOUND) continue;
    refuse_unknown(s, found, out);
    return false;
  }
  return true;
}

static void record(struct call_context *x, const struct governance_flow *flow, const struct flow_step *s,
                   unsigned marks, struct runs *runs, uint64_t now, struct flow_verdict *out) {
  struct flow_call call = {marks, s->server, s->tool, s->call};
  for (size_t i = 0; i < runs->count; i++)
    if (flows_add(x->flows, runs->found[i], &call, now, flow->keep_s * 1000))
      out->unstored[out->unstored_count++] = runs->found[i];
}

void flow_decide(struct call_context *x, const struct flow_step *s, struct flow_verdict *out) {
  const struct governance *g = s->caller->governance;
  const struct governance_flow *flow = governance_flow_of(g);
  *out = (struct flow_verdict){.rule = STR_NONE, .details = STR_NONE};
  if (!flow) return;
  struct flow_marks own = governance_flow_marks(g, s->server, s->tool);
  if (s->removed) own.set = FLOW_ALL;
  own.set &= s->only;
  if (!own.set) return;
  for (unsigned i = 0; i < FLOW_MARKS; i++)
    if (!(own.set & (1u << i))) own.pointers[i] = STR_NONE;
  struct runs runs = name_runs(flow, s);
  unsigned before = 0;
  uint64_t now = loop_now(x->loop);
  if (find_runs(x, flow, s, now, &runs, out)) {
    for (size_t i = 0; i < runs.count; i++) before |= flow_run_marks(runs.found[i]);
    if ((before | own.set) == FLOW_ALL) refuse(s, &own, &runs, before, out);
  }
  if (out->refused && x->metrics && !s->dry_run)
    govern_metrics_flow(metrics_governed(x->metrics), flow->mode != FLOW_WARN);
  if (out->refused && flow->mode == FLOW_WARN) {
    log_warn(x->loop->log, "flow guard (mode warn): %s", out->fault.message);
    out->refused = false;
  }
  // If a run was not found, found[0] is NULL.
  if (!out->refused && !s->dry_run && runs.found[0]) record(x, flow, s, own.set, &runs, now, out);
}

unsigned flow_before(struct call_context *x, const struct flow_step *s) {
  const struct governance *g = s->caller->governance;
  const struct governance_flow *flow = governance_flow_of(g);
  unsigned before = 0;
  struct flow_verdict unknown;
  if (!flow || !governance_flow_marks(g, s->server, s->tool).set) return 0;
  struct runs runs = name_runs(flow, s);
  if (!find_runs(x, flow, s, loop_now(x->loop), &runs, &unknown)) return FLOW_ALL;
  for (size_t i = 0; i < runs.count; i++) before |= flow_run_marks(runs.found[i]);
  return before;
}

bool calls_may_view(struct call_context *x, struct request *r, const struct caller *caller, str server, str tool,
                    struct fault *f, str *details) {
  if (!caller->governance || !governance_flow_of(caller->governance)) return true;
  struct flow_verdict v;
  unsigned source;
  struct flow_step step = {
      .session = r->session,
      .caller = caller,
      .server = server,
      .tool = tool.n ? tool : STR_NONE,
      .only = FLOW_DATA,
      .removed = !upstreams_find(x->upstreams, server, &source),
      .arena = &r->arena,
  };
  const struct json *run = json_get(json_get(r->msg.params, STR("_meta")), STR("toolgate/run"));
  json_string(json_get(run, STR("id")), &r->arena, &step.named_run);
  flow_decide(x, &step, &v);
  uint64_t keep_ms = governance_flow_of(caller->governance)->keep_s * 1000;
  for (size_t i = 0; i < v.unstored_count; i++) flows_store(x->store, v.unstored[i], loop_now(x->loop), keep_ms, NULL);
  if (!v.refused) return true;
  *f = v.fault;
  *details = v.details;
  audit_recorder_rule(r, v.rule);
  return false;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "call/call_journal_impl.h"
#include "call/report.h"
#include "text/secrets.h"
#include "json/put.h"

enum {
  ARGS_MAX = 64 << 10,  // larger arguments are not recorded
  SCRATCH_KEPT = 1 << 20,
  SESSION_SHOWN = 8,  // bytes of a session id: the whole id would let a reader use the session
  NAME_MOST = 256,
  SPARE_MAX = 64,
};

struct call_journal *call_journal_new(struct journal *journal) {
  struct call_journal *j = MEM_NEW(struct call_journal);
  j->journal = journal;
  buf_init(&j->line, JOURNAL_LINE_MAX);
  buf_init(&j->args, 16 * (size_t)ARGS_MAX);
  buf_init(&j->scratch, SIZE_MAX / 2);
  return j;
}

void call_journal_free(struct call_journal **j) {
  struct call_journal *was = *j;
  *j = NULL;
  if (!was) return;
  for (struct governed_call *g; (g = was->spare);) {
    was->spare = g->next;
    arena_done(&g->arena);
    mem_free(g);
  }
  buf_done(&was->line);
  buf_done(&was->args);
  buf_done(&was->scratch);
  mem_free(was);
}

bool call_journal_ready(const struct call *c, struct fault *f) {
  const struct governance_records *settings = governance_records(c->governance);
  struct call_journal *j = c->context->governed;
  const char *why = "state_dir has the value none";
  if (!settings->enabled || !settings->on_failure || (j->journal && journal_works(j->journal, &why))) return true;
  fault_set(f, FAULT_RECORDS_UNAVAILABLE,
            "the call cannot be recorded, because the records cannot be written; try again later");
  log_debug(c->context->loop->log, "records cannot be written: %s", why);
  return false;
}

// ---- lines

str call_journal_time(struct call_journal *j, int64_t ms) {
  if (!*j->time || ms != j->time_ms) clock_print(ms, j->time);
  j->time_ms = ms;
  return (str){j->time, CLOCK_TEXT - 1};
}

struct buf *call_journal_begin(struct call_journal *j, const char *kind, str id, str time) {
  struct buf *line = journal_begin(j->journal);
  JSON_PUT_ID(line, "{\"record\":", str_of(kind));
  JSON_PUT_ID(line, ",\"id\":", id);
  JSON_PUT_ID(line, ",\"time\":", time);
  return line;
}

// Chooses how the arguments are recorded: in full, as a digest, or not at all. If they are recorded in full, out->text
// is their text, in j->args.
static void choose_args(struct call *c, const struct json *args, struct recorded_args *out) {
  struct call_journal *j = c->context->governed;
  enum records_arguments how = governance_records(c->governance)->arguments;
  *out = (struct recorded_args){.kept = how == RECORDS_NONE ? "none" : how == RECORDS_DIGEST ? "digest" : "full"};
  if (!args || how == RECORDS_NONE) return;
  bool large = how == RECORDS_FULL && args->n > ARGS_MAX;
  if (large) out->kept = "too_large";
  if (how == RECORDS_DIGEST || large) {
    decision_record_digest(args, &j->scratch, out->digest);
    out->has_digest = true;
    return;
  }
  buf_reset(&j->args);
  if (secrets_put_json(&j->args, args, c->route_count ? &call_spec(c)->secrets : NULL)) out->kept = "masked";
  out->text = buf_view(&j->args);
}

static void write_decision(struct call *c, const struct governed_call *g, const struct governance_question *q,
                           const struct governance_decision *d, const struct recorded_args *args) {
  struct call_journal *j = c->context->governed;
  const struct rulebook *rules = c->context->rules;
  char inputs[RECORD_DIGEST_SIZE];
  struct decision_record r = {
      .governance = c->governance,
      .question = q,
      .decision = d,
      .tenant = g->tenant,
      .agent = g->agent,
      .principal = session_principal(c->session),
      .server = g->server,
      .tool = g->tool,
      .inputs = inputs,
      .access = c->policy && *rules->digest ? str_of(rules->digest) : STR_NONE,
      .args = args->text,
      .ceiling = c->options.safety_mode,
      .kept = args->kept,
      .args_digest = args->has_digest ? args->digest : NULL,
  };
  decision_record_inputs(q, &j->scratch, inputs);
  struct buf *line = call_journal_begin(j, "decision", g->decision_id, g->started);
  JSON_PUT_ID(line, ",\"call_id\":", g->id);
  JSON_PUT_ID(line, ",\"trace_id\":", g->trace_id);
  if (!c->session->callers) JSON_PUT_ID(line, ",\"session\":", ((str){c->session->id, SESSION_SHOWN}));
  JSON_PUT(line, ",\"decision\":");
  decision_record_put(line, &r);
  buf_char(line, '}');
  journal_end(j->journal);
}

// ---- the record of a call

void governed_call_free(struct governed_call **g) {
  struct governed_call *was = *g;
  *g = NULL;
  if (!was) return;
  struct call_journal *j = was->journal;
  if (j->spare_count < SPARE_MAX) {
    arena_reset(&was->arena);
    was->next = j->spare;
    j->spare = was;
    j->spare_count++;
  } else {
    arena_done(&was->arena);
    mem_free(was);
  }
}

// Returns an unused record with an empty arena.
static struct governed_call *take_spare(struct call_journal *j) {
  struct governed_call *g = j->spare;
  if (!g) {
    g = MEM_NEW(struct governed_call);
    arena_init(&g->arena);
  } else {
    struct arena kept = g->arena;
    j->spare = g->next;
    j->spare_count--;
    *g = (struct governed_call){.arena = kept};
  }
  g->journal = j;
  return g;
}

// Sets the ids and the time of a record.
static void name(struct governed_call *g, struct call *c, str decision_id, int64_t now) {
  unsigned char random[CALL_ID + TRACE_ID];
  char hex[2 * sizeof random + 1];
  str trace = call_trace_id(c), time = call_journal_time(g->journal, now);
  rand_pool_fill(&c->context->governed_ids, c->context->loop->rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  ASSERT(!trace.p || trace.n == sizeof g->trace_text);
  memcpy(g->id_text, "tool_", 5);
  memcpy(g->id_text + 5, hex, 2 * CALL_ID);
  memcpy(g->trace_text, trace.p ? trace.p : hex + 2 * CALL_ID, sizeof g->trace_text);
  memcpy(g->started_text, time.p, time.n);
  g->id = (str){g->id_text, sizeof g->id_text};
  g->trace_id = (str){g->trace_text, sizeof g->trace_text};
  g->started = (str){g->started_text, time.n};
  g->decision_id = arena_str(&g->arena, decision_id);
}

static struct governed_call *governed_call_new(struct call *c, const struct governance_question *q,
                                               const struct governance_decision *d, str id, int64_t now) {
  struct governed_call *g = take_spare(c->context->governed);
  struct arena *a = &g->arena;
  name(g, c, id, now);
  g->tenant = call_kept(a, q->subject->tenant);
  g->agent = arena_str(a, c->caller.id);
  str server = call_ended_at(c), tool = call_ended_tool(c);
  g->server = arena_str(a, utf8_cut(server.p ? server : c->place.server, NAME_MOST));
  g->tool = arena_str(a, utf8_cut(tool.p ? tool : c->place.tool, NAME_MOST));
  if (d->capability) g->capability = d->capability->id_json;
  else g->capability = json_escaped(a, arena_printf(a, "mcp_%.*s.%.*s", STR_ARG(g->server), STR_ARG(g->tool)));
  g->adapter = d->capability ? d->capability->adapter : NULL;
  g->effective = d->effective != APPROVAL_NONE ? d->effective
                 : d->highest != APPROVAL_NONE ? d->highest
                                               : APPROVAL_DESTRUCTIVE;
  g->code = d->code;
  if (d->code == GOVERNANCE_ALLOWED && d->gate_count) g->gate = d->gates[0]->gate_id;
  return g;
}

struct governed_call *call_journal_decided(struct call *c, const struct governance_question *q,
                                           const struct governance_decision *d, str id, int64_t now) {
  struct call_journal *j = c->context->governed;
  const struct governance_records *settings = governance_records(c->governance);
  struct recorded_args args;
  ASSERT(id.n);
  bool recorded = j->journal && settings->enabled;
  if (!recorded && !settings->return_envelope) return NULL;
  struct governed_call *g = governed_call_new(c, q, d, id, now);
  choose_args(c, q->args, &args);
  if (recorded) write_decision(c, g, q, d, &args);
  g->recorded = recorded;
  governed_call_begin(c, g, q, d, &args);
  buf_trim(&j->scratch, SCRATCH_KEPT);
  return g;
}

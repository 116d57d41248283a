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
  ID_BYTES = 8,
  SPARE_MAX = 64,
};

struct call_journal *call_journal_new(struct journal *journal) {
  struct call_journal *j = MEM_NEW(struct call_journal);
  j->journal = journal;
  j->hasher = hasher_new();
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
  hasher_free(&was->hasher);
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

void call_journal_begin_line(struct call_journal *j, const char *kind, str id, str time) {
  buf_reset(&j->line);
  JSON_PUT_ID(&j->line, "{\"record\":", str_of(kind));
  JSON_PUT_ID(&j->line, ",\"id\":", id);
  JSON_PUT_ID(&j->line, ",\"time\":", time);
}

// Replaces line ends in the line by blanks: copied JSON may contain line ends between its tokens.
void call_journal_add(struct call_journal *j) {
  if (j->line.over) return;
  for (char *at = j->line.p, *end = at + j->line.n; (at = memchr(at, '\n', (size_t)(end - at)));) *at = ' ';
  journal_add(j->journal, buf_view(&j->line));
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
    decision_record_digest(args, j->hasher, &j->scratch, out->digest);
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
  decision_record_inputs(q, j->hasher, &j->scratch, inputs);
  call_journal_begin_line(j, "decision", g->decision_id, g->started);
  JSON_PUT_ID(&j->line, ",\"call_id\":", g->id);
  JSON_PUT_ID(&j->line, ",\"trace_id\":", g->trace_id);
  if (!c->session->callers) JSON_PUT_ID(&j->line, ",\"session\":", ((str){c->session->id, SESSION_SHOWN}));
  JSON_PUT(&j->line, ",\"decision\":");
  decision_record_put(&j->line, &r);
  buf_char(&j->line, '}');
  call_journal_add(j);
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

static str joined(struct arena *a, str first, str second) {
  char *text = arena_alloc(a, first.n + second.n);
  memcpy(text, first.p, first.n);
  memcpy(text + first.n, second.p, second.n);
  return (str){text, first.n + second.n};
}

static struct governed_call *governed_call_new(struct call *c, const struct governance_question *q,
                                               const struct governance_decision *d, str id) {
  struct governed_call *g = take_spare(c->context->governed);
  struct arena *a = &g->arena;
  unsigned char random[ID_BYTES + TRACE_ID];
  char hex[2 * sizeof random + 1];
  rand_pool_fill(&c->context->governed_ids, c->context->loop->rand, random, sizeof random);
  hash_hex(random, sizeof random, hex);
  str trace = call_trace_id(c);
  g->id = joined(a, STR("tool_"), (str){hex, 2 * ID_BYTES});
  g->trace_id = arena_str(a, trace.p ? trace : (str){hex + 2 * ID_BYTES, 2 * TRACE_ID});
  g->decision_id = arena_str(a, id);
  json_string(json_get(q->context, STR("tenant")), a, &g->tenant);
  g->agent = arena_str(a, c->caller.id);
  str server = call_ended_at(c), tool = call_ended_tool(c);
  g->server = arena_str(a, utf8_cut(server.p ? server : c->place.server, NAME_MOST));
  g->tool = arena_str(a, utf8_cut(tool.p ? tool : c->place.tool, NAME_MOST));
  g->capability_id =
      d->capability ? d->capability->id : arena_printf(a, "mcp_%.*s.%.*s", STR_ARG(g->server), STR_ARG(g->tool));
  g->adapter = d->capability ? d->capability->adapter : NULL;
  g->effective = d->effective != APPROVAL_NONE ? d->effective
                 : d->highest != APPROVAL_NONE ? d->highest
                                               : APPROVAL_DESTRUCTIVE;
  g->code = d->code;
  char time[CLOCK_TEXT];
  size_t n = clock_print(clock_wall_ms(c->context->loop->clock), time);
  g->started = arena_str(a, (str){time, n});
  return g;
}

struct governed_call *call_journal_decided(struct call *c, const struct governance_question *q,
                                           const struct governance_decision *d, str id) {
  struct call_journal *j = c->context->governed;
  const struct governance_records *settings = governance_records(c->governance);
  struct recorded_args args;
  ASSERT(id.n);
  bool recorded = j->journal && settings->enabled;
  if (!recorded && !settings->return_envelope) return NULL;
  struct governed_call *g = governed_call_new(c, q, d, id);
  choose_args(c, q->args, &args);
  if (recorded) write_decision(c, g, q, d, &args);
  g->recorded = recorded;
  governed_call_begin(c, g, q, d, &args);
  buf_trim(&j->scratch, SCRATCH_KEPT);
  return g;
}

// SPDX-License-Identifier: Apache-2.0
#include "call/call_journal.h"

#include "base/assert.h"
#include "base/mem.h"
#include "call/steps/steps.h"
#include "text/secrets.h"

enum {
  ARGS_MAX = 64 << 10,  // larger arguments are not recorded
  SCRATCH_KEPT = 1 << 20,
  SESSION_SHOWN = 8,  // bytes of a session id: the whole id would let a reader use the session
};

struct call_journal {
  struct journal *journal;
  struct hasher *hasher;
  struct buf line, args, scratch;
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

static void put_time(struct json_writer *w, str key, int64_t wall_ms) {
  char text[CLOCK_TEXT];
  size_t n = clock_print(wall_ms, text);
  json_member_str(w, key, (str){text, n});
}

// Adds a line to the journal. White space between the tokens of copied JSON may contain line ends.
static void add_line(struct call_journal *j) {
  if (j->line.over) return;
  for (char *at = j->line.p, *end = at + j->line.n; (at = memchr(at, '\n', (size_t)(end - at)));) *at = ' ';
  journal_add(j->journal, buf_view(&j->line));
}

// Chooses how the arguments are recorded.
static void choose_args(struct call *c, const struct json *args, struct decision_record *r,
                        char digest[RECORD_DIGEST_SIZE]) {
  struct call_journal *j = c->context->governed;
  enum records_arguments how = governance_records(c->governance)->arguments;
  r->kept = how == RECORDS_NONE ? "none" : how == RECORDS_DIGEST ? "digest" : "full";
  if (!args || how == RECORDS_NONE) return;
  bool large = how == RECORDS_FULL && args->n > ARGS_MAX;
  if (large) r->kept = "too_large";
  if (how == RECORDS_DIGEST || large) {
    decision_record_digest(args, j->hasher, &j->scratch, digest);
    r->args_digest = digest;
    return;
  }
  buf_reset(&j->args);
  if (secrets_put_json(&j->args, args, c->route_count ? &call_spec(c)->secrets : NULL)) r->kept = "masked";
  r->args = buf_view(&j->args);
}

static void put_decision(struct call *c, struct json_writer *w, const struct governance_question *q,
                         const struct governance_decision *d) {
  struct call_journal *j = c->context->governed;
  const struct rulebook *rules = c->context->rules;
  char inputs[RECORD_DIGEST_SIZE], args[RECORD_DIGEST_SIZE];
  struct decision_record r = {
      .governance = c->governance,
      .question = q,
      .decision = d,
      .agent = c->caller.id,
      .principal = session_principal(c->session),
      .server = call_server(c),
      .tool = call_tool_name(c),
      .inputs = inputs,
      .access = c->policy && *rules->digest ? str_of(rules->digest) : STR_NONE,
  };
  json_string(json_get(q->context, STR("tenant")), &c->context->scratch, &r.tenant);
  decision_record_inputs(q, j->hasher, &j->scratch, inputs);
  choose_args(c, q->args, &r, args);
  decision_record_put(w, &r);
  buf_trim(&j->scratch, SCRATCH_KEPT);
}

void call_journal_decided(struct call *c, const struct governance_question *q, const struct governance_decision *d,
                          str id) {
  struct call_journal *j = c->context->governed;
  ASSERT(id.n);
  if (!j->journal || !governance_records(c->governance)->enabled) return;
  buf_reset(&j->line);
  struct json_writer w = json_writer(&j->line);
  json_begin_object(&w);
  json_member_str(&w, STR("record"), STR("decision"));
  json_member_str(&w, STR("id"), id);
  put_time(&w, STR("time"), clock_wall_ms(c->context->loop->clock));
  json_member_str_or_null(&w, STR("trace_id"), call_trace_id(c));
  if (!c->session->callers) json_member_str(&w, STR("session"), (str){c->session->id, SESSION_SHOWN});
  json_put_key(&w, STR("decision"));
  put_decision(c, &w, q, d);
  json_end_object(&w);
  add_line(j);
}

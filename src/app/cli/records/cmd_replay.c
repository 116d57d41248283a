// SPDX-License-Identifier: Apache-2.0
// toolgate decisions replay
#include <unistd.h>

#include "app/cli/records/records.h"
#include "govern/replay.h"
#include "json/write.h"

enum { MOST_OUTPUT = 1 << 30, UNDECIDED_SHOWN = 20 };

static const struct command command = {
    .usage = "--rules FILE [options]",
    .about = "Decides the recorded decisions again by another governance file or rules file, and prints\n"
             "those that would change. Without --governance, --rules may name either kind of file.\n"
             "Decisions whose arguments were not recorded in full cannot be decided; they are counted.\n"
             "Exit code 0: nothing changes; 1: a decision changes; 3: nothing changes, but some\n"
             "decisions could not be decided.",
    .options = "{^+=|cj",
};

struct replaying {
  struct governance *governance;  // NULL: only access rules are replayed
  struct policy *policy;          // NULL: only the governance file is replayed
  bool json;
  struct buf changes, undecided;  // JSON elements or lines
  size_t total, changed, skipped;
};

// ---- the files

// Loads access rules. If the file contains no valid access rules, adds its errors to `problems` and returns NULL.
static struct policy *load_policy(const struct arguments *args, struct config_problems *problems) {
  struct config c;
  if (!config_load_rules(&c, &args->config, environ, problems)) return NULL;
  struct policy *p = policy_ref(c.policy);
  config_done(&c);
  return p;
}

// Loads the files to replay with. Without --governance, --rules may name a governance file or a file of access rules.
static int load(const struct arguments *args, struct replaying *r) {
  struct config_problems problems, ignored;
  const char *governance = args->governance ? args->governance : args->config.rules;
  config_problems_init(&problems);
  config_problems_init(&ignored);
  r->governance =
      config_load_governance(governance, args->governance ? STR("--governance") : STR("--rules"), &problems);
  bool needs_policy = args->governance ? args->config.rules != NULL : !r->governance;
  if (needs_policy) r->policy = load_policy(args, args->governance ? &problems : &ignored);
  bool ok = args->governance ? r->governance && (!needs_policy || r->policy) : r->governance || r->policy;
  if (!ok) command_print_problems(&problems);
  config_problems_done(&problems);
  config_problems_done(&ignored);
  return ok ? EXIT_OK : EXIT_CANNOT;
}

// ---- one record

static void put_outcome(struct buf *out, const struct replay_outcome *o) {
  bool allowed = str_eq(o->code, STR("ALLOWED"));
  buf_printf(out, "%s %.*s", allowed ? "ALLOW" : "DENY", STR_ARG(allowed ? o->mode : o->code));
  if (o->provisional) buf_str(out, STR(" (provisional)"));
  if (o->gates.n) buf_printf(out, " after approval by %.*s", STR_ARG(o->gates));
}

static void put_outcome_json(struct json_writer *w, str key, const struct replay_outcome *o) {
  json_put_key(w, key);
  json_begin_object(w);
  json_member_bool(w, STR("allowed"), str_eq(o->code, STR("ALLOWED")));
  json_member_str(w, STR("code"), o->code);
  json_member_str(w, STR("mode"), o->mode);
  if (o->provisional) json_member_bool(w, STR("provisional"), true);
  json_member_str(w, STR("gates"), o->gates);
  json_member_str_or_null(w, STR("pointer"), o->pointer);
  json_end_object(w);
}

static void put_change(struct replaying *r, struct records *all, const struct record *it,
                       const struct replay_outcome *before, const struct replay_outcome *after) {
  const struct json *d = json_get(it->root, STR("decision"));
  str agent = record_text(all, d, "agent"), server = record_text(all, d, "server"), tool = record_text(all, d, "tool");
  struct buf *out = &r->changes;
  if (r->json) {
    struct json_writer w = {.out = out, .comma = r->changed > 0};
    json_begin_object(&w);
    json_member_str(&w, STR("id"), it->id);
    json_member_str(&w, STR("time"), it->time);
    json_member_str(&w, STR("agent"), agent);
    json_member_str(&w, STR("server"), server);
    json_member_str(&w, STR("tool"), tool);
    put_outcome_json(&w, STR("before"), before);
    put_outcome_json(&w, STR("after"), after);
    json_end_object(&w);
    return;
  }
  buf_printf(out, "%.*s  %.*s  %.*s  %.*s.%.*s  ", STR_ARG(it->time), STR_ARG(it->id), STR_ARG(agent), STR_ARG(server),
             STR_ARG(tool));
  put_outcome(out, before);
  buf_str(out, STR(" -> "));
  put_outcome(out, after);
  buf_printf(out, "  %.*s\n", STR_ARG(after->pointer));
}

static void put_undecided(struct replaying *r, const struct record *it, const char *why) {
  if (r->json) {
    struct json_writer w = {.out = &r->undecided, .comma = r->skipped > 0};
    json_begin_object(&w);
    json_member_str(&w, STR("id"), it->id);
    json_member_str(&w, STR("reason"), str_of(why));
    json_end_object(&w);
  } else if (r->skipped < UNDECIDED_SHOWN) {
    buf_printf(&r->undecided, "%.*s  cannot be decided: %s\n", STR_ARG(it->id), why);
  }
}

// Decides by the access rules. Returns whether they allow the call.
static bool is_allowed(const struct replaying *r, struct records *all, const struct json *d,
                       struct replay_outcome *out) {
  struct buf pointer;
  str agent = record_text(all, d, "agent");
  struct policy_decision p = policy_decide(r->policy, policy_find(r->policy, agent), record_text(all, d, "server"),
                                           record_text(all, d, "tool"));
  if (p.allowed) return true;
  buf_init(&pointer, 1 << 16);
  policy_put_pointer(&p, &pointer);
  *out = (struct replay_outcome){
      .code = STR("DENIED_BY_POLICY"),
      .mode = STR("-"),
      .gates = STR(""),
      .pointer = arena_str(&all->arena, buf_view(&pointer)),
  };
  buf_done(&pointer);
  return false;
}

// Decides by the given files. Without access rules, calls that access rules refused stay refused. Calls of quarantined
// tools that the governance file allows stay refused, too. Returns false, with the reason in f, if the record does not
// have all inputs.
static bool decide(const struct replaying *r, struct records *all, const struct json *d, int64_t ms,
                   const struct replay_record *before, struct replay_outcome *out, struct fault *f) {
  *out = before->outcome;
  if (r->policy && !is_allowed(r, all, d, out)) return true;
  if (before->by_rules && !r->policy) return true;
  if (before->by_rules || r->governance) *out = before->governed;
  if (r->governance && !replay_decide(r->governance, d, ms / 1000, &all->arena, out, f)) return false;
  if (before->by_pins && str_eq(out->code, STR("ALLOWED"))) *out = before->outcome;
  return true;
}

static void replay(struct replaying *r, struct records *all, const struct record *it) {
  const struct json *d = json_get(it->root, STR("decision"));
  struct replay_record before;
  struct replay_outcome after;
  struct fault f;
  int64_t ms = 0;
  r->total++;
  command_time(arena_cstr(&all->arena, it->time), &ms);
  bool decided = replay_recorded(d, &all->arena, &before);
  if (!decided) fault_set(&f, FAULT_INVALID, "the record is incomplete");
  if (!decided || !decide(r, all, d, ms, &before, &after, &f)) {
    put_undecided(r, it, f.message);
    r->skipped++;
  } else if (!replay_same(&before.outcome, &after)) {
    put_change(r, all, it, &before.outcome, &after);
    r->changed++;
  }
}

// ---- the command

static void put_answer(struct replaying *r, struct buf *out) {
  size_t same = r->total - r->changed - r->skipped;
  if (r->json) {
    buf_printf(out, "{\"decisions\":%zu,\"same\":%zu,\"changed\":[%.*s],\"undecided\":[%.*s]}\n", r->total, same,
               STR_ARG(buf_view(&r->changes)), STR_ARG(buf_view(&r->undecided)));
    return;
  }
  buf_str(out, buf_view(&r->changes));
  buf_str(out, buf_view(&r->undecided));
  if (r->skipped > UNDECIDED_SHOWN) buf_printf(out, "… and %zu more\n", r->skipped - UNDECIDED_SHOWN);
  buf_printf(out, "%zu decisions: %zu the same, %zu changed, %zu cannot be decided\n", r->total, same, r->changed,
             r->skipped);
}

// Replays one record, with memory that is freed at the end of this function.
static void replay_line(struct replaying *r, const struct record *it) {
  struct records one = {0};
  struct record parsed = *it;
  struct fault ignored;
  arena_init(&one.arena);
  parsed.root = json_parse(&one.arena, it->line, &json_default_limits, &ignored);
  ASSERT(parsed.root);  // the line was already parsed when the record was found
  replay(r, &one, &parsed);
  records_done(&one);
}

static int replay_all(struct replaying *r, const struct arguments *args, const struct records_query *q) {
  struct records found;
  struct config_options opt = args->config;
  struct buf out;
  int status;
  opt.rules = NULL;  // the configuration is read only to find state_dir
  if (!records_find(&opt, q, &found, &status)) return status;
  buf_init(&r->changes, MOST_OUTPUT);
  buf_init(&r->undecided, MOST_OUTPUT);
  buf_init(&out, 2 * (size_t)MOST_OUTPUT);
  for (size_t i = 0; i < found.count; i++) replay_line(r, &found.list[i]);
  put_answer(r, &out);
  command_print_done(&out);
  buf_done(&r->changes);
  buf_done(&r->undecided);
  records_done(&found);
  return r->changed ? EXIT_NO : r->skipped ? EXIT_CANNOT : EXIT_OK;
}

int decisions_replay(int argc, char **argv) {
  struct arguments args = {0};
  struct records_query q;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (!args.config.rules && !args.governance) return command_misused(argv[0], "give the new file: --rules FILE");
  const char *wrong = records_query(&args.records, "decision", &q);
  if (wrong) return command_misused(argv[0], wrong);
  q.limit = RECORDS_ALL;
  q.lines = true;
  struct replaying r = {.json = args.json};
  status = load(&args, &r);
  if (status == EXIT_OK) status = replay_all(&r, &args, &q);
  governance_unref(&r.governance);
  policy_unref(&r.policy);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// toolgate plan check
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "govern/decision_text.h"
#include "govern/plan.h"
#include "io/file.h"
#include "skill/skill_plan.h"

enum { MOST_FILE = 4 << 20, MOST_OUTPUT = 64 << 20 };

static const struct command check = {
    .usage = "FILE [options]",
    .about = "Decides every step of a plan by a governance file (default: governance.yaml here). A plan\n"
             "is an object {\"intent\"?, \"read_only\"?, \"context\"?, \"steps\"}; a step is {\"id\"?,\n"
             "\"capability\", \"args\"?, \"mode\"?, \"args_complete\"?}. Arguments that are not known yet are\n"
             "left out; with \"args_complete\": true, required ones must be there. A plan with the\n"
             "intent read_only, or \"read_only\": true, has no capability of class act. A capability\n"
             "can also be the id of a skill: then its steps are decided.\n"
             "Ends with 0 if every step is allowed and 1 if not. No call is made.",
    .options = "^j",
    .min = 1,
    .max = 1,
    .missing = "give a file with a plan",
};

// Decides about each step of the plan. Returns whether all steps are allowed.
static bool decide_all(const struct governance *g, struct governance_plan *p, struct arena *a,
                       struct governance_decision *decisions) {
  bool allowed = true;
  for (size_t i = 0; i < p->count; i++) {
    plan_decide(g, p, a, &decisions[i]);
    allowed = allowed && decisions[i].code == GOVERNANCE_ALLOWED;
  }
  return allowed;
}

static void put_json(struct buf *out, const struct governance_plan *p, const struct governance_decision *decisions,
                     bool allowed) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_bool(&w, STR("allowed"), allowed);
  json_put_key(&w, STR("steps"));
  json_begin_array(&w);
  for (size_t i = 0; i < p->count; i++) {
    json_begin_object(&w);
    json_member_str(&w, STR("id"), p->steps[i].id);
    json_member_str(&w, STR("capability"), p->steps[i].question.capability);
    governance_put_members(&w, &decisions[i]);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  buf_char(out, '\n');
}

static void put_text(struct buf *out, const struct governance_plan *p, const struct governance_decision *decisions,
                     bool allowed) {
  for (size_t i = 0; i < p->count; i++) {
    buf_printf(out, "%.*s  %.*s  ", STR_ARG(p->steps[i].id), STR_ARG(p->steps[i].question.capability));
    governance_put_text(out, &decisions[i]);
    buf_char(out, '\n');
  }
  buf_printf(out, "%s\n", allowed ? "every step is allowed" : "the plan is not allowed");
}

static int check_plan(const struct governance *g, struct governance_plan *p, struct arena *a, bool json) {
  struct buf out;
  struct governance_decision *decisions = ARENA_ARRAY(a, struct governance_decision, p->count);
  bool allowed = decide_all(g, p, a, decisions);
  buf_init(&out, MOST_OUTPUT);
  if (json) put_json(&out, p, decisions, allowed);
  else put_text(&out, p, decisions, allowed);
  command_print_done(&out);
  return allowed ? EXIT_OK : EXIT_NO;
}

// Reads a plan and returns EXIT_OK. On failure prints the problem on stderr and returns another exit code.
static int load_plan(const char *path, struct arena *a, struct buf *text, struct governance_plan *out) {
  struct fault f = {0};
  int fd = open(path, O_RDONLY | O_CLOEXEC), status = EXIT_CANNOT;
  if (fd < 0) fault_set(&f, FAULT_IO, "%s", strerror(errno));
  if (fd >= 0 && file_read(fd, MOST_FILE, text, &f)) {
    const struct json *v = json_parse(a, buf_view(text), &json_default_limits, &f);
    status = v && plan_read(v, NULL, a, out, &f) ? EXIT_OK : EXIT_NO;
  }
  if (fd >= 0) close(fd);
  if (status != EXIT_OK) fprintf(stderr, "toolgate: %s%s%s: %s\n", path, *f.path ? ":" : "", f.path, f.message);
  return status;
}

// Replaces the steps that name skills by the steps of the skills. Returns an exit code.
static int expand(const struct governance *g, struct governance_plan *plan, struct arena *a) {
  str tenant = STR_NONE;
  struct fault f;
  if (plan->count) json_string(json_get(plan->steps[0].question.context, STR("tenant")), a, &tenant);
  if (skill_plan_expand(g, tenant, a, plan, &f)) return EXIT_OK;
  return command_failed(&f, EXIT_NO);
}

static int run_check(int argc, char **argv) {
  struct arguments args = {0};
  struct governance_plan plan;
  struct arena a;
  struct buf text;
  int status;
  if (!command_parse(&check, argc, argv, &args, &status)) return status;
  const char *file = args.governance ? args.governance : "governance.yaml";
  str named_by = args.governance ? STR("--governance") : STR("the default of --governance");
  struct governance *g = command_load_governance(file, named_by);
  if (!g) return EXIT_CANNOT;
  arena_init(&a);
  buf_init(&text, MOST_FILE);
  status = load_plan(args.operands[0], &a, &text, &plan);
  if (status == EXIT_OK) status = expand(g, &plan, &a);
  if (status == EXIT_OK) status = check_plan(g, &plan, &a, args.json);
  buf_done(&text);
  arena_done(&a);
  governance_unref(&g);
  return status;
}

static const char usage[] = "usage: toolgate plan check FILE [--governance FILE] [--json]\n\n"
                            "Decides the steps of a plan without making a call. toolgate plan check --help shows\n"
                            "the options.\n";

int cmd_plan(int argc, char **argv) {
  static const struct command_part parts[] = {{"check", run_check}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// The command view: shows a part of a cut result, from a running gateway or from the results stored in state_dir.
#include <stdio.h>
#include <unistd.h>

#include "app/cli/context/cmd_context.h"
#include "app/gateway.h"
#include "app/gateway_client/control_client.h"
#include "result/artifacts.h"
#include "result/envelope/fault_forms.h"
#include "result/view/view.h"
#include "json/write.h"

static const struct command command = {
    .usage = "HANDLE [SELECTOR_JSON] [options]",
    .about = "Shows a part of a result that was cut, as tool_view does for an agent. The cut answer\n"
             "contains the handle, which is valid until the stored result expires. Without a\n"
             "selector, shows the beginning and how to continue:\n\n"
             "  {\"type\":\"head\",\"start\":0,\"chars\":500}   lines, rows: start, end\n"
             "  {\"type\":\"search\",\"query\":\"some words\",\"top\":5}\n"
             "  {\"type\":\"path\",\"path\":\"$.items[?@.price<10]\"}   pointer, json_keys: keys\n"
             "  {\"type\":\"records\",\"columns\":[\"a\"],\"where\":[{\"column\":\"b\",\"op\":\">\",\"value\":5}],\n"
             "   \"sort\":\"-b\",\"limit\":10}\n"
             "  {\"type\":\"stats\",\"column\":\"price\",\"by\":\"city\"}",
    .options = "cmuACWjY",
    .min = 1,
    .max = 2,
    .missing = "give the handle of a piece",
    .surplus = "put the selector in single quotes",
};

enum { ANSWER_MAX = 64 << 20 };

static void print_fault(struct fault *f, str handle, bool as_json) {
  struct buf b;
  f->code = FAULT_VIEW_FAILED;
  fault_set_path(f, handle);
  if (!as_json) {
    fprintf(stderr, "VIEW_FAILED: %s\n", f->message);
    return;
  }
  buf_init(&b, 8 * sizeof *f);
  fault_put_flat(&b, f, STR_NONE);
  buf_char(&b, '\n');
  command_print_done(&b);
}

static void print_view(const struct artifact *piece, str handle, str text, bool as_json) {
  struct buf b;
  buf_init(&b, 6 * text.n + (1 << 20));
  if (!as_json) {
    buf_str(&b, text);
  } else {
    struct json_writer w = json_writer(&b);
    json_begin_object(&w);
    json_member_str(&w, STR("handle"), handle);
    json_member_str(&w, STR("media_type"), piece->media_type);
    json_member_u64(&w, STR("size"), piece->bytes.n);
    json_member_str(&w, STR("text"), text);
    json_end_object(&w);
  }
  if (b.n && b.p[b.n - 1] != '\n') buf_char(&b, '\n');
  command_print_done(&b);
}

// The store that contains the stored parts (pieces) of results, and the owner of these pieces.
struct view_place {
  struct store *store;
  const struct config *config;
  str owner;
  bool selected;  // the command line has a selector
  struct arena *arena;
};

// Returns a selector for a whole piece. view_select still shortens the view to the usual size, and adds a note that
// says how to see more.
static const struct json *all_of(const struct artifact *piece, struct arena *a) {
  struct fault f;
  str text = arena_printf(a, "{\"type\":\"head\",\"chars\":%zu}", piece->bytes.n);
  return json_parse(a, text, &json_default_limits, &f);
}

// Returns whether the piece may be shown. An agent needs access to the tool or resource from which the piece came; the
// operator may see everything.
static bool may_view(const struct config *c, const struct piece_origin *origin) {
  if (!c->policy || !c->agent.n) return true;
  const struct policy_agent *agent = policy_find(c->policy, c->agent);
  str tool = origin->tool.n ? origin->tool : STR_NONE;
  return agent && origin->server.n && policy_decide(c->policy, agent, origin->server, tool).allowed;
}

static int show(const struct view_place *place, str handle, const struct json *selector, bool as_json) {
  struct found_artifact piece = {.done = NULL};
  ASSERT(place->store && place->owner.n);
  struct buf text;
  struct fault f;
  buf_init(&text, ANSWER_MAX);
  artifact_find(place->store, place->owner, handle, &piece);
  bool found = store_answered(&piece.find.read, &f) && may_view(place->config, &piece.find.found.piece.origin);
  if (!found) fault_set(&f, FAULT_VIEW_FAILED, "unknown handle: it is wrong or has expired; call the tool again");
  if (found && !place->selected) selector = all_of(&piece.artifact, place->arena);
  bool ok = found && view_select(piece.artifact.bytes, selector, VIEW_TOKENS, STR("…"), &text, &f);
  if (found && !found_piece_intact(&piece.find.found)) {
    ok = false;
    fault_set(&f, FAULT_VIEW_FAILED, "the artifact of this handle is damaged; call the tool again");
  }
  if (ok) print_view(&piece.artifact, handle, buf_view(&text), as_json);
  else print_fault(&f, handle, as_json);
  artifact_release(&piece);
  buf_done(&text);
  return ok ? EXIT_OK : EXIT_NO;
}

// ---- from a running gateway

static struct control_client *find_running(const struct arguments *args, struct fault *f) {
  struct config_options opt = args->config;
  struct config_problems problems;
  struct config c;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  config_problems_init(&problems);
  fault_set(f, FAULT_NOT_FOUND, "the configuration has errors; run \"toolgate check\" to see them");
  bool ok = config_load(&c, &opt, environ, &problems) || c.broken;
  struct control_client *r = ok ? control_client_open(&c, environ, &(struct session_operator){0}, c.agent, f) : NULL;
  if (r && c.broken) command_print_problems(&problems);
  if (r && c.broken) control_client_warn_broken(r);
  config_problems_done(&problems);
  config_done(&c);
  return r;
}

static const struct json *request_view(struct control_client *r, struct arena *a, str handle, str selector,
                                       struct fault *f) {
  struct buf b;
  buf_init(&b, 6 * handle.n + selector.n + 256);
  struct json_writer w = json_writer(&b);
  buf_str(&b, STR("{\"name\":\"tool_view\",\"arguments\":"));
  json_begin_object(&w);
  json_member_str(&w, STR("handle"), handle);
  if (selector.n) json_member_raw(&w, STR("selector"), selector);
  json_end_object(&w);
  buf_char(&b, '}');
  ASSERT(!b.over);
  const struct json *result = control_client_mcp_request(r, a, MODE_GATEWAY, STR("tools/call"), buf_view(&b), f);
  buf_done(&b);
  return result;
}

static int show_running(struct control_client *r, struct arena *a, str handle, str selector, bool as_json) {
  struct fault f;
  bool failed = false;
  str text = STR("");
  const struct json *result = request_view(r, a, handle, selector, &f);
  if (!result) {
    return command_failed(&f, EXIT_CANNOT);
  }
  const struct json *whole = json_get(result, STR("structuredContent"));
  json_bool(json_get(result, STR("isError")), &failed);
  if (failed) {
    json_string(json_get(whole, STR("message")), a, &text);
    fault_set(&f, FAULT_VIEW_FAILED, "%.*s", STR_ARG(text));
    print_fault(&f, handle, as_json);
    return EXIT_NO;
  }
  json_string(json_get(json_at(json_get(result, STR("content")), 0), STR("text")), a, &text);
  if (as_json && whole) text = json_span(whole);
  command_print(text);
  if (!str_ends(text, STR("\n"))) putchar('\n');
  return EXIT_OK;
}

// Shows the part from a running gateway. Returns false if no gateway runs.
static bool view_running(const struct arguments *args, struct arena *a, int *out_status) {
  struct fault f;
  struct control_client *r = args->config.fresh ? NULL : find_running(args, &f);
  if (args->config.fresh || (!r && f.code == FAULT_NOT_FOUND)) return false;
  *out_status = EXIT_CANNOT;
  if (!r) fprintf(stderr, "toolgate: %s\n", f.message);
  str selector = args->operand_count > 1 ? str_of(args->operands[1]) : STR_NONE;
  if (r) *out_status = show_running(r, a, str_of(args->operands[0]), selector, args->json);
  control_client_close(&r);
  return true;
}

int cmd_view(int argc, char **argv) {
  struct arguments args = {0};
  struct context_place place;
  struct arena a;
  struct fault f;
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  str text = args.operand_count > 1 ? str_of(args.operands[1]) : STR("{\"type\":\"head\"}");
  arena_init(&a);
  const struct json *selector = json_parse(&a, text, &json_default_limits, &f);
  if (!json_is(selector, JSON_OBJECT)) {
    status = command_misused(argv[0], "the selector must be a JSON object such as {\"type\":\"head\"}");
  } else if (!view_running(&args, &a, &status) && context_open(&place, &args.config, &status)) {
    status = show(
        &(struct view_place){place.store, &place.config, gateway_local(&place.config, &a), args.operand_count > 1, &a},
        str_of(args.operands[0]), selector, args.json);
    context_close(&place);
  }
  arena_done(&a);
  return status;
}

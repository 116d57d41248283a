// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/execute.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/audit_recorder.h"
#include "surface/meta/approval_status.h"
#include "surface/meta/missing.h"
#include "surface/meta/skill_calls.h"
#include "surface/refused.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "json/write.h"

static const struct call_method *method_of(enum item_kind kind) {
  static const struct call_method tool = {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_META};
  static const struct call_method prompt = {"prompts/get", CALL_BY_NAME, ITEM_PROMPT, CALL_ANY_ERA, false, CALL_META};
  static const struct call_method resource = {"resources/read", CALL_BY_URI, ITEM_RESOURCE,
                                              CALL_ANY_ERA,     false,       CALL_META};
  return kind == ITEM_TOOL ? &tool : kind == ITEM_PROMPT ? &prompt : &resource;
}

// Finds the item of an entry in the current catalog. If on_invalid is "raise", the directory may be older than the
// catalog, and a name in the directory may now belong to another item. Returns NULL if the item is gone.
static const struct item *find_now(struct surface *d, const struct entry *e) {
  const struct catalog *c = upstreams_catalog(d->upstreams);
  if (c == d->directory->catalog) return e->item;
  const struct catalog_part *part = &c->parts[e->source];
  enum item_kind kind = e->item->kind;
  for (size_t i = 0; i < part->count[kind]; i++) {
    const struct item *item = &c->items[kind][part->first[kind] + i];
    if (str_eq(item->name, e->item->name)) return item;
  }
  return NULL;
}

// ---- rewriting

static const struct caller_options no_options = {0};

void meta_rewrite(struct request *r, const struct call_method *method, str target, str args) {
  static const str kept[] = {STR("_meta"), STR("inputResponses"), STR("requestState")};
  const struct json *old = r->msg.params;
  struct buf b;
  buf_init(&b, old->n + 6 * target.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, method->target == CALL_BY_URI ? STR("uri") : STR("name"), target);
  if (args.n) json_member_raw(&w, STR("arguments"), args);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const struct json *member = json_get(old, kept[i]);
    if (member) json_member_raw(&w, kept[i], json_span(member));
  }
  json_end_object(&w);
  // The size needs no limit: every part of the message was checked when the request was received.
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth};
  struct fault f;
  r->msg.params = json_parse(&r->arena, arena_str(&r->arena, buf_view(&b)), &limits, &f);
  ASSERT(r->msg.params);
  buf_done(&b);
  r->msg.method = str_of(method->name);
  r->by_http = false;  // do not compare the new params with HTTP headers, which repeat the meta-tool's arguments
}

// Starts a call of the item that an entry describes. `uri` is the URI made from a resource template, otherwise
// STR_NONE. `args` is raw JSON or STR_NONE.
static void become(struct surface *d, struct request *r, const struct entry *e, str uri, str args,
                   const struct caller_options *options) {
  const struct item *item = find_now(d, e);
  ASSERT(item);  // cannot fail: meta_lookup or meta_call_by_id has found the item
  const struct call_method *method = method_of(item->kind);
  str name = uri.p ? uri : item->name;
  meta_rewrite(r, method, name, args);
  call_start_at(&d->calls, r, method, arena_str(&r->arena, e->card.id), item, name, options);
}

// ---- entries

// Decides by the rules whether the caller may use an entry. Returns false, without a decision, if no rules apply or the
// caller is unknown.
static bool decide(struct surface *d, struct request *r, const struct entry *e, struct policy_decision *out) {
  ASSERT(e->item);
  struct caller caller;
  struct fault f;
  if (!surface_caller(d, r->session, &caller, &f) || !caller_is_limited(&caller)) return false;
  *out = caller_decide(&caller, upstreams_name(d->upstreams, e->source), e->item->kind, e->item->name);
  return true;
}

static void note(struct surface *d, struct request *r, const struct entry *e) {
  struct policy_decision decision;
  bool tool = e->item->kind == ITEM_TOOL;
  audit_recorder_tool(r, upstreams_name(d->upstreams, e->source), tool ? e->item->name : STR_NONE);
  if (!tool) audit_recorder_target(r, e->item->name);
  if (decide(d, r, e, &decision)) audit_recorder_decided(r, &decision);
}

// Returns the entry if the rules hide the entry, otherwise NULL. The client gets the same answer as for an unknown id,
// but the audit log names the rule.
static const struct entry *hidden_of(struct surface *d, struct request *r, const struct entry *e) {
  struct policy_decision decision;
  return e && decide(d, r, e, &decision) && !decision.allowed ? e : NULL;
}

// If a tool is hidden from the caller only because it is in quarantine (catalog/pins), refuses the request and returns
// true.
static bool refuse_quarantined(struct surface *d, struct request *r, const struct entry *e) {
  struct caller caller;
  struct fault f;
  ASSERT(!e || e->item);
  if (!e || e->hidden || e->item->kind != ITEM_TOOL || !surface_caller(d, r->session, &caller, &f)) return false;
  if (!caller_is_limited(&caller) || !(e->item->seen & upstreams_view(d->upstreams, e->source, r->session)))
    return false;
  str server = upstreams_name(d->upstreams, e->source);
  if (!caller_decide(&caller, server, ITEM_TOOL, e->item->name).quarantined) return false;
  caller_describe_quarantine(&caller, server, e->item->name, &f);
  fault_set_path(&f, e->card.id);
  meta_fail_hidden(d, r, &f, e, STR("{\"rule\":\"governance.pins\"}"));
  return true;
}

const struct entry *meta_lookup(struct surface *d, struct request *r, enum directory_kind kind, str id) {
  const struct entry *e = meta_find(d, r->session, kind, id);
  if (e && r->note) note(d, r, e);
  else if (!e) audit_recorder_target(r, id);
  if (e && meta_sees(d, r->session, e) && find_now(d, e)) return e;
  if (refuse_quarantined(d, r, e)) return NULL;
  meta_missing(d, r, kind, id, hidden_of(d, r, e));
  return NULL;
}

// ---- arguments of prompts: they have no schema; values are strings, and some names are required

// Returns true and sets the fault if the arguments `args` do not agree with the declared arguments `takes`.
static bool find_mistake(const struct json *takes, const struct json *args, struct arena *a, struct fault *f) {
  str name;
  JSON_EACH(it, takes)
    if (json_is(json_get(it, STR("required")), JSON_TRUE) && json_string(json_get(it, STR("name")), a, &name) &&
        !json_get(args, name)) {
      fault_set(f, FAULT_ARGS_INVALID, "args: the required argument \"%.*s\" is missing",
                STR_ARG(utf8_cut(name, META_NAME_SHOWN)));
      return true;
    }
  if (!args) return false;
  JSON_EACH(it, args) {
    bool known = false;
    str key = json_key(it, a);
    JSON_EACH(taken, takes) known |= json_equals_str(json_get(taken, STR("name")), key);
    if (known && it->type == JSON_STRING) continue;
    fault_set(f, FAULT_ARGS_INVALID, known ? "args: \"%.*s\" must be a string" : "args: unknown argument \"%.*s\"",
              STR_ARG(utf8_cut(key, META_NAME_SHOWN)));
    return true;
  }
  return false;
}

// Checks the arguments of a prompt; refuses the request if they are wrong. The fault includes the declared arguments,
// because the model has not seen them.
static bool check_prompt(struct surface *d, struct request *r, const struct entry *e, const struct json *args) {
  enum { SHOWN_ARGUMENTS = 16384 };
  struct fault f;
  const struct json *definition = json_parse(&r->arena, e->item->text, &json_default_limits, &f);
  const struct json *takes = json_get(definition, STR("arguments"));
  if (!json_is(takes, JSON_ARRAY) || !find_mistake(takes, json_is(args, JSON_OBJECT) ? args : NULL, &r->arena, &f))
    return true;
  str details = STR_NONE;
  if (takes->n <= SHOWN_ARGUMENTS) details = arena_printf(&r->arena, "{\"arguments\":%.*s}", STR_ARG(json_span(takes)));
  fault_set_path(&f, e->card.id);
  meta_fail(d, r, &f, details);
  return false;
}

// ---- the meta-tools

static bool given(const struct json *v) {
  return v && v->type != JSON_NULL;
}

static bool object_or_none(const struct json *v) {
  return !given(v) || v->type == JSON_OBJECT;
}

static str object_text(const struct json *v) {
  return json_is(v, JSON_OBJECT) ? json_span(v) : STR("{}");
}

str meta_args_text(const struct json *v) {
  return json_is(v, JSON_STRING) ? json_span(v) : object_text(v);
}

// Reads a whole number above 0. Returns false if `v` has another value; leaves *out unchanged if `v` is absent or null.
static bool read_count(const struct json *v, uint64_t *out) {
  int64_t ms = 0;
  if (!given(v)) return true;
  if (!json_int(v, &ms) || ms < 1) return false;
  *out = (uint64_t)ms;
  return true;
}

bool meta_max_tokens(const struct request *r, size_t *out) {
  uint64_t tokens = 0;
  if (!read_count(json_get(meta_args(r), STR("max_tokens")), &tokens)) return false;
  *out = tokens;
  return true;
}

static bool read_caller_options(const struct json *args, struct caller_options *out) {
  const struct json *dry = json_get(args, STR("dry_run"));
  *out = no_options;
  return (!given(dry) || json_bool(dry, &out->dry_run)) &&
         read_count(json_get(args, STR("timeout_ms")), &out->timeout_ms);
}

bool meta_takes_args(const struct surface *d, const struct json *args) {
  const struct controls *controls = d->opt.calls.controls;
  return object_or_none(args) || (controls && controls->tolerant_args && args->type == JSON_STRING);
}

// If the arguments have a request_id, answers with the state or the outcome of this request for approval, and returns
// true. The approved call has its own arguments, so there must be no others.
static bool execute_request(struct surface *d, struct request *r) {
  const struct json *args = meta_args(r), *id = json_get(args, STR("request_id"));
  struct fault f;
  struct buf details;
  str text;
  if (!given(id)) return false;
  buf_init(&details, 4096);
  if (!json_string(id, &r->arena, &text) || args->count != 1)
    meta_refuse(d, r, "pass request_id alone: the call has the arguments that were approved");
  else if (!calls_allow(&d->calls, r->session, STR("tool_execute"), &f, &details))
    meta_fail(d, r, &f, buf_view(&details));
  else meta_redeem(d, r, text);
  buf_done(&details);
  return true;
}

void meta_tool_execute(struct surface *d, struct request *r) {
  static const str names[] = {STR("tool_id"),    STR("args"),       STR("dry_run"),
                              STR("timeout_ms"), STR("max_tokens"), STR("request_id")};
  const struct json *args = json_get(meta_args(r), STR("args"));
  struct caller_options options;
  str id;
  if (!meta_known_args(d, r, names, 6) || execute_request(d, r)) return;
  if (!meta_string(r, STR("tool_id"), &id) || !meta_takes_args(d, args)) {
    meta_refuse(d, r, "tool_execute needs tool_id (a string) and may have args (an object)");
    return;
  }
  if (!read_caller_options(meta_args(r), &options) || !meta_max_tokens(r, &options.max_tokens)) {
    meta_refuse(d, r, "dry_run must be true or false; timeout_ms and max_tokens must be whole numbers above 0");
    return;
  }
  if (skill_calls_start(d, r, id, meta_args_text(args), &options)) return;
  const struct entry *e = meta_lookup(d, r, DIRECTORY_TOOLS, id);
  if (e) become(d, r, e, STR_NONE, meta_args_text(args), &options);
}

void meta_execute_id(struct surface *d, struct request *r, str id, str args) {
  const struct entry *e = meta_lookup(d, r, DIRECTORY_TOOLS, id);
  if (e) become(d, r, e, STR_NONE, args, &no_options);
}

bool meta_call_by_id(struct surface *d, struct request *r) {
  str id;
  json_string(json_get(r->msg.params, STR("name")), &r->arena, &id);
  const struct entry *e = meta_find(d, r->session, DIRECTORY_TOOLS, id);
  if (e && r->note) note(d, r, e);
  if (e && !meta_sees(d, r->session, e) && refuse_quarantined(d, r, e)) return true;
  if (!e || !meta_sees(d, r->session, e) || !find_now(d, e)) {
    surface_refused(d, r, FAULT_ARGS_INVALID, hidden_of(d, r, e));
    return false;
  }
  const struct json *args = json_get(r->msg.params, STR("arguments"));
  become(d, r, e, STR_NONE, object_text(args), &no_options);
  return true;
}

void meta_prompt_get(struct surface *d, struct request *r) {
  static const str names[] = {STR("prompt_id"), STR("args")};
  const struct json *args = json_get(meta_args(r), STR("args"));
  str id;
  if (!meta_known_args(d, r, names, 2)) return;
  if (!meta_string(r, STR("prompt_id"), &id) || !object_or_none(args)) {
    meta_refuse(d, r, "prompt_get needs prompt_id (a string) and may have args (an object of strings)");
    return;
  }
  const struct entry *e = meta_lookup(d, r, DIRECTORY_PROMPTS, id);
  if (e && check_prompt(d, r, e, args)) become(d, r, e, STR_NONE, object_text(args), &no_options);
}

void meta_resource_read(struct surface *d, struct request *r) {
  static const str names[] = {STR("resource_id"), STR("uri")};
  str id, uri;
  if (!meta_known_args(d, r, names, 2)) return;
  if (!meta_string(r, STR("resource_id"), &id)) {
    meta_refuse(d, r, "resource_read needs resource_id (a string)");
    return;
  }
  const struct entry *e = meta_lookup(d, r, DIRECTORY_RESOURCES, id);
  if (!e) return;
  if (e->item->kind == ITEM_RESOURCE) {
    become(d, r, e, STR_NONE, STR_NONE, &no_options);
  } else if (!meta_string(r, STR("uri"), &uri) || !naming_template_match(e->item->name, uri)) {
    struct fault f;
    fault_set(&f, FAULT_ARGS_INVALID, "this is a template: pass uri, with the placeholders of %.*s filled in",
              STR_ARG(utf8_cut(e->item->name, META_NAME_SHOWN)));
    fault_set_path(&f, e->card.id);
    meta_fail(d, r, &f, STR_NONE);
  } else {
    become(d, r, e, uri, STR_NONE, &no_options);
  }
}

// Returns the output schema of a tool, or NULL if the schema is absent, invalid or larger than the limits of schemas.
static const struct json *usable_output(const struct surface *d, const struct json *definition) {
  const struct json *source = json_get(definition, STR("outputSchema"));
  struct fault f;
  struct schema *s = json_is(source, JSON_OBJECT) ? schema_compile(source, &d->opt.calls.schemas, &f) : NULL;
  bool usable = s;
  schema_free(&s);
  return usable ? source : NULL;
}

void meta_tool_hydrate(struct surface *d, struct request *r) {
  static const str names[] = {STR("tool_id")};
  str id;
  if (!meta_known_args(d, r, names, 1)) return;
  if (!meta_string(r, STR("tool_id"), &id)) {
    meta_refuse(d, r, "tool_hydrate needs tool_id (a string)");
    return;
  }
  const struct entry *e = meta_lookup(d, r, DIRECTORY_TOOLS, id);
  if (!e) return;
  struct fault f;
  const struct json *definition = json_parse(&r->arena, e->item->text, &json_default_limits, &f);
  const struct json *description = json_get(definition, STR("description"));
  const struct json *schema = json_get(definition, STR("inputSchema"));
  const struct json *output = usable_output(d, definition);
  struct buf b;
  buf_init(&b, e->item->text.n * 2 + 6 * id.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("tool_id"), e->card.id);
  if (description) json_member_raw(&w, STR("description"), json_span(description));
  json_member_raw(&w, STR("args_schema"), schema ? json_span(schema) : STR("{}"));
  if (output) json_member_raw(&w, STR("output_schema"), json_span(output));
  json_member_raw(&w, STR("examples"), STR("[]"));
  json_member_raw(&w, STR("constraints"), STR("{}"));
  json_end_object(&w);
  meta_used(d, r->session, e->card.id);
  meta_reply(d, r, buf_view(&b), buf_view(&b));
  buf_done(&b);
}

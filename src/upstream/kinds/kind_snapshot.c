// SPDX-License-Identifier: Apache-2.0
// The kind for a JSON file that replaces a server (upstream/snapshot.h). A call runs no tool. The answer is the reply
// in the file or, if there is no reply, a sentence which says that nothing was called.
#include "upstream/snapshot.h"

#include "base/text/utf8.h"
#include "catalog/naming/naming.h"
#include "upstream/adapter.h"
#include "upstream/upstream_impl.h"

enum { ECHO_MAX = 2048, NAME_SHOWN = 160 };  // maximum bytes of the arguments and of the name that the sentence repeats

// ---- calls

static str excuse(struct adapter_call *c) {
  static const char *const what[] = {[ITEM_TOOL] = "tool", [ITEM_PROMPT] = "prompt", [ITEM_RESOURCE] = "resource"};
  str args = c->arguments ? utf8_cut(json_span(c->arguments), ECHO_MAX) : STR("");
  bool whole = !c->arguments || args.n == c->arguments->n;
  str shown = utf8_cut(c->name, NAME_SHOWN);
  return arena_printf(&c->arena, "The %s %.*s%s is listed in a static catalog, and nothing was called.%s%.*s%s",
                      what[c->kind], STR_ARG(shown), shown.n < c->name.n ? "…" : "", args.n ? " Arguments: " : "",
                      STR_ARG(args), whole ? "" : "…");
}

static const struct json *parse_entry(struct adapter_call *c, const struct snapshot_entry *e) {
  struct fault f;
  return e ? json_parse(&c->arena, e->text, &json_default_limits, &f) : NULL;
}

static bool matches_template(const struct snapshot *s, str uri) {
  for (size_t i = 0; i < s->count[ITEM_TEMPLATE]; i++)
    if (naming_template_match(s->entries[ITEM_TEMPLATE][i].name, uri)) return true;
  return false;
}

// Answers a read with the text in the definition of the resource. `text` and `type` are copied as raw JSON.
static void answer_declared(struct adapter_call *c, const struct json *text, const struct json *type) {
  struct json_writer w = adapter_begin(c);
  json_put_key(&w, STR("contents"));
  json_begin_array(&w);
  json_begin_object(&w);
  json_member_str(&w, STR("uri"), c->name);
  json_member_raw(&w, STR("mimeType"), json_is(type, JSON_STRING) ? json_span(type) : STR("\"text/plain\""));
  json_member_raw(&w, STR("text"), json_span(text));
  json_end_object(&w);
  json_end_array(&w);
  adapter_end(c, &w);
}

// Answers a call or a read. If a tool has an outputSchema, a successful result must match the schema. The sentence
// "nothing was called" does not match, so for such a tool it is sent as an error.
static void answer(void *own, struct adapter_call *c) {
  const struct snapshot *s = own;
  const struct snapshot_entry *reply = map_find(&s->replies[c->kind], c->name);
  const struct snapshot_entry *e = map_find(&s->by_name[c->kind], c->name);
  const struct json *entry = reply ? NULL : parse_entry(c, e), *text = json_get(entry, STR("text"));
  bool known = e || (c->kind == ITEM_RESOURCE && matches_template(s, c->name));
  if (reply) adapter_result(c, reply->text);
  else if (!known) adapter_not_found(c);
  else if (c->kind == ITEM_RESOURCE && json_is(text, JSON_STRING))
    answer_declared(c, text, json_get(entry, STR("mimeType")));
  else adapter_text(c, excuse(c), json_get(entry, STR("outputSchema")) != NULL);
}

static size_t count(void *own, enum item_kind kind) {
  return ((const struct snapshot *)own)->count[kind];
}

static str definition(void *own, enum item_kind kind, size_t index) {
  return ((const struct snapshot *)own)->entries[kind][index].text;
}

static str instructions(void *own) {
  return ((const struct snapshot *)own)->instructions;
}

// ---- the kind

static struct upstream_own *parse_file(struct buf *text, const struct hash_key *seed, kind_report *report, void *ctx) {
  struct snapshot *s = snapshot_new(text, seed, report, ctx);
  return s ? &s->own : NULL;
}

static str own_name(const struct upstream_own *own) {
  return ((const struct snapshot *)own)->server;
}

static void own_free(struct upstream_own *own) {
  struct snapshot *s = (struct snapshot *)own;
  snapshot_free(&s);
}

static bool own_same(const struct upstream_own *a, const struct upstream_own *b) {
  return str_eq(buf_view(&((const struct snapshot *)a)->file), buf_view(&((const struct snapshot *)b)->file));
}

static struct link *open_link(struct upstream *u, const struct link_options *opt, const struct link_events *ev,
                              void *ctx) {
  static const struct adapter_ops ops = {
      .count = count,
      .definition = definition,
      .call = answer,
      .instructions = instructions,
      .too_large = "the reply in the catalog file is larger than limits.message",
  };
  return adapter_link(opt, &ops, u->spec->own, ev, ctx);
}

const struct upstream_kind upstream_snapshot = {
    .name = "snapshot",
    .status = "file",
    .brief = "snapshot",
    .words = {"snapshot"},
    .place = "catalog",
    .implied = true,
    .local = true,
    .parse_file = parse_file,
    .own_name = own_name,
    .own_free = own_free,
    .own_same = own_same,
    .open = open_link,
};

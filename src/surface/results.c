// SPDX-License-Identifier: Apache-2.0
// What a meta-tool's call brings back: the result of a tool, a resource or a prompt as the result of the meta-tool, cut
// to what fits, and tool_view, which shows the rest.
#include "result/envelope.h"
#include "result/view.h"
#include "surface/meta.h"

// Whoever has the same credential may look at what was kept for it.
static str owner_of(const struct session *s) {
  return (str){(const char *)&s->principal, sizeof s->principal};
}

// ---- other results as those of tools

static void put_contents(struct json_writer *w, const struct json *contents) {
  JSON_EACH(it, contents) {
    if (it->type != JSON_OBJECT) continue;
    json_begin_object(w);
    json_member_str(w, STR("type"), STR("resource"));
    json_member_raw(w, STR("resource"), json_span(it));
    json_end_object(w);
  }
}

// A message as text that says whose it is; what is no text follows it.
static void put_message(struct json_writer *w, const struct json *message, struct arena *a) {
  const struct json *content = json_get(message, STR("content"));
  str role = STR(""), text = STR("");
  json_string(json_get(message, STR("role")), a, &role);
  bool plain = json_string(json_get(content, STR("text")), a, &text) || json_string(content, a, &text);
  struct buf line;
  buf_init(&line, role.n + text.n + 3);
  buf_char(&line, '[');
  buf_str(&line, role);
  buf_str(&line, STR("] "));
  buf_str(&line, text);
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), buf_view(&line));
  json_end_object(w);
  buf_done(&line);
  if (!plain && json_is(json_get(content, STR("type")), JSON_STRING)) json_put_raw(w, json_span(content));
}

static void put_messages(struct json_writer *w, const struct json *messages, struct arena *a) {
  JSON_EACH(it, messages)
    if (it->type == JSON_OBJECT) put_message(w, it, a);
}

// NULL: what it becomes is larger than any JSON that we read.
static const struct json *as_tool_result(const struct call *c, const struct json *result, struct arena *a) {
  enum { PART_BYTES = 64 };  // more than is put around a part
  bool is_prompt = c->method->kind == ITEM_PROMPT;
  if (c->method->kind == ITEM_TOOL) return result;
  const struct json *parts = json_get(result, is_prompt ? STR("messages") : STR("contents"));
  bool some = json_is(parts, JSON_ARRAY);
  struct buf b;
  struct fault f;
  buf_init(&b, result->n + PART_BYTES * (some ? (size_t)parts->count : 0) + 4096);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_put_key(&w, STR("content"));
  json_begin_array(&w);
  if (some && is_prompt) put_messages(&w, parts, a);
  else if (some) put_contents(&w, parts);
  json_end_array(&w);
  json_end_object(&w);
  const struct json *made = b.over ? NULL : json_parse(a, arena_str(a, buf_view(&b)), &json_default_limits, &f);
  buf_done(&b);
  return made;
}

// ---- what is told

bool meta_tell_result(void *ctx, struct call *c, const struct json *result, struct buf *out) {
  struct surface *d = ctx;
  const struct json *made = as_tool_result(c, result, &d->scratch);
  if (!made) {
    struct fault f;
    fault_set(&f, FAULT_UPSTREAM_ERROR, "the answer of the server has too many parts");
    meta_put_fault(d, &f, STR_NONE, out);
    arena_reset(&d->scratch);
    return true;
  }
  bool failed = false;
  json_bool(json_get(made, STR("isError")), &failed);
  if (!failed) meta_used(d, c->session, c->about);
  struct envelope_order order = {
      .result = made,
      .tool_id = c->about,
      .owner = owner_of(c->session),
      .artifacts = d->artifacts,
      .budget = d->opt.result_tokens,
      .text_only = !d->opt.structured,
  };
  bool as_it_is = envelope_make(&order, &d->scratch, out) && made == result;
  arena_reset(&d->scratch);
  return !as_it_is;
}

void meta_tool_view(struct surface *d, struct request *r) {
  static const str names[] = {STR("handle"), STR("selector")};
  const struct json *selector = json_get(meta_args(r), STR("selector"));
  str handle;
  struct fault f;
  if (!meta_known_args(d, r, names, 2)) return;
  if (!meta_string(r, STR("handle"), &handle) || !json_is(selector, JSON_OBJECT)) {
    meta_refuse(d, r, "tool_view needs handle, a string, and selector, an object such as {\"type\":\"head\"}");
    return;
  }
  const struct artifact *piece = artifacts_find(d->artifacts, owner_of(r->session), handle);
  struct buf text;
  buf_init(&text, 64 << 20);
  if (!piece) fault_set(&f, FAULT_VIEW_FAILED, "nothing is kept under this handle: it is wrong, or too old");
  if (piece && view_select(piece->bytes, selector, VIEW_TOKENS, &text, &f)) {
    meta_reply(d, r, buf_view(&text), STR_NONE);
  } else {
    f.code = FAULT_VIEW_FAILED;
    fault_set_path(&f, handle);
    meta_fail(d, r, &f, STR_NONE);
  }
  buf_done(&text);
}

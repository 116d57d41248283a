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

static void put_text_part(struct buf *out, str text, bool comma) {
  buf_str(out, comma ? STR(",{\"type\":\"text\",\"text\":") : STR("{\"type\":\"text\",\"text\":"));
  json_escape(out, text);
  buf_char(out, '}');
}

static void from_resource(const struct json *result, struct buf *out) {
  const struct json *contents = json_get(result, STR("contents"));
  bool comma = false;
  buf_str(out, STR("{\"content\":["));
  if (json_is(contents, JSON_ARRAY)) {
    JSON_EACH(it, contents) {
      if (it->type != JSON_OBJECT) continue;
      buf_str(out, comma ? STR(",{\"type\":\"resource\",\"resource\":") : STR("{\"type\":\"resource\",\"resource\":"));
      buf_str(out, json_span(it));
      buf_char(out, '}');
      comma = true;
    }
  }
  buf_str(out, STR("]}"));
}

// Each message as text that says whose it is; what is no text follows it.
static void put_message(struct buf *out, const struct json *message, struct arena *a, bool comma) {
  const struct json *content = json_get(message, STR("content"));
  str role = STR_NONE, text = STR_NONE;
  json_string(json_get(message, STR("role")), a, &role);
  bool plain = json_string(json_get(content, STR("text")), a, &text) || json_string(content, a, &text);
  put_text_part(out, arena_printf(a, "[%.*s] %.*s", STR_ARG(role), STR_ARG(text)), comma);
  if (plain || !json_is(json_get(content, STR("type")), JSON_STRING)) return;
  buf_char(out, ',');
  buf_str(out, json_span(content));
}

static void from_prompt(const struct json *result, struct arena *a, struct buf *out) {
  const struct json *messages = json_get(result, STR("messages"));
  bool comma = false;
  buf_str(out, STR("{\"content\":["));
  if (json_is(messages, JSON_ARRAY)) {
    JSON_EACH(it, messages) {
      put_message(out, it, a, comma);
      comma = true;
    }
  }
  buf_str(out, STR("]}"));
}

// NULL: it is not to be read any more, for it is put together of far too many parts.
static const struct json *as_tool_result(const struct call *c, const struct json *result, struct arena *a) {
  if (c->method->kind == ITEM_TOOL) return result;
  struct buf b;
  struct fault f;
  buf_init(&b, json_default_limits.max_bytes);
  if (c->method->kind == ITEM_PROMPT) from_prompt(result, a, &b);
  else from_resource(result, &b);
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
  if (!failed) seen_note(meta_seen(d, c->session), c->about);
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

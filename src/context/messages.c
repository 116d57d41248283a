// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a plan (struct messages_plan), and converts their responses to text.
#include "context/messages.h"

#include "base/assert.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

// ---- requests

struct filler {
  const struct messages_plan *plan;
  const struct planned_call *call;
  struct arena *a;
  struct json_writer w;
};

// Returns the call whose placeholder, `<ID response>`, is at the start of the text; NULL if there is no placeholder.
static const struct planned_call *placeholder(const struct filler *f, str text, size_t *out_n) {
  for (size_t i = 0; i < f->call->depend_count; i++) {
    const struct planned_call *other = &f->plan->calls[f->call->depends[i]];
    str rest = str_from(text, 1);
    if (text.p[0] != '<' || !str_starts(rest, other->id)) continue;
    if (!str_starts(str_from(rest, other->id.n), STR(" response>"))) continue;
    *out_n = 1 + other->id.n + STR(" response>").n;
    return other;
  }
  return NULL;
}

// Writes a string with its placeholders replaced by responses. Placeholders in the inserted responses stay unchanged.
static void put_filled(struct filler *f, str text) {
  struct buf b;
  buf_init(&b, MESSAGES_PARAMS_BYTES);
  while (text.n) {
    const char *mark = memchr(text.p, '<', text.n);
    size_t plain = mark ? (size_t)(mark - text.p) : text.n, n = 1;
    buf_add(&b, text.p, plain);
    text = str_from(text, plain);
    if (!text.n) break;
    const struct planned_call *other = placeholder(f, text, &n);
    buf_str(&b, other ? other->response : (str){text.p, 1});
    text = str_from(text, n);
  }
  if (b.over) f->w.out->over = true;
  json_put_str(&f->w, buf_view(&b));
  buf_done(&b);
}

static void put_value(struct filler *f, const struct json *v) {
  str text;
  if (json_string(v, f->a, &text)) {
    put_filled(f, text);
  } else if (v->type == JSON_ARRAY) {
    json_begin_array(&f->w);
    JSON_EACH(it, v) put_value(f, it);
    json_end_array(&f->w);
  } else if (v->type == JSON_OBJECT) {
    json_begin_object(&f->w);
    JSON_EACH(it, v) {
      json_put_key(&f->w, json_key(it, f->a));
      put_value(f, it);
    }
    json_end_object(&f->w);
  } else {
    json_put_raw(&f->w, json_span(v));
  }
}

static void put_arguments(struct filler *f) {
  json_put_key(&f->w, STR("arguments"));
  json_begin_object(&f->w);
  for (const struct json *it = f->call->arguments ? f->call->arguments->child : NULL; it; it = it->next) {
    if (json_key_is(it, STR("depends"))) continue;
    json_put_key(&f->w, json_key(it, f->a));
    put_value(f, it);
  }
  json_end_object(&f->w);
}

// Writes the params of a call, with placeholders replaced by responses. Returns false if the params are too large.
static bool params_of(const struct messages_plan *plan, const struct planned_call *c, struct arena *a,
                      struct buf *out) {
  struct filler f = {plan, c, a, json_writer(out)};
  json_begin_object(&f.w);
  json_put_key(&f.w, c->is_resource ? STR("uri") : STR("name"));
  if (c->is_resource) put_filled(&f, c->target);
  else json_put_str(&f.w, c->target);
  if (!c->is_resource) put_arguments(&f);
  if (c->meta) json_member_raw(&f.w, STR("_meta"), json_span(c->meta));
  json_end_object(&f.w);
  return !out->over;
}

// ---- responses

static void put_bytes_note(struct buf *b, const struct json *part, str data, struct arena *a) {
  str type = STR("application/octet-stream");
  size_t padding = str_ends(data, STR("==")) ? 2 : str_ends(data, STR("="));
  json_string(json_get(part, STR("mimeType")), a, &type);
  buf_printf(b, "[data:%.*s;base64, %zu bytes]", STR_ARG(type), data.n / 4 * 3 - (data.n >= 4 ? padding : 0));
}

// Writes, as text, one part of a tool's `content` or of a resource's `contents`.
static void put_part(struct buf *b, const struct json *part, struct arena *a) {
  const struct json *inner = json_get(part, STR("resource")), *json = json_get(part, STR("json"));
  const struct json *holder = json_is(inner, JSON_OBJECT) ? inner : part;
  str text;
  if (json_string(json_get(holder, STR("text")), a, &text)) buf_str(b, text);
  else if (json) buf_str(b, json_compacted(a, json_span(json)));
  else if (json_string(json_get(holder, STR("data")), a, &text) || json_string(json_get(holder, STR("blob")), a, &text))
    put_bytes_note(b, holder, text, a);
  else if (json_string(json_get(holder, STR("uri")), a, &text)) buf_str(b, text);
  else buf_str(b, json_compacted(a, json_span(part)));
}

static str join_parts(const struct json *parts, struct arena *a) {
  struct buf b;
  buf_init(&b, 2 * (size_t)parts->n + 128 * ((size_t)parts->count + 1));
  JSON_EACH(part, parts) {
    if (part != parts->child) buf_char(&b, '\n');
    put_part(&b, part, a);
  }
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static bool is_flat_resource(const struct json *result) {
  return json_is(json_get(result, STR("text")), JSON_STRING) || json_is(json_get(result, STR("blob")), JSON_STRING);
}

str messages_result_text(const struct json *result, struct arena *a) {
  const struct json *content = json_get(result, STR("content")),
                    *structured = json_get(result, STR("structuredContent"));
  str text;
  if (!content) content = json_get(result, STR("contents"));
  if (json_string(result, a, &text) || json_string(content, a, &text)) return text;
  if (json_is(content, JSON_ARRAY) && (content->count || !structured)) return join_parts(content, a);
  if (structured) return json_compacted(a, json_span(structured));
  if (!is_flat_resource(result)) return json_compacted(a, json_span(result));
  struct buf b;
  buf_init(&b, 2 * (size_t)result->n + 128);
  put_part(&b, result, a);
  text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

void messages_take_result(struct planned_call *call, const struct json *result, struct arena *a) {
  ASSERT(call && result);
  ASSERT(!call->response.p);
  call->response = messages_result_text(result, a);
  json_bool(json_get(result, STR("isError")), &call->failed);
}

// Returns {"error": {"code": code, key: value}}.
static str error_text(str code, str key, str value, struct arena *a) {
  struct buf b;
  buf_init(&b, 6 * (code.n + value.n) + 128);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_put_key(&w, STR("error"));
  json_begin_object(&w);
  json_member_str(&w, STR("code"), code);
  json_member_str(&w, key, value);
  json_end_object(&w);
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

void messages_take_fault(struct planned_call *call, const struct fault *f, struct arena *a) {
  ASSERT(!call->response.p);
  call->failed = true;
  call->response = error_text(str_of(fault_name(fault_public_code(f->code))), STR("message"), str_of(f->message), a);
}

// ---- the run

static const struct planned_call *failed_dependency(const struct messages_plan *plan, const struct planned_call *c) {
  for (size_t i = 0; i < c->depend_count; i++)
    if (plan->calls[c->depends[i]].failed) return &plan->calls[c->depends[i]];
  return NULL;
}

static void make_call(struct messages_plan *plan, struct planned_call *c, messages_answer *answer, void *ctx,
                      struct arena *a) {
  struct buf params;
  struct fault f;
  buf_init(&params, MESSAGES_PARAMS_BYTES);
  if (params_of(plan, c, a, &params)) {
    answer(ctx, c, buf_view(&params), a);
  } else {
    fault_set(&f, FAULT_LIMIT, "with responses in place of placeholders, the arguments are larger than %d bytes",
              MESSAGES_PARAMS_BYTES);
    messages_take_fault(c, &f, a);
  }
  buf_done(&params);
}

size_t messages_run(struct messages_plan *plan, messages_answer *answer, void *ctx, struct arena *a) {
  ASSERT(answer);
  size_t failed = 0;
  for (size_t i = 0; i < plan->count; i++) {
    struct planned_call *c = &plan->calls[i];
    const struct planned_call *cause = failed_dependency(plan, c);
    if (cause) {
      c->failed = true;
      c->response = error_text(STR("DEPENDENCY_FAILED"), STR("depends"), cause->id, a);
    } else {
      make_call(plan, c, answer, ctx, a);
    }
    failed += c->failed;
  }
  return failed;
}

void messages_pretend(struct messages_plan *plan, struct arena *a) {
  for (size_t i = 0; i < plan->count; i++)
    plan->calls[i].response = arena_printf(a, "<%.*s response>", STR_ARG(plan->calls[i].id));
}

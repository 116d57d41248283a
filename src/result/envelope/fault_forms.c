// SPDX-License-Identifier: Apache-2.0
#include "result/envelope/fault_forms.h"

#include <stdio.h>

#include "base/assert.h"
#include "rpc/message.h"
#include "json/write.h"

enum fault_code fault_public_code(enum fault_code code) {
  switch (code) {
  case FAULT_INVALID:
  case FAULT_LIMIT: return FAULT_ARGS_INVALID;
  case FAULT_NOT_FOUND: return FAULT_HYDRATE_FAILED;
  case FAULT_UPSTREAM_SESSION_LOST:
  case FAULT_SHUTTING_DOWN: return FAULT_UPSTREAM_UNAVAILABLE;
  case FAULT_IO:
  case FAULT_PROTOCOL:
  case FAULT_CANCELLED: return FAULT_UPSTREAM_ERROR;
  default: return code;
  }
}

void fault_put_flat(struct buf *out, const struct fault *f, str details) {
  enum fault_code code = fault_public_code(f->code);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("error"), str_of(fault_name(code)));
  json_member_str(&w, STR("message"), str_of(f->message));
  json_member_str(&w, STR("path"), str_of(f->path));
  json_member_bool(&w, STR("retryable"), fault_retryable(code) || f->passes);
  if (details.n) json_member_raw(&w, STR("details"), details);
  json_end_object(&w);
}

// Writes a fault as the result of a tool. The fault's code is also in _meta, in a member that servers cannot set.
static void put_fault(struct buf *out, const char *code, str text, bool structured) {
  char meta[128];
  int n = snprintf(meta, sizeof meta, "{\"" RESULT_FAULT "\":\"%s\"}", code);
  ASSERT(n > 0 && (size_t)n < sizeof meta);
  result_put(out, (str){meta, (size_t)n}, text, structured ? text : STR_NONE, true);
}

void fault_put_result(struct buf *out, const struct fault *f, str details, bool structured) {
  struct buf b;
  buf_init(&b, details.n + 8 * sizeof *f);
  fault_put_flat(&b, f, details);
  put_fault(out, fault_name(fault_public_code(f->code)), buf_view(&b), structured);
  buf_done(&b);
}

const char *fault_ruled_name(enum fault_code code) {
  switch (code) {
  case FAULT_HYDRATE_FAILED: return "TOOL_NOT_FOUND";
  case FAULT_UPSTREAM_UNAVAILABLE: return "SERVER_UNAVAILABLE";
  case FAULT_UPSTREAM_TIMEOUT: return "TIMEOUT";
  default: return fault_name(code);
  }
}

void fault_put_ruled(struct buf *out, const struct fault *f, str rule, str details) {
  enum fault_code code = fault_public_code(f->code);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("error"));
  json_begin_object(&w);
  json_member_str(&w, STR("code"), str_of(fault_ruled_name(code)));
  json_member_str(&w, STR("message"), str_of(f->message));
  json_put_key(&w, STR("rule"));
  if (rule.n) json_put_str(&w, rule);
  else json_put_null(&w);
  if (details.n && code != FAULT_DENIED_BY_POLICY) json_member_raw(&w, STR("details"), details);
  json_end_object(&w);
  json_end_object(&w);
}

void fault_put_ruled_result(struct buf *out, const struct fault *f, str rule, str details, bool structured) {
  struct buf b;
  buf_init(&b, details.n + 6 * rule.n + 8 * sizeof *f);
  fault_put_ruled(&b, f, rule, details);
  put_fault(out, fault_ruled_name(fault_public_code(f->code)), buf_view(&b), structured);
  buf_done(&b);
}

int fault_rpc_code(enum fault_code code) {
  switch (code) {
  case FAULT_INVALID:
  case FAULT_LIMIT:
  case FAULT_NOT_FOUND:
  case FAULT_ARGS_INVALID: return RPC_INVALID_PARAMS;
  default: return RPC_INTERNAL_ERROR;
  }
}

void fault_put_data(struct buf *out, const struct fault *f, str details) {
  enum fault_code code = fault_public_code(f->code);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("error"), str_of(fault_name(code)));
  json_member_bool(&w, STR("retryable"), fault_retryable(code) || f->passes);
  if (details.n) json_member_raw(&w, STR("details"), details);
  json_end_object(&w);
}

void result_put(struct buf *out, str meta, str text, str structured, bool is_error) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  if (meta.n) json_member_raw(&w, STR("_meta"), meta);
  json_put_key(&w, STR("content"));
  json_begin_array(&w);
  json_begin_object(&w);
  json_member_str(&w, STR("type"), STR("text"));
  json_member_str(&w, STR("text"), text);
  json_end_object(&w);
  json_end_array(&w);
  if (structured.n) json_member_raw(&w, STR("structuredContent"), structured);
  json_member_bool(&w, STR("isError"), is_error);
  json_end_object(&w);
}

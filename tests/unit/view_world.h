// SPDX-License-Identifier: Apache-2.0
// What the tests of views share.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text/utf8.h"
#include "result/view/view.h"
#include "text/tokens.h"

enum { VIEW_ROOM = 1 << 20 };

// The view as a buffer that the caller ends.
static struct buf view(str bytes, str selector, size_t limit) {
  struct arena a;
  struct fault f = {0};
  struct buf out;
  arena_init(&a);
  buf_init(&out, VIEW_ROOM);
  struct json *v = json_parse(&a, selector, &json_default_limits, &f);
  if (!v) fail_msg("%.*s: %s", STR_ARG(selector), f.message);
  if (!view_select(bytes, v, limit, STR("…"), &out, &f)) fail_msg("%.*s: %s", STR_ARG(selector), f.message);
  assert_false(out.over);
  assert_true(utf8_valid(buf_view(&out)));
  if (!tokens_fit(buf_view(&out), limit)) fail_msg("%zu tokens", tokens_count(buf_view(&out)));
  arena_done(&a);
  return out;
}

static void expect(const char *bytes, const char *selector, const char *want) {
  struct buf out = view(str_of(bytes), str_of(selector), VIEW_TOKENS);
  if (!str_eq(buf_view(&out), str_of(want))) fail_msg("%s gives \"%.*s\"", selector, STR_ARG(buf_view(&out)));
  buf_done(&out);
}

static void expect_fault(const char *bytes, const char *selector, const char *says) {
  struct arena a;
  struct fault f = {0};
  struct buf out;
  arena_init(&a);
  buf_init(&out, VIEW_ROOM);
  struct json *v = json_parse(&a, str_of(selector), &json_default_limits, &f);
  assert_non_null(v);
  if (view_select(str_of(bytes), v, VIEW_TOKENS, STR("…"), &out, &f))
    fail_msg("%s gives \"%.*s\"", selector, STR_ARG(buf_view(&out)));
  assert_int_equal(out.n, 0);
  if (!strstr(f.message, says)) fail_msg("%s says \"%s\"", selector, f.message);
  if (!strstr(f.message, "{\"type\":")) fail_msg("%s says \"%s\"", selector, f.message);
  buf_done(&out);
  arena_done(&a);
}

// What stands before the last line, which holds a selector; false when it was not cut.
static inline bool take_selector(const struct buf *out, str *out_shown, str *out_selector) {
  str all = buf_view(out);
  size_t line = all.n;
  while (line && all.p[line - 1] != '\n') line--;
  *out_shown = (str){all.p, line};
  if (!str_starts(str_from(all, line), STR("… "))) return false;
  size_t at = all.n;
  while (at > line && !str_starts(str_from(all, at), STR("go on with "))) at--;
  if (at == line) return false;
  *out_selector = str_from(all, at + STR("go on with ").n);
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// text/hidden: messages of servers without characters that a reader does not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "text/hidden.h"
#include "json/text.h"

// want: NULL: it stays as it is.
static void expect(str json, const char *want) {
  struct buf b;
  buf_init(&b, hidden_json_max(json));
  bool changed = hidden_put_json(&b, json);
  if (changed != (want != NULL)) fail_msg("%.*s", STR_ARG(json));
  if (want && !str_eq(buf_view(&b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), want);
  if (want) assert_true(hidden_in_json(json));
  assert_false(b.over);
  buf_done(&b);
}

static void becomes(const char *json, const char *want) {
  expect(str_of(json), want);
}

static void stays(const char *json) {
  expect(str_of(json), NULL);
}

static void texts_that_a_model_reads_lose_hidden_characters(void **state) {
  becomes("{\"content\":[{\"type\":\"text\",\"text\":\"a\u200bb\"}]}",
          "{\"content\":[{\"type\":\"text\",\"text\":\"ab\"}]}");
  becomes("{\"error\":{\"code\":-1,\"message\":\"\\u001b[31mno\\u001b[0m\\u0007\"}}",
          "{\"error\":{\"code\":-1,\"message\":\"no\"}}");
  becomes("{\"text\" : \"\\ud83d\\ude00\\udb40\\udc68 \\\" \\u00e9\x7f\"}", "{\"text\" : \"\U0001f600 \\\" \u00e9\"}");
  becomes("{\"a\":{\"text\":\"\\b\\f\\rx\"},\"b\":[1,{\"title\":\"\u202e\"}],\"c\":2}",
          "{\"a\":{\"text\":\"\\nx\"},\"b\":[1,{\"title\":\"\"}],\"c\":2}");
}

static void data_for_programs_stays(void **state) {
  stays("{\"structuredContent\":{\"text\":\"\u200b\"},\"_meta\":{\"text\":\"\u200b\"}}");
  stays("{\"data\":{\"message\":\"\\u0007\"}}");
  stays("{\"uri\":\"\u200b\",\"input\":{\"text\":\"\u200b\"},\"text\":[\"\u200b\"],\"\u200b\":1}");
  stays("\"\u200b\"");
}

static void texts_without_hidden_characters_stay_byte_for_byte(void **state) {
  stays("{\"text\":\"\\u0041 \\u00e9 \\/ \\ud83d\\ude00 \\n\\t\\r\\n \u00a0 \\\\u200b \\\\\\\\b\"}");
  stays("{\"text\":\"\u2764\ufe0f \U0001f469\u200d\U0001f52c\"}");
}

// The value may end where its memory ends: AddressSanitizer reports a read beyond it.
static void nothing_after_the_value_is_read(void **state) {
  static const char *const texts[] = {"\\ud83d\\ude00", "\\uD83D\\uDE00", "\\u0041", "\U0001f600"};
  char json[256];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (int blanks = 0; blanks < 130; blanks++) {
      size_t n = (size_t)snprintf(json, sizeof json, "\"%*s%s\"", blanks, "", texts[i]);
      char *exact = malloc(n);
      memcpy(exact, json, n);
      assert_false(hidden_in_json((str){exact, n}));
      free(exact);
    }
  }
}

// Blocks of 64 bytes are searched at once: the character may be in any place of one, and between two.
static void a_hidden_character_is_found_wherever_it_is(void **state) {
  static const char *const hidden[] = {"\u200b",     "\\u200b",        "\x7f", "\xc2\x85",
                                       "\U000e0068", "\\udb40\\udc68", "\\b",  "\\r"};
  static const char *const seen[] = {"\\\\u200b", "\u00e9", "\u3042", "\\r\\n", "\U0001f600", "\\\\r"};
  char json[512];
  for (size_t n = 0; n < 200; n++) {
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
      int m = snprintf(json, sizeof json, "\"%*s%s%*s\"", (int)n, "", hidden[i], (int)(200 - n) / 2, "");
      if (!hidden_in_json((str){json, (size_t)m})) fail_msg("%s at %zu", hidden[i], n);
    }
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
      int m = snprintf(json, sizeof json, "\"%*s%s%*s\"", (int)n, "", seen[i], (int)(200 - n) / 2, "");
      if (hidden_in_json((str){json, (size_t)m})) fail_msg("%s at %zu", seen[i], n);
    }
  }
}

static void finds(struct buf *b, uint32_t c, bool escaped) {
  enum { BEFORE = 70 };  // more than one block
  char raw[4];
  buf_reset(b);
  buf_printf(b, "{\"text\":\"%*s", BEFORE, "");
  if (escaped) json_text_escape_code(b, c);
  else buf_add(b, raw, utf8_put(c, raw));
  buf_str(b, STR(" after\"}"));
  if (!hidden_in_json(buf_view(b))) fail_msg("U+%04X, %s", (unsigned)c, escaped ? "escaped" : "raw");
}

static void every_character_that_may_be_hidden_is_found(void **state) {
  struct buf b;
  size_t count = 0;
  buf_init(&b, 512);
  for (uint32_t c = 0; c <= 0x10ffff; c++) {
    if ((c >= 0xd800 && c <= 0xdfff) || !plain_may_change(c)) continue;
    count++;
    finds(&b, c, true);
    if (c >= ' ') finds(&b, c, false);
  }
  assert_true(count > 200);
  buf_done(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_that_a_model_reads_lose_hidden_characters),
      cmocka_unit_test(data_for_programs_stays),
      cmocka_unit_test(texts_without_hidden_characters_stay_byte_for_byte),
      cmocka_unit_test(nothing_after_the_value_is_read),
      cmocka_unit_test(a_hidden_character_is_found_wherever_it_is),
      cmocka_unit_test(every_character_that_may_be_hidden_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

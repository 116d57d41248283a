// SPDX-License-Identifier: Apache-2.0
// text/: pieces, ranks and merging, as cl100k_base has them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "text/bpe.h"
#include "text/tables.h"
#include "text/token_pieces.h"
#include "text/tokens.h"
#include "text/unicode.h"

// ---- helpers ----

// In memory of exactly its size, so that a read past its end is seen.
static char *exact_copy(str text) {
  char *copy = mem_alloc(text.n ? text.n : 1);
  if (text.n) memcpy(copy, text.p, text.n);
  return copy;
}

#define IDS(...) ((const uint32_t[]){__VA_ARGS__}), sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static void assert_ids(str text, const uint32_t *ids, size_t n) {
  char *copy = exact_copy(text);
  uint32_t got[64];
  assert_int_equal(tokens_encode((str){copy, text.n}, got, 64), n);
  assert_memory_equal(got, ids, n * sizeof *ids);
  assert_int_equal(tokens_count((str){copy, text.n}), n);
  mem_free(copy);
}

static void assert_pieces(str text, const char *joined) {
  struct buf got;
  buf_init(&got, 4096);
  for (str rest = text; rest.n;) {
    struct piece piece = piece_first(rest);
    if (got.n) buf_char(&got, '|');
    buf_str(&got, piece.text);
    rest = str_from(rest, piece.text.n);
  }
  buf_char(&got, '\0');
  assert_string_equal(got.p, joined);
  buf_done(&got);
}

static str repeated(struct buf *b, str unit, size_t times) {
  buf_reset(b);
  for (size_t i = 0; i < times; i++) buf_str(b, unit);
  return buf_view(b);
}

// ---- what tiktoken gives ----

static void ids_are_those_of_tiktoken(void **state) {
  assert_ids(STR("hello world"), IDS(15339, 1917));
  assert_ids(STR("…"), IDS(1981));
  assert_ids(STR("こんにちは世界"), IDS(90115, 3574, 244, 98220));
  assert_ids(STR("don't I'LL"), IDS(15357, 956, 358, 6, 4178));
  assert_ids(STR("1234567890"), IDS(4513, 10961, 16474, 15));
  assert_ids(STR("a\n\n b\r\n\tc   d  "), IDS(64, 271, 293, 319, 1470, 256, 294, 256));
  assert_ids(STR("\u00a0x"), IDS(4194, 87));
}

static void counts_are_those_of_tiktoken(void **state) {
  struct buf b;
  buf_init(&b, 1 << 16);
  assert_int_equal(tokens_count(STR("{\"type\":\"object\"}")), 5);
  assert_int_equal(tokens_count(STR("{\"type\": \"object\"}")), 6);
  assert_int_equal(tokens_count(STR("naïve café")), 4);
  assert_int_equal(tokens_count(STR("🙂🙃")), 5);
  assert_int_equal(tokens_count(repeated(&b, STR("x"), 800)), 100);
  assert_int_equal(tokens_count(STR("github:create_issue#678543c8")), 8);
  assert_int_equal(tokens_count(STR("mcp:read_file#559d82ea")), 10);
  assert_int_equal(tokens_count(STR("    indent")), 2);
  assert_int_equal(tokens_count(STR("ﬁ")), 2);
  assert_int_equal(tokens_count(STR("\u3000")), 1);
  buf_done(&b);
}

static void text_that_looks_like_a_special_token_is_ordinary(void **state) {
  assert_ids(STR("<|endoftext|>"), IDS(27, 91, 8862, 728, 428, 91, 29));
}

static void nothing_has_no_tokens(void **state) {
  assert_int_equal(tokens_count(STR_NONE), 0);
  assert_true(tokens_fit(STR(""), 0));
  assert_int_equal(tokens_encode(STR(""), NULL, 0), 0);
}

// ---- pieces ----

static void words_take_one_character_before_them_that_is_no_newline(void **state) {
  assert_pieces(STR("a bc.d\te\nf"), "a| bc|.d|\te|\n|f");
  assert_pieces(STR("(é)ß __a"), "(é|)ß| __|a");
  assert_pieces(STR("a\u00a0b"), "a|\u00a0b");
}

static void signs_take_a_space_before_and_newlines_behind(void **state) {
  assert_pieces(STR("a != b;\r\n\n c"), "a| !=| b|;\r\n\n| c");
  assert_pieces(STR("\t!!a"), "\t|!!|a");
  assert_pieces(STR(" !a"), " !|a");
}

static void numbers_stand_in_threes(void **state) {
  assert_pieces(STR("x12345 67"), "x|123|45| |67");
  assert_pieces(STR("٣٤٥٦½Ⅻ"), "٣٤٥|٦½Ⅻ");
}

static void contractions_are_pieces_in_any_case(void **state) {
  assert_pieces(STR("it's I'M we'LL he'D you'Re I'vE don'T"), "it|'s| I|'M| we|'LL| he|'D| you|'Re| I|'vE| don|'T");
  assert_pieces(STR("x'lly x'rey x'Vey x'my x'Ty x'dy"), "x|'ll|y| x|'re|y| x|'Ve|y| x|'m|y| x|'T|y| x|'d|y");
  assert_pieces(STR("x'sy 'r 'l"), "x|'s|y| '|r| '|l");
  assert_pieces(STR("!'s 'x"), "!'|s| '|x");
  assert_pieces(STR("'ſx"), "'ſ|x");  // the long s is an s in another case
  assert_pieces(STR("'\xc5"), "'\xc5");
}

static void white_space_ends_at_its_last_newline_or_leaves_one_for_the_next_word(void **state) {
  assert_pieces(STR(" \n \r\n  a"), " \n \r\n| | a");
  assert_pieces(STR("a   "), "a|   ");
  assert_pieces(STR("a   1"), "a|  | |1");
  assert_pieces(STR("a\t\t1"), "a|\t|\t|1");
  assert_pieces(STR("\u2003\u3000\u20281"), "\u2003\u3000|\u2028|1");
}

static void marks_and_characters_of_no_kind_are_signs(void **state) {
  assert_pieces(STR("e\u0301e"), "e|\u0301e");
  assert_pieces(STR("\U0010fffd\u200d\u0301 a"), "\U0010fffd\u200d\u0301| a");
}

// ---- characters ----

static void kinds_are_those_of_unicode_16(void **state) {
  size_t count[4] = {0};
  for (uint32_t c = 0; c <= 0x10ffff; c++) count[unicode_kind(c)]++;
  assert_int_equal(count[UNICODE_LETTER], 141028);
  assert_int_equal(count[UNICODE_NUMBER], 1911);
  assert_int_equal(count[UNICODE_SPACE], 25);
  assert_int_equal(unicode_kind(0x1c89), UNICODE_LETTER);  // new in 16.0
  assert_int_equal(unicode_kind(0xa7ce), UNICODE_OTHER);   // a letter from 17.0 on
  assert_int_equal(unicode_kind(0x10d40), UNICODE_NUMBER);
  assert_int_equal(unicode_kind(0x85), UNICODE_SPACE);
  assert_int_equal(unicode_kind(0x180e), UNICODE_OTHER);
  assert_int_equal(unicode_kind(0x200b), UNICODE_OTHER);
}

static void assert_reads_as(str broken, str utf8) {
  char *copy = exact_copy(broken);
  struct buf got;
  buf_init(&got, 256);
  for (size_t at = 0, len; at < broken.n; at += len) {
    bool valid;
    char character[4];
    uint32_t c = unicode_read(copy + at, broken.n - at, &len, &valid);
    buf_add(&got, character, utf8_put(c, character));
  }
  assert_int_equal(got.n, utf8.n);
  assert_memory_equal(got.p, utf8.p, utf8.n);
  assert_int_equal(tokens_count((str){copy, broken.n}), tokens_count(utf8));
  buf_done(&got);
  mem_free(copy);
}

static void each_longest_beginning_of_a_character_is_one_replacement(void **state) {
  assert_reads_as(STR("a\x80z"), STR("a\ufffdz"));
  assert_reads_as(STR("\xc3"), STR("\ufffd"));
  assert_reads_as(STR("\xc0\xaf"), STR("\ufffd\ufffd"));                      // overlong
  assert_reads_as(STR("\xe2\x82z"), STR("\ufffdz"));                          // two of three
  assert_reads_as(STR("\xe0\x80\x80"), STR("\ufffd\ufffd\ufffd"));            // overlong
  assert_reads_as(STR("\xed\xa0\x80"), STR("\ufffd\ufffd\ufffd"));            // a surrogate
  assert_reads_as(STR("\xf0\x9f\x99"), STR("\ufffd"));                        // three of four
  assert_reads_as(STR("\xf0\x9f\x99\xf0\x9f\x99\x82"), STR("\ufffd🙂"));    // then a whole one
  assert_reads_as(STR("\xf4\x90\x80\x80"), STR("\ufffd\ufffd\ufffd\ufffd"));  // above U+10FFFF
  assert_reads_as(STR("\xf0\x8f\xbf\xbf"), STR("\ufffd\ufffd\ufffd\ufffd"));  // overlong
  assert_reads_as(STR("\xf5\xff\xfe"), STR("\ufffd\ufffd\ufffd"));
  assert_reads_as(STR("it\xff's \xc3 \xe2\x82"), STR("it\ufffd's \ufffd \ufffd"));
}

static void a_byte_order_mark_is_text(void **state) {
  assert_ids(STR("\ufeffa"), IDS(3305, 64));
}

// ---- merging ----

enum { MAX_PLAIN = 300 };

// Merging as its definition says, without any cleverness: bytes are a token when they are one token.
static size_t merge_plainly(str piece, uint32_t *out) {
  size_t edge[MAX_PLAIN + 1], parts = piece.n;
  for (size_t i = 0; i <= piece.n; i++) edge[i] = i;
  for (size_t best = 0; best < parts;) {
    uint32_t lowest = UINT32_MAX, id;
    best = parts;
    for (size_t i = 0; i + 1 < parts; i++) {
      str pair = {piece.p + edge[i], edge[i + 2] - edge[i]};
      if (pair.n > BPE_LONGEST || bpe_encode(pair, pair.p + pair.n, &id, 1) > 1 || id >= lowest) continue;
      lowest = id;
      best = i;
    }
    if (best < parts) memmove(edge + best + 1, edge + best + 2, (parts-- - best - 1) * sizeof *edge);
  }
  for (size_t i = 0; i < parts; i++)
    assert_int_equal(bpe_encode((str){piece.p + edge[i], edge[i + 1] - edge[i]}, piece.p + piece.n, out + i, 1), 1);
  return parts;
}

static void assert_merged_plainly(str piece) {
  char *copy = exact_copy(piece);
  uint32_t got[MAX_PLAIN], want[MAX_PLAIN];
  size_t count = bpe_encode((str){copy, piece.n}, copy + piece.n, got, MAX_PLAIN);
  assert_int_equal(count, merge_plainly(piece, want));
  assert_memory_equal(got, want, count * sizeof *got);
  mem_free(copy);
}

static void pieces_of_any_length_are_merged_in_the_order_of_the_ranks(void **state) {
  static const struct {
    const char *of[8];
  } alphabets[] = {
      {{"a"}},
      {{"a", "b"}},
      {{"t", "h", "e", " "}},
      {{"x", "y", "z", "a", "e", "i", "o", "u"}},
      {{" ", "\n", "\t"}},
      {{"=", "-", "*"}},
      {{"0", "1", "7", "a", "f", "."}},
      {{"中", "国", "的", "一", "是", "鼹", "，", "a"}},
      {{"の", "を", "カ", "タ", "日", "本", " ", "ー"}},
      {{"ー", "ル", "ア", "し", "ま", "フ", "ん", "無"}},
      {{"删", "除", "返", "回", "函", "数", "创", "建"}},
      {{"п", "р", "и", "в", "е", "т", " ", "ё"}},
      {{"한", "국", "어", "가", "뷁", " "}},
      {{"합", "니", "다", "데", "이", "터", "실", "행"}},
      {{"é", "ß", "ا", "ل", "न", "ि", "🙂", "\xef\xbf\xbd"}},
  };
  uint32_t seed = 1;
  struct buf text;
  buf_init(&text, MAX_PLAIN);
  for (size_t n = 2; n + 4 < MAX_PLAIN; n = n < 70 || (n > 250 && n < 264) ? n + 1 : n + 17) {
    for (size_t k = 0; k < sizeof alphabets / sizeof *alphabets; k++) {
      size_t letters = 0;
      while (letters < 8 && alphabets[k].of[letters]) letters++;
      buf_reset(&text);
      while (text.n < n) {
        seed = seed * 1664525 + 1013904223;
        buf_str(&text, str_of(alphabets[k].of[(seed >> 16) % letters]));
      }
      assert_merged_plainly(buf_view(&text));
    }
  }
  buf_done(&text);
}

static bool continues(char byte) {
  return ((unsigned char)byte & 0xc0) == 0x80;
}

// The token with what it lacks of the characters at its ends; nothing when that is not found.
static str completed(struct buf *b, str token) {
  static const char *const beginnings[] = {"", "\xe4\xbd", "\xe4", "\xf1"};
  size_t begin = 0;
  while (begin < token.n && continues(token.p[begin])) begin++;
  if (begin > 3) return STR_NONE;
  buf_reset(b);
  buf_str(b, str_of(beginnings[begin]));
  buf_str(b, token);
  for (int i = 0; i < 3 && !utf8_valid(buf_view(b)); i++) buf_char(b, '\x9f');
  return utf8_valid(buf_view(b)) ? buf_view(b) : STR_NONE;
}

static void tokens_that_hold_a_part_of_a_character_are_merged_in_the_order_of_the_ranks(void **state) {
  enum { TOKENS = 100256 };
  struct buf text;
  buf_init(&text, MAX_PLAIN);
  size_t cut = 0;
  const char *entry = bpe_entries;
  for (int rank = 0; rank < TOKENS; rank++) {
    str token = {entry + 4, (unsigned char)entry[3]};
    entry = token.p + token.n;
    if (utf8_valid(token) || !completed(&text, token).n) continue;
    assert_merged_plainly(buf_view(&text));
    cut++;
  }
  assert_true(cut > 700);
  buf_done(&text);
}

static void ids_beyond_the_room_are_counted_only(void **state) {
  uint32_t got[3] = {0, 0, 7};
  assert_int_equal(tokens_encode(STR("1234567890"), got, 2), 4);
  assert_int_equal(got[0], 4513);
  assert_int_equal(got[1], 10961);
  assert_int_equal(got[2], 7);
  // Also when the room ends within a piece.
  assert_int_equal(tokens_encode(STR("こんにちは世界"), got, 2), 4);
  assert_int_equal(got[1], 3574);
  assert_int_equal(got[2], 7);
}

static void text_fits_from_its_exact_count_on(void **state) {
  struct buf b;
  buf_init(&b, 1 << 20);
  str texts[] = {STR("x"), STR("hello world"), STR("こんにちは世界 1234567890"), STR("\xff\xfe\xfd"),
                 repeated(&b, STR("x"), 800)};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t count = tokens_count(texts[i]);
    assert_true(tokens_fit(texts[i], count));
    assert_true(tokens_fit(texts[i], SIZE_MAX));
    for (size_t limit = 0; limit < count; limit++) assert_false(tokens_fit(texts[i], limit));
  }
  // The longest token there is: 128 spaces.
  assert_int_equal(tokens_count(repeated(&b, STR(" "), 128)), 1);
  assert_true(tokens_fit(buf_view(&b), 1));
  assert_false(tokens_fit(repeated(&b, STR(" "), 129), 1));
  buf_done(&b);
}

// Words of few letters, so that many come again, beside bytes that are no UTF-8, zeros and words too long to be kept.
static str any_text(struct buf *b, uint64_t *seed) {
  static const char *const parts[] = {"a", "bc", " de", "\xff", "\xe2\x82", "é", "世界", "123", "\n", " {\"x\":"};
  buf_reset(b);
  for (size_t i = 0; i < 40; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    unsigned which = (unsigned)(*seed >> 33) % 12;
    if (which < 10) buf_str(b, str_of(parts[which]));
    else if (which == 10) buf_char(b, '\0');
    else
      for (size_t k = 0; k < (*seed >> 40) % 100; k++) buf_char(b, 'x');
  }
  return buf_view(b);
}

static void what_is_remembered_of_words_changes_no_count(void **state) {
  struct tokens_memo *m = MEM_NEW(struct tokens_memo);
  struct buf b;
  uint64_t seed = 7;
  buf_init(&b, 1 << 16);
  for (size_t i = 0; i < 5000; i++) {
    str text = any_text(&b, &seed);
    char *copy = exact_copy(text);
    assert_int_equal(tokens_count_like(m, (str){copy, text.n}), tokens_count(text));
    mem_free(copy);
  }
  assert_int_equal(tokens_count_like(m, STR_NONE), 0);
  buf_done(&b);
  mem_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_those_of_tiktoken),
      cmocka_unit_test(counts_are_those_of_tiktoken),
      cmocka_unit_test(text_that_looks_like_a_special_token_is_ordinary),
      cmocka_unit_test(nothing_has_no_tokens),
      cmocka_unit_test(words_take_one_character_before_them_that_is_no_newline),
      cmocka_unit_test(signs_take_a_space_before_and_newlines_behind),
      cmocka_unit_test(numbers_stand_in_threes),
      cmocka_unit_test(contractions_are_pieces_in_any_case),
      cmocka_unit_test(white_space_ends_at_its_last_newline_or_leaves_one_for_the_next_word),
      cmocka_unit_test(marks_and_characters_of_no_kind_are_signs),
      cmocka_unit_test(kinds_are_those_of_unicode_16),
      cmocka_unit_test(each_longest_beginning_of_a_character_is_one_replacement),
      cmocka_unit_test(a_byte_order_mark_is_text),
      cmocka_unit_test(pieces_of_any_length_are_merged_in_the_order_of_the_ranks),
      cmocka_unit_test(tokens_that_hold_a_part_of_a_character_are_merged_in_the_order_of_the_ranks),
      cmocka_unit_test(ids_beyond_the_room_are_counted_only),
      cmocka_unit_test(text_fits_from_its_exact_count_on),
      cmocka_unit_test(what_is_remembered_of_words_changes_no_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// text/words: what search takes for a word.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/text/utf8.h"
#include "text/search/lexicon.h"
#include "text/search/words.h"

// The words of a text with blanks between them, against what is wanted.
static void check(const char *text, const char *want) {
  struct arena a;
  arena_init(&a);
  struct buf got;
  buf_init(&got, 4096);
  struct word_list list = words_split(&a, str_of(text), 100);
  for (size_t i = 0; i < list.count; i++) {
    if (i) buf_char(&got, ' ');
    buf_str(&got, list.words[i]);
  }
  buf_char(&got, 0);
  assert_string_equal(got.p, want);
  buf_done(&got);
  arena_done(&a);
}

static void names_are_split_where_people_see_words(void **state) {
  check("create_issue", "create issue");
  check("createIssue", "create issue");
  check("list-all.files/by:owner", "list all files by owner");
  check("HTTPServer", "http server");
  check("getURLs", "get urls");
  check("parseXMLFile", "parse xml file");
  check("sha256sum", "sha 256 sum");
  check("A", "a");
  check("", "");
  check(" -- ", "");
}

static void what_follows_an_apostrophe_is_grammar(void **state) {
  check("what's Tom's plan", "what tom plan");
  check("don’t", "don");
  check("'quoted'", "quoted");
  check("o'clock", "o clock");
}

static void letters_are_folded(void **state) {
  check("Café ÜBER", "cafe uber");
  check("Cafe\xcc\x81", "cafe");  // the accent written as a character of its own
  check("ＦＵＬＬ　ｗｉｄｔｈ", "full width");
  check("ПРИВЕТ мир", "привет мир");
  check("ﬁle", "file");
}

static void scripts_without_blanks_give_pairs_of_characters(void **state) {
  check("搜索关键词", "搜索 索关 关键 键词");
  check("天", "天");
  check("用Bing搜索", "用 bing 搜索");
}

static void invalid_bytes_separate_words(void **state) {
  check("ab\xff"
        "cd",
        "ab cd");
  check("ab\xe4\xb8", "ab");
}

static void a_text_gives_no_more_words_than_asked_for(void **state) {
  struct arena a;
  arena_init(&a);
  assert_int_equal(words_split(&a, STR("one two three four"), 3).count, 3);
  assert_int_equal(words_split(&a, STR("天地玄黄宇宙"), 2).count, 2);
  assert_int_equal(words_split(&a, STR("one"), 0).count, 0);
  arena_done(&a);
}

static void an_endless_word_is_cut(void **state) {
  struct arena a;
  arena_init(&a);
  char text[1000];
  memset(text, 'x', sizeof text);
  struct word_list list = words_split(&a, (str){text, sizeof text}, 10);
  assert_int_equal(list.count, 1);
  assert_true(list.words[0].n <= WORD_MOST_BYTES);
  arena_done(&a);
}

static void a_text_is_cut_between_characters(void **state) {
  assert_int_equal(utf8_cut(STR("abc"), 5).n, 3);
  assert_int_equal(utf8_cut(STR("abcdef"), 4).n, 4);
  assert_int_equal(utf8_cut(STR("a天b"), 2).n, 1);
  assert_int_equal(utf8_cut(STR("a天b"), 3).n, 1);
  assert_int_equal(utf8_cut(STR("a天b"), 4).n, 4);
}

static void forms_of_a_word_have_one_stem(void **state) {
  struct stemmer *s = stemmer_new();
  char first[64];
  str stem = stemmer_stem(s, STR("searching"));
  memcpy(first, stem.p, stem.n);
  str kept = {first, stem.n};
  assert_true(str_eq(kept, stemmer_stem(s, STR("searches"))));
  assert_true(str_eq(kept, stemmer_stem(s, STR("search"))));
  assert_true(str_eq(stemmer_stem(s, STR("搜索")), STR("搜索")));
  assert_true(str_eq(stemmer_stem(s, STR("256")), STR("256")));
  stemmer_free(&s);
  assert_null(s);
}

static void words_that_say_nothing_are_known(void **state) {
  assert_int_equal(word_class(STR("the")), WORD_FUNCTION);
  assert_int_equal(word_class(STR("a")), WORD_FUNCTION);
  assert_int_equal(word_class(STR("yourselves")), WORD_FUNCTION);
  assert_int_equal(word_class(STR("please")), WORD_REQUEST);
  assert_int_equal(word_class(STR("weather")), WORD_PLAIN);
  assert_int_equal(word_class(STR("")), WORD_PLAIN);
}

static void verbs_are_of_a_kind(void **state) {
  assert_int_equal(verb_kinds(STR("add")), VERB_CREATE);
  assert_int_equal(verb_kinds(STR("delet")), VERB_DELETE);
  assert_int_equal(verb_kinds(STR("put")), VERB_CREATE | VERB_CHANGE);
  assert_int_equal(verb_kinds(STR("write")), VERB_CREATE);
  assert_int_equal(verb_kinds(STR("weather")), 0);
}

static void common_words_are_known_to_be_common(void **state) {
  assert_true(background_share(STR("id")) > 0.05);
  assert_true(background_share(STR("list")) > 0.05);
  assert_true(background_share(STR("specif")) > 0.02);
  assert_true(background_share(STR("harbour")) < 0.001);
}

// The stems that the thesaurus has for a stem, with blanks between them.
static void check_thesaurus(enum thesaurus_relation relation, const char *stem, size_t max, const char *want) {
  str found[16];
  size_t n = thesaurus_find(relation, str_of(stem), found, max);
  struct buf got;
  buf_init(&got, 1024);
  for (size_t i = 0; i < n; i++) buf_printf(&got, "%s%.*s", i ? " " : "", STR_ARG(found[i]));
  buf_char(&got, 0);
  assert_string_equal(got.p, want);
  buf_done(&got);
}

static void the_thesaurus_has_groups_hints_and_short_forms(void **state) {
  check_thesaurus(THESAURUS_MEANS, "municip", 16, "citi town");
  check_thesaurus(THESAURUS_MEANS, "citi", 1, "town");
  check_thesaurus(THESAURUS_MEANS, "rupe", 16, "currenc exchang");
  check_thesaurus(THESAURUS_SHORT_FOR, "pr", 16, "pull request");
  check_thesaurus(THESAURUS_SHORT_FOR, "citi", 16, "");
  check_thesaurus(THESAURUS_MEANS, "municipality", 16, "");
  check_thesaurus(THESAURUS_MEANS, "", 16, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_split_where_people_see_words),
      cmocka_unit_test(what_follows_an_apostrophe_is_grammar),
      cmocka_unit_test(letters_are_folded),
      cmocka_unit_test(scripts_without_blanks_give_pairs_of_characters),
      cmocka_unit_test(invalid_bytes_separate_words),
      cmocka_unit_test(a_text_gives_no_more_words_than_asked_for),
      cmocka_unit_test(an_endless_word_is_cut),
      cmocka_unit_test(a_text_is_cut_between_characters),
      cmocka_unit_test(forms_of_a_word_have_one_stem),
      cmocka_unit_test(words_that_say_nothing_are_known),
      cmocka_unit_test(verbs_are_of_a_kind),
      cmocka_unit_test(common_words_are_known_to_be_common),
      cmocka_unit_test(the_thesaurus_has_groups_hints_and_short_forms),
  };
  return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}

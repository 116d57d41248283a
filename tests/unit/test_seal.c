// SPDX-License-Identifier: Apache-2.0
// base/base64 and base/seal: text that can be carried but not read, changed or used elsewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/crypto/seal.h"
#include "base/text/base64.h"

// ---- base64

static void assert_str(str have, str want) {
  if (!str_eq(have, want)) fail_msg("'%.*s' instead of '%.*s'", STR_ARG(have), STR_ARG(want));
}

static void assert_decodes(const char *text, enum base64_form form, str want) {
  struct buf b;
  buf_init(&b, 100);
  buf_str(&b, STR("before"));
  assert_true(base64_decode(str_of(text), form, &b));
  assert_str(str_from(buf_view(&b), 6), want);
  buf_done(&b);
}

static void base64_is_that_of_rfc_4648(void **state) {
  static const struct {
    str bytes;
    const char *standard, *url;
  } table[] = {
      {STR(""), "", ""},
      {STR("f"), "Zg==", "Zg"},
      {STR("fo"), "Zm8=", "Zm8"},
      {STR("foo"), "Zm9v", "Zm9v"},
      {STR("foob"), "Zm9vYg==", "Zm9vYg"},
      {STR("fooba"), "Zm9vYmE=", "Zm9vYmE"},
      {STR("foobar"), "Zm9vYmFy", "Zm9vYmFy"},
      {STR("\xfb\xff\xbf"), "+/+/", "-_-_"},
      {STR("\0\0\0\0"), "AAAAAA==", "AAAAAA"},
      {STR("\xff\xff"), "//8=", "__8"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct buf b;
    buf_init(&b, 100);
    base64_encode(table[i].bytes, BASE64_STANDARD, &b);
    assert_str(buf_view(&b), str_of(table[i].standard));
    buf_reset(&b);
    base64_encode(table[i].bytes, BASE64_URL, &b);
    assert_str(buf_view(&b), str_of(table[i].url));
    buf_done(&b);
    assert_decodes(table[i].standard, BASE64_STANDARD, table[i].bytes);
    assert_decodes(table[i].url, BASE64_URL, table[i].bytes);
  }
}

static void assert_refused(str text, enum base64_form form) {
  struct buf b;
  buf_init(&b, 100);
  buf_str(&b, STR("before"));
  if (base64_decode(text, form, &b)) fail_msg("'%.*s' was taken", STR_ARG(text));
  assert_str(buf_view(&b), STR("before"));
  assert_false(b.over);
  buf_done(&b);
}

static void only_the_one_text_of_some_bytes_is_decoded(void **state) {
  static const char *const not_standard[] = {
      "Zg",   "Zg=",  "Zg===", "Zm8",        "=",     "==",    "====",  "Z===",     "Z",       "Zm9vY",    "Zh==",
      "Zm9=", "Zn==", "Zm-_",  "-_-_",       "Zm9v ", " Zm9v", "Zm9\n", "Zm9v\r\n", "Zm9vYg=", "Zg==Zg==", "Zg==Zm9v",
      "=m9v", "Zm=v", "Zm9v=", "Zm\xc3\xa9", "Zm9*",  "Zm9.",  "Zm9@",  "Zm9[",     "Zm9`",    "Zm9{",     "Zm9:"};
  static const char *const not_url[] = {"Zg==", "Zm8=",  "Z",      "Zm9vY", "Zh",   "Zm9",   "Zm+/",   "+/+/",    "=",
                                        "Zg=",  "Zm9v ", "Zm9v\n", "Zm 9v", "Zm9.", "Z\x80", "Zm\xff", "Zm9vYmF="};
  for (size_t i = 0; i < sizeof not_standard / sizeof *not_standard; i++)
    assert_refused(str_of(not_standard[i]), BASE64_STANDARD);
  for (size_t i = 0; i < sizeof not_url / sizeof *not_url; i++) assert_refused(str_of(not_url[i]), BASE64_URL);
  assert_refused(STR("Zm\0v"), BASE64_URL);
}

// Every text of up to three characters of an alphabet either is what its bytes encode to, or is refused.
static void no_two_texts_mean_the_same_bytes(void **state) {
  static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=";
  const unsigned base = sizeof all - 1;
  struct buf bytes, again;
  buf_init(&bytes, 10);
  buf_init(&again, 10);
  size_t taken = 0;
  for (unsigned k = 0; k < base * base * base; k++) {
    char text[4] = {all[k / base / base], all[k / base % base], all[k % base], 'A'};
    for (size_t n = 2; n <= 4; n++) {
      enum base64_form form = n == 4 ? BASE64_STANDARD : BASE64_URL;
      buf_reset(&bytes);
      buf_reset(&again);
      if (!base64_decode((str){text, n}, form, &bytes)) continue;
      taken++;
      base64_encode(buf_view(&bytes), form, &again);
      assert_str(buf_view(&again), (str){text, n});
    }
  }
  // One byte in two digits (seen once with each third character), two bytes in three, three bytes that end in A.
  assert_int_equal(taken, 256 * base + 65536 + 64 * 64 * 64);
  buf_done(&bytes);
  buf_done(&again);
}

static void base64_agrees_with_another_and_is_its_own_inverse(void **state) {
  unsigned char bytes[600];
  char want[4 * 200 + 5];
  struct buf text, back;
  buf_init(&text, 1000);
  buf_init(&back, 1000);
  for (size_t n = 0; n <= sizeof bytes; n++) {
    rand_fill(&rand_system, bytes, n);
    str in = {(const char *)bytes, n};
    EVP_EncodeBlock((unsigned char *)want, bytes, (int)n);
    buf_reset(&text);
    base64_encode(in, BASE64_STANDARD, &text);
    assert_str(buf_view(&text), str_of(want));
    buf_reset(&back);
    assert_true(base64_decode(buf_view(&text), BASE64_STANDARD, &back));
    assert_true(str_eq(buf_view(&back), in));
    buf_reset(&text);
    base64_encode(in, BASE64_URL, &text);
    buf_reset(&back);
    assert_true(base64_decode(buf_view(&text), BASE64_URL, &back));
    assert_true(str_eq(buf_view(&back), in));
  }
  buf_done(&text);
  buf_done(&back);
}

static void base64_stays_within_its_buffer(void **state) {
  struct buf b;
  for (size_t max = 0; max < 8; max++) {
    buf_init(&b, max);
    base64_encode(STR("foob"), BASE64_URL, &b);  // exactly six
    assert_int_equal(b.n, max < 6 ? 0 : 6);
    assert_int_equal(b.over, max < 6);
    buf_done(&b);
    buf_init(&b, max);
    assert_int_equal(base64_decode(STR("Zm9vYg"), BASE64_URL, &b), max >= 4);  // exactly four
    assert_int_equal(b.over, max < 4);
    buf_done(&b);
  }
}

// ---- seal

struct fixture {
  struct seal seal;
  struct buf text;
  struct arena arena;
};

static void setup(struct fixture *x) {
  seal_init(&x->seal, &rand_system);
  buf_init(&x->text, 1 << 20);
  arena_init(&x->arena);
}

static void done(struct fixture *x) {
  buf_done(&x->text);
  arena_done(&x->arena);
}

static bool opens(struct fixture *x, str text, str bound) {
  str plain = STR("untouched");
  bool opened = seal_open(&x->seal, text, bound, &x->arena, &plain);
  if (!opened) assert_str(plain, STR("untouched"));
  // Sockets with TLS on the same thread would take a forgotten error for their own.
  assert_int_equal(ERR_peek_error(), 0);
  return opened;
}

static void what_was_closed_opens_again_whatever_its_size(void **state) {
  struct fixture x;
  setup(&x);
  unsigned char bytes[5000];
  rand_fill(&rand_system, bytes, sizeof bytes);
  for (size_t n = 0; n <= sizeof bytes; n++) {
    str plain = {(const char *)bytes, n}, bound = {(const char *)bytes + n, (sizeof bytes - n) % 100}, back;
    buf_reset(&x.text);
    buf_str(&x.text, STR("before"));
    seal_close(&x.seal, plain, bound, &x.text);
    str text = str_from(buf_view(&x.text), 6);
    assert_int_equal(text.n, ((n + 28) * 8 + 5) / 6);
    assert_true(seal_open(&x.seal, text, bound, &x.arena, &back));
    assert_true(str_eq(back, plain));
    arena_reset(&x.arena);
  }
  done(&x);
}

static void a_sealed_text_can_stand_in_json_and_urls(void **state) {
  struct fixture x;
  setup(&x);
  for (int i = 0; i < 200; i++) seal_close(&x.seal, STR("some plain text"), STR("bound"), &x.text);
  const char *allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  assert_int_equal(strspn(arena_cstr(&x.arena, buf_view(&x.text)), allowed), x.text.n);
  assert_null(memmem(x.text.p, x.text.n, "some plain", 10));
  done(&x);
}

static void a_changed_bit_is_found_wherever_it_is(void **state) {
  struct fixture x;
  setup(&x);
  seal_close(&x.seal, STR("a secret of some length"), STR("bound"), &x.text);
  assert_true(opens(&x, buf_view(&x.text), STR("bound")));
  for (size_t i = 0; i < x.text.n * 8; i++) {
    x.text.p[i / 8] ^= (char)(1 << i % 8);
    assert_false(opens(&x, buf_view(&x.text), STR("bound")));
    x.text.p[i / 8] ^= (char)(1 << i % 8);
  }
  assert_true(opens(&x, buf_view(&x.text), STR("bound")));
  done(&x);
}

// Bits of the bytes, not of the text: here base64 has nothing to object.
static void a_changed_byte_behind_sound_base64_is_found_too(void **state) {
  struct fixture x;
  setup(&x);
  struct buf bytes, text;
  buf_init(&bytes, 1000);
  buf_init(&text, 1000);
  for (size_t size = 0; size < 4; size++) {
    buf_reset(&x.text);
    buf_reset(&bytes);
    seal_close(&x.seal, (str){"abc", size}, STR(""), &x.text);
    assert_true(base64_decode(buf_view(&x.text), BASE64_URL, &bytes));
    for (size_t i = 0; i < bytes.n * 8; i++) {
      bytes.p[i / 8] ^= (char)(1 << i % 8);
      buf_reset(&text);
      base64_encode(buf_view(&bytes), BASE64_URL, &text);
      assert_false(opens(&x, buf_view(&text), STR("")));
      bytes.p[i / 8] ^= (char)(1 << i % 8);
    }
  }
  buf_done(&bytes);
  buf_done(&text);
  done(&x);
}

static void a_text_that_was_cut_or_lengthened_does_not_open(void **state) {
  struct fixture x;
  setup(&x);
  seal_close(&x.seal, STR("a secret of some length"), STR("bound"), &x.text);
  str whole = buf_view(&x.text);
  for (size_t n = 0; n < whole.n; n++) {
    assert_false(opens(&x, (str){whole.p, n}, STR("bound")));
    assert_false(opens(&x, str_from(whole, whole.n - n), STR("bound")));
  }
  for (int more = 1; more < 10; more++) {
    buf_char(&x.text, 'A');
    assert_false(opens(&x, buf_view(&x.text), STR("bound")));
  }
  done(&x);
}

static void a_text_opens_only_with_what_it_was_bound_to(void **state) {
  static const str bounds[] = {STR(""), STR("a"), STR("b"), STR("ab"), STR("a\0"), STR("\0a"), STR("abc")};
  const size_t count = sizeof bounds / sizeof *bounds;
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < count; i++) {
    buf_reset(&x.text);
    seal_close(&x.seal, STR("a"), bounds[i], &x.text);
    for (size_t k = 0; k < count; k++) assert_int_equal(opens(&x, buf_view(&x.text), bounds[k]), i == k);
  }
  done(&x);
}

static void another_seal_does_not_open_it(void **state) {
  struct fixture x, other;
  setup(&x);
  setup(&other);
  seal_close(&x.seal, STR("plain"), STR("bound"), &x.text);
  assert_false(opens(&other, buf_view(&x.text), STR("bound")));
  for (size_t i = 0; i < sizeof other.seal.key * 8; i++) {  // not even one that differs in a single bit
    other.seal = x.seal;
    other.seal.key[i / 8] ^= (unsigned char)(1 << i % 8);
    assert_false(opens(&other, buf_view(&x.text), STR("bound")));
  }
  other.seal = x.seal;
  assert_true(opens(&other, buf_view(&x.text), STR("bound")));
  done(&x);
  done(&other);
}

static void garbage_does_not_open(void **state) {
  static const char *const table[] = {"", "A", "AA", "=", "null", "hello there", "\xff\xfe", "{\"a\":1}", "AAAA\n"};
  struct fixture x;
  setup(&x);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_false(opens(&x, str_of(table[i]), STR("")));
  assert_false(opens(&x, STR_NONE, STR_NONE));
  unsigned char bytes[100];
  for (int i = 0; i < 2000; i++) {
    rand_fill(&rand_system, bytes, sizeof bytes);
    assert_false(opens(&x, (str){(const char *)bytes, (size_t)i % sizeof bytes}, STR("")));
    buf_reset(&x.text);
    base64_encode((str){(const char *)bytes, (size_t)i % sizeof bytes}, BASE64_URL, &x.text);
    assert_false(opens(&x, buf_view(&x.text), STR("")));
  }
  done(&x);
}

static void two_closings_of_the_same_differ(void **state) {
  struct fixture x;
  setup(&x);
  seal_close(&x.seal, STR("plain"), STR("bound"), &x.text);
  size_t n = x.text.n;
  seal_close(&x.seal, STR("plain"), STR("bound"), &x.text);
  str first = {x.text.p, n}, second = str_from(buf_view(&x.text), n);
  assert_int_equal(second.n, n);
  assert_false(str_eq(first, second));
  assert_true(opens(&x, first, STR("bound")));
  assert_true(opens(&x, second, STR("bound")));
  done(&x);
}

static void fill_with_counting(void *ctx, void *out, size_t n) {
  unsigned char *next = ctx, *p = out;
  while (n--) *p++ = (*next)++;
}

// The known answer was computed with another program: key 00..1f, nonce 20..2b.
static void key_and_nonce_come_from_the_injected_source_and_the_cipher_is_aes_256_gcm(void **state) {
  unsigned char next = 0;
  struct rand_source counting = {fill_with_counting, &next};
  struct fixture x;
  setup(&x);
  seal_init(&x.seal, &counting);
  seal_close(&x.seal, STR("attack at dawn"), STR("general"), &x.text);
  assert_str(buf_view(&x.text), STR("ICEiIyQlJicoKSors07SEQ_zOm9uXCavtnbbq_QOXKCiHZXW3QnC9X5H"));
  done(&x);
}

static void a_text_beyond_the_maximum_of_its_buffer_is_not_written(void **state) {
  struct fixture x;
  setup(&x);
  struct buf small;
  buf_init(&small, 40);
  seal_close(&x.seal, STR("plain"), STR("bound"), &small);
  assert_true(small.over);
  assert_int_equal(small.n, 0);
  buf_done(&small);
  done(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(base64_is_that_of_rfc_4648),
      cmocka_unit_test(only_the_one_text_of_some_bytes_is_decoded),
      cmocka_unit_test(no_two_texts_mean_the_same_bytes),
      cmocka_unit_test(base64_agrees_with_another_and_is_its_own_inverse),
      cmocka_unit_test(base64_stays_within_its_buffer),
      cmocka_unit_test(what_was_closed_opens_again_whatever_its_size),
      cmocka_unit_test(a_sealed_text_can_stand_in_json_and_urls),
      cmocka_unit_test(a_changed_bit_is_found_wherever_it_is),
      cmocka_unit_test(a_changed_byte_behind_sound_base64_is_found_too),
      cmocka_unit_test(a_text_that_was_cut_or_lengthened_does_not_open),
      cmocka_unit_test(a_text_opens_only_with_what_it_was_bound_to),
      cmocka_unit_test(another_seal_does_not_open_it),
      cmocka_unit_test(garbage_does_not_open),
      cmocka_unit_test(two_closings_of_the_same_differ),
      cmocka_unit_test(key_and_nonce_come_from_the_injected_source_and_the_cipher_is_aes_256_gcm),
      cmocka_unit_test(a_text_beyond_the_maximum_of_its_buffer_is_not_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

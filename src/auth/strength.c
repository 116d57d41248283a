// SPDX-License-Identifier: Apache-2.0
#include "auth/strength.h"

#include "base/ascii.h"

// Returns the length of the placeholder word at the start of s, or 0 if s starts with no such word.
static size_t placeholder_word(str s) {
  static const str words[] = {STR("changeme"), STR("change"),   STR("secret"),  STR("password"), STR("passwd"),
                              STR("token"),    STR("admin"),    STR("default"), STR("example"),  STR("toolgate"),
                              STR("gateway"),  STR("bearer"),   STR("letmein"), STR("welcome"),  STR("replace"),
                              STR("dummy"),    STR("test"),     STR("demo"),    STR("sample"),   STR("placeholder"),
                              STR("your"),     STR("insecure"), STR("apikey"),  STR("api-key"),  STR("api_key")};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (s.n >= words[i].n && str_eq_nocase((str){s.p, words[i].n}, words[i])) return words[i].n;
  return 0;
}

// Returns whether two characters are equal, or neighbours in the alphabet, among the digits, or on a keyboard.
static bool are_neighbours(char a, char b) {
  static const char rows[] = "qwertyuiop asdfghjkl zxcvbnm 1234567890";
  if (a == b || a + 1 == b || b + 1 == a) return true;
  const char *at = a > ' ' ? strchr(rows, a) : NULL;
  return at && b > ' ' && (at[1] == b || (at > rows && at[-1] == b));
}

// Returns whether the pair of the characters at offsets `at` - 1 and `at` also occurs earlier in the text.
static bool had_pair(str s, size_t at) {
  for (size_t i = 1; i < at; i++)
    if (ascii_lower(s.p[i - 1]) == ascii_lower(s.p[at - 1]) && ascii_lower(s.p[i]) == ascii_lower(s.p[at])) return true;
  return false;
}

bool strength_is_weak(str secret) {
  size_t counted = 0;
  for (size_t i = 0; i < secret.n && counted < STRENGTH_LEAST; i++) {
    size_t word = placeholder_word(str_from(secret, i));
    bool predictable =
        i && (are_neighbours(ascii_lower(secret.p[i - 1]), ascii_lower(secret.p[i])) || had_pair(secret, i));
    counted += !predictable;
    if (word) i += word - 1;
  }
  return counted < STRENGTH_LEAST;
}

// SPDX-License-Identifier: Apache-2.0
// io/http: URLs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/http/http.h"

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

// A block of exactly that size, so that reading past its end is found.
static char *exact_copy(str s) {
  char *p = malloc(s.n ? s.n : 1);
  assert_non_null(p);
  if (s.n) memcpy(p, s.p, s.n);
  return p;
}

static void a_url_is_taken_apart(void **state) {
  static const struct {
    const char *url, *host, *authority, *target;
    uint16_t port;
    bool tls;
  } cases[] = {
      {"http://example.org", "example.org", "example.org", "/", 80, false},
      {"https://example.org/", "example.org", "example.org", "/", 443, true},
      {"HTTPS://Example.org:8443/mcp?a=b/c?d", "Example.org", "Example.org:8443", "/mcp?a=b/c?d", 8443, true},
      {"http://127.0.0.1:1/x", "127.0.0.1", "127.0.0.1:1", "/x", 1, false},
      {"http://[::1]", "::1", "[::1]", "/", 80, false},
      {"http://[fe80::1:2]:65535/a:b@c", "fe80::1:2", "[fe80::1:2]:65535", "/a:b@c", 65535, false},
      {"http://[::ffff:1.2.3.4]:00080/", "::ffff:1.2.3.4", "[::ffff:1.2.3.4]:00080", "/", 80, false},
      {"http://a_b-c.d//x", "a_b-c.d", "a_b-c.d", "//x", 80, false},
      {"http://azAZ09/!~", "azAZ09", "azAZ09", "/!~", 80, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct http_url u;
    char *copy = exact_copy(str_of(cases[i].url));
    if (!http_url_parse((str){copy, strlen(cases[i].url)}, &u)) fail_msg("%s was refused", cases[i].url);
    assert_str(u.host, cases[i].host);
    assert_str(u.authority, cases[i].authority);
    assert_str(u.target, cases[i].target);
    assert_int_equal(u.port, cases[i].port);
    assert_int_equal(u.tls, cases[i].tls);
    free(copy);
  }
}

static const str bad_urls[] = {
    STR(""),
    STR("http"),
    STR("http:"),
    STR("http:/"),
    STR("http://"),
    STR("http:///x"),
    STR("https://:80/"),
    STR("example.org"),
    STR("//example.org/"),
    STR("/mcp"),
    STR("ftp://example.org/"),
    STR("ws://example.org/"),
    STR("httpx://example.org/"),
    STR("http:example.org"),
    STR("http:\\\\example.org"),
    STR(" http://example.org"),
    STR("http://example.org "),
    STR("http://user@example.org/"),
    STR("http://user:secret@example.org/"),
    STR("http://@example.org/"),
    STR("http://example.org:"),
    STR("http://example.org:/"),
    STR("http://example.org:0/"),
    STR("http://example.org:65536/"),
    STR("http://example.org:000080/"),
    STR("http://example.org:+80/"),
    STR("http://example.org: 80/"),
    STR("http://example.org:80:80/"),
    STR("http://example.org:http/"),
    STR("http://exa mple.org/"),
    STR("http://exa\tmple.org/"),
    STR("http://exa%41mple.org/"),
    STR("http://ex\xc3\xa4mple.org/"),
    STR("http://example.org\\@evil.example/"),
    STR("http://example.org?q"),
    STR("http://example.org#f"),
    STR("http://example.org/#f"),
    STR("http://example.org/a b"),
    STR("http://example.org/\r\nX: 1"),
    STR("http://example.org/\0"),
    STR("http://example.org/\x7f"),
    STR("http://example.org/\xc3\xa4"),
    STR("http://::1/"),
    STR("http://[]/"),
    STR("http://[::1"),
    STR("http://[::1/"),
    STR("http://[::1]80/"),
    STR("http://[::1]]/"),
    STR("http://[::1]:/"),
    STR("http://[::1%25eth0]/"),
    STR("http://[::g]/"),
    STR("http://[1.2.3.4]/"),
    STR("http://[::1\0]/"),
    STR("http://[example.org]/"),
    STR("http://[0000:0000:0000:0000:0000:ffff:255.255.255.2555]/"),
    STR("http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/"),
};

static void a_url_in_doubt_is_refused_and_leaves_no_trace(void **state) {
  for (size_t i = 0; i < sizeof bad_urls / sizeof *bad_urls; i++) {
    struct http_url u = {.port = 7};
    char *copy = exact_copy(bad_urls[i]);
    if (http_url_parse((str){copy, bad_urls[i].n}, &u)) fail_msg("%.*s was taken", STR_ARG(bad_urls[i]));
    free(copy);
    assert_int_equal(u.port, 7);
    assert_null(u.host.p);
  }
  struct http_url u;
  assert_false(http_url_parse(STR_NONE, &u));
}

static void a_host_is_printed_in_brackets_if_it_is_an_ipv6_address(void **state) {
  static const char *const cases[][2] = {
      {"127.0.0.1", "127.0.0.1"}, {"::1", "[::1]"}, {"[::1]", "[::1]"}, {"example.org", "example.org"}, {"", ""}};
  char text[HTTP_HOST_TEXT], name[2 * HTTP_HOST_TEXT];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(http_host_print(str_of(cases[i][0]), text), cases[i][1]);
  assert_string_equal(http_host_print(STR_NONE, text), "");
  memset(name, ':', sizeof name);
  assert_int_equal(strlen(http_host_print((str){name, sizeof name}, text)), HTTP_HOST_TEXT - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_url_is_taken_apart),
      cmocka_unit_test(a_url_in_doubt_is_refused_and_leaves_no_trace),
      cmocka_unit_test(a_host_is_printed_in_brackets_if_it_is_an_ipv6_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

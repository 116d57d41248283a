// SPDX-License-Identifier: Apache-2.0
// io/proxy: which proxy the environment names for a URL, and what NO_PROXY exempts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/http/proxy.h"

static int setup(void **state) {
  static struct arena a;
  arena_init(&a);
  *state = &a;
  return 0;
}

static int teardown(void **state) {
  arena_done(*state);
  return 0;
}

static void a_host_is_exempt_by_name_address_network_or_port(void **state) {
  static const struct {
    const char *list, *host;
    uint16_t port;
    bool exempt;
  } table[] = {
      {"", "a.example", 80, false},
      {"*", "a.example", 80, true},
      {"example.com", "example.com", 80, true},
      {"example.com", "www.EXAMPLE.com", 80, true},
      {".example.com", "www.example.com", 80, true},
      {".example.com", "example.com", 80, true},
      {"*.example.com", "a.b.example.com", 80, true},
      {"example.com.", "www.example.com.", 80, true},
      {"example.com", "notexample.com", 80, false},
      {"www.example.com", "example.com", 80, false},
      {"a.test, b.test\tc.test", "b.test", 80, true},
      {"a.test,b.test", "c.test", 80, false},
      {"example.com:8080", "example.com", 8080, true},
      {"example.com:8080", "example.com", 80, false},
      {"example.com:x", "example.com", 80, false},
      {"192.168.1.7", "192.168.1.7", 80, true},
      {"192.168.1.7:81", "192.168.1.7", 80, false},
      {"1.7", "192.168.1.7", 80, false},
      {"192.168.0.0/16", "192.168.200.1", 80, true},
      {"192.168.0.0/16", "192.169.0.1", 80, false},
      {"10.0.0.0/9", "10.127.0.1", 80, true},
      {"10.0.0.0/9", "10.128.0.1", 80, false},
      {"0.0.0.0/0", "8.8.8.8", 80, true},
      {"10.0.0.0/33", "10.0.0.0", 80, false},
      {"10.0.0.0/", "10.0.0.0", 80, false},
      {"10.0.0.0/8", "ten.example", 80, false},
      {"fd00::/8", "fd12::1", 80, true},
      {"fd00::/8", "fe12::1", 80, false},
      {"2001:db8::1", "2001:db8:0:0::1", 80, true},
      {"[2001:db8::1]:443", "2001:db8::1", 443, true},
      {"[2001:db8::1]:443", "2001:db8::1", 80, false},
      {"[2001:db8::1", "2001:db8::1", 80, false},
      {",, ,", "a", 80, false},
      {".", "a", 80, false},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (proxy_exempts(str_of(table[i].list), str_of(table[i].host), table[i].port) != table[i].exempt)
      fail_msg("%s for %s", table[i].list, table[i].host);
}

// The host of the proxy for a URL, "direct", or "wrong".
static const char *chosen(struct arena *a, const char *const *env, const char *text, const struct proxy **out) {
  struct proxies *p = ARENA_ARRAY(a, struct proxies, 1);
  struct http_url url;
  struct fault f;
  proxies_read(p, (char *const *)(uintptr_t)env, a);
  assert_true(http_url_parse(str_of(text), &url));
  if (!proxies_choose(p, &url, out, &f)) {
    assert_null(strstr(f.message, "secret"));
    return "wrong";
  }
  return *out ? (*out)->host : "direct";
}

static void the_environment_names_a_proxy_for_each_scheme(void **state) {
  static const struct {
    const char *env[4];
    const char *url, *host;
  } table[] = {
      {{"PATH=/"}, "http://a.test/", "direct"},
      {{"HTTP_PROXY=http://p:1"}, "http://a.test/", "p"},
      {{"HTTP_PROXY=http://p:1"}, "https://a.test/", "direct"},
      {{"HTTPS_PROXY=http://p:1"}, "https://a.test/", "p"},
      {{"HTTPS_PROXY=http://p:1", "https_proxy=q"}, "https://a.test/", "q"},
      {{"ALL_PROXY=p:1"}, "https://a.test/", "p"},
      {{"ALL_PROXY=p:1", "https_proxy="}, "https://a.test/", "direct"},
      {{"all_proxy=http://p:1", "NO_PROXY=a.test"}, "http://a.test/", "direct"},
      {{"all_proxy=http://p:1", "NO_PROXY=a.test", "no_proxy=b.test"}, "http://a.test/", "p"},
      {{"all_proxy=http://p:1"}, "http://localhost:3000/", "direct"},
      {{"all_proxy=http://p:1"}, "http://x.localhost/", "direct"},
      {{"all_proxy=http://p:1"}, "http://127.1.2.3/", "direct"},
      {{"all_proxy=http://p:1"}, "http://localhost./", "direct"},
      {{"all_proxy=http://p:1"}, "http://[::ffff:127.0.0.1]/", "direct"},
      {{"all_proxy=http://p:1"}, "https://[::1]:9/", "direct"},
      {{"all_proxy=http://p:1"}, "http://127.1/", "direct"},
      {{"all_proxy=http://p:1"}, "http://2130706433/", "direct"},
      {{"all_proxy=http://p:1"}, "http://0x7f.0.0.1/", "direct"},
      {{"all_proxy=http://p:1"}, "http://0177.0.0.1./", "direct"},
      {{"all_proxy=http://p:1"}, "http://0.0.0.0/", "direct"},
      {{"all_proxy=http://p:1"}, "http://[::]/", "direct"},
      {{"all_proxy=http://p:1"}, "http://128.1/", "p"},
      {{"all_proxy=http://p:1", "NO_PROXY=10.0.0.0/8"}, "http://10.1/", "direct"},
      {{"all_proxy=http://[fd00::1]:3128/"}, "http://a.test/", "fd00::1"},
      {{"all_proxy=socks5://p:1"}, "http://a.test/", "wrong"},
      {{"all_proxy=socks5://p:1"}, "http://localhost/", "direct"},
      {{"all_proxy=https://p:1"}, "http://a.test/", "wrong"},
      {{"all_proxy=http://user:secret@p:x"}, "http://a.test/", "wrong"},
      {{"all_proxy=http://user:secret%zz@p"}, "http://a.test/", "wrong"},
      {{"all_proxy=http://user:secret%0d%0aX@p"}, "http://a.test/", "wrong"},
      {{"all_proxy=http://"}, "http://a.test/", "wrong"},
  };
  const struct proxy *p;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const char *host = chosen(*state, table[i].env, table[i].url, &p);
    if (strcmp(host, table[i].host) != 0) fail_msg("%s for %s: %s", table[i].env[0], table[i].url, host);
  }
}

static void user_and_password_become_a_header(void **state) {
  const struct proxy *p;
  chosen(*state, (const char *const[]){"HTTP_PROXY=HTTP://joe:a%40b@proxy.test:3128/", NULL}, "http://a.test/", &p);
  assert_int_equal(p->port, 3128);
  assert_true(str_eq(p->authorization, STR("Basic am9lOmFAYg==")));
  chosen(*state, (const char *const[]){"HTTP_PROXY=joe@proxy.test", NULL}, "http://a.test/", &p);
  assert_int_equal(p->port, 80);
  assert_true(str_eq(p->authorization, STR("Basic am9lOg==")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_host_is_exempt_by_name_address_network_or_port),
      TEST(the_environment_names_a_proxy_for_each_scheme),
      TEST(user_and_password_become_a_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

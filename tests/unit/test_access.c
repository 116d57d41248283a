// SPDX-License-Identifier: Apache-2.0
// mcp/access: who may talk to the endpoint, by Host and Origin.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/auth/access.h"

static const str served[] = {STR("mcp.example.com"), STR("10.1.2.3"), STR("[fd00::1]")};
static const struct access usual = {.allowed = served, .allowed_count = 3};

// A request as it would come in; NULL leaves a header out. False when the codec refuses it already.
static bool read_head(const char *lines, char *text, size_t size, struct http_head *out) {
  struct http_error err;
  size_t seen = 0;
  int n = snprintf(text, size, "POST /mcp HTTP/1.1\r\n%s\r\n", lines);
  return http_parse_request(text, (size_t)n, &(struct http_limits){16384, 1000}, &seen, out, &err) == n;
}

static int check(const struct access *a, const char *host, const char *origin) {
  char lines[512], text[1024];
  struct http_head head;
  snprintf(lines, sizeof lines, "Host: %s\r\n%s%s%s", host, origin ? "Origin: " : "", origin ? origin : "",
           origin ? "\r\n" : "");
  return read_head(lines, text, sizeof text, &head) ? access_check(a, &head) : 400;
}

static void only_this_machine_and_configured_hosts_are_accepted(void **state) {
  static const struct {
    const char *host;
    int status;
  } table[] = {
      {"localhost", 0},
      {"localhost:8811", 0},
      {"LocalHost:1", 0},
      {"127.0.0.1", 0},
      {"127.0.0.1:65535", 0},
      {"[::1]", 0},
      {"[::1]:8811", 0},
      {"mcp.example.com", 0},
      {"MCP.Example.COM:443", 0},
      {"10.1.2.3:8811", 0},
      {"[fd00::1]:8811", 0},
      {"evil.example.com", 421},
      {"mcp.example.com.evil.example", 421},
      {"localhost.evil.example", 421},
      {"localhost.", 421},
      {"127.0.0.1.evil.example", 421},
      {"127.0.0.2", 421},
      {"127.1", 421},
      {"2130706433", 421},
      {"0.0.0.0", 421},
      {"[::]", 421},
      {"[fd00::2]", 421},
      {"example.com", 421},
      {"10.1.2.33", 421},
      {"10.1.2", 421},
      // These the codec may refuse first.
      {"::1", 421},
      {"[::1", 421},
      {"[::1].evil.example", 421},
      {"[::1]evil", 421},
      {"localhost:evil", 421},
      {"localhost@evil.example", 421},
      {"localhost, evil.example", 421},
      {"localhost:80:80", 421},
      {"localhost:65536", 421},
      {":80", 421},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    int status = check(&usual, table[i].host, NULL);
    if (status == 400) status = 421;
    if (status != table[i].status) fail_msg("Host: %s gives %d", table[i].host, status);
  }
}

static void origins_are_web_pages_of_this_machine_or_configured(void **state) {
  static const struct {
    const char *origin;
    int status;
  } table[] = {
      {"http://localhost", 0},
      {"http://localhost:6274", 0},
      {"https://localhost:6274", 403},  // the listener has no TLS
      {"http://127.0.0.1:3000", 0},
      {"http://[::1]:3000", 0},
      {"https://mcp.example.com", 0},
      {"https://mcp.example.com:8443", 0},
      {"http://[fd00::1]", 0},
      {"null", 403},
      {"", 403},
      {"http://", 403},
      {"http://evil.example.com", 403},
      {"https://mcp.example.com.evil.example", 403},
      {"http://localhost.evil.example", 403},
      {"http://evil.example/localhost", 403},
      {"http://localhost/evil", 403},
      {"http://localhost/", 403},
      {"http://localhost?x", 403},
      {"http://localhost#x", 403},
      {"http://127.0.0.2", 403},
      {"file://localhost", 403},
      {"ftp://localhost", 403},
      {"chrome-extension://localhost", 403},
      {"localhost", 403},
      {"//localhost", 403},
      {"http:localhost", 403},
      {"http://user@localhost", 403},
      {"http://localhost:80@evil.example", 403},
      {"http://localhost:evil", 403},
      {"http://localhost:", 403},
      {"http://[::1", 403},
      {"http://[::1]evil.example", 403},
      {"http://[::1].evil.example:80", 403},
      {"http://[::1]:80.evil.example", 403},
      {"http://localhost http://localhost", 403},
      {"http://localhost, http://evil.example", 403},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    int status = check(&usual, "localhost:8811", table[i].origin);
    if (status != table[i].status) fail_msg("Origin: %s gives %d", table[i].origin, status);
  }
  assert_int_equal(check(&usual, "localhost", "http://localhost\r\nOrigin: http://localhost"), 400);  // two
  assert_int_equal(check(&usual, "evil.example", "http://localhost"), 421);
  assert_int_equal(check(&usual, "evil.example", "http://evil.example"), 421);  // a page that rebinds its name
}

static void ports_are_those_of_the_listener_or_configured(void **state) {
  static const str allowed[] = {STR("any.example"), STR("gate.example:8443"), STR("tls.example:443")};
  const struct access a = {.allowed = allowed, .allowed_count = 3, .bound = STR("[fd00::1]"), .port = 8811};
  static const struct {
    const char *host, *origin;
    int status;
  } table[] = {
      {"localhost:8811", NULL, 0},
      {"localhost", NULL, 0},  // no browser leaves out a port other than that of its scheme
      {"localhost:8812", NULL, 421},
      {"localhost:0", NULL, 421},
      {"localhost:08811", NULL, 0},
      {"[fd00::1]:8811", NULL, 0},
      {"[fd00::1]:80", NULL, 421},
      {"any.example", NULL, 0},
      {"any.example:1", NULL, 0},
      {"gate.example:8443", NULL, 0},
      {"gate.example:8811", NULL, 421},
      {"gate.example", NULL, 421},
      {"tls.example", NULL, 0},
      {"tls.example:443", NULL, 0},
      {"tls.example:444", NULL, 421},
      {"localhost:8811", "http://localhost:8811", 0},
      {"localhost:8811", "http://127.0.0.1:8811", 0},
      {"localhost:8811", "http://localhost:8812", 403},
      {"localhost:8811", "http://localhost", 403},
      {"localhost:8811", "https://localhost:8811", 403},
      {"localhost:8811", "http://any.example:3000", 0},
      {"localhost:8811", "https://gate.example:8443", 0},
      {"localhost:8811", "https://gate.example", 403},
      {"localhost:8811", "https://tls.example", 0},
      {"localhost:8811", "http://tls.example", 403},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    int status = check(&a, table[i].host, table[i].origin);
    if (status != table[i].status) fail_msg("%s, %s gives %d", table[i].host, table[i].origin, status);
  }
}

static void what_a_browser_says_of_another_site_is_refused(void **state) {
  static const struct {
    const char *lines;
    int status;
  } table[] = {
      {"Sec-Fetch-Site: same-origin\r\n", 0},
      {"Sec-Fetch-Site: none\r\n", 0},
      {"Sec-Fetch-Site: cross-site\r\n", 403},
      {"Sec-Fetch-Site: same-site\r\n", 403},
      {"sec-fetch-site: anything\r\n", 403},
      {"Sec-Fetch-Site:\r\n", 403},
      {"Origin: http://localhost:8811\r\nSec-Fetch-Site: cross-site\r\n", 403},
      {"Origin: https://mcp.example.com\r\nSec-Fetch-Site: cross-site\r\n", 0},
      {"Origin: https://evil.example.com\r\nSec-Fetch-Site: same-origin\r\n", 403},
      {"X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n", 0},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char lines[512], text[1024];
    struct http_head head;
    snprintf(lines, sizeof lines, "Host: localhost:8811\r\n%s", table[i].lines);
    assert_true(read_head(lines, text, sizeof text, &head));
    int status = access_check(&usual, &head);
    if (status != table[i].status) fail_msg("%s gives %d", table[i].lines, status);
  }
}

static void without_configured_names_only_this_machine_is_served(void **state) {
  const struct access none = {0};
  assert_int_equal(check(&none, "localhost", "http://127.0.0.1:1"), 0);
  assert_int_equal(check(&none, "mcp.example.com", NULL), 421);
  assert_int_equal(check(&none, "localhost", "https://mcp.example.com"), 403);
  const struct access nameless = {.allowed = (str[]){STR("")}, .allowed_count = 1};
  assert_int_equal(check(&nameless, "localhost", "http://"), 403);
  assert_int_equal(check(&nameless, "localhost", "http://:80"), 403);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_this_machine_and_configured_hosts_are_accepted),
      cmocka_unit_test(origins_are_web_pages_of_this_machine_or_configured),
      cmocka_unit_test(ports_are_those_of_the_listener_or_configured),
      cmocka_unit_test(what_a_browser_says_of_another_site_is_refused),
      cmocka_unit_test(without_configured_names_only_this_machine_is_served),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

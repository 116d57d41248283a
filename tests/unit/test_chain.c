// SPDX-License-Identifier: Apache-2.0
// mcp/chain: gateways that are above each other, and those that are above themselves.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/gateway_chain.h"

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"
#define C "cccccccccccccccc"
#define D "dddddddddddddddd"

// An instance whose id is this byte again and again, and whose mark is the same with the highest bit set.
static void fill(void *ctx, void *out, size_t n) {
  int *byte = ctx;
  memset(out, *byte, n);
  *byte |= 0x80;
}

static bool make(struct chain *c, int byte, const char *variable, const char *files) {
  struct fault f;
  struct rand_source rand = {fill, &byte};
  return chain_init(c, &rand, str_of(variable), str_of(files), &f);
}

static bool admits(const struct chain *c, const char *header) {
  struct fault f;
  return chain_admit(c, str_of(header), &f);
}

static void depth_is_bounded(void **state) {
  struct chain c;
  assert_true(make(&c, 1, NULL, "f"));
  assert_true(make(&c, 1, A "," B "," C, "f"));
  assert_false(make(&c, 1, A "," B "," C "," D, "f"));
  assert_false(make(&c, 1, A "," B "," C "," D "," A, "f"));
  assert_true(make(&c, 1, NULL, "f"));
  assert_true(admits(&c, A "," B "," C));
  assert_false(admits(&c, A "," B "," C "," D));
  assert_true(admits(&c, "~" A ",~" B ",~" C ",~" D "," A));  // clients of the sender are no depth
}

static void nonsense_is_refused(void **state) {
  static const char *const wrong[] = {"x", A "x", A ",", A ",,", A "." B "x", "AAAAAAAAAAAAAAAA", "~", "~" A};
  struct chain c;
  struct fault f;
  str out;
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_true(make(&c, 1, NULL, "f"));
    if (admits(&c, wrong[i])) assert_string_equal(wrong[i], A ",");  // a comma at the end is harmless
  }
  assert_false(make(&c, 1, "x", "f"));
  assert_true(make(&c, 1, "", "f"));
  assert_false(chain_extend(&c, STR("x"), &a, &out, &f));
  arena_done(&a);
}

static void the_same_files_are_recognised(void **state) {
  struct chain a, b, again, other;
  struct arena arena;
  arena_init(&arena);
  assert_true(make(&a, 1, NULL, "/p/.mcp.json\n"));
  assert_true(make(&b, 2, chain_variable(&a, &arena).p + strlen(CHAIN_VARIABLE "="), "/q/.mcp.json\n"));
  const char *below = chain_variable(&b, &arena).p + strlen(CHAIN_VARIABLE "=");
  assert_true(make(&again, 3, below, "/p/.mcp.json\n"));
  assert_true(make(&other, 3, below, "/r/.mcp.json\n"));
  assert_false(chain_repeats(&a));
  assert_false(chain_repeats(&b));
  assert_true(chain_repeats(&again));
  assert_false(chain_repeats(&other));
  arena_done(&arena);
}

static void a_call_does_not_come_back(void **state) {
  struct chain c;
  struct fault f;
  struct arena a;
  str out;
  arena_init(&a);
  assert_true(make(&c, 0x11, A, "f"));
  assert_true(chain_extend(&c, STR(B), &a, &out, &f));
  assert_true(str_eq(out, STR(A "," B ",1111111111111111")));
  assert_true(chain_extend(&c, STR(A "," B), &a, &out, &f));  // what both tell of is once in it
  assert_true(str_eq(out, STR(A "," B ",1111111111111111")));
  assert_false(chain_extend(&c, STR(B ",1111111111111111"), &a, &out, &f));
  assert_false(chain_extend(&c, STR(B "," C "," D), &a, &out, &f));
  assert_false(admits(&c, "1111111111111111"));
  arena_done(&a);
}

static void header_of(const struct chain *c, const struct chain_marks *marks, char *out, size_t size) {
  struct buf b;
  buf_init(&b, 4096);
  chain_put_header(c, marks, 1000, &b);
  str line = buf_view(&b);
  snprintf(out, size, "%.*s", (int)(line.n - strlen(CHAIN_HEADER ": ") - 2), line.p + strlen(CHAIN_HEADER ": "));
  buf_done(&b);
}

// Remembers the marks of a header; returns whether they are new.
static bool notes(const struct chain *c, struct chain_marks *to, const char *header) {
  struct arena a;
  arena_init(&a);
  bool news = chain_note(to, c, chain_marks_in(str_of(header), &a), 1000);
  arena_done(&a);
  return news;
}

// Clients learn ids, for a server may show what _meta says. A client that repeats them must not make a ring for others.
static void an_id_is_no_mark(void **state) {
  struct chain c, next;
  struct chain_marks marks = {0};
  char header[512], forged[512];
  assert_true(make(&c, 0x11, NULL, "f"));
  assert_true(make(&next, 0x22, NULL, "f"));
  snprintf(forged, sizeof forged, "~%s,%s," A, next.self.id, next.self.id);
  assert_true(admits(&c, forged));
  notes(&c, &marks, forged);
  header_of(&c, &marks, header, sizeof header);
  assert_true(admits(&next, header));
  // The id of the sender is not passed on, its mark is.
  header_of(&next, NULL, forged, sizeof forged);
  assert_true(notes(&c, &marks, forged));
  assert_false(notes(&c, &marks, forged));
  header_of(&c, &marks, header, sizeof header);
  assert_false(admits(&next, header));
  assert_null(strstr(header, ","
                             "2222222222222222,"));
}

// Each is a client of the next. Whoever is first, in the end one connection is refused, and not all of them are.
static void of_a_ring_one_connection_gives_way(void **state) {
  static const int orders[][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
    struct chain ring[3];
    struct chain_marks marks[3] = {0};
    char header[512];
    int news = 0;
    bool open[3] = {true, true, true};
    for (int i = 0; i < 3; i++) assert_true(make(&ring[i], orders[o][i], NULL, "f"));
    for (int round = 0; round < 4; round++)
      for (int i = 0; i < 3; i++) {
        int next = (i + 1) % 3;
        header_of(&ring[i], &marks[i], header, sizeof header);
        open[i] = admits(&ring[next], header);
        if (open[i]) news += notes(&ring[next], &marks[next], header);
      }
    int left = open[0] + open[1] + open[2];
    assert_in_range(left, 1, 2);
    assert_in_range(news, 2, 6);  // each hears of the others once at most, of both in one request or in two
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(depth_is_bounded),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(the_same_files_are_recognised),
      cmocka_unit_test(a_call_does_not_come_back),
      cmocka_unit_test(an_id_is_no_mark),
      cmocka_unit_test(of_a_ring_one_connection_gives_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

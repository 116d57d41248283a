// SPDX-License-Identifier: Apache-2.0
// result/row_sort: of many rows the first ones in an order, beside sorting all of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "result/table/row_sort.h"

enum { ROWS = 5000 };

static const str texts[] = {STR("10"), STR("9"),     STR("-1.5"),       STR("b"),
                            STR("a"),  STR("\"a\""), STR("2026-05-01"), STR("")};
static const int ranks[] = {2, 1, 0, 5, 4, 4, 3, 6};  // as numbers, texts, nothing

struct row {
  size_t row;
  int rank;
};

static bool descending;

static int compare(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  bool nothing = x->rank == 6 || y->rank == 6;
  int order = x->rank - y->rank;
  if (order) return descending && !nothing ? -order : order;
  return x->row < y->row ? -1 : x->row > y->row;
}

// The order in which rows come matters to how they are kept: as it is, turned, and mixed.
static unsigned pick(unsigned order, size_t row) {
  if (order == 0) return (unsigned)(row * 8 / ROWS);
  if (order == 1) return (unsigned)((ROWS - 1 - row) * 8 / ROWS);
  return (unsigned)(row * 2654435761u >> 7) % 8;
}

static void expect_sorted(unsigned order, size_t most, size_t start) {
  static struct row all[ROWS];
  struct row_sort s;
  row_sort_init(&s, most, descending);
  for (size_t i = 0; i < ROWS; i++) {
    unsigned k = pick(order, i);
    struct cell cell = {texts[k], texts[k].n ? CELL_TEXT : CELL_NONE};
    all[i] = (struct row){i, ranks[k]};
    row_sort_add(&s, NULL, i, &cell);
  }
  qsort(all, ROWS, sizeof *all, compare);
  row_sort_finish(&s, start);
  size_t end = most < ROWS ? most : ROWS;
  assert_int_equal(s.count, start < end ? end - start : 0);
  for (size_t i = 0; i < s.count; i++) assert_int_equal(s.list[i].row, all[start + i].row);
  row_sort_done(&s);
}

static void the_first_rows_are_those_of_a_whole_sort(void **state) {
  static const size_t most[] = {1, 2, 11, 300, 2499, 2500, 4999, 5000, 9000}, starts[] = {0, 1, 10, 1000, 4998, 6000};
  for (int turn = 0; turn < 2; turn++) {
    descending = turn;
    for (unsigned order = 0; order < 3; order++)
      for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) expect_sorted(order, most[i], starts[k]);
  }
}

static void no_rows_are_no_rows(void **state) {
  struct row_sort s;
  row_sort_init(&s, 10, false);
  row_sort_finish(&s, 3);
  assert_int_equal(s.count, 0);
  row_sort_done(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_rows_are_those_of_a_whole_sort),
                                     cmocka_unit_test(no_rows_are_no_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

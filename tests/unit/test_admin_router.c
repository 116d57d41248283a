// SPDX-License-Identifier: Apache-2.0
// app/admin/router: which admin page answers a request, and for whom.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/admin/router.h"

static void answer(struct admin_request *r) {
}

static const struct admin_route rows[] = {
    {STR("GET"), STR("/health"), ADMIN_PUBLIC, ADMIN_PUBLIC, answer},
    {STR("GET"), STR("/state"), ADMIN_READER, ADMIN_READER, answer},
    {STR("GET"), STR("/rules"), ADMIN_READER, ADMIN_NOBODY, answer},
    {STR("POST"), STR("/rules"), ADMIN_OPERATOR, ADMIN_NOBODY, answer},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int find(struct admin_identity who, const char *method, const char *path) {
  const struct admin_route *found;
  int status = admin_find(rows, ROWS, &who, str_of(method), str_of(path), &found);
  if (!status) assert_true(str_eq(found->path, str_of(path)) && str_eq(found->method, str_of(method)));
  return status;
}

static const struct admin_identity foreign_user = {ADMIN_PUBLIC, false, false}, anyone = {ADMIN_READER, false, false},
                                   reader = {ADMIN_READER, false, true}, changer = {ADMIN_OPERATOR, false, true};

static void each_role_has_the_pages_of_those_below_it(void **state) {
  assert_int_equal(find(foreign_user, "GET", "/health"), 0);
  assert_int_equal(find(foreign_user, "GET", "/state"), 401);
  assert_int_equal(find(reader, "GET", "/state"), 0);
  assert_int_equal(find(reader, "POST", "/rules"), 403);
  assert_int_equal(find(anyone, "POST", "/rules"), 401);
  assert_int_equal(find(changer, "GET", "/health"), 0);
  assert_int_equal(find(changer, "GET", "/state"), 0);
  assert_int_equal(find(changer, "POST", "/rules"), 0);
}

static void a_path_has_the_methods_of_its_rows(void **state) {
  assert_int_equal(find(reader, "GET", "/rules"), 0);
  assert_int_equal(find(reader, "PUT", "/rules"), 405);
  assert_int_equal(find(foreign_user, "PUT", "/health"), 405);
  assert_int_equal(find(reader, "get", "/rules"), 405);
}

static void only_readers_learn_which_paths_exist(void **state) {
  assert_int_equal(find(foreign_user, "GET", "/nothing"), 401);
  assert_int_equal(find(foreign_user, "PUT", "/rules"), 401);
  assert_int_equal(find(reader, "GET", "/nothing"), 404);
  assert_int_equal(find(reader, "GET", "/state/"), 404);
}

static void at_the_endpoint_a_page_exists_for_those_who_may_have_it(void **state) {
  const struct admin_identity client = {ADMIN_PUBLIC, true, false}, trusted = {ADMIN_READER, true, false};
  assert_int_equal(find(client, "GET", "/health"), 0);
  assert_int_equal(find(client, "GET", "/state"), 404);
  assert_int_equal(find(trusted, "GET", "/state"), 0);
  assert_int_equal(find(trusted, "POST", "/state"), 405);
  assert_int_equal(find(client, "POST", "/state"), 404);
  assert_int_equal(find(trusted, "GET", "/rules"), 404);
  assert_int_equal(find(trusted, "POST", "/rules"), 404);
  assert_int_equal(find(trusted, "GET", "/nothing"), 404);
}

static void the_pages_of_the_gateway_keep_to_their_roles(void **state) {
  size_t count;
  const struct admin_route *own = admin_routes(&count);
  for (size_t i = 0; i < count; i++) {
    bool reads = str_eq(own[i].method, STR("GET"));
    assert_true(own[i].path.p[0] == '/');
    assert_true(reads ? own[i].role <= ADMIN_READER : own[i].role == ADMIN_OPERATOR);
    assert_true(reads || own[i].endpoint == ADMIN_NOBODY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_role_has_the_pages_of_those_below_it),
      cmocka_unit_test(a_path_has_the_methods_of_its_rows),
      cmocka_unit_test(only_readers_learn_which_paths_exist),
      cmocka_unit_test(at_the_endpoint_a_page_exists_for_those_who_may_have_it),
      cmocka_unit_test(the_pages_of_the_gateway_keep_to_their_roles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

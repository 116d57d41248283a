// SPDX-License-Identifier: Apache-2.0
// Pins without a gateway: what is accepted, what the store keeps, and limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto/rand.h"
#include "base/mem.h"
#include "catalog/pins/pins.h"
#include "store/shared.h"

enum { MOST = 10000 };

static const struct hash_key seed = {1, 2};
static const struct log silent = {STDERR_FILENO, LOG_OFF, &clock_system};

struct place {
  struct store *store;
  struct pins *pins;
  struct arena arena;
  uint64_t version;
};

static struct pins *pins_on(struct store *s) {
  return pins_new(&(struct pins_options){&silent, &clock_system, s, &seed, NULL, NULL});
}

static int begin(void **state) {
  struct place *p = MEM_NEW(struct place);
  arena_init(&p->arena);
  p->store = store_new(&(struct store_options){
      .log = &silent, .clock = &clock_system, .rand = &rand_system, .limits = store_default_limits});
  p->pins = pins_on(p->store);
  pins_set_mode(p->pins, GOVERNANCE_PINS_ENFORCE);
  *state = p;
  return 0;
}

static void on_closed(void *ctx) {
}

static int end(void **state) {
  struct place *p = *state;
  pins_free(&p->pins);
  store_close(&p->store, on_closed, NULL);
  arena_done(&p->arena);
  mem_free(p);
  return 0;
}

// The gateway ends and starts again.
static void restart(struct place *p) {
  pins_free(&p->pins);
  p->pins = pins_on(p->store);
  pins_set_mode(p->pins, GOVERNANCE_PINS_ENFORCE);
}

// The server lists these tools: the text of an array.
static void lists(struct place *p, const char *identity, str tools) {
  struct fault f;
  struct definitions *set = definitions_new((struct definitions_origin){0});
  str text = arena_printf(&p->arena, "{\"tools\":%.*s}", STR_ARG(tools));
  const struct json *page = json_parse(&p->arena, text, &json_default_limits, &f);
  assert_true(page && definitions_add_page(set, ITEM_TOOL, page));
  struct catalog_source source = {.server = STR("shop"),
                                  .definition_sets = (const struct definitions *const[]){set},
                                  .definitions_count = 1,
                                  .identity = identity ? str_of(identity) : STR_NONE,
                                  .version = ++p->version};
  pins_look(p->pins, &source, 1);
  definitions_free(&set);
}

static void expect(struct place *p, const char *tool, enum pin_state state) {
  assert_string_equal(pin_state_name(pins_find(p->pins, STR("shop"), str_of(tool))), pin_state_name(state));
}

#define A "{\"name\":\"a\",\"description\":\"A.\"}"
#define A2 "{\"name\":\"a\",\"description\":\"B.\"}"
#define B "{\"name\":\"b\"}"
#define IDENTITY(target) "{\"kind\":\"stdio\",\"target\":\"" target "\"}"
#define REPORTED(version) \
  "{\"kind\":\"stdio\",\"server\":{\"name\":\"n\",\"version\":\"" version "\"},\"target\":\"x\"}"

static void pins_survive_a_restart(void **state) {
  struct place *p = *state;
  lists(p, NULL, STR("[" A "]"));
  expect(p, "a", PIN_ACCEPTED);
  restart(p);
  lists(p, NULL, STR("[" A2 "," B "]"));
  expect(p, "a", PIN_CHANGED);
  expect(p, "b", PIN_NEW);
  restart(p);
  lists(p, NULL, STR("[" A2 "," B "]"));
  expect(p, "a", PIN_CHANGED);
  expect(p, "b", PIN_NEW);
}

static void a_tool_that_returns_must_be_the_same(void **state) {
  struct place *p = *state;
  lists(p, NULL, STR("[" A "," B "]"));
  lists(p, NULL, STR("[" B "]"));
  lists(p, NULL, STR("[" A2 "," B "]"));
  expect(p, "a", PIN_CHANGED);
  lists(p, NULL, STR("[" A "," B "]"));
  expect(p, "a", PIN_ACCEPTED);
}

static void another_identity_changes_all_tools(void **state) {
  struct place *p = *state;
  lists(p, IDENTITY("x"), STR("[" A "," B "]"));
  expect(p, "a", PIN_ACCEPTED);
  lists(p, IDENTITY("y"), STR("[" A "," B "]"));
  expect(p, "a", PIN_CHANGED);
  expect(p, "b", PIN_CHANGED);
  lists(p, IDENTITY("x"), STR("[" A "," B "]"));
  expect(p, "a", PIN_ACCEPTED);
}

static void the_reported_version_counts_once_it_is_known(void **state) {
  struct place *p = *state;
  lists(p, IDENTITY("x"), STR("[" A "]"));
  lists(p, REPORTED("1"), STR("[" A "]"));
  expect(p, "a", PIN_ACCEPTED);
  restart(p);
  lists(p, IDENTITY("x"), STR("[" A "]"));  // not connected yet
  expect(p, "a", PIN_ACCEPTED);
  lists(p, REPORTED("2"), STR("[" A "]"));
  expect(p, "a", PIN_CHANGED);
}

static void a_server_that_lists_too_many_tools_has_tools_that_cannot_be_accepted(void **state) {
  struct place *p = *state;
  char last[16];
  lists(p, NULL, STR("[" A "]"));
  struct buf b;
  buf_init(&b, 1 << 24);
  buf_str(&b, STR("[" A2));
  for (int i = 0; i < MOST + 1; i++) buf_printf(&b, ",{\"name\":\"%d\"}", i);
  buf_str(&b, STR("]"));
  lists(p, NULL, buf_view(&b));
  expect(p, "a", PIN_CHANGED);  // its pin is not replaced
  snprintf(last, sizeof last, "%d", MOST);
  expect(p, last, PIN_NEW);
  buf_reset(&b);
  struct json_writer w = json_writer(&b);
  assert_int_equal(pins_accept(p->pins, &(struct pins_choice){0}, &w), MOST);
  buf_done(&b);
  expect(p, "0", PIN_ACCEPTED);
  expect(p, last, PIN_NEW);
}

// The definitions of two servers, of which "zoo" comes later in the configuration.
static void two_list(struct place *p, str shop, str zoo) {
  struct fault f;
  str names[] = {STR("shop"), STR("zoo")}, tools[] = {shop, zoo};
  struct definitions *sets[2];
  struct catalog_source sources[2];
  for (unsigned i = 0; i < 2; i++) {
    sets[i] = definitions_new((struct definitions_origin){0});
    str text = arena_printf(&p->arena, "{\"tools\":%.*s}", STR_ARG(tools[i]));
    const struct json *page = json_parse(&p->arena, text, &json_default_limits, &f);
    assert_true(page && definitions_add_page(sets[i], ITEM_TOOL, page));
    sources[i] = (struct catalog_source){.server = names[i],
                                         .definition_sets = (const struct definitions *const *)&sets[i],
                                         .definitions_count = 1,
                                         .identity = STR_NONE,
                                         .version = ++p->version,
                                         .order = i};
  }
  pins_look(p->pins, sources, 2);
  for (int i = 0; i < 2; i++) definitions_free(&sets[i]);
}

static void accept_all(struct place *p) {
  struct buf b;
  buf_init(&b, 1 << 20);
  struct json_writer w = json_writer(&b);
  pins_accept(p->pins, &(struct pins_choice){0}, &w);
  buf_done(&b);
}

static int64_t days;

static int64_t later(void *ctx) {
  return clock_wall_ms(&clock_system) + days * 24 * 3600 * 1000;
}

static const struct clock movable = {NULL, later, NULL};

static void a_tool_does_not_become_the_imitation_when_a_change_is_accepted(void **state) {
  struct place *p = *state;
  pins_free(&p->pins);
  p->pins = pins_new(&(struct pins_options){&silent, &movable, p->store, &seed, NULL, NULL});
  pins_set_mode(p->pins, GOVERNANCE_PINS_ENFORCE);
  two_list(p, STR("[{\"name\":\"send_email\"}]"), STR("[]"));
  days = 1;
  str imitation = STR("[{\"name\":\"sendEmail\"}]");
  two_list(p, STR("[{\"name\":\"send_email\"}]"), imitation);
  accept_all(p);
  days = 2;
  str changed = STR("[{\"name\":\"send_email\",\"title\":\"Send\"}]");
  two_list(p, changed, imitation);
  expect(p, "send_email", PIN_CHANGED);
  accept_all(p);
  two_list(p, changed, imitation);
  expect(p, "send_email", PIN_ACCEPTED);
  days = 0;
}

static void many_tools_of_a_server_do_not_hide_an_imitation(void **state) {
  struct place *p = *state;
  struct buf b;
  buf_init(&b, 1 << 24);
  buf_str(&b, STR("[{\"name\":\"sendMaiI\"}"));
  for (int i = 0; i < MOST - 1; i++) buf_printf(&b, ",{\"name\":\"sena%04d\"}", i);
  buf_str(&b, STR("]"));
  two_list(p, STR("[{\"name\":\"send_mail\"}]"), buf_view(&b));
  buf_done(&b);
  assert_int_equal(pins_find(p->pins, STR("zoo"), STR("sendMaiI")), PIN_SUSPECT);
  assert_int_equal(pins_find(p->pins, STR("shop"), STR("send_mail")), PIN_ACCEPTED);
}

static unsigned reported;
static uint64_t omitted;

static void on_change(void *ctx, const struct pin_change *change) {
  reported++;
  omitted += change->omitted;
}

static void a_server_that_always_changes_its_tools_cannot_fill_the_logs(void **state) {
  struct place *p = *state;
  pins_free(&p->pins);
  p->pins = pins_new(&(struct pins_options){&silent, &movable, p->store, &seed, on_change, NULL});
  pins_set_mode(p->pins, GOVERNANCE_PINS_ENFORCE);
  reported = 0, omitted = 0;
  lists(p, NULL, STR("[" A "]"));
  for (int i = 0; i < 5000; i++) lists(p, NULL, i % 2 ? STR("[" A "]") : STR("[" A2 "]"));
  assert_int_equal(reported, 2000);
  days = 1;
  lists(p, NULL, STR("[" A2 "]"));
  assert_int_equal(reported, 2001);
  assert_int_equal(omitted, 3000);
  days = 0;
}

static void a_command_names_no_tool_whose_name_is_special_for_shells(void **state) {
  static const char *const names[] = {"a b", "a;b", "$(b)", "`b`", "a\nb", "--all", "a'b", "", "\u00e9"};
  char command[PINS_COMMAND];
  pins_print_command(STR("shop"), STR("files/read.one"), command);
  assert_string_equal(command, "toolgate pins diff shop files/read.one");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    pins_print_command(STR("shop"), str_of(names[i]), command);
    assert_string_equal(command, "toolgate pins diff shop");
  }
  pins_print_command(STR("the shop"), STR("find"), command);
  assert_string_equal(command, "toolgate pins diff");
}

static void a_large_definition_is_compared_by_its_hash(void **state) {
  struct place *p = *state;
  char *text = mem_alloc(600001);
  memset(text, 'x', 600000);
  text[600000] = 0;
  lists(p, NULL, arena_printf(&p->arena, "[{\"name\":\"a\",\"description\":\"%s\"}]", text));
  expect(p, "a", PIN_ACCEPTED);
  text[300000] = 'y';
  lists(p, NULL, arena_printf(&p->arena, "[{\"name\":\"a\",\"description\":\"%s\"}]", text));
  expect(p, "a", PIN_CHANGED);
  mem_free(text);
}

static void with_a_damaged_pin_no_tool_is_accepted(void **state) {
  struct place *p = *state;
  entry_put(p->store, STR("pins"), STR("0123"), STR("{\"server\":"), 1000000, NULL);
  restart(p);
  lists(p, NULL, STR("[" A "]"));
  expect(p, "a", PIN_NEW);
}

static void a_server_cannot_fill_the_store_with_pins(void **state) {
  struct place *p = *state;
  pins_set_mode(p->pins, GOVERNANCE_PINS_WARN);
  lists(p, NULL, STR("[" A "]"));
  for (int round = 0; round < 4; round++) {
    struct buf b;
    buf_init(&b, 1 << 24);
    buf_str(&b, STR("["));
    for (int i = 0; i < MOST / 2; i++) buf_printf(&b, "%s{\"name\":\"%d.%d\"}", i ? "," : "", round, i);
    buf_str(&b, STR("]"));
    lists(p, NULL, buf_view(&b));
    buf_done(&b);
  }
  struct buf b;
  buf_init(&b, 1 << 24);
  struct json_writer w = json_writer(&b);
  assert_int_equal(pins_put(p->pins, &(struct pins_choice){0}, false, &w), MOST);
  buf_done(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(pins_survive_a_restart),
      TEST(a_tool_that_returns_must_be_the_same),
      TEST(another_identity_changes_all_tools),
      TEST(the_reported_version_counts_once_it_is_known),
      TEST(a_large_definition_is_compared_by_its_hash),
      TEST(with_a_damaged_pin_no_tool_is_accepted),
      TEST(a_server_cannot_fill_the_store_with_pins),
      TEST(a_server_that_lists_too_many_tools_has_tools_that_cannot_be_accepted),
      TEST(a_tool_does_not_become_the_imitation_when_a_change_is_accepted),
      TEST(many_tools_of_a_server_do_not_hide_an_imitation),
      TEST(a_server_that_always_changes_its_tools_cannot_fill_the_logs),
      TEST(a_command_names_no_tool_whose_name_is_special_for_shells),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Receipts: a governed call is proven by its envelopes, its audit line, and a signed head of the audit log.
#include "observe/audit_receipt.h"

#include "audit_world.h"
#include "base/buf.h"
#include "observe/gateway_key.h"

static struct gateway_key *key;
static char leaves[96], heads[96];
static struct arena memory;

static int open_world(void **state) {
  struct fault f;
  make_folder(state);
  key = gateway_key_open(STR(""), &rand_system, &f);
  snprintf(leaves, sizeof leaves, "%s.leaves", path);
  snprintf(heads, sizeof heads, "%s.heads", path);
  arena_init(&memory);
  return 0;
}

static int close_world(void **state) {
  gateway_key_free(&key);
  arena_done(&memory);
  return remove_folder(state);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

static struct audit *open_signed(uint64_t max_bytes, const struct gateway_key *signer) {
  struct audit_options opt = {.file = str_of(path),
                              .max_bytes = max_bytes,
                              .keep = 100,
                              .clock = &test_clock,
                              .signer = signer,
                              .head_ms = 60000};
  struct fault f;
  struct audit *a = audit_open(&opt, &f);
  assert_non_null(a);
  return a;
}

static str envelopes_of(unsigned call) {
  return arena_printf(&memory, "{\"call\":{\"policy_decision_id\":\"pol_%u\"},\"result\":{\"status\":\"completed\"}}",
                      call);
}

// Adds the line of a governed call.
static void add_call(struct audit *a, unsigned call) {
  struct audit_event e = event_of("refund");
  unsigned char digest[SHA256_SIZE];
  char hex[2 * SHA256_SIZE + 1];
  hash_sha256(envelopes_of(call), digest);
  hash_hex(digest, sizeof digest, hex);
  e.decision_id = arena_printf(&memory, "pol_%u", call);
  e.envelope_hash = arena_printf(&memory, "sha256:%s", hex);
  audit_add(a, &e);
}

static void write_calls(struct audit *a, unsigned from, unsigned until) {
  for (unsigned i = from; i < until; i++) {
    add_call(a, i);
    if (i % 3 == 0) audit_flush(a);
  }
  audit_flush(a);
}

static enum fault_code make_code(unsigned call, struct audit_receipt *out) {
  struct fault f = {0};
  char id[32];
  snprintf(id, sizeof id, "pol_%u", call);
  return audit_receipt_make(str_of(path), str_of(id), &memory, out, &f) ? FAULT_NONE : f.code;
}

static str receipt_of(unsigned call, str envelopes) {
  struct audit_receipt r;
  struct buf b;
  assert_int_equal(make_code(call, &r), FAULT_NONE);
  buf_init(&b, RECEIPT_MAX);
  audit_receipt_put(&r, envelopes, &b);
  str text = arena_str(&memory, buf_view(&b));
  buf_done(&b);
  return text;
}

static bool is_valid(str receipt) {
  struct audit_receipt_checked c;
  struct fault f;
  return audit_receipt_check(receipt, gateway_key_public(key), &memory, &c, &f);
}

static void assert_proved(unsigned from, unsigned until) {
  for (unsigned i = from; i < until; i++) assert_true(is_valid(receipt_of(i, envelopes_of(i))));
}

static void every_call_before_a_head_has_a_receipt(void **state) {
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 20);
  audit_close(&a);
  assert_proved(0, 20);
  assert_whole(20);
}

static void a_call_after_the_last_head_has_no_receipt_yet(void **state) {
  struct audit_receipt r;
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 2);
  assert_int_equal(make_code(0, &r), FAULT_INVALID);
  assert_int_equal(audit_head_after(a), 60000);
  now_ms += 60000;
  audit_flush(a);
  assert_int_equal(audit_head_after(a), 0);
  assert_proved(0, 2);
  assert_int_equal(make_code(7, &r), FAULT_NOT_FOUND);
  audit_close(&a);
}

static void heads_that_cannot_be_read_are_not_taken_for_missing_ones(void **state) {
  struct audit_receipt r;
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 3);
  audit_close(&a);
  assert_int_equal(unlink(heads), 0);
  assert_int_equal(make_code(1, &r), FAULT_INVALID);
  assert_int_equal(mkdir(heads, 0700), 0);
  assert_int_equal(make_code(1, &r), FAULT_IO);
  assert_int_equal(rmdir(heads), 0);
}

// A gateway that signs a head every minute writes more than 64 MiB in some months.
static void the_number_of_heads_has_no_limit(void **state) {
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 3);
  audit_close(&a);
  assert_int_equal(truncate(heads, 80 << 20), 0);  // adds NULs, which are no heads
  int fd = open(heads, O_WRONLY | O_APPEND | O_CLOEXEC);
  assert_int_equal(write(fd, "\n", 1), 1);
  close(fd);
  assert_proved(0, 3);
}

// Replaces the first occurrence of a text.
static str with(str text, const char *from, const char *to) {
  const char *at = memmem(text.p, text.n, from, strlen(from));
  assert_non_null(at);
  size_t before = (size_t)(at - text.p);
  return arena_printf(&memory, "%.*s%s%.*s", (int)before, text.p, to, (int)(text.n - before - strlen(from)),
                      at + strlen(from));
}

static void a_receipt_that_was_altered_is_not_valid(void **state) {
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 9);
  audit_close(&a);
  str receipt = receipt_of(4, envelopes_of(4));
  assert_true(is_valid(receipt));
  assert_false(is_valid(with(receipt, "completed", "cancelled")));
  assert_false(is_valid(with(receipt, "researcher", "Researcher")));
  assert_false(is_valid(with(receipt, "\"index\":4", "\"index\":5")));
  assert_false(is_valid(with(receipt, "\"first\":1", "\"first\":2")));
  assert_false(is_valid(with(receipt, "\"size\":9", "\"size\":8")));
  assert_false(is_valid(with(receipt, "\"v\":1", "\"v\":2")));
  assert_false(is_valid(receipt_of(4, envelopes_of(5))));
  assert_false(is_valid(STR("{}")));
  assert_false(is_valid(STR("")));
}

static void a_head_of_another_gateway_is_not_valid(void **state) {
  struct fault f;
  struct gateway_key *other = gateway_key_open(STR(""), &rand_system, &f);
  struct audit *a = open_signed(0, other);
  write_calls(a, 0, 3);
  audit_close(&a);
  assert_false(is_valid(receipt_of(1, envelopes_of(1))));
  gateway_key_free(&other);
}

static void receipts_span_rotated_files_and_restarts(void **state) {
  for (unsigned i = 0; i < 5; i++) {
    struct audit *a = open_signed(2000, key);
    write_calls(a, 10 * i, 10 * i + 10);
    audit_close(&a);
  }
  assert_proved(0, 50);
}

static void lines_from_before_the_tree_are_its_first_leaves(void **state) {
  struct audit *a = open_signed(0, NULL);
  write_calls(a, 0, 7);
  audit_close(&a);
  a = open_signed(0, key);
  write_calls(a, 7, 9);
  audit_close(&a);
  assert_proved(0, 9);
}

static void two_gateways_extend_one_tree(void **state) {
  struct audit *a = open_signed(0, key), *b = open_signed(0, key), *plain = open_signed(0, NULL);
  write_calls(a, 0, 3);
  write_calls(b, 3, 5);
  write_calls(plain, 5, 8);
  write_calls(a, 8, 9);
  audit_close(&a);
  audit_close(&plain);
  audit_close(&b);
  assert_proved(0, 9);
}

// The leaves follow from the log.
static void lost_leaves_are_read_from_the_log(void **state) {
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 6);
  audit_close(&a);
  assert_int_equal(truncate(leaves, AUDIT_LEAVES_HEADER + 2 * SHA256_SIZE + 5), 0);
  a = open_signed(0, key);
  write_calls(a, 6, 8);
  audit_close(&a);
  assert_proved(0, 8);
  assert_int_equal(unlink(leaves), 0);
  a = open_signed(0, key);
  write_calls(a, 8, 9);
  audit_close(&a);
  assert_proved(0, 9);
  replace_file(leaves, STR("something else"));
  a = open_signed(0, key);
  write_calls(a, 9, 10);
  audit_close(&a);
  assert_proved(0, 10);
}

static void altered_leaves_prove_nothing(void **state) {
  struct audit_receipt r;
  static char text[4096];
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 6);
  audit_close(&a);
  str all = read_whole(leaves, text, sizeof text);
  text[AUDIT_LEAVES_HEADER + 3 * SHA256_SIZE] ^= 1;
  replace_file(leaves, all);
  assert_int_equal(make_code(1, &r), FAULT_IO);
}

static void a_log_without_receipts_has_no_further_files(void **state) {
  struct audit *a = open_signed(0, NULL);
  write_calls(a, 0, 3);
  assert_int_equal(audit_head_after(a), 0);
  audit_close(&a);
  assert_int_not_equal(access(leaves, F_OK), 0);
  assert_int_not_equal(access(heads, F_OK), 0);
}

// The log is written even if the files of the tree cannot be written.
static void a_failure_to_store_leaves_does_not_affect_the_log(void **state) {
  assert_int_equal(mkdir(leaves, 0700), 0);
  struct audit *a = open_signed(0, key);
  write_calls(a, 0, 3);
  assert_false(audit_failing(a));
  audit_close(&a);
  assert_whole(3);
  assert_int_equal(rmdir(leaves), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_WORLD(every_call_before_a_head_has_a_receipt),
      IN_WORLD(a_call_after_the_last_head_has_no_receipt_yet),
      IN_WORLD(heads_that_cannot_be_read_are_not_taken_for_missing_ones),
      IN_WORLD(the_number_of_heads_has_no_limit),
      IN_WORLD(a_receipt_that_was_altered_is_not_valid),
      IN_WORLD(a_head_of_another_gateway_is_not_valid),
      IN_WORLD(receipts_span_rotated_files_and_restarts),
      IN_WORLD(lines_from_before_the_tree_are_its_first_leaves),
      IN_WORLD(two_gateways_extend_one_tree),
      IN_WORLD(lost_leaves_are_read_from_the_log),
      IN_WORLD(altered_leaves_prove_nothing),
      IN_WORLD(a_log_without_receipts_has_no_further_files),
      IN_WORLD(a_failure_to_store_leaves_does_not_affect_the_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

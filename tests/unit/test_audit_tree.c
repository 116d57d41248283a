// SPDX-License-Identifier: Apache-2.0
// The Merkle tree over an audit log, with the test vectors of the reference implementation of RFC 6962.
#include "observe/audit_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crypto/ed25519.h"

static const str inputs[] = {
    STR(""),
    {"\x00", 1},
    {"\x10", 1},
    {"\x20\x21", 2},
    {"\x30\x31", 2},
    {"\x40\x41\x42\x43", 4},
    {"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
    {"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16},
};
enum { INPUTS = sizeof inputs / sizeof *inputs, LARGEST = 200 };

static const char *const roots[INPUTS] = {
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

static const char *text_of(const struct tree_hash *h) {
  static char hex[2 * SHA256_SIZE + 1];
  hash_hex(h->bytes, SHA256_SIZE, hex);
  return hex;
}

static void roots_are_those_of_rfc_6962(void **state) {
  struct tree_edge t = {0};
  struct tree_hash empty = tree_root(&t);
  assert_string_equal(text_of(&empty), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (size_t i = 0; i < INPUTS; i++) {
    struct tree_hash leaf = tree_leaf(inputs[i]);
    tree_add(&t, &leaf);
    struct tree_hash root = tree_root(&t);
    assert_string_equal(text_of(&root), roots[i]);
  }
}

static struct tree_hash numbered(void *ctx, uint64_t at) {
  return tree_leaf((str){(const char *)&at, sizeof at});
}

// For every size and every leaf, the path leads to the root, and to no other leaf, index or size.
static void a_path_leads_from_its_leaf_to_the_root(void **state) {
  struct tree_edge t = {0};
  for (uint64_t size = 1; size <= LARGEST; size++) {
    struct tree_hash last = numbered(NULL, size - 1);
    tree_add(&t, &last);
    struct tree_hash root = tree_root(&t);
    for (uint64_t index = 0; index < size; index += size < 20 ? 1 : 7) {
      struct tree_path p = {.index = index, .size = size};
      struct tree_hash leaf = numbered(NULL, index), other = numbered(NULL, size), got;
      tree_prove(&p, numbered, NULL);
      assert_true(tree_follow(&p, &leaf, &got));
      assert_memory_equal(&got, &root, sizeof got);
      assert_true(tree_follow(&p, &other, &got));
      assert_memory_not_equal(&got, &root, sizeof got);
      struct tree_path moved = p;
      moved.index = (index + 1) % size;
      if (size > 1 && tree_follow(&moved, &leaf, &got)) assert_memory_not_equal(&got, &root, sizeof got);
      struct tree_path cut = p;
      if (cut.count && cut.count--) assert_false(tree_follow(&cut, &leaf, &got));
      struct tree_path longer = p;
      longer.hashes[longer.count++] = other;
      assert_false(tree_follow(&longer, &leaf, &got));
      longer.index = size;
      assert_false(tree_follow(&longer, &leaf, &got));
    }
  }
}

static void a_head_is_verified_with_the_key_that_signed_it(void **state) {
  struct buf b, key, signature;
  struct arena a;
  struct fault f;
  struct ed25519 *k = ed25519_new(&rand_system);
  struct tree_head h = {.first = 1, .size = 3, .root = numbered(NULL, 7), .time = STR("2026-01-31T12:00:00.000Z")}, got;
  arena_init(&a);
  buf_init(&b, TREE_HEAD_MAX);
  buf_init(&key, 64);
  buf_init(&signature, 128);
  ed25519_put_public(k, &key);
  tree_head_put_signed(&h, &b);
  ed25519_put_signature(k, buf_view(&b), &signature);
  h.key = buf_view(&key);
  h.signature = buf_view(&signature);
  assert_true(tree_head_verify(&h));
  buf_reset(&b);
  tree_head_put(&h, &b);
  assert_true(tree_head_read(json_parse(&a, buf_view(&b), &json_default_limits, &f), &a, &got));
  assert_true(tree_head_verify(&got));
  got.size++;
  assert_false(tree_head_verify(&got));
  got.size--;
  got.first++;
  assert_false(tree_head_verify(&got));
  got.first--;
  got.root.bytes[5] ^= 1;
  assert_false(tree_head_verify(&got));
  ed25519_free(&k);
  buf_done(&b);
  buf_done(&key);
  buf_done(&signature);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(roots_are_those_of_rfc_6962),
      cmocka_unit_test(a_path_leads_from_its_leaf_to_the_root),
      cmocka_unit_test(a_head_is_verified_with_the_key_that_signed_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Finds two equal elements of an array: compares all pairs in a short array, otherwise sorts the elements by hash.
#include <stdlib.h>

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "schema/schema_impl.h"
#include "json/number.h"

enum { MOST_COMPARED_IN_PAIRS = 12 };

struct unique_entry {
  uint64_t hash;
  const struct json *value;
  size_t index;
};

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15;
  return h ^ h >> 29;
}

// Hashes the digits and the exponent of a number, not its text: equal values, such as 1 and 1.0, must have equal
// hashes.
static uint64_t hash_number(const struct json *v, const struct hash_key *key) {
  struct json_number x;
  if (!json_number_read(v, &x)) return hash_sip(key, json_span(v));
  uint64_t h = mix(key->k0 + x.negative, (uint64_t)x.exponent);
  for (size_t i = 0; i < x.digits.n; i++)
    if (x.digits.p[i] != '.') h = mix(h, (uint64_t)x.digits.p[i]);
  return mix(h, key->k1);
}

static uint64_t hash_value(const struct json *v, const struct hash_key *key, struct arena *scratch, size_t *spent) {
  uint64_t h = key->k0 ^ v->type;
  str text = STR_NONE;
  *spent += 1 + (v->child ? 0 : v->n / 16);
  switch ((enum json_type)v->type) {
  case JSON_STRING: json_string(v, scratch, &text); return hash_sip(key, text);
  case JSON_NUMBER: return hash_number(v, key);
  case JSON_ARRAY:
    JSON_EACH(e, v) h = mix(h, hash_value(e, key, scratch, spent));
    return mix(h, key->k1);
  case JSON_OBJECT:  // the hash must not depend on the order of members
    JSON_EACH(m, v) h += mix(hash_sip(key, json_key(m, scratch)), hash_value(m, key, scratch, spent));
    return mix(h, key->k1);
  default: return h;
  }
}

static int by_hash(const void *a, const void *b) {
  const struct unique_entry *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static bool find_among_few(const struct json *array, size_t *out_first, size_t *out_second) {
  size_t i = 0;
  for (const struct json *a = array->child; a; a = a->next, i++) {
    size_t k = i + 1;
    for (const struct json *b = a->next; b; b = b->next, k++) {
      if (!json_same(a, b)) continue;
      *out_first = i;
      *out_second = k;
      return true;
    }
  }
  return false;
}

static bool spend(size_t *steps, size_t n) {
  if (*steps == SIZE_MAX || *steps < n) {
    *steps = SIZE_MAX;
    return false;
  }
  *steps -= n;
  return true;
}

// Finds equal values among entries with the same hash. Entries with the same hash are nearly always equal, but
// collisions are possible, so all pairs are compared.
static bool find_in_sorted(const struct unique_entry *entries, size_t n, size_t *out_first, size_t *out_second) {
  for (size_t i = 1; i < n; i++) {
    for (size_t k = i; k-- > 0 && entries[k].hash == entries[i].hash;) {
      if (!json_same(entries[i].value, entries[k].value)) continue;
      *out_first = entries[k].index;
      *out_second = entries[i].index;
      ASSERT(*out_first < *out_second);  // holds because entries with the same hash are in the order of the array
      return true;
    }
  }
  return false;
}

bool schema_find_twins(const struct json *array, struct arena *scratch, size_t *steps, size_t *out_first,
                       size_t *out_second) {
  ASSERT(array->type == JSON_ARRAY);
  if (array->count < 2 || !spend(steps, array->n / 8)) return false;
  if (array->count <= MOST_COMPARED_IN_PAIRS) return find_among_few(array, out_first, out_second);
  struct hash_key key = rand_hash_key(&rand_system);
  struct unique_entry *entries = ARENA_ARRAY(scratch, struct unique_entry, array->count);
  size_t n = 0, spent = 0;
  JSON_EACH(e, array) {
    entries[n] = (struct unique_entry){hash_value(e, &key, scratch, &spent), e, n};
    n++;
  }
  ASSERT(n == array->count);
  if (!spend(steps, spent)) return false;
  qsort(entries, n, sizeof *entries, by_hash);
  return find_in_sorted(entries, n, out_first, out_second);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

_Noreturn void assert_failed(const char *what, const char *file, int line) {
  fprintf(stderr, "toolgate: internal error: %s at %s:%d\n", what, file, line);
  abort();
}

static void *checked(void *p, size_t n) {
  if (p) return p;
  fprintf(stderr, "toolgate: out of memory (%zu bytes)\n", n);
  abort();
}

void *mem_alloc(size_t n) {
  return checked(malloc(n ? n : 1), n);
}
void *mem_zero(size_t n) {
  return checked(calloc(1, n ? n : 1), n);
}
void *mem_grow(void *p, size_t n) {
  return checked(realloc(p, n ? n : 1), n);
}
void mem_free(void *p) {
  free(p);
}
void mem_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

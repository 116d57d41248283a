// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/locked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *locked_alloc(size_t n) {
  void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    fprintf(stderr, "toolgate: out of memory (%zu bytes)\n", n);
    abort();
  }
  madvise(p, n, MADV_DONTDUMP);
  madvise(p, n, MADV_WIPEONFORK);
  mlock(p, n);
  return p;
}

void locked_free(void *p, size_t n) {
  if (!p) return;
  explicit_bzero(p, n);
  munmap(p, n);
}

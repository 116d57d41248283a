// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once over every file of its corpus (FUZZ_CORPUS, seen from the top folder of the project), in any
// build and without a fuzzer, so that what was found stays found. Prints TAP; an input that fails ends the program.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_BYTES = 16 << 20 };

static int is_input(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static bool read_file(const char *path, struct buf *out) {
  FILE *f = fopen(path, "rbe");
  if (!f) return false;
  char chunk[4096];
  for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_add(out, chunk, k);
  bool ok = !ferror(f) && !out->over;
  fclose(f);
  return ok;
}

// In memory of exactly its size, so that a read past its end is seen.
static bool replay(const char *name) {
  char path[4096];
  struct buf text;
  snprintf(path, sizeof path, "%s/%s", FUZZ_CORPUS, name);
  buf_init(&text, MAX_BYTES);
  bool ok = read_file(path, &text);
  uint8_t *exact = mem_alloc(text.n ? text.n : 1);
  if (text.n) memcpy(exact, text.p, text.n);
  if (ok) LLVMFuzzerTestOneInput(exact, text.n);
  mem_free(exact);
  buf_done(&text);
  return ok;
}

int main(void) {
  struct dirent **entries;
  int n = scandir(FUZZ_CORPUS, &entries, is_input, alphasort);
  if (n <= 0) {
    fputs("there is nothing in " FUZZ_CORPUS "\n", stderr);
    return 1;
  }
  int failed = 0;
  printf("1..%d\n", n);
  for (int i = 0; i < n; i++) {
    bool ok = replay(entries[i]->d_name);
    printf("%s %d - %s\n", ok ? "ok" : "not ok", i + 1, entries[i]->d_name);
    fflush(stdout);  // the line before the input that ends the program must not be lost
    failed += !ok;
    free(entries[i]);
  }
  free(entries);
  return failed > 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "result/view/no_name.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"

enum { NAME_SHOWN = 40, NAMES_SHOWN = 100 };

static void put_name(struct buf *out, str name) {
  size_t left = out->n + 2 < NAMES_SHOWN ? NAMES_SHOWN - out->n - 2 : 0;
  str shown = utf8_cut(name, left);
  if (!left) return;
  if (out->n) buf_str(out, STR(", "));
  buf_str(out, shown);
  if (shown.n < name.n) buf_str(out, STR("…"));
}

void no_name(const char *what, str name, const str *names, size_t count, struct fault *f) {
  ASSERT(what && (names || !count));
  struct nearest near = {.word = name};
  struct buf list;
  buf_init(&list, 2 * NAMES_SHOWN);
  for (size_t i = 0; i < count; i++) nearest_try(&near, names[i]);
  if (near.best.p) put_name(&list, near.best);
  for (size_t i = 0; i < count; i++)
    if (names[i].p != near.best.p) put_name(&list, names[i]);
  fault_set(f, FAULT_INVALID, "unknown %s \"%.*s\"; known names: %.*s", what, STR_ARG(utf8_cut(name, NAME_SHOWN)),
            STR_ARG(buf_view(&list)));
  buf_done(&list);
}

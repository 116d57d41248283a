// SPDX-License-Identifier: Apache-2.0
// Members of the JSON that commands print: key and value in one line of code.
#pragma once
#include "json/write.h"

static inline void member_str(struct json_writer *w, str key, str value) {
  json_put_key(w, key);
  json_put_str(w, value);
}
static inline void member_u64(struct json_writer *w, str key, uint64_t value) {
  json_put_key(w, key);
  json_put_u64(w, value);
}
static inline void member_bool(struct json_writer *w, str key, bool value) {
  json_put_key(w, key);
  json_put_bool(w, value);
}

// SPDX-License-Identifier: Apache-2.0
// Assertions that stay on in every build: they state what must be true, cheaply.
#pragma once
#include <stdint.h>

_Noreturn void assert_failed(const char *what, const char *file, int line);

#define ASSERT(cond) ((cond) ? (void)0 : assert_failed(#cond, __FILE__, __LINE__))

// Long-lived structs start with `uint32_t magic`; a stale or wrong pointer is found at its first use.
#define ASSERT_MAGIC(obj, value) ASSERT((obj) && (obj)->magic == (value))

// SPDX-License-Identifier: Apache-2.0
// Assertions that stay on in every build: cheap checks of invariants. Input from outside is never checked with
// assertions.
#pragma once
#include <stdint.h>

_Noreturn void assert_failed(const char *what, const char *file, int line);

#define ASSERT(cond) ((cond) ? (void)0 : assert_failed(#cond, __FILE__, __LINE__))

// Long-lived structs start with `uint32_t magic`, so that this check fails at the first use of a stale or wrong
// pointer.
#define ASSERT_MAGIC(obj, value) ASSERT((obj) && (obj)->magic == (value))

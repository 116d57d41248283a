// SPDX-License-Identifier: Apache-2.0
// Whether somebody could guess a secret: a rough estimate that finds defaults and examples, not a measure of entropy.
//
// A character counts if it cannot be foreseen: not if it repeats or continues what stands before it (aaa, 123, qwerty,
// a pair that was there already), nor if it is part of a word that people put where a secret should be (changeme). A
// secret in which fewer than STRENGTH_LEAST count is weak; of 16 random hexadecimal digits about 12 do.
#pragma once
#include "base/str.h"

enum { STRENGTH_LEAST = 8 };

bool strength_is_weak(str secret);

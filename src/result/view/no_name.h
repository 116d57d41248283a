// SPDX-License-Identifier: Apache-2.0
// A name that is not there, told with those that are.
#pragma once
#include "base/fault.h"

// "there is no WHAT "name", but a, b, …": the one that looks most like it first, then as many as there is room for.
void no_name(const char *what, str name, const str *names, size_t count, struct fault *f);

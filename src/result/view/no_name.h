// SPDX-License-Identifier: Apache-2.0
// Writes the error message for an unknown name, which lists the known names.
#pragma once
#include "base/fault.h"

// Sets f to "unknown WHAT "name"; known names: a, b, …". The list begins with the name that is most similar to `name`,
// and has as many other names as fit.
void no_name(const char *what, str name, const str *names, size_t count, struct fault *f);

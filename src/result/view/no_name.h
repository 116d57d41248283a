// SPDX-License-Identifier: Apache-2.0
// Reports an unknown name together with the known names.
#pragma once
#include "base/fault.h"

// Sets f to "unknown WHAT "name"; there are a, b, …": the most similar name first, then as many others as fit.
void no_name(const char *what, str name, const str *names, size_t count, struct fault *f);

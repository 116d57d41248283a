// SPDX-License-Identifier: Apache-2.0
// Search indexes and paths without the entries that a caller may not see. Private to directory.c; directory.h has the
// public interface.
#pragma once
#include "catalog/directory/directory.h"

struct partials *partials_new(void);
void partials_free(struct partials **p);

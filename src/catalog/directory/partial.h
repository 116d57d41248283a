// SPDX-License-Identifier: Apache-2.0
// Shelves without what somebody may not see, for directory.c only: directory.h has what others use.
#pragma once
#include "catalog/directory/directory.h"

struct partials *partials_new(void);
void partials_free(struct partials **p);

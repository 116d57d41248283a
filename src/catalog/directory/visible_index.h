// SPDX-License-Identifier: Apache-2.0
// Kind indexes without the entries that a caller may not see. Private to directory.c; the public interface is
// directory.h.
#pragma once
#include "catalog/directory/directory.h"

struct partials *partials_new(void);
void partials_free(struct partials **p);

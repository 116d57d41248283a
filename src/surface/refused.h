// SPDX-License-Identifier: Apache-2.0
// Requests that a surface refuses itself: when they ask for a call they are counted and traced as calls that ended so.
#pragma once
#include "surface/surface_impl.h"

struct entry;

// It is about to be told so. hidden: what it names and its caller may not see; else NULL.
void surface_refused(struct surface *d, struct request *r, enum fault_code code, const struct entry *hidden);

// SPDX-License-Identifier: Apache-2.0
// Advice for the caller of a failed call.
#pragma once
#include "base/fault.h"

// Returns one sentence without a full stop: what a caller can do about a fault.
const char *call_remedy(enum fault_code code);

// SPDX-License-Identifier: Apache-2.0
// Finds the kind of failure in the words of an error message: the last resort, for errors whose code says nothing.
//
// A word counts only in a phrase that says what happened ("the request timed out", "HTTP 429", "401 Unauthorized"), not
// where it is the name of something ("invalid value for timeout", "got 401 rows", "column 'forbidden'").
#pragma once
#include "base/fault.h"
#include "base/str.h"

// Returns FAULT_UPSTREAM_ERROR if the words name no kind of failure.
enum fault_code failure_text_code(str text);

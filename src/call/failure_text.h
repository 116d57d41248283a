// SPDX-License-Identifier: Apache-2.0
// Derives a fault code from the words of an error message, if the message's error code says nothing.
//
// A word counts only in a phrase that says what happened ("the request timed out", "HTTP 429", "401 Unauthorized"), not
// where it is only a name ("invalid value for timeout", "got 401 rows", "column 'forbidden'").
#pragma once
#include "base/fault.h"
#include "base/str.h"

// Returns FAULT_UPSTREAM_ERROR if the words describe no known kind of failure.
enum fault_code failure_text_code(str text);

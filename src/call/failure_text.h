// SPDX-License-Identifier: Apache-2.0
// Derives a fault code from the words of a server's error message. Used if the JSON-RPC error code does not show the
// kind of failure.
//
// Words count only if they describe the failure ("the request timed out", "HTTP 429", "401 Unauthorized"), not if they
// are a name or a quantity ("invalid value for timeout", "got 401 rows", "column 'forbidden'").
#pragma once
#include "base/fault.h"
#include "base/str.h"

// Returns FAULT_UPSTREAM_ERROR if the words describe no known kind of failure.
enum fault_code failure_text_code(str text);

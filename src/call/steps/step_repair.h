// SPDX-License-Identifier: Apache-2.0
// Tolerant arguments, where the operator wants them: what is text and should be something else becomes that, by the few
// rules of call/controls/literals.h, before it is checked. What was done is told with the result.
#pragma once
#include "call/pipeline.h"

const struct json *
repair_said(const struct call *c);  // params as the client wrote them, if they were repaired; or NULL

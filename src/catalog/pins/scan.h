// SPDX-License-Identifier: Apache-2.0
// Findings: properties of a definition that attacks on models have.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum pin_finding {
  PIN_HIDDEN,       // texts have hidden characters, which the gateway removes
  PIN_INSTRUCTION,  // a text instructs the model
  PIN_LOOKALIKE,    // the name looks like the name of another server's tool
  PIN_FINDINGS
};
const char *pin_finding_name(enum pin_finding finding);  // "hidden_characters", "instruction", "lookalike"

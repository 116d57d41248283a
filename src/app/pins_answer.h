// SPDX-License-Identifier: Apache-2.0
// The operations of `toolgate pins`, for the control socket and for the command itself when no gateway runs.
//
//   {"action": "list" | "diff" | "accept", "server"?, "tool"?, "pending"?, "sha256"?, "tenant"?}
//
// The answer is {"mode", "pins": […]} with the chosen pins (catalog/pins/pins.h). `diff` adds the definitions. Unless a
// tool is named, `diff` chooses only tools and servers that are not accepted.
#pragma once
#include "app/gateway.h"

struct pins_operation {
  struct pins *pins;                    // NULL if the configuration switches pins off
  const struct governance *governance;  // needed for the parameter "tenant"
  struct gateway *gateway;              // NULL if no gateway runs
};

// Writes the answer. Returns false with the reason in `f` if the params are invalid or there are no pins.
bool pins_answer(const struct pins_operation *o, const struct json *params, struct json_writer *w, struct fault *f);

// SPDX-License-Identifier: Apache-2.0
// Commands that are one call of a meta-tool: asks it as an agent would, prints the answer.
#pragma once
#include "app/cli/command.h"
#include "surface/mode.h"
#include "json/json.h"

struct question {
  enum surface_mode mode;  // whose tool it is
  str tool;
  str arguments;       // a raw JSON object
  bool all;            // it is about all servers, and waits for them
  bool whole;          // --json prints the whole result, not only what it has for programs
  const char *absent;  // what it means when there is no such tool; NULL: it is always there
  // Prints an answer that is no error, from what it has for programs, and gives the exit code. NULL: as it is.
  int (*print)(const struct arguments *args, struct arena *a, const struct json *structured);
};

// Gives the exit code: EXIT_NO when the answer is a fault or the tool's own error. Text goes to stdout, faults go to
// stderr (and with --json to stdout, as JSON).
int ask(const struct arguments *args, const struct question *q);

// What outsiders wrote, on stdout. A terminal gets none of the control characters in it.
void ask_print(str text);

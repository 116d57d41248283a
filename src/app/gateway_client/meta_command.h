// SPDX-License-Identifier: Apache-2.0
// Commands that call one meta-tool as an agent would, and print the answer.
#pragma once
#include "app/cli/command.h"
#include "surface/mode.h"
#include "json/json.h"

struct meta_command {
  enum surface_mode mode;  // the mode that has the tool
  str tool;
  str arguments;       // a raw JSON object
  bool all;            // it concerns all servers and waits for them
  bool whole;          // --json prints the whole result, not only structuredContent
  const char *absent;  // message if the tool does not exist; NULL: it always exists
  // Prints an answer that is not an error, from its structuredContent; returns the exit code. NULL: prints the text.
  int (*print)(const struct arguments *args, struct arena *a, const struct json *structured);
};

// Returns the exit code: EXIT_NO if the answer is a fault or an error of the tool. Text goes to stdout, faults go to
// stderr (and with --json to stdout, as JSON).
int meta_command_run(const struct arguments *args, const struct meta_command *m);

// SPDX-License-Identifier: Apache-2.0
// Runs a command that calls one meta-tool, as an agent does, and prints the answer.
#pragma once
#include "app/cli/command.h"
#include "surface/mode.h"
#include "json/json.h"

struct meta_command {
  enum surface_mode mode;  // a mode in which the gateway offers the meta-tool
  str tool;
  str arguments;       // arguments of the meta-tool: text of a JSON object
  str meta;            // _meta of the request, as JSON text, or STR_NONE
  bool all;            // waits for all servers before the call
  bool whole;          // --json prints the whole result, not only structuredContent
  const char *absent;  // message if the meta-tool does not exist; NULL if it always exists
  // Prints the structuredContent of a successful answer, and returns the exit code. If this is NULL, the text of the
  // answer is printed.
  int (*print)(const struct arguments *args, struct arena *a, const struct json *structured);
};

// Returns the exit code: EXIT_NO if the answer is a fault or an error of the tool. Prints text on stdout and faults on
// stderr. With --json, also prints faults as JSON on stdout.
int meta_command_run(const struct arguments *args, const struct meta_command *m);

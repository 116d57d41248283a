// SPDX-License-Identifier: Apache-2.0
// What the commands that look at a running gateway have in common: `status`, `top`, `logs`.
#pragma once
#include "app/cli/command.h"
#include "app/visit/remote.h"
#include "json/json.h"

struct console {
  struct remote *remote;
  struct arena arena;
};

// Reads the configuration and connects to the gateway that serves it. False: what is wrong was printed on stderr, and
// *out_status is the exit code.
bool console_open(struct console *c, const struct config_options *opt, int *out_status);
void console_close(struct console *c);

// Members of the gateway's answers; empty or 0 when they are not there.
str json_text(const struct json *v, const char *key, struct arena *a);
uint64_t json_number(const struct json *v, const char *key);

// A text of somebody else, such as a client's name, on one line: control characters become '?'.
str console_line(str text, struct arena *a);
str console_span(struct arena *a, uint64_t ms);                       // "2 h 3 min"
int console_name_width(const struct json *servers, struct arena *a);  // of the longest name, within bounds

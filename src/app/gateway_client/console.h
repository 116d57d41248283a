// SPDX-License-Identifier: Apache-2.0
// Shared code of the commands that show a running gateway: `status`, `top`, `logs`.
#pragma once
#include "app/cli/command.h"
#include "app/gateway_client/control_client.h"
#include "json/json.h"

struct console {
  struct control_client *gateway;
  struct arena arena;
};

// Reads the configuration and connects to the gateway that serves it. On failure prints the reason on stderr and sets
// *out_status to the exit code.
bool console_open(struct console *c, const struct config_options *said, int *out_status);
void console_close(struct console *c);

// console_text and console_number return a member of the gateway's answer, or an empty text or 0 if the member is
// absent.
str console_text(const struct json *v, const char *key, struct arena *a);
uint64_t console_number(const struct json *v, const char *key);

// Returns untrusted text, such as a client's name, on one line: replaces each control character with '?'.
str console_line(str text, struct arena *a);
str console_span(struct arena *a, uint64_t ms);  // returns a duration as text: "2 h 3 min"
// Returns the width of the column for the names of servers.
int console_name_width(const struct json *servers, struct arena *a);

// SPDX-License-Identifier: Apache-2.0
// Results of reloading configuration and rules in a running gateway, shown by get_gateway_status and the health page.
// Only the application writes them. Times are milliseconds since 1970, or 0 for never. Each text is empty or one line,
// except `warnings`.
#pragma once
#include "base/str.h"

enum { RELOAD_TEXT = 512, RELOAD_WARNINGS = 4096 };

// Reloads of one kind of file: either the configuration with the server files, or the rules.
struct reload_record {
  str file;  // path of the file; empty if no file of this kind is used
  int64_t last_attempt, last_success;
  uint64_t attempts, successes;
  char error[RELOAD_TEXT];  // error of the last attempt; empty if this attempt succeeded
};

struct reload_status {
  struct reload_record servers, rules;
  char warnings[RELOAD_WARNINGS];  // warnings about the current rules, one per line
  uint64_t taken, refused;         // successful and failed reloads of all files
  // the last attempt
  int64_t at;
  bool ok;
  char message[RELOAD_TEXT];
  char restart[RELOAD_TEXT];  // changed keys that take effect only after a restart
};

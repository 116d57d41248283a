// SPDX-License-Identifier: Apache-2.0
// What became of the files that a running gateway reads again; for whoever tells how it is (get_gateway_status,
// health).
// Written by the application alone. Times are milliseconds since 1970; 0: never. Texts are one line each, or empty.
#pragma once
#include "base/str.h"

enum { RELOAD_TEXT = 512, RELOAD_WARNINGS = 4096 };

// Of one kind of files: those with servers (and the configuration), or the rules.
struct reload_record {
  str file;  // empty: there is none
  int64_t last_attempt, last_success;
  uint64_t attempts, successes;
  char error[RELOAD_TEXT];  // of the last attempt; empty: it was taken
};

struct reload_status {
  struct reload_record servers, rules;
  char warnings[RELOAD_WARNINGS];  // about the rules that are in force: a line each
  uint64_t taken, refused;         // attempts, of all files together
  // the last attempt
  int64_t at;
  bool ok;
  char message[RELOAD_TEXT];
  char restart[RELOAD_TEXT];  // keys that were changed and count from the next start on only
};

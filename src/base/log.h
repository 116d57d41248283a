// SPDX-License-Identifier: Apache-2.0
// The program's log: one line for each event, written to a file descriptor. Control and hidden characters are escaped,
// so that no peer can forge a line. The function that handles a fault logs it, once.
#pragma once
#include "base/clock.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };

struct log {
  int fd;
  enum log_level level;
  const struct clock *clock;
};

void log_line(const struct log *l, enum log_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define log_debug(l, ...) log_line((l), LOG_DEBUG, __VA_ARGS__)
#define log_info(l, ...) log_line((l), LOG_INFO, __VA_ARGS__)
#define log_warn(l, ...) log_line((l), LOG_WARN, __VA_ARGS__)
#define log_error(l, ...) log_line((l), LOG_ERROR, __VA_ARGS__)

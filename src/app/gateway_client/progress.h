// SPDX-License-Identifier: Apache-2.0
// Prints a line on stderr about the starting servers. On a terminal the line is updated in place; otherwise it is
// printed once.
#pragma once
#include "upstream/upstream.h"
#include "json/json.h"

enum { PROGRESS_TEXT = 512 };

struct progress {
  bool shown;
  char text[PROGRESS_TEXT];
};

void progress_show(struct progress *p, const struct upstreams *all);
void progress_show_status(struct progress *p, const struct json *status);  // `status`: from a running gateway

void progress_end(struct progress *p);  // clears the progress line, if there is one

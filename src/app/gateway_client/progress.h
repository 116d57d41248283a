// SPDX-License-Identifier: Apache-2.0
// One line on stderr about the servers that are starting. A terminal shows it updated in place; elsewhere it is printed
// once.
#pragma once
#include "upstream/upstream.h"
#include "json/json.h"

enum { PROGRESS_TEXT = 512 };

struct progress {
  bool shown;
  char text[PROGRESS_TEXT];
};

void progress_show(struct progress *p, const struct upstreams *all);
void progress_show_status(struct progress *p, const struct json *status);  // of a running gateway

void progress_end(struct progress *p);  // clears the line, if there is one

// SPDX-License-Identifier: Apache-2.0
// One line on stderr about servers that are starting: on a terminal it is replaced as they come up, elsewhere it is
// printed once, when waiting begins.
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

void progress_end(struct progress *p);  // fine when nothing was shown

// SPDX-License-Identifier: Apache-2.0
// Functions that the kinds of servers with a URL share. Used only in upstream/kinds/.
#pragma once
#include "upstream/kind.h"

struct upstream_names kind_http_names(const struct upstream_spec *s);
str kind_http_public_place(const struct upstream_spec *s);
str kind_http_redact(const struct upstream_spec *s, struct arena *a, str text);
bool kind_http_prepare(struct upstream *u, struct fault *f);

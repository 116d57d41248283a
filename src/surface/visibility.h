// SPDX-License-Identifier: Apache-2.0
// What a client may see of the catalog: the directory of it, and which entries are this client's.
#pragma once
#include "surface/surface_impl.h"

// Who asks, when the request itself names nobody. False: f says why.
bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f);

// May it see this item of the catalog?
bool surface_sees(struct surface *d, const struct caller *c, const struct catalog *catalog, const struct item *item);

// The same of all of it, and what it is called. The two that were last asked for are good: what was, and what is now.
struct naming surface_naming(struct surface *d, const struct caller *c, const struct catalog *catalog);
bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source);
void surface_forget_visibilities(struct surface *d);
void surface_forget_old_visibilities(struct surface *d);  // those of catalogs that were before

// Tells, as the protocol does, why a request of somebody is not served.
void surface_refuse(struct request *r, const struct fault *f);
void surface_refuse_with(struct request *r, const struct fault *f, str details);  // raw
const struct directory *surface_directory(struct surface *d);                     // of the catalog as it is now
str surface_tool_id(void *surface, const struct item *tool);    // by which agents call it; STR_NONE: none
str surface_tool_safe(void *surface, const struct item *tool);  // its client-safe name; STR_NONE: none

// SPDX-License-Identifier: Apache-2.0
// The gateways that share a state folder. A gateway has an id, which no other process ever has, and keeps the file
// gateways/ID.lock of the folder locked while it lives. So other gateways can see whether a gateway that began
// something can still end it.
#pragma once
#include "base/arena.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

struct gateways;

enum { GATEWAY_ID_SIZE = 3 + 16 + 1 };  // "gw_", 16 hexadecimal digits and a NUL

// `folder` is the state folder; if it is empty, this gateway is the only one. Touches no files.
struct gateways *gateways_new(str folder, const struct rand_source *rand);
void gateways_free(struct gateways **g);  // unlocks and removes the own file

str gateways_own(const struct gateways *g);  // id of this gateway

// Creates and locks the own file, unless this was done before. Returns false, with the reason in f, if this fails: then
// other gateways cannot see that this one lives.
bool gateways_join(struct gateways *g, struct fault *f);

// Returns whether the gateway with this id lives. Returns true if this cannot be found out.
bool gateways_live(const struct gateways *g, str id);

// Finds the files of gateways that ended without removing them. Returns their number; the ids are in the arena.
size_t gateways_dead(const struct gateways *g, struct arena *a, str **out_ids);
void gateways_forget(const struct gateways *g, str id);  // removes the file of a gateway that does not live

// SPDX-License-Identifier: Apache-2.0
// The keys that verify the tokens of an issuer: keys from the configuration, or keys that are fetched from the issuer's
// URL and renewed.
//
// Fetched keys are valid for the max-age in the response's Cache-Control, but at least a minute and at most the
// configured time. The next request that needs expired keys fetches them again; requests wait for that fetch. A token
// that names an unknown key also starts a fetch, but at most once a minute, so that strangers cannot cause many
// fetches. If a fetch fails, the previous keys stay in use.
#pragma once
#include "auth/jwt.h"
#include "base/list.h"
#include "io/loop.h"

struct keyring;

struct keyring_options {
  struct loop *loop;
  struct jwt_keys *keys;  // reference-counted; NULL if the keys are fetched from the URL
  str url;                // https, or http on this machine
  uint64_t longest_ms;
};

// Creates a keyring without fetching keys. Returns NULL on failure, with a reason in f.
struct keyring *keyring_new(const struct keyring_options *opt, struct fault *f);
void keyring_free(struct keyring **k);  // does not call `ready` of any waiter

enum keyring_state {
  KEYRING_READY,
  KEYRING_COMING,
  KEYRING_NONE,  // no keys are available, because the last fetch has just failed
};

// Returns the state of the keys. Starts a fetch if there are no keys or if they have expired.
enum keyring_state keyring_look(struct keyring *k);
// Must be called if a token names an unknown key. Starts a fetch unless the last one was too recent. Returns whether
// keys are being fetched.
bool keyring_renew(struct keyring *k);

const struct jwt_keys *keyring_keys(const struct keyring *k);  // returns NULL if there are no keys
uint64_t keyring_version(const struct keyring *k);             // changes with the keys

// Embedded in a struct that waits until a fetch has ended, successfully or not.
struct keyring_waiter {
  struct list node;
  void (*ready)(struct keyring_waiter *w);  // called once, from the loop, when the fetch has ended
};
void keyring_wait(struct keyring *k, struct keyring_waiter *w);
void keyring_leave(struct keyring_waiter *w);

// SPDX-License-Identifier: Apache-2.0
// The keys that an issuer signs its tokens with: given once, or fetched from its URL and fetched again.
//
// What was fetched is good for as long as the answer says (Cache-Control: max-age), but no less than a minute and no
// longer than is configured; then it is fetched again when somebody needs it, and whoever needs it meanwhile waits. A
// token that names a key nobody knows is a reason too, once a minute at most: otherwise strangers could make us ask as
// often as they like. When the URL does not answer well, the last good keys stay.
#pragma once
#include "auth/jwt.h"
#include "base/list.h"
#include "io/loop.h"

struct keyring;

struct keyring_options {
  struct loop *loop;
  struct jwt_keys *keys;  // NULL: they are at the URL; counted
  str url;                // https, or http on this machine
  uint64_t longest_ms;    // that fetched keys are good for
};

// Fetches nothing yet. NULL: f says why.
struct keyring *keyring_new(const struct keyring_options *opt, struct fault *f);
void keyring_free(struct keyring **k);  // those who wait are not told

enum keyring_state {
  KEYRING_READY,   // there are keys to go by
  KEYRING_COMING,  // they are being fetched
  KEYRING_NONE,    // there are none, and there were none just now
};

// Starts to fetch when that is due.
enum keyring_state keyring_look(struct keyring *k);
// Some token names a key that is not there: may there be new ones? True: they are being fetched.
bool keyring_renew(struct keyring *k);

const struct jwt_keys *keyring_keys(const struct keyring *k);  // NULL: there are none
uint64_t keyring_version(const struct keyring *k);             // changes with the keys

// Somebody who waits for what is being fetched; told once, from the loop, however it went.
struct keyring_waiter {
  struct list node;
  void (*told)(struct keyring_waiter *w);
};
void keyring_wait(struct keyring *k, struct keyring_waiter *w);
void keyring_leave(struct keyring_waiter *w);

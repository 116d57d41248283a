// SPDX-License-Identifier: Apache-2.0
// Approval modes (the risk of a call) and capability classes (the kind of operation).
#pragma once
#include "base/str.h"

// In ascending order of risk: a ceiling admits itself and all modes below.
enum approval_mode {
  APPROVAL_READ_ONLY,
  APPROVAL_LOCAL_WRITE,
  APPROVAL_NETWORK,
  APPROVAL_DELEGATED,
  APPROVAL_DESTRUCTIVE,
  APPROVAL_NONE
};

enum capability_class { CLASS_OBSERVE, CLASS_RECALL, CLASS_THINK_SUPPORT, CLASS_ACT, CLASS_VERIFY, CLASS_NONE };

// Return the value of a name; APPROVAL_NONE and CLASS_NONE for any other text.
enum approval_mode approval_mode_find(str name);
enum capability_class capability_class_find(str name);

// Return the name; NULL for APPROVAL_NONE and CLASS_NONE.
const char *approval_mode_name(enum approval_mode mode);
const char *capability_class_name(enum capability_class class);

// Returns whether a capability of this class may have this mode: `act` has an effect, so it is never read_only;
// `think_support` does no I/O, so it is always read_only; the others read, so they are read_only or network.
bool approval_mode_fits(enum capability_class class, enum approval_mode mode);

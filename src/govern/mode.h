// SPDX-License-Identifier: Apache-2.0
// Approval modes (the risk of a call) and capability classes (the kind of operation).
#pragma once
#include "base/str.h"

// Approval modes in ascending order of risk. A ceiling allows its own mode and all lower modes.
enum approval_mode {
  APPROVAL_READ_ONLY,
  APPROVAL_LOCAL_WRITE,
  APPROVAL_NETWORK,
  APPROVAL_DELEGATED,
  APPROVAL_DESTRUCTIVE,
  APPROVAL_NONE
};

enum capability_class { CLASS_OBSERVE, CLASS_RECALL, CLASS_THINK_SUPPORT, CLASS_ACT, CLASS_VERIFY, CLASS_NONE };

// Return the value with this name. For an unknown name, return APPROVAL_NONE or CLASS_NONE.
enum approval_mode approval_mode_find(str name);
enum capability_class capability_class_find(str name);

// Return the name; NULL or STR_NONE for APPROVAL_NONE and CLASS_NONE.
const char *approval_mode_name(enum approval_mode mode);
str approval_mode_text(enum approval_mode mode);
const char *capability_class_name(enum capability_class class);

// Returns whether a capability of this class may have this mode. `act` must not be read_only, because it has an effect.
// `think_support` must be read_only, because it does no I/O. The other classes read data: they may be read_only or
// network.
bool approval_mode_fits(enum capability_class class, enum approval_mode mode);

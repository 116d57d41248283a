// SPDX-License-Identifier: Apache-2.0
#include "govern/mode.h"

#include "base/assert.h"

static const str modes[] = {STR("read_only"), STR("local_write"), STR("network"), STR("delegated"), STR("destructive")};
static const str classes[] = {STR("observe"), STR("recall"), STR("think_support"), STR("act"), STR("verify")};

enum {
  READS = 1 << APPROVAL_READ_ONLY | 1 << APPROVAL_NETWORK,
  WRITES = 1 << APPROVAL_LOCAL_WRITE | 1 << APPROVAL_NETWORK | 1 << APPROVAL_DELEGATED | 1 << APPROVAL_DESTRUCTIVE,
};
static const uint8_t fitting[] = {
    [CLASS_OBSERVE] = READS, [CLASS_RECALL] = READS, [CLASS_THINK_SUPPORT] = 1 << APPROVAL_READ_ONLY,
    [CLASS_ACT] = WRITES,    [CLASS_VERIFY] = READS,
};

static unsigned find(const str *names, unsigned count, str name) {
  unsigned i = 0;
  while (i < count && !str_eq(names[i], name)) i++;
  return i;
}

enum approval_mode approval_mode_find(str name) {
  return (enum approval_mode)find(modes, APPROVAL_NONE, name);
}

enum capability_class capability_class_find(str name) {
  return (enum capability_class)find(classes, CLASS_NONE, name);
}

const char *approval_mode_name(enum approval_mode mode) {
  return (unsigned)mode < APPROVAL_NONE ? modes[mode].p : NULL;
}

str approval_mode_text(enum approval_mode mode) {
  return (unsigned)mode < APPROVAL_NONE ? modes[mode] : STR_NONE;
}

const char *capability_class_name(enum capability_class class) {
  return (unsigned)class < CLASS_NONE ? classes[class].p : NULL;
}

bool approval_mode_fits(enum capability_class class, enum approval_mode mode) {
  ASSERT((unsigned)class < CLASS_NONE && (unsigned)mode < APPROVAL_NONE);
  return fitting[class] >> mode & 1;
}

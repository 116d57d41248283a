// SPDX-License-Identifier: Apache-2.0
// Detects configuration files that another user may have written. Such a file is foreign. Files in default places, such
// as .mcp.json in the current folder, decide which programs are started. Therefore a foreign file in a default place is
// not used, unless an option, variable or key names the file or FOREIGN_TRUST is set.
//
// A file is foreign if its owner is neither the current user nor root, or if every user can write it. The same test is
// applied to a link to the file, to its folder, to a link to that folder, and to the folder of the link's target. A
// folder with the sticky bit, such as /tmp, may be writable for every user. Write permissions of groups are ignored:
// the administrator chooses their members. Under sudo, files of the user who called sudo (SUDO_UID) are also trusted.
#pragma once
#include <sys/types.h>

#include "base/fault.h"

// Name of an environment variable. If its value is 1 or true, no file counts as foreign.
#define FOREIGN_TRUST "TOOLGATE_TRUST_CONFIG"

// Returns whether a file is foreign; if it is, `f` has the reason. `owner` and `mode` are those of the opened file.
bool foreign_file(const char *path, uid_t owner, mode_t mode, char *const *env, struct fault *f);

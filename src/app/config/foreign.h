// SPDX-License-Identifier: Apache-2.0
// Files that a command finds by itself (.mcp.json in the current folder) say which programs are started. One that
// another user may have written is foreign, and is not used unless somebody names it or says that all are trusted.
//
// A file is foreign if its owner is another user than this one and root, or if every user can write it. The same holds
// for a link to it, for the folder that it was found in, for a link to that folder, and for the folder that the link
// leads to, except that every user may write to a folder with the sticky bit, such as /tmp. Groups are not looked at:
// their members are the administrator's choice. Under sudo, root also trusts the files of the user who called it
// (SUDO_UID).
#pragma once
#include <sys/types.h>

#include "base/fault.h"

// The variable that trusts all of them: 1 or true.
#define FOREIGN_TRUST "TOOLGATE_TRUST_CONFIG"

// owner, mode: of the opened file. True: it is foreign, and f says why.
bool foreign_file(const char *path, uid_t owner, mode_t mode, char *const *env, struct fault *f);

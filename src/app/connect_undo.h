// SPDX-License-Identifier: Apache-2.0
// Backups of the files that `connect` changes. A backup lies beside its file, and its name says which text came after
// it: FILE.toolgate-backup-HASH, where HASH is of the text that was written in its place. So an undo knows whether
// somebody changed the file since. FILE.toolgate-created-HASH stands for a file that was not there before.
#pragma once
#include "app/text_file.h"

// Keeps what the file is before it becomes `next`. *out: the path of the backup.
bool connect_backup(const struct text_file *t, str next, struct arena *a, str *out, struct fault *f);

enum connect_undo { CONNECT_UNDONE, CONNECT_NOT_CONNECTED, CONNECT_CHANGED, CONNECT_FAILED };

// Puts back the text before the last connect, and removes the backup. `force`: the last backup, whatever the file is
// now. `dry`: only says what would be done.
enum connect_undo connect_undo(struct text_file *t, bool force, bool dry, struct arena *a, struct fault *f);

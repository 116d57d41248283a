// SPDX-License-Identifier: Apache-2.0
// Backups of the files that `connect` changes. A backup is in the same folder and is named FILE.toolgate-backup-HASH,
// where HASH is the hash of the text that `connect` wrote. If FILE has another hash, it was changed since. A file
// FILE.toolgate-created-HASH means that FILE did not exist before. An older backup of the same name gets a number: no
// backup is overwritten.
#pragma once
#include "app/clients/client_file.h"

// Keeps what the file is before it becomes `next`. *out: the path of the backup.
bool connect_backup(const struct text_file *t, str next, struct arena *a, str *out, struct fault *f);

enum connect_undo { CONNECT_UNDONE, CONNECT_NOT_CONNECTED, CONNECT_CHANGED, CONNECT_FAILED };

struct connect_undoing {
  const struct client_world *world;
  const struct client_place *const *places;  // of the file
  size_t place_count;
  bool force;  // also when the file was changed since
  bool dry;    // only says what would be done
};

// Puts back the text before the last connect, and removes the backup. If the file was changed since, nothing is done
// without `force`; with it Toolgate's entry is taken out, the servers are put back, and the other changes stay.
enum connect_undo connect_undo(struct text_file *t, const struct connect_undoing *how, struct fault *f);

// The text of a changed file without Toolgate's entry and with the servers that it had before. False: f says why not.
bool connect_restored(const struct connect_undoing *how, str now, str before, str *out, struct fault *f);

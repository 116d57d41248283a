// SPDX-License-Identifier: Apache-2.0
// Backups of the files that `connect` changes. A backup is in the same folder and is named FILE.toolgate-backup-HASH,
// where HASH is the hash of the text that `connect` wrote. If FILE has another hash, it was changed after `connect`. A
// file FILE.toolgate-created-HASH means that FILE did not exist before `connect`. No backup is overwritten: an older
// backup with the same name gets a number.
#pragma once
#include "app/clients/client_file.h"

// Writes a backup of the file, whose text is about to be replaced by `next`. Sets *out to the path of the backup.
bool connect_backup(const struct text_file *t, str next, struct arena *a, str *out, struct fault *f);

enum connect_undo { CONNECT_UNDONE, CONNECT_NOT_CONNECTED, CONNECT_CHANGED, CONNECT_FAILED };

struct connect_undoing {
  const struct client_world *world;
  const struct client_place *const *places;  // the places of servers in the file
  size_t place_count;
  bool force;  // undo even if the file was changed after `connect`
  bool dry;    // dry run: change nothing
};

// Restores the text that the file had before the last `connect`, and removes the backup. If the file was changed after
// the `connect`, does nothing unless `force` is set; with `force`, removes Toolgate's entry, restores the servers, and
// keeps the other changes.
enum connect_undo connect_undo(struct text_file *t, const struct connect_undoing *how, struct fault *f);

// Sets *out to the text of a changed file (`now`) without Toolgate's entry and with the servers of `before`. On failure
// returns false with the reason in `f`.
bool connect_restored(const struct connect_undoing *how, str now, str before, str *out, struct fault *f);

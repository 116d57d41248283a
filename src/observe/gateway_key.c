// SPDX-License-Identifier: Apache-2.0
#include "observe/gateway_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/locked.h"
#include "base/mem.h"
#include "io/file.h"

#define KEY_NAME "gateway.pem"

enum { PEM_MAX = 4096, TEXT_MAX = 128 };

struct gateway_key {
  struct ed25519 *key;
  struct buf id, public;
};

// Reads the key file, which no other user may be able to read or write. Returns NULL with the reason in f.
static struct ed25519 *read_key(int fd, str folder, struct fault *f) {
  struct ed25519 *key = NULL;
  struct stat st;
  struct buf b;
  buf_init(&b, PEM_MAX);
  if (!file_is_private(fd, f) || fstat(fd, &st) != 0 || (st.st_mode & 077))
    fault_set(f, FAULT_IO, "other users can read or replace %.*s/" KEY_NAME ": correct its owner, or chmod 600",
              STR_ARG(folder));
  else if (file_read(fd, PEM_MAX, &b, f)) {
    key = ed25519_read(buf_view(&b));
    if (key && !ed25519_can_sign(key)) ed25519_free(&key);
    if (!key)
      fault_set(f, FAULT_IO, "%.*s/" KEY_NAME " has no Ed25519 private key; restore or remove the file",
                STR_ARG(folder));
  }
  buf_wipe(&b);
  return key;
}

static bool create(int folder, const struct rand_source *rand, struct fault *f) {
  struct buf b;
  struct ed25519 *key = ed25519_new(rand);
  buf_init(&b, PEM_MAX);
  ed25519_put_private(key, &b);
  ed25519_free(&key);
  // If another gateway creates the file at the same time, its key is used.
  bool ok = file_write(folder, KEY_NAME, buf_view(&b), true, rand, f) || f->code == FAULT_INVALID;
  buf_wipe(&b);
  return ok;
}

static struct ed25519 *open_key(str path, const struct rand_source *rand, struct fault *f) {
  struct ed25519 *key = NULL;
  int folder = file_open_folder(path, f);
  if (folder < 0) return NULL;
  int fd = openat(folder, KEY_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT && create(folder, rand, f))
    fd = openat(folder, KEY_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  else if (fd < 0 && errno != ENOENT)
    fault_set(f, FAULT_IO, "cannot read %.*s/" KEY_NAME ": %s", STR_ARG(path), strerror(errno));
  if (fd >= 0) {
    key = read_key(fd, path, f);
    close(fd);
  }
  close(folder);
  return key;
}

struct gateway_key *gateway_key_open(str folder, const struct rand_source *rand, struct fault *f) {
  struct ed25519 *key = folder.n ? open_key(folder, rand, f) : ed25519_new(rand);
  if (!key) return NULL;
  struct gateway_key *k = MEM_NEW(struct gateway_key);
  k->key = key;
  buf_init(&k->id, TEXT_MAX);
  buf_init(&k->public, TEXT_MAX);
  ed25519_put_thumbprint(key, &k->id);
  ed25519_put_public(key, &k->public);
  return k;
}

void gateway_key_free(struct gateway_key **key) {
  struct gateway_key *k = *key;
  *key = NULL;
  if (!k) return;
  ed25519_free(&k->key);
  buf_done(&k->id);
  buf_done(&k->public);
  mem_free(k);
}

str gateway_key_id(const struct gateway_key *k) {
  return buf_view(&k->id);
}

str gateway_key_public(const struct gateway_key *k) {
  return buf_view(&k->public);
}

str gateway_key_sign(const struct gateway_key *k, str text, struct arena *a) {
  struct buf b;
  buf_init(&b, TEXT_MAX);
  ed25519_put_signature(k->key, text, &b);
  str signature = arena_str(a, buf_view(&b));
  buf_done(&b);
  return signature;
}

bool gateway_key_verify(const struct gateway_key *k, str text, str signature) {
  return ed25519_verify_text(k->key, text, signature);
}

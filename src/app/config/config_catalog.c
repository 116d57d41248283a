// SPDX-License-Identifier: Apache-2.0
// Catalog files that are served as servers. They are read and checked once, at the start.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/config/config_load.h"
#include "io/file.h"

// ---- the file

struct reading {
  struct config_loader *l;
  str file;
  bool soft;
};

static void on_report(void *ctx, bool fatal, str pointer, const char *message) {
  const struct reading *r = ctx;
  struct config_place at = {r->file, pointer};
  if (fatal && !r->soft) config_error(r->l, &at, "%s", message);
  else config_warn(r->l, &at, "%s", message);
}

static bool read_file(struct config_loader *l, str path, struct buf *out, struct fault *f) {
  int fd = open(arena_cstr(&l->work, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    fault_set(f, FAULT_IO, "the file cannot be read: %s", strerror(errno));
    return false;
  }
  bool ok = file_read(fd, KIND_FILE_MAX, out, f);
  close(fd);
  return ok;
}

struct upstream_own *config_catalog_open(struct config_loader *l, const struct upstream_kind *k, str path, str named_by,
                                         bool soft) {
  struct reading r = {l, path, soft};
  struct hash_key seed = rand_hash_key(&rand_system);
  struct buf text;
  struct fault f;
  ASSERT(k->parse_file && path.n && named_by.n);
  config_file_seen(l, path);
  if (read_file(l, path, &text, &f)) return k->parse_file(&text, &seed, on_report, &r);
  on_report(&r, true, STR_NONE, arena_printf(&l->work, "%s (named by %.*s)", f.message, STR_ARG(named_by)).p);
  return NULL;
}

// ---- the file of --catalog or of the key "catalog"

bool config_catalog_named(const struct config_loader *l, const struct config_document *d) {
  return (l->opt->catalog && *l->opt->catalog) || json_get(d->root, STR("catalog"));
}

static bool check_name(struct config_loader *l, str path, str name) {
  const struct config *c = l->config;
  struct config_place at = {path, STR("/server")};
  const char *wrong = config_name_wrong(name);
  for (size_t i = 0; i < c->upstream_count && !wrong; i++)
    if (str_eq(c->upstreams[i].name, name)) wrong = "another server has this name";
  if (wrong) config_error(l, &at, "%s", wrong);
  return !wrong;
}

void config_catalog_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  bool option = l->opt->catalog && *l->opt->catalog;
  if (!config_catalog_named(l, d) || !c->catalog.n) return;
  str by = option ? STR("--catalog") : arena_printf(&l->work, "%.*s:/catalog", STR_ARG(d->file));
  str written = c->catalog;
  c->catalog = config_path(l, written, option ? STR_NONE : d->folder, &c->arena);
  const struct upstream_kind *k = kind_of_place(STR("catalog"));
  ASSERT(k && k->own_name);
  struct upstream_own *own = config_catalog_open(l, k, c->catalog, by, false);
  if (!own) return;
  struct config_place at = {c->catalog, STR_NONE};
  str said = k->own_name(own), name = said.n ? said : STR("catalog");
  if (!config_servers_room(l, &at, 1) || !check_name(l, c->catalog, name)) {
    k->own_free(own);
    return;
  }
  ASSERT(c->upstream_count < CONFIG_MAX_SERVERS);
  c->upstreams[c->upstream_count++] = (struct upstream_spec){
      .name = name,
      .shown = written,
      .anonymous = !said.n,
      .kind = k,
      .isolation = UPSTREAM_ISOLATE_SHARED,
      .protocol = UPSTREAM_PROTOCOL_HANDSHAKE,
      .own = own,
  };
}

// SPDX-License-Identifier: Apache-2.0
#include "mcp/revision.h"

const struct mcp_revision mcp_revisions[] = {
    {.name = "2024-11-05", .batches = true},
    {.name = "2025-03-26", .batches = true},
    {.name = "2025-06-18", .version_header = true},
    {.name = "2025-11-25", .version_header = true, .sse_priming = true, .tasks = true},
    {.name = "2026-07-28", .version_header = true, .stateless = true},
};
const size_t mcp_revision_count = sizeof mcp_revisions / sizeof *mcp_revisions;

const char mcp_revision_names[] = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28";

const struct mcp_revision *mcp_revision_find(str name) {
  for (size_t i = 0; i < mcp_revision_count; i++)
    if (str_eq(name, str_of(mcp_revisions[i].name))) return &mcp_revisions[i];
  return NULL;
}

static const struct mcp_revision *newest(bool stateless) {
  for (size_t i = mcp_revision_count; i-- > 0;)
    if (mcp_revisions[i].stateless == stateless) return &mcp_revisions[i];
  return NULL;
}

const struct mcp_revision *mcp_revision_latest(void) {
  return newest(false);
}

const struct mcp_revision *mcp_revision_stateless(void) {
  return newest(true);
}

const struct mcp_revision *mcp_revision_negotiate(str name) {
  const struct mcp_revision *r = mcp_revision_find(name);
  return r && !r->stateless ? r : mcp_revision_latest();
}

const struct mcp_revision *mcp_revision_unstated(void) {
  return mcp_revision_find(STR("2025-03-26"));
}

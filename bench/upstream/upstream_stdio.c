// SPDX-License-Identifier: Apache-2.0
// A benchmark upstream over stdio, of the handshake era, one JSON message a line: upstream_stdio [TOOLS]
// It reads as much as there is, answers every whole line and writes once.
#include <errno.h>
#include <unistd.h>

#include "mcp.h"

enum { MAX_BYTES = 64 << 20, READ_SIZE = 65536 };

static bool write_all(str bytes) {
  while (bytes.n) {
    ssize_t k = write(STDOUT_FILENO, bytes.p, bytes.n);
    if (k < 0 && errno != EINTR) return false;
    if (k > 0) bytes = str_from(bytes, (size_t)k);
  }
  return true;
}

static bool answer_lines(const struct mcp *m, struct buf *in, struct buf *out) {
  str rest = buf_view(in), line;
  for (str tail; str_cut(rest, '\n', &line, &tail); rest = tail)
    if (mcp_handle(m, NULL, line, out) != MCP_NOTHING) buf_char(out, '\n');
  buf_drop(in, in->n - rest.n);
  bool sent = write_all(buf_view(out));
  buf_reset(out);
  return sent;
}

int main(int argc, char **argv) {
  uint64_t tools = 10;
  if (argc > 1 && !str_to_u64(str_of(argv[1]), &tools)) return 2;
  struct mcp m;
  struct buf in, out;
  mcp_init(&m, MCP_HANDSHAKE, (unsigned)tools);
  buf_init(&in, MAX_BYTES);
  buf_init(&out, MAX_BYTES);
  for (;;) {
    char *room = buf_room(&in, READ_SIZE);
    ssize_t k = room ? read(STDIN_FILENO, room, READ_SIZE) : 0;
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) break;
    in.n += (size_t)k;
    if (!answer_lines(&m, &in, &out)) break;
  }
  buf_done(&in);
  buf_done(&out);
  buf_done(&m.tools);
  return 0;
}

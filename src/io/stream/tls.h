// SPDX-License-Identifier: Apache-2.0
// TLS for outgoing connections: OpenSSL between two byte buffers. Certificates and names are always
// verified against the system's store (SSL_CERT_FILE and SSL_CERT_DIR are honoured); TLS 1.2 at least.
#pragma once
#include "base/buf.h"
#include "base/fault.h"
#include "base/str.h"

struct tls_client;  // context: one for the process, outlives its sessions

struct tls_client *tls_client_new(struct fault *f);
void tls_client_free(struct tls_client **c);

// One connection's state machine, without I/O: bytes from the wire in, bytes for the wire out.
struct tls_session;

// host is a name, or an address as numbers: what the certificate must be for.
struct tls_session *tls_session_new(struct tls_client *c, str host);
void tls_session_free(struct tls_session **s);

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };

// Takes ciphertext, appends plaintext to `plain` and what must be sent to `wire` (an alert, too). The first call, with
// no ciphertext, starts the handshake. TLS_CLOSED: the peer says that nothing follows. On TLS_FAILED f says why.
enum tls_state tls_session_feed(struct tls_session *s, str cipher, struct buf *plain, struct buf *wire,
                                struct fault *f);

// Encrypts. Fails when the session is not open, or wire overflows: it needs about 100 bytes for each 16 KiB of plain
// more than that.
bool tls_session_write(struct tls_session *s, str plain, struct buf *wire, struct fault *f);

// Says to the peer that nothing follows. Nothing to be written afterwards.
void tls_session_end(struct tls_session *s, struct buf *wire);

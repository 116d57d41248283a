// SPDX-License-Identifier: Apache-2.0
// io/tls and TLS streams: certificates made on the spot, a server in a thread, the HTTP client before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/http/http_client.h"
#include "io/stream/stream.h"
#include "io/stream/tls.h"

// --- certificates

struct identity {
  X509 *cert;
  EVP_PKEY *key;
};

static struct identity authority, foreign_user;  // the one that is trusted, and one that is not
static char trusted_file[256];

static void add_extension(X509 *cert, int nid, const char *value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
  X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  assert_non_null(e);
  X509_add_ext(cert, e, -1);
  X509_EXTENSION_free(e);
}

// Signed by `by`, or by itself when that is NULL. names as in "DNS:localhost,IP:127.0.0.1".
static struct identity issue(const struct identity *by, const char *common_name, const char *names, long days) {
  struct identity id = {X509_new(), EVP_EC_gen("P-256")};
  X509_set_version(id.cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(id.cert), rand());
  X509_gmtime_adj(X509_getm_notBefore(id.cert), -10 * 86400);
  X509_gmtime_adj(X509_getm_notAfter(id.cert), days * 86400);
  X509_set_pubkey(id.cert, id.key);
  X509_NAME *subject = X509_get_subject_name(id.cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0);
  X509_set_issuer_name(id.cert, by ? X509_get_subject_name(by->cert) : subject);
  add_extension(id.cert, NID_basic_constraints, by ? "CA:FALSE" : "critical,CA:TRUE");
  if (names) add_extension(id.cert, NID_subject_alt_name, names);
  assert_true(X509_sign(id.cert, by ? by->key : id.key, EVP_sha256()) > 0);
  return id;
}

static void identity_done(struct identity *id) {
  X509_free(id->cert);
  EVP_PKEY_free(id->key);
}

static int make_authorities(void **state) {
  signal(SIGPIPE, SIG_IGN);
  authority = issue(NULL, "Authority of the tests", NULL, 10);
  foreign_user = issue(NULL, "Stranger", NULL, 10);
  const char *folder = getenv("TMPDIR");
  snprintf(trusted_file, sizeof trusted_file, "%s/toolgate-test-XXXXXX", folder ? folder : P_tmpdir);
  int fd = mkstemp(trusted_file);
  FILE *file = fdopen(fd, "w");
  PEM_write_X509(file, authority.cert);
  fclose(file);
  setenv("SSL_CERT_FILE", trusted_file, 1);
  return 0;
}

static int drop_authorities(void **state) {
  identity_done(&authority);
  identity_done(&foreign_user);
  unlink(trusted_file);
  return 0;
}

static SSL_CTX *server_context(const struct identity *id) {
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(ctx, id->cert);
  SSL_CTX_use_PrivateKey(ctx, id->key);
  return ctx;
}

// --- a server: one connection after the other, until it is stopped

enum manner { ORDERLY, NO_CLOSE_NOTIFY, PLAIN_TEXT, HANG_UP, SILENT };

struct server {
  SSL_CTX *ctx;
  int listener;
  uint16_t port;
  enum manner manner;
  const char *response;
  bool close_after;     // the response
  size_t request_size;  // bytes to read before the response
  pthread_t thread;
  // what it saw
  int connections, requests;
  char sni[64], alpn[32];
  char *last_request;
};

static void note_hello(struct server *s, SSL *ssl) {
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  snprintf(s->sni, sizeof s->sni, "%s", name ? name : "(none)");
}

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in, unsigned n,
                       void *ctx) {
  struct server *s = ctx;
  snprintf(s->alpn, sizeof s->alpn, "%.*s", (int)in[0], (const char *)in + 1);
  *out = in + 1;
  *out_n = in[0];
  return SSL_TLSEXT_ERR_OK;
}

static bool read_request(struct server *s, SSL *ssl) {
  size_t have = 0;
  while (have < s->request_size) {
    int n = SSL_read(ssl, s->last_request + have, (int)(s->request_size - have));
    if (n <= 0) return false;
    have += (size_t)n;
  }
  s->requests++;
  return true;
}

static void serve(struct server *s, int fd) {
  SSL *ssl = SSL_new(s->ctx);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1) {
    note_hello(s, ssl);
    while (read_request(s, ssl)) {
      SSL_write(ssl, s->response, (int)strlen(s->response));
      if (s->close_after) break;
    }
    if (s->manner == ORDERLY) SSL_shutdown(ssl);
  }
  SSL_free(ssl);
}

static void wait_for_hangup(int fd) {
  char c[4096];
  while (recv(fd, c, sizeof c, 0) > 0) continue;
}

static void *server_main(void *arg) {
  struct server *s = arg;
  int fd;
  while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
    s->connections++;
    if (s->manner <= NO_CLOSE_NOTIFY) serve(s, fd);
    if (s->manner == PLAIN_TEXT) (void)!write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    if (s->manner >= PLAIN_TEXT && s->manner != HANG_UP) wait_for_hangup(fd);
    if (s->manner == HANG_UP) {
      char c[4096];
      (void)!recv(fd, c, sizeof c, 0);
    }
    close(fd);
  }
  return NULL;
}

static void server_start(struct server *s, const struct identity *id) {
  *s = (struct server){.ctx = server_context(id), .response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"};
  SSL_CTX_set_alpn_select_cb(s->ctx, choose_alpn, s);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  s->listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(s->listener, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(s->listener, 16), 0);
  getsockname(s->listener, (struct sockaddr *)&a, &n);
  s->port = ntohs(a.sin_port);
}

static void server_run(struct server *s, size_t request_size) {
  s->request_size = request_size;
  s->last_request = mem_zero(request_size + 1);
  assert_int_equal(pthread_create(&s->thread, NULL, server_main, s), 0);
}

static void server_stop(struct server *s) {
  shutdown(s->listener, SHUT_RDWR);
  pthread_join(s->thread, NULL);
  close(s->listener);
  SSL_CTX_free(s->ctx);
  mem_free(s->last_request);
}

// --- a client

struct client {
  struct loop loop;
  struct tls_client *tls;
  struct http_origin *origin;
  struct http_fetch fetch;
  int dones, status;
  bool failed;
  struct fault fault;
  struct buf body;
};

static void on_head(struct http_fetch *f, const struct http_head *h) {
  CONTAINER_OF(f, struct client, fetch)->status = h->status;
}
static void on_body(struct http_fetch *f, str bytes) {
  buf_str(&CONTAINER_OF(f, struct client, fetch)->body, bytes);
}
static void on_done(struct http_fetch *f, const struct fault *fault) {
  struct client *c = CONTAINER_OF(f, struct client, fetch);
  c->dones++;
  c->failed = fault;
  if (fault) c->fault = *fault;
}

static void client_start(struct client *c, const char *host, uint16_t port) {
  *c = (struct client){.fetch = {.on_head = on_head, .on_body = on_body, .on_done = on_done}};
  loop_init(&c->loop, NULL, &clock_system, &rand_system);
  buf_init(&c->body, 64 << 20);
  c->tls = tls_client_new(&c->fault);
  assert_non_null(c->tls);
  struct http_url url = {.tls = true, .host = str_of(host), .port = port};
  c->origin = http_origin_new(&c->loop, &url, c->tls, NULL);
}

static const str small_request = {"GET / HTTP/1.1\r\nHost: h\r\n", 25};
enum { SMALL_REQUEST = 27 };  // with the empty line

static void client_run(struct client *c, str head, str body) {
  c->dones = 0;
  buf_reset(&c->body);
  http_fetch_start(c->origin, &c->fetch, head, body);
  while (!c->dones) uv_run(&c->loop.uv, UV_RUN_ONCE);
}

static void client_stop(struct client *c) {
  http_origin_free(&c->origin);
  loop_run(&c->loop);
  tls_client_free(&c->tls);
  loop_done(&c->loop);
  buf_done(&c->body);
}

static void talks(const char *host, const char *names, const char *want_sni) {
  struct identity id = issue(&authority, "server", names, 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  server_run(&s, SMALL_REQUEST);
  client_start(&c, host, s.port);
  for (int i = 0; i < 3; i++) {
    client_run(&c, small_request, STR_NONE);
    assert_false(c.failed);
    assert_int_equal(c.status, 200);
    assert_true(str_eq(buf_view(&c.body), STR("{}")));
  }
  client_stop(&c);
  server_stop(&s);
  assert_int_equal(s.connections, 1);
  assert_int_equal(s.requests, 3);
  assert_string_equal(s.sni, want_sni);
  assert_string_equal(s.alpn, "http/1.1");
  identity_done(&id);
}

static void a_trusted_server_is_talked_to_by_name_or_address(void **state) {
  talks("localhost", "DNS:localhost", "localhost");
  talks("127.0.0.1", "IP:127.0.0.1", "(none)");
}

// The end of the message that a fetch fails with.
static void refuses(const char *host, struct identity id, enum manner manner, const char *why) {
  struct server s;
  struct client c;
  server_start(&s, &id);
  s.manner = manner;
  server_run(&s, SMALL_REQUEST);
  client_start(&c, host, s.port);
  client_run(&c, small_request, STR_NONE);
  assert_true(c.failed);
  assert_int_equal(c.fault.code, FAULT_UPSTREAM_UNAVAILABLE);
  char want[256];
  snprintf(want, sizeof want, "cannot connect to %s port %u: %s", host, s.port, why);
  assert_string_equal(c.fault.message, want);
  client_stop(&c);
  server_stop(&s);
  assert_int_equal(s.requests, 0);
  identity_done(&id);
}

static void a_certificate_for_another_host_is_refused(void **state) {
  refuses("localhost", issue(&authority, "localhost", "DNS:example.com", 10), ORDERLY,
          "the server's certificate was refused: hostname mismatch");
  refuses("127.0.0.1", issue(&authority, "127.0.0.1", "DNS:localhost", 10), ORDERLY,
          "the server's certificate was refused: IP address mismatch");
}

static void a_certificate_of_an_unknown_authority_is_refused(void **state) {
  refuses("localhost", issue(&foreign_user, "localhost", "DNS:localhost", 10), ORDERLY,
          "the server's certificate was refused: unable to get local issuer certificate");
  refuses("localhost", issue(NULL, "localhost", "DNS:localhost", 10), ORDERLY,
          "the server's certificate was refused: self-signed certificate");
}

static void an_expired_certificate_is_refused(void **state) {
  refuses("localhost", issue(&authority, "localhost", "DNS:localhost", -1), ORDERLY,
          "the server's certificate was refused: certificate has expired");
}

static void a_server_that_does_not_speak_tls_is_refused(void **state) {
  refuses("localhost", issue(&authority, "localhost", "DNS:localhost", 10), PLAIN_TEXT,
          "the server does not speak TLS on this port");
}

static void a_server_that_hangs_up_in_the_handshake_is_reported(void **state) {
  refuses("localhost", issue(&authority, "localhost", "DNS:localhost", 10), HANG_UP,
          "closed by the server during the TLS handshake");
}

static void old_versions_of_tls_are_refused(void **state) {
  struct identity id = issue(&authority, "localhost", "DNS:localhost", 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  SSL_CTX_set_security_level(s.ctx, 0);
  SSL_CTX_set_min_proto_version(s.ctx, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(s.ctx, TLS1_1_VERSION);
  server_run(&s, SMALL_REQUEST);
  client_start(&c, "localhost", s.port);
  client_run(&c, small_request, STR_NONE);
  assert_true(c.failed);
  assert_non_null(strstr(c.fault.message, "protocol version"));
  client_stop(&c);
  server_stop(&s);
  identity_done(&id);
}

static void tls_1_2_is_spoken(void **state) {
  struct identity id = issue(&authority, "localhost", "DNS:*.example.com,DNS:localhost", 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  SSL_CTX_set_max_proto_version(s.ctx, TLS1_2_VERSION);
  server_run(&s, SMALL_REQUEST);
  client_start(&c, "localhost", s.port);
  client_run(&c, small_request, STR_NONE);
  assert_false(c.failed);
  client_stop(&c);
  server_stop(&s);
  identity_done(&id);
}

static void large_messages_arrive_whole_both_ways(void **state) {
  enum { SIZE = 5 << 20 };
  static const str head = {"POST / HTTP/1.1\r\nHost: h\r\n", 26};
  char *text = mem_alloc(SIZE + 100);
  int at = snprintf(text, 100, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
  for (int i = 0; i < SIZE; i++) text[at + i] = (char)('a' + i * 11 % 26);
  text[at + SIZE] = 0;
  struct identity id = issue(&authority, "localhost", "DNS:localhost", 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  s.response = text;
  server_run(&s, head.n + strlen("Content-Length: 5242880\r\n\r\n") + SIZE);
  client_start(&c, "localhost", s.port);
  client_run(&c, head, (str){text + at, SIZE});
  assert_false(c.failed);
  assert_true(str_eq(buf_view(&c.body), (str){text + at, SIZE}));
  assert_memory_equal(s.last_request + s.request_size - SIZE, text + at, SIZE);
  client_stop(&c);
  server_stop(&s);
  assert_int_equal(s.requests, 1);
  identity_done(&id);
  mem_free(text);
}

static void ends(enum manner manner, const char *response, const char *fault, const char *body) {
  struct identity id = issue(&authority, "localhost", "DNS:localhost", 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  s.manner = manner;
  s.response = response;
  s.close_after = true;
  server_run(&s, SMALL_REQUEST);
  client_start(&c, "localhost", s.port);
  client_run(&c, small_request, STR_NONE);
  assert_int_equal(c.failed, fault != NULL);
  if (fault) assert_non_null(strstr(c.fault.message, fault));
  assert_true(str_eq(buf_view(&c.body), str_of(body)));
  client_stop(&c);
  server_stop(&s);
  identity_done(&id);
}

static void only_the_framing_of_http_decides_whether_a_body_was_cut_off(void **state) {
  for (enum manner m = ORDERLY; m <= NO_CLOSE_NOTIFY; m++) {
    ends(m, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhalf", NULL, "half");
    ends(m, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "closed in the middle of a response", "half");
    ends(m, "HTTP/1.1 200 OK\r\n\r\nhalf", NULL, "half");
  }
}

static void a_handshake_can_be_given_up(void **state) {
  struct identity id = issue(&authority, "localhost", "DNS:localhost", 10);
  struct server s;
  struct client c;
  server_start(&s, &id);
  s.manner = SILENT;
  server_run(&s, SMALL_REQUEST);
  client_start(&c, "127.0.0.1", s.port);
  http_fetch_start(c.origin, &c.fetch, small_request, STR_NONE);
  for (int i = 0; i < 20; i++) {
    uv_run(&c.loop.uv, UV_RUN_NOWAIT);
    usleep(1000);
  }
  http_fetch_cancel(&c.fetch);
  client_stop(&c);
  assert_int_equal(c.dones, 0);
  server_stop(&s);
  identity_done(&id);
}

// --- the state machine alone, against OpenSSL's own memory BIOs

struct pair {
  struct tls_client *client;
  struct tls_session *session;
  SSL_CTX *ctx;
  SSL *server;
  struct buf plain, wire;
  struct identity id;
};

static void pair_init(struct pair *p) {
  struct fault f;
  p->id = issue(&authority, "server", "DNS:localhost", 10);
  p->client = tls_client_new(&f);
  p->session = tls_session_new(p->client, STR("localhost"));
  p->ctx = server_context(&p->id);
  p->server = SSL_new(p->ctx);
  SSL_set_bio(p->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_accept_state(p->server);
  buf_init(&p->plain, 1 << 20);
  buf_init(&p->wire, 1 << 20);
}

static void pair_done(struct pair *p) {
  tls_session_free(&p->session);
  tls_client_free(&p->client);
  SSL_free(p->server);
  SSL_CTX_free(p->ctx);
  buf_done(&p->plain);
  buf_done(&p->wire);
  identity_done(&p->id);
}

// What the client wants to send goes to the server, what that answers to the client, a byte at a time.
static enum tls_state exchange(struct pair *p) {
  struct fault f;
  enum tls_state state = TLS_HANDSHAKE;
  if (p->wire.n) BIO_write(SSL_get_rbio(p->server), p->wire.p, (int)p->wire.n);
  buf_reset(&p->wire);
  SSL_do_handshake(p->server);
  char byte;
  while (BIO_read(SSL_get_wbio(p->server), &byte, 1) == 1)
    state = tls_session_feed(p->session, (str){&byte, 1}, &p->plain, &p->wire, &f);
  return state;
}

static void bytes_may_come_one_by_one(void **state) {
  struct pair p;
  struct fault f;
  pair_init(&p);
  assert_false(tls_session_write(p.session, STR("too early"), &p.wire, &f));
  assert_int_equal(tls_session_feed(p.session, STR_NONE, &p.plain, &p.wire, &f), TLS_HANDSHAKE);
  assert_true(p.wire.n > 0);
  while (!SSL_is_init_finished(p.server)) exchange(&p);
  assert_true(tls_session_write(p.session, STR("question"), &p.wire, &f));
  char got[32] = {0};
  exchange(&p);
  assert_int_equal(SSL_read(p.server, got, sizeof got), 8);
  assert_string_equal(got, "question");
  SSL_write(p.server, "answer", 6);
  assert_int_equal(exchange(&p), TLS_OPEN);
  assert_true(str_eq(buf_view(&p.plain), STR("answer")));
  SSL_shutdown(p.server);
  assert_int_equal(exchange(&p), TLS_CLOSED);
  pair_done(&p);
}

static void ending_a_session_tells_the_peer(void **state) {
  struct pair p;
  struct fault f;
  pair_init(&p);
  tls_session_end(p.session, &p.wire);  // nothing to end yet
  assert_int_equal(p.wire.n, 0);
  tls_session_feed(p.session, STR_NONE, &p.plain, &p.wire, &f);
  while (!SSL_is_init_finished(p.server)) exchange(&p);
  tls_session_end(p.session, &p.wire);
  exchange(&p);
  char c;
  assert_int_equal(SSL_read(p.server, &c, 1), 0);
  assert_int_equal(SSL_get_shutdown(p.server) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
  pair_done(&p);
}

static void damaged_records_fail_the_session(void **state) {
  struct pair p;
  struct fault f;
  pair_init(&p);
  tls_session_feed(p.session, STR_NONE, &p.plain, &p.wire, &f);
  while (!SSL_is_init_finished(p.server)) exchange(&p);
  exchange(&p);
  SSL_write(p.server, "answer", 6);
  char record[256];
  int n = BIO_read(SSL_get_wbio(p.server), record, sizeof record);
  record[n - 1] ^= 1;
  assert_int_equal(tls_session_feed(p.session, (str){record, (size_t)n}, &p.plain, &p.wire, &f), TLS_FAILED);
  assert_string_equal(f.message, "TLS failed: decryption failed or bad record mac");
  assert_false(tls_session_write(p.session, STR("x"), &p.wire, &f));
  pair_done(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_trusted_server_is_talked_to_by_name_or_address),
      cmocka_unit_test(a_certificate_for_another_host_is_refused),
      cmocka_unit_test(a_certificate_of_an_unknown_authority_is_refused),
      cmocka_unit_test(an_expired_certificate_is_refused),
      cmocka_unit_test(a_server_that_does_not_speak_tls_is_refused),
      cmocka_unit_test(a_server_that_hangs_up_in_the_handshake_is_reported),
      cmocka_unit_test(old_versions_of_tls_are_refused),
      cmocka_unit_test(tls_1_2_is_spoken),
      cmocka_unit_test(large_messages_arrive_whole_both_ways),
      cmocka_unit_test(only_the_framing_of_http_decides_whether_a_body_was_cut_off),
      cmocka_unit_test(a_handshake_can_be_given_up),
      cmocka_unit_test(bytes_may_come_one_by_one),
      cmocka_unit_test(ending_a_session_tells_the_peer),
      cmocka_unit_test(damaged_records_fail_the_session),
  };
  return cmocka_run_group_tests(tests, make_authorities, drop_authorities);
}

// SPDX-License-Identifier: Apache-2.0
#include "app/check/check_services.h"

#include "app/config/config_load.h"
#include "govern/records.h"
#include "io/http/http.h"

enum { MAX_URL = 1 << 20 };

// Returns the configuration key that names the source of the issuer's keys.
static const char *keys_kind(const struct config_jwt *jwt) {
  ASSERT(!jwt->jwks_url.n || !jwt->key_file.n);  // the parser accepts one source of keys
  return jwt->jwks_url.n ? "jwks_url" : jwt->key_file.n ? "key_file" : "secret";
}

// ---- text

// Appends a text from the configuration, without control characters that could move the cursor.
static void print_plain(struct buf *out, str text) {
  size_t from = out->n;
  buf_str(out, text);
  if (!out->over && text.n) str_mask_controls(out->p + from, text.n);
}

static void print_url(struct buf *out, str url) {
  size_t from = out->n;
  config_put_url(out, url);
  if (!out->over && out->n > from) str_mask_controls(out->p + from, out->n - from);
}

static void print_algorithms(struct buf *out, unsigned algorithms) {
  const char *before = "; ";
  for (int i = 0; i < JWT_ALGORITHMS; i++) {
    if (!(algorithms & jwt_bit((enum jwt_algorithm)i))) continue;
    buf_printf(out, "%s%s", before, jwt_algorithm_names[i]);
    before = ", ";
  }
}

static void print_issuer(struct buf *out, const struct config *c) {
  const struct config_jwt *jwt = &c->jwt;
  str audience = jwt->audience.n ? jwt->audience : c->resource;
  buf_str(out, STR("issuer: "));
  print_plain(out, jwt->issuer);
  if (jwt->jwks_url.n) {
    buf_str(out, STR("; keys from "));
    print_url(out, jwt->jwks_url);
  } else if (jwt->key_file.n) {
    buf_printf(out, "; %zu key%s from ", jwt_keys_count(jwt->keys), jwt_keys_count(jwt->keys) == 1 ? "" : "s");
    print_plain(out, jwt->key_file);
  } else {
    buf_str(out, STR("; a secret"));
  }
  print_algorithms(out, jwt->algorithms);
  buf_str(out, STR("; audience "));
  print_plain(out, audience.n ? audience : STR("(the URL of the listener)"));
  buf_str(out, STR("; agent in the claim "));
  print_plain(out, jwt->claim);
  for (size_t i = 0; i < jwt->scope_count; i++) {
    buf_str(out, i ? STR(", ") : STR("; scopes "));
    print_plain(out, jwt->scopes[i]);
  }
  buf_char(out, '\n');
}

static void print_workload(struct buf *out, const struct config *c) {
  const struct config_jwt *jwt = &c->workload;
  buf_str(out, STR("workload tokens: "));
  print_plain(out, jwt->issuer);
  buf_str(out, STR("; audience "));
  print_plain(out, jwt->audience);
  buf_str(out, c->needs_workload ? STR("; required\n") : STR("; optional\n"));
}

static const char *audit_off(const struct config *c) {
  ASSERT(!c->audit_file.n);
  if (c->audit_enabled == CONFIG_AUDIT_OFF) return "audit.enabled is false";
  return c->policy ? "state_dir has the value none and audit.file is not set"
                   : "there is no rules file and audit.file is not set";
}

static void print_audit(struct buf *out, const struct config *c) {
  buf_str(out, STR("audit: "));
  print_plain(out, c->audit_file);
  buf_printf(out, "%s%s; if it cannot be written, %s\n", c->audit_key.n ? ", signed" : "",
             c->audit_arguments ? ", with arguments" : "",
             c->audit_required ? "requests are refused" : "calls continue and lines are kept in memory");
}

// Says whether governed calls are recorded.
static void print_records(struct buf *out, const struct config *c) {
  static const char *const arguments[] = {", with arguments", ", with digests of arguments", ", without arguments"};
  const struct governance_records *r = governance_records(c->governance);
  if (!r->enabled || !c->state_dir.n) {
    buf_printf(out, "records: off; %s\n", !r->enabled ? "records.enabled is false" : "state_dir has the value none");
    return;
  }
  buf_str(out, STR("records: "));
  print_plain(out, c->state_dir);
  buf_printf(out, "/records, for %llu days%s%s; if they cannot be written, %s\n", (unsigned long long)r->keep_days,
             arguments[r->arguments], r->output == RECORDS_OUTPUT_FULL ? ", with results" : "",
             r->on_failure ? "governed calls are refused" : "calls continue");
}

// Says whether idempotency keys survive the end of the gateway.
static void print_keys(struct buf *out, const struct config *c) {
  if (c->state_dir.n) return;
  buf_str(out, STR("idempotency keys: lost when the gateway ends; state_dir has the value none\n"));
}

static void print_traces(struct buf *out, const struct config *c) {
  ASSERT(c->trace_permille <= 1000);
  buf_str(out, STR("traces: "));
  print_url(out, c->traces);
  buf_printf(out, ", %u.%u %% of the traces that start here\n", c->trace_permille / 10, c->trace_permille % 10);
}

static void print_admin(struct buf *out, const struct config *c) {
  ASSERT(c->admin_listen.n && c->admin_host.n);
  char host[HTTP_HOST_TEXT];
  buf_printf(out, "readiness and metrics: %s port %u, %s", http_host_print(c->admin_host, host),
             (unsigned)c->admin_port, c->admin_reader.set ? "with a token" : "without a token");
  if (c->admin_operator.set) buf_str(out, STR(", reload with the operator's token"));
  for (size_t i = 0; i < c->admin_hosts.count; i++)
    buf_printf(out, "%s%.*s", i ? ", " : ", also as ", STR_ARG(c->admin_hosts.names[i]));
  buf_char(out, '\n');
}

void check_print_services(struct buf *out, const struct config *c) {
  if (c->jwt.issuer.n && c->transport == CONFIG_HTTP) print_issuer(out, c);
  if (c->workload.issuer.n && c->transport == CONFIG_HTTP) print_workload(out, c);
  if (c->audit_file.n) print_audit(out, c);
  else buf_printf(out, "audit: off; %s\n", audit_off(c));
  if (c->governance) print_records(out, c);
  if (c->governance) print_keys(out, c);
  if (c->admin_listen.n) print_admin(out, c);
  if (c->traces.n) print_traces(out, c);
}

// ---- JSON

static void url_member(struct json_writer *w, str key, str url) {
  struct buf shown;
  buf_init(&shown, MAX_URL);
  config_put_url(&shown, url);
  ASSERT(!shown.over);  // the text fits: it comes from a configuration file, which is smaller than this buffer
  json_member_str(w, key, buf_view(&shown));
  buf_done(&shown);
}

static void write_issuer(struct json_writer *w, const struct config *c) {
  const struct config_jwt *jwt = &c->jwt;
  json_put_key(w, STR("jwt"));
  json_begin_object(w);
  json_member_str(w, STR("issuer"), jwt->issuer);
  if (jwt->audience.n || c->resource.n)
    json_member_str(w, STR("audience"), jwt->audience.n ? jwt->audience : c->resource);
  json_member_str(w, STR("agent_claim"), jwt->claim);
  json_member_str(w, STR("keys"), str_of(keys_kind(jwt)));
  if (jwt->jwks_url.n) url_member(w, STR("jwks_url"), jwt->jwks_url);
  if (jwt->key_file.n) json_member_str(w, STR("key_file"), jwt->key_file);
  json_put_key(w, STR("algorithms"));
  json_begin_array(w);
  for (int i = 0; i < JWT_ALGORITHMS; i++)
    if (jwt->algorithms & jwt_bit((enum jwt_algorithm)i)) json_put_str(w, str_of(jwt_algorithm_names[i]));
  json_end_array(w);
  json_put_key(w, STR("scopes"));
  json_begin_array(w);
  for (size_t i = 0; i < jwt->scope_count; i++) json_put_str(w, jwt->scopes[i]);
  json_end_array(w);
  json_end_object(w);
}

static void write_workload(struct json_writer *w, const struct config *c) {
  json_put_key(w, STR("workload"));
  json_begin_object(w);
  json_member_str(w, STR("issuer"), c->workload.issuer);
  json_member_str(w, STR("audience"), c->workload.audience);
  json_member_bool(w, STR("required"), c->needs_workload);
  json_end_object(w);
}

static void write_audit(struct json_writer *w, const struct config *c) {
  json_put_key(w, STR("audit"));
  json_begin_object(w);
  json_member_bool(w, STR("enabled"), c->audit_file.n > 0);
  if (!c->audit_file.n) {
    json_member_str(w, STR("reason"), str_of(audit_off(c)));
    json_end_object(w);
    return;
  }
  json_member_str(w, STR("file"), c->audit_file);
  json_member_str(w, STR("on_failure"), c->audit_required ? STR("deny") : STR("continue"));
  json_member_bool(w, STR("signed"), c->audit_key.n > 0);
  json_member_bool(w, STR("arguments"), c->audit_arguments);
  json_end_object(w);
}

static void write_records(struct json_writer *w, const struct config *c) {
  const struct governance_records *r = governance_records(c->governance);
  json_put_key(w, STR("records"));
  json_begin_object(w);
  json_member_bool(w, STR("enabled"), r->enabled && c->state_dir.n > 0);
  json_member_u64(w, STR("keep_days"), r->keep_days);
  json_member_bool(w, STR("results"), r->output == RECORDS_OUTPUT_FULL);
  json_member_str(w, STR("on_failure"), r->on_failure ? STR("refuse") : STR("continue"));
  json_end_object(w);
}

static void write_admin(struct json_writer *w, const struct config *c) {
  json_put_key(w, STR("admin"));
  json_begin_object(w);
  json_member_str(w, STR("host"), c->admin_host);
  json_member_u64(w, STR("port"), c->admin_port);
  json_member_bool(w, STR("token"), c->admin_reader.set);
  json_member_bool(w, STR("operator_token"), c->admin_operator.set);
  json_put_key(w, STR("allowed_hosts"));
  json_begin_array(w);
  for (size_t i = 0; i < c->admin_hosts.count; i++) json_put_str(w, c->admin_hosts.names[i]);
  json_end_array(w);
  json_end_object(w);
}

static void write_traces(struct json_writer *w, const struct config *c) {
  json_put_key(w, STR("traces"));
  json_begin_object(w);
  url_member(w, STR("endpoint"), c->traces);
  json_member_u64(w, STR("sample_permille"), c->trace_permille);
  json_end_object(w);
}

void check_write_services(struct json_writer *w, const struct config *c) {
  if (c->jwt.issuer.n && c->transport == CONFIG_HTTP) write_issuer(w, c);
  if (c->workload.issuer.n && c->transport == CONFIG_HTTP) write_workload(w, c);
  write_audit(w, c);
  if (c->governance) write_records(w, c);
  if (c->admin_listen.n) write_admin(w, c);
  if (c->traces.n) write_traces(w, c);
}

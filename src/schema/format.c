// SPDX-License-Identifier: Apache-2.0
#include "schema/format.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "schema/regex.h"
#include "schema/uri.h"

// Returns whether `s` has a URI escape at `i`: "%" and two hexadecimal digits.
static bool has_escape(str s, size_t i) {
  return i + 2 < s.n && s.p[i] == '%' && ascii_hex(s.p[i + 1]) >= 0 && ascii_hex(s.p[i + 2]) >= 0;
}

// Reads a number of exactly `digits` digits from the start of `s`, and removes the digits from `s`.
static bool take_number(str *s, size_t digits, unsigned *out) {
  unsigned v = 0;
  if (s->n < digits) return false;
  for (size_t i = 0; i < digits; i++) {
    if (!ascii_is_digit(s->p[i])) return false;
    v = v * 10 + (unsigned)(s->p[i] - '0');
  }
  *s = str_from(*s, digits);
  *out = v;
  return true;
}

static bool take_char(str *s, char c) {
  if (!s->n || s->p[0] != c) return false;
  *s = str_from(*s, 1);
  return true;
}

// ---- RFC 3339 ----

static bool take_date(str *s) {
  static const unsigned char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  unsigned year, month, day;
  if (!take_number(s, 4, &year) || !take_char(s, '-') || !take_number(s, 2, &month) || !take_char(s, '-') ||
      !take_number(s, 2, &day))
    return false;
  if (month < 1 || month > 12 || day < 1 || day > days[month - 1]) return false;
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return leap || month != 2 || day < 29;
}

static bool take_offset(str *s, int *out_minutes) {
  unsigned hours, minutes;
  *out_minutes = 0;
  if (take_char(s, 'Z') || take_char(s, 'z')) return true;
  bool ahead = s->n && s->p[0] == '+';
  if (!take_char(s, '+') && !take_char(s, '-')) return false;
  if (!take_number(s, 2, &hours) || !take_char(s, ':') || !take_number(s, 2, &minutes)) return false;
  *out_minutes = (int)(hours * 60 + minutes) * (ahead ? 1 : -1);
  return hours < 24 && minutes < 60;
}

static bool take_time(str *s) {
  unsigned hours, minutes, seconds;
  int offset;
  if (!take_number(s, 2, &hours) || !take_char(s, ':') || !take_number(s, 2, &minutes) || !take_char(s, ':') ||
      !take_number(s, 2, &seconds))
    return false;
  if (take_char(s, '.')) {
    if (!s->n || !ascii_is_digit(s->p[0])) return false;
    while (s->n && ascii_is_digit(s->p[0])) *s = str_from(*s, 1);
  }
  if (!take_offset(s, &offset) || hours > 23 || minutes > 59 || seconds > 60) return false;
  // Computes the time in UTC: a leap second (60) is valid only at the end of the last minute of a day in UTC.
  int utc = ((int)(hours * 60 + minutes) - offset + 2 * 1440) % 1440;
  return seconds < 60 || utc == 1439;
}

static bool check_date(str s) {
  return take_date(&s) && !s.n;
}

static bool check_time(str s) {
  return take_time(&s) && !s.n;
}

static bool check_date_time(str s) {
  return take_date(&s) && (take_char(&s, 'T') || take_char(&s, 't')) && take_time(&s) && !s.n;
}

// Reads the parts of a duration, such as 1Y2M, whose units must be in the order of `units`. Returns the number of parts
// read, or -1 if a part is invalid.
static int take_units(str *s, const char *units) {
  int count = 0;
  while (s->n && ascii_is_digit(s->p[0])) {
    while (s->n && ascii_is_digit(s->p[0])) *s = str_from(*s, 1);
    const char *unit = s->n && s->p[0] ? strchr(units, s->p[0]) : NULL;
    // RFC 3339 does not allow leaving out a unit between two others: P1Y2D is invalid.
    if (!unit || (count && unit != units)) return -1;
    units = unit + 1;
    *s = str_from(*s, 1);
    count++;
  }
  return count;
}

static bool check_duration(str s) {
  if (!take_char(&s, 'P')) return false;
  if (s.n > 1 && s.p[s.n - 1] == 'W') return take_units(&s, "W") == 1 && !s.n;
  int date = take_units(&s, "YMD"), time = 0;
  if (date < 0) return false;
  if (take_char(&s, 'T') && (time = take_units(&s, "HMS")) <= 0) return false;
  return date + time > 0 && !s.n;
}

// ---- hosts ----

static bool check_hostname(str s) {
  if (!s.n || s.n > 253) return false;
  str label;
  for (bool more = true; more;) {
    more = str_cut(s, '.', &label, &s);
    if (!label.n || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-') return false;
    if (label.n > 3 && label.p[2] == '-' && label.p[3] == '-' && (label.p[0] | 0x20) != 'x') return false;
    for (size_t i = 0; i < label.n; i++)
      if (!ascii_is_alnum(label.p[i]) && label.p[i] != '-') return false;
  }
  return true;
}

static bool check_ipv4(str s) {
  for (int i = 0; i < 4; i++) {
    size_t digits = 0;
    unsigned v = 0;
    while (digits < s.n && digits < 4 && ascii_is_digit(s.p[digits])) v = v * 10 + (unsigned)(s.p[digits++] - '0');
    if (!digits || v > 255 || (digits > 1 && s.p[0] == '0')) return false;
    s = str_from(s, digits);
    if (i < 3 && !take_char(&s, '.')) return false;
  }
  return !s.n;
}

static bool check_ipv6(str s) {
  int groups = 0;
  bool gap = false;
  if (str_starts(s, STR("::"))) gap = true, s = str_from(s, 2);
  while (s.n) {
    size_t digits = 0;
    while (digits < s.n && digits < 5 && ascii_hex(s.p[digits]) >= 0) digits++;
    if (digits < s.n && s.p[digits] == '.') {
      groups += 2;
      return check_ipv4(s) && (gap ? groups < 8 : groups == 8);
    }
    if (!digits || digits > 4 || ++groups > 8) return false;
    s = str_from(s, digits);
    if (!s.n) break;
    if (str_starts(s, STR("::"))) {
      if (gap) return false;
      gap = true;
      s = str_from(s, 2);
    } else if (!take_char(&s, ':') || !s.n) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

// Accepts LOCAL@HOST: LOCAL consists of atoms or is a quoted string; HOST is a host name or an IP address in brackets.
static bool check_email(str s) {
  size_t at = s.n;
  while (at && s.p[at - 1] != '@') at--;
  if (at < 2) return false;
  str local = {s.p, at - 1}, host = str_from(s, at);
  if (local.n >= 2 && local.p[0] == '"' && local.p[local.n - 1] == '"') return check_hostname(host);
  for (size_t i = 0; i < local.n; i++) {
    char c = local.p[i];
    bool dot = c == '.' && i && i + 1 < local.n && local.p[i - 1] != '.';
    if (!dot && !ascii_is_alnum(c) && (!c || !strchr("!#$%&'*+/=?^_`{|}~-", c))) return false;
  }
  if (host.n < 3 || host.p[0] != '[' || host.p[host.n - 1] != ']') return check_hostname(host);
  str inside = {host.p + 1, host.n - 2};
  return str_starts(inside, STR("IPv6:")) ? check_ipv6(str_from(inside, 5)) : check_ipv4(inside);
}

// ---- URIs ----

static bool valid_authority(str authority) {
  str user, host = authority, port = STR_NONE;
  if (str_cut(authority, '@', &user, &host)) {
    if (memchr(host.p, '@', host.n) || memchr(user.p, '[', user.n)) return false;
  } else {
    host = authority;
  }
  if (host.n && host.p[0] == '[') {
    const char *close = memchr(host.p, ']', host.n);
    if (!close || !check_ipv6((str){host.p + 1, (size_t)(close - host.p) - 1})) return false;
    port = str_from(host, (size_t)(close - host.p) + 1);
    if (port.n && !take_char(&port, ':')) return false;
  } else {
    str name;
    if (memchr(host.p, '[', host.n) || memchr(host.p, ']', host.n)) return false;
    str_cut(host, ':', &name, &port);
  }
  for (size_t i = 0; i < port.n; i++)
    if (!ascii_is_digit(port.p[i])) return false;
  return true;
}

// Checks the characters and the %XX escapes of a URI. Characters above ASCII are valid only if `international` is set.
static bool valid_characters(str s, bool international) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c >= 0x80 ? !international : c <= ' ' || c == 0x7f || strchr("\"<>\\^`{|}", c)) return false;
    if (c == '%' && !has_escape(s, i)) return false;
  }
  return true;
}

static bool valid_uri(str s, bool absolute, bool international) {
  if (!valid_characters(s, international)) return false;
  str fragment, rest = uri_without_fragment(s, &fragment);
  if (fragment.n && memchr(fragment.p, '#', fragment.n)) return false;
  size_t scheme = uri_scheme(rest);
  if (absolute && !scheme) return false;
  if (scheme) rest = str_from(rest, scheme + 1);
  bool authority = str_starts(rest, STR("//"));
  size_t n = authority ? 2 : 0;
  while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?') {
    // A colon is not allowed here: readers would take the text before it as a scheme.
    if (!authority && !scheme && rest.p[n] == ':') return false;
    n++;
  }
  if (authority && !valid_authority((str){rest.p + 2, n - 2})) return false;
  str path = authority ? str_from(rest, n) : rest;
  return !path.n || (!memchr(path.p, '[', path.n) && !memchr(path.p, ']', path.n));
}

static bool check_uri(str s) {
  return valid_uri(s, true, false);
}

static bool check_uri_reference(str s) {
  return valid_uri(s, false, false);
}

static bool check_iri(str s) {
  return valid_uri(s, true, true);
}

static bool check_iri_reference(str s) {
  return valid_uri(s, false, true);
}

// ---- URI templates, RFC 6570 ----

// Accepts a variable of a URI template: names of letters, digits, underscores and %XX escapes, separated by dots. "*"
// or ":LENGTH" may follow the last name.
static bool valid_variable(str s) {
  bool dot_before = true;
  while (s.n && s.p[0] != '*' && s.p[0] != ':') {
    bool dot = s.p[0] == '.', escape = has_escape(s, 0);
    if (dot ? dot_before : !escape && !ascii_is_alnum(s.p[0]) && s.p[0] != '_') return false;
    dot_before = dot;
    s = str_from(s, escape ? 3 : 1);
  }
  if (dot_before) return false;
  if (!s.n || str_eq(s, STR("*"))) return true;
  uint64_t length;
  return take_char(&s, ':') && s.n <= 4 && s.n && s.p[0] != '0' && str_to_u64(s, &length);
}

static bool valid_expression(str s) {
  if (s.n && strchr("+#./;?&=,!@|", s.p[0])) s = str_from(s, 1);
  str variable;
  for (bool more = true; more;) {
    more = str_cut(s, ',', &variable, &s);
    if (!valid_variable(variable)) return false;
  }
  return true;
}

static bool check_uri_template(str s) {
  str literal, expression;
  while (str_cut(s, '{', &literal, &s)) {
    if (!valid_characters(literal, true) || !str_cut(s, '}', &expression, &s) || !valid_expression(expression))
      return false;
  }
  return valid_characters(literal, true);
}

// ---- other formats ----

static bool check_uuid(str s) {
  if (s.n != 36) return false;
  for (size_t i = 0; i < s.n; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? s.p[i] != '-' : ascii_hex(s.p[i]) < 0) return false;
  }
  return true;
}

static bool check_json_pointer(str s) {
  if (s.n && s.p[0] != '/') return false;
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1'))) return false;
  return true;
}

static bool check_relative_json_pointer(str s) {
  size_t digits = 0;
  while (digits < s.n && ascii_is_digit(s.p[digits])) digits++;
  if (!digits || (digits > 1 && s.p[0] == '0')) return false;
  s = str_from(s, digits);
  return str_eq(s, STR("#")) || check_json_pointer(s);
}

static bool check_regex(str s) {
  struct arena scratch;
  char why[REGEX_WHY];
  arena_init(&scratch);
  bool ok = regex_new(&scratch, s, why);
  arena_done(&scratch);
  return ok;
}

// clang-format off
static const struct schema_format formats[] = {
    {"date", check_date},
    {"date-time", check_date_time},
    {"duration", check_duration},
    {"email", check_email},
    {"hostname", check_hostname},
    {"ipv4", check_ipv4},
    {"ipv6", check_ipv6},
    {"iri", check_iri},
    {"iri-reference", check_iri_reference},
    {"json-pointer", check_json_pointer},
    {"regex", check_regex},
    {"relative-json-pointer", check_relative_json_pointer},
    {"time", check_time},
    {"uri", check_uri},
    {"uri-reference", check_uri_reference},
    {"uri-template", check_uri_template},
    {"uuid", check_uuid},
};
// clang-format on

const struct schema_format *schema_format_find(str name) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (str_eq(name, str_of(formats[i].name))) return &formats[i];
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
#include "catalog/naming/name_words.h"

#include <stdlib.h>

#include "base/ascii.h"

// Bytes above ASCII count as letters.
static bool is_word(char c) {
  return ascii_is_alnum(c) || (unsigned char)c >= 0x80;
}

// Returns whether a camelCase word begins at `at`; the word before it begins at `start`. In "getURLFor", words begin at
// "URL" and "For"; "OAuth" is one word.
static bool camel_break(str name, size_t start, size_t at) {
  if (at == start || !ascii_is_upper(name.p[at])) return false;
  if (!ascii_is_upper(name.p[at - 1])) return true;
  return at - start > 1 && at + 1 < name.n && ascii_is_lower(name.p[at + 1]);
}

size_t name_words(struct arena *a, str name, str *out, size_t max) {
  char *p = arena_cstr(a, name);
  size_t n = 0;
  for (size_t at = 0; at < name.n && n < max;) {
    size_t start = at;
    while (at < name.n && is_word(name.p[at]) && !camel_break(name, start, at)) {
      p[at] = ascii_lower(p[at]);
      at++;
    }
    if (at > start) out[n++] = (str){p + start, at - start};
    else at++;
  }
  return n;
}

static bool drop(str *s, str suffix) {
  if (s->n < suffix.n + 2 || !str_ends(*s, suffix)) return false;
  s->n -= suffix.n;
  return true;
}

str name_word_key(str word) {
  str key = word;
  if (key.n <= 3 || (unsigned char)key.p[key.n - 1] >= 0x80) return key;
  if (drop(&key, STR("ies"))) return key;
  if (!str_ends(key, STR("ss")) && !str_ends(key, STR("us")) && !str_ends(key, STR("is"))) drop(&key, STR("s"));
  if (key.n > 3) drop(&key, STR("y"));
  bool after_e = str_ends(key, STR("che")) || str_ends(key, STR("she")) || str_ends(key, STR("xe"));
  if (key.n > 3 && (after_e || str_ends(key, STR("sse")))) drop(&key, STR("e"));
  return key;
}

// Words that are never the subject of a tool's name, sorted by bytes.
static const char *const never_objects[] = {
    "a",           "accept",    "add",        "all",      "an",        "analyse",    "analyze",   "and",
    "any",         "append",    "apply",      "approve",  "as",        "ask",        "assign",    "at",
    "attach",      "be",        "bind",       "browse",   "bulk",      "by",         "can",       "cancel",
    "clear",       "click",     "close",      "compare",  "complete",  "configure",  "connect",   "convert",
    "create",      "current",   "decline",    "delete",   "deploy",    "deregister", "describe",  "detach",
    "detect",      "disable",   "disconnect", "discover", "dismiss",   "do",         "download",  "edit",
    "enable",      "ensure",    "execute",    "explain",  "fetch",     "find",       "for",       "from",
    "generate",    "get",       "handle",     "has",      "hover",     "id",         "ids",       "ignore",
    "in",          "insert",    "inspect",    "install",  "into",      "invoke",     "is",        "kill",
    "list",        "load",      "make",       "manage",   "many",      "me",         "modify",    "move",
    "multiple",    "my",        "navigate",   "new",      "not",       "of",         "off",       "on",
    "open",        "or",        "out",        "parse",    "pause",     "per",        "perform",   "press",
    "publish",     "put",       "read",       "reassign", "rebuild",   "reject",     "remove",    "rename",
    "reopen",      "replace",   "rerun",      "resolve",  "respond",   "restart",    "restore",   "resume",
    "retrieve",    "retry",     "revert",     "revoke",   "rotate",    "save",       "scroll",    "select",
    "send",        "set",       "show",       "shutdown", "single",    "specific",   "start",     "stop",
    "submit",      "subscribe", "supported",  "take",     "terminate", "the",        "to",        "toggle",
    "unarchive",   "unassign",  "uninstall",  "unlink",   "unlock",    "unmark",     "unpublish", "unregister",
    "unsubscribe", "untrash",   "up",         "update",   "upload",    "upsert",     "use",       "validate",
    "verify",      "via",       "with",       "write",
};

// Words that name the subject unless they are the first word: "filter_list" is about a list, but "delete_filter" about
// a filter.
static const char *const objects_unless_first[] = {
    "archive",  "backup",    "batch",   "build",   "call",     "capture", "check",   "clone",    "copy",   "count",
    "drop",     "duplicate", "export",  "extract", "filter",   "follow",  "force",   "fork",     "format", "forward",
    "grant",    "import",    "invite",  "join",    "leave",    "like",    "link",    "lock",     "login",  "logout",
    "lookup",   "mark",      "merge",   "mute",    "patch",    "pin",     "ping",    "poll",     "post",   "power",
    "process",  "provision", "pull",    "purge",   "push",     "query",   "refresh", "register", "reply",  "reset",
    "run",      "scan",      "search",  "share",   "snapshot", "sort",    "star",    "store",    "sync",   "tail",
    "transfer", "trash",     "trigger", "type",    "upgrade",  "view",    "wait",    "watch",
};

static int compare(const void *word, const void *entry) {
  return str_cmp(*(const str *)word, str_of(*(const char *const *)entry));
}

#define HOLDS(table, word) (bsearch(&(word), table, sizeof table / sizeof *table, sizeof *table, compare) != NULL)

bool name_word_is_object(str word, bool first) {
  return word.n > 0 && !HOLDS(never_objects, word) && !(first && HOLDS(objects_unless_first, word));
}

// SPDX-License-Identifier: Apache-2.0
#include "text/search/verbs.h"

#include <stdlib.h>

struct row {
  const char *stem;
  unsigned kinds;
};

// By stem. Words that ask a question ask to read.
static const struct row rows[] = {
    {"add", VERB_CREATE},
    {"book", VERB_CREATE},
    {"build", VERB_CREATE},
    {"calcul", VERB_COMPUTE},
    {"cancel", VERB_DELETE},
    {"chang", VERB_CHANGE},
    {"check", VERB_READ},
    {"clear", VERB_DELETE},
    {"comput", VERB_COMPUTE},
    {"configur", VERB_CHANGE},
    {"convert", VERB_COMPUTE},
    {"count", VERB_READ},
    {"creat", VERB_CREATE},
    {"delet", VERB_DELETE},
    {"describ", VERB_READ},
    {"destroy", VERB_DELETE},
    {"display", VERB_READ},
    {"drop", VERB_DELETE},
    {"edit", VERB_CHANGE},
    {"estim", VERB_COMPUTE},
    {"execut", VERB_RUN},
    {"fetch", VERB_READ},
    {"find", VERB_READ},
    {"generat", VERB_CREATE},
    {"get", VERB_READ},
    {"insert", VERB_CREATE},
    {"launch", VERB_RUN},
    {"list", VERB_READ},
    {"look", VERB_READ},
    {"lookup", VERB_READ},
    {"make", VERB_CREATE},
    {"modifi", VERB_CHANGE},
    {"move", VERB_CHANGE},
    {"new", VERB_CREATE},
    {"notifi", VERB_SEND},
    {"patch", VERB_CHANGE},
    {"play", VERB_RUN},
    {"post", VERB_CREATE},
    {"publish", VERB_SEND},
    {"purg", VERB_DELETE},
    {"put", VERB_CREATE | VERB_CHANGE},
    {"queri", VERB_READ},
    {"read", VERB_READ},
    {"regist", VERB_CREATE},
    {"remov", VERB_DELETE},
    {"renam", VERB_CHANGE},
    {"replac", VERB_CHANGE},
    {"reserv", VERB_CREATE},
    {"restart", VERB_RUN},
    {"retriev", VERB_READ},
    {"run", VERB_RUN},
    {"save", VERB_CREATE},
    {"search", VERB_READ},
    {"send", VERB_SEND},
    {"set", VERB_CHANGE},
    {"share", VERB_SEND},
    {"show", VERB_READ},
    {"solv", VERB_COMPUTE},
    {"start", VERB_RUN},
    {"stop", VERB_RUN},
    {"translat", VERB_COMPUTE},
    {"unfollow", VERB_DELETE},
    {"updat", VERB_CHANGE},
    {"upload", VERB_CREATE},
    {"view", VERB_READ},
    {"what", VERB_READ},
    {"when", VERB_READ},
    {"where", VERB_READ},
    {"which", VERB_READ},
    {"who", VERB_READ},
    {"write", VERB_CREATE},
};

static int compare(const void *key, const void *row) {
  return str_cmp(*(const str *)key, str_of(((const struct row *)row)->stem));
}

unsigned verb_kinds(str stem) {
  const struct row *found = bsearch(&stem, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
  return found ? found->kinds : 0;
}

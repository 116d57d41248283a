// SPDX-License-Identifier: Apache-2.0
#include "text/search/stopwords.h"

#include <stdlib.h>

// All in bytewise order.
static const char *const function_words[] = {
    "a",        "about",    "above",  "across",    "after",      "again",     "against", "all",        "almost",
    "along",    "already",  "also",   "although",  "always",     "am",        "among",   "an",         "and",
    "another",  "any",      "anyone", "anything",  "anywhere",   "are",       "aren",    "around",     "as",
    "aside",    "at",       "away",   "be",        "because",    "been",      "before",  "being",      "below",
    "between",  "both",     "but",    "by",        "can",        "cannot",    "cant",    "could",      "couldn",
    "d",        "did",      "didn",   "do",        "does",       "doesn",     "doing",   "don",        "done",
    "dont",     "down",     "during", "e",         "each",       "eg",        "either",  "else",       "enough",
    "etc",      "ever",     "every",  "everyone",  "everything", "few",       "for",     "from",       "further",
    "g",        "had",      "hadn",   "has",       "hasn",       "have",      "haven",   "having",     "he",
    "her",      "here",     "hers",   "herself",   "him",        "himself",   "his",     "how",        "however",
    "i",        "ie",       "if",     "im",        "in",         "instead",   "into",    "is",         "isn",
    "it",       "its",      "itself", "ive",       "just",       "less",      "let",     "like",       "ll",
    "m",        "many",     "may",    "me",        "might",      "more",      "most",    "much",       "must",
    "my",       "myself",   "near",   "neither",   "no",         "nor",       "not",     "now",        "of",
    "off",      "often",    "on",     "once",      "one",        "only",      "onto",    "or",         "other",
    "others",   "our",      "ours",   "ourselves", "out",        "over",      "own",     "per",        "perhaps",
    "quite",    "rather",   "re",     "really",    "s",          "same",      "shall",   "she",        "should",
    "shouldn",  "since",    "so",     "some",      "someone",    "something", "soon",    "still",      "such",
    "t",        "than",     "that",   "the",       "their",      "theirs",    "them",    "themselves", "then",
    "there",    "these",    "they",   "this",      "those",      "though",    "through", "thus",       "to",
    "together", "too",      "toward", "towards",   "under",      "until",     "up",      "upon",       "us",
    "ve",       "very",     "via",    "was",       "wasn",       "we",        "well",    "were",       "weren",
    "what",     "whatever", "when",   "whenever",  "where",      "whether",   "which",   "while",      "who",
    "whoever",  "whom",     "whose",  "why",       "will",       "with",      "within",  "without",    "won",
    "would",    "wouldn",   "yes",    "yet",       "you",        "your",      "yours",   "yourself",   "yourselves",
};

static const char *const request_words[] = {
    "able",     "additionally", "assist",      "assistance", "best",     "bit",        "curious",    "currently",
    "eager",    "finally",      "furthermore", "gave",       "give",     "given",      "gives",      "giving",
    "going",    "good",         "great",       "hello",      "help",     "helping",    "helps",      "hey",
    "hi",       "hope",         "hoping",      "include",    "includes", "including",  "interested", "keen",
    "kind",     "kindly",       "know",        "knowing",    "known",    "knows",      "lastly",     "looking",
    "lot",      "lots",         "love",        "make",       "moreover", "need",       "needed",     "needs",
    "nice",     "ok",           "okay",        "planning",   "please",   "possible",   "provide",    "provided",
    "provides", "providing",    "show",        "showing",    "shown",    "shows",      "sort",       "specifically",
    "sure",     "tell",         "telling",     "tells",      "thank",    "thanks",     "thing",      "things",
    "thinking", "told",         "tried",       "try",        "trying",   "understand", "use",        "used",
    "uses",     "using",        "want",        "wanted",     "wants",    "way",        "ways",       "wish",
    "wonder",   "wondering",
};

static const char *const weak_words[] = {
    "according",   "accurate",   "additional", "amazing",     "appropriate", "availability",  "available",
    "based",       "big",        "boss",       "business",    "called",      "certain",       "colleague",
    "colleagues",  "com",        "common",     "company",     "complete",    "comprehensive", "current",
    "data",        "date",       "dates",      "day",         "days",        "detail",        "detailed",
    "details",     "different",  "diverse",    "early",       "easily",      "easy",          "effective",
    "effectively", "end",        "ending",     "entire",      "event",       "events",        "exact",
    "exactly",     "example",    "examples",   "existing",    "extra",       "family",        "father",
    "favorite",    "favourite",  "first",      "five",        "follow",      "following",     "four",
    "friend",      "friends",    "full",       "general",     "helpful",     "high",          "higher",
    "highest",     "hour",       "hours",      "http",        "https",       "idea",          "ideas",
    "important",   "individual", "info",       "information", "insight",     "insights",      "interesting",
    "key",         "large",      "last",       "late",        "latest",      "located",       "long",
    "low",         "main",       "major",      "minute",      "minutes",     "month",         "months",
    "mother",      "multiple",   "name",       "named",       "names",       "nearby",        "net",
    "new",         "next",       "number",     "numbers",     "old",         "ongoing",       "option",
    "options",     "org",        "overall",    "particular",  "party",       "people",        "perfect",
    "person",      "personal",   "potential",  "project",     "proper",      "quality",       "quick",
    "quickly",     "range",      "real",       "recent",      "recently",    "regarding",     "related",
    "relevant",    "respective", "result",     "results",     "second",      "set",           "several",
    "short",       "similar",    "single",     "small",       "somebody",    "specific",      "start",
    "starting",    "suitable",   "team",       "third",       "three",       "time",          "times",
    "titled",      "today",      "tomorrow",   "tonight",     "trip",        "two",           "type",
    "types",       "unique",     "upcoming",   "useful",      "value",       "values",        "variety",
    "various",     "week",       "weeks",      "whole",       "wide",        "work",          "working",
    "www",         "year",       "years",      "yesterday",   "young",
};

static int compare(const void *key, const void *entry) {
  return str_cmp(*(const str *)key, str_of(*(const char *const *)entry));
}

#define IN_TABLE(word, table) \
  (bsearch(&(word), (table), sizeof(table) / sizeof *(table), sizeof *(table), compare) != NULL)

enum word_class word_class(str word) {
  if (IN_TABLE(word, function_words)) return WORD_FUNCTION;
  if (IN_TABLE(word, request_words)) return WORD_REQUEST;
  return IN_TABLE(word, weak_words) ? WORD_WEAK : WORD_PLAIN;
}

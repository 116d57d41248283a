// SPDX-License-Identifier: Apache-2.0
// Exact token counts in the cl100k_base encoding, as tiktoken's encode_ordinary gives them: text that looks like a
// special token is ordinary text. The ranks are a table in the program: there is no state to open or to free.
//
// Counts any bytes. Invalid UTF-8 counts as in tiktoken: each maximal invalid part as U+FFFD.
#pragma once
#include "base/str.h"

size_t tokens_count(str text);

// Returns whether the text has at most `limit` tokens. Stops reading when it has more.
bool tokens_fit(str text, size_t limit);

// Writes the first `max` ids to out; returns the number of all.
size_t tokens_encode(str text, uint32_t *out, size_t max);

// Counts many similar texts, such as the lines of a log: remembers the counts of the last TOKENS_MEMO words. Initialise
// with zeros. One thread at a time.
enum { TOKENS_MEMO = 1024, TOKENS_MEMO_WORD = 62 };
struct tokens_memo {
  struct tokens_word {
    char text[TOKENS_MEMO_WORD];  // padded with zeros
    uint8_t n, count;             // n 0: unused
  } words[TOKENS_MEMO];
};
size_t tokens_count_like(struct tokens_memo *m, str text);

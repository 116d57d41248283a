// SPDX-License-Identifier: Apache-2.0
// Exact token counts in the cl100k_base encoding, as tiktoken's encode_ordinary gives them: text that looks like a
// special token is ordinary text. The ranks are a table in the program; there is nothing to open or to free.
//
// Any bytes may be counted. What is no UTF-8 counts as tiktoken counts it: each maximal invalid part as U+FFFD.
#pragma once
#include "base/str.h"

size_t tokens_count(str text);

// Does the text have at most `limit` tokens? Stops reading as soon as it is over.
bool tokens_fit(str text, size_t limit);

// Writes the first `max` ids to out; gives the number of all.
size_t tokens_encode(str text, uint32_t *out, size_t max);

// Counting many texts that are much alike, as the lines of a log are: what words came to is remembered, the last
// TOKENS_MEMO of them. All zero: nothing yet. One thread at a time.
enum { TOKENS_MEMO = 1024, TOKENS_MEMO_WORD = 62 };
struct tokens_memo {
  struct tokens_word {
    char text[TOKENS_MEMO_WORD];  // zeros behind it
    uint8_t n, count;             // n 0: none
  } words[TOKENS_MEMO];
};
size_t tokens_count_like(struct tokens_memo *m, str text);

// SPDX-License-Identifier: Apache-2.0
// Searches the definitions of tools for findings: signs of an attack on the model that reads the definition.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum pin_finding {
  PIN_HIDDEN,       // texts have hidden characters, which the gateway removes from definitions
  PIN_INSTRUCTION,  // a text gives instructions to the model
  PIN_LOOKALIKE,    // the name looks like the name of another server's tool
  PIN_SAME_NAME,    // another server has a tool with this name; clients see both tools under other names
  PIN_FINDINGS
};
const char *pin_finding_name(enum pin_finding finding);  // "hidden_characters", "instruction", …

// Finds a text with hidden characters in a definition that was not cleaned. Appends the text, with escapes, to `out`.
// Returns false if there is no such text.
bool scan_hidden(const struct json *definition, struct buf *out);

// Finds a text that gives instructions to a model: it tells the model to ignore instructions or to conceal something,
// imitates a system message, or names files with secrets. Appends the text, shortened, to `out`. Returns false if there
// is no such text. Names of tools and values of _meta are not searched.
bool scan_instruction(const struct json *definition, struct buf *out);

enum { SCAN_SKELETON = 128 };

// Writes the skeleton of a name: names that people can mistake for each other have equal skeletons. Ignores case,
// separators, and differences between similar characters (0 and o, Cyrillic and Latin a). Returns the length of the
// skeleton.
size_t scan_skeleton(str name, char out[SCAN_SKELETON]);

enum { SCAN_SAME_PREFIX = 3 };

// Returns whether two skeletons begin with the same SCAN_SAME_PREFIX bytes and differ in at most one character.
bool scan_similar(str a, str b);

// SPDX-License-Identifier: Apache-2.0
// The skills of a governance file. Each version of a skill is an entry. A version with a flaw, such as a wrong
// signature, cannot be used; its entry remains, so that commands can show the flaw. A version becomes active when
// `toolgate skill activate` has run its golden set.
#pragma once
#include "skill/skill.h"

enum { SKILLS_MAX = 200, SKILL_FILES = 3 };

// A file whose contents were read. Before each use of a skill, its files must still have these contents.
struct skill_file {
  str path;
  unsigned char sha256[SHA256_SIZE];
};

// A case of a golden set that fails.
struct skill_failure {
  size_t line;
  str name;  // empty if the case has no name
  str why;
};

enum { SKILL_FAILURES = 20 };  // maximum number of failed cases that an entry names

struct skill_entry {
  const struct skill *skill;
  struct skill_file files[SKILL_FILES];  // the skill file, its prompt fragment, its golden set
  size_t file_count;
  str fragment, golden;  // contents of the files; STR_NONE if absent
  str flaw;              // why this version cannot be used; STR_NONE if it can
  bool active;
  size_t cases, failed;            // numbers of cases of the golden set; set by golden_test
  struct skill_failure *failures;  // the first failed cases
  size_t failure_count;
};

struct skills {
  struct arena arena;  // owns everything
  struct skill_entry list[SKILLS_MAX];
  size_t count;
};

struct skills *skills_new(void);
void skills_free(struct skills **s);

// Adds a version and returns its entry, or NULL if there are too many.
struct skill_entry *skills_add(struct skills *s, const struct skill *skill);
void skills_set_flaw(struct skills *s, struct skill_entry *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Makes a version active whose content has this digest. If a version was activated with another digest, it gets a flaw:
// the content of a version never changes. Must be called in the order of the activations.
void skills_note_activation(struct skills *s, str id, str version, str digest);

// skills_prefer makes a version active without an activation. skills_prefer_all does so for the last version of each
// skill. Both are for commands that test skills; the gateway must not call them.
void skills_prefer(struct skills *s, const struct skill_entry *e);
void skills_prefer_all(struct skills *s);

// Checks what one file alone does not show: signatures, hashes of the other files, versions with two contents,
// capabilities that are not registered with the required class or that no permission allows, and nested skills. Sets
// the flaws.
void skills_settle(struct skills *s, const struct governance *g);

const struct skill_entry *skills_active(const struct skills *s, str id);             // NULL if none is active
const struct skill_entry *skills_find(const struct skills *s, str id, str version);  // NULL if unknown
bool skill_serves(const struct skill *s, str tenant);  // `tenant`: STR_NONE if the caller has none

// Calls `visit` for each capability that the skill and its nested skills require. Returns false at the first
// capability for which `visit` returns false, or if a nested skill is not active.
typedef bool skill_visit(void *ctx, const struct skill_capability *c);
bool skills_each_capability(const struct skills *s, const struct skill_entry *e, skill_visit *visit, void *ctx);

// Returns the highest approval mode that the capabilities of the skill can have. Sets *out_provisional to whether the
// class and mode of at least one of them are provisional.
enum approval_mode skills_mode(const struct skills *s, const struct skill_entry *e, const struct governance *g,
                               bool *out_provisional);

// Reads the files of a version again. Returns false with a reason in `f` if one has changed. Waits for the disk.
bool skill_files_same(const struct skill_file *files, size_t count, struct fault *f);

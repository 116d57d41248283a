// SPDX-License-Identifier: Apache-2.0
// Skills in tool_browse: their cards, and their definitions. A caller sees the active skills of its tenant all of whose
// capabilities it may use.
#pragma once
#include "catalog/directory/card.h"
#include "skill/skills.h"
#include "surface/meta/meta_tools.h"

#define SKILLS_PATH "/skills"

struct caller;

// Returns whether the caller may use the skill.
bool skill_cards_shows(struct surface *d, const struct caller *caller, const struct skill_entry *e);

// Writes the cards of at most `room` skills that match a query, and returns their number. An empty query matches all.
size_t skill_cards_find(struct surface *d, const struct session *s, str query, struct card *out, size_t room);

// If `id` is a skill that the caller may use, answers the request with its definition and returns true.
bool skill_cards_define(struct surface *d, struct request *r, str id);

// SPDX-License-Identifier: Apache-2.0
// Skills as steps of a plan (govern/plan.h).
#pragma once
#include "govern/plan.h"

// Replaces each step that names a usable skill by the steps of the skill and of its nested skills, which have the ids
// STEP.INNER. A skill without steps is replaced by its required capabilities. The arguments of these steps are those
// that are known from the arguments of the skill. A step with an unknown or unusable skill, or with a skill of another
// tenant, is not changed; no capability has its name. `tenant` is STR_NONE for a caller without a tenant. Returns
// false, with a reason in `f`, if the plan has too many steps.
bool skill_plan_expand(const struct governance *g, str tenant, struct arena *a, struct governance_plan *p,
                       struct fault *f);

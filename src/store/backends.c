// SPDX-License-Identifier: Apache-2.0
// Sets the backend that the store uses for each role (enum store_role).
#include "store/backend.h"

const struct store_backend *const store_backends[] = {
    [ROLE_LASTING] = &store_sqlite,
    [ROLE_PASSING] = &store_memory,
};

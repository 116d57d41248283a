// SPDX-License-Identifier: Apache-2.0
// The backend for each role.
#include "store/backend.h"

const struct store_backend *const store_backends[] = {
    [ROLE_LASTING] = &store_sqlite,
    [ROLE_PASSING] = &store_memory,
};

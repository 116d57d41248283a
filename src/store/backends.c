// SPDX-License-Identifier: Apache-2.0
// Which backend keeps what.
#include "store/backend.h"

const struct store_backend *const store_backends[] = {
    [ROLE_LASTING] = &store_sqlite,
    [ROLE_PASSING] = &store_memory,
};

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C36: the library is gone before the static cache. Its handles are abandoned; no call reaches the library.
#include "core/shutdown/library.hpp"

namespace {
const shutdown_tests::Verdict verdict{3, 0};
shutdown_tests::Cache cache;
const shutdown_tests::Library library;
}  // namespace

int main() {
  for (int key = 0; key < 3; ++key) (void)cache.acquire(key);
}

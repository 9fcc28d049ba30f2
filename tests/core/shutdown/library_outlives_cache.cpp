// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C36, the other way about: the static cache is gone first, and has destroyed its handles.
#include "core/shutdown/library.hpp"

namespace {
const shutdown_tests::Verdict verdict{3, 3};
const shutdown_tests::Library library;
shutdown_tests::Cache cache;
}  // namespace

int main() {
  for (int key = 0; key < 3; ++key) (void)cache.acquire(key);
}

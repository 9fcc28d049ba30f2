// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C36: leases returned after their static cache died: while the library is there its handle is destroyed, afterwards it is
// abandoned. One of them is returned by the end of a thread-local object, before the cache dies.
#include <utility>

#include "core/shutdown/library.hpp"

namespace {
const shutdown_tests::Verdict verdict{4, 3};
shutdown_tests::Lease returned_after_the_library;
const shutdown_tests::Library library;
shutdown_tests::Lease returned_after_the_cache;
shutdown_tests::Cache cache;
thread_local shutdown_tests::Lease returned_with_the_thread;
}  // namespace

int main() {
  returned_after_the_library = cache.acquire(1);
  returned_after_the_cache = cache.acquire(2);
  returned_with_the_thread = cache.acquire(3);
  (void)cache.acquire(4);
}

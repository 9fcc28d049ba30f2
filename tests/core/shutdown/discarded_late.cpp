// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C36: leases discarded, and returned deferred, after cache and library are gone. Both are forgotten.
#include "core/shutdown/library.hpp"

namespace {

struct Returner {
  ~Returner() {
    discarded.discard();
    deferred.release_deferred();
  }
  shutdown_tests::Lease discarded;
  shutdown_tests::Lease deferred;
};

const shutdown_tests::Verdict verdict{3, 1};
Returner returner;
const shutdown_tests::Library library;
shutdown_tests::Cache cache;
}  // namespace

int main() {
  returner.discarded = cache.acquire(1);
  returner.deferred = cache.acquire(2);
  (void)cache.acquire(3);
}

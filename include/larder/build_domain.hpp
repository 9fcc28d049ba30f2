// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuildDomain: factories whose create and destroy must not overlap.
#pragma once

#include <memory>

namespace larder {

/// A lock shared by factories whose create and destroy must not overlap, such as all users of the FFTW planner.
///
/// Held by the cache around `create` and `destroy`, never together with a cache's own mutex. A thread that holds it may
/// enter again (a create that acquires from another cache of the domain). fork() waits until no other thread is inside,
/// so the child finds the domain free and the library's state whole.
/// Lock order: domain before cache. Domains must live until the process ends (use a function-local static reference).
class BuildDomain {
 public:
  BuildDomain();
  ~BuildDomain();
  BuildDomain(const BuildDomain&) = delete;
  BuildDomain& operator=(const BuildDomain&) = delete;

  void lock();
  void unlock();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder

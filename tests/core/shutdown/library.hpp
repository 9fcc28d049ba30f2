// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that is loaded and unloaded as static objects are, for programs that check what happens at process exit.
//
// Each program declares its static objects in the order that it is about, a Verdict first: it is destroyed last, looks at
// the counts, and turns a wrong one into exit code 1. The counts have no destructor, so they are good until the end.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <larder/handle_cache.hpp>

namespace shutdown_tests {

struct Counts {
  int created = 0;
  int destroyed = 0;
  bool loaded = false;
  bool destroy_throws = false;
};
inline constinit Counts counts;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "shutdown: %s (created %d, destroyed %d)\n", what, counts.created, counts.destroyed);
  std::_Exit(1);
}

inline void require_loaded() {
  if (!counts.loaded) fail("a call reached the library while it was not loaded");
}

/// The library is there while this object is.
struct Library {
  Library() { counts.loaded = true; }
  ~Library() { counts.loaded = false; }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

struct Plans {
  using Key = int;
  using Handle = int;
  int create(int key) {
    require_loaded();
    ++counts.created;
    return key;
  }
  void destroy(int, int) {
    require_loaded();
    ++counts.destroyed;
    if (counts.destroy_throws) throw std::runtime_error("the library is shutting down");
  }
  void prepare(int, int&) { require_loaded(); }
  void reset(int, int&) { require_loaded(); }
  [[nodiscard]] std::size_t bytes(int, const int&) const {
    require_loaded();
    return 1;
  }
  [[nodiscard]] bool alive(int) const noexcept { return counts.loaded; }
};

using Cache = larder::HandleCache<Plans>;
using Lease = larder::Lease<Plans>;

/// Checks at the very end how many of the created handles were destroyed; the others must have been abandoned.
class Verdict {
 public:
  Verdict(int created, int destroyed) : created_(created), destroyed_(destroyed) {}
  ~Verdict() {
    if (counts.created != created_) fail("not as many handles were created as the program makes");
    if (counts.destroyed != destroyed_) fail("not as many handles were destroyed as should have been");
  }
  Verdict(const Verdict&) = delete;
  Verdict& operator=(const Verdict&) = delete;

 private:
  int created_;
  int destroyed_;
};

}  // namespace shutdown_tests

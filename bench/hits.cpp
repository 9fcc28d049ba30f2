// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hits: every request finds an idle handle (or, for exclusive handles that are all leased, may build one more at first).
#include <cstdint>
#include <string>
#include <vector>

#include "keys.hpp"
#include "peers/peers.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

constexpr std::size_t ample = 1024;

struct OwnKeys {
  static constexpr const char* name = "own_keys";
  static constexpr std::uint64_t count = 8;
  static std::uint64_t first(int thread) { return count * static_cast<std::uint64_t>(thread); }
};

struct SameKeys {
  static constexpr const char* name = "same_4_keys";
  static constexpr std::uint64_t count = 4;
  static std::uint64_t first(int /*thread*/) { return 0; }
};

struct OneKey {
  static constexpr const char* name = "one_key";
  static constexpr std::uint64_t count = 1;
  static std::uint64_t first(int /*thread*/) { return 0; }
};

template <class Cache, class Key, class Keys>
struct Hits : Shared<Cache, Hits<Cache, Key, Keys>> {
  static Room room(const benchmark::State& state) { return {ample, static_cast<std::size_t>(state.threads())}; }

  static void run(benchmark::State& state) {
    const std::vector<Key> keys = make_keys<Key>(Keys::first(state.thread_index()), Keys::count);
    for (int pass = 0; pass < 2; ++pass) {
      for (const Key& key : keys) {
        auto lease = Hits::cache->acquire(key);
        touch(lease);
      }
    }
    std::size_t next = static_cast<std::size_t>(state.thread_index()) % keys.size();
    for (auto _ : state) {
      auto lease = Hits::cache->acquire(keys[next]);
      touch(lease);
      next = (next + 1) % Keys::count;
    }
  }
};

template <class Key, class Keys>
void register_with() {
  const std::string suite = std::string(Keys::name) + "." + KeyKind<Key>::name;
  for_each_peer<Key>([&]<class Cache>() {
    // With one key the two kinds of handle are two different questions.
    const std::string kind = Keys::count > 1 ? "" : Cache::exclusive ? ".exclusive" : ".shared";
    add_with_threads<Hits<Cache, Key, Keys>>(suite + kind, Cache::name);
  });
}

}  // namespace

void register_hits() {
  register_with<std::uint64_t, OwnKeys>();
  register_with<fft::PlanSpec, OwnKeys>();
  register_with<std::uint64_t, SameKeys>();
  register_with<fft::PlanSpec, SameKeys>();
  register_with<std::uint64_t, OneKey>();
  register_with<fft::PlanSpec, OneKey>();
}

}  // namespace larder::bench

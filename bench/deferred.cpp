// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Leases returned by release_deferred(), which the next request takes in. No peer has this.
#include <cstdint>

#include "keys.hpp"
#include "peers/larder.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

using Key = std::uint64_t;

template <class Cache>
struct Deferred : Shared<Cache, Deferred<Cache>> {
  static Room room(const benchmark::State& state) { return {64, static_cast<std::size_t>(state.threads())}; }

  static void run(benchmark::State& state) {
    const Key key = static_cast<Key>(state.thread_index());
    for (auto _ : state) {
      auto lease = Deferred::cache->acquire(key);
      touch(lease);
      lease.release_deferred();
    }
  }
};

template <Sharing how>
void register_with() {
  using Cache = Larder<Key, how>;
  add_with_threads<Deferred<Cache>>("deferred_release", Cache::name);
}

}  // namespace

void register_deferred() {
  register_with<Sharing::exclusive>();
  register_with<Sharing::shared>();
}

}  // namespace larder::bench

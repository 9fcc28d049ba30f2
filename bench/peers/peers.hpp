// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caches that every suite runs.
//
// A peer is constructed from the Room it needs, and its acquire(key) returns a movable lease: `*lease` is the Widget, and
// the end of the lease gives it back. `exclusive` tells whether two leases never share a widget.
#pragma once

#include "larder.hpp"
#include "one_lock_lru.hpp"
#ifdef LARDER_HAVE_ROCKSDB
#include "rocksdb.hpp"
#endif
#ifdef LARDER_HAVE_TBB
#include "tbb.hpp"
#endif

namespace larder::bench {

/// Calls visit.operator()<Peer>() for each peer that this build has.
template <class Key, class Visit>
void for_each_peer(const Visit& visit) {
  visit.template operator()<Larder<Key, Sharing::exclusive>>();
  visit.template operator()<Larder<Key, Sharing::shared>>();
  visit.template operator()<OneLockLru<Key>>();
#ifdef LARDER_HAVE_ROCKSDB
  visit.template operator()<RocksDb<Key, RocksDbHyperClock>>();
  visit.template operator()<RocksDb<Key, RocksDbLru>>();
#endif
#ifdef LARDER_HAVE_TBB
  visit.template operator()<TbbLru<Key>>();
#endif
}

}  // namespace larder::bench

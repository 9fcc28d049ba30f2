// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder itself, with exclusive and with shared handles.
#pragma once

#include <functional>
#include <larder/handle_cache.hpp>
#include <utility>

#include "widget.hpp"

namespace larder::bench {

template <class KeyType, Sharing how>
struct Widgets {
  using Key = KeyType;
  using Handle = Widget*;
  static constexpr Sharing sharing = how;
  Handle create(const Key& key) { return new Widget(std::hash<Key>{}(key)); }
  void destroy(const Key& /*key*/, Handle widget) { delete widget; }
};

template <class Key, Sharing how>
class Larder {
 public:
  static constexpr const char* name = how == Sharing::exclusive ? "larder" : "larder_shared";
  static constexpr bool exclusive = how == Sharing::exclusive;
  using Lease = larder::Lease<Widgets<Key, how>>;

  explicit Larder(Room room) : cache_({.max_idle = room.idle}, {.policy = Policy::value}) {}

  [[nodiscard]] Lease acquire(const Key& key) { return cache_.acquire(key); }

 private:
  HandleCache<Widgets<Key, how>> cache_;
};

}  // namespace larder::bench

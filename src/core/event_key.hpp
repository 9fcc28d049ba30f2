// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a cache tells its listener of an event: with no lock held, and never letting the listener fail the call.
#pragma once

#include <cstdint>
#include <string>

#include <larder/detail/cache_core.hpp>

namespace larder::detail {

/// A key as an event shows it.
class CacheCore::EventKey final : public KeyRef {
 public:
  EventKey(const CacheCore& core, const void* key, std::uint64_t hash) noexcept : core_(core), key_(key), hash_(hash) {}
  std::uint64_t hash() const noexcept override { return hash_; }
  std::string describe() const override { return core_.describe(key_); }

 private:
  const CacheCore& core_;
  const void* key_;
  std::uint64_t hash_;
};

template <class Notify>
void CacheCore::notify(const void* key, std::uint64_t hash, Notify&& event) noexcept {
  if (listener_ == nullptr) return;
  try {
    event(*listener_, EventKey(*this, key, hash));
  } catch (...) {
    // A listener cannot fail the call it watches.
  }
}

}  // namespace larder::detail

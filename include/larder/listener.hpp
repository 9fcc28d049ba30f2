// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Listener: the events behind Stats, as they happen.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <larder/stats.hpp>

namespace larder {

/// A key as a listener sees it: valid during the call only.
class KeyRef {
 public:
  virtual ~KeyRef() = default;
  [[nodiscard]] virtual std::uint64_t hash() const noexcept = 0;
  [[nodiscard]] virtual std::string describe() const = 0;  ///< the key in words
};

/// Receives the events of a cache; override what is of interest.
///
/// Called on the thread that caused the event, with no lock held; may call back into the same cache. What an override
/// throws is swallowed. Must outlive the cache and every lease of it, and be safe to call from several threads.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_hit(const KeyRef&) {}
  virtual void on_miss(const KeyRef&) {}
  virtual void on_build(const KeyRef&, std::chrono::nanoseconds /*build_cost*/) {}
  virtual void on_build_failed(const KeyRef&, const std::string& /*what*/) {}
  virtual void on_evict(const KeyRef&, EvictionCause) {}
  virtual void on_destroy(const KeyRef&) {}
  virtual void on_destroy_failed(const KeyRef&, const std::string& /*what*/) {}
  virtual void on_abandon(const KeyRef&) {}
};

}  // namespace larder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordingListener: keeps every event as one line of text, in order, and can throw from any of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <larder/listener.hpp>

namespace larder::doubles {

class RecordingListener final : public Listener {
 public:
  void on_hit(const KeyRef& key) override { record("hit " + key.describe()); }
  void on_miss(const KeyRef& key) override { record("miss " + key.describe()); }
  void on_build(const KeyRef& key, std::chrono::nanoseconds cost) override {
    record("build " + key.describe() + " in " + std::to_string(cost.count()) + " ns");
  }
  void on_build_failed(const KeyRef& key, const std::string& what) override {
    record("build failed " + key.describe() + ": " + what);
  }
  void on_evict(const KeyRef& key, EvictionCause cause) override {
    record("evict " + key.describe() + " " + std::string(to_string(cause)));
  }
  void on_destroy(const KeyRef& key) override { record("destroy " + key.describe()); }
  void on_destroy_failed(const KeyRef& key, const std::string& what) override {
    record("destroy failed " + key.describe() + ": " + what);
  }
  void on_abandon(const KeyRef& key) override { record("abandon " + key.describe()); }

  [[nodiscard]] std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    events_.clear();
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(); }

  /// Runs inside each event, after it was recorded; it may throw or call the cache. Set before the cache is used.
  std::function<void(const std::string& event)> hook;

 private:
  void record(std::string event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    }
    count_.fetch_add(1);
    if (hook) hook(event);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> events_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace larder::doubles

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slot between the threads that lease it and whoever changes it with the mutex held.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <larder/detail/slot.hpp>

namespace larder::detail {
namespace {

constexpr int changes_of_leased = 2'000;
constexpr std::chrono::seconds long_enough{1};

/// One thread leases and returns; meanwhile `change`, which tells whether it met a lease, is
/// called with the mutex held, and what it made of the leased slot must stay.
class SlotTest : public testing::Test {
 protected:
  SlotTest() { slot.publish(0, bits); }

  template <class Change>
  void run(const Change& change) {
    std::thread user([this] {
      while (!done.load(std::memory_order_relaxed)) {
        if (!slot.claim(slot.word() & ~(lease_mask | retiring_bit))) continue;
        Word after = 0;
        if (slot.try_plain_return(after) || slot.try_return(after)) {
          returns.store(returns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          continue;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        slot.clear_plain();
        if (retiring(slot.word())) {
          slot.drop_last();
          slot.vacate();
          slot.publish(0, bits);
        } else {
          (void)slot.keep(bits);
        }
      }
    });
    while (returns.load() == 0) std::this_thread::yield();
    int changes = 0;
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (changes == 0 || (changes < changes_of_leased && std::chrono::steady_clock::now() < end)) {
      if (leases(slot.word()) == 0 || !unlocked(slot.word())) {
        std::this_thread::yield();
        continue;
      }
      const std::lock_guard<std::mutex> lock(mutex);
      if (change()) ++changes;
    }
    done = true;
    user.join();
  }

  void expect_it_stays(Word word) {
    for (int look = 0; look < 20; ++look) ASSERT_EQ(slot.word(), word);
  }

  const Word bits = returns_can_be_plain() ? free_bits : unlocked_bit;
  Slot slot;
  std::mutex mutex;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> returns{0};  // without the mutex
};

TEST_F(SlotTest, APlaceTakenFromALeasedHandleStaysTaken) {
  run([&] {
    if (!slot.set_free_bits(0, true)) return false;
    expect_it_stays(generation(slot.word()) | lease_one);
    return true;
  });
}

TEST_F(SlotTest, ALeasedHandleThatIsToGoIsNotHandedOutAgain) {
  run([&] {
    if (retiring(slot.word())) return false;
    if (slot.retire()) {
      slot.vacate();
      slot.publish(0, bits);
      return false;
    }
    expect_it_stays(generation(slot.word()) | retiring_bit | lease_one);
    return true;
  });
}

}  // namespace
}  // namespace larder::detail

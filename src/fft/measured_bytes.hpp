// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MeasuredBytes: how much device memory a plan holds, measured as the fall of free memory while plans are made.
//
// A library tells the size of a plan's work area only. The rest (tables, kernels) can be seen in the device's free memory,
// but not plan by plan: the device hands memory out in chunks of 2 MiB that many small plans share, so one plan seems to
// take 2 MiB and the next 40 nothing. So plans are put into classes, and a plan counts for the smoothed growth of its
// class, and a margin:
//
//   class      octave of the number of elements, and whether the work area is larger than 1.5 arrays: such plans (lengths
//              with large prime factors) keep tables of about the size of their work area, the others next to nothing
//   smoothing  exponential, each new growth weighing 1 / 32, from a first guess that fits an H200: 1.1 work areas, and
//              what counts for 48 KiB for the others
//   at least   48 KiB a plan
//   margin     a tenth more: chunks from which some plans have gone are not given back while others are left in them
//   at most    4 MiB + 2 work areas + 4 arrays go into the smoothing for one plan, so that somebody else's allocation at
//              that instant soon wears off
//
// Without the margin, the smoothed values of a class add up to its growth, but for 32 times the error of the first guess.
// Growth counts only while there are more plans than ever before: later ones may fill the holes that destroyed plans left.
// Growth while several threads make plans is shared out between those plans.
//
// The same calls with the same free memory give the same sizes. Safe from several threads at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace larder::fft {

class MeasuredBytes {
 public:
  struct PlanSize {
    std::uint64_t elements = 0;     ///< of all transforms of the plan
    std::uint64_t array_bytes = 0;  ///< of the larger side
    std::uint64_t work_bytes = 0;   ///< of the work area, which the plan does not hold
  };

  /// One plan in the making; ends without effect unless done() was called.
  class [[nodiscard]] Build {
   public:
    /// @param context      where memory is measured; the same number for the same context
    /// @param free_before  free device memory before the plan is made, in bytes
    Build(MeasuredBytes& measured, std::uint64_t context, std::uint64_t free_before);
    ~Build();
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

    /// The plan was made.
    /// @return bytes that it counts for
    [[nodiscard]] std::size_t done(std::uint64_t free_after, const PlanSize& size);

   private:
    MeasuredBytes& measured_;
    std::uint64_t context_;
    double begin_ = 0;
    bool open_ = true;
  };

  /// A plan is destroyed.
  void destroyed(std::uint64_t context);

 private:
  using Class = std::pair<int, bool>;  // octave, large work area
  struct Device {
    std::uint64_t free = 0;      // at the last look
    std::uint64_t open = 0;      // plans in the making
    double growth_per_open = 0;  // running: what each plan in the making has been given so far
    std::int64_t plans = 0;
    std::int64_t most_plans = 0;
    std::map<Class, double> smoothed;  // growth of one plan: in work areas where these are large, else in bytes
  };

  static void look(Device& device, std::uint64_t free) noexcept;

  std::mutex mutex_;
  std::map<std::uint64_t, Device> devices_;
};

}  // namespace larder::fft

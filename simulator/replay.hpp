// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replay: runs the requests of a trace through a real HandleCache on a simulated device.
//
// The policy code is the library's own, because the cache is. Time is the trace's: a request happens at its time_ns, a
// build it causes takes its build_ns of virtual time, and its lease ends at time_ns + lease_ns whether or not it had to
// build, so every policy sees the same leases. A lease that ends at the time of a request ends before it; leases that
// end together end in the order they began.
//
// Invariant: memory is in proportion to the handles and keys the cache remembers and the leases open at once, not to
// the number of requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <larder/budget.hpp>
#include <larder/policy.hpp>
#include <larder/stats.hpp>
#include <memory>
#include <string>
#include <vector>

#include "trace.hpp"

namespace larder::simulator {

/// A budget with every unset field unlimited, so that neither environment nor factory defaults change a simulation.
[[nodiscard]] Budget exactly(Budget budget) noexcept;

/// One cache fed with the requests of one trace. For one thread at a time.
class Replay {
 public:
  /// @param budget  limits on idle handles; unset fields are unlimited
  Replay(const Policy& policy, const Budget& budget);
  ~Replay();
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  /// Ends the leases that are over by then, asks for a handle, and keeps its lease as long as the row says. Rows come
  /// in order of time.
  ///
  /// @throws InvalidArgument when live handles hold more bytes, or builds take more time, than can be counted
  void request(const TraceRow& row);

  [[nodiscard]] Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What one policy did on one trace.
struct ReplayResult {
  std::string policy;
  std::uint64_t requests;
  std::uint64_t builds;
  std::chrono::nanoseconds build_time;
};

/// Replays a trace file under each policy, in one pass over the file.
///
/// @param path      trace file; see TraceReader
/// @param policies  one cache each
/// @param budget    limits on idle handles; unset fields are unlimited
/// @param progress  called now and then with the bytes of the file that were read
/// @throws BadTrace
[[nodiscard]] std::vector<ReplayResult> replay(
    const std::string& path, const std::vector<Policy>& policies, const Budget& budget,
    const std::function<void(std::uint64_t bytes_read)>& progress = [](std::uint64_t) {});

}  // namespace larder::simulator

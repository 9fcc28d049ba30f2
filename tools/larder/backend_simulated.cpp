// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulated back end: every plan takes 1 ms of virtual time to build and holds 4 KiB + 16 bytes per element.
//
// Equal build times make the right answer easy to work out by hand, and the run is the same on every machine.
#include <chrono>
#include <complex>
#include <larder/handle_cache.hpp>

#include "backend.hpp"
#include "simulator/simulated_factory.hpp"

namespace larder::cli {

namespace {

class SimulatedBackend final : public Backend {
 public:
  using Factory = simulator::SimulatedFactory<std::int64_t>;

  explicit SimulatedBackend(const BackendSettings& settings)
      : batch_(settings.batch), plans_(settings.cache.budget, on_device(settings.cache.options), Factory(device_)) {}

  bool use(std::int64_t length) override {
    constexpr std::size_t fixed_bytes = 4096;
    device_.next_build = {
        .time = std::chrono::milliseconds(1),
        .bytes = fixed_bytes + static_cast<std::size_t>(length * batch_) * sizeof(std::complex<double>)};
    plans_.acquire(length).release();
    return build_watch_.take();
  }

  [[nodiscard]] Stats stats() const override { return plans_.stats(); }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return device_.live_bytes; }
  [[nodiscard]] std::string memory_name() const override { return "simulated memory"; }

 private:
  [[nodiscard]] Options on_device(Options options) noexcept {
    options.listener = &build_watch_;
    options.clock = &device_.clock;
    return options;
  }

  std::int64_t batch_;
  simulator::SimulatedDevice device_;
  BuildWatch build_watch_;
  HandleCache<Factory> plans_;
};

}  // namespace

std::unique_ptr<Backend> open_simulated(const BackendSettings& settings) {
  if (settings.wisdom) throw BadArguments("--wisdom: the simulated back end reads no wisdom; leave the option out");
  static_cast<void>(largest_array_bytes(settings));
  return std::make_unique<SimulatedBackend>(settings);
}

}  // namespace larder::cli

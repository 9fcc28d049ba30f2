// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The FFTW back end: double precision, planned with FFTW_ESTIMATE, each plan run once on real data.
#include <malloc.h>
#include <unistd.h>

#include <complex>
#include <cstddef>
#include <fstream>
#include <larder/fft/fftw.hpp>
#include <vector>

#include "backend.hpp"

namespace larder::cli {

namespace {

class FftwBackend final : public Backend {
 public:
  explicit FftwBackend(const BackendSettings& settings)
      : batch_(settings.batch),
        in_(static_cast<std::size_t>(settings.largest_length * settings.batch), 1.0),
        out_(in_.size()),
        plans_(settings.cache.budget, watched(settings.cache.options)) {
    if (settings.wisdom) fft::fftw::import_wisdom(fft::Precision::float64, *settings.wisdom);
  }

  bool use(std::int64_t length) override {
    const fft::PlanSpec spec({.lengths = {length}, .batch = batch_});
    const auto plan = plans_.acquire(fft::fftw::PlanKey::for_arrays(spec, in_.data(), out_.data()));
    fft::fftw::execute(plan, in_.data(), out_.data());
    return build_watch_.take();
  }

  [[nodiscard]] Stats stats() const override { return plans_.stats(); }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    // What malloc keeps for itself after frees is not held by plans: give it back first, so that it is not counted.
    malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    std::uint64_t total_pages = 0;
    std::uint64_t resident_pages = 0;
    statm >> total_pages >> resident_pages;
    return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }

  [[nodiscard]] std::string memory_name() const override { return "resident memory"; }

 private:
  [[nodiscard]] Options watched(Options options) noexcept {
    options.listener = &build_watch_;
    return options;
  }

  std::int64_t batch_;
  BuildWatch build_watch_;
  std::vector<std::complex<double>> in_;
  std::vector<std::complex<double>> out_;
  fft::fftw::PlanCache plans_;
};

}  // namespace

std::unique_ptr<Backend> open_fftw(const BackendSettings& settings) {
  static_cast<void>(largest_array_bytes(settings));
  return std::make_unique<FftwBackend>(settings);
}

}  // namespace larder::cli

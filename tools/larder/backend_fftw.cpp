// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The FFTW back end: out-of-place transforms planned with FFTW_ESTIMATE; every plan runs once, on arrays that are made
// once for the longest of them.
#include <complex>
#include <cstddef>
#include <larder/fft/fftw.hpp>
#include <vector>

#include "backend.hpp"
#include "resident.hpp"

namespace larder::cli {

namespace {

class FftwBackend final : public Backend {
 public:
  explicit FftwBackend(const BackendSettings& settings)
      : batch_(settings.batch), plans_(settings.cache.budget, watched(settings.cache.options)) {
    if (settings.wisdom) fft::fftw::import_wisdom(fft::Precision::float64, *settings.wisdom);
    // Filled with values, so that the arrays are resident from the start and do not look like growth.
    const auto elements = static_cast<std::size_t>(settings.largest_length * settings.batch);
    in_.assign(elements, 1.0);
    out_.assign(elements, 0.0);
  }

  bool use(std::int64_t length) override {
    fft::PlanSpec spec({.lengths = {length}, .batch = batch_});
    const auto plan = plans_.acquire(fft::fftw::PlanKey::for_arrays(std::move(spec), in_.data(), out_.data()));
    fft::fftw::execute(plan, in_.data(), out_.data());
    return build_watch_.take();
  }

  [[nodiscard]] Stats stats() const override { return plans_.stats(); }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return resident_bytes(); }
  [[nodiscard]] std::string memory_name() const override { return "resident memory"; }

 private:
  [[nodiscard]] Options watched(Options options) noexcept {
    options.listener = &build_watch_;
    return options;
  }

  std::int64_t batch_;
  BuildWatch build_watch_;
  fft::fftw::PlanCache plans_;
  std::vector<std::complex<double>> in_;
  std::vector<std::complex<double>> out_;
};

}  // namespace

std::unique_ptr<Backend> open_fftw(const BackendSettings& settings) {
  static_cast<void>(largest_array_bytes(settings));
  return std::make_unique<FftwBackend>(settings);
}

}  // namespace larder::cli

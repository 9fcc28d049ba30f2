// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measured_bytes.hpp"

#include <algorithm>

namespace larder::fft {

namespace {

constexpr double least = 48.0 * 1024;
constexpr double newest_weight = 1.0 / 32;
constexpr double two_chunks = 4.0 * 1024 * 1024;
constexpr double large_work_area = 1.5;  // arrays
constexpr double tables_per_work_area = 1.1;
constexpr double margin = 1.1;

double most(const MeasuredBytes::PlanSize& size) noexcept {
  return two_chunks + 2.0 * static_cast<double>(size.work_bytes) + 4.0 * static_cast<double>(size.array_bytes);
}

}  // namespace

void MeasuredBytes::look(Device& device, std::uint64_t free) noexcept {
  if (device.open > 0) {
    device.growth_per_open +=
        (static_cast<double>(device.free) - static_cast<double>(free)) / static_cast<double>(device.open);
  }
  device.free = free;
}

MeasuredBytes::Build::Build(MeasuredBytes& measured, std::uint64_t context, std::uint64_t free_before)
    : measured_(measured), context_(context) {
  const std::lock_guard lock(measured_.mutex_);
  Device& device = measured_.devices_[context_];
  look(device, free_before);
  begin_ = device.growth_per_open;
  ++device.open;
}

MeasuredBytes::Build::~Build() {
  if (!open_) return;
  const std::lock_guard lock(measured_.mutex_);
  --measured_.devices_[context_].open;
}

std::size_t MeasuredBytes::Build::done(std::uint64_t free_after, const PlanSize& size) {
  const std::lock_guard lock(measured_.mutex_);
  Device& device = measured_.devices_[context_];
  const bool large = static_cast<double>(size.work_bytes) > large_work_area * static_cast<double>(size.array_bytes);
  const double unit = large ? static_cast<double>(size.work_bytes) : 1.0;
  const double guess = large ? tables_per_work_area : least / margin;
  double& smoothed = device.smoothed.try_emplace({std::bit_width(size.elements), large}, guess).first->second;

  look(device, free_after);
  --device.open;
  open_ = false;
  ++device.plans;
  if (device.plans > device.most_plans) {
    device.most_plans = device.plans;
    const double growth = std::clamp(device.growth_per_open - begin_, 0.0, most(size));
    smoothed += (growth / unit - smoothed) * newest_weight;
  }
  return static_cast<std::size_t>(std::max(smoothed * unit * margin, least));
}

void MeasuredBytes::destroyed(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  --devices_[context].plans;
}

}  // namespace larder::fft

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "return_model.hpp"

#include <algorithm>
#include <bit>

namespace larder::detail {

namespace {

// Older counts halve when there are that many, so that the model follows a program whose habits change.
constexpr double most_gaps = 1000;

// How many gaps the wider group's chance counts for beside a narrower one's own.
constexpr double weight_of_all = 1;
constexpr double weight_of_class = 6;

// A key's last gaps are kept as their octaves, four bits each.
constexpr unsigned bits_per_gap = 4;
constexpr std::uint64_t most_recent_gaps = 8;

double to_double(std::uint64_t value) noexcept { return static_cast<double>(value); }

}  // namespace

void ReturnModel::Gaps::add(double count, bool end) noexcept {
  reached += count;
  if (end) ended += count;
  if (reached <= most_gaps) return;
  reached /= 2;
  ended /= 2;
}

std::size_t ReturnModel::octave_of(std::uint64_t gap) noexcept {
  return std::min<std::size_t>(std::bit_width(std::max<std::uint64_t>(gap, 1)) - 1, octaves - 1);
}

std::size_t ReturnModel::class_of(const KeyUse& use) noexcept {
  return std::min<std::size_t>(std::bit_width(std::max<std::uint64_t>(use.uses, 1)) - 1, classes - 1);
}

void ReturnModel::count(const KeyUse& use, std::size_t octave, double gaps, bool end) noexcept {
  of_all_[octave].add(gaps, end);
  of_class_[class_of(use)][octave].add(gaps, end);
}

void ReturnModel::note_no_use(KeyUse& use, std::uint64_t time) noexcept {
  const std::size_t octave = octave_of(time > use.last_use ? time - use.last_use : 0);
  for (; use.octaves_passed < octave; ++use.octaves_passed) count(use, use.octaves_passed, 1, false);
}

void ReturnModel::note_uses(KeyUse& use, std::uint64_t count_of_uses, std::uint64_t time) noexcept {
  const std::uint64_t since = time > use.last_use ? time - use.last_use : 0;
  if (use.uses > 0) {
    const std::uint64_t gap = since / count_of_uses;
    const std::size_t octave = octave_of(gap);
    note_no_use(use, use.last_use + gap);
    for (std::size_t passed = 0; count_of_uses > 1 && passed < octave; ++passed) {
      count(use, passed, to_double(count_of_uses - 1), false);
    }
    count(use, octave, to_double(count_of_uses), true);
    for (std::uint64_t i = 0; i < std::min(count_of_uses, most_recent_gaps); ++i) {
      use.recent_gaps = use.recent_gaps << bits_per_gap | static_cast<std::uint32_t>(octave);
    }
  }
  use.uses += count_of_uses;
  use.last_use = std::max(use.last_use, time);
  use.octaves_passed = 0;
  use.rate_until = 0;
}

double ReturnModel::chance_of_end(const KeyUse& use, std::size_t octave) const noexcept {
  const auto blend = [](const Gaps& gaps, double wider, double weight) {
    return (gaps.ended + weight * wider) / (gaps.reached + weight);
  };
  // One gap that reached it and one half that ended: nothing is certain.
  const double of_all = (of_all_[octave].ended + 0.5) / (of_all_[octave].reached + 1);
  const double of_class = blend(of_class_[class_of(use)][octave], of_all, weight_of_all);
  Gaps own;
  const std::uint64_t gaps = std::min(most_recent_gaps, use.uses > 0 ? use.uses - 1 : 0);
  for (std::uint64_t i = 0; i < gaps; ++i) {
    const std::size_t its_octave = use.recent_gaps >> (bits_per_gap * i) & ((1U << bits_per_gap) - 1);
    if (its_octave >= octave) own.add(1, its_octave == octave);
  }
  return blend(own, of_class, weight_of_class);
}

double ReturnModel::return_rate(KeyUse& use, std::uint64_t time) noexcept {
  if (time < use.rate_until) return use.return_rate;
  note_no_use(use, time);
  const std::uint64_t age = std::max<std::uint64_t>(time > use.last_use ? time - use.last_use : 0, 1);
  double from = to_double(age);
  double unused = 1;  // the chance that it is not used up to there
  double held = 0;    // requests for which it is then held on average
  double best = 0;
  for (std::size_t octave = octave_of(age); octave < octaves; ++octave) {
    const double begin = to_double(std::uint64_t{1} << octave);
    const double end = std::max(2 * begin, octave == octaves - 1 ? 2 * from : 0);  // the last octave is open
    // Gaps that end in an octave do so anywhere in it alike; some would have ended already.
    const double in_all = chance_of_end(use, octave);
    const double rest = (end - from) / (end - begin);
    const double chance = in_all * rest / (1 - in_all * (1 - rest));
    held += unused * (end - from) * (1 - chance / 2);
    unused *= 1 - chance;
    best = std::max(best, (1 - unused) / held);
    from = end;
  }
  use.return_rate = best;
  use.rate_until = time + std::max<std::uint64_t>(age / 4, 1);
  return best;
}

}  // namespace larder::detail
